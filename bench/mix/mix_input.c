/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/mix/mix_input.h"

#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_memcpy.h>

#include "bench/aggregation/agg_frames.h"
#include "bench/lcl/lcl_frames.h"
#include "bench/routes/route_frames.h"
#include "bench/transform/transform_frames.h"
#include "dataplane/workers/worker.h"

#define LOOK_CALLS                                                                                 \
	2u /* polls between two reads of the clock: with more of them the ring would overflow */
#define AHEAD 4u /* frames: lead time for the next frames of a part */

/* ---- the frames ---- */

static uint32_t mqtt(uint32_t i, uint8_t *frame, const struct bench_traffic *t)
{
	bench_publish(t, bench_connection(t, i), frame); /* in the order of the capture */
	return t->frame_len;
}

static uint32_t phd(uint32_t i, uint8_t *frame, const struct bench_traffic *t)
{
	uint8_t longest[BENCH_PHD_FRAME_MAX];
	const uint32_t len =
		bench_phd_frame(i * 7 % BENCH_PHD_DEVICES, BENCH_PHD_APDU_MIN, longest);

	(void)t;
	memcpy(frame, longest, BENCH_PHD_HEADERS + BENCH_PHD_APDU_MIN);
	return len;
}

static uint32_t message(uint32_t i, uint8_t *frame, const struct bench_traffic *t)
{
	(void)t;
	bench_agg_message(i, frame);
	return BENCH_AGG_FRAME;
}

static uint32_t reading(uint32_t i, uint8_t *frame, const struct bench_traffic *t)
{
	(void)t;
	bench_transform_frame(i, frame);
	return BENCH_TRANSFORM_FRAME;
}

static uint32_t labelled(uint32_t i, uint8_t *frame, const struct bench_traffic *t)
{
	(void)t;
	bench_lcl_frame(i, frame);
	return BENCH_LCL_FRAME;
}

static uint32_t plain(uint32_t i, uint8_t *frame, const struct bench_traffic *t)
{
	const struct bp_address to = bench_route16(i);

	(void)t;
	return bench_route_frame(i, &to, frame);
}

static const struct {
	uint32_t n;
	uint32_t (*make)(uint32_t i, uint8_t *frame, const struct bench_traffic *t);
} parts[BENCH_MIX_PARTS] = {
	[BENCH_MIX_MQTT] = {BENCH_FRAMES, mqtt},
	[BENCH_MIX_PHD] = {BENCH_PHD_DEVICES, phd},
	[BENCH_MIX_MESSAGES] = {BENCH_AGG_MESSAGES, message},
	[BENCH_MIX_READINGS] = {BENCH_TRANSFORM_READINGS, reading},
	[BENCH_MIX_LCL] = {BENCH_LCL_FRAMES, labelled},
	[BENCH_MIX_PLAIN] = {BENCH_ROUTE_FLOWS, plain},
};

_Static_assert(BENCH_PHD_HEADERS + BENCH_PHD_APDU_MIN <= BENCH_MIX_STRIDE, "reports fit");
_Static_assert(BENCH_AGG_FRAME <= BENCH_MIX_STRIDE, "messages fit");
_Static_assert(BENCH_TRANSFORM_FRAME <= BENCH_MIX_STRIDE, "readings fit");
_Static_assert(BENCH_LCL_FRAME <= BENCH_MIX_STRIDE, "labelled frames fit");
_Static_assert(BENCH_ROUTE6_FRAME <= BENCH_MIX_STRIDE, "plain frames fit");

static int make_source(
	struct bench_mix_source *s, enum bench_mix_part part, const struct bench_traffic *t)
{
	s->n = parts[part].n;
	s->frames = aligned_alloc(64, (size_t)s->n * BENCH_MIX_STRIDE);
	s->len = calloc(s->n, sizeof(*s->len));
	if (s->frames == NULL || s->len == NULL)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		s->len[i] =
			(uint16_t)parts[part].make(i, s->frames + (size_t)i * BENCH_MIX_STRIDE, t);
	return 0;
}

int bench_mix_input_init(struct bench_mix_input *in, const struct bench_mix_shares *s,
	const struct bench_traffic *mqtt_traffic, struct rte_mempool *pool)
{
	/* only text values: longer ones would not fit */
	if (mqtt_traffic->frame_len > BENCH_MIX_STRIDE)
		return -1;
	in->wire.pool = pool;
	in->n_pattern = bench_mix_pattern(s, in->pattern);
	for (unsigned i = 0; i < BENCH_MIX_PARTS; i++)
		if (s->of[i] != 0 &&
			make_source(&in->source[i], (enum bench_mix_part)i, mqtt_traffic) != 0)
			return -1;
	return 0;
}

/* ---- receive callback ---- */

struct taken {
	struct rte_mbuf *m[BENCH_MIX_PARTS][BP_RX_BURST];
	uint16_t n[BENCH_MIX_PARTS];
};

/* The next frame of the pattern. */
static inline void put(
	struct bench_mix_input *in, struct rte_mbuf *m, uint16_t port, struct taken *of)
{
	const uint8_t part = in->pattern[in->at];
	struct bench_mix_source *s = &in->source[part];
	const uint8_t *frame = s->frames + (size_t)s->next * BENCH_MIX_STRIDE;

	in->at = in->at + 1 == in->n_pattern ? 0 : in->at + 1;
	m->data_len = s->len[s->next];
	m->pkt_len = m->data_len;
	m->port = port;
	/* the space after the last frames is unused and may be read */
	rte_prefetch0(frame + AHEAD * (size_t)BENCH_MIX_STRIDE);
	rte_prefetch0(frame + AHEAD * (size_t)BENCH_MIX_STRIDE + RTE_CACHE_LINE_SIZE);
	rte_memcpy(rte_pktmbuf_mtod(m, void *), frame, m->data_len);
	s->next = s->next + 1 == s->n ? 0 : s->next + 1;
	of->m[part][of->n[part]++] = m;
}

/* Advances the wire, and detects preemption of the worker. */
static void look(struct bench_mix_input *in)
{
	struct bench_wire *w = &in->wire;
	const uint64_t last_ns = w->last_ns, last_tsc = in->polled_tsc,
		       lost = atomic_load(&w->lost);
	const uint64_t us = rte_get_tsc_hz() / 1000000;
	uint64_t own_ns;

	bench_wire_look(w);
	in->polled_tsc = rte_rdtsc();
	if (last_ns == 0)
		return;
	own_ns = w->last_ns - last_ns;
	if (in->polled_tsc - last_tsc > (own_ns / 1000 + BENCH_MIX_OTHERS_US) * us)
		in->shared_tsc = in->polled_tsc;
	if (in->polled_tsc - in->shared_tsc < BENCH_MIX_COLD_US * us)
		in->lost_shared += atomic_load(&w->lost) - lost;
	else
		in->longest_ns = RTE_MAX(in->longest_ns, own_ns);
}

/* The number of frames for this poll, and whether they are from the wire. */
static uint16_t come(struct bench_mix_input *in, uint16_t room, bool *paced)
{
	struct bench_wire *w = &in->wire;

	if (atomic_load_explicit(&in->closed, memory_order_relaxed))
		return 0;
	if (!(atomic_load_explicit(&w->rate, memory_order_relaxed) > 0)) {
		w->last_ns = 0; /* the time of the wire is stopped */
		return room;
	}
	if (in->calls++ % LOOK_CALLS == 0)
		look(in);
	*paced = true;
	return (uint16_t)RTE_MIN(w->waiting, (uint32_t)room);
}

uint16_t bench_mix_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_mix_input *in = arg;
	const uint16_t room = RTE_MIN((uint16_t)(max - n), (uint16_t)BP_RX_BURST);
	bool paced = false;
	const uint16_t came = come(in, room, &paced);
	struct taken of;

	if (came == 0)
		return n;
	if (rte_pktmbuf_alloc_bulk(in->wire.pool, pkts + n, came) != 0) {
		atomic_fetch_add_explicit(&in->wire.no_mbuf, came, memory_order_relaxed);
		return n;
	}
	memset(of.n, 0, sizeof(of.n));
	for (uint16_t i = n; i < n + came; i++)
		put(in, pkts[i], port, &of);
	for (unsigned p = 0; p < BENCH_MIX_PARTS; p++) {
		struct bench_mix_source *s = &in->source[p];

		if (of.n[p] == 0)
			continue;
		atomic_store_explicit(&s->made,
			atomic_load_explicit(&s->made, memory_order_relaxed) + of.n[p],
			memory_order_relaxed);
		if (s->renew != NULL)
			s->renew(port, queue, of.m[p], of.n[p], of.n[p], s->arg);
	}
	if (paced) {
		in->wire.waiting -= came;
		in->paced += came;
	}
	return (uint16_t)(n + came);
}
