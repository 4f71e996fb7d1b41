/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

#include "services/lcl/match.h"
#include "services/lcl/scheduler.h"
#include "proto/lcl/lcl.h"

/*
 * The first byte selects: the following ones are a frame, whose label is read and which is matched
 * with flows; or steps of a scheduler: frames, their times, and times of polls.
 *
 * A valid label is within its limits and has the same bytes when written again. A frame matches the
 * first flow that it would match alone. Each enqueued frame is dequeued once, in the order of its
 * flow, not before its time, and no others are.
 */
#define OUT 2
#define PORT 1

static struct bp_lcl_rules rules;

static struct bp_prefix prefix(uint8_t family, uint8_t first, uint8_t last, uint8_t length)
{
	struct bp_address a = {.family = family};

	a.bytes[0] = first;
	a.bytes[family == 4 ? 3 : 15] = last;
	return bp_prefix_of(a, length);
}

/* Each kind of condition by itself and with others; ports that one byte more or less makes. */
static void make_rules(void)
{
	for (unsigned i = 0; i < 40; i++) {
		struct bp_lcl_flow *f = &rules.flow[rules.n_flows++];
		struct bp_match *m = &f->match;

		f->out = i % 8 != 7 ? OUT : OUT + 1;
		*m = (struct bp_match){.vlan = BP_MATCH_ANY,
			.pcp = BP_MATCH_ANY_PCP,
			.dscp = BP_MATCH_ANY_DSCP,
			.port = PORT};
		if (i % 5 == 0)
			m->destination = prefix(i % 2 ? 4 : 6, 10, (uint8_t)i, i % 2 ? 30 : 127);
		if (i % 5 == 1)
			m->source = prefix(i % 2 ? 4 : 6, (uint8_t)i, 1, (uint8_t)(i % 33));
		if (i % 3 == 0) {
			m->udp_first = (uint16_t)(i * 300);
			m->udp_last = (uint16_t)(m->udp_first + i * 10 + 1);
		} else if (i % 3 == 1) {
			m->tcp_first = m->tcp_last = (uint16_t)(80 + i);
		} else if (i % 4 == 0) {
			m->dscp = (uint8_t)i;
		}
		if (i % 7 == 2)
			m->vlan = i % 2 ? BP_MATCH_UNTAGGED : (uint16_t)i;
		if (i % 11 == 3)
			m->pcp = (uint8_t)(i % 8);
		if (m->udp_last == 0 && m->tcp_last == 0 && i % 5 > 1)
			m->ethertype = (uint16_t)(i % 2 ? 0x0800 + i : 0x86dd);
	}
}

static struct bp_matcher *matcher_of(const struct bp_lcl_rules *r)
{
	struct bp_matcher *m = bp_lcl_matcher_create(r, OUT);

	if (m == NULL)
		abort();
	return m;
}

static void match(const uint8_t *p, size_t len)
{
	static struct bp_matcher *all, *alone[BP_LCL_FLOWS_MAX];
	int first = -1;

	if (all == NULL) {
		static struct bp_lcl_rules one;

		make_rules();
		all = matcher_of(&rules);
		one.n_flows = 1;
		for (unsigned i = 0; i < rules.n_flows; i++) {
			one.flow[0] = rules.flow[i];
			alone[i] = matcher_of(&one);
		}
	}
	for (unsigned i = 0; i < rules.n_flows && first < 0; i++)
		if (bp_matcher_find(alone[i], p, len, PORT) == 0)
			first = (int)i;
	HOLDS(bp_matcher_find(all, p, len, PORT) == first);
	HOLDS(bp_matcher_find(all, p, len, PORT + 1) == -1);
}

static void label(const uint8_t *p, size_t len)
{
	struct bp_lcl_label l, again;
	uint8_t *copy = exact_copy(p, len);

	switch (bp_lcl_read(p, len, BP_LCL_ETHERTYPE, &l)) {
	case BP_LCL_GOOD:
		HOLDS(len >= BP_LCL_FRAME_MIN);
		HOLDS(l.n >= 1 && l.n <= BP_LCL_HOPS_MAX);
		HOLDS(l.d <= BP_LCL_DELAY_MAX_NS && l.d >= -BP_LCL_DELAY_MAX_NS);
		bp_lcl_write(copy + BP_LCL_AT, BP_LCL_ETHERTYPE, &l);
		HOLDS(memcmp(copy, p, len) == 0);
		bp_lcl_set_delay(copy, -l.d);
		HOLDS(bp_lcl_read(copy, len, BP_LCL_ETHERTYPE, &again) == BP_LCL_GOOD);
		HOLDS(again.d == -l.d && again.n == l.n && again.flow == l.flow &&
			again.sequence == l.sequence);
		break;
	case BP_LCL_NONE:
		HOLDS(len < BP_LCL_AT + 2 || p[12] != 0x88 || p[13] != 0xb5);
		break;
	case BP_LCL_TRUNCATED:
		HOLDS(len < BP_LCL_FRAME_MIN);
		break;
	default:
		HOLDS(len >= BP_LCL_FRAME_MIN);
	}
	free(copy);
}

#define FLOWS 3
#define MOST 4096

struct put {
	uint64_t in_ns, slot;
	uint32_t of_flow;
	uint8_t flow;
	bool out_of_order;
};

struct run {
	struct bp_lcl_scheduler_options o;
	struct bp_lcl_scheduler *s;
	uint64_t now, last_slot[FLOWS];
	uint32_t in[FLOWS], out[FLOWS], n, out_of_order;
	struct put put[MOST];
};

static void left(struct run *r, const struct bp_lcl_departure *d, bool flushed)
{
	struct put *p = d->frame;

	HOLDS(p->out_of_order);
	p->out_of_order = false;
	r->out_of_order--;
	if (d->n == 0)
		return;
	HOLDS(flushed || d->waited_ns >= r->now - p->in_ns);
	HOLDS(flushed || p->slot <= (r->now - r->o.origin_ns) / r->o.tau_ns);
	HOLDS(p->of_flow == r->out[p->flow]++);
}

static void take(struct run *r, unsigned max)
{
	struct bp_lcl_departure out[16];
	const unsigned n = bp_lcl_take(r->s, r->now, out, max);

	HOLDS(n <= max);
	for (unsigned i = 0; i < n; i++)
		left(r, &out[i], false);
	HOLDS(n == max || bp_lcl_next(r->s, r->now) > r->now);
	HOLDS((bp_lcl_next(r->s, r->now) == UINT64_MAX) == (r->out_of_order == 0));
}

static void come(struct run *r, uint8_t kind, uint64_t value)
{
	struct put *p = &r->put[r->n++];
	struct bp_lcl_arrival a = {.frame = p,
		.in_ns = r->now,
		.d = (int32_t)(value >> 16),
		.bytes = (uint32_t)(value & 0x1fff),
		.n = (uint8_t)(1 + (kind >> 2))};

	p->in_ns = r->now;
	p->flow = (uint8_t)(value >> 13 & 7) % FLOWS;
	if (kind & 1) {
		p->out_of_order = bp_lcl_put_best_effort(r->s, r->now, p, a.bytes);
	} else {
		a.last_slot = &r->last_slot[p->flow];
		p->out_of_order = bp_lcl_put(r->s, r->now, &a) != BP_LCL_PUT_FULL;
		p->slot = *a.last_slot;
		p->of_flow = r->in[p->flow];
		r->in[p->flow] += p->out_of_order;
	}
	r->out_of_order += p->out_of_order;
}

/* Steps of 8 bytes: what, and a number for it. */
static void schedule(const uint8_t *p, size_t len)
{
	static struct run r;
	struct bp_lcl_departure out[16];
	uint64_t v;
	unsigned n;

	if (len < 8)
		return;
	memcpy(&v, p, 8);
	memset(&r, 0, sizeof(r));
	r.o = (struct bp_lcl_scheduler_options){.origin_ns = v >> 8 & 0xffff,
		.tau_ns = 1000 + (v >> 24 & 0xffff),
		.rate_bps = 10000000 * (1 + (v >> 40 & 0xfff)),
		.guard_ns = v >> 52 & 0xff,
		.queues = 2 + (v & 7),
		.queue_frames = 1 + (v >> 3 & 15),
		.best_effort_frames = v >> 60,
		.best_effort_max = 1518};
	r.s = bp_lcl_scheduler_create(&r.o);
	HOLDS(r.s != NULL);
	r.now = r.o.origin_ns;
	for (size_t at = 8; at + 8 <= len && r.n < MOST; at += 8) {
		memcpy(&v, p + at, 8);
		switch (v & 3) {
		case 0:
			if (r.now >> 57 == 0)
				r.now += v >> 8 >> (v >> 2 & 63);
			break;
		case 1:
			take(&r, 1 + (v >> 2 & 15));
			break;
		default:
			come(&r, (uint8_t)(v & 1 ? v >> 2 & 0xff : v >> 2 & 0xfe), v >> 8);
		}
	}
	do {
		n = bp_lcl_flush(r.s, out, 16);
		for (unsigned i = 0; i < n; i++)
			left(&r, &out[i], true);
	} while (n == 16);
	HOLDS(r.out_of_order == 0);
	bp_lcl_scheduler_free(r.s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p;

	if (size == 0)
		return 0;
	p = exact_copy(data + 1, size - 1);
	if (data[0] & 1) {
		schedule(p, size - 1);
	} else {
		label(p, size - 1);
		match(p, size - 1);
	}
	free(p);
	return 0;
}
