/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGGREGATION_H
#define BIPLANE_AGGREGATION_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * The configuration of aggregation and disaggregation, in the form in which the control plane
 * hands it to the workers (shm/aggregation/agg.h). The formats:
 * docs/reference/aggregation-format.md.
 */

#define BP_AGG_RULES_MAX 32   /* entries of `encapsulate`, and of `decapsulate` */
#define BP_AGG_SENDERS_MAX 16 /* prefixes of an entry of either */

enum bp_agg_format { BP_AGG_FORMAT_FULL, BP_AGG_FORMAT_LIN2018 };

/* Destinations: addresses of a prefix (of all bits: one address) and UDP ports, host byte order. */
struct bp_agg_to {
	struct bp_prefix address;
	uint16_t udp_first, udp_last;
};

struct bp_agg_rule {
	uint64_t max_delay_ns; /* the oldest message waits no longer; 0: until the aggregate is full
				*/
	struct bp_agg_to to;
	struct bp_address
		from;         /* source of aggregates; family 0: the first message's of a stream */
	uint16_t from_udp;    /* its port, where `from` is given */
	uint16_t max_message; /* bytes of payload; a longer message passes as it is */
	uint16_t mtu;     /* bytes of an aggregate's IP packet; 0: the smallest MTU of all ports */
	uint8_t messages; /* N, 1..255 */
	uint8_t port;     /* index of the port that the messages come in on */
	uint8_t format;   /* enum bp_agg_format */
	uint32_t n_senders; /* 0: messages of all senders; else messages of other senders are
			       forwarded unchanged */
	struct bp_prefix senders[BP_AGG_SENDERS_MAX];
};

struct bp_disagg_rule {
	uint64_t gap_ns; /* minimum time between two messages; 0: no pacing */
	struct bp_agg_to to;
	uint32_t n_senders; /* 0: every aggregate is refused */
	struct bp_prefix senders[BP_AGG_SENDERS_MAX];
	uint8_t port; /* that aggregates come in on */
	uint8_t format;
};

/* The configuration of both, as one value. */
struct bp_agg_rules {
	uint32_t n_aggregate, n_disaggregate;
	struct bp_agg_rule aggregate[BP_AGG_RULES_MAX];
	struct bp_disagg_rule disaggregate[BP_AGG_RULES_MAX];
};

#endif
