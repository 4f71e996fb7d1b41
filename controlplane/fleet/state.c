/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/state.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/fleet/redis_link.h"
#include "controlplane/fleet/state_queue.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"
#include "proto/redis/resp.h"

#define INFLIGHT_MAX 512u
#define READS_MAX 4096u
/* After Redis has refused a write because its memory is full. */
#define FULL_PAUSE_NS 1000000000ull
/* An idle connection is checked as often. */
#define PING_NS 1000000000ull
/* An epoch is a counter in Redis and a random number, so that two processes that get the same
 * number, from a replica that was promoted too early, still have an order. */
#define NONCE_BITS 16u
#define COUNTER_MAX ((uint64_t)1 << 46)
#define MARK_LEN 32u /* of a value in Redis: epoch and version, 16 hexadecimal digits each */
#define PREFIX_MAX 96u

const char *const bp_fleet_error_name[BP_FLEET_ERRORS] = {"connect", "closed", "timeout", "auth",
	"sentinel", "not_master", "full", "unavailable", "refused", "protocol"};

/*
 * KEYS: the value. ARGV: mark, bytes, time to live (ms), channel or "", text to publish. Marks have
 * a fixed length and hexadecimal digits, so their order as texts is that of the numbers.
 */
#define PUT_SCRIPT                                                                                 \
	"local old = redis.call('GET', KEYS[1])\n"                                                 \
	"if old and #old >= 32 and string.sub(old, 1, 32) > ARGV[1] then return 0 end\n"           \
	"redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])\n"                          \
	"if ARGV[4] ~= '' then\n"                                                                  \
	"  redis.call('PUBLISH', ARGV[4], ARGV[5] .. ' ' .. ARGV[1] .. ARGV[2])\n"                 \
	"end\n"                                                                                    \
	"return 1\n"
/*
 * KEYS: the counter. ARGV: a number that it must reach, or exceed by a new number ("1"). A Redis
 * without its data, or a replica that lacks the last writes, learns the number from the processes
 * that have one.
 */
#define EPOCH_SCRIPT                                                                               \
	"local n = tonumber(redis.call('GET', KEYS[1]) or '0')\n"                                  \
	"local floor = tonumber(ARGV[1])\n"                                                        \
	"if n < floor then n = floor end\n"                                                        \
	"if ARGV[2] == '1' then n = n + 1 end\n"                                                   \
	"redis.call('SET', KEYS[1], string.format('%.0f', n))\n"                                   \
	"return n\n"
enum { SCRIPT_PUT, SCRIPT_EPOCH };
static const char *const scripts[] = {PUT_SCRIPT, EPOCH_SCRIPT, NULL};

struct bp_fleet_state {
	struct event_base *base;
	struct bp_config_fleet_state c; /* a reload frees the configuration */
	struct bp_redis_link *link;
	struct event *timer;
	uint64_t armed_ns; /* when the timer fires; UINT64_MAX: it is not set */
	struct bp_fleet_queue queue;
	char prefix[PREFIX_MAX];
	uint64_t epoch;
	uint64_t outrank; /* counter that a new epoch must exceed; 0: none is needed */
	bool epoch_known; /* Redis has our epoch, on this connection */
	bool epoch_asked; /* the request is in flight */
	bool epoch_new;   /* ... for a new epoch */
	bool calling;     /* done() of writes */
	bool ending;
	uint64_t pause_ns; /* no writes until then */
	uint64_t heard_ns; /* the last reply */
	uint16_t nonce;
	struct bp_fleet_counters counters;
	struct bp_log_limit log_down;
	bool down_logged;
	char last_error[256];
};

static uint64_t epoch_counter(uint64_t epoch)
{
	return epoch >> NONCE_BITS;
}

/* ---- commands ---- */

#define WORD(text_, len_) ((struct iovec){(void *)(uintptr_t)(text_), (len_)})

struct key_text {
	char text[PREFIX_MAX + BP_FLEET_KEY_MAX + 1];
	size_t len;
};

static void make_key(const struct bp_fleet_state *s, const char *key, struct key_text *out)
{
	out->len = (size_t)snprintf(out->text, sizeof(out->text), "%s%s", s->prefix, key);
}

static void send_put(struct bp_fleet_state *s, struct bp_fleet_op *op, uint64_t now)
{
	const uint64_t ttl_ms = (op->expires_ns - now) / 1000000u + 1;
	char mark[MARK_LEN + 1], ttl[24];
	struct key_text key, channel = {.len = 0};

	if (op->epoch == 0)
		op->epoch = s->epoch;
	make_key(s, op->key, &key);
	if (op->channel != NULL)
		make_key(s, op->channel, &channel);
	snprintf(mark, sizeof(mark), "%016" PRIx64 "%016" PRIx64, op->shared ? 0 : op->epoch,
		op->version);
	const int n = snprintf(ttl, sizeof(ttl), "%" PRIu64, ttl_ms);
	const struct iovec words[] = {WORD("EVALSHA", 7),
		WORD(bp_redis_link_script(s->link, SCRIPT_PUT), BP_REDIS_SHA_LEN), WORD("1", 1),
		WORD(key.text, key.len), WORD(mark, MARK_LEN), WORD(op->value, op->len),
		WORD(ttl, (size_t)n), WORD(channel.text, channel.len),
		WORD(op->key, strlen(op->key))};

	bp_redis_link_send(s->link, sizeof(words) / sizeof(words[0]), words);
}

static void send_get(struct bp_fleet_state *s, const struct bp_fleet_op *op)
{
	struct key_text key;

	make_key(s, op->key, &key);
	const struct iovec words[] = {WORD("GET", 3), WORD(key.text, key.len)};

	bp_redis_link_send(s->link, 2, words);
}

static void send_epoch(struct bp_fleet_state *s)
{
	const uint64_t own = epoch_counter(s->epoch);
	const uint64_t floor = s->outrank > own ? s->outrank : own;
	struct key_text key;
	char text[24];

	s->epoch_new = s->epoch == 0 || s->outrank != 0;
	make_key(s, "epoch", &key);
	const int n = snprintf(text, sizeof(text), "%" PRIu64, floor);
	const struct iovec words[] = {WORD("EVALSHA", 7),
		WORD(bp_redis_link_script(s->link, SCRIPT_EPOCH), BP_REDIS_SHA_LEN), WORD("1", 1),
		WORD(key.text, key.len), WORD(text, (size_t)n), WORD(s->epoch_new ? "1" : "0", 1)};

	bp_redis_link_send(s->link, sizeof(words) / sizeof(words[0]), words);
}

/* Requests that belong to no caller: their place among the replies. */
static bool send_own(struct bp_fleet_state *s, enum bp_fleet_op_kind kind, uint64_t now)
{
	static const struct iovec ping[] = {{(void *)(uintptr_t) "PING", 4}};
	struct bp_fleet_op *op = bp_fleet_op_new(kind, "", NULL, 0);

	if (op == NULL)
		return false;
	op->sent_ns = now;
	bp_fleet_queue_sent(&s->queue, op);
	if (kind == BP_FLEET_OP_EPOCH)
		send_epoch(s);
	else
		bp_redis_link_send(s->link, 1, ping);
	return true;
}

/* ---- ends of operations ---- */

static void end_write(struct bp_fleet_state *s, struct bp_fleet_op *op, enum bp_fleet_result r)
{
	bp_fleet_queue_finish(&s->queue, op, r);
}

static void end_read(
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

/* Calls done() of writes, which may write: not while the lists are in use. */
static void call_back(struct bp_fleet_state *s)
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

static void lose(struct bp_fleet_state *s, struct bp_fleet_op *op, uint64_t *counter)
{
	(*counter)++;
	end_write(s, op, BP_FLEET_LOST);
}

/* ---- the timer ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void arm(struct bp_fleet_state *s)
{
	const struct bp_fleet_op *delayed = TAILQ_FIRST(&s->queue.list[BP_FLEET_DELAYED]);
	const struct bp_fleet_op *read = TAILQ_FIRST(&s->queue.list[BP_FLEET_READS]);
	const struct bp_fleet_op *sent = TAILQ_FIRST(&s->queue.list[BP_FLEET_SENT]);
	const uint64_t now = bp_mono_ns();
	uint64_t due = UINT64_MAX;

	if (delayed != NULL)
		due = delayed->due_ns;
	if (read != NULL)
		due = min_u64(due, read->expires_ns);
	if (sent != NULL)
		due = min_u64(due, sent->sent_ns + s->c.timeout_ns);
	else if (bp_redis_link_is_up(s->link))
		due = min_u64(due, s->heard_ns + PING_NS);
	if (s->pause_ns > now)
		due = min_u64(due, s->pause_ns);
	if (due >= s->armed_ns)
		return;
	s->armed_ns = due;
	due = due > now ? due - now : 0;
	const struct timeval t = {
		(time_t)(due / 1000000000u), (suseconds_t)(due % 1000000000u / 1000 + 1)};

	event_add(s->timer, &t);
}

/* ---- sending ---- */

static bool may_write(struct bp_fleet_state *s, uint64_t now)
{
	return s->epoch_known && now >= s->pause_ns;
}

static void pump_writes(struct bp_fleet_state *s, uint64_t now)
{
	struct bp_fleet_op *op;

	while (bp_redis_link_is_up(s->link) && s->queue.n_sent < INFLIGHT_MAX &&
		(op = TAILQ_FIRST(&s->queue.list[BP_FLEET_READY])) != NULL && may_write(s, now)) {
		if (op->expires_ns <= now) {
			lose(s, op, &s->counters.lost_expired);
			continue;
		}
		op->sent_ns = now;
		bp_fleet_queue_sent(&s->queue, op);
		send_put(s, op, now);
	}
}

static void pump(struct bp_fleet_state *s)
{
	const uint64_t now = bp_mono_ns();
	struct bp_fleet_op *op;

	bp_fleet_queue_mature(&s->queue, now);
	if (bp_redis_link_is_up(s->link) && !s->epoch_known && !s->epoch_asked)
		s->epoch_asked = send_own(s, BP_FLEET_OP_EPOCH, now);
	while (bp_redis_link_is_up(s->link) && s->queue.n_sent < INFLIGHT_MAX &&
		(op = TAILQ_FIRST(&s->queue.list[BP_FLEET_READS])) != NULL) {
		op->sent_ns = now;
		bp_fleet_queue_sent(&s->queue, op);
		send_get(s, op);
	}
	pump_writes(s, now);
	call_back(s);
	arm(s);
}

static void expire_reads(struct bp_fleet_state *s, uint64_t now)
{
	static const struct bp_fleet_value unknown;
	struct bp_fleet_op *op;

	while ((op = TAILQ_FIRST(&s->queue.list[BP_FLEET_READS])) != NULL && op->expires_ns <= now)
		end_read(s, op, &unknown);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_fleet_state *s = arg;
	const struct bp_fleet_op *sent = TAILQ_FIRST(&s->queue.list[BP_FLEET_SENT]);
	const uint64_t now = bp_mono_ns();

	(void)fd;
	(void)what;
	s->armed_ns = UINT64_MAX;
	if (sent != NULL && sent->sent_ns + s->c.timeout_ns <= now)
		bp_redis_link_fail(s->link, BP_FLEET_ERROR_TIMEOUT, "no answer in time");
	else if (sent == NULL && bp_redis_link_is_up(s->link) && s->heard_ns + PING_NS <= now)
		send_own(s, BP_FLEET_OP_PING, now);
	expire_reads(s, now);
	pump(s);
}

/* ---- the connection ---- */

static void on_up(void *arg)
{
	struct bp_fleet_state *s = arg;

	s->counters.connects++;
	s->heard_ns = bp_mono_ns();
	if (s->down_logged || s->counters.connects == 1)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_STR("server", bp_redis_link_peer(s->link))),
			"connected to Redis, the shared state of the fleet");
	s->down_logged = false;
	pump(s);
}

static void note_error(struct bp_fleet_state *s, enum bp_fleet_error why, const char *text)
{
	s->counters.error[why]++;
	snprintf(
		s->last_error, sizeof(s->last_error), "%s: %.200s", bp_fleet_error_name[why], text);
}

static void on_down(void *arg, enum bp_fleet_error why, const char *text)
{
	struct bp_fleet_state *s = arg;

	note_error(s, why, text);
	s->epoch_known = s->epoch_asked = false;
	bp_log_limited(&s->log_down, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("server", bp_redis_link_peer(s->link)),
			BP_LOG_STR("reason", s->last_error)),
		"no connection to Redis, the shared state of the fleet; writes wait");
	s->down_logged = true;
	bp_fleet_queue_unsend(&s->queue);
	arm(s);
}

static void take_epoch(struct bp_fleet_state *s, const struct bp_resp *r)
{
	s->epoch_asked = false;
	if (r->type == BP_RESP_ERROR) {
		bp_redis_link_fail(s->link, bp_redis_error(r), "the key of the epoch is refused");
		return;
	}
	if (r->type != BP_RESP_INTEGER || r->integer <= 0 || (uint64_t)r->integer > COUNTER_MAX) {
		bp_redis_link_fail(s->link, BP_FLEET_ERROR_PROTOCOL, "the epoch is not valid");
		return;
	}
	if (s->epoch_new)
		s->epoch = (uint64_t)r->integer << NONCE_BITS | s->nonce;
	/* outrank() may have asked for more meanwhile. */
	if (epoch_counter(s->epoch) > s->outrank)
		s->outrank = 0;
	s->epoch_known = s->outrank == 0;
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
		note_error(s, why, text);
		lose(s, op, &s->counters.lost_refused);
	} else if (why == BP_FLEET_ERROR_FULL) {
		note_error(s, why, text);
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
		end_write(s, op, BP_FLEET_STORED);
	} else if (r->type == BP_RESP_INTEGER && r->integer == 0) {
		s->counters.superseded++;
		end_write(s, op, BP_FLEET_SUPERSEDED);
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

bool bp_fleet_value_read(const char *bytes, size_t len, struct bp_fleet_value *v)
{
	*v = (struct bp_fleet_value){.known = true};
	if (len < MARK_LEN || len > MARK_LEN + BP_FLEET_VALUE_MAX || !read_hex(bytes, &v->epoch) ||
		!read_hex(bytes + 16, &v->version))
		return false;
	v->bytes = bytes + MARK_LEN;
	v->len = len - MARK_LEN;
	v->found = v->len != 0;
	return true;
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
	} else if (r->type != BP_RESP_NIL &&
		   (r->type != BP_RESP_TEXT || !bp_fleet_value_read(r->text, r->len, &v))) {
		s->counters.error[BP_FLEET_ERROR_PROTOCOL]++;
		v = (struct bp_fleet_value){.known = false};
	}
	end_read(s, op, &v);
}

static void on_reply(void *arg, const struct bp_resp *r)
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
	pump(s);
}

/* ---- for the callers ---- */

struct bp_fleet_state *bp_fleet_state_new(
	struct event_base *base, const struct bp_config_fleet *c, char *err, size_t err_size)
{
	struct bp_fleet_state *s = calloc(1, sizeof(*s));
	const struct bp_redis_link_owner owner = {
		.up = on_up, .down = on_down, .reply = on_reply, .arg = s, .scripts = scripts};

	if (s == NULL) {
		snprintf(err, err_size, "no memory for the shared state of the fleet");
		return NULL;
	}
	snprintf(err, err_size, "no memory for the shared state of the fleet");
	s->c = c->state;
	s->base = base;
	s->armed_ns = UINT64_MAX;
	evutil_secure_rng_get_bytes(&s->nonce, sizeof(s->nonce));
	snprintf(s->prefix, sizeof(s->prefix), "biplane:%s:", c->name);
	s->timer = event_new(base, -1, 0, on_timer, s);
	if (s->timer == NULL ||
		!bp_fleet_queue_init(&s->queue, s->c.max_queued, s->c.max_queue_size) ||
		(s->link = bp_redis_link_new(base, &s->c, &owner, err, err_size)) == NULL) {
		bp_fleet_state_free(s);
		return NULL;
	}
	return s;
}

void bp_fleet_state_free(struct bp_fleet_state *s)
{
	static const struct bp_fleet_value unknown;
	struct bp_fleet_op *op;

	if (s == NULL)
		return;
	s->ending = true;
	bp_redis_link_free(s->link);
	bp_fleet_queue_unsend(&s->queue);
	for (unsigned i = 0; i < BP_FLEET_LISTS; i++) {
		while (i != BP_FLEET_DONE && (op = TAILQ_FIRST(&s->queue.list[i])) != NULL) {
			if (op->kind == BP_FLEET_OP_GET)
				end_read(s, op, &unknown);
			else
				end_write(s, op, BP_FLEET_LOST);
		}
	}
	call_back(s);
	bp_fleet_queue_end(&s->queue);
	if (s->timer != NULL)
		event_free(s->timer);
	free(s);
}

static bool valid_key(const char *key)
{
	const size_t len = strlen(key);

	return len > 0 && len <= BP_FLEET_KEY_MAX;
}

/* Enforces the bound: drops writes that have expired, then the oldest that are collapsible. False:
 * there are no more of them. */
static bool enforce_bound(struct bp_fleet_state *s, uint64_t now)
{
	struct bp_fleet_op *op;

	while (bp_fleet_queue_exceeded(&s->queue)) {
		op = TAILQ_FIRST(&s->queue.list[BP_FLEET_READY]);
		if (op != NULL && op->expires_ns <= now) {
			lose(s, op, &s->counters.lost_expired);
			continue;
		}
		op = TAILQ_FIRST(&s->queue.collapsible);
		if (op == NULL)
			return false;
		lose(s, op, &s->counters.lost_full);
	}
	return true;
}

static struct bp_fleet_op *new_write(
	struct bp_fleet_state *s, const struct bp_fleet_write *w, uint64_t now)
{
	struct bp_fleet_op *op = bp_fleet_op_new(BP_FLEET_OP_PUT, w->key, w->value, w->len);

	if (op == NULL)
		return NULL;
	op->epoch = s->outrank == 0 ? s->epoch : 0;
	op->version = w->version;
	op->shared = w->shared;
	op->collapsible = w->collapsible;
	op->channel = w->channel;
	op->done = w->done;
	op->arg = w->arg;
	op->created_ns = now;
	op->due_ns = now + BP_FLEET_COLLAPSE_NS;
	op->expires_ns = now + (uint64_t)w->ttl_ms * 1000000u;
	return op;
}

bool bp_fleet_state_put(struct bp_fleet_state *s, const struct bp_fleet_write *w)
{
	const uint64_t now = bp_mono_ns();
	struct bp_fleet_op *op, *old;

	if (s->ending || !valid_key(w->key) || w->len > BP_FLEET_VALUE_MAX || w->ttl_ms == 0)
		return false;
	op = new_write(s, w, now);
	if (op == NULL)
		return false;
	old = bp_fleet_queue_find(&s->queue, w->key);
	if (old != NULL) {
		s->counters.collapsed++;
		bp_fleet_queue_replace(&s->queue, old, op);
	} else {
		bp_fleet_queue_add(&s->queue, op);
	}
	if (!enforce_bound(s, now)) {
		op->done = NULL;
		lose(s, op, &s->counters.lost_full);
		call_back(s);
		return false;
	}
	pump(s);
	return true;
}

bool bp_fleet_state_get(struct bp_fleet_state *s, const char *key,
	void (*got)(void *arg, const struct bp_fleet_value *v), void *arg)
{
	struct bp_fleet_op *op = NULL;

	if (!s->ending && valid_key(key) && s->queue.n_reads < READS_MAX)
		op = bp_fleet_op_new(BP_FLEET_OP_GET, key, NULL, 0);
	s->counters.reads++;
	if (op == NULL) {
		s->counters.reads_failed++;
		return false;
	}
	op->got = got;
	op->arg = arg;
	op->expires_ns = bp_mono_ns() + s->c.timeout_ns;
	bp_fleet_queue_add(&s->queue, op);
	pump(s);
	return true;
}

uint64_t bp_fleet_state_epoch(const struct bp_fleet_state *s)
{
	return s->epoch;
}

void bp_fleet_state_outrank(struct bp_fleet_state *s, uint64_t epoch)
{
	const uint64_t counter = epoch_counter(epoch);

	/* A counter beyond the bound is not of a process of this fleet. */
	if (epoch <= s->epoch || counter >= COUNTER_MAX || counter < s->outrank)
		return;
	s->outrank = counter;
	s->epoch_known = false;
	pump(s);
}

bool bp_fleet_state_connected(const struct bp_fleet_state *s)
{
	return bp_redis_link_is_up(s->link);
}

uint64_t bp_fleet_state_lag_ns(const struct bp_fleet_state *s)
{
	const uint64_t oldest = bp_fleet_queue_oldest_ns(&s->queue);

	return oldest == UINT64_MAX ? 0 : bp_mono_ns() - oldest;
}

const struct bp_fleet_counters *bp_fleet_state_counters(const struct bp_fleet_state *s)
{
	return &s->counters;
}

json_t *bp_fleet_state_status(const struct bp_fleet_state *s)
{
	const struct bp_fleet_counters *n = &s->counters;
	json_t *errors = json_object();

	for (unsigned i = 0; i < BP_FLEET_ERRORS; i++)
		json_object_set_new(
			errors, bp_fleet_error_name[i], json_integer((json_int_t)n->error[i]));
	return json_pack("{s:b, s:s, s:s, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:o}",
		"connected", (int)bp_fleet_state_connected(s), "server",
		bp_redis_link_peer(s->link), "last_error", s->last_error, "epoch",
		(json_int_t)s->epoch, "lag_seconds", (double)bp_fleet_state_lag_ns(s) / 1e9,
		"queued", (json_int_t)s->queue.n_writes, "queued_bytes", (json_int_t)s->queue.bytes,
		"connects", (json_int_t)n->connects, "stored", (json_int_t)n->stored, "superseded",
		(json_int_t)n->superseded, "collapsed", (json_int_t)n->collapsed, "lost_full",
		(json_int_t)n->lost_full, "lost_expired", (json_int_t)n->lost_expired,
		"lost_refused", (json_int_t)n->lost_refused, "reads", (json_int_t)n->reads,
		"reads_failed", (json_int_t)n->reads_failed, "errors", errors);
}
