/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SLOW_H
#define BP_CONTROLPLANE_HEALTH_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/health/cse/cse_client.h"
#include "services/health/manager.h"

/*
 * Reports that do not take the workers' way: those of devices on TCP, and those that came before
 * the CSE had the device's containers. They are converted as the workers do it, sent by the client
 * of the CSE, which repeats them, and answered to the device as the CSE answers. What has no room
 * is not taken: the device is told to repeat it.
 *
 * A report that is repeated is known by its invoke-id, its number and its octets, and makes no
 * second instance: while it is on its way it is not sent again, once it is stored it is answered at
 * once, and where it is not known how it ended its instances keep their names, so that the CSE says
 * that it has them. The session says which is which (bp_phd_session.last, .sent;
 * services/health/last_report.h), so it holds over a restart, and for reports that a worker took
 * first. As long as some of it is open it stays the same report, for 247 s from its last repetition
 * on. A session may begin with a report of the device's last one (bp_phd_session_spec.carried): its
 * instances keep the names of then.
 *
 * A report of up to BP_PHD_PARTS_MAX requests is sent a few at a time, and is kept until all are
 * sent. An error of the CSE on one does not keep the others back; no answer does.
 */
struct bp_slow;

struct bp_slow_ops {
	/* The answer to a report: an APDU for the device of a session, as bp_phd_manager_send(). */
	void (*answer)(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len);
	/* The CSE does not have what the session's instances go to. */
	void (*no_target)(void *arg, uint32_t slot, uint16_t life);
	/* The last report of a slot that was on its way ended: bp_slow_busy() is false. May be
	 * NULL. */
	void (*idle)(void *arg, uint32_t slot);
};

/* Ever, but for `pending`. */
struct bp_slow_counts {
	uint64_t reports;   /* taken: sent to the CSE */
	uint64_t repeated;  /* known already */
	uint64_t resumed;   /* of these, sent again: not all of it was known to be stored */
	uint64_t instances; /* requests */
	uint64_t stored;    /* of these, acknowledged */
	uint64_t denied, no_target, busy, refused; /* of these, answered otherwise */
	uint64_t no_reply;                         /* of these, not answered */
	uint64_t full;                             /* reports not taken for want of room */
	uint64_t unusable;                         /* reports that can't be converted */
	uint64_t trailing;  /* reports with trailing bytes, see bp_phd_conversion */
	uint64_t too_large; /* reports of which a part is over cse.max_body, or of over 256 parts */
	uint64_t empty;     /* reports without an observation */
	uint64_t lost;      /* reports of which the device is not told that they were not stored */
	uint32_t pending;
};

/* `pending`: reports on their way at once. All but `ops`, which is copied, are the caller's and
 * stay. NULL without memory. */
struct bp_slow *bp_slow_new(struct bp_phd_tables *tables, struct bp_cse_client *cse,
	uint32_t pending, const struct bp_slow_ops *ops, void *arg);
/* After bp_cse_client_free(): nothing is on its way then. */
void bp_slow_free(struct bp_slow *s);

/*
 * A scan report of the session in `slot`, which is operating: a whole PRST, for bp_phd_manager_ops
 * .report. mono_ns as the manager's.
 */
enum bp_phd_taken bp_slow_report(
	struct bp_slow *s, uint32_t slot, const uint8_t *apdu, size_t len, uint64_t mono_ns);

/* Whether a report of the session is on its way. */
bool bp_slow_busy(const struct bp_slow *s, uint32_t slot);

void bp_slow_count(const struct bp_slow *s, struct bp_slow_counts *out);

#endif
