/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_CLIENT_SHARES_H
#define BP_CONTROLPLANE_MQTT_CLIENT_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What client addresses have of a bounded table, so that one of them leaves places for others.
 * Addresses are counted by a hash: two may have one share together.
 */
#define BP_CLIENT_SHARES 4096u

struct bp_client_shares {
	/* secret, so that no client can choose an address with the share of another one */
	uint64_t key;
	uint32_t client_max, max; /* of one address, and of all */
	uint32_t used;
	uint32_t of[BP_CLIENT_SHARES];
};

enum bp_share { BP_SHARE_FREE, BP_SHARE_CLIENT_FULL, BP_SHARE_FULL };

/* The number of an address; never 0. ip6: its /64 counts, else the first four bytes. */
uint16_t bp_client_share(const struct bp_client_shares *s, const uint8_t ip[16], bool ip6);
/* Whether the address may have this number more. */
enum bp_share bp_client_share_check(
	const struct bp_client_shares *s, uint16_t client, uint32_t more);
void bp_client_share_take(struct bp_client_shares *s, uint16_t client, uint32_t n);
void bp_client_share_return(struct bp_client_shares *s, uint16_t client, uint32_t n);

#endif
