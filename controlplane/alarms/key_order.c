/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/key_order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shm/hash.h"

#define FIRST_SIZE 256u

void bp_key_order_init(struct bp_key_order *o, size_t max_keys)
{
	memset(o, 0, sizeof(*o));
	o->max_keys = max_keys;
	o->oldest = UINT64_MAX;
	if (getrandom(o->hash_key, sizeof(o->hash_key), 0) != (ssize_t)sizeof(o->hash_key))
		o->hash_key[0] = (uint64_t)(uintptr_t)o;
}

void bp_key_order_free(struct bp_key_order *o)
{
	free(o->slot);
	memset(o, 0, sizeof(*o));
}

uint64_t bp_key_order_key(const struct bp_key_order *o, const struct bp_alarm *a)
{
	const uint64_t rule = bp_hash_bytes(o->hash_key, bp_alarm_rule(a), a->rule_len);
	const uint64_t with_rule[2] = {o->hash_key[0] ^ rule, o->hash_key[1]};
	const uint64_t key = bp_hash_bytes(with_rule, bp_alarm_topic(a), a->topic_len);

	return key == 0 ? 1 : key;
}

/* Returns the key's slot, or the free slot for it. */
static struct bp_key_slot *find(const struct bp_key_order *o, uint64_t key)
{
	size_t i = (size_t)key & (o->size - 1);

	while (o->slot[i].key != 0 && o->slot[i].key != key)
		i = (i + 1) & (o->size - 1);
	return &o->slot[i];
}

static struct bp_key_slot *lookup(const struct bp_key_order *o, uint64_t key)
{
	struct bp_key_slot *s = o->size == 0 ? NULL : find(o, key);

	return s == NULL || s->key == 0 ? NULL : s;
}

static bool holds_back(const struct bp_key_order *o, const struct bp_key_slot *s)
{
	return s->waiting != 0 || (s->last_row != 0 && s->last_row >= o->oldest);
}

/* Rebuilds the table without the keys that hold no alarm back, with space for one more key. */
static bool rebuild(struct bp_key_order *o)
{
	struct bp_key_order next = *o;
	size_t live = 0;

	for (size_t i = 0; i < o->size; i++)
		live += o->slot[i].key != 0 && holds_back(o, &o->slot[i]);
	if (live >= o->max_keys)
		return false;
	for (next.size = FIRST_SIZE; next.size < 4 * (live + 1);)
		next.size *= 2;
	next.slot = calloc(next.size, sizeof(*next.slot));
	if (next.slot == NULL)
		return false;
	for (size_t i = 0; i < o->size; i++)
		if (o->slot[i].key != 0 && holds_back(o, &o->slot[i]))
			*find(&next, o->slot[i].key) = o->slot[i];
	next.used = live;
	free(o->slot);
	*o = next;
	return true;
}

/* Returns the key's slot, a new one if necessary; NULL: the table is full. */
static struct bp_key_slot *slot_for(struct bp_key_order *o, uint64_t key)
{
	struct bp_key_slot *s = lookup(o, key);

	if (s != NULL)
		return s;
	if (o->used >= o->max_keys || (o->used + 1) * 2 > o->size) {
		/* A table full of active keys is not rebuilt for each additional key. */
		if (o->pause != 0) {
			o->pause--;
			return NULL;
		}
		if (!rebuild(o)) {
			o->pause = o->size / 2;
			return NULL;
		}
	}
	s = find(o, key);
	s->key = key;
	o->used++;
	return s;
}

void bp_key_order_row(struct bp_key_order *o, uint64_t key, uint64_t id)
{
	struct bp_key_slot *s;

	if (id < o->oldest)
		o->oldest = id;
	s = slot_for(o, key);
	if (s == NULL && id > o->other_row)
		o->other_row = id;
	else if (s != NULL && id > s->last_row)
		s->last_row = id;
}

bool bp_key_order_oldest(struct bp_key_order *o, uint64_t id)
{
	bool news = o->oldest != id;

	o->oldest = id;
	return news;
}

void bp_key_order_forget_rows(struct bp_key_order *o)
{
	for (size_t i = 0; i < o->size; i++)
		o->slot[i].last_row = 0;
	o->other_row = 0;
	o->rows_unknown = true;
}

void bp_key_order_rows_known(struct bp_key_order *o)
{
	o->rows_unknown = false;
}

/*
 * An alarm of a key may begin to wait without a slot and end with one, or the reverse: no sum is
 * ever too small, and both are 0 when no alarm waits.
 */
void bp_key_order_wait(struct bp_key_order *o, uint64_t key)
{
	struct bp_key_slot *s = slot_for(o, key);

	if (s != NULL)
		s->waiting++;
	else
		o->other_waiting++;
}

void bp_key_order_go(struct bp_key_order *o, uint64_t key)
{
	struct bp_key_slot *s = lookup(o, key);

	if (s != NULL && s->waiting != 0)
		s->waiting--;
	else if (o->other_waiting != 0)
		o->other_waiting--;
}

bool bp_key_order_has_rows(const struct bp_key_order *o, uint64_t key)
{
	const struct bp_key_slot *s = lookup(o, key);

	return o->rows_unknown || (o->other_row != 0 && o->other_row >= o->oldest) ||
	       (s != NULL && s->last_row != 0 && s->last_row >= o->oldest);
}

bool bp_key_order_has_newer_row(const struct bp_key_order *o, uint64_t key, uint64_t id)
{
	const struct bp_key_slot *s = lookup(o, key);
	const uint64_t last = s != NULL && s->last_row > o->other_row ? s->last_row : o->other_row;

	return o->rows_unknown || (last > id && last >= o->oldest);
}

bool bp_key_order_is_blocked(const struct bp_key_order *o, uint64_t key)
{
	const struct bp_key_slot *s = lookup(o, key);

	return o->other_waiting != 0 || (s != NULL && s->waiting != 0) ||
	       bp_key_order_has_rows(o, key);
}
