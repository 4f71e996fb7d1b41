/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_H
#define BP_SHM_HEALTH_PHD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/hash.h"
#include "shm/health/phd_ids.h"
#include "shm/health/phd_layout.h"
#include "shm/health/phd_status.h"
#include "shm/ring.h"

/*
 * The sessions of personal health devices in the segment. One writer (the control plane; replay for
 * itself), any number of readers, who take no lock and never wait: a tag refers to a complete
 * session, which stays complete until the reader's walk ends (shm/fib/epoch.h). A writer that dies
 * leaves at every store tables that readers can use; the next writer repairs incomplete changes
 * (bp_phd_writer_new).
 *
 *   table         writer       element
 *   phd           CP           struct bp_phd_control, one
 *   phd_tags      CP           struct bp_phd_group: the tags of 15 sessions
 *   phd_sessions  CP, workers  struct bp_phd_session, 15 a group; they never move
 *   phd_layouts   CP           struct bp_phd_layout in BP_PHD_LAYOUT_SIZE bytes (element: one line)
 *   phd_ids       DP worker    struct bp_phd_ids, one a worker (element: one line)
 *   phd_events    DP worker    byte rings (shm/ring.h) of struct bp_phd_event_record, one a worker,
 *                              of BP_PHD_EVENTS bytes of data
 *   phd_event_tails  CP        struct bp_ring_tail, one a worker
 *   phd_status    CP           struct bp_phd_status, one: the source of `status`
 *
 * Without a section health_devices each table has one element, which must not be used:
 * bp_phd_tables.n_slots is 0.
 */

enum bp_phd_state { BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING };

/* Whether a device on TCP waits for the response to its last report. */
enum bp_phd_unanswered_state {
	BP_PHD_ANSWERED,     /* the kernel has the response, or there is no such report */
	BP_PHD_UNANSWERED,   /* there is no response, or the device is asked to repeat the report */
	BP_PHD_ANSWER_WAITS, /* to be written to its connection */
};

/* The CSE has its containers: workers convert. Without it its reports go to the CP. */
#define BP_PHD_READY 0x01
/* A worker sets it, by compare-and-swap, when the CSE reports that the target does not exist: the
 * CP provisions again. */
#define BP_PHD_STALE 0x02

#define BP_PHD_NO_LAYOUT 0xffff
#define BP_PHD_TRANSPORT_TCP 6 /* the IP protocols' numbers */
#define BP_PHD_TRANSPORT_UDP 17

/* Names the instances of a report (services/health/decode.h) whose session was superseded. */
struct bp_phd_origin {
	uint32_t associated_s; /* of that session; 0: there was none */
	uint32_t report;       /* its number in that session */
	uint16_t life;
	uint16_t pad;
};

/* The report whose answer a device was waiting for when its association ended, or moved to another
 * gateway: the next association starts with it, so that its repetition is detected. sent 0: there
 * is none. */
struct bp_phd_carried {
	uint64_t last, sent; /* as bp_phd_session has them */
	struct bp_phd_origin origin;
};

struct bp_phd_session {
	/* fixed while the word is not FREE, and until all workers have passed after that; network
	 * order, IPv4 as ::ffff:a.b.c.d */
	uint8_t address[16];
	/* The state word that readers decide by: see bp_phd_word(). CP; workers change READY and
	 * STALE in it, by compare-and-swap. */
	_Atomic uint64_t word;
	uint8_t system_id[8];
	/* workers, and the CP's slow path: the last report, invoke-id << 48 | report-no << 32 | a
	 * bit for each part that is not stored yet; services/health/last_report.h */
	_Atomic uint64_t last;
	/* the same: of that report, its first (port, MID), or one that is none, << 32
	 * | 16 bits of its bytes << 16 | the low 16 bits of CLOCK_MONOTONIC / 4 s; 0: there is
	 * none; services/health/last_report.h */
	_Atomic uint64_t sent;
	uint32_t associated_s; /* Unix time, another for each association of a device; together with
				  reports it names instances */
	_Atomic uint32_t reports;    /* workers: those converted, repeats not counted */
	_Atomic uint32_t stored;     /* workers: instances that the CSE acknowledged */
	uint16_t port;               /* the device's, in this machine's order */
	uint8_t transport;           /* BP_PHD_TRANSPORT_* */
	_Atomic uint8_t refused_why; /* as `refused`: enum bp_phd_verdict of the last of these */
	/* second line: outside the hot path. Written by the CP alone, except `errors`. */
	_Atomic uint32_t
		errors; /* workers: error responses of the CSE that were returned to the device */
	uint32_t deadline_s; /* CLOCK_MONOTONIC, seconds: end of the state; 0: no end */
	uint16_t config_id;
	uint16_t spec;     /* the specialisation's code, 4100 for 10404; 0: unknown */
	uint8_t protocol;  /* 1: 20601, 2: 20601a */
	uint8_t provision; /* controlplane/health/cse/provision.c: how far the CSE's resources are
			    */
	uint8_t mds_known; /* the manager: enum bp_phd_mds */
	/* TCP: enum bp_phd_unanswered_state, of the report of `last` and `sent`. While it is not
	 * ANSWERED the device may repeat that in its next association. */
	uint8_t unanswered;
	uint64_t config_content; /* bp_phd_model.content */
	uint64_t aarq_hash;      /* hash of the bytes of the AARQ, to detect a repetition */
	uint64_t config_hash; /* hash of the bytes of the accepted configuration report, 0: none */
	uint64_t opened_ns;   /* CLOCK_MONOTONIC */
	/* of the report of `last`, until it has another one; TCP, and UDP if another gateway had
	 * the association */
	struct bp_phd_origin origin;
	/* workers, and the CP's slow path: reports of which nothing could be stored, as their APDU
	 * is malformed or contradicts the configuration */
	_Atomic uint32_t refused;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_phd_session) == 128, "a session is two lines");
_Static_assert(
	offsetof(struct bp_phd_session, last) % 16 == 0 &&
		offsetof(struct bp_phd_session, sent) == offsetof(struct bp_phd_session, last) + 8,
	"last and sent are compared in one step");
_Static_assert(offsetof(struct bp_phd_session, errors) == 64, "what workers use is one line");

/*
 * A session's word: state in bits 0..7, flags (BP_PHD_READY ...) 8..15, number of its layout or
 * BP_PHD_NO_LAYOUT 16..31, life 32..47, index of the own address 48..55. The life changes with each
 * use of the slot.
 */
static inline uint64_t bp_phd_word(
	enum bp_phd_state state, uint8_t flags, uint16_t layout, uint16_t life, uint8_t own)
{
	return (uint64_t)state | (uint64_t)flags << 8 | (uint64_t)layout << 16 |
	       (uint64_t)life << 32 | (uint64_t)own << 48;
}
static inline enum bp_phd_state bp_phd_word_state(uint64_t word)
{
	return (enum bp_phd_state)(word & 0xff);
}
static inline uint8_t bp_phd_word_flags(uint64_t word)
{
	return (uint8_t)(word >> 8);
}
static inline uint16_t bp_phd_word_layout(uint64_t word)
{
	return (uint16_t)(word >> 16);
}
static inline uint16_t bp_phd_word_life(uint64_t word)
{
	return (uint16_t)(word >> 32);
}
static inline uint8_t bp_phd_word_own(uint64_t word)
{
	return (uint8_t)(word >> 48);
}

/* 15 tags of 16 bits (0: free), and the number of sessions whose first group this is and that are
 * in their second group: four words of four, tag i in bits 16 * (i % 4).. of word i / 4. */
#define BP_PHD_WAYS 15
struct bp_phd_group {
	_Atomic uint64_t tags[4];
} __attribute__((aligned(32)));

/* ---- one of each ---- */

/* The CSE's settings from the configuration and the kernel's routes. Consistent only when read by
 * bp_phd_settings_read(). */
struct bp_phd_settings {
	uint8_t cse[16], source[16]; /* network order, IPv4 as ::ffff:a.b.c.d */
	uint16_t cse_port, listen_udp;
	uint16_t ports_first, ports_last; /* source ports of requests, over all workers */
	uint32_t max_message;             /* bytes of one CoAP message */
	uint32_t unknown_sessions; /* reports without a session a second that the manager may answer
				    */
	uint8_t family;            /* of the CSE: 4 or 6 */
	uint8_t release;           /* enum bp_m2m_release */
	uint8_t confirm;           /* enum bp_phd_confirm */
	uint8_t per_report;        /* one instance a report, else one an object */
	uint8_t named;             /* instances have names */
	uint8_t con;               /* CON, else NON */
	uint8_t pad[2];
	uint64_t hash; /* of all that layouts render */
};

/* Whether there is a source address for requests. */
static inline bool bp_phd_settings_has_source(const struct bp_phd_settings *p)
{
	const uint64_t low = bp_load64(p->source + 8);

	return p->family == 6 ? (bp_load64(p->source) | low) != 0 : low >> 32 != 0;
}

#define BP_PHD_OWN_MAX 256
struct bp_phd_control {
	/* CP: grows with each change of the plan; 0: there is none, odd: it is being written */
	_Atomic uint64_t settings_generation;
	struct bp_phd_settings plan;
	/* CP: sessions are being restored, so an APDU of an unknown sender does not count as
	 * unknown yet */
	_Atomic uint32_t loading;
	_Atomic uint32_t sessions, operating; /* CP */
	_Atomic uint32_t unready;             /* CP: operating, but without BP_PHD_READY */
	_Atomic uint32_t layouts;             /* CP */
	_Atomic uint32_t refused;             /* CP: found the table, or both its groups, full */
	_Atomic uint64_t repairs; /* CP: incomplete or invalid entries that a new writer repaired */
	_Atomic uint32_t own_n;   /* CP: addresses in own[]; they stay */
	uint32_t pad;
	uint8_t own[BP_PHD_OWN_MAX][16]; /* this machine's addresses that devices talk to */
} __attribute__((aligned(64)));

enum bp_phd_event_kind {
	BP_PHD_EVENT_ANSWER, /* the device's neighbor is not resolved: answer through the kernel */
	BP_PHD_EVENT_STALE,
};
struct bp_phd_event_record {
	uint32_t kind, slot;
	uint64_t token;
	uint8_t outcome; /* enum bp_m2m_outcome */
	uint8_t pad[7];
};
#define BP_PHD_EVENTS 65536

/* Every table at its address; part of struct bp_shm. */
struct bp_phd_tables {
	struct bp_phd_control *control;
	struct bp_phd_group *groups;
	struct bp_phd_session *sessions; /* slot: group * BP_PHD_WAYS + way */
	uint32_t n_groups, n_slots;      /* 0: there is no section health_devices */
	uint32_t max_sessions;           /* four fifths of the slots */
	uint8_t *layouts;
	uint32_t max_layouts;
	struct bp_phd_ids *ids;       /* [workers] */
	struct bp_ring *events;       /* [workers]; this process's view */
	struct bp_phd_status *status; /* also without sessions; all 0 then */
	uint32_t workers;
	uint64_t hash_key[2];
};

/* ---- for workers ---- */

/* `port` in this machine's order; the address as two words of bp_load64(). */
static inline uint64_t bp_phd_hash_words(
	const uint64_t key[2], uint64_t a0, uint64_t a1, uint16_t port, uint8_t transport)
{
	const uint64_t h = bp_fold(a0 ^ key[0], a1 ^ key[1]);

	/* the key is mixed in again, since the factors of a single product may be weak */
	return bp_fold(h ^ port ^ (uint64_t)transport << 16 ^ 0xa0761d6478bd642full,
		key[0] ^ 0xe7037ed1a0b428dbull);
}
static inline uint64_t bp_phd_hash(
	const uint64_t key[2], const uint8_t address[16], uint16_t port, uint8_t transport)
{
	return bp_phd_hash_words(key, bp_load64(address), bp_load64(address + 8), port, transport);
}

/* The groups that a hash belongs to, and its tag. */
static inline uint32_t bp_phd_group1(const struct bp_phd_tables *t, uint64_t hash)
{
	return (uint32_t)(((hash >> 32) * t->n_groups) >> 32);
}
static inline uint32_t bp_phd_group2(const struct bp_phd_tables *t, uint64_t hash)
{
	return (uint32_t)(((uint64_t)((uint32_t)(hash >> 16) * 0x9e3779b1u) * t->n_groups) >> 32);
}
static inline uint16_t bp_phd_tag(uint64_t hash)
{
	return (uint16_t)(hash | 1); /* never 0 */
}

/* One step ahead of bp_phd_candidate(). always_inline: see BP_PREFETCHES in shm/fib/neighbors.h.
 */
static inline __attribute__((always_inline)) void bp_phd_prefetch(
	const struct bp_phd_tables *t, uint64_t hash)
{
	__builtin_prefetch(&t->groups[bp_phd_group1(t, hash)]);
}
/* The slot that the tags point at, for prefetching &sessions[it]: it may be another's, or free. Not
 * without sessions (n_slots 0). */
uint32_t bp_phd_candidate(const struct bp_phd_tables *t, uint64_t hash);

/* Whether a session, whose word is not FREE, is that address's: the words as above. */
static inline bool bp_phd_is_of(
	const struct bp_phd_session *s, uint64_t a0, uint64_t a1, uint16_t port, uint8_t transport)
{
	return ((bp_load64(s->address) ^ a0) | (bp_load64(s->address + 8) ^ a1) |
		       (uint64_t)(s->port ^ port) | (uint64_t)(s->transport ^ transport)) == 0;
}

/* Finds the session of a device's address, in any state but FREE: returns 0 and *slot, or -1. hash:
 * the result of bp_phd_hash(). */
int bp_phd_find(const struct bp_phd_tables *t, uint64_t hash, const uint8_t address[16],
	uint16_t port, uint8_t transport, uint32_t *slot);

/* The layout that a word refers to, or NULL when there is none. Its content is trusted only as far
 * as bp_phd_layout_valid() has checked it. */
static inline const struct bp_phd_layout *bp_phd_layout_of(
	const struct bp_phd_tables *t, uint64_t word)
{
	const uint16_t n = bp_phd_word_layout(word);

	if (n >= t->max_layouts)
		return NULL;
	return (const struct bp_phd_layout *)(t->layouts + (size_t)n * BP_PHD_LAYOUT_SIZE);
}

/* For `show`: a consistent snapshot of a session, except for the counters that workers and the CP
 * update meanwhile. False: the slot is free, or is being reused. */
bool bp_phd_session_read(const struct bp_phd_tables *t, uint32_t slot, struct bp_phd_session *out);

/* A report of the session could not be converted, for the reason `verdict`. */
static inline void bp_phd_session_refuse(struct bp_phd_session *s, uint8_t verdict)
{
	atomic_store_explicit(&s->refused_why, verdict, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->refused, 1, memory_order_relaxed);
}

/* Copies the plan. Returns its generation, or 0 when there is none or it is being written. */
uint64_t bp_phd_settings_read(const struct bp_phd_tables *t, struct bp_phd_settings *out);

static inline struct bp_ring *bp_phd_events(const struct bp_phd_tables *t, unsigned worker)
{
	return &t->events[worker];
}

#endif
