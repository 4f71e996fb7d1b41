/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_PEERS_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_PEERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * From where devices were heard in replay: there is no kernel that could ask for their MACs, so
 * what the forwarding tables can't reach goes back to where it came from.
 */
struct bp_replay_peers;

struct bp_replay_peer {
	uint8_t address[16]; /* network order, IPv4 as ::ffff:a.b.c.d */
	uint8_t mac[6];
	uint8_t interface; /* include/biplane/fib.h */
};

/* NULL without memory. */
struct bp_replay_peers *bp_replay_peers_new(void);
void bp_replay_peers_free(struct bp_replay_peers *p);

/* The place of an address is this one from now on. False: no memory. */
bool bp_replay_peers_note(struct bp_replay_peers *p, const struct bp_replay_peer *peer);
/* NULL: nothing was heard from there. Stays until the next note. */
const struct bp_replay_peer *bp_replay_peers_find(
	const struct bp_replay_peers *p, const uint8_t address[16]);

#endif
