/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_APPEND_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_APPEND_H

#include "services/aggregation/aggregator_parts.h"
#include "proto/agg_full_alike.h"
#include "proto/agg_full_like.h"

/* How messages of one stream are put into its aggregate, from frames of IPv4 without tags and
 * options. */

/* A message's source address, and its UDP header. */
static inline const uint8_t *bp_aggregator_source(const uint8_t *frame)
{
	return frame + BP_ETHER_HDR + BP_IP4_SRC;
}

static inline const uint8_t *bp_aggregator_udp(const uint8_t *frame)
{
	return frame + BP_ETHER_HDR + BP_IP4_HDR;
}

/* The first message of an aggregate in format paper, which says who sent all. */
static inline void bp_aggregator_note_sender(struct bp_agg_full_writer *w, const uint8_t *frame)
{
	memcpy(w->last_addr, bp_aggregator_source(frame), 4);
	w->last_port = bp_be16(bp_aggregator_udp(frame));
	w->last_hops = frame[BP_ETHER_HDR + BP_IP4_TTL];
}

/* Appends `n` messages, at least one, in format paper: there is room. sum[]: of what goes into the
 * aggregate of each. */
static inline void bp_aggregator_append_run_paper(
	struct bp_agg_stream *s, const struct bp_agg_input *in, const uint32_t *sum, unsigned n)
{
	struct bp_agg_full_writer *w = &s->writer;
	uint8_t *to = w->buf + w->front + (size_t)BP_AGG_PAPER_MESSAGE_LEN * w->count;
	uint64_t all = 0;

	if (w->count == 0)
		bp_aggregator_note_sender(w, in->frame);
	for (unsigned i = 0; i < n; i++) {
		memcpy(to, bp_aggregator_udp(in[i].frame) + BP_UDP_HDR + BP_AGG_PAPER_HEADER,
			BP_AGG_PAPER_MESSAGE_LEN);
		to += BP_AGG_PAPER_MESSAGE_LEN;
		all += sum[i];
	}
	w->count = (uint8_t)(w->count + n);
	s->sum = bp_sum_add(s->sum, all);
}

/* Appends one in format full. False: the aggregate would exceed its size, or its directory must be
 * moved. */
static inline __attribute__((always_inline)) bool bp_aggregator_append_full(
	struct bp_agg_stream *s, const uint8_t *frame, unsigned len, uint64_t sum)
{
	const uint8_t *udp = bp_aggregator_udp(frame);
	struct bp_agg_full_writer *w = &s->writer;
	const unsigned before = w->payloads;

	if (!bp_agg_full_append4(w, bp_aggregator_source(frame), bp_be16(udp),
		    frame[BP_ETHER_HDR + BP_IP4_TTL], udp + BP_UDP_HDR, len))
		return false;
	s->sum = bp_sum_add(s->sum, bp_sum_moved(sum, before));
	return true;
}

/* Appends in format full messages as long as the last one in the aggregate, and with as many hops
 * to go: there surely is room. */
static inline void bp_aggregator_append_full_alike(struct bp_agg_stream *s,
	const struct bp_agg_input *in, const uint32_t *sum, unsigned n, unsigned len)
{
	struct bp_agg_full_alike w = bp_agg_full_alike_begin(&s->writer);
	unsigned at = 8 * (s->writer.payloads & 1);
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *from = bp_aggregator_source(in[i].frame);

		bp_agg_full_alike_append(
			&w, bp_v16_load(from), from + BP_IP4_HDR - BP_IP4_SRC + BP_UDP_HDR, len);
		all += (uint64_t)sum[i] << at;
		at ^= 8 * (len & 1);
	}
	bp_agg_full_alike_end(&s->writer, &w, n);
	s->sum = bp_sum_add(s->sum, all);
}

/* Appends of `n` messages, at least one, that are alike in format full as many as there is room
 * for: how many. There is for the first of an aggregate. */
static inline unsigned bp_aggregator_append_run_full(struct bp_agg_stream *s,
	const struct bp_agg_input *in, const uint32_t *sum, unsigned n, unsigned len, unsigned hops)
{
	struct bp_agg_full_writer *w = &s->writer;
	unsigned i = 0;

	if (w->count == 0) {
		const uint8_t *udp = bp_aggregator_udp(in->frame);

		bp_agg_full_first4(w, bp_aggregator_source(in->frame), bp_be16(udp), hops,
			udp + BP_UDP_HDR, len);
		s->sum = sum[0];
		i = 1;
	}
	while (i < n) {
		unsigned more = n - i;

		if (w->last_len == len && w->last_hops == hops)
			while (more != 0 && !bp_agg_full_alike_fit(w, more))
				more /= 2;
		else
			more = 0;
		if (more != 0)
			bp_aggregator_append_full_alike(s, in + i, sum + i, more, len);
		else if (bp_aggregator_append_full(s, in[i].frame, len, sum[i]))
			more = 1;
		else
			break;
		i += more;
	}
	return i;
}

#endif
