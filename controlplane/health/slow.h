/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SLOW_H
#define BP_CONTROLPLANE_HEALTH_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/health/cse/cse_client.h"
#include "services/health/manager.h"

/*
 * Reports that workers do not process: those of devices on TCP, and those that arrived before the
 * CSE had the device's containers. They are converted as in the workers, sent by the CSE client,
 * which retransmits them, and answered to the device when the CSE answers. A report that exceeds
 * the capacity is rejected: the device is asked to repeat it.
 *
 * A repeated report is recognized by its invoke-id, its number and its bytes, and creates no second
 * instance: while it is in flight it is not sent again; after it is stored it is answered
 * immediately; and if its result is unknown its instances keep their names, so that the CSE reports
 * a conflict. The session has the record (bp_phd_session.last, .sent;
 * services/health/last_report.h), so this also works across a restart, and for reports that a
 * worker processed first. As long as any part is open it remains the same report, for 247 s after
 * its last repetition. A session may begin with a report of the device's previous one
 * (bp_phd_session_spec.carried): its instances keep their earlier names.
 *
 * A report of up to BP_PHD_PARTS_MAX requests is sent some parts at a time, and is stored until all
 * are sent. An error of the CSE for one part does not stop the others; a missing answer does.
 */
struct bp_slow;

struct bp_slow_ops {
	/* The answer to a report: an APDU for the device of a session, as bp_phd_manager_send(). */
	void (*answer)(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len);
	/* The CSE does not have the resources of the session's instances. */
	void (*no_target)(void *arg, uint32_t slot, uint16_t life);
	/* The last report in flight of a slot has ended: bp_slow_busy() is false. May be NULL. */
	void (*idle)(void *arg, uint32_t slot);
};

/* Totals, except `pending`. */
struct bp_slow_counts {
	uint64_t reports;   /* accepted: sent to the CSE */
	uint64_t repeated;  /* repetitions */
	uint64_t resumed;   /* of these, sent again: not all parts were known to be stored */
	uint64_t instances; /* requests */
	uint64_t stored;    /* of these, acknowledged */
	uint64_t denied, no_target, busy, refused; /* of these, answered otherwise */
	uint64_t no_reply;                         /* of these, not answered */
	uint64_t full;                             /* reports rejected for lack of capacity */
	uint64_t unusable;                         /* reports that cannot be converted */
	uint64_t trailing;  /* reports with trailing bytes, see bp_phd_conversion */
	uint64_t too_large; /* reports with a part over cse.max_body, or with over 256 parts */
	uint64_t empty;     /* reports without an observation */
	uint64_t lost;      /* unconfirmed reports that were not stored */
	uint32_t pending;
};

/* `pending`: maximum number of reports in flight. The caller owns all arguments except `ops`, which
 * is copied; they must remain valid. NULL without memory. */
struct bp_slow *bp_slow_new(struct bp_phd_tables *tables, struct bp_cse_client *cse,
	uint32_t pending, const struct bp_slow_ops *ops, void *arg);
/* Call it after bp_cse_client_free(): no report is then in flight. */
void bp_slow_free(struct bp_slow *s);

/*
 * Processes a scan report of the session in `slot`, which is operating: a whole PRST, for
 * bp_phd_manager_ops.report. mono_ns as in the manager.
 */
enum bp_phd_taken bp_slow_report(
	struct bp_slow *s, uint32_t slot, const uint8_t *apdu, size_t len, uint64_t mono_ns);

/* Returns whether a report of the session is in flight. */
bool bp_slow_busy(const struct bp_slow *s, uint32_t slot);

void bp_slow_count(const struct bp_slow *s, struct bp_slow_counts *out);

#endif
