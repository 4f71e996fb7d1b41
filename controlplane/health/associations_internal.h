/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_ASSOCIATIONS_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_ASSOCIATIONS_INTERNAL_H

#include "controlplane/fleet/state.h"
#include "controlplane/health/associations.h"
#include "services/health/association_record.h"

/* For controlplane/health/associations*.c only: associations.c writes the records of sessions,
 * association_search.c reads those of unknown devices, association_moves.c which ones have moved.
 */

struct bp_association_search;

/* What is known of the record of a session. */
enum bp_association_state {
	BP_ASSOCIATION_NONE,  /* no session that is shared */
	BP_ASSOCIATION_FOUND, /* by this process at its start: its record is compared first */
	BP_ASSOCIATION_OWN,   /* of a device that associated here, or was adopted */
};

/* By slot. */
struct bp_association_note {
	uint64_t last, sent; /* the last report in the record */
	uint64_t epoch;      /* of the record; 0: another one, that of the next write */
	uint64_t put_ns;
	uint32_t generation; /* in which it was written; 0: it has to be */
	uint16_t life;
	uint8_t state;
	bool busy;   /* a write or a read of it is pending */
	bool stored; /* Redis has a record of this session */
	bool moved;  /* and does not know yet that the association is here */
};

struct bp_associations {
	struct bp_associations_setup x;
	struct event *timer;
	struct bp_association_note *note; /* [n_slots] */
	uint32_t at;                      /* slot of the next scan */
	uint32_t generation;              /* records of an earlier one may be missing */
	uint32_t comparing;               /* reads of the records of own sessions */
	uint32_t writing;                 /* records that Redis has not acknowledged */
	uint64_t began_ns;                /* the scan of slot 0 */
	uint64_t version;                 /* of the last write; above those of earlier processes */
	uint64_t connects;
	uint64_t owner, segment; /* as in records */
	uint64_t polled_ns;
	bool polling;
	uint32_t moves;                   /* entries of this poll */
	char move[BP_FLEET_ENTRY_ID_MAX]; /* the last one that was read; "": none */
	struct bp_association_search *search;
	struct bp_fleet_association_counters counters, shown_counters;
};

/* ---- association_search.c ---- */

struct bp_association_search *bp_association_search_new(void);
void bp_association_search_free(struct bp_association_search *s);
/* Opens a session from the record of a device, whose epoch is `epoch`; `own`: the address of ours
 * that the device uses. */
enum bp_phd_restored bp_association_take(struct bp_associations *a,
	const struct bp_association *record, uint64_t epoch, const uint8_t own[16]);

/* ---- association_moves.c ---- */

/* With the write of a record: the association is here now. `entry`, `words`: for the write. */
#define BP_ASSOCIATION_MOVE 26u /* bytes */
void bp_association_announce(const struct bp_associations *a, const struct bp_phd_session *s,
	uint8_t entry[BP_ASSOCIATION_MOVE], struct iovec *words, struct bp_fleet_write *w);
/* Reads those of others, every 0.1 s: their sessions here are due for a write. */
void bp_association_poll_moves(struct bp_associations *a, bool connected_again, uint64_t now);

/* ---- associations.c ---- */

/* The session was opened by bp_association_take(). */
void bp_association_adopted(struct bp_associations *a, uint32_t slot);

#endif
