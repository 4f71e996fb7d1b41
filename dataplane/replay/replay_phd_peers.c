/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/replay_phd_peers.h"

#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/index.h"

#define FIRST 64u /* initial number of entries */

struct bp_replay_peers {
	struct bp_replay_peer *peer;
	uint32_t n, room;
	struct bp_index index; /* by address */
};

static uint64_t hash_address(const uint8_t address[16])
{
	return bp_mix64(bp_load64(address) ^ bp_mix64(bp_load64(address + 8)));
}

static uint64_t hash_of(const void *arg, uint32_t i)
{
	const struct bp_replay_peers *p = arg;

	return hash_address(p->peer[i].address);
}

struct bp_replay_peers *bp_replay_peers_new(void)
{
	struct bp_replay_peers *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->room = FIRST;
	p->peer = calloc(p->room, sizeof(*p->peer));
	if (p->peer && bp_index_init(&p->index, p->room))
		return p;
	free(p->peer);
	free(p);
	return NULL;
}

void bp_replay_peers_free(struct bp_replay_peers *p)
{
	if (!p)
		return;
	bp_index_free(&p->index);
	free(p->peer);
	free(p);
}

static struct bp_replay_peer *find(const struct bp_replay_peers *p, const uint8_t address[16])
{
	uint32_t i = bp_index_first(&p->index, hash_address(address));

	for (; i != BP_INDEX_END; i = bp_index_next(&p->index, i))
		if (memcmp(p->peer[i].address, address, 16) == 0)
			return &p->peer[i];
	return NULL;
}

static bool grow(struct bp_replay_peers *p)
{
	struct bp_replay_peer *grown;

	if (p->room > UINT32_MAX / 2)
		return false;
	grown = realloc(p->peer, 2 * (size_t)p->room * sizeof(*grown));
	if (!grown)
		return false;
	p->peer = grown;
	if (!bp_index_grow(&p->index, 2 * p->room, hash_of, p))
		return false;
	p->room *= 2;
	return true;
}

bool bp_replay_peers_note(struct bp_replay_peers *p, const struct bp_replay_peer *peer)
{
	struct bp_replay_peer *there = find(p, peer->address);

	if (there) {
		*there = *peer;
		return true;
	}
	if (p->n == p->room && !grow(p))
		return false;
	p->peer[p->n] = *peer;
	bp_index_add(&p->index, hash_address(peer->address), p->n);
	p->n++;
	return true;
}

const struct bp_replay_peer *bp_replay_peers_find(
	const struct bp_replay_peers *p, const uint8_t address[16])
{
	return find(p, address);
}
