/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_SHARED_HOLDS_INTERNAL_H
#define BP_CONTROLPLANE_MQTT_SHARED_HOLDS_INTERNAL_H

#include <sys/queue.h>

#include "controlplane/mqtt/client_shares.h"
#include "controlplane/mqtt/shared_holds.h"
#include "shm/hash.h"

/* For shared_holds.c, and connection_holds.c: what is written and answered with the position of a
 * connection. */

#define BP_HOLDS_BUCKETS 16384u
#define BP_HOLDS_CONNECTIONS 4096u

/* BP_HOLDS_DUE: to be sent; the others are known. */
enum bp_holds_list { BP_HOLDS_DUE, BP_HOLDS_KNOWN, BP_HOLDS_LISTS };

struct bp_shared_hold {
	TAILQ_ENTRY(bp_shared_hold) entry, offer_entry;
	LIST_ENTRY(bp_shared_hold) of_connection;
	struct bp_shared_hold *next; /* of the same bucket */
	uint64_t connection;         /* whose packet has made the last change; 0: of none */
	uint64_t change;             /* of this gateway: of the counter */
	uint64_t write;              /* the one on its way that has the change; 0: none */
	uint32_t seq;                /* of that packet */
	uint32_t dir, generation;
	uint64_t rule_uid, hold;
	uint64_t number; /* of the last change: its Unix time, as of a transition */
	uint64_t changed_ns;
	struct bp_stream_place place; /* own: of the packet that has made the last change */
	uint16_t client;              /* bp_client_share(); 0: it has no share of a client */
	uint16_t topic_len;
	uint8_t list;
	bool own, offered; /* own: the last change is of this gateway */
	/* Several connections have changed it before Redis had the position of the first one: a
	 * gateway that has only one of them counts values twice, or not. It is shared as ended. */
	bool mixed;
	char uid[BP_ALARM_UID_TEXT];
	char topic[];
};
TAILQ_HEAD(bp_holds, bp_shared_hold);
LIST_HEAD(bp_connection_holds, bp_shared_hold);

struct bp_shared_holds {
	struct bp_shm *shm;
	struct bp_shared_holds_owner owner;
	struct bp_holds list[BP_HOLDS_LISTS], offers;
	struct bp_shared_hold *bucket[BP_HOLDS_BUCKETS];
	struct bp_client_shares shares;
	bool (*recorded)(void *arg, const struct bp_stream_place *p); /* NULL: none has a record */
	void *recorded_arg;
	struct bp_connection_holds of_connection[BP_HOLDS_CONNECTIONS];
	uint64_t changes, writes;
	uint64_t lost[BP_HOLD_LOST_WORDS]; /* of clients whose holds end at the next tick */
	bool any_lost;
	uint32_t generation; /* of the connection to Redis, or after a gap */
	uint32_t n;
	bool read;  /* all changes in Redis, since the connection */
	bool begun; /* read for the first time */
};

static inline struct bp_connection_holds *bp_holds_of_connection(
	struct bp_shared_holds *h, uint64_t connection)
{
	return &h->of_connection[bp_mix64(connection ^ h->shares.key) % BP_HOLDS_CONNECTIONS];
}

/* ---- shared_holds.c ---- */

void bp_hold_move(struct bp_shared_holds *h, struct bp_shared_hold *e, enum bp_holds_list list);
void bp_hold_become_due(struct bp_shared_holds *h, struct bp_shared_hold *e);
/* client: 0: none has it in its share. */
void bp_hold_set_client(struct bp_shared_holds *h, struct bp_shared_hold *e, uint16_t client);

/* ---- connection_holds.c ---- */

/* out: BP_HOLD_TEXT_HEAD, the topic and one byte; returns the length of the text. */
size_t bp_hold_write(const struct bp_shared_holds *h, const struct bp_shared_hold *e, char *out);
/* Ends it for all gateways, also a hold of another one: its next record is written by this one. */
void bp_hold_end(struct bp_shared_holds *h, struct bp_shared_hold *e);
/* It is sent, or Redis has it. */
void bp_hold_became_known(struct bp_shared_holds *h, struct bp_shared_hold *e);
struct bp_state_offer bp_hold_offer(
	const struct bp_shared_holds *h, const struct bp_shared_hold *e);

#endif
