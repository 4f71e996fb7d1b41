/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/phd/cse_client.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "controlplane/clock.h"
#include "controlplane/phd/cse_ids.h"
#include "controlplane/phd/cse_socket.h"

#define NS_PER_S 1000000000ull
/* A separate response may take as long as a whole series of transmissions (4.8.2,
 * MAX_TRANSMIT_WAIT). */
#define SEPARATE_TIMEOUTS 47u
#define TURN_MAX 64      /* datagrams in one turn of the event loop */
#define ERRORS_MAX 1024u /* the same, of datagrams that were refused */
#define QUOTE_MAX (BP_COAP_HEADER_LEN + BP_COAP_TOKEN_MAX) /* tells a request from all others */

struct request {
	struct bp_cse_client *client;
	bool used, acknowledged;
	bool refused; /* to be ended so */
	uint16_t mid;
	uint8_t token[BP_COAP_TOKEN_MAX];
	unsigned sent;    /* transmissions */
	uint64_t sent_ns; /* the last of them */
	uint64_t first_ns;
	uint64_t timeout_ns;
	struct event *timer;
	uint8_t *octets;
	size_t len;
	bp_cse_done *done;
	void *arg;
};

struct bp_cse_client {
	struct event_base *base;
	struct bp_cse_settings settings;
	struct bp_cse_counts counts;
	struct bp_cse_socket socket;
	uint32_t serial; /* of requests; the first half of a token */
	uint32_t secret; /* the second half: who doesn't see the requests can't answer */
	struct bp_cse_ids ids;
	uint64_t heard_ns; /* the last datagram from the CSE */
	uint64_t reconnected_ns;
	unsigned outstanding;
	bool closing;
	bool full; /* there was no room; `room` looks when there may be again */
	struct event *room;
	struct bp_cse_watch *watch;
	struct request request[];
};

static struct timeval timeval_of(uint64_t ns)
{
	return (struct timeval){(time_t)(ns / NS_PER_S), (suseconds_t)(ns % NS_PER_S / 1000)};
}

/* ---- room ---- */

/* When there is a message id: by then a place may be free or not. */
static uint64_t room_at(const struct bp_cse_client *c, uint64_t now)
{
	return bp_cse_ids_at(&c->ids, now);
}

bool bp_cse_has_room(const struct bp_cse_client *c)
{
	const uint64_t now = bp_mono_ns();

	return !c->closing && c->outstanding < c->settings.outstanding && room_at(c, now) <= now;
}

static void look_for_room_in(struct bp_cse_client *c, uint64_t ns)
{
	const struct timeval t = timeval_of(ns + 999);

	c->full = true;
	evtimer_add(c->room, &t);
}

/* After a request was taken, or was not. Where all places are taken an end looks again. */
static void note_room(struct bp_cse_client *c)
{
	const uint64_t now = bp_mono_ns(), at = room_at(c, now);

	if (c->outstanding >= c->settings.outstanding)
		c->full = true;
	else if (at > now)
		look_for_room_in(c, at - now);
}

static void on_room(evutil_socket_t fd, short what, void *arg)
{
	struct bp_cse_client *c = arg;

	(void)fd;
	(void)what;
	if (!c->full)
		return;
	c->full = false;
	note_room(c);
	if (!c->full)
		bp_cse_watch_tell(&c->watch);
}

void bp_cse_watch_room(struct bp_cse_client *c, struct bp_cse_watch *w)
{
	bp_cse_watch_add(&c->watch, w);
}

/* ---- requests ---- */

static void set_timer(struct request *r, uint64_t ns)
{
	const struct timeval t = timeval_of(ns);

	evtimer_add(r->timer, &t);
}

static void end(struct request *r, const struct bp_cse_reply *reply)
{
	struct bp_cse_client *c = r->client;

	evtimer_del(r->timer);
	free(r->octets);
	r->octets = NULL;
	r->used = false;
	c->outstanding--;
	if (c->full && !c->closing)
		event_active(c->room, EV_TIMEOUT, 1);
	r->done(r->arg, reply);
}

static void send_octets(struct bp_cse_client *c, const uint8_t *p, size_t len)
{
	if (!bp_cse_socket_send(&c->socket, p, len))
		c->counts.not_sent++;
}

static void transmit(struct request *r)
{
	r->sent++;
	r->sent_ns = bp_mono_ns();
	send_octets(r->client, r->octets, r->len);
	set_timer(r, r->timeout_ns);
	r->timeout_ns *= 2;
}

/*
 * A request ends without an answer, and in all its time not a word came from the CSE: the address
 * that the socket took when it was connected may be the wrong one by now. What else is outstanding
 * has not been answered either, and is repeated by the new way.
 */
static void reconnect_after(const struct request *r)
{
	struct bp_cse_client *c = r->client;

	if (c->heard_ns >= r->first_ns || c->reconnected_ns >= r->first_ns)
		return;
	c->reconnected_ns = bp_mono_ns();
	c->counts.reconnects++;
	bp_cse_socket_reconnect(&c->socket);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	static const struct bp_cse_reply timed_out = {.end = BP_CSE_TIMED_OUT};
	struct request *r = arg;

	(void)fd;
	(void)what;
	if (!r->acknowledged && r->sent <= BP_CSE_RETRANSMISSIONS) {
		r->client->counts.repeats++;
		transmit(r);
		return;
	}
	r->client->counts.timed_out++;
	reconnect_after(r);
	end(r, &timed_out);
}

static struct request *free_request(struct bp_cse_client *c)
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

/* Writes the request; its length, or 0. */
static size_t write_request(
	struct bp_cse_client *c, struct request *r, const struct bp_m2m_request *q, uint8_t *out)
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

/* A free place, with a token; or NULL, and then whoever watches is told when there is one. */
static struct request *begin(struct bp_cse_client *c)
{
	struct request *r = bp_cse_has_room(c) ? free_request(c) : NULL;

	if (r == NULL) {
		if (!c->closing)
			note_room(c);
		return NULL;
	}
	memcpy(r->token, &c->serial, 4);
	memcpy(r->token + 4, &c->secret, 4);
	return r;
}

/* The octets but for the message id, which is taken last: what can't be sent uses none up. */
static enum bp_cse_sent start(
	struct request *r, const uint8_t *octets, size_t len, bp_cse_done *done, void *arg)
{
	struct bp_cse_client *c = r->client;

	r->octets = malloc(len);
	if (r->octets == NULL) {
		look_for_room_in(c, NS_PER_S);
		return BP_CSE_NO_ROOM;
	}
	memcpy(r->octets, octets, len);
	r->len = len;
	r->first_ns = bp_mono_ns();
	r->mid = bp_cse_ids_take(&c->ids, r->first_ns);
	r->octets[2] = (uint8_t)(r->mid >> 8);
	r->octets[3] = (uint8_t)r->mid;
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
	note_room(c);
	return BP_CSE_TAKEN;
}

enum bp_cse_sent bp_cse_send(
	struct bp_cse_client *c, const struct bp_m2m_request *q, bp_cse_done *done, void *arg)
{
	uint8_t out[BP_CSE_MESSAGE_MAX];
	struct request *r = begin(c);
	size_t len;

	if (r == NULL)
		return BP_CSE_NO_ROOM;
	len = write_request(c, r, q, out);
	return len == 0 ? BP_CSE_TOO_LONG : start(r, out, len, done, arg);
}

enum bp_cse_sent bp_cse_send_message(
	struct bp_cse_client *c, const uint8_t *message, size_t len, bp_cse_done *done, void *arg)
{
	uint8_t out[BP_CSE_MESSAGE_MAX];
	struct request *r = begin(c);

	if (r == NULL)
		return BP_CSE_NO_ROOM;
	if (len < BP_COAP_HEADER_LEN + BP_COAP_TOKEN_MAX || len > sizeof(out) ||
		(message[0] & 0xf) != BP_COAP_TOKEN_MAX)
		return BP_CSE_TOO_LONG;
	memcpy(out, message, len);
	out[0] = 0x40 | BP_COAP_TOKEN_MAX; /* version 1, CON */
	memcpy(out + BP_COAP_HEADER_LEN, r->token, sizeof(r->token));
	return start(r, out, len, done, arg);
}

/* ---- what comes ---- */

static void send_empty(struct bp_cse_client *c, enum bp_coap_type type, uint16_t mid)
{
	uint8_t out[BP_COAP_HEADER_LEN];
	struct bp_coap_writer w;

	bp_coap_begin(&w, out, sizeof(out), type, BP_COAP_EMPTY, mid, NULL, 0);
	send_octets(c, out, bp_coap_end(&w, out, NULL, 0));
}

static struct request *by_mid(struct bp_cse_client *c, uint16_t mid)
{
	for (unsigned i = 0; i < c->settings.outstanding; i++)
		if (c->request[i].used && c->request[i].mid == mid)
			return &c->request[i];
	return NULL;
}

static struct request *by_token(struct bp_cse_client *c, const struct bp_coap *m)
{
	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct request *r = &c->request[i];

		if (r->used && m->token_len == sizeof(r->token) &&
			memcmp(r->token, m->token, sizeof(r->token)) == 0)
			return r;
	}
	return NULL;
}

/* A token that this client made, whether or not its request is still outstanding. */
static bool ours(const struct bp_cse_client *c, const struct bp_coap *m)
{
	return m->token_len == BP_COAP_TOKEN_MAX && memcmp(m->token + 4, &c->secret, 4) == 0;
}

static void answered(struct request *r, const struct bp_coap *m)
{
	struct bp_cse_reply reply = {
		.end = BP_CSE_ANSWERED, .payload = m->payload, .payload_len = m->payload_len};

	bp_m2m_reply_read(m, r->client->settings.release, &reply.m2m);
	r->client->counts.answered++;
	end(r, &reply);
}

static void acknowledgement(struct bp_cse_client *c, const struct bp_coap *m)
{
	struct request *r = by_mid(c, m->mid);

	if (r == NULL || (m->code == BP_COAP_EMPTY ? r->acknowledged : by_token(c, m) != r)) {
		c->counts.strays++;
	} else if (m->code != BP_COAP_EMPTY) {
		answered(r, m);
	} else {
		r->acknowledged = true;
		set_timer(r, c->settings.ack_timeout_ns * SEPARATE_TIMEOUTS);
	}
}

/* One that isn't empty is none (4.2): a CSE sends such, with a message id of its own. */
static void reset(struct bp_cse_client *c, const struct bp_coap *m)
{
	static const struct bp_cse_reply was_reset = {.end = BP_CSE_RESET};
	struct request *r = m->code == BP_COAP_EMPTY ? by_mid(c, m->mid) : NULL;

	if (r == NULL || r->acknowledged) {
		c->counts.strays++;
		return;
	}
	c->counts.resets++;
	end(r, &was_reset);
}

/* A response of its own. That its acknowledgement got lost the CSE shows by sending it again. */
static void separate(struct bp_cse_client *c, const struct bp_coap *m)
{
	struct request *r = m->code >= BP_COAP_CODE(2, 0) ? by_token(c, m) : NULL;

	if (m->type == BP_COAP_CON)
		send_empty(c,
			r != NULL || (m->code != BP_COAP_EMPTY && ours(c, m)) ? BP_COAP_ACK
									      : BP_COAP_RST,
			m->mid);
	if (r == NULL) {
		c->counts.strays++;
		return;
	}
	c->counts.separate++;
	answered(r, m);
}

static void receive(struct bp_cse_client *c, const uint8_t *p, size_t len)
{
	struct bp_coap m;

	if (bp_coap_read(p, len, &m) != BP_COAP_OK) {
		c->counts.unreadable++;
		return;
	}
	switch (m.type) {
	case BP_COAP_ACK:
		acknowledgement(c, &m);
		break;
	case BP_COAP_RST:
		reset(c, &m);
		break;
	default:
		separate(c, &m);
		break;
	}
}

/* ---- nobody listens ---- */

/*
 * The request whose datagram began so. Where less than a header was quoted, which is all that IPv4
 * asks for, the one that was sent longest ago.
 */
static struct request *quoted(struct bp_cse_client *c, const uint8_t *p, size_t len)
{
	const bool whole = len >= BP_COAP_HEADER_LEN;
	struct request *oldest = NULL;

	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct request *r = &c->request[i];

		if (!r->used)
			continue;
		if (whole && memcmp(r->octets, p, len) == 0)
			return r;
		if (oldest == NULL || r->sent_ns < oldest->sent_ns)
			oldest = r;
	}
	return whole ? NULL : oldest;
}

/*
 * That a datagram was refused may be old news: the CSE has come back since, or the datagram is of
 * an exchange that ended. So it counts only for a request that is outstanding, and only where not a
 * word came from the CSE since that was sent last. A forger would have to know its token.
 */
static bool is_gone(struct bp_cse_client *c, const uint8_t *p, size_t len)
{
	const struct request *r = quoted(c, p, len);

	return r != NULL && c->heard_ns < r->sent_ns;
}

/* All that is outstanding, but not what they ask anew from their ends. */
static void end_refused(struct bp_cse_client *c)
{
	static const struct bp_cse_reply refused = {.end = BP_CSE_REFUSED};

	for (unsigned i = 0; i < c->settings.outstanding; i++)
		c->request[i].refused = c->request[i].used;
	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct request *r = &c->request[i];

		if (!r->used || !r->refused)
			continue;
		c->counts.refused++;
		end(r, &refused);
	}
}

static void take_errors(struct bp_cse_client *c)
{
	uint8_t p[QUOTE_MAX];
	bool refused, gone = false;
	size_t len;

	for (unsigned i = 0; i < ERRORS_MAX; i++) {
		if (!bp_cse_socket_error(&c->socket, p, sizeof(p), &len, &refused))
			break;
		c->counts.refusals += refused;
		if (refused && is_gone(c, p, len))
			gone = true;
	}
	if (gone)
		end_refused(c);
}

/* What has come is read first: it tells which refusals are old. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct bp_cse_client *c = arg;
	uint8_t p[65536];

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < TURN_MAX; i++) {
		ssize_t n = bp_cse_socket_receive(&c->socket, p, sizeof(p));

		if (n < 0) {
			take_errors(c);
			return;
		}
		c->heard_ns = bp_mono_ns();
		receive(c, p, (size_t)n);
	}
}

/* ---- life ---- */

static uint16_t make_random(struct bp_cse_client *c)
{
	uint16_t mid = 0;

	if (getrandom(&c->secret, sizeof(c->secret), GRND_NONBLOCK) < 0 ||
		getrandom(&mid, sizeof(mid), GRND_NONBLOCK) < 0) {
		c->secret = (uint32_t)bp_unix_ns();
		mid = (uint16_t)(c->secret >> 16);
	}
	return mid;
}

struct bp_cse_client *bp_cse_client_new(
	struct event_base *base, const struct bp_cse_settings *settings)
{
	struct bp_cse_client *c =
		calloc(1, sizeof(*c) + settings->outstanding * sizeof(struct request));

	if (c == NULL)
		return NULL;
	c->base = base;
	c->settings = *settings;
	if (c->settings.ack_timeout_ns == 0)
		c->settings.ack_timeout_ns = BP_CSE_ACK_TIMEOUT_NS;
	if (c->settings.id_lifetime_ns == 0)
		c->settings.id_lifetime_ns = BP_COAP_EXCHANGE_LIFETIME_S * NS_PER_S;
	c->socket = (struct bp_cse_socket){.base = base,
		.to = &c->settings.address,
		.on_readable = on_readable,
		.arg = c,
		.fd = -1};
	bp_cse_ids_init(&c->ids, make_random(c), c->settings.id_lifetime_ns);
	c->room = evtimer_new(base, on_room, c);
	for (unsigned i = 0; i < settings->outstanding; i++) {
		c->request[i].client = c;
		c->request[i].timer = evtimer_new(base, on_timer, &c->request[i]);
		if (c->request[i].timer == NULL || c->room == NULL) {
			bp_cse_client_free(c);
			return NULL;
		}
	}
	return c;
}

void bp_cse_client_free(struct bp_cse_client *c)
{
	static const struct bp_cse_reply cancelled = {.end = BP_CSE_CANCELLED};

	if (c == NULL)
		return;
	c->closing = true;
	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct request *r = &c->request[i];

		if (r->used)
			end(r, &cancelled);
		if (r->timer != NULL)
			event_free(r->timer);
	}
	if (c->room != NULL)
		event_free(c->room);
	bp_cse_socket_close(&c->socket);
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
