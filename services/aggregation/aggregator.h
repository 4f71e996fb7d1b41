/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/aggregation.h"
#include "shm/aggregation/agg.h"

/*
 * Makes aggregates of UDP messages: what one worker has. No DPDK, no system call, no allocation
 * after bp_aggregator_new(); time is an argument (nanoseconds, a clock that never goes back), so
 * that it runs the same on a worker, in replay and in a simulation. One thread.
 *
 * A stream is what goes to one destination (address, port) by one rule, with one TOS octet (DSCP
 * and ECN), with IPv4 one Don't Fragment, and with one set of VLAN tags. At most one aggregate of
 * it is being built; it lies, headers and all, in a buffer that the caller gives. Its Ethernet
 * header is that of its first message; a message for another MAC address makes it leave (HEADER),
 * one from another MAC address does not: the devices of a LAN are to share aggregates.
 */
struct bp_aggregator;

/* The result for one frame. */
enum bp_agg_verdict {
	BP_AGG_OTHER, /* no rule of the input port matches: the frame is forwarded normally */
	BP_AGG_TAKEN, /* its message is in an aggregate: the frame is no longer needed */
	BP_AGG_PASS,  /* a rule matches, but it cannot be aggregated: forwarded unchanged
		       */
	BP_AGG_AMBIGUOUS_PAYLOAD, /* as PASS, but the payload begins like an aggregate: the caller
				     must drop the frame, because the far end would split it */
};
/* Why a frame passes, or is dropped as a mimic: counters agg_passed_... */
enum bp_agg_pass {
	BP_AGG_PASS_LENGTH,    /* longer than max_message, or than fits in an aggregate */
	BP_AGG_PASS_CHECKSUM,  /* IP header's or UDP's is wrong; IPv6 without one */
	BP_AGG_PASS_SHAPE,     /* IPv4 options, lengths that do not agree, or fragmented */
	BP_AGG_PASS_FORMAT,    /* format paper: no message of 22 octets with type 0xfa */
	BP_AGG_PASS_SENDER,    /* none of the rule's `senders`; source address or port that no
				  datagram can be answered to, TTL 0 */
	BP_AGG_PASS_NO_BUFFER, /* none for a new aggregate */
};

struct bp_agg_input {
	const uint8_t *frame; /* from the Ethernet header on */
	uint32_t len; /* bytes readable at `frame`; where less than frame_len, the frame is bypassed
		       */
	uint32_t frame_len;
	uint64_t mac; /* where routed: the port's, as the first 6 octets of a little-endian word */
	uint8_t port;
	/* A port that routes: frames for another MAC address are not for the rules. */
	bool routed;
	/* written by bp_aggregator_take() */
	uint8_t verdict; /* enum bp_agg_verdict */
	uint8_t pass;    /* enum bp_agg_pass, with PASS and MIMIC */
	uint8_t rule;    /* with TAKEN, PASS and MIMIC */
};

/* An aggregate that leaves: a whole frame with right checksums. */
struct bp_agg_output {
	void *buffer;    /* from `get` */
	uint16_t offset; /* of the frame, from what `get` returned */
	uint16_t len;
	uint8_t port; /* that its messages came in on: it goes the way they would have gone */
	uint8_t rule;
	/* Within bp_aggregator_take(): the number of frames of the burst before this one; their
	 * verdicts are written. A caller that first sends those of them that are forwarded keeps
	 * the order even where a whole aggregate follows a bypassed frame. Else 0. */
	uint8_t at;
};

struct bp_aggregator_hooks {
	/* A buffer: returns its first octet, and what `send` is to get in *buffer. NULL: none. Some
	 * may be asked for before the first of them is sent. */
	uint8_t *(*get)(void *arg, void **buffer);
	/* The buffer is the caller's again. Must not call the aggregator. */
	void (*send)(void *arg, const struct bp_agg_output *out);
	void *arg;
	/* `messages` accepted messages are lost: while several streams are active they wait without
	 * a buffer, and no buffer was free when they were to be sent. NULL: no notification. */
	void (*lost)(void *arg, unsigned messages);
};

struct bp_aggregator_options {
	uint32_t streams;               /* most at one time */
	uint16_t room;                  /* octets of a buffer */
	struct bp_agg_stats *stats;     /* BP_AGG_RULES_MAX of them */
	struct bp_agg_stream_row *rows; /* `streams` of them */
	uint64_t seed;                  /* for stream and sequence numbers, and the hash's key */
	struct bp_aggregator_hooks hooks;
};

/* NULL: no memory. */
struct bp_aggregator *bp_aggregator_new(const struct bp_aggregator_options *o);
/* Sends nothing: flush first, or the buffers are lost. */
void bp_aggregator_free(struct bp_aggregator *a);

/*
 * New rules: flushes everything that is left (RELOAD), forgets the streams, clears the statistics.
 * `min_mtu`: for rules without mtu.
 */
void bp_aggregator_set_rules(struct bp_aggregator *a, const struct bp_agg_rules *rules,
	uint16_t min_mtu, uint64_t now_ns);

/*
 * Takes a burst of up to 64 frames in the order in which they came. Aggregates that are complete
 * are sent within the call, in order, but not all verdicts need be written then: a frame that
 * passes is behind all that came before it in its stream. wall_ns: Unix time, for `rows`.
 */
void bp_aggregator_take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns);

/*
 * Maximum number of aggregates that one call sends where no frame was received: the receiver behind
 * the hooks accepts a bounded number at a time and would drop the rest of a burst of all streams.
 */
#define BP_AGG_AT_ONCE 256u

/* Sends what has waited its time, up to BP_AGG_AT_ONCE; what is left is still due. Cheap when
 * nothing has: one comparison. */
void bp_aggregator_poll(struct bp_aggregator *a, uint64_t now_ns, uint64_t wall_ns);
/* When bp_aggregator_poll() would next send something, or UINT64_MAX. */
uint64_t bp_aggregator_next(const struct bp_aggregator *a);
/* Sends everything, up to BP_AGG_AT_ONCE. True: it was all; else there is more to be sent. */
bool bp_aggregator_flush_some(
	struct bp_aggregator *a, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns);
/* Sends everything, however much that is. */
void bp_aggregator_flush(
	struct bp_aggregator *a, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns);
/* Whether no aggregate is being built. */
bool bp_aggregator_empty(const struct bp_aggregator *a);

/* Whether any rule is for this port. */
bool bp_aggregator_uses_port(const struct bp_aggregator *a, unsigned port);

#endif
