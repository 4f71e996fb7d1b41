/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/capture/capture_points.h"

#include <string.h>

#include <rte_cycles.h>

#include "dataplane/capture/capture.h"
#include "dataplane/capture/trace.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/ports/port_send.h"

/* Of the frames of one call. */
struct burst {
	struct bp_capture_worker *c;
	struct rte_mbuf *const *m;
	unsigned n; /* at most BP_CAPTURE_BURST */
	enum bp_capture_point point;
	uint16_t port;                   /* or BP_CAPTURE_INPUT_PORT */
	uint64_t time_ns;                /* set where a frame is captured or traced */
	uint64_t matched;                /* bit per frame that a filter matched */
	uint8_t slots[BP_CAPTURE_BURST]; /* of those, bit per slot whose filter matched */
};

uint64_t bp_capture_time(const struct bp_capture_worker *c)
{
	uint64_t real, mono;

	if (c->clock == NULL)
		return c->worker->now_ns;
	bp_clock_read(c->clock, rte_rdtsc(), &real, &mono);
	return real;
}

static unsigned port_of(const struct burst *b, unsigned i)
{
	const unsigned port = b->port == BP_CAPTURE_INPUT_PORT ? b->m[i]->port : b->port;

	return port < BP_MAX_PORTS ? port : BP_MAX_PORTS;
}

static bool wants_port(const struct bp_capture_active *a, unsigned port)
{
	return port < BP_MAX_PORTS ? a->ports >> port & 1 : a->ports == BP_CAPTURE_ALL_PORTS;
}

/* Bit per frame that belongs to a port of the capture. */
static uint64_t on_its_ports(const struct burst *b, const struct bp_capture_active *a)
{
	uint64_t frames = 0;

	if (b->port != BP_CAPTURE_INPUT_PORT)
		return wants_port(a, b->port) ? UINT64_MAX : 0;
	for (unsigned i = 0; i < b->n; i++)
		frames |= (uint64_t)wants_port(a, port_of(b, i)) << i;
	return frames;
}

/* Adds the slot of a capture to the frames that match it. */
static void add_slot(struct burst *b, unsigned slot, uint64_t frames)
{
	if (b->matched == 0)
		memset(b->slots, 0, b->n);
	b->matched |= frames;
	for (uint64_t left = frames; left != 0; left &= left - 1)
		b->slots[__builtin_ctzll(left)] |= (uint8_t)(1u << slot);
}

/* Sets `matched` and `slots`. Returns whether any frame matched. */
static bool match(struct burst *b)
{
	const struct bp_capture_set *set = b->c->set;

	b->matched = 0;
	for (unsigned s = 0; s < set->n; s++) {
		const struct bp_capture_active *a = &set->of[s];
		uint64_t on;

		if (!a->at[b->point])
			continue;
		on = on_its_ports(b, a);
		if (on != 0)
			on &= bp_capture_filter_match(&a->filter, b->m, b->n, b->c->scratch);
		if (on != 0)
			add_slot(b, a->slot, on);
	}
	if (b->matched != 0)
		b->time_ns = bp_capture_time(b->c);
	return b->matched != 0;
}

static uint32_t snap_length(const struct bp_capture_set *set, uint8_t slots)
{
	uint32_t snap = 0;

	for (unsigned s = 0; s < set->n; s++)
		if (slots >> set->of[s].slot & 1)
			snap = RTE_MAX(snap, set->of[s].snap_length);
	return snap;
}

static void copy_frame(uint8_t *to, const struct rte_mbuf *m, uint32_t n)
{
	while (n != 0 && m != NULL) {
		const uint32_t part = RTE_MIN((uint32_t)m->data_len, n);

		memcpy(to, rte_pktmbuf_mtod(m, const uint8_t *), part);
		to += part;
		n -= part;
		m = m->next;
	}
}

static uint32_t record_size(uint32_t captured)
{
	return (uint32_t)((sizeof(struct bp_capture_record) + captured + 7) & ~7u);
}

/* Writes the record of a frame; it is not committed. */
static void write_record(const struct burst *b, unsigned i, uint16_t reason, uint16_t node)
{
	const struct rte_mbuf *m = b->m[i];
	const uint32_t captured = RTE_MIN(m->pkt_len, snap_length(b->c->set, b->slots[i]));
	const uint32_t size = record_size(captured);
	struct bp_capture_record *r = bp_capture_ring_reserve(&b->c->ring, size);

	*r = (struct bp_capture_record){.head = {size, BP_CAPTURE_RECORD_FRAME},
		.time_ns = b->time_ns,
		.generation = b->c->set->generation,
		.length = m->pkt_len,
		.captured = captured,
		.reason = reason,
		.node = node,
		.point = (uint8_t)b->point,
		.port = (uint8_t)port_of(b, i),
		.slots = b->slots[i]};
	copy_frame(r->data, m, captured);
}

static void count(const struct burst *b, unsigned i)
{
	const unsigned port = port_of(b, i);

	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++)
		if (b->slots[i] >> slot & 1)
			bp_stat_add(&b->c->counts->matched[slot][port], 1);
}

static void commit(struct bp_capture_worker *c)
{
	bp_capture_ring_commit(&c->ring, c->ring.end);
}

/* The next burst of an array; false: there is none. */
static bool next_burst(
	struct burst *b, struct bp_worker *w, struct rte_mbuf *const *m, uint16_t n, uint16_t *done)
{
	if (*done == n)
		return false;
	b->c = w->capture;
	b->m = m + *done;
	b->n = RTE_MIN((unsigned)n - *done, BP_CAPTURE_BURST);
	*done = (uint16_t)(*done + b->n);
	return true;
}

void bp_capture_received(struct bp_worker *w, uint16_t port, struct rte_mbuf *const *m, uint16_t n)
{
	struct burst b = {.point = BP_CAPTURE_RX, .port = port};
	uint16_t done = 0;

	while (next_burst(&b, w, m, n, &done)) {
		if (!match(&b))
			continue;
		for (uint64_t left = b.matched; left != 0; left &= left - 1) {
			const unsigned i = (unsigned)__builtin_ctzll(left);
			const uint8_t traced = b.slots[i] & b.c->trace->slots;

			count(&b, i);
			if (traced != 0)
				bp_trace_received(
					b.c->trace, m[b.m - m + i], port, traced, b.time_ns);
			b.slots[i] = (uint8_t)(b.slots[i] & ~traced);
			if (b.slots[i] == 0)
				continue;
			write_record(&b, i, 0, BP_CAPTURE_NO_NODE);
			commit(b.c);
		}
	}
}

/* ---- transmit ---- */

/*
 * The driver owns the frames that it accepts, so the records are written before. Those of frames
 * that it rejects are given up. If a burst of long frames does not fit the ring, the first of them
 * count as sent.
 */
static void begin_sending(struct burst *b, uint64_t *end)
{
	for (uint64_t left = b->matched; left != 0; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(left);

		if (!bp_capture_ring_fits(&b->c->ring,
			    record_size(RTE_MIN(b->m[i]->pkt_len, BP_CAPTURE_SNAP_MAX))))
			commit(b->c);
		write_record(b, i, 0, BP_CAPTURE_NO_NODE);
		end[i] = b->c->ring.end;
	}
}

static void end_sending(const struct burst *b, const uint64_t *end, unsigned sent)
{
	uint64_t last = b->c->ring.head;

	for (uint64_t left = b->matched; left != 0; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(left);

		if (i >= sent)
			break;
		last = RTE_MAX(last, end[i]);
		count(b, i);
	}
	bp_capture_ring_commit(&b->c->ring, last);
}

uint16_t bp_capture_transmit(struct bp_worker *w, uint16_t port, uint16_t queue,
	struct rte_mbuf **m, uint16_t n, uint64_t bytes)
{
	struct burst b = {.point = BP_CAPTURE_TX, .port = port};
	uint64_t end[BP_CAPTURE_BURST];
	struct bp_trace_sending marks;
	uint16_t done = 0, all = 0;

	while (next_burst(&b, w, m, n, &done)) {
		struct rte_mbuf **part = m + (b.m - m);
		const bool matched = match(&b), traces = b.c->trace->slots != 0;
		/* a trace splits the bursts of port_tx, so that `bytes` may be of other frames */
		const uint64_t part_bytes =
			b.n == n && !traces ? bytes : bp_mbuf_bytes(part, (uint16_t)b.n);
		uint16_t sent;

		if (matched)
			begin_sending(&b, end);
		if (traces) {
			b.time_ns = bp_capture_time(b.c);
			bp_trace_sending(b.c->trace, b.m, b.n, &marks);
		}
		sent = bp_port_transmit(port, queue, part, (uint16_t)b.n);
		/* before the others are dropped, which may be captured, too */
		if (matched)
			end_sending(&b, end, sent);
		if (traces)
			bp_trace_sent(b.c->trace, &marks, b.n, sent, port,
				bp_link_get(port) == BP_LINK_UP ? BP_C_DROP_TX_FULL
								: BP_C_DROP_TX_DOWN,
				b.time_ns);
		bp_port_transmitted(w, port, part, (uint16_t)b.n, sent, part_bytes);
		all = (uint16_t)(all + sent);
	}
	return all;
}

/* ---- drops ---- */

/* The node that enqueued frame `i` of this call of node drop. */
static uint16_t dropped_by(const struct bp_capture_worker *c, unsigned i)
{
	for (unsigned d = 0; d < c->n_dropped; d++)
		if (c->drop_done + i < c->dropped[d].until)
			return c->dropped[d].node;
	return BP_CAPTURE_NO_NODE;
}

void bp_capture_dropped(struct bp_worker *w, struct rte_mbuf *const *m, uint16_t n)
{
	struct burst b = {.point = BP_CAPTURE_DROP, .port = BP_CAPTURE_INPUT_PORT};
	uint16_t done = 0;

	while (next_burst(&b, w, m, n, &done)) {
		const unsigned first = (unsigned)(b.m - m);

		if (!match(&b))
			continue;
		for (uint64_t left = b.matched; left != 0; left &= left - 1) {
			const unsigned i = (unsigned)__builtin_ctzll(left);

			write_record(
				&b, i, (uint16_t)b.m[i]->hash.fdir.hi, dropped_by(b.c, first + i));
			commit(b.c);
			count(&b, i);
		}
	}
	w->capture->drop_done += n;
}

void bp_capture_lost(struct bp_worker *w, uint16_t port, bp_counter_t reason,
	struct rte_mbuf *const *m, uint16_t n)
{
	struct burst b = {.point = BP_CAPTURE_DROP, .port = port};
	uint16_t done = 0;

	while (next_burst(&b, w, m, n, &done)) {
		if (!match(&b))
			continue;
		for (uint64_t left = b.matched; left != 0; left &= left - 1) {
			const unsigned i = (unsigned)__builtin_ctzll(left);

			write_record(&b, i, (uint16_t)reason, b.c->current);
			commit(b.c);
			count(&b, i);
		}
	}
}
