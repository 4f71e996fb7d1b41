/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/replay_phd_known.h"

#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/index.h"

struct known {
	uint8_t system_id[8];
	uint8_t *report; /* owned */
	uint32_t len;
	uint16_t config_id, spec;
};

#define FIRST 64u /* initial number of entries */

struct bp_replay_known {
	struct known *known;
	uint32_t n, room, max;
	struct bp_index index; /* by system-id and configuration */
};

static uint64_t hash(const uint8_t system_id[8], uint16_t config_id)
{
	return bp_mix64(bp_load64(system_id) ^ bp_mix64(config_id));
}

static uint64_t hash_of(const void *arg, uint32_t i)
{
	const struct bp_replay_known *k = arg;

	return hash(k->known[i].system_id, k->known[i].config_id);
}

struct bp_replay_known *bp_replay_known_new(uint32_t max)
{
	struct bp_replay_known *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->max = max;
	k->room = max < FIRST ? max : FIRST;
	k->known = calloc(k->room, sizeof(*k->known));
	if (k->known && bp_index_init(&k->index, k->room))
		return k;
	free(k->known);
	free(k);
	return NULL;
}

void bp_replay_known_free(struct bp_replay_known *k)
{
	if (!k)
		return;
	for (uint32_t i = 0; i < k->n; i++)
		free(k->known[i].report);
	bp_index_free(&k->index);
	free(k->known);
	free(k);
}

static struct known *find(
	const struct bp_replay_known *k, const uint8_t system_id[8], uint16_t config_id)
{
	uint32_t i = bp_index_first(&k->index, hash(system_id, config_id));

	for (; i != BP_INDEX_END; i = bp_index_next(&k->index, i))
		if (k->known[i].config_id == config_id &&
			memcmp(k->known[i].system_id, system_id, 8) == 0)
			return &k->known[i];
	return NULL;
}

static bool grow(struct bp_replay_known *k)
{
	const uint32_t room = k->room < k->max / 2 ? 2 * k->room : k->max;
	struct known *grown;

	if (k->room == k->max)
		return false;
	grown = realloc(k->known, room * sizeof(*grown));
	if (!grown)
		return false;
	k->known = grown;
	if (!bp_index_grow(&k->index, room, hash_of, k))
		return false;
	k->room = room;
	return true;
}

/* Adds an entry without a report. */
static struct known *add(struct bp_replay_known *k, const uint8_t system_id[8], uint16_t config_id)
{
	struct known *one;

	if (k->n == k->room && !grow(k))
		return NULL;
	one = &k->known[k->n];
	*one = (struct known){.config_id = config_id};
	memcpy(one->system_id, system_id, sizeof(one->system_id));
	bp_index_add(&k->index, hash(system_id, config_id), k->n);
	k->n++;
	return one;
}

void bp_replay_known_learn(struct bp_replay_known *k, const uint8_t system_id[8],
	uint16_t config_id, struct bp_phd_bytes report)
{
	struct known *one = find(k, system_id, config_id);
	uint8_t *copy = malloc(report.len ? report.len : 1);

	if (!one && copy)
		one = add(k, system_id, config_id);
	if (!one || !copy) {
		free(copy);
		return;
	}
	memcpy(copy, report.p, report.len);
	free(one->report);
	one->report = copy;
	one->len = (uint32_t)report.len;
	one->spec = 0;
}

void bp_replay_known_spec(
	struct bp_replay_known *k, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	struct known *one = find(k, system_id, config_id);

	if (one)
		one->spec = spec;
}

bool bp_replay_known_find(const struct bp_replay_known *k, const uint8_t system_id[8],
	uint16_t config_id, struct bp_phd_model *out, uint16_t *spec)
{
	const struct known *one = find(k, system_id, config_id);

	if (!one ||
		bp_phd_config_read((struct bp_phd_bytes){one->report, one->len}, out) != BP_PHD_OK)
		return false;
	*spec = one->spec;
	return true;
}
