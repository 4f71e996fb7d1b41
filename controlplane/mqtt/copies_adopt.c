/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/copies_internal.h"

#include <stdlib.h>

#include "controlplane/alarms/envelope.h"
#include "controlplane/mqtt/adopted_alarm.h"

static void next_page(struct bp_alarm_copies *c)
{
	if (bp_alarm_store_ready(c->store))
		bp_alarm_store_list(c->store, c->adoption.after);
	else
		c->adoption = (struct bp_copies_adoption){.again = true};
}

void bp_copies_begin_adoption(struct bp_alarm_copies *c)
{
	if (c->adoption.active) {
		c->adoption.again = true;
		return;
	}
	c->adoption = (struct bp_copies_adoption){.active = true};
	next_page(c);
}

void bp_copies_discard_page(struct bp_copies_adoption *a)
{
	for (unsigned i = 0; i < a->n; i++)
		free(a->page[i].alarm);
	a->n = 0;
}

/* A copy that cannot be published here would be read again at each connection, and fill Redis. */
static void reject(struct bp_alarm_copies *c, const char *uid)
{
	if (bp_alarm_store_ready(c->store))
		bp_alarm_store_reject(c->store, uid);
}

static void keep_adopted(struct bp_alarm_copies *c, const struct bp_adopted *a)
{
	struct bp_copy *e;
	char uid[BP_ALARM_UID_TEXT];

	if (a->wanted != bp_copies_destinations(a->alarm)) {
		c->n.no_destination++;
		bp_log_limited(&c->log_destination, BP_LOG_ERROR, NULL,
			"an alarm of another gateway of the fleet has a destination that this "
			"gateway lacks; the gateways of a fleet need the same destinations");
	}
	bp_alarm_uid(a->alarm, uid);
	if (a->wanted == 0) {
		reject(c, uid);
		return;
	}
	c->n.adopted++;
	e = bp_copy_add(&c->table, a->alarm->id, uid, BP_COPY_STORED);
	if (e == NULL) {
		c->n.full++;
		return;
	}
	e->sent = true;
	e->pending = a->wanted;
	e->adopting = true;
	(void)bp_copy_set_size(&c->table, e, bp_alarm_size(a->alarm));
}

void bp_copies_end_page(struct bp_alarm_copies *c)
{
	struct bp_copies_adoption *a = &c->adoption;
	const bool done = a->n == 0 || bp_publisher_adopt(c->publisher, a->n, a->page);

	for (unsigned i = 0; i < a->n; i++) {
		struct bp_copy *e;

		if (!a->stuck)
			keep_adopted(c, &a->page[i]);
		e = bp_copy_by_id(&c->table, a->page[i].alarm->id);
		if (e != NULL)
			e->adopting = !done;
	}
	c->n.disk_failed += done || a->stuck ? 0 : a->n;
	a->stuck = !done;
	if (!done)
		return;
	bp_copies_discard_page(a);
	if (a->last && a->again)
		*a = (struct bp_copies_adoption){.again = true};
	else if (a->last)
		a->active = false;
	else
		next_page(c);
}

bool bp_copies_is_published_here(struct bp_alarm_copies *c, const char *uid)
{
	struct bp_copy *e = bp_copy_by_uid(&c->table, uid);

	if (e == NULL)
		return false;
	/* Claimed back from the gateway that had claimed it. Nothing has it any more if it was
	 * discarded: it is adopted after the entry has ended. */
	if (e->discarded)
		c->adoption.again = true;
	else
		e->taken = false;
	return true;
}

void bp_copies_listed(void *arg, unsigned n, const char (*uid)[BP_ALARM_UID_TEXT], double after)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copies_adoption *a = &c->adoption;

	a->last = n < BP_ALARM_PAGE;
	a->after = after;
	for (unsigned i = 0; i < n; i++) {
		c->n.invalid += uid[i][0] == '\0';
		if (uid[i][0] == '\0' || bp_copies_is_published_here(c, uid[i]))
			continue;
		/* without an entry it would be adopted again at each connection */
		if (!bp_alarm_store_ready(c->store) || c->table.n + BP_ALARM_PAGE > c->table.max) {
			a->again = a->last = true;
			break;
		}
		bp_alarm_store_fetch(c->store, uid[i]);
		a->fetching++;
	}
	if (a->fetching == 0)
		bp_copies_end_page(c);
}

void bp_copies_fetched(void *arg, const char *uid, const void *bytes, size_t len)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copies_adoption *a = &c->adoption;

	a->fetching--;
	if (bytes != NULL) {
		a->page[a->n] = (struct bp_adopted){.alarm = bp_adopted_alarm(bytes, len, uid)};
		if (a->page[a->n].alarm != NULL)
			a->n++;
		else {
			c->n.invalid++;
			reject(c, uid);
		}
	}
	if (a->fetching == 0)
		bp_copies_end_page(c);
}

void bp_copies_claim(struct bp_alarm_copies *c)
{
	/* while it could not publish them, another gateway can */
	if (c->claiming || !bp_alarm_store_ready(c->store) || c->adoption.stuck ||
		c->table.n + BP_ALARM_PAGE > c->table.max || !bp_publisher_can_adopt(c->publisher))
		return;
	c->claiming = true;
	bp_alarm_store_claim(c->store, bp_fleet_state_epoch(c->fleet));
}

void bp_copies_claimed(void *arg, uint32_t n)
{
	struct bp_alarm_copies *c = arg;

	c->claiming = false;
	if (n == 0)
		return;
	c->n.claimed += n;
	bp_log_limited(&c->log_claimed, BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_NUM("alarms", n)),
		"a gateway of the fleet is dead; this one publishes its unacknowledged alarms");
	bp_copies_begin_adoption(c);
	bp_copies_claim(c);
}
