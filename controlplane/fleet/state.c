/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/state.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/fleet/state_internal.h"
#include "controlplane/process/clock.h"

#define READS_MAX 4096u

struct bp_fleet_state *bp_fleet_state_new(
	struct event_base *base, const struct bp_config_fleet *c, char *err, size_t err_size)
{
	struct bp_fleet_state *s = calloc(1, sizeof(*s));
	const struct bp_redis_link_owner owner = {.up = bp_fleet_on_up,
		.down = bp_fleet_on_down,
		.reply = bp_fleet_on_reply,
		.arg = s,
		.scripts = bp_fleet_scripts};

	if (s == NULL) {
		snprintf(err, err_size, "no memory for the shared state of the fleet");
		return NULL;
	}
	snprintf(err, err_size, "no memory for the shared state of the fleet");
	s->c = c->state;
	s->base = base;
	s->armed_ns = UINT64_MAX;
	evutil_secure_rng_get_bytes(&s->nonce, sizeof(s->nonce));
	snprintf(s->fleet, sizeof(s->fleet), "%s", c->name);
	snprintf(s->prefix, sizeof(s->prefix), "biplane:%s:", c->name);
	s->timer = event_new(base, -1, 0, bp_fleet_on_timer, s);
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
				bp_fleet_end_read(s, op, &unknown);
			else
				bp_fleet_end_write(s, op, BP_FLEET_LOST);
		}
	}
	bp_fleet_call_back(s);
	bp_fleet_queue_end(&s->queue);
	if (s->timer != NULL)
		event_free(s->timer);
	if (s->drain_timer != NULL)
		event_free(s->drain_timer);
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
			bp_fleet_lose(s, op, &s->counters.lost_expired);
			continue;
		}
		op = TAILQ_FIRST(&s->queue.collapsible);
		if (op == NULL)
			return false;
		bp_fleet_lose(s, op, &s->counters.lost_full);
	}
	return true;
}

/* UINT32_MAX: they do not fit. */
static size_t entries_len(const struct bp_fleet_write *w)
{
	size_t len = 0;

	if (w->stream == NULL)
		return 0;
	for (unsigned i = 0; i < w->n_entries && len <= BP_FLEET_ENTRIES_BYTES; i++)
		len += sizeof(uint32_t) + w->entries[i].iov_len;
	return w->n_entries > BP_FLEET_ENTRIES_MAX || len > BP_FLEET_ENTRIES_BYTES ? UINT32_MAX
										   : len;
}

static void copy_entries(struct bp_fleet_op *op, const struct bp_fleet_write *w)
{
	char *at = op->key + (op->value - op->key) + op->len;

	op->stream = w->stream;
	op->n_entries = w->stream != NULL ? w->n_entries : 0;
	for (unsigned i = 0; i < op->n_entries; i++) {
		const uint32_t len = (uint32_t)w->entries[i].iov_len;

		memcpy(at, &len, sizeof(len));
		memcpy(at + sizeof(len), w->entries[i].iov_base, len);
		at += sizeof(len) + len;
	}
}

static struct bp_fleet_op *new_write(
	struct bp_fleet_state *s, const struct bp_fleet_write *w, uint64_t now)
{
	struct bp_fleet_op *op =
		bp_fleet_op_new(BP_FLEET_OP_PUT, w->key, w->value, w->len, entries_len(w));

	if (op == NULL)
		return NULL;
	op->epoch = w->epoch != 0 ? w->epoch : bp_fleet_outranks(s) ? s->epoch : 0;
	op->version = w->version;
	op->shared = w->shared;
	op->collapsible = w->collapsible;
	op->prompt = w->prompt;
	op->channel = w->channel;
	copy_entries(op, w);
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

	if (s->ending || !valid_key(w->key) || w->len > BP_FLEET_VALUE_MAX || w->ttl_ms == 0 ||
		entries_len(w) == UINT32_MAX)
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
		bp_fleet_lose(s, op, &s->counters.lost_full);
		bp_fleet_call_back(s);
		return false;
	}
	bp_fleet_pump(s);
	return true;
}

/* from: of the entries of a stream; NULL: it is a value. */
static bool read_later(struct bp_fleet_state *s, const char *key, const char *from,
	void (*got)(void *arg, const struct bp_fleet_value *v), void *arg)
{
	struct bp_fleet_op *op = NULL;

	if (!s->ending && valid_key(key) && s->queue.n_reads < READS_MAX)
		op = bp_fleet_op_new(
			BP_FLEET_OP_GET, key, from, from != NULL ? strlen(from) : 0, 0);
	s->counters.reads++;
	if (op == NULL) {
		s->counters.reads_failed++;
		return false;
	}
	op->entries = from != NULL;
	op->got = got;
	op->arg = arg;
	op->expires_ns = bp_mono_ns() + s->c.timeout_ns;
	bp_fleet_queue_add(&s->queue, op);
	bp_fleet_pump(s);
	return true;
}

bool bp_fleet_state_get(struct bp_fleet_state *s, const char *key,
	void (*got)(void *arg, const struct bp_fleet_value *v), void *arg)
{
	return read_later(s, key, NULL, got, arg);
}

bool bp_fleet_state_get_entries(struct bp_fleet_state *s, const char *stream, const char *after,
	void (*got)(void *arg, const struct bp_fleet_value *v), void *arg)
{
	char from[BP_FLEET_ENTRY_ID_MAX + 1] = "-";

	if (after[0] != '\0')
		snprintf(from, sizeof(from), "(%s", after);
	return read_later(s, stream, from, got, arg);
}

uint64_t bp_fleet_state_epoch(const struct bp_fleet_state *s)
{
	return s->epoch;
}

void bp_fleet_state_outrank(struct bp_fleet_state *s, uint64_t epoch)
{
	const uint64_t counter = bp_fleet_epoch_counter(epoch);

	if (epoch <= s->epoch)
		return;
	if (counter >= BP_FLEET_COUNTER_MAX) {
		bp_fleet_state_note_error(s, BP_FLEET_ERROR_EPOCH,
			"the epoch of a value is the highest one, or above");
		return;
	}
	if (counter > bp_fleet_epoch_counter(s->epoch) + BP_FLEET_COUNTER_AHEAD) {
		if (s->outrank_far == 0 || counter < s->outrank_far)
			s->outrank_far = counter;
	} else if (counter > s->outrank) {
		s->outrank = counter;
	}
	s->epoch_known = false;
	bp_fleet_pump(s);
}

bool bp_fleet_state_ready(const struct bp_fleet_state *s)
{
	return bp_redis_link_is_up(s->link) && s->epoch_known;
}

static void on_drain_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	bp_fleet_drained(arg);
}

void bp_fleet_state_drain(
	struct bp_fleet_state *s, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	const struct timeval wait = {
		(time_t)(wait_ns / 1000000000u), (suseconds_t)(wait_ns % 1000000000u / 1000)};

	s->draining = true;
	s->drained = done;
	s->drained_arg = arg;
	s->drain_timer = event_new(s->base, -1, 0, on_drain_timeout, s);
	if (s->drain_timer == NULL || event_add(s->drain_timer, &wait) != 0)
		bp_fleet_drained(s);
	else
		bp_fleet_pump(s);
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
