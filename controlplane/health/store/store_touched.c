/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/store/store_touched.h"

#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"

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

/* Room for one more, half of the places free. */
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
