/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_AGGREGATION_AGG_SHAPE_H
#define BP_SHM_AGGREGATION_AGG_SHAPE_H

/* The tables of aggregation, by their index in struct bp_service_tables. */
enum {
	BP_AT_RULES,
	BP_AT_STATS,
	BP_AT_DISAGG_STATS,
	BP_AT_STREAMS,
	BP_AGG_TABLES,
};

#endif
