/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/aggregation.h"
#include "shm/aggregation/agg.h"

/*
 * Aggregates UDP messages: the state of one worker. No DPDK, no system call, no allocation after
 * bp_aggregator_new(); time is an argument (nanoseconds of a monotonic clock), so that it behaves
 * the same on a worker, in replay and in a simulation. Single-threaded.
 *
 * A stream is the messages to one destination (address, port) that match one rule, with one TOS
 * byte (DSCP and ECN), with one Don't Fragment flag (IPv4), and with one set of VLAN tags. At most
 * one aggregate of a stream is being built, with its headers, in a buffer that the caller provides.
 * Its Ethernet header is that of its first message. A message with another destination MAC address
 * flushes it (HEADER); one with another source MAC address does not, so that the devices of a LAN
 * share aggregates.
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
	BP_AGG_PASS_FORMAT,    /* format lin2018: no message of 22 bytes with type 0xfa */
	BP_AGG_PASS_SENDER,    /* none of the rule's `senders`; source address or port that no
				  datagram can be answered to, TTL 0 */
	BP_AGG_PASS_NO_BUFFER, /* none for a new aggregate */
};

struct bp_agg_input {
	const uint8_t *frame; /* from the Ethernet header on */
	uint32_t len; /* bytes readable at `frame`; where less than frame_len, the frame is bypassed
		       */
	uint32_t frame_len;
	uint64_t mac; /* where routed: the port's MAC address, as the first 6 bytes of a
			 little-endian word */
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
	uint8_t port; /* the input port of its messages: it is forwarded as they would have been */
	uint8_t rule;
	/* Within bp_aggregator_take(): the number of frames of the burst before this one; their
	 * verdicts are written. A caller that first sends those of them that are forwarded keeps
	 * the order even where a whole aggregate follows a bypassed frame. Else 0. */
	uint8_t at;
};

struct bp_aggregator_hooks {
	/* Returns the first byte of a buffer, and in *buffer the handle for `send`. NULL: none is
	 * free. Several buffers may be requested before the first of them is sent. */
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
	uint16_t room;                  /* length of a buffer, bytes */
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
 * Processes a burst of up to 64 frames in the order of their arrival. Complete aggregates are sent
 * within the call, in order, possibly before all verdicts are written: a bypassed frame follows all
 * earlier messages of its stream. wall_ns: Unix time, for `rows`.
 */
void bp_aggregator_take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns);

/*
 * Maximum number of aggregates that one call sends where no frame was received: the receiver behind
 * the hooks accepts a bounded number at a time and would drop the rest of a burst of all streams.
 */
#define BP_AGG_AT_ONCE 256u

/* Sends the aggregates whose delay is over, up to BP_AGG_AT_ONCE; the rest remains due. Cheap when
 * none is due: one comparison. */
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
