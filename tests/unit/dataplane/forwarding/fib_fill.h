/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_FORWARDING_FIB_FILL_H
#define BP_TESTS_UNIT_DATAPLANE_FORWARDING_FIB_FILL_H

#include "shm/fib/fib_writer.h"
#include "tests/unit/text_address.h"

/* Entries of forwarding tables, written as text. */

/* Of one hop, by `gateway` where that is not NULL; without a hop where `interface` is below 0. */
static inline void fill_route(struct bp_fib_writer *w, const char *prefix, unsigned length,
	enum bp_route_type type, int interface, const char *gateway)
{
	struct bp_route route = {
		.prefix = bp_prefix_of(address(prefix), length), .type = (uint8_t)type};

	if (interface >= 0) {
		route.n_hops = 1;
		route.hop[0] = (struct bp_hop){.interface = (uint8_t)interface, .weight = 1};
		if (gateway)
			route.hop[0].gateway = address(gateway);
	}
	assert_int_equal(bp_fib_route_set(w, &route), BP_FIB_DONE);
}

#endif
