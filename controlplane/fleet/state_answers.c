/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/fleet/state_internal.h"
#include "controlplane/process/clock.h"
#include "proto/payload/utf8.h"
#include "proto/redis/resp.h"

/* After Redis has refused a write because its memory is full. */
#define FULL_PAUSE_NS 1000000000ull

/* ---- ends of operations ---- */

void bp_fleet_end_write(struct bp_fleet_state *s, struct bp_fleet_op *op, enum bp_fleet_result r)
{
	bp_fleet_queue_finish(&s->queue, op, r);
}

void bp_fleet_end_read(
	struct bp_fleet_state *s, struct bp_fleet_op *op, const struct bp_fleet_value *v)
{
	void (*got)(void *arg, const struct bp_fleet_value *v) = op->got;
	void *arg = op->arg;

	if (!v->known)
		s->counters.reads_failed++;
	else if (v->found)
		s->counters.found++;
	bp_fleet_queue_finish(&s->queue, op, BP_FLEET_STORED);
	got(arg, v);
}

void bp_fleet_call_back(struct bp_fleet_state *s)
{
	struct bp_fleet_op *op;

	if (s->calling)
		return;
	s->calling = true;
	while ((op = bp_fleet_queue_done(&s->queue)) != NULL) {
		if (op->done != NULL)
			op->done(op->arg, op->result);
		free(op);
	}
	s->calling = false;
}

void bp_fleet_lose(struct bp_fleet_state *s, struct bp_fleet_op *op, uint64_t *counter)
{
	(*counter)++;
	bp_fleet_end_write(s, op, BP_FLEET_LOST);
}

/* ---- the connection ---- */

void bp_fleet_on_up(void *arg)
{
	struct bp_fleet_state *s = arg;

	s->counters.connects++;
	s->heard_ns = bp_mono_ns();
	if (s->down_logged || s->counters.connects == 1)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_STR("server", bp_redis_link_peer(s->link))),
			"connected to Redis, the shared state of the fleet");
	s->down_logged = false;
	bp_fleet_pump(s);
}

/* The text of a server can be of any bytes, and it is cut. JSON needs UTF-8. */
void bp_fleet_state_note_error(struct bp_fleet_state *s, enum bp_fleet_error why, const char *text)
{
	char *c = s->last_error;

	s->counters.error[why]++;
	snprintf(
		s->last_error, sizeof(s->last_error), "%s: %.200s", bp_fleet_error_name[why], text);
	if (bp_utf8_valid((const uint8_t *)c, strlen(c)))
		return;
	for (; *c != '\0'; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
}

void bp_fleet_on_down(void *arg, enum bp_fleet_error why, const char *text)
{
	struct bp_fleet_state *s = arg;

	bp_fleet_state_note_error(s, why, text);
	s->epoch_known = s->epoch_asked = false;
	bp_log_limited(&s->log_down, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("server", bp_redis_link_peer(s->link)),
			BP_LOG_STR("reason", s->last_error)),
		"no connection to Redis, the shared state of the fleet; writes wait");
	s->down_logged = true;
	bp_fleet_queue_unsend(&s->queue);
	if (s->draining)
		bp_fleet_drained(s);
	bp_fleet_arm(s);
}

/* Without a first epoch, this process shares nothing. One that has an epoch keeps it, and the
 * values of higher ones remain those of their owners. A lower number than the refused one, which
 * was asked for meanwhile, may be plausible. */
static void refuse_epoch(struct bp_fleet_state *s, bool exhausted)
{
	const char *text =
		exhausted ? "the counter of epochs in Redis is at its maximum, or is no number"
			  : "the epoch of a value is far above the counter in Redis";

	if (s->epoch == 0) {
		bp_redis_link_fail(s->link, BP_FLEET_ERROR_EPOCH, text);
		return;
	}
	bp_fleet_state_note_error(s, BP_FLEET_ERROR_EPOCH, text);
	bp_log_limited(&s->log_epoch, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("server", bp_redis_link_peer(s->link)),
			BP_LOG_STR("reason", s->last_error)),
		"no higher epoch in the shared state of the fleet; values of other gateways are "
		"not taken over");
	if (exhausted)
		s->outrank = s->outrank_far = 0;
	else if (s->outrank_far >= s->epoch_above)
		s->outrank_far = 0;
	s->epoch_known = bp_fleet_outranks(s);
}

/* Redis has no free memory: reads continue, and the epoch is requested again. */
static void delay_epoch(struct bp_fleet_state *s)
{
	bp_fleet_state_note_error(s, BP_FLEET_ERROR_FULL, "epoch: no free memory");
	s->pause_ns = bp_mono_ns() + FULL_PAUSE_NS;
}

static bool is_refusal(const struct bp_fleet_state *s, const struct bp_resp *r)
{
	const uint64_t plausible = bp_fleet_epoch_counter(s->epoch) + BP_FLEET_COUNTER_AHEAD;

	if (r->type != BP_RESP_INTEGER || !s->epoch_new)
		return false;
	return r->integer == BP_FLEET_EPOCH_EXHAUSTED ||
	       (r->integer == BP_FLEET_EPOCH_IMPLAUSIBLE && s->epoch_above > plausible);
}

static void set_epoch(struct bp_fleet_state *s, uint64_t counter)
{
	if (s->epoch_new)
		s->epoch = counter << BP_FLEET_NONCE_BITS | s->nonce;
	/* outrank() may have asked for more meanwhile. */
	if (bp_fleet_epoch_counter(s->epoch) > s->outrank)
		s->outrank = 0;
	if (bp_fleet_epoch_counter(s->epoch) > s->outrank_far)
		s->outrank_far = 0;
	s->epoch_known = bp_fleet_outranks(s);
}

static void take_epoch(struct bp_fleet_state *s, const struct bp_resp *r)
{
	s->epoch_asked = false;
	if (r->type == BP_RESP_ERROR && bp_redis_error(r) == BP_FLEET_ERROR_FULL)
		delay_epoch(s);
	else if (r->type == BP_RESP_ERROR)
		bp_redis_link_fail(s->link, bp_redis_error(r), "the key of the epoch is refused");
	else if (is_refusal(s, r))
		refuse_epoch(s, r->integer == BP_FLEET_EPOCH_EXHAUSTED);
	else if (r->type != BP_RESP_INTEGER || r->integer <= 0 ||
		 (uint64_t)r->integer > BP_FLEET_COUNTER_MAX)
		bp_redis_link_fail(s->link, BP_FLEET_ERROR_PROTOCOL, "the epoch is not valid");
	else
		set_epoch(s, (uint64_t)r->integer);
}

static void refuse_write(struct bp_fleet_state *s, struct bp_fleet_op *op, const struct bp_resp *r)
{
	const enum bp_fleet_error why =
		r->type == BP_RESP_ERROR ? bp_redis_error(r) : BP_FLEET_ERROR_PROTOCOL;
	char text[256];

	snprintf(text, sizeof(text), "write: %.*s",
		r->type == BP_RESP_ERROR ? (int)(r->len < 200 ? r->len : 200) : 17,
		r->type == BP_RESP_ERROR ? r->text : "unexpected answer");
	if (why == BP_FLEET_ERROR_REFUSED) {
		bp_fleet_state_note_error(s, why, text);
		bp_fleet_lose(s, op, &s->counters.lost_refused);
	} else if (why == BP_FLEET_ERROR_FULL) {
		bp_fleet_state_note_error(s, why, text);
		s->pause_ns = bp_mono_ns() + FULL_PAUSE_NS;
		bp_fleet_queue_again(&s->queue, op);
	} else {
		bp_redis_link_fail(s->link, why, text);
	}
}

static void take_write(struct bp_fleet_state *s, struct bp_fleet_op *op, const struct bp_resp *r)
{
	if (r->type == BP_RESP_INTEGER && r->integer == 1) {
		s->counters.stored++;
		bp_fleet_end_write(s, op, BP_FLEET_STORED);
	} else if (r->type == BP_RESP_INTEGER && r->integer == 0) {
		s->counters.superseded++;
		bp_fleet_end_write(s, op, BP_FLEET_SUPERSEDED);
	} else {
		refuse_write(s, op, r);
	}
}

/* 16 lower-case hexadecimal digits, as a script of this program writes them. */
static bool read_hex(const char *text, uint64_t *out)
{
	*out = 0;
	for (unsigned i = 0; i < 16; i++) {
		const char c = text[i];

		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return false;
		*out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

static bool read_value(const char *bytes, size_t len, struct bp_fleet_value *v)
{
	*v = (struct bp_fleet_value){.known = true};
	if (len < BP_FLEET_MARK_LEN || len > BP_FLEET_MARK_LEN + BP_FLEET_VALUE_MAX ||
		!read_hex(bytes, &v->epoch) || !read_hex(bytes + 16, &v->version))
		return false;
	v->bytes = bytes + BP_FLEET_MARK_LEN;
	v->len = len - BP_FLEET_MARK_LEN;
	v->found = v->len != 0;
	return true;
}

/* An entry of a stream has an id and fields. This program writes one field: another entry is
 * untrusted like its bytes, and has none here. */
static bool are_entries(const struct bp_resp *r)
{
	const struct bp_resp *e = r + 1;

	if (r->type != BP_RESP_ARRAY || r->n > BP_FLEET_ENTRIES_PAGE)
		return false;
	for (unsigned i = 0; i < r->n; i++, e += e->skip)
		if (e->type != BP_RESP_ARRAY || e->n != 2 || e[1].type != BP_RESP_TEXT ||
			e[1].len == 0 || e[1].len >= BP_FLEET_ENTRY_ID_MAX)
			return false;
	return true;
}

static void take_entries(struct bp_fleet_op *op, const struct bp_resp *r)
{
	const struct bp_resp *e = r + 1;
	char id[BP_FLEET_ENTRY_ID_MAX];

	for (unsigned i = 0; i < r->n; i++, e += e->skip) {
		struct bp_fleet_value v = {.known = true, .found = true, .bytes = "", .id = id};

		memcpy(id, e[1].text, e[1].len);
		id[e[1].len] = '\0';
		if (e[2].type == BP_RESP_ARRAY && e[2].n == 2 && e[3].type == BP_RESP_TEXT &&
			e[4].type == BP_RESP_TEXT) {
			v.bytes = e[4].text;
			v.len = e[4].len;
		}
		op->got(op->arg, &v);
	}
}

static void take_read(struct bp_fleet_state *s, struct bp_fleet_op *op, const struct bp_resp *r)
{
	struct bp_fleet_value v = {.known = true};
	enum bp_fleet_error why;

	if (r->type == BP_RESP_ERROR) {
		why = bp_redis_error(r);
		if (why != BP_FLEET_ERROR_REFUSED) {
			bp_redis_link_fail(s->link, why, "read: refused");
			return;
		}
		s->counters.error[why]++;
		v.known = false;
	} else if (op->entries && are_entries(r)) {
		take_entries(op, r);
	} else if (op->entries ||
		   (r->type != BP_RESP_NIL &&
			   (r->type != BP_RESP_TEXT || !read_value(r->text, r->len, &v)))) {
		s->counters.error[BP_FLEET_ERROR_PROTOCOL]++;
		v = (struct bp_fleet_value){.known = false};
	}
	bp_fleet_end_read(s, op, &v);
}

void bp_fleet_on_reply(void *arg, const struct bp_resp *r)
{
	struct bp_fleet_state *s = arg;
	struct bp_fleet_op *op = TAILQ_FIRST(&s->queue.list[BP_FLEET_SENT]);

	s->heard_ns = bp_mono_ns();
	if (op == NULL) {
		bp_redis_link_fail(s->link, BP_FLEET_ERROR_PROTOCOL, "an answer to no request");
		return;
	}
	if (op->kind == BP_FLEET_OP_PUT) {
		take_write(s, op, r);
	} else if (op->kind == BP_FLEET_OP_GET) {
		take_read(s, op, r);
	} else {
		const bool epoch = op->kind == BP_FLEET_OP_EPOCH;

		bp_fleet_queue_finish(&s->queue, op, BP_FLEET_STORED);
		if (epoch)
			take_epoch(s, r);
		else if (r->type == BP_RESP_ERROR)
			bp_redis_link_fail(s->link, bp_redis_error(r), "PING: refused");
	}
	bp_fleet_pump(s);
}
