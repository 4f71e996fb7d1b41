/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/copy_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "shm/hash.h"

#define BUCKETS 65536u

bool bp_copy_table_init(struct bp_copy_table *t, uint32_t max)
{
	*t = (struct bp_copy_table){.max = max};
	for (unsigned i = 0; i < BP_COPY_STATES; i++)
		TAILQ_INIT(&t->list[i]);
	t->by_id = calloc(BUCKETS, sizeof(struct bp_copy *));
	t->by_uid = calloc(BUCKETS, sizeof(struct bp_copy *));
	return t->by_id != NULL && t->by_uid != NULL;
}

void bp_copy_table_end(struct bp_copy_table *t)
{
	struct bp_copy *c;

	for (unsigned i = 0; i < BP_COPY_STATES && t->by_id != NULL && t->by_uid != NULL; i++)
		while ((c = TAILQ_FIRST(&t->list[i])) != NULL)
			bp_copy_delete(t, c);
	free(t->by_id);
	free(t->by_uid);
}

static struct bp_copy **id_bucket(const struct bp_copy_table *t, uint64_t id)
{
	return &t->by_id[bp_mix64(id) % BUCKETS];
}

/* Uids are digests. */
static struct bp_copy **uid_bucket(const struct bp_copy_table *t, const char *uid)
{
	return &t->by_uid[bp_mix64(bp_load64((const uint8_t *)uid)) % BUCKETS];
}

struct bp_copy *bp_copy_by_id(const struct bp_copy_table *t, uint64_t id)
{
	struct bp_copy *c = *id_bucket(t, id);

	while (c != NULL && c->id != id)
		c = c->next_id;
	return c;
}

struct bp_copy *bp_copy_by_uid(const struct bp_copy_table *t, const char *uid)
{
	struct bp_copy *c = *uid_bucket(t, uid);

	while (c != NULL && strcmp(c->uid, uid) != 0)
		c = c->next_uid;
	return c;
}

struct bp_copy *bp_copy_add(
	struct bp_copy_table *t, uint64_t id, const char *uid, enum bp_copy_state state)
{
	struct bp_copy *c = t->n < t->max ? calloc(1, sizeof(*c)) : NULL, **head;

	if (c == NULL)
		return NULL;
	c->id = id;
	snprintf(c->uid, sizeof(c->uid), "%s", uid);
	head = id_bucket(t, id);
	c->next_id = *head;
	*head = c;
	head = uid_bucket(t, c->uid);
	c->next_uid = *head;
	*head = c;
	c->state = (uint8_t)state;
	TAILQ_INSERT_TAIL(&t->list[state], c, entry);
	t->n++;
	return c;
}

void bp_copy_set_state(struct bp_copy_table *t, struct bp_copy *c, enum bp_copy_state state)
{
	TAILQ_REMOVE(&t->list[c->state], c, entry);
	c->state = (uint8_t)state;
	TAILQ_INSERT_TAIL(&t->list[state], c, entry);
}

bool bp_copy_set_size(struct bp_copy_table *t, struct bp_copy *c, size_t size)
{
	const uint64_t bytes = t->bytes - c->size + size;

	if (bytes > BP_COPIES_BYTES_MAX)
		return false;
	t->bytes = bytes;
	c->size = (uint32_t)size;
	return true;
}

void bp_copy_delete(struct bp_copy_table *t, struct bp_copy *c)
{
	struct bp_copy **at = id_bucket(t, c->id);

	while (*at != c)
		at = &(*at)->next_id;
	*at = c->next_id;
	at = uid_bucket(t, c->uid);
	while (*at != c)
		at = &(*at)->next_uid;
	*at = c->next_uid;
	TAILQ_REMOVE(&t->list[c->state], c, entry);
	t->n--;
	t->bytes -= c->size;
	free(c);
}

static void move_all(struct bp_copy_table *t, enum bp_copy_state from, enum bp_copy_state to)
{
	struct bp_copy *c;

	while ((c = TAILQ_FIRST(&t->list[from])) != NULL)
		bp_copy_set_state(t, c, to);
}

void bp_copy_table_disconnected(struct bp_copy_table *t)
{
	move_all(t, BP_COPY_REMOVING, BP_COPY_REMOVE);
	/* older than those that wait already, which is no matter: Redis orders by arrival, and
	 * keeps the place of a copy that it has */
	move_all(t, BP_COPY_STORED, BP_COPY_RETRY);
	move_all(t, BP_COPY_STORING, BP_COPY_RETRY);
}
