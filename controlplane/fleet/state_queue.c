/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/state_queue.h"

#include <event2/util.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"

bool bp_fleet_queue_init(struct bp_fleet_queue *q, uint32_t max_writes, uint64_t max_bytes)
{
	memset(q, 0, sizeof(*q));
	for (unsigned i = 0; i < BP_FLEET_LISTS; i++)
		TAILQ_INIT(&q->list[i]);
	TAILQ_INIT(&q->collapsible);
	q->max_writes = max_writes;
	q->max_bytes = max_bytes;
	q->buckets = 64;
	while (q->buckets < max_writes)
		q->buckets *= 2;
	q->bucket = calloc(q->buckets, sizeof(struct bp_fleet_op *));
	evutil_secure_rng_get_bytes(q->hash_key, sizeof(q->hash_key));
	return q->bucket != NULL;
}

void bp_fleet_queue_end(struct bp_fleet_queue *q)
{
	free(q->bucket);
}

struct bp_fleet_op *bp_fleet_op_new(enum bp_fleet_op_kind kind, const char *key, const void *value,
	size_t len, size_t entries_len)
{
	const size_t key_size = strlen(key) + 1;
	struct bp_fleet_op *op = calloc(1, sizeof(*op) + key_size + len + entries_len);

	if (op == NULL)
		return NULL;
	op->kind = kind;
	op->in = BP_FLEET_LISTS;
	memcpy(op->key, key, key_size);
	op->value = op->key + key_size;
	op->len = len;
	op->entries_len = entries_len;
	if (len != 0)
		memcpy(op->key + key_size, value, len);
	return op;
}

static uint64_t op_bytes(const struct bp_fleet_op *op)
{
	return sizeof(*op) + strlen(op->key) + 1 + op->len + op->entries_len;
}

static struct bp_fleet_op **bucket_of(const struct bp_fleet_queue *q, const char *key)
{
	return &q->bucket[bp_hash_bytes(q->hash_key, key, strlen(key)) & (q->buckets - 1)];
}

/* Of two collapsible writes of a key, only one is in the buckets: the older one was replaced, or it
 * is sent. One that is sent again is newer than none. */
struct bp_fleet_op *bp_fleet_queue_find(const struct bp_fleet_queue *q, const char *key)
{
	struct bp_fleet_op *op = *bucket_of(q, key);

	while (op != NULL && strcmp(op->key, key) != 0)
		op = op->next;
	return op;
}

static bool is_waiting(enum bp_fleet_list in)
{
	return in == BP_FLEET_DELAYED || in == BP_FLEET_READY;
}

static void forget_collapsible(struct bp_fleet_queue *q, struct bp_fleet_op *op)
{
	struct bp_fleet_op **at = bucket_of(q, op->key);

	TAILQ_REMOVE(&q->collapsible, op, collapsible_entry);
	while (*at != op)
		at = &(*at)->next;
	*at = op->next;
}

static void note_collapsible(struct bp_fleet_queue *q, struct bp_fleet_op *op)
{
	struct bp_fleet_op **at = bucket_of(q, op->key);

	TAILQ_INSERT_TAIL(&q->collapsible, op, collapsible_entry);
	op->next = *at;
	*at = op;
}

static void take_out(struct bp_fleet_queue *q, struct bp_fleet_op *op)
{
	if (op->in == BP_FLEET_LISTS)
		return;
	if (op->collapsible && is_waiting(op->in))
		forget_collapsible(q, op);
	if (op->in == BP_FLEET_SENT)
		q->n_sent--;
	TAILQ_REMOVE(&q->list[op->in], op, entry);
	op->in = BP_FLEET_LISTS;
}

static void put_in(
	struct bp_fleet_queue *q, struct bp_fleet_op *op, enum bp_fleet_list in, bool first)
{
	take_out(q, op);
	op->in = in;
	if (first)
		TAILQ_INSERT_HEAD(&q->list[in], op, entry);
	else
		TAILQ_INSERT_TAIL(&q->list[in], op, entry);
	if (op->collapsible && is_waiting(in))
		note_collapsible(q, op);
	if (in == BP_FLEET_SENT)
		q->n_sent++;
}

void bp_fleet_queue_add(struct bp_fleet_queue *q, struct bp_fleet_op *op)
{
	if (op->kind == BP_FLEET_OP_GET) {
		q->n_reads++;
		put_in(q, op, BP_FLEET_READS, false);
		return;
	}
	q->n_writes++;
	q->bytes += op_bytes(op);
	put_in(q, op, op->collapsible && !op->prompt ? BP_FLEET_DELAYED : BP_FLEET_READY, false);
}

void bp_fleet_queue_replace(
	struct bp_fleet_queue *q, struct bp_fleet_op *old, struct bp_fleet_op *op)
{
	bp_fleet_queue_add(q, op);
	op->created_ns = old->created_ns;
	if (op->collapsible) {
		op->due_ns = old->due_ns;
		TAILQ_REMOVE(&q->list[op->in], op, entry);
		TAILQ_INSERT_BEFORE(old, op, entry);
		op->in = old->in;
	}
	bp_fleet_queue_finish(q, old, BP_FLEET_COLLAPSED);
}

void bp_fleet_queue_sent(struct bp_fleet_queue *q, struct bp_fleet_op *op)
{
	put_in(q, op, BP_FLEET_SENT, false);
}

void bp_fleet_queue_finish(
	struct bp_fleet_queue *q, struct bp_fleet_op *op, enum bp_fleet_result result)
{
	if (op->kind == BP_FLEET_OP_PUT) {
		q->n_writes--;
		q->bytes -= op_bytes(op);
		op->result = result;
		put_in(q, op, BP_FLEET_DONE, false);
		return;
	}
	q->n_reads -= op->kind == BP_FLEET_OP_GET;
	take_out(q, op);
	free(op);
}

struct bp_fleet_op *bp_fleet_queue_done(struct bp_fleet_queue *q)
{
	struct bp_fleet_op *op = TAILQ_FIRST(&q->list[BP_FLEET_DONE]);

	if (op != NULL)
		take_out(q, op);
	return op;
}

bool bp_fleet_queue_exceeded(const struct bp_fleet_queue *q)
{
	return q->n_writes > q->max_writes || q->bytes > q->max_bytes;
}

void bp_fleet_queue_mature(struct bp_fleet_queue *q, uint64_t now)
{
	struct bp_fleet_op *op;

	while ((op = TAILQ_FIRST(&q->list[BP_FLEET_DELAYED])) != NULL && op->due_ns <= now)
		put_in(q, op, BP_FLEET_READY, false);
}

void bp_fleet_queue_again(struct bp_fleet_queue *q, struct bp_fleet_op *op)
{
	/* A newer write of the key waits: this one has no successor of its own then. */
	if (op->collapsible && bp_fleet_queue_find(q, op->key) != NULL)
		op->collapsible = false;
	put_in(q, op, BP_FLEET_READY, true);
}

void bp_fleet_queue_unsend(struct bp_fleet_queue *q)
{
	struct bp_fleet_op *op;

	while ((op = TAILQ_LAST(&q->list[BP_FLEET_SENT], bp_fleet_ops)) != NULL) {
		if (op->kind == BP_FLEET_OP_PUT)
			bp_fleet_queue_again(q, op);
		else if (op->kind == BP_FLEET_OP_GET)
			put_in(q, op, BP_FLEET_READS, true);
		else
			bp_fleet_queue_finish(q, op, BP_FLEET_LOST);
	}
}

uint64_t bp_fleet_queue_oldest_ns(const struct bp_fleet_queue *q)
{
	static const enum bp_fleet_list lists[] = {BP_FLEET_SENT, BP_FLEET_READY, BP_FLEET_DELAYED};
	uint64_t oldest = UINT64_MAX;

	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct bp_fleet_op *op = TAILQ_FIRST(&q->list[lists[i]]);

		while (op != NULL && op->kind != BP_FLEET_OP_PUT)
			op = TAILQ_NEXT(op, entry);
		if (op != NULL && op->created_ns < oldest)
			oldest = op->created_ns;
	}
	return oldest;
}
