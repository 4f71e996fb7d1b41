/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_tables.h"

#include "shm/fib/lpm/lpm_node.h"
#include "shm/fib/neighbors.h"
#include "shm/fib/nexthops.h"

const struct bp_table_shape bp_fib_shape[BP_FIB_TABLES] = {
	[BP_FT_CONTROL] = {"fib", sizeof(struct bp_fib_control), BP_SEG_CONTROL},
	[BP_FT_READERS] = {"fib_readers", sizeof(struct bp_fib_readers), BP_SEG_DATA},
	[BP_FT_INTERFACES] = {"interfaces", sizeof(struct bp_interface), BP_SEG_CONTROL},
	/* workers mark these two as used, next to the data that they read anyway */
	[BP_FT_NEIGHBORS] = {"neighbors", sizeof(struct bp_neighbor_line), BP_SEG_SHARED},
	[BP_FT_NEXTHOPS] = {"nexthops", sizeof(struct bp_nexthop), BP_SEG_SHARED},
	[BP_FT_GROUPS] = {"nh_groups", sizeof(struct bp_nexthop_group), BP_SEG_CONTROL},
	[BP_FT_ROUTES4] = {"routes4", sizeof(struct bp_route_record), BP_SEG_CONTROL},
	[BP_FT_ROUTES6] = {"routes6", sizeof(struct bp_route_record), BP_SEG_CONTROL},
	[BP_FT_LPM4_ROOT] = {"lpm4_root", sizeof(uint32_t), BP_SEG_CONTROL},
	[BP_FT_LPM6_ROOT] = {"lpm6_root", sizeof(uint32_t), BP_SEG_CONTROL},
	[BP_FT_VRFS] = {"vrfs", sizeof(struct bp_vrf), BP_SEG_CONTROL},
	[BP_FT_VRF_ROOTS] = {"vrf_roots", sizeof(uint32_t), BP_SEG_CONTROL},
	[BP_FT_LINES] = {"lpm_lines", BP_LPM_LINE_SIZE, BP_SEG_CONTROL},
};

bool bp_fib_sizes_agree(const uint64_t capacity[BP_FIB_TABLES])
{
	const bool routes = capacity[BP_FT_LPM4_ROOT] != 1;

	for (unsigned t = 0; t < BP_FIB_TABLES; t++) {
		if (capacity[t] == 0 || capacity[t] > UINT32_MAX)
			return false;
	}
	return capacity[BP_FT_CONTROL] == 1 && capacity[BP_FT_READERS] == 1 &&
	       capacity[BP_FT_INTERFACES] == BP_ALL_INTERFACES &&
	       capacity[BP_FT_NEXTHOPS] >= BP_NH_FIXED &&
	       capacity[BP_FT_LPM4_ROOT] == (routes ? BP_LPM4_ROOT : 1) &&
	       capacity[BP_FT_LPM6_ROOT] == (routes ? BP_LPM6_ROOT : 1) &&
	       capacity[BP_FT_VRFS] == BP_MAX_VRFS &&
	       capacity[BP_FT_VRF_ROOTS] == (routes ? BP_MAX_VRFS * 2 * BP_VRF_ROOT : 1) &&
	       (!routes || capacity[BP_FT_LINES] > BP_LPM_SLACK);
}

void bp_fib_map(struct bp_fib *f, void *const address[BP_FIB_TABLES],
	const uint64_t capacity[BP_FIB_TABLES])
{
	const bool routes = capacity[BP_FT_LPM4_ROOT] == BP_LPM4_ROOT;

	*f = (struct bp_fib){
		.control = address[BP_FT_CONTROL],
		.readers = address[BP_FT_READERS],
		.interfaces = address[BP_FT_INTERFACES],
		.neighbors = address[BP_FT_NEIGHBORS],
		.neighbor_lines = (uint32_t)capacity[BP_FT_NEIGHBORS],
		.max_neighbors = (uint32_t)capacity[BP_FT_NEIGHBORS] / 2,
		.nexthops = address[BP_FT_NEXTHOPS],
		.max_nexthops = (uint32_t)capacity[BP_FT_NEXTHOPS],
		.groups = address[BP_FT_GROUPS],
		.max_groups = (uint32_t)capacity[BP_FT_GROUPS],
		.routes4 = address[BP_FT_ROUTES4],
		.max_routes4 = routes ? (uint32_t)capacity[BP_FT_ROUTES4] - 1 : 0,
		.routes6 = address[BP_FT_ROUTES6],
		.max_routes6 = routes ? (uint32_t)capacity[BP_FT_ROUTES6] - 1 : 0,
		.lpm4_root = address[BP_FT_LPM4_ROOT],
		.lpm6_root = address[BP_FT_LPM6_ROOT],
		.vrfs = address[BP_FT_VRFS],
		.vrf_roots = address[BP_FT_VRF_ROOTS],
		.lines = address[BP_FT_LINES],
		.max_lines = (uint32_t)capacity[BP_FT_LINES] - (routes ? BP_LPM_SLACK : 0),
	};
	f->max_routes = f->max_routes4 + f->max_routes6;
}

void bp_fib_init_readers(struct bp_fib *f)
{
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&f->readers->seen[w], UINT64_MAX);
}

void bp_fib_init_control(struct bp_fib *f)
{
	atomic_store(&f->control->epoch, 1);
}

void bp_fib_init_nexthops(struct bp_fib *f)
{
	for (uint32_t n = 0; n < BP_NH_FIXED; n++)
		bp_nexthop_init_fixed(f, n);
}
