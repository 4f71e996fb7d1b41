/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_MANAGER_INTERNAL_H
#define BP_SERVICES_HEALTH_MANAGER_INTERNAL_H

#include "services/health/layout.h"
#include "services/health/manager.h"
#include "shm/index.h"

/* Declarations that the parts of the manager share; only for services/health/manager*.c. */

#define BP_PHD_NONE UINT32_MAX

/* Why a slot waits. Each has a queue; a slot is in one of the first three at most, and in IDLE
 * while it is operating. */
enum bp_phd_wait {
	BP_PHD_WAIT_NONE,
	BP_PHD_WAIT_CONFIG,  /* for the configuration report */
	BP_PHD_WAIT_SERVICE, /* for the answer to our GET */
	BP_PHD_WAIT_RELEASE, /* for the answer to our RLRQ */
	BP_PHD_WAIT_IDLE,    /* for a report */
	BP_PHD_WAITS,
};

/* A place in a queue. All of a queue wait equally long: its head is due first. */
struct bp_phd_timer {
	uint32_t prev, next; /* slots, or BP_PHD_NONE */
	uint64_t since_ns;
};

/* The manager's private state of a session, besides the table; zeroed where there is none. */
struct bp_phd_note {
	struct bp_phd_timer state, idle;
	uint8_t waits;      /* enum bp_phd_wait, of `state` */
	bool idles;         /* in the IDLE queue */
	bool opened;        /* ops->opened() was called, or an earlier manager did */
	bool known;         /* in the indexes */
	bool restored;      /* as the store had it */
	bool refit;         /* its layout is of another plan, until all is read back */
	uint16_t invoke_id; /* of our GET */
	uint32_t connection;
	uint32_t address;      /* row of addresses */
	uint32_t idle_reports; /* number of reports at the last check, */
	uint64_t idle_ns;      /* and when there was another one last */
	uint32_t late_reports; /* number of reports at the first repeated AARQ since a report, */
	uint64_t late_ns;      /* and its time */
};

struct bp_phd_queue {
	uint32_t head, tail;
};

/* A report without an answer of a session that ended: manager_unanswered.c. */
struct bp_phd_unanswered {
	struct bp_phd_carried report;
	uint8_t system_id[8];
	uint64_t config_content;
	uint64_t since_ns; /* when it was sent to the CSE last */
	uint32_t slot;     /* where the table says so; BP_PHD_NONE: the place is free */
	uint32_t associated_s;
	uint16_t life, config_id;
};
/* As many as there may be devices on TCP. */
#define BP_PHD_UNANSWERED_MAX 8192u

/* How many sessions an IP address has. */
struct bp_phd_address_row {
	uint8_t address[16];
	uint32_t sessions; /* 0: free; then `next` is the next one that is */
	uint32_t next;
};

struct bp_phd_manager {
	const struct bp_config_phd *c;
	struct bp_phd_tables *t;
	struct bp_phd_writer *w;
	struct bp_phd_manager_counts *counts;
	const struct bp_phd_manager_ops *ops;
	void *arg;
	uint8_t system_id[8];
	uint64_t now_ns;          /* of the call in hand */
	struct bp_phd_note *note; /* by slot */
	struct bp_phd_queue queue[BP_PHD_WAITS];
	struct bp_index by_system, by_connection; /* slots */
	struct bp_index by_address;               /* rows of addresses */
	uint32_t *associated; /* by system-id: no later association has this time or less */
	uint32_t associated_mask;
	struct bp_phd_unanswered *unanswered; /* [unanswered_n] */
	struct bp_index by_unanswered;        /* those that are used, by system-id */
	uint32_t unanswered_n, unanswered_at; /* at: which is taken next, whatever is in it */
	struct bp_phd_address_row *address;
	uint32_t free_address;         /* a list of those that were used, */
	uint32_t first_unused_address; /* and the first that never was */
	uint64_t settled_ns;           /* time of the last check of the retired elements */
	uint64_t next_association_ns;  /* when the rate would be kept to, were it used evenly */
	uint16_t next_invoke_id;
	struct bp_phd_layout_cache *layouts;
	uint32_t refits; /* notes that say so */
};

static inline struct bp_phd_session *bp_phd_session_at(
	const struct bp_phd_manager *m, uint32_t slot)
{
	return &m->t->sessions[slot];
}
static inline uint64_t bp_phd_word_at(const struct bp_phd_manager *m, uint32_t slot)
{
	return atomic_load_explicit(&bp_phd_session_at(m, slot)->word, memory_order_relaxed);
}
static inline enum bp_phd_state bp_phd_state_at(const struct bp_phd_manager *m, uint32_t slot)
{
	return bp_phd_word_state(bp_phd_word_at(m, slot));
}
static inline void bp_phd_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}
/* Sessions are being restored: a peer without a session may still get one. */
static inline bool bp_phd_loading(const struct bp_phd_manager *m)
{
	return atomic_load_explicit(&m->t->control->loading, memory_order_relaxed) != 0;
}
/* A hash of a whole APDU, to detect a repetition; never 0. */
uint64_t bp_phd_apdu_hash(const struct bp_phd_manager *m, const uint8_t *p, size_t len);

/* ---- manager_sessions.c: answers ---- */

void bp_phd_reply(
	struct bp_phd_manager *m, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len);
void bp_phd_reply_simple(struct bp_phd_manager *m, const struct bp_phd_peer *to,
	enum bp_phd_choice choice, uint16_t reason);
void bp_phd_reply_roer(struct bp_phd_manager *m, const struct bp_phd_peer *to, uint16_t invoke_id,
	enum bp_phd_roer error);
void bp_phd_reply_rorj(struct bp_phd_manager *m, const struct bp_phd_peer *to, uint16_t invoke_id,
	enum bp_phd_rorj problem);
/* Handles an APDU of a peer that has no session: while sessions are restored, notifies the
 * owner. */
void bp_phd_unassociated(struct bp_phd_manager *m, const struct bp_phd_peer *from);
/* The peer that the responses of a session are sent to. */
struct bp_phd_peer bp_phd_peer_of(const struct bp_phd_manager *m, uint32_t slot);

/* ---- manager_association.c ---- */

/* Handles an AARQ, for any `slot` (or BP_PHD_NONE): `hash` is that of its bytes. */
void bp_phd_associate(struct bp_phd_manager *m, const struct bp_phd_peer *from, uint32_t slot,
	const struct bp_phd_apdu *a, uint64_t hash, uint64_t unix_ns);
/* Ends a session: notifies the owner and frees the slot. */
void bp_phd_close(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_closed why);
/* As above, and sends an ABRT. */
void bp_phd_abort(
	struct bp_phd_manager *m, uint32_t slot, enum bp_phd_abort reason, enum bp_phd_closed why);

/* A configuration that is known: standard, or declared before. */
bool bp_phd_model_of(struct bp_phd_manager *m, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec);
/* The number of its layout; -1: the layout is unusable; -2: no space for another layout. */
int bp_phd_layout_for(struct bp_phd_manager *m, const struct bp_phd_model *model, uint16_t spec);
/* A confirmed configuration report of a session that waits for one. */
void bp_phd_configured(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *from,
	uint16_t invoke_id, struct bp_phd_bytes info, uint64_t hash);
/* The session is operating: notifies the owner and requests the MDS from the device. */
void bp_phd_operating(struct bp_phd_manager *m, uint32_t slot);
/* Requests the MDS where the device's specialisation is unknown. */
void bp_phd_request_mds(struct bp_phd_manager *m, uint32_t slot);
/* The response to our GET: the attributes, or NULL: none. */
void bp_phd_mds_received(
	struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_get_reply *reply);
/* Whether instances have no name without the specialisation. */
bool bp_phd_type_needed(const struct bp_phd_manager *m);

/* ---- manager_unanswered.c ---- */

bool bp_phd_unanswered_init(struct bp_phd_manager *m);
void bp_phd_unanswered_free(struct bp_phd_manager *m);
/* Stores the report whose answer the device of a session waits for, before or after the end of the
 * session. False: there is no report that it may repeat. */
bool bp_phd_unanswered_keep(struct bp_phd_manager *m, uint32_t slot);
/* A session that is to be opened begins with it, if the device may repeat it there. */
void bp_phd_unanswered_carry(const struct bp_phd_manager *m, struct bp_phd_session_spec *s);
/* The device associated: it will not repeat the reports that it does not repeat now. */
void bp_phd_unanswered_drop(struct bp_phd_manager *m, const uint8_t system_id[8]);
/* A session ends: the search for reports that the next session cannot request again stops. */
void bp_phd_unanswered_end(struct bp_phd_manager *m, uint32_t slot, bool may_repeat);

/* ---- manager_sessions.c: what sessions wait for ---- */

void bp_phd_timers_init(struct bp_phd_manager *m);
/* Sets the event that the session waits for, in addition to IDLE. */
void bp_phd_wait(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_wait wait);
void bp_phd_idle_begin(struct bp_phd_manager *m, uint32_t slot);
/* A report arrived on the slow path. */
void bp_phd_idle_ends(struct bp_phd_manager *m, uint32_t slot);
/* For a session in the IDLE queue: checks for reports since the last check, and moves it to the
 * end. True: there was none for the configured time. */
bool bp_phd_idle_expired(struct bp_phd_manager *m, uint32_t slot);
/* When the head of a queue is due; UINT64_MAX: never. */
uint64_t bp_phd_wait_due(struct bp_phd_manager *m, enum bp_phd_wait q);
/* Out of all queues. */
void bp_phd_timers_drop(struct bp_phd_manager *m, uint32_t slot);

/* ---- manager_sessions.c: indexes ---- */

bool bp_phd_indexes_init(struct bp_phd_manager *m);
void bp_phd_indexes_free(struct bp_phd_manager *m);
uint64_t bp_phd_system_hash(const struct bp_phd_manager *m, const uint8_t system_id[8]);
void bp_phd_index_add(struct bp_phd_manager *m, uint32_t slot, uint32_t connection);
void bp_phd_index_remove(struct bp_phd_manager *m, uint32_t slot);
uint32_t bp_phd_of_system(const struct bp_phd_manager *m, const uint8_t system_id[8]);
uint32_t bp_phd_of_connection(const struct bp_phd_manager *m, uint32_t connection);
/* The Unix time of a new association, `now_s` or later: unique among the associations of this
 * device, however fast they follow each other and whatever the clock does. It is part of the names
 * of instances. */
uint32_t bp_phd_association_time(
	const struct bp_phd_manager *m, const uint8_t system_id[8], uint32_t now_s);
/* A session has, or had, this time. */
void bp_phd_association_confirmed(struct bp_phd_manager *m, const struct bp_phd_session *s);
/* Sessions of an IP address. */
uint32_t bp_phd_of_address(const struct bp_phd_manager *m, const uint8_t address[16]);

#endif
