/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/copies_internal.h"
#include "controlplane/mqtt/shared_holds.h"

#include <stdio.h>
#include <string.h>

#include "controlplane/process/clock.h"

static void mark_taken(struct bp_alarm_copies *c, struct bp_copy *e)
{
	c->n.taken += !e->taken;
	e->taken = true;
}

static void on_stored(void *arg, const char *uid, enum bp_alarm_stored result)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copy *e = TAILQ_FIRST(&c->table.list[BP_COPY_STORING]);

	c->n.stored += result == BP_ALARM_STORED;
	c->n.full += result == BP_ALARM_STORE_FULL;
	c->full |= result == BP_ALARM_STORE_FULL;
	c->n.refused += result == BP_ALARM_STORE_REFUSED;
	bp_copies_wake(c, 0);
	if (e == NULL || strcmp(e->uid, uid) != 0)
		return; /* it was acknowledged meanwhile */
	if (result == BP_ALARM_STORE_TAKEN)
		mark_taken(c, e);
	else if (result == BP_ALARM_STORED)
		(void)bp_copies_is_published_here(c, uid);
	bp_copy_set_state(&c->table, e,
		result == BP_ALARM_STORED || result == BP_ALARM_STORE_TAKEN ? BP_COPY_STORED
									    : BP_COPY_RETRY);
}

static void on_removed(void *arg, const char *uid)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copy *e = TAILQ_FIRST(&c->table.list[BP_COPY_REMOVING]);

	bp_copies_wake(c, 0);
	if (e == NULL || strcmp(e->uid, uid) != 0)
		return; /* only a note of a claim */
	c->n.removed++;
	bp_copy_delete(&c->table, e);
}

/* The end of the list, or a claimed alarm. Notes of alarms that this gateway lacks are kept until
 * they expire: an alarm of a spool that cannot be read yet may be one. */
static void on_taken(void *arg, const char *uid)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copy *e = uid != NULL ? bp_copy_by_uid(&c->table, uid) : NULL;

	if (uid == NULL && --c->lists == 0 && c->hold_listed)
		c->hold_until_ns = 0;
	if (e != NULL)
		mark_taken(c, e);
}

static void on_renewed(void *arg, bool held, uint64_t taken)
{
	struct bp_alarm_copies *c = arg;
	const bool after_hold = c->hold_renewals != 0 && --c->hold_renewals == 0;

	c->renewals--;
	if (!held) {
		c->leased = false;
		c->n.fenced++;
		bp_log_limited(&c->log_fenced, BP_LOG_ERROR, NULL,
			"another process of the fleet has the name of this gateway; set `name` to "
			"a different one at each gateway. Alarms have no copy");
		return;
	}
	if (!c->leased) {
		c->leased = true;
		c->leased_ns = bp_mono_ns();
		bp_copies_begin_adoption(c);
		bp_copies_wake(c, 0);
	}
	if (after_hold && taken == 0)
		c->hold_until_ns = 0;
	else if (after_hold && bp_alarm_store_can_renew(c->store)) {
		c->hold_listed = true;
		c->lists++;
		bp_alarm_store_list_taken(c->store);
	}
}

static void on_not_renewed(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->renewals--;
	c->hold_renewals -= c->hold_renewals != 0;
	c->leased = false;
}

static void on_up(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->up = true;
	bp_copies_renew(c);
	bp_shared_states_up(c->states, c->store);
}

static void on_state(void *arg, const void *bytes, size_t len)
{
	const struct bp_alarm_copies *c = arg;

	bp_shared_states_state(c->states, bytes, len);
}

static void on_state_put(void *arg, const char *uid, enum bp_alarm_state_put result)
{
	struct bp_alarm_copies *c = arg;

	bp_shared_states_put(c->states, uid, result);
	bp_shared_states_send(c->states, c->store);
	bp_copies_check_drained(c);
}

static void on_down(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->up = c->leased = c->claiming = false;
	c->renewals = c->hold_renewals = c->lists = 0;
	/* a page that a destination may have already ends without Redis */
	if (!c->adoption.stuck) {
		bp_copies_discard_page(&c->adoption);
		c->adoption = (struct bp_copies_adoption){0};
	}
	bp_copy_table_disconnected(&c->table);
	bp_shared_states_down(c->states);
}

static void on_failed(void *arg, enum bp_fleet_error why, const char *text)
{
	const struct bp_alarm_copies *c = arg;
	char named[BP_FLEET_ERROR_TEXT];

	snprintf(named, sizeof(named), "alarms: %.190s", text);
	bp_fleet_state_note_error(c->fleet, why, named);
}

static void on_hold_gap(void *arg)
{
	struct bp_alarm_copies *c = arg;

	bp_shared_holds_gap(bp_shared_states_holds(c->states));
}

struct bp_alarm_store_owner bp_copies_owner(struct bp_alarm_copies *c)
{
	return (struct bp_alarm_store_owner){.up = on_up,
		.down = on_down,
		.failed = on_failed,
		.renewed = on_renewed,
		.not_renewed = on_not_renewed,
		.stored = on_stored,
		.removed = on_removed,
		.claimed = bp_copies_claimed,
		.listed = bp_copies_listed,
		.fetched = bp_copies_fetched,
		.taken = on_taken,
		.state = on_state,
		.state_put = on_state_put,
		.hold_gap = on_hold_gap,
		.arg = c};
}
