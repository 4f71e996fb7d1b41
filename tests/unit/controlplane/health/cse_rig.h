/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_CSE_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_CSE_RIG_H

#include "tests/unit/controlplane/test.h"

#include "controlplane/health/cse/cse_client.h"
#include "tests/unit/controlplane/health/cse_peer.h"

/* The client of the CSE and a scripted peer, which has an event loop of its own, so that a test
 * says who is first. One at a time. */
#define NEVER_NS 3600000000000ull /* ACK_TIMEOUT where nothing is to be repeated */
#define QUICK_NS 5000000ull
#define REQUESTS_MAX 70000u
#define SEEN_MAX 64u

struct fixture {
	struct event_base *base; /* the client's */
	struct event_base *peer_base;
	struct peer peer;
	struct bp_cse_client *client;
	bool in_call;
	unsigned ends, by_end[BP_CSE_REFUSED + 1];
	unsigned retry; /* to be asked from ends, two from each */
	bool reopen;    /* the peer, from an end */
	/* Messages that the peer received. */
	unsigned n;
	uint16_t mid[SEEN_MAX];
	uint64_t token[SEEN_MAX];
	unsigned resets;
	/* Calls of the capacity callback. */
	unsigned told[2], fill;
	struct bp_cse_watch watch[2];
};

extern enum bp_cse_end rig_ended[REQUESTS_MAX]; /* by what was asked */

/* Only the peer, which listens. */
struct fixture *rig_make(void (*on)(struct peer *, const struct peer_message *));
/* The client, of the peer's port at that address. */
void rig_begin_at(struct fixture *f, const char *address, struct bp_cse_settings s);
/* Both, over loopback. */
struct fixture *rig_begin(void (*on)(struct peer *, const struct peer_message *),
	unsigned outstanding, uint64_t ack_timeout_ns);
void rig_finish(struct fixture *f);

/* A create request; `which` is what rig_ended[] has it by. */
enum bp_cse_sent rig_ask(struct fixture *f, uintptr_t which);
/* bp_cse_done; arg: `which`. */
void rig_done(void *arg, const struct bp_cse_reply *r);

/* For the peer: its handling of a message. */
void rig_note(struct peer *p, const struct peer_message *m);
void rig_answer(struct peer *p, const struct peer_message *m);
/* One datagram at the peer. */
void rig_peer_turn(struct fixture *f);

/* Lets both run until the condition holds. */
#define BOTH_UNTIL(f, condition)                                                                   \
	do {                                                                                       \
		const uint64_t end_ = test_now_ns() + TEST_DEADLINE_NS;                            \
		while (!(condition)) {                                                             \
			if (test_now_ns() > end_)                                                  \
				fail_msg("never came true: %s", #condition);                       \
			event_base_loop((f)->peer_base, EVLOOP_NONBLOCK);                          \
			event_base_loop((f)->base, EVLOOP_NONBLOCK);                               \
		}                                                                                  \
	} while (0)

#endif
