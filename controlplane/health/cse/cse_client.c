/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "controlplane/process/clock.h"
#include "controlplane/health/cse/cse_client_internal.h"

/* ---- capacity ---- */

/* Returns the time at which a port has a free message id. A request slot may be free then or
 * not. */
static uint64_t capacity_at(const struct bp_cse_client *c, uint64_t now)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < c->settings.ports; i++) {
		const uint64_t at = bp_cse_ids_at(&c->lane[i].ids, now);

		if (at < first)
			first = at;
	}
	return first;
}

bool bp_cse_has_capacity(const struct bp_cse_client *c)
{
	const uint64_t now = bp_mono_ns();

	return !c->closing && c->outstanding < c->settings.outstanding &&
	       capacity_at(c, now) <= now;
}

static void poll_capacity_in(struct bp_cse_client *c, uint64_t ns)
{
	const struct timeval t = bp_cse_timeval(ns + 999);

	c->full = true;
	evtimer_add(c->room, &t);
}

/* Called after a request was accepted or rejected. If all slots are in use, the end of a request
 * checks again. */
static void signal_capacity(struct bp_cse_client *c)
{
	const uint64_t now = bp_mono_ns(), at = capacity_at(c, now);

	if (c->outstanding >= c->settings.outstanding)
		c->full = true;
	else if (at > now)
		poll_capacity_in(c, at - now);
}

static void on_capacity(evutil_socket_t fd, short what, void *arg)
{
	struct bp_cse_client *c = arg;

	(void)fd;
	(void)what;
	if (!c->full)
		return;
	c->full = false;
	signal_capacity(c);
	if (!c->full)
		bp_cse_watch_notify(&c->watch);
}

void bp_cse_watch_capacity(struct bp_cse_client *c, struct bp_cse_watch *w)
{
	bp_cse_watch_add(&c->watch, w);
}

/* ---- requests ---- */

static void transmit(struct bp_cse_outstanding *r)
{
	r->sent++;
	r->sent_ns = bp_mono_ns();
	bp_cse_send_bytes(r->lane, r->bytes, r->len);
	bp_cse_set_timer(r, r->timeout_ns);
	r->timeout_ns *= 2;
}

/*
 * A request ended without an answer, and its port received no datagram from the CSE during that
 * time: the source address that the socket got when it was connected may be invalid by now. The
 * other outstanding requests of the port are also unanswered, and are repeated from the new
 * address.
 */
static void reconnect_after(const struct bp_cse_outstanding *r)
{
	struct bp_cse_lane *lane = r->lane;

	if (lane->last_rx_ns >= r->first_ns || lane->reconnected_ns >= r->first_ns)
		return;
	lane->reconnected_ns = bp_mono_ns();
	r->client->counts.reconnects++;
	bp_cse_socket_reconnect(&lane->socket);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	static const struct bp_cse_reply timed_out = {.end = BP_CSE_TIMED_OUT};
	struct bp_cse_outstanding *r = arg;

	(void)fd;
	(void)what;
	if (!r->acknowledged && r->sent <= BP_CSE_RETRANSMISSIONS) {
		r->client->counts.repeats++;
		transmit(r);
		return;
	}
	r->client->counts.timed_out++;
	reconnect_after(r);
	bp_cse_end_request(r, &timed_out);
}

static struct bp_cse_outstanding *free_request(struct bp_cse_client *c)
{
	for (unsigned i = 0; i < c->settings.outstanding; i++)
		if (!c->request[i].used)
			return &c->request[i];
	return NULL;
}

static uint64_t first_timeout_ns(const struct bp_cse_client *c)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = c->serial * 2654435761u;
	return c->settings.ack_timeout_ns +
	       c->settings.ack_timeout_ns / 2 * (random >> 16) / UINT16_MAX;
}

static uint8_t method_of(const struct bp_m2m_request *q)
{
	if (q->ty != 0)
		return BP_COAP_POST;
	return q->body != NULL ? BP_COAP_PUT : BP_COAP_GET;
}

/* Writes the request; returns its length, or 0. */
static size_t write_request(struct bp_cse_client *c, struct bp_cse_outstanding *r,
	const struct bp_m2m_request *q, uint8_t *out)
{
	struct bp_m2m_request named = *q;
	struct bp_coap_writer w;
	char rqi[16];

	if (named.rqi == NULL) {
		snprintf(rqi, sizeof(rqi), "p%x", c->serial);
		named.rqi = rqi;
	}
	bp_coap_begin(&w, out, BP_CSE_MESSAGE_MAX, BP_COAP_CON, method_of(q), 0, r->token,
		sizeof(r->token));
	return bp_m2m_create(&w, out, c->settings.release, &named);
}

/* Returns a free slot with a token; or NULL: the watchers are called when there is one. */
static struct bp_cse_outstanding *begin(struct bp_cse_client *c)
{
	struct bp_cse_outstanding *r = bp_cse_has_capacity(c) ? free_request(c) : NULL;

	if (r == NULL) {
		if (!c->closing)
			signal_capacity(c);
		return NULL;
	}
	memcpy(r->token, &c->serial, 4);
	memcpy(r->token + 4, &c->secret, 4);
	return r;
}

/* Returns the next port in round-robin order that has a free message id. bp_cse_has_capacity() was
 * true before: later there are never fewer free ids. */
static struct bp_cse_lane *take_lane(struct bp_cse_client *c, uint64_t now)
{
	struct bp_cse_lane *lane;

	do {
		lane = &c->lane[c->next_lane];
		c->next_lane = (c->next_lane + 1) % c->settings.ports;
	} while (bp_cse_ids_at(&lane->ids, now) > now);
	return lane;
}

/* Stores the bytes of the request without the message id, which is assigned last: a request that
 * cannot be sent uses no id. */
static enum bp_cse_sent start(struct bp_cse_outstanding *r, const uint8_t *bytes, size_t len,
	bp_cse_done *done, void *arg)
{
	struct bp_cse_client *c = r->client;

	r->bytes = malloc(len);
	if (r->bytes == NULL) {
		poll_capacity_in(c, BP_CSE_NS_PER_S);
		return BP_CSE_QUEUE_FULL;
	}
	memcpy(r->bytes, bytes, len);
	r->len = len;
	r->first_ns = bp_mono_ns();
	r->lane = take_lane(c, r->first_ns);
	r->mid = bp_cse_ids_take(&r->lane->ids, r->first_ns);
	r->bytes[2] = (uint8_t)(r->mid >> 8);
	r->bytes[3] = (uint8_t)r->mid;
	r->used = true;
	r->acknowledged = false;
	r->refused = false;
	r->sent = 0;
	r->timeout_ns = first_timeout_ns(c);
	r->done = done;
	r->arg = arg;
	c->serial++;
	c->outstanding++;
	c->counts.requests++;
	transmit(r);
	signal_capacity(c);
	return BP_CSE_TAKEN;
}

enum bp_cse_sent bp_cse_send(
	struct bp_cse_client *c, const struct bp_m2m_request *q, bp_cse_done *done, void *arg)
{
	uint8_t out[BP_CSE_MESSAGE_MAX];
	struct bp_cse_outstanding *r = begin(c);
	size_t len;

	if (r == NULL)
		return BP_CSE_QUEUE_FULL;
	len = write_request(c, r, q, out);
	return len == 0 ? BP_CSE_TOO_LONG : start(r, out, len, done, arg);
}

enum bp_cse_sent bp_cse_send_message(
	struct bp_cse_client *c, const uint8_t *message, size_t len, bp_cse_done *done, void *arg)
{
	uint8_t out[BP_CSE_MESSAGE_MAX];
	struct bp_cse_outstanding *r = begin(c);

	if (r == NULL)
		return BP_CSE_QUEUE_FULL;
	if (len < BP_COAP_HEADER_LEN + BP_COAP_TOKEN_MAX || len > sizeof(out) ||
		(message[0] & 0xf) != BP_COAP_TOKEN_MAX)
		return BP_CSE_TOO_LONG;
	memcpy(out, message, len);
	out[0] = 0x40 | BP_COAP_TOKEN_MAX; /* version 1, CON */
	memcpy(out + BP_COAP_HEADER_LEN, r->token, sizeof(r->token));
	return start(r, out, len, done, arg);
}

/* ---- start and end ---- */

static void open_lanes(struct bp_cse_client *c)
{
	for (unsigned i = 0; i < c->settings.ports; i++) {
		struct bp_cse_lane *lane = &c->lane[i];

		lane->client = c;
		lane->socket = (struct bp_cse_socket){.base = c->base,
			.to = &c->settings.address,
			.on_readable = bp_cse_on_readable,
			.arg = lane,
			.fd = -1};
		bp_cse_ids_init(&lane->ids, c->settings.id_lifetime_ns, bp_mono_ns());
	}
}

struct bp_cse_client *bp_cse_client_new(
	struct event_base *base, const struct bp_cse_settings *settings)
{
	struct bp_cse_client *c =
		calloc(1, sizeof(*c) + settings->outstanding * sizeof(struct bp_cse_outstanding));

	if (c == NULL)
		return NULL;
	c->base = base;
	c->settings = *settings;
	if (c->settings.ack_timeout_ns == 0)
		c->settings.ack_timeout_ns = BP_CSE_ACK_TIMEOUT_NS;
	if (c->settings.id_lifetime_ns == 0)
		c->settings.id_lifetime_ns = BP_COAP_EXCHANGE_LIFETIME_S * BP_CSE_NS_PER_S;
	if (c->settings.ports == 0)
		c->settings.ports = 1;
	if (getrandom(&c->secret, sizeof(c->secret), GRND_NONBLOCK) < 0)
		c->secret = (uint32_t)bp_unix_ns();
	open_lanes(c);
	c->room = evtimer_new(base, on_capacity, c);
	for (unsigned i = 0; i < settings->outstanding; i++) {
		c->request[i].client = c;
		c->request[i].timer = evtimer_new(base, on_timer, &c->request[i]);
		if (c->request[i].timer == NULL || c->room == NULL) {
			bp_cse_client_free(c);
			return NULL;
		}
	}
	signal_capacity(c); /* the first message ids start the requests */
	return c;
}

void bp_cse_client_free(struct bp_cse_client *c)
{
	static const struct bp_cse_reply cancelled = {.end = BP_CSE_CANCELLED};

	if (c == NULL)
		return;
	c->closing = true;
	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct bp_cse_outstanding *r = &c->request[i];

		if (r->used)
			bp_cse_end_request(r, &cancelled);
		if (r->timer != NULL)
			event_free(r->timer);
	}
	if (c->room != NULL)
		event_free(c->room);
	for (unsigned i = 0; i < c->settings.ports; i++)
		bp_cse_socket_close(&c->lane[i].socket);
	free(c);
}

unsigned bp_cse_outstanding(const struct bp_cse_client *c)
{
	return c->outstanding;
}

const struct bp_cse_counts *bp_cse_counts(const struct bp_cse_client *c)
{
	return &c->counts;
}

/* ---- as a binding ---- */

static enum bp_cse_sent send_by_coap(
	void *client, const struct bp_m2m_request *q, bp_cse_done *done, void *arg)
{
	return bp_cse_send(client, q, done, arg);
}

static void watch_coap(void *client, struct bp_cse_watch *w)
{
	bp_cse_watch_capacity(client, w);
}

struct bp_cse bp_cse_by_coap(struct bp_cse_client *c)
{
	static const struct bp_cse_binding coap = {
		.send = send_by_coap, .watch_capacity = watch_coap};

	return (struct bp_cse){&coap, c};
}
