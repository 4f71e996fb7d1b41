/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TRANSFORM_PACKETS_H
#define BP_APPS_BIPLANE_TRANSFORM_PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "services/transform/layout.h"

/*
 * Points as packets: written as a tracker does, read, computed and written as the gateway does, and
 * read as a receiver does; all except the tracker's part with the functions of the gateway.
 */
struct bp_packets {
	bool degrees; /* the angles of the points; those of the packets are as the layout says */
	struct bp_transform_layout tracker; /* its outputs are the reading */
	struct bp_transform_layout gateway;
	struct bp_transform_layout receiver; /* its inputs are the result */
	const char *name;                    /* as given */
	bool with_matrix;
	double m[12];
};

#define BP_PACKETS_BYTES (BP_TRANSFORM_OFFSET_MAX + 8u)
#define BP_PACKETS_LAYOUTS "kunze2021, fixed32:FRACTION, float32 or float64"

/* Points of one go, at most BP_TRANSFORM_BURST. */
struct bp_burst {
	unsigned n;
	uint64_t line[BP_TRANSFORM_BURST];
	double given[BP_TRANSFORM_BURST][3]; /* as the file has them */
	double meant[BP_TRANSFORM_BURST][3]; /* those, angles in radians */
	double sent[BP_TRANSFORM_BURST][3];  /* the values in the packets */
	uint8_t packet[BP_TRANSFORM_BURST][BP_PACKETS_BYTES];
};

struct bp_results {
	double v[BP_TRANSFORM_BURST][3];
	uint8_t saturated[BP_TRANSFORM_BURST];
};

/* One of BP_PACKETS_LAYOUTS, by its types: the position of a number in a packet does not change
 * it. False: unknown layout. */
bool bp_packets_layout(struct bp_packets *k, const char *name, bool cartesian);
/* Any other, which bp_transform_layout_finish() has seen. */
void bp_packets_use(struct bp_packets *k, const struct bp_transform_layout *l, const char *name);

/*
 * Writes burst->given[i] into its packet and sets burst->meant[i], and burst->sent[i] to the value
 * that a reader of the packet gets: fixed point is rounded down, as the senders of the paper do.
 * Returns a bit for each number that the layout cannot hold: 1, 2, 4; or 8: an angle exceeds
 * BP_TRANSFORM_ANGLE_MAX.
 */
unsigned bp_packets_send(const struct bp_packets *k, struct bp_burst *burst, unsigned i);

/* The values that a receiver of the burst gets. */
void bp_packets_compute(const struct bp_packets *k, const struct bp_transform_ops *ops,
	const struct bp_burst *burst, struct bp_results *results);

/* The minimum and the maximum number that an input can hold, in the unit of the points. */
void bp_packets_range(const struct bp_packets *k, unsigned input, double *min, double *max);

#endif
