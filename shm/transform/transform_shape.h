/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_TRANSFORM_TRANSFORM_SHAPE_H
#define BP_SHM_TRANSFORM_TRANSFORM_SHAPE_H

/* The tables of coordinate transformation, by their index in struct bp_service_tables. */
enum {
	BP_XT_HEAD,
	BP_XT_READERS,
	BP_XT_BANKS,
	BP_XT_RULES,
	BP_XT_STATS,
	BP_TRANSFORM_TABLES,
};

#endif
