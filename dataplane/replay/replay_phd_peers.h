/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_PEERS_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_PEERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The input interface and MAC of each device in a replay. There is no kernel that could resolve
 * addresses, so a response without a path in the forwarding tables is sent back to where the device
 * was received.
 */
struct bp_replay_peers;

struct bp_replay_peer {
	uint8_t address[16]; /* network byte order, IPv4 as ::ffff:a.b.c.d */
	uint8_t mac[6];
	uint8_t interface; /* include/biplane/fib.h */
};

/* Creates an empty table; the caller frees it. NULL: no memory. */
struct bp_replay_peers *bp_replay_peers_new(void);
void bp_replay_peers_free(struct bp_replay_peers *p);

/* Sets the location of an address. False: no memory. */
bool bp_replay_peers_note(struct bp_replay_peers *p, const struct bp_replay_peer *peer);
/* Returns the location, valid until the next note. NULL: the address is unknown. */
const struct bp_replay_peer *bp_replay_peers_find(
	const struct bp_replay_peers *p, const uint8_t address[16]);

#endif
