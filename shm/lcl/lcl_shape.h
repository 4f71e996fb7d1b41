/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_LCL_LCL_SHAPE_H
#define BP_SHM_LCL_LCL_SHAPE_H

/* The tables of LCL scheduling, by their index in struct bp_service_tables. */
enum {
	BP_LT_RULES,
	BP_LT_PORTS,
	BP_LT_FLOWS,
	BP_LCL_TABLES,
};

#endif
