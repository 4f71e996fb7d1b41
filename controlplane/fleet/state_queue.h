/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_STATE_QUEUE_H
#define BP_CONTROLPLANE_FLEET_STATE_QUEUE_H

#include <sys/queue.h>

#include "controlplane/fleet/state.h"

/* The operations of bp_fleet_state, from the call to the answer. */

enum bp_fleet_op_kind { BP_FLEET_OP_PUT, BP_FLEET_OP_GET, BP_FLEET_OP_EPOCH, BP_FLEET_OP_PING };

enum bp_fleet_list {
	BP_FLEET_DELAYED, /* collapsible writes that wait for newer ones, by due_ns */
	BP_FLEET_READY,   /* writes to send */
	BP_FLEET_READS,   /* reads to send, by expires_ns */
	BP_FLEET_SENT,    /* without a reply, in the order of sending */
	BP_FLEET_DONE,    /* writes whose done() is to be called */
	BP_FLEET_LISTS,
};

struct bp_fleet_op {
	TAILQ_ENTRY(bp_fleet_op) entry;
	TAILQ_ENTRY(bp_fleet_op) collapsible_entry; /* DELAYED and READY */
	struct bp_fleet_op *next;                   /* of the same bucket; while collapsible */
	enum bp_fleet_op_kind kind;
	enum bp_fleet_list in;
	enum bp_fleet_result result; /* DONE */
	bool shared, collapsible, prompt;
	bool entries; /* GET: of the stream `key`, from `value` */
	const char *channel;
	uint64_t epoch; /* 0: that of the process when it is sent */
	uint64_t version;
	uint64_t created_ns; /* of a write; of the oldest one that it has replaced */
	uint64_t due_ns, expires_ns, sent_ns;
	void (*done)(void *arg, enum bp_fleet_result result);
	void (*got)(void *arg, const struct bp_fleet_value *v);
	void *arg;
	const char *value;
	size_t len;
	const char *stream; /* NULL: no entries */
	/* The entries follow the value: 4 bytes of length, and the bytes, of each. */
	unsigned n_entries;
	size_t entries_len;
	char key[];
};

TAILQ_HEAD(bp_fleet_ops, bp_fleet_op);

struct bp_fleet_queue {
	struct bp_fleet_ops list[BP_FLEET_LISTS];
	struct bp_fleet_ops collapsible; /* not sent, the oldest first */
	struct bp_fleet_op **bucket;     /* of these, by key */
	uint64_t hash_key[2];
	uint32_t buckets;              /* a power of two */
	uint32_t n_writes, max_writes; /* without those that are done */
	uint32_t n_reads, n_sent;      /* reads: with those that are sent */
	uint64_t bytes, max_bytes;     /* of the writes */
};

bool bp_fleet_queue_init(struct bp_fleet_queue *q, uint32_t max_writes, uint64_t max_bytes);
/* The lists must be empty. */
void bp_fleet_queue_end(struct bp_fleet_queue *q);

/* In no list, with a place for entries; NULL without memory. */
struct bp_fleet_op *bp_fleet_op_new(enum bp_fleet_op_kind kind, const char *key, const void *value,
	size_t len, size_t entries_len);
/* Adds it to the list of its kind: DELAYED or READY, or READS. */
void bp_fleet_queue_add(struct bp_fleet_queue *q, struct bp_fleet_op *op);
/* Adds it in the place of `old` if it is collapsible, and ends `old`. The delay and the lag count
 * from the first write of the key. */
void bp_fleet_queue_replace(
	struct bp_fleet_queue *q, struct bp_fleet_op *old, struct bp_fleet_op *op);
/* To the end of SENT. */
void bp_fleet_queue_sent(struct bp_fleet_queue *q, struct bp_fleet_op *op);
/* Ends an operation: a write is in DONE then, others are freed. */
void bp_fleet_queue_finish(
	struct bp_fleet_queue *q, struct bp_fleet_op *op, enum bp_fleet_result result);
/* Takes a write that is done out; the caller frees it with free(). NULL: none. */
struct bp_fleet_op *bp_fleet_queue_done(struct bp_fleet_queue *q);

/* The write of that key that a newer one replaces, or NULL. */
struct bp_fleet_op *bp_fleet_queue_find(const struct bp_fleet_queue *q, const char *key);
bool bp_fleet_queue_exceeded(const struct bp_fleet_queue *q);
/* Moves delayed writes that are due to READY. */
void bp_fleet_queue_mature(struct bp_fleet_queue *q, uint64_t now);
/* The write was not accepted: to the begin of READY. */
void bp_fleet_queue_again(struct bp_fleet_queue *q, struct bp_fleet_op *op);
/* The connection was lost: nothing is sent. */
void bp_fleet_queue_unsend(struct bp_fleet_queue *q);
/* When the oldest write was created, or UINT64_MAX. */
uint64_t bp_fleet_queue_oldest_ns(const struct bp_fleet_queue *q);

#endif
