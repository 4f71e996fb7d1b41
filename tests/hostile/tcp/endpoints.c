/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoints.h"

#include <stdlib.h>
#include <string.h>

#define RTO 20000
#define TH_URG 0x20

uint32_t sim_random(struct sim *s, uint32_t n)
{
	s->s = s->s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(((s->s >> 32) * n) >> 32);
}

static bool happens(struct sim *s, unsigned of_1000)
{
	return sim_random(s, 1000) < of_1000;
}

/* ---- the path ---- */

static void put(struct sim *s, const struct frame *f)
{
	struct frame *copy;
	unsigned i = s->n_flight;

	if (i == FLIGHT_MAX)
		return; /* a full queue loses */
	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		abort();
	memcpy(copy, f, offsetof(struct frame, data) + f->n);
	s->n_flight++;
	for (; i != 0 && s->flight[(i - 1) / 2]->at > copy->at; i = (i - 1) / 2)
		s->flight[i] = s->flight[(i - 1) / 2];
	s->flight[i] = copy;
}

static struct frame *take(struct sim *s)
{
	struct frame *first = s->flight[0], *last = s->flight[--s->n_flight];
	unsigned i = 0;

	for (;;) {
		unsigned k = 2 * i + 1;

		if (k >= s->n_flight)
			break;
		if (k + 1 < s->n_flight && s->flight[k + 1]->at < s->flight[k]->at)
			k++;
		if (s->flight[k]->at >= last->at)
			break;
		s->flight[i] = s->flight[k];
		i = k;
	}
	s->flight[i] = last;
	return first;
}

/* One hop: 1 ms, or up to 8 ms more. */
static void travel(struct sim *s, struct frame *f)
{
	for (unsigned copies = happens(s, s->repeat) ? 2 : 1; copies != 0; copies--) {
		if (happens(s, s->lose))
			continue;
		f->at = s->now + 1000 + (happens(s, s->reorder) ? sim_random(s, 8000) : 0);
		put(s, f);
	}
}

/* ---- sending ---- */

static void send_frame(struct sim *s, unsigned from, uint8_t flags, uint32_t seq, const uint8_t *p,
	uint32_t n, uint16_t urgent)
{
	struct end *e = &s->end[from];
	struct frame f = {.from = from,
		.flags = flags,
		.seq = seq,
		.ack = flags & TH_ACK ? e->peer_isn + 1 + e->rcv + e->fin_rcvd : 0,
		.urgent = urgent,
		.n = (uint16_t)n,
		.unseen = happens(s, s->miss)};

	if (urgent != 0)
		f.flags |= TH_URG;
	if (n != 0)
		memcpy(f.data, p, n);
	travel(s, &f);
	if (flags & TH_ACK)
		e->ack_due = false;
}

/* Bytes [from, from + n) of the stream, in one segment. */
static void send_bytes(struct sim *s, unsigned who, uint32_t at, uint32_t n)
{
	struct end *e = &s->end[who];
	uint16_t urgent = 0;

	if (e->urgent_at != UINT32_MAX && e->urgent_at >= at && e->urgent_at < at + n)
		urgent = (uint16_t)(e->urgent_at - at + 1);
	send_frame(s, who, TH_ACK | TH_PSH, e->isn + 1 + at, e->out + at, n, urgent);
}

static void send_syn(struct sim *s, unsigned who)
{
	struct end *e = &s->end[who];

	e->syn_sent = true;
	e->resend_at = s->now + RTO;
	send_frame(s, who, who == CLIENT ? TH_SYN : TH_SYN | TH_ACK, e->isn, e->out,
		who == CLIENT ? s->syn_data : 0, 0);
}

static uint32_t segment_size(struct sim *s, const struct end *e, uint32_t left)
{
	uint32_t n = sim_random(s, 3) != 0 ? e->mss : 1 + sim_random(s, e->mss);

	return n < left ? n : left;
}

/* Sends the next segment: bytes within the window, then a FIN, otherwise an acknowledgement. */
static void output(struct sim *s, unsigned who)
{
	struct end *e = &s->end[who];

	if (e->reset || !e->open)
		return;
	while (e->nxt < e->out_n && e->nxt - e->una < s->window) {
		uint32_t left = s->window - (e->nxt - e->una), n = e->out_n - e->nxt;

		n = segment_size(s, e, n < left ? n : left);
		send_bytes(s, who, e->nxt, n);
		e->nxt += n;
	}
	if (e->fin && !e->fin_sent && e->nxt == e->out_n) {
		e->fin_sent = true;
		send_frame(s, who, TH_ACK | TH_FIN, e->isn + 1 + e->nxt, NULL, 0, 0);
	}
	if (e->ack_due)
		send_frame(s, who, TH_ACK, e->isn + 1 + e->nxt + e->fin_sent, NULL, 0, 0);
	if (e->resend_at == 0 && (e->una < e->nxt || (e->fin_sent && !e->fin_acked)))
		e->resend_at = s->now + RTO;
}

/* From the first byte that is not acknowledged, cut again. */
static void resend(struct sim *s, unsigned who)
{
	struct end *e = &s->end[who];
	uint32_t at = e->una;

	e->resend_at = s->now + RTO + sim_random(s, RTO);
	if (!e->syn_acked) {
		send_syn(s, who);
		return;
	}
	for (unsigned k = 0; at < e->nxt && k < 3; k++) {
		uint32_t n = segment_size(s, e, e->nxt - at);

		send_bytes(s, who, at, n);
		at += n;
	}
	if (at == e->nxt && e->fin_sent && !e->fin_acked)
		send_frame(s, who, TH_ACK | TH_FIN, e->isn + 1 + e->nxt, NULL, 0, 0);
}

/* ---- receiving ---- */

static void take_ack(struct sim *s, struct end *e, uint32_t ack)
{
	uint32_t at = ack - (e->isn + 1);

	if (at > e->nxt + e->fin_sent)
		return;
	if (e->fin_sent && at == e->nxt + 1) {
		e->fin_acked = true;
		at--;
	}
	if (at > e->una)
		e->una = at;
	e->resend_at = e->una < e->nxt || (e->fin_sent && !e->fin_acked) ? s->now + RTO : 0;
}

/* The first copy of a byte counts. Returns false for a segment that is not taken. */
static void take_bytes(struct end *e, const struct frame *f, uint32_t seq)
{
	uint32_t at = seq - (e->peer_isn + 1);

	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t k = at + i;

		if (k >= STREAM_MAX || e->have[k])
			continue;
		e->have[k] = 1;
		e->in[k] = f->data[i];
	}
	if (f->urgent != 0)
		e->in_urgent = at + f->urgent - 1;
	if (f->flags & TH_FIN) {
		e->fin_known = true;
		e->fin_at = at + f->n;
	}
	while (e->rcv < STREAM_MAX && e->have[e->rcv])
		e->rcv++;
	if (e->fin_known && e->rcv == e->fin_at)
		e->fin_rcvd = true;
}

static void syn_came(struct sim *s, unsigned to, const struct frame *f)
{
	struct end *e = &s->end[to];

	if (e->peer_known && e->peer_isn != f->seq)
		return;
	e->peer_known = true;
	e->peer_isn = f->seq;
	if (to == BROKER) {
		if (f->n != 0 && s->syn_data_taken)
			take_bytes(e, f, f->seq + 1);
		send_syn(s, to);
		return;
	}
	e->open = e->syn_acked = true;
	if (s->syn_data != 0 && e->nxt == 0)
		e->nxt = s->syn_data;
	take_ack(s, e, f->ack);
	e->ack_due = true;
}

static void arrive(struct sim *s, const struct frame *f)
{
	unsigned to = !f->from;
	struct end *e = &s->end[to];

	if (e->reset)
		return;
	if (f->flags & TH_SYN) {
		syn_came(s, to, f);
		return;
	}
	if (!e->peer_known)
		return;
	if (f->flags & TH_RST) {
		if (f->seq == e->peer_isn + 1 + e->rcv)
			e->reset = true;
		return;
	}
	if (!(f->flags & TH_ACK) || f->ack - (e->isn + 1) > e->nxt + e->fin_sent)
		return;
	e->open = e->syn_acked = true;
	take_ack(s, e, f->ack);
	if (f->n != 0 || (f->flags & TH_FIN))
		e->ack_due = true;
	take_bytes(e, f, f->seq);
	s->came(s->arg, to);
}

/* ---- all together ---- */

void sim_write(struct sim *s, unsigned from, const void *p, size_t n)
{
	struct end *e = &s->end[from];

	if (e->fin || e->reset || e->out_n + n > STREAM_MAX)
		return;
	memcpy(e->out + e->out_n, p, n);
	e->out_n += (uint32_t)n;
}

void sim_close(struct sim *s, unsigned from)
{
	s->end[from].fin = true;
}

void sim_reset(struct sim *s, unsigned from)
{
	struct end *e = &s->end[from];

	if (e->open && !e->reset)
		send_frame(s, from, TH_RST | TH_ACK, e->isn + 1 + e->nxt, NULL, 0, 0);
	e->reset = true;
}

/* The next event: a frame arrives, or is retransmitted. Returns false at the end. */
static bool step(struct sim *s)
{
	uint64_t timer = UINT64_MAX;
	unsigned who = 0;

	for (unsigned k = 0; k < 2; k++) {
		if (!s->end[k].reset && s->end[k].resend_at != 0 && s->end[k].resend_at < timer) {
			timer = s->end[k].resend_at;
			who = k;
		}
	}
	if (s->n_flight != 0 && s->flight[0]->at <= timer) {
		struct frame *f = take(s);

		s->now = f->at;
		if (f->hop == 1) {
			arrive(s, f);
		} else {
			s->tap(s->arg, f);
			f->hop = 1;
			travel(s, f);
		}
		free(f);
	} else if (timer != UINT64_MAX) {
		s->now = timer;
		resend(s, who);
	} else {
		return false;
	}
	output(s, CLIENT);
	output(s, BROKER);
	return true;
}

void sim_run(struct sim *s, unsigned steps)
{
	if (!s->end[CLIENT].syn_sent)
		send_syn(s, CLIENT);
	while (steps-- != 0 && step(s))
		;
	while (s->n_flight != 0)
		free(take(s));
}
