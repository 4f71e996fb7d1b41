/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAN_SIM_PATH_H
#define WAN_SIM_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/sim/sim_random.h"

/*
 * One direction of a WAN: the fate of an arriving frame and its departure time. It uses neither
 * sockets nor clocks: time is a parameter, in ns from any origin, and never decreases.
 */

enum wan_distribution { WAN_UNIFORM, WAN_NORMAL };

struct wan_path_options {
	uint64_t delay_ns;
	uint64_t jitter_ns; /* uniform: so much more or less; normal: the standard deviation */
	enum wan_distribution distribution;
	double loss;       /* 0 to 1 */
	uint64_t rate_bps; /* of the bottleneck, bit/s; 0: none */
	bool reorder;      /* a frame may leave before an earlier one */
	uint32_t limit;    /* maximum frames in transit; from 1 */
};

struct wan_frame {
	uint64_t in_ns, due_ns;
	uint64_t number; /* in the order in which they came: ties of due_ns are broken by it */
	uint32_t len;
	uint8_t data[];
};

struct wan_counts {
	uint64_t received;
	uint64_t lost;   /* by --loss */
	uint64_t full;   /* lost because of limit */
	uint64_t taken;  /* handed out by wan_path_take() */
	uint64_t waited; /* ns, the sum over those */
	uint64_t late;   /* ns after the time that they were due, the sum */
	uint64_t latest; /* ns, the most of one */
};

struct wan_path {
	struct wan_path_options options;
	struct sim_random random;
	uint64_t link_free_ns; /* time at which the bottleneck is free again */
	uint64_t last_due_ns;
	struct wan_frame **heap; /* the first to leave at its root; allocated for options.limit */
	uint32_t n;
	struct wan_counts counts;
};

/* 0, or -1 without memory. */
int wan_path_init(struct wan_path *p, const struct wan_path_options *o, uint64_t seed);
/* Also frees the frames in transit. */
void wan_path_free(struct wan_path *p);

/* A copy of these bytes is in transit from now on, or was lost, and counted as such. -1: no
 * memory. */
int wan_path_put(struct wan_path *p, uint64_t now_ns, const void *data, size_t len);
/* Departure time of the next frame; UINT64_MAX: none is in transit. */
uint64_t wan_path_due_ns(const struct wan_path *p);
/* The next due frame, which the caller passes to free(); or NULL. */
struct wan_frame *wan_path_take(struct wan_path *p, uint64_t now_ns);

#endif
