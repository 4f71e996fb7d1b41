/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/health/cse/cse_client_internal.h"

#define BATCH_MAX 64     /* datagrams per iteration of the event loop */
#define ERRORS_MAX 1024u /* errors of refused datagrams per iteration */
/* distinguishes a request from all others */
#define QUOTE_MAX (BP_COAP_HEADER_LEN + BP_COAP_TOKEN_MAX)

/* ---- received datagrams ---- */

static void send_empty(struct bp_cse_lane *lane, enum bp_coap_type type, uint16_t mid)
{
	uint8_t out[BP_COAP_HEADER_LEN];
	struct bp_coap_writer w;

	bp_coap_begin(&w, out, sizeof(out), type, BP_COAP_EMPTY, mid, NULL, 0);
	bp_cse_send_bytes(lane, out, bp_coap_end(&w, out, NULL, 0));
}

static struct bp_cse_outstanding *by_mid(struct bp_cse_lane *lane, uint16_t mid)
{
	struct bp_cse_client *c = lane->client;

	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct bp_cse_outstanding *r = &c->request[i];

		if (r->used && r->lane == lane && r->mid == mid)
			return r;
	}
	return NULL;
}

static struct bp_cse_outstanding *by_token(struct bp_cse_client *c, const struct bp_coap *m)
{
	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct bp_cse_outstanding *r = &c->request[i];

		if (r->used && m->token_len == sizeof(r->token) &&
			memcmp(r->token, m->token, sizeof(r->token)) == 0)
			return r;
	}
	return NULL;
}

/* Returns whether the token is from this client, with or without an outstanding request. */
static bool is_expected(const struct bp_cse_client *c, const struct bp_coap *m)
{
	return m->token_len == BP_COAP_TOKEN_MAX && memcmp(m->token + 4, &c->secret, 4) == 0;
}

static void answered(struct bp_cse_outstanding *r, const struct bp_coap *m)
{
	struct bp_cse_reply reply = {
		.end = BP_CSE_ANSWERED, .payload = m->payload, .payload_len = m->payload_len};

	bp_m2m_reply_read(m, r->client->settings.release, &reply.m2m);
	r->client->counts.answered++;
	bp_cse_end_request(r, &reply);
}

static void acknowledgement(struct bp_cse_lane *lane, const struct bp_coap *m)
{
	struct bp_cse_client *c = lane->client;
	struct bp_cse_outstanding *r = by_mid(lane, m->mid);

	if (m->code != BP_COAP_EMPTY && !BP_COAP_IS_RESPONSE(m->code)) {
		c->counts.unreadable++;
	} else if (r == NULL ||
		   (m->code == BP_COAP_EMPTY ? r->acknowledged : by_token(c, m) != r)) {
		c->counts.unmatched++;
	} else if (m->code != BP_COAP_EMPTY) {
		answered(r, m);
	} else {
		r->acknowledged = true;
		bp_cse_set_timer(r, c->settings.ack_timeout_ns * BP_CSE_SEPARATE_TIMEOUTS);
	}
}

/* A non-empty reset is invalid (RFC 7252, 4.2): a CSE sends them, with a message id of its own. */
static void reset(struct bp_cse_lane *lane, const struct bp_coap *m)
{
	static const struct bp_cse_reply was_reset = {.end = BP_CSE_RESET};
	struct bp_cse_client *c = lane->client;
	struct bp_cse_outstanding *r = m->code == BP_COAP_EMPTY ? by_mid(lane, m->mid) : NULL;

	if (r == NULL || r->acknowledged) {
		c->counts.unmatched++;
		return;
	}
	c->counts.resets++;
	bp_cse_end_request(r, &was_reset);
}

/* A separate response. If its acknowledgement was lost, the CSE sends it again. */
static void separate(struct bp_cse_lane *lane, const struct bp_coap *m)
{
	struct bp_cse_client *c = lane->client;
	const bool response = BP_COAP_IS_RESPONSE(m->code);
	struct bp_cse_outstanding *r = response ? by_token(c, m) : NULL;

	if (m->type == BP_COAP_CON)
		send_empty(lane, response && is_expected(c, m) ? BP_COAP_ACK : BP_COAP_RST, m->mid);
	if (r == NULL) {
		c->counts.unmatched++;
		return;
	}
	c->counts.separate++;
	answered(r, m);
}

static void receive(struct bp_cse_lane *lane, const uint8_t *p, size_t len)
{
	struct bp_coap m;

	if (bp_coap_read(p, len, &m) != BP_COAP_OK) {
		lane->client->counts.unreadable++;
		return;
	}
	switch (m.type) {
	case BP_COAP_ACK:
		acknowledgement(lane, &m);
		break;
	case BP_COAP_RST:
		reset(lane, &m);
		break;
	default:
		separate(lane, &m);
		break;
	}
}

/* ---- ICMP errors ---- */

/*
 * Returns the request whose datagram begins with the quoted bytes. If less than a header is quoted,
 * as IPv4 allows, returns the oldest request.
 */
static struct bp_cse_outstanding *quoted(struct bp_cse_lane *lane, const uint8_t *p, size_t len)
{
	struct bp_cse_client *c = lane->client;
	const bool whole = len >= BP_COAP_HEADER_LEN;
	struct bp_cse_outstanding *oldest = NULL;

	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct bp_cse_outstanding *r = &c->request[i];

		if (!r->used || r->lane != lane)
			continue;
		if (whole && memcmp(r->bytes, p, len) == 0)
			return r;
		if (oldest == NULL || r->sent_ns < oldest->sent_ns)
			oldest = r;
	}
	return whole ? NULL : oldest;
}

/*
 * An ICMP error may be outdated: the CSE may have returned since, or the datagram may belong to a
 * finished exchange. So an error counts only for an outstanding request, and only if the CSE has
 * sent no datagram since the last transmission of the request. A forger would have to know its
 * token.
 */
static bool is_unreachable(struct bp_cse_lane *lane, const uint8_t *p, size_t len)
{
	const struct bp_cse_outstanding *r = quoted(lane, p, len);

	return r != NULL && lane->client->last_rx_ns < r->sent_ns;
}

/* Ends all outstanding requests, but not those that their callbacks start. */
static void end_refused(struct bp_cse_client *c)
{
	static const struct bp_cse_reply refused = {.end = BP_CSE_REFUSED};

	for (unsigned i = 0; i < c->settings.outstanding; i++)
		c->request[i].refused = c->request[i].used;
	for (unsigned i = 0; i < c->settings.outstanding; i++) {
		struct bp_cse_outstanding *r = &c->request[i];

		if (!r->used || !r->refused)
			continue;
		c->counts.refused++;
		bp_cse_end_request(r, &refused);
	}
}

static void take_errors(struct bp_cse_lane *lane)
{
	struct bp_cse_client *c = lane->client;
	uint8_t p[QUOTE_MAX];
	bool refused, gone = false;
	size_t len;

	for (unsigned i = 0; i < ERRORS_MAX; i++) {
		if (!bp_cse_socket_error(&lane->socket, p, sizeof(p), &len, &refused))
			break;
		c->counts.refusals += refused;
		if (refused && is_unreachable(lane, p, len))
			gone = true;
	}
	if (gone)
		end_refused(c);
}

/* Received datagrams are read first: they show which errors are outdated. */
void bp_cse_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct bp_cse_lane *lane = arg;
	uint8_t p[65536];

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < BATCH_MAX; i++) {
		ssize_t n = bp_cse_socket_receive(&lane->socket, p, sizeof(p));

		if (n < 0) {
			take_errors(lane);
			return;
		}
		lane->last_rx_ns = lane->client->last_rx_ns = bp_mono_ns();
		receive(lane, p, (size_t)n);
	}
}
