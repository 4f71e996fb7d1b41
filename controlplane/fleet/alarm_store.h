/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_ALARM_STORE_H
#define BP_CONTROLPLANE_FLEET_ALARM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/fleet/state.h"

/*
 * Copies of unacknowledged alarms in Redis, for the gateways of a fleet. Each gateway has a lease,
 * a key that expires; a gateway whose lease has expired is dead, and others claim its copies. The
 * store has a connection of its own, so that many alarms do not delay other state.
 *
 * Commands are sent in the order of the calls, and answered in this order. If the connection is
 * lost, commands without an answer get none, and it is unknown whether Redis has executed them.
 * Each command can be repeated. All texts of Redis are checked for their types and lengths; the
 * bytes of a copy are untrusted.
 */
struct bp_alarm_store;

#define BP_ALARM_STORE_MAX 65536u /* copies of one gateway */
#define BP_ALARM_LEASE_NS 3000000000ull
/* Between two attempts to connect: after an outage of Redis, all gateways are back soon. */
#define BP_ALARM_BACKOFF_MAX_NS 1000000000ull
#define BP_ALARM_UID_TEXT 33u      /* 32 hexadecimal digits */
#define BP_ALARM_REJECTED_MAX 1024 /* of one gateway */
/* States without an answer, at most: copies, renewals and the states of others need the rest. */
#define BP_ALARM_STATES_INFLIGHT 128u
#define BP_ALARM_PAGE 32u /* copies that one command lists or claims */

enum bp_alarm_stored {
	BP_ALARM_STORED,
	BP_ALARM_STORE_TAKEN,   /* another gateway has claimed it */
	BP_ALARM_STORE_FULL,    /* the gateway has BP_ALARM_STORE_MAX copies */
	BP_ALARM_STORE_FENCED,  /* a process with a higher epoch has the lease of this gateway */
	BP_ALARM_STORE_REFUSED, /* an error of Redis, for this copy */
};

enum bp_alarm_state_put {
	BP_ALARM_STATE_STORED,
	BP_ALARM_STATE_FULL,  /* BP_ALARM_STORE_MAX states are raised, or Redis has no memory */
	BP_ALARM_STATE_AHEAD, /* its number is of a time more than 5 s after that of Redis */
};

struct bp_alarm_store_owner {
	void (*up)(void *arg);
	void (*down)(void *arg);
	/* An error of Redis, or the reason before `down`. */
	void (*failed)(void *arg, enum bp_fleet_error why, const char *text);
	/* held: false if a process with a higher epoch has the lease. taken: alarms of this gateway
	 * that others have claimed. */
	void (*renewed)(void *arg, bool held, uint64_t taken);
	/* Redis has no free memory. */
	void (*not_renewed)(void *arg);
	void (*stored)(void *arg, const char *uid, enum bp_alarm_stored result);
	void (*removed)(void *arg, const char *uid);
	void (*claimed)(void *arg, uint32_t n);
	/* The next copies of this gateway; n < BP_ALARM_PAGE: the last ones. A uid "": no gateway
	 * has written it. `after`: for the next call. */
	void (*listed)(void *arg, unsigned n, const char (*uid)[BP_ALARM_UID_TEXT], double after);
	/* NULL: there is no such copy. len 0: it is longer than a copy can be. */
	void (*fetched)(void *arg, const char *uid, const void *bytes, size_t len);
	/* A raised or cleared state, of the list, a change, or newer than one that was put; or a
	 * hold. The bytes are untrusted. */
	void (*state)(void *arg, const void *bytes, size_t len);
	void (*state_put)(void *arg, const char *uid, enum bp_alarm_state_put result);
	/* Redis has removed changes of holds before they were read: called before the next ones. */
	void (*hold_gap)(void *arg);
	/* A claimed alarm of this gateway, as often as there are; then NULL. */
	void (*taken)(void *arg, const char *uid);
	void *arg;
};

/* gateway: the name of this one, different from those of the others. NULL without memory or with a
 * sentence. */
struct bp_alarm_store *bp_alarm_store_new(struct event_base *base, const struct bp_config_fleet *c,
	const char *gateway, const struct bp_alarm_store_owner *owner, char *err, size_t err_size);
void bp_alarm_store_free(struct bp_alarm_store *s);

/* Whether a command may be sent now. */
bool bp_alarm_store_ready(const struct bp_alarm_store *s);

/* The same for a renewal, and for the list of claimed alarms. */
bool bp_alarm_store_can_renew(const struct bp_alarm_store *s);

/* Only while it is ready. epoch: bp_fleet_state_epoch(), not 0. */
void bp_alarm_store_renew(struct bp_alarm_store *s, uint64_t epoch);
/* len: at most BP_FLEET_VALUE_MAX. */
void bp_alarm_store_put(
	struct bp_alarm_store *s, uint64_t epoch, const char *uid, const void *bytes, size_t len);
/* Also forgets that another gateway has claimed it. */
void bp_alarm_store_remove(struct bp_alarm_store *s, const char *uid);
/* Only forgets that another gateway has claimed it; answered as a removal. */
void bp_alarm_store_forget(struct bp_alarm_store *s, const char *uid);
/* Moves a copy of this gateway that it cannot publish to those that are kept for 7 days and that no
 * gateway reads. There is no answer. */
void bp_alarm_store_reject(struct bp_alarm_store *s, const char *uid);
/* Moves at most BP_ALARM_PAGE copies of one dead gateway to this one, the oldest first; this
 * gateway must have its lease. */
void bp_alarm_store_claim(struct bp_alarm_store *s, uint64_t epoch);
void bp_alarm_store_list(struct bp_alarm_store *s, double after);
void bp_alarm_store_fetch(struct bp_alarm_store *s, const char *uid);
/*
 * Stores a raised or cleared state, and adds it to the changes that other gateways read. bytes:
 * BP_ALARM_STATE_HEAD of state and number, then anything; the lower number of two raises and the
 * higher one of two clears win.
 */
#define BP_ALARM_STATE_HEAD 17u /* 'r' or 'c', and the number as 16 hexadecimal digits */
void bp_alarm_store_put_state(
	struct bp_alarm_store *s, const char *uid, const void *bytes, size_t len);
/* Adds a change of a hold to those that other gateways read: 'p', then anything. There is no
 * answer. */
void bp_alarm_store_add_hold(struct bp_alarm_store *s, const void *bytes, size_t len);
/* Reads all raised states; and then, at each poll, the changes since then. The first time, also
 * the clears that the stream of changes has: while this process did not run, others may have
 * cleared what the worker still has as raised. */
void bp_alarm_store_list_states(struct bp_alarm_store *s);
void bp_alarm_store_poll_states(struct bp_alarm_store *s);
/* Whether all changes of holds that were stored before the connection, and that are not too old,
 * have been read. */
bool bp_alarm_store_holds_read(const struct bp_alarm_store *s);
/* All states, and changes of states and holds, that were stored before this time (monotonic) have
 * been read, since the connection; 0: not yet. */
uint64_t bp_alarm_store_polled_ns(const struct bp_alarm_store *s);
void bp_alarm_store_list_taken(struct bp_alarm_store *s);

#endif
