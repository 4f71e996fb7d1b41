/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/client_shares.h"

#include "shm/fleet.h"

uint16_t bp_client_share(const struct bp_client_shares *s, const uint8_t ip[16], bool ip6)
{
	_Static_assert(BP_CLIENT_SHARES == BP_HOLD_CLIENTS, "shared_holds.c: of lost reports");

	return (uint16_t)(bp_hold_client(s->key, ip, ip6) + 1);
}

enum bp_share bp_client_share_check(
	const struct bp_client_shares *s, uint16_t client, uint32_t more)
{
	if (s->of[client - 1] + more > s->client_max)
		return BP_SHARE_CLIENT_FULL;
	return s->used + more > s->max ? BP_SHARE_FULL : BP_SHARE_FREE;
}

void bp_client_share_take(struct bp_client_shares *s, uint16_t client, uint32_t n)
{
	s->of[client - 1] += n;
	s->used += n;
}

void bp_client_share_return(struct bp_client_shares *s, uint16_t client, uint32_t n)
{
	s->of[client - 1] -= n;
	s->used -= n;
}
