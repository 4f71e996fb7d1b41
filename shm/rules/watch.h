/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_WATCH_H
#define BP_SHM_RULES_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The topics whose absence is noticed: for each pair of an absence rule and a topic, the time of
 * the last publication. In the segment, so that it survives a restart of the data plane; shared by
 * the workers and changed by compare-and-swap, no lock. A pair has one of the ways of two buckets.
 *
 * A full pair of buckets replaces, in this order: a topic whose alarm is raised, because its state
 * is in the table of alarm states; a topic of the same client; a topic of a client that has over
 * half of the table; the longest silent first. Where there is none, the new topic is not watched,
 * so that a client that invents topics evicts only its own.
 *
 * The text that an alarm needs is in a second table, so that a search for silent topics reads 16
 * bytes a topic.
 */
#define BP_WATCH_WAYS 8
#define BP_WATCH_TOPIC_MAX 184 /* bytes; a longer topic is not watched */
#define BP_WATCH_CLIENT_MAX 40 /* bytes; a longer client identifier is not stored */

struct bp_watch_entry {
	_Atomic uint64_t key;   /* bp_watch_key(); 0: free */
	_Atomic uint64_t word;  /* BP_WATCH_* */
} __attribute__((aligned(16))); /* swapped together */

#define BP_WATCH_ABSENT (1ull << 63)       /* the alarm is raised: nothing is due */
#define BP_WATCH_CLAIM (1ull << 62)        /* a worker is writing the text */
#define BP_WATCH_TIME (BP_WATCH_CLAIM - 1) /* of the last publication: CLOCK_MONOTONIC, ns */

/* For people, and to say which topic an alarm is of. A worker that reads it checks the hash of the
 * topic: a text that is torn, because its writer was killed, is not used. */
struct bp_watch_topic {
	uint32_t client; /* the hash of the client that published last, never 0; 0: none has */
	uint16_t topic_len, client_port;
	uint8_t client_ip[16];
	uint8_t client_id_len;
	uint8_t ip6;
	uint8_t pad[6];
	char client_id[BP_WATCH_CLIENT_MAX];
	char topic[BP_WATCH_TOPIC_MAX];
};
_Static_assert(sizeof(struct bp_watch_topic) == 256, "copied in words");

/* The keys contain the slot of the rule, with which a worker finds it. */
#define BP_WATCH_SLOT_BITS 17
uint64_t bp_watch_key(uint64_t rule_uid, uint64_t topic_hash, uint32_t slot);
static inline uint32_t bp_watch_slot(uint64_t key)
{
	return (uint32_t)key & ((1u << BP_WATCH_SLOT_BITS) - 1);
}

/* Entries for at least n topics: half as many again, so that hardly a topic is refused before. */
uint64_t bp_watch_len(uint32_t n);

/* A process's view. */
struct bp_watch {
	struct bp_watch_entry *entry;
	struct bp_watch_topic *topic;
	uint64_t len;
	uint64_t start_ns; /* of the process: claims before it are of a worker that was killed */
};

enum bp_watch_seen {
	BP_WATCH_KNOWN,
	BP_WATCH_ADDED,
	BP_WATCH_EVICTED, /* added, in place of another one */
	BP_WATCH_FULL,    /* it is not watched */
};

/*
 * A publication on the topic `by`, at now_ns, or with `only_add` a topic that is to be watched from
 * now on if it is not yet. *before: the time of the publication before, 0: unknown. A time that is
 * later than now_ns is of another boot of the machine.
 */
enum bp_watch_seen bp_watch_see(const struct bp_watch *w, uint64_t key, uint64_t now_ns,
	bool only_add, const struct bp_watch_topic *by, uint64_t *before);

/*
 * The same for a publication less than `recent_ns` after the one before: only the time is written,
 * which needs little work. False: nothing is changed, as the topic is not watched, its alarm is
 * raised or may be (the publication before was of an earlier process), or it is longer ago.
 */
bool bp_watch_see_recent(
	const struct bp_watch *w, uint64_t key, uint64_t now_ns, uint64_t recent_ns);

/* Replaces the word of an entry if it is unchanged; 0: removes the entry. */
bool bp_watch_set(
	const struct bp_watch *w, uint64_t at, uint64_t key, uint64_t word, uint64_t next);

/* Copies the text of an entry, which another worker may be writing. */
void bp_watch_read(const struct bp_watch *w, uint64_t at, struct bp_watch_topic *out);

/* A watched topic, as another process reads it. */
struct bp_watch_view {
	uint64_t seen_ns; /* last publication, or since when it is watched */
	bool absent;      /* its alarm was raised since */
	uint32_t client;  /* 0: no publication yet */
};
/* Any process. False: it is not watched. The table is untrusted. */
bool bp_watch_find(const struct bp_watch *w, uint64_t key, struct bp_watch_view *v);

#endif
