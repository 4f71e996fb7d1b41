/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/store/store_known.h"

#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "shm/hash.h"

#define NONE BP_PHD_KNOWN_NONE

struct bp_phd_known {
	/* _used: number ever used; _free: head of the free list */
	uint32_t max, n, pairs_used, pairs_free;
	uint32_t configs_used, configs_free;
	uint32_t newest, oldest, walk;
	uint32_t mask;
	uint64_t bytes;
	uint64_t key[2]; /* devices choose the hashed bytes */
	uint32_t *pair_head, *config_head;
	struct bp_phd_known_pair *pair;
	struct bp_phd_known_config *config;
};

static uint64_t hash(const struct bp_phd_known *k, uint64_t a, uint64_t b)
{
	return bp_mix64(bp_fold(a ^ k->key[0], b ^ k->key[1]));
}

static uint32_t *pair_head(
	const struct bp_phd_known *k, const uint8_t system_id[8], uint16_t config_id)
{
	return &k->pair_head[hash(k, bp_load64(system_id), config_id) & k->mask];
}

static uint32_t *config_head(const struct bp_phd_known *k, uint64_t content)
{
	return &k->config_head[hash(k, content, 0) & k->mask];
}

static uint32_t *heads(uint32_t n)
{
	uint32_t *h = malloc(n * sizeof(*h));

	if (h != NULL)
		memset(h, 0xff, n * sizeof(*h));
	return h;
}

struct bp_phd_known *bp_phd_known_new(uint32_t max)
{
	struct bp_phd_known *k = calloc(1, sizeof(*k));
	uint32_t n = 16;

	if (k == NULL)
		return NULL;
	while (n < max && n < 1u << 30)
		n *= 2;
	k->max = max;
	k->mask = n - 1;
	k->pairs_free = k->configs_free = NONE;
	k->newest = k->oldest = k->walk = NONE;
	k->pair_head = heads(n);
	k->config_head = heads(n);
	k->pair = calloc((size_t)max + 1, sizeof(*k->pair));
	k->config = calloc((size_t)max + 1, sizeof(*k->config));
	if (!k->pair_head || !k->config_head || !k->pair || !k->config ||
		getrandom(k->key, sizeof(k->key), 0) != (ssize_t)sizeof(k->key)) {
		bp_phd_known_free(k);
		return NULL;
	}
	return k;
}

void bp_phd_known_free(struct bp_phd_known *k)
{
	if (k == NULL)
		return;
	for (uint32_t i = 0; i < k->configs_used; i++)
		free(k->config[i].report);
	free(k->pair_head);
	free(k->config_head);
	free(k->pair);
	free(k->config);
	free(k);
}

uint32_t bp_phd_known_count(const struct bp_phd_known *k)
{
	return k->n;
}

uint64_t bp_phd_known_bytes(const struct bp_phd_known *k)
{
	return k->bytes;
}

struct bp_phd_known_pair *bp_phd_known_pair(struct bp_phd_known *k, uint32_t i)
{
	return &k->pair[i];
}

uint32_t bp_phd_known_find(
	const struct bp_phd_known *k, const uint8_t system_id[8], uint16_t config_id)
{
	uint32_t i = *pair_head(k, system_id, config_id);

	while (i != NONE && (k->pair[i].config_id != config_id ||
				    memcmp(k->pair[i].system_id, system_id, 8) != 0))
		i = k->pair[i].chain;
	return i;
}

/* ---- order of use ---- */

static void unlink_pair(struct bp_phd_known *k, uint32_t i)
{
	const struct bp_phd_known_pair *p = &k->pair[i];

	if (k->walk == i)
		k->walk = p->newer;
	if (p->newer == NONE)
		k->newest = p->older;
	else
		k->pair[p->newer].older = p->older;
	if (p->older == NONE)
		k->oldest = p->newer;
	else
		k->pair[p->older].newer = p->newer;
}

static void link_newest(struct bp_phd_known *k, uint32_t i)
{
	k->pair[i].newer = NONE;
	k->pair[i].older = k->newest;
	if (k->newest == NONE)
		k->oldest = i;
	else
		k->pair[k->newest].newer = i;
	k->newest = i;
}

static void link_oldest(struct bp_phd_known *k, uint32_t i)
{
	k->pair[i].older = NONE;
	k->pair[i].newer = k->oldest;
	if (k->oldest == NONE)
		k->newest = i;
	else
		k->pair[k->oldest].older = i;
	k->oldest = i;
}

void bp_phd_known_use(struct bp_phd_known *k, uint32_t i)
{
	unlink_pair(k, i);
	link_newest(k, i);
}

uint32_t bp_phd_known_oldest(const struct bp_phd_known *k)
{
	return k->oldest;
}

void bp_phd_known_walk(struct bp_phd_known *k)
{
	k->walk = k->oldest;
}

uint32_t bp_phd_known_step(struct bp_phd_known *k)
{
	const uint32_t i = k->walk;

	if (i != NONE)
		k->walk = k->pair[i].newer;
	return i;
}

/* ---- pairs ---- */

uint32_t bp_phd_known_add(struct bp_phd_known *k, const uint8_t system_id[8], uint16_t config_id,
	uint32_t config, bool newest)
{
	uint32_t *head = pair_head(k, system_id, config_id);
	uint32_t i = k->pairs_free;
	struct bp_phd_known_pair *p;

	if (k->n == k->max)
		return NONE;
	if (i != NONE)
		k->pairs_free = k->pair[i].chain;
	else
		i = k->pairs_used++;
	p = &k->pair[i];
	memset(p, 0, sizeof(*p));
	memcpy(p->system_id, system_id, 8);
	p->config_id = config_id;
	p->config = config;
	p->chain = *head;
	*head = i;
	if (newest)
		link_newest(k, i);
	else
		link_oldest(k, i);
	if (config != NONE)
		k->config[config].users++;
	k->n++;
	return i;
}

void bp_phd_known_remove(struct bp_phd_known *k, uint32_t i)
{
	struct bp_phd_known_pair *p = &k->pair[i];
	uint32_t *at = pair_head(k, p->system_id, p->config_id);

	while (*at != i)
		at = &k->pair[*at].chain;
	*at = p->chain;
	unlink_pair(k, i);
	if (p->config != NONE)
		k->config[p->config].users--;
	k->n--;
	p->chain = k->pairs_free;
	k->pairs_free = i;
}

void bp_phd_known_assign(struct bp_phd_known *k, uint32_t i, uint32_t config)
{
	if (k->pair[i].config != NONE)
		k->config[k->pair[i].config].users--;
	k->config[config].users++;
	k->pair[i].config = config;
}

/* ---- configurations ---- */

struct bp_phd_known_config *bp_phd_known_config(struct bp_phd_known *k, uint32_t i)
{
	return i < k->configs_used ? &k->config[i] : NULL;
}

uint32_t bp_phd_known_config_find(const struct bp_phd_known *k, uint64_t content)
{
	uint32_t i = *config_head(k, content);

	while (i != NONE && k->config[i].content != content)
		i = k->config[i].chain;
	return i;
}

uint32_t bp_phd_known_config_add(
	struct bp_phd_known *k, uint64_t content, uint16_t config_id, uint8_t *report, uint32_t len)
{
	uint32_t *head = config_head(k, content);
	uint32_t i = k->configs_free;

	if (i != NONE)
		k->configs_free = k->config[i].chain;
	else if (k->configs_used <= k->max) /* one more: for a pair that changes */
		i = k->configs_used++;
	else
		return NONE;
	k->config[i] = (struct bp_phd_known_config){.content = content,
		.config_id = config_id,
		.report = report,
		.len = len,
		.chain = *head};
	*head = i;
	k->bytes += len;
	return i;
}

void bp_phd_known_config_remove(struct bp_phd_known *k, uint32_t i)
{
	struct bp_phd_known_config *c = &k->config[i];
	uint32_t *at = config_head(k, c->content);

	while (*at != i)
		at = &k->config[*at].chain;
	*at = c->chain;
	k->bytes -= c->len;
	free(c->report);
	c->report = NULL;
	c->chain = k->configs_free;
	k->configs_free = i;
}

/* ---- sessions used since the start ---- */

static uint32_t place(const struct bp_phd_touched *t, const struct bp_phd_touched_key *k)
{
	const uint64_t a = bp_fold(bp_load64(k->address) ^ 0x9e3779b97f4a7c15ull,
		bp_load64(k->address + 8) ^ ((uint64_t)k->port << 8 | k->transport) ^
			0xc2b2ae3d27d4eb4full);
	uint32_t i = (uint32_t)bp_mix64(a) & (t->size - 1);

	while (t->key[i].transport != 0 &&
		(t->key[i].transport != k->transport || t->key[i].port != k->port ||
			memcmp(t->key[i].address, k->address, 16) != 0))
		i = (i + 1) & (t->size - 1);
	return i;
}

static struct bp_phd_touched_key key_of(uint8_t transport, const uint8_t address[16], uint16_t port)
{
	struct bp_phd_touched_key k = {.port = port, .transport = transport};

	memcpy(k.address, address, sizeof(k.address));
	return k;
}

/* Grows the table for one more entry, with half of the slots free. */
static bool grow(struct bp_phd_touched *t)
{
	const struct bp_phd_touched old = *t;

	if (t->n < t->size / 2)
		return true;
	if (t->n >= BP_PHD_TOUCHED_MAX)
		return false;
	t->size = old.size == 0 ? 1024 : old.size * 2;
	t->key = calloc(t->size, sizeof(*t->key));
	if (t->key == NULL) {
		*t = old;
		return false;
	}
	for (uint32_t i = 0; i < old.size; i++)
		if (old.key[i].transport != 0)
			t->key[place(t, &old.key[i])] = old.key[i];
	free(old.key);
	return true;
}

bool bp_phd_touched_add(
	struct bp_phd_touched *t, uint8_t transport, const uint8_t address[16], uint16_t port)
{
	const struct bp_phd_touched_key k = key_of(transport, address, port);
	uint32_t i;

	if (!grow(t))
		return false;
	i = place(t, &k);
	t->n += t->key[i].transport == 0;
	t->key[i] = k;
	return true;
}

bool bp_phd_touched_has(
	const struct bp_phd_touched *t, uint8_t transport, const uint8_t address[16], uint16_t port)
{
	const struct bp_phd_touched_key k = key_of(transport, address, port);

	return t->size != 0 && t->key[place(t, &k)].transport != 0;
}

void bp_phd_touched_clear(struct bp_phd_touched *t)
{
	free(t->key);
	memset(t, 0, sizeof(*t));
}
