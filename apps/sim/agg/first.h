/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_FIRST_H
#define BIPLANE_AGG_SIM_FIRST_H

#include <stddef.h>
#include <stdint.h>

#include "apps/sim/agg/models.h"
#include "biplane/aggregation.h"
#include "shm/aggregation/agg.h"

/*
 * The first switch of the paper in virtual time: messages arrive, the gateway's own aggregator
 * (services/aggregation/aggregator.h) builds N-packets from their frames, and the result is the
 * departure time of each.
 */

/* Position of the server of the first switch (Figure 7): it serves messages before the aggregator,
 * or N-packets after it. */
enum sim_position { SIM_NOWHERE, SIM_BEFORE, SIM_AFTER };

struct sim_first_options {
	enum bp_agg_format format;
	uint8_t messages;      /* N */
	uint64_t max_delay_ns; /* 0: none */
	double rate;           /* messages per second; with 1e5, a nanosecond is a ten-thousandth */
	uint32_t devices;      /* 0: Poisson; see arrivals.h */
	uint32_t senders;      /* source addresses of the messages in turn, 1..255 */
	uint64_t seed;
	enum sim_position place;
	enum sim_service service;
	double mu; /* of that server, as a multiple of `rate` */
};

struct sim_first_counts {
	uint64_t messages, packets;    /* in N-packets that have left, and these */
	uint64_t payload_bytes;        /* of the messages: 16 each */
	uint64_t message_bytes, bytes; /* frames: of messages before, of N-packets */
	uint64_t wait_ns;    /* that the messages waited in the aggregator, all together */
	uint64_t longest_ns; /* the maximum of these */
	uint64_t wrong;      /* N-packets that do not hold the messages that are due, and messages
				that the aggregator did not take */
};

struct sim_first;

/* NULL: no memory. */
struct sim_first *sim_first_new(const struct sim_first_options *o);
void sim_first_free(struct sim_first *f);
/* Until `count` more N-packets have left: writes when, in ns. left NULL: only lets them leave. */
void sim_first_run(struct sim_first *f, uint64_t *left, size_t count);
/* Counts from now on. */
void sim_first_restart_counts(struct sim_first *f);
const struct sim_first_counts *sim_first_counts(const struct sim_first *f);
/* The aggregator's own, from the beginning. */
const struct bp_agg_stats *sim_first_stats(const struct sim_first *f);

#endif
