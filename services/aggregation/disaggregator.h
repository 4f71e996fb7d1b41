/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_DISAGGREGATOR_H
#define BP_SERVICES_AGGREGATION_DISAGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "services/aggregation/datagram.h"
#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"
#include "biplane/aggregation.h"
#include "shm/aggregation/agg.h"

/*
 * The frames of the messages of an aggregate: its Ethernet header, an IP and a UDP header of their
 * own, and the payload.
 */

/* An aggregate that was checked: all that restoring its messages needs. */
struct bp_disagg_packet {
	struct bp_datagram datagram; /* the aggregate, in the frame that was given */
	const uint8_t *payload;      /* its UDP payload */
	uint8_t rule;
	uint8_t count;    /* messages, at least 1 */
	uint8_t ip_at;    /* where in a restored frame the IP header begins */
	uint8_t head_len; /* bytes of a restored frame before those of message[] */
	bool flagged;     /* `flag` precedes message[] in each UDP payload */
	uint8_t flag[BP_AGG_LIN2018_HEADER];
	/* The offset of each payload in `payload`, and its sender. */
	struct bp_agg_message message[BP_AGG_FULL_MOST];
};

/*
 * Stores the fields that all messages of the aggregate in datagram `d` share: the Ethernet header
 * with its tags, the destination, the TOS byte and the Don't Fragment flag of the aggregate.
 * `flag`: BP_AGG_LIN2018_HEADER bytes that precede p->message[] in each message's UDP payload;
 * NULL: none.
 */
void bp_disagg_prepare(
	struct bp_disagg_packet *p, const struct bp_datagram *d, const uint8_t *flag);

/* Bytes of the frame of message i. */
static inline uint32_t bp_disagg_frame_len(const struct bp_disagg_packet *p, unsigned i)
{
	return p->head_len + (uint32_t)p->message[i].len;
}

/*
 * Writes the frames of messages first .. first + n - 1, each of bp_disagg_frame_len() bytes, with
 * correct checksums, to to[0..n). `id`: IPv4 identification of the first one, incremented for each
 * next one; used without Don't Fragment (RFC 6864).
 */
void bp_disagg_write(const struct bp_disagg_packet *p, unsigned first, unsigned n, uint16_t id,
	uint8_t *const to[]);

/*
 * Disaggregates: the state of one worker. As services/aggregation/aggregator.h: no DPDK, no system
 * call, no allocation after bp_disaggregator_new(); single-threaded.
 */
struct bp_disaggregator;

enum bp_disagg_verdict {
	BP_DISAGG_OTHER,  /* no rule of the port matches: the frame is forwarded normally */
	BP_DISAGG_BYPASS, /* a rule matches but the frame is no aggregate: it is forwarded after the
			     frames that the pacer holds */
	BP_DISAGG_SPLIT,  /* an aggregate: its messages are in `bp_disagg_packet` */
	BP_DISAGG_REJECTED,
};
/* Why an aggregate is refused whole: counters disagg_... of group drop. In the order of the checks.
 */
enum bp_disagg_rejection {
	/* those of Ethernet, IP and UDP differ, or the frame is in several segments */
	BP_DISAGG_LENGTHS,
	/* of UDP: wrong, or none where the format needs it; or the IPv4 header's is wrong */
	BP_DISAGG_UDP_CHECKSUM,
	BP_DISAGG_VERSION,
	BP_DISAGG_STRUCTURE_CHECKSUM,
	BP_DISAGG_FAMILY,
	BP_DISAGG_COUNT,              /* length and count disagree */
	BP_DISAGG_ENTRY,              /* the directory is malformed */
	BP_DISAGG_SOURCE_NOT_ALLOWED, /* a sender that is in none of the prefixes, or that none can
					 be */
	BP_DISAGG_REFUSALS,
};

struct bp_disaggregator_options {
	uint32_t streams;              /* received streams that are remembered */
	struct bp_disagg_stats *stats; /* BP_AGG_RULES_MAX of them */
	uint64_t seed;
};

/* NULL: no memory. Without rules. */
struct bp_disaggregator *bp_disaggregator_new(const struct bp_disaggregator_options *o);
void bp_disaggregator_free(struct bp_disaggregator *d);
/* New rules: forgets the streams, clears the statistics. */
void bp_disaggregator_set_rules(struct bp_disaggregator *d, const struct bp_agg_rules *rules);
/* Whether any rule is for this port. */
bool bp_disaggregator_uses_port(const struct bp_disaggregator *d, unsigned port);

/* Whether a frame, whose first `len` bytes are readable, is a datagram to a rule's destination: if
 * it is in several segments, the caller linearizes it. Counts nothing. */
bool bp_disaggregator_is_for(const struct bp_disaggregator *d, const uint8_t *frame, uint32_t len,
	uint32_t frame_len, unsigned port);

/*
 * Checks a frame: frame[0..len) can be read; where frame_len is greater than len, the rest is in
 * another buffer. `routed`: the port routes, so frames with a destination MAC address other than
 * `mac` (the first 6 bytes of a little-endian word) match no rule; without it, multicast frames
 * match no rule.
 *
 * With SPLIT, *out is written and is valid as long as `frame` is; with REJECTED, *why is written;
 * with every verdict but OTHER, *rule is written. Updates the statistics and the stream's sequence
 * numbers.
 *
 * A fragment is OTHER, because its datagram is unknown. IPv4 options belong to the packet that
 * carried the aggregate and are removed.
 */
enum bp_disagg_verdict bp_disaggregator_read(struct bp_disaggregator *d, const uint8_t *frame,
	uint32_t len, uint32_t frame_len, unsigned port, bool routed, uint64_t mac,
	struct bp_disagg_packet *out, uint8_t *rule, enum bp_disagg_rejection *why);

/* `n` consecutive restored frames have the length `len`. */
struct bp_disagg_length {
	uint16_t len; /* bytes */
	uint8_t n;
};

/* The destination of restored frames: base[i] + data_at, each as long as the aggregate's frame. */
struct bp_disagg_buffers {
	uint8_t *const *base;
	size_t data_at;
	uint32_t n; /* of them, and of `length` as many */
	/* of all that were written, in order */
	struct bp_disagg_length *length;
};

/*
 * bp_disaggregator_read() and bp_disagg_write() at once, for a plain aggregate: format full, IPv4
 * without tags and options, all in frame[0..len). Returns how many messages were restored, to the
 * first buffers; `id` as there. 0: it is not plain, or to be refused; nothing was counted, but
 * buffers may have been written to, and bp_disaggregator_read() says what it is.
 */
unsigned bp_disaggregator_restore_ip4(struct bp_disaggregator *d, const uint8_t *frame,
	uint32_t len, unsigned port, bool routed, uint64_t mac, uint16_t id,
	const struct bp_disagg_buffers *buffers, uint8_t *rule);

/* The number of buffers that a simple aggregate needs: the number of messages that it declares. 0:
 * it is none. */
static inline unsigned bp_disaggregator_ip4_count(const uint8_t *frame, uint32_t len)
{
	const uint8_t *p = frame + BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR;

	if (len < BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR + BP_AGG_FULL_HEADER ||
		!bp_datagram_is_simple_ip4(frame, len) || !bp_agg_full_is(p, BP_AGG_FULL_HEADER))
		return 0;
	return p[BP_AGG_FULL_AT_COUNT];
}

/* Gives up the messages of *p: no buffers are free to send them. The statistics count the aggregate
 * as rejected instead; its sequence number remains recorded as received. */
void bp_disaggregator_give_up(struct bp_disaggregator *d, const struct bp_disagg_packet *p);

#endif
