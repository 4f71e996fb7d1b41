/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/cse_sink/exchanges.h"

#include <stdlib.h>
#include <string.h>

#define FIRST (1u << 16)
#define LAST (1u << 26) /* 2 GiB: 270,000 requests a second for 247 s */

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

uint64_t sink_hash(const void *p, uint64_t len)
{
	const uint8_t *b = p;
	uint64_t h = len;

	for (; len >= 8; len -= 8, b += 8) {
		uint64_t v;

		memcpy(&v, b, 8);
		h = mix(h ^ v);
	}
	for (; len > 0; len--)
		h = mix(h ^ *b++);
	return h;
}

bool sink_exchanges_make(struct sink_exchanges *e)
{
	*e = (struct sink_exchanges){.size = FIRST};
	e->slot = calloc(e->size, sizeof(e->slot[0]));
	return e->slot != NULL;
}

static bool is_recent(const struct sink_exchange *x, uint32_t now_s)
{
	return now_s - x->time_s < SINK_EXCHANGE_LIFETIME_S;
}

static struct sink_exchange *place(const struct sink_exchanges *e, uint64_t peer)
{
	uint32_t at = (uint32_t)mix(peer) & (e->size - 1);

	while (e->slot[at].peer != 0 && e->slot[at].peer != peer)
		at = (at + 1) & (e->size - 1);
	return &e->slot[at];
}

/* A new table for the recent entries, twice as large if necessary. */
static bool renew(struct sink_exchanges *e, uint32_t now_s)
{
	struct sink_exchanges n = {.size = e->size, .unchecked = e->unchecked};
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->size; i++)
		kept += e->slot[i].peer != 0 && is_recent(&e->slot[i], now_s);
	if (kept > e->size / 3) {
		if (e->size >= LAST)
			return false;
		n.size *= 2;
	}
	n.slot = calloc(n.size, sizeof(n.slot[0]));
	if (n.slot == NULL)
		return false;
	for (uint32_t i = 0; i < e->size; i++) {
		if (e->slot[i].peer == 0 || !is_recent(&e->slot[i], now_s))
			continue;
		*place(&n, e->slot[i].peer) = e->slot[i];
		n.used++;
	}
	free(e->slot);
	*e = n;
	return true;
}

struct sink_exchange *sink_exchange(
	struct sink_exchanges *e, uint64_t address_and_port, uint16_t mid, uint32_t now_s)
{
	uint64_t peer = mix(address_and_port ^ (uint64_t)mid << 48) | 1;
	struct sink_exchange *x;

	if (e->used >= e->size / 3 * 2 && !renew(e, now_s)) {
		e->unchecked++;
		return NULL;
	}
	x = place(e, peer);
	if (x->peer == peer && is_recent(x, now_s))
		return x;
	e->used += x->peer == 0;
	*x = (struct sink_exchange){.peer = peer, .time_s = now_s};
	return x;
}
