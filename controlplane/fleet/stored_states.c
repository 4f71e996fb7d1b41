/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "controlplane/fleet/alarm_store_internal.h"
#include "controlplane/process/clock.h"
#include "shm/mqtt/mqtt_tables.h"
#include "shm/rules/rule_state.h"

/* Raised and cleared states, and holds in progress. */

/* What is older is not read: below the age that the receiver refuses, as a change is stored later
 * than its time. */
#define HOLDS_NS (BP_RULE_STATE_IDLE_NS - 60000000000ull)
/* Changes that are read from before the first connection; the stream has about 65,536. */
#define REPLAY_MAX 131072u

/* Bytes of a raised state. */
#define STATE_MAX (BP_STATE_TOPIC_MAX + 64u)

/* ---- commands ---- */

void bp_alarm_store_put_state(
	struct bp_alarm_store *s, const char *uid, const void *bytes, size_t len)
{
	bp_alarm_push(s, SENT_STATE, uid);
	bp_alarm_call(s, SCRIPT_STATE, 2, (const struct iovec[]){WORD_OF(uid), WORD(bytes, len)});
}

static void scan_states(struct bp_alarm_store *s, const char *cursor, size_t len)
{
	bp_alarm_push(s, SENT_LIST_STATES, "");
	bp_alarm_read(s, "HSCAN", s->key[KEY_RAISED], STATE_MAX, 3,
		(const struct iovec[]){WORD(cursor, len), WORD("COUNT", 5), WORD("100", 3)});
}

static void read_entries(struct bp_alarm_store *s, enum bp_alarm_command command, const char *key,
	const char *from, unsigned max)
{
	char n[12];

	snprintf(n, sizeof(n), "%u", max);
	bp_alarm_push(s, command, "");
	bp_redis_link_send(s->link, 6,
		(const struct iovec[]){WORD("EVALSHA", 7),
			WORD(bp_redis_link_script(s->link, SCRIPT_ENTRIES), BP_REDIS_SHA_LEN),
			WORD("1", 1), WORD_OF(key), WORD_OF(from), WORD_OF(n)});
}

static void read_stream(
	struct bp_alarm_store *s, enum bp_alarm_command command, const char *key, const char *from)
{
	read_entries(s, command, key, from, BP_ALARM_CHANGES_PAGE);
}

static void read_changes(struct bp_alarm_store *s, enum bp_alarm_command command, const char *from)
{
	read_stream(s, command, s->key[KEY_CHANGES], from);
}

void bp_alarm_store_add_hold(struct bp_alarm_store *s, const void *bytes, size_t len)
{
	bp_alarm_push(s, SENT_HOLD, "");
	bp_redis_link_send(s->link, 8,
		(const struct iovec[]){WORD("XADD", 4), WORD_OF(s->key[KEY_HOLDS]),
			WORD("MAXLEN", 6), WORD("~", 1), WORD_OF(BP_FLEET_STREAM_KEPT),
			WORD("*", 1), WORD("s", 1), WORD(bytes, len)});
}

/* The receiver knows the newest of each pair. */
static void poll_holds(struct bp_alarm_store *s)
{
	char from[BP_ALARM_CHANGE_MAX + 1];

	if (s->polling_holds)
		return;
	if (s->hold[0] != '\0')
		snprintf(from, sizeof(from), "%s", s->hold);
	else
		snprintf(from, sizeof(from), "%llu", (bp_unix_ns() - HOLDS_NS) / 1000000);
	s->polling_holds = true;
	read_stream(s, SENT_POLL_HOLDS, s->key[KEY_HOLDS], from);
}

static void replay(struct bp_alarm_store *s)
{
	char from[BP_ALARM_CHANGE_MAX + 1] = "-";

	if (s->replay[0] != '\0')
		snprintf(from, sizeof(from), "(%s", s->replay);
	read_changes(s, SENT_REPLAY, from);
}

/* The last change before the list, so that no change is missed. */
void bp_alarm_store_list_states(struct bp_alarm_store *s)
{
	s->change[0] = '\0';
	s->listing = true;
	read_entries(s, SENT_LAST_CHANGE, s->key[KEY_CHANGES], "last", 1);
	if (s->replay_done)
		return;
	s->replay[0] = '\0';
	s->replayed = 0;
	replay(s);
}

bool bp_alarm_store_holds_read(const struct bp_alarm_store *s)
{
	return s->holds_read;
}

uint64_t bp_alarm_store_polled_ns(const struct bp_alarm_store *s)
{
	return s->polled_ns < s->holds_ns ? s->polled_ns : s->holds_ns;
}

void bp_alarm_store_poll_states(struct bp_alarm_store *s)
{
	char from[BP_ALARM_CHANGE_MAX + 1];

	if (s->change[0] == '\0' || s->polling)
		return;
	poll_holds(s); /* answered before the changes */
	snprintf(from, sizeof(from), "(%s", s->change);
	s->polling = true;
	read_changes(s, SENT_POLL, from);
}

/* ---- answers ---- */

void bp_alarm_on_state(struct bp_alarm_store *s, const char *uid, const struct bp_resp *r)
{
	enum bp_alarm_state_put result = BP_ALARM_STATE_STORED;

	if (r->type != BP_RESP_TEXT) {
		bp_alarm_invalid(s, "a state: unexpected answer");
		return;
	}
	if (r->len == 4 && memcmp(r->text, "full", 4) == 0)
		result = BP_ALARM_STATE_FULL;
	else if (r->len == 5 && memcmp(r->text, "ahead", 5) == 0)
		result = BP_ALARM_STATE_AHEAD;
	s->owner.state_put(s->owner.arg, uid, result);
	if (r->len != 0 && result == BP_ALARM_STATE_STORED)
		s->owner.state(s->owner.arg, r->text, r->len);
}

void bp_alarm_on_states(struct bp_alarm_store *s, const struct bp_resp *r)
{
	if (r->type != BP_RESP_ARRAY || r->n != 2 || r[1].type != BP_RESP_TEXT || r[1].len > 20 ||
		r[2].type != BP_RESP_ARRAY || r[2].n % 2 != 0 || r[2].skip != r[2].n + 1) {
		bp_alarm_invalid(s, "raised states: unexpected answer");
		return;
	}
	for (unsigned i = 1; i < r[2].n; i += 2)
		if (r[3 + i].type == BP_RESP_TEXT)
			s->owner.state(s->owner.arg, r[3 + i].text, r[3 + i].len);
	if (r[1].len != 1 || r[1].text[0] != '0')
		scan_states(s, r[1].text, r[1].len);
	else
		s->listing = false;
}

/* Reads an entry of a stream: its id, and the value of its only field. An entry with others was not
 * written by a gateway, and has an empty value. NULL: it is no entry. */
static const struct bp_resp *read_change(
	struct bp_alarm_store *s, const struct bp_resp *e, char id[BP_ALARM_CHANGE_MAX])
{
	static const struct bp_resp empty = {.type = BP_RESP_TEXT, .text = ""};

	if (e->type != BP_RESP_ARRAY || e->n != 2 || e[1].type != BP_RESP_TEXT || e[1].len == 0 ||
		e[1].len >= BP_ALARM_CHANGE_MAX || e[2].type != BP_RESP_ARRAY) {
		bp_alarm_invalid(s, "changes of states: unexpected answer");
		return NULL;
	}
	memcpy(id, e[1].text, e[1].len);
	id[e[1].len] = '\0';
	if (e[2].n != 2 || e[3].type != BP_RESP_TEXT || e[4].type != BP_RESP_TEXT)
		return &empty;
	return &e[4];
}

void bp_alarm_on_last_change(struct bp_alarm_store *s, const struct bp_resp *r)
{
	if (r->type != BP_RESP_ARRAY || r->n > 1) {
		bp_alarm_invalid(s, "changes of states: unexpected answer");
		return;
	}
	snprintf(s->change, sizeof(s->change), "0-0");
	if (r->n == 1 && read_change(s, r + 1, s->change) == NULL)
		return;
	scan_states(s, "0", 1);
}

/* Returns their number. `last`: the id of the last one. */
static unsigned take_changes(struct bp_alarm_store *s, const struct bp_resp *r,
	char last[BP_ALARM_CHANGE_MAX], bool only_clears)
{
	const struct bp_resp *e = r + 1, *value;

	if (r->type != BP_RESP_ARRAY || r->n > BP_ALARM_CHANGES_PAGE) {
		bp_alarm_invalid(s, "changes of states: unexpected answer");
		return 0;
	}
	for (unsigned i = 0; i < r->n; i++, e += e->skip) {
		value = read_change(s, e, last);
		if (value == NULL)
			return 0;
		if (!only_clears || (value->len != 0 && value->text[0] == 'c'))
			s->owner.state(s->owner.arg, value->text, value->len);
	}
	return r->n;
}

/* The states from before the changes, which are read at the same time, count, too. */
void bp_alarm_on_changes(struct bp_alarm_store *s, const struct bp_resp *r, uint64_t sent_ns)
{
	s->polling = false;
	if (take_changes(s, r, s->change, false) == BP_ALARM_CHANGES_PAGE) {
		if (bp_alarm_store_ready(s))
			bp_alarm_store_poll_states(s);
		return;
	}
	if (bp_redis_link_is_up(s->link) && !s->listing && s->replay_done)
		s->polled_ns = sent_ns;
}

/* The last one that was read is read again: if it is not the first one now, Redis has removed it
 * and maybe others behind it. */
static bool has_gap(const struct bp_alarm_store *s, const struct bp_resp *r)
{
	return s->hold[0] != '\0' && r->type == BP_RESP_ARRAY &&
	       (r->n == 0 || r[1].type != BP_RESP_ARRAY || r[1].n == 0 ||
		       r[2].type != BP_RESP_TEXT || r[2].len != strlen(s->hold) ||
		       memcmp(r[2].text, s->hold, r[2].len) != 0);
}

void bp_alarm_on_holds(struct bp_alarm_store *s, const struct bp_resp *r, uint64_t sent_ns)
{
	s->polling_holds = false;
	if (has_gap(s, r)) {
		s->holds_read = false;
		s->holds_ns = 0;
		s->owner.hold_gap(s->owner.arg);
	}
	if (take_changes(s, r, s->hold, false) == BP_ALARM_CHANGES_PAGE) {
		if (bp_alarm_store_ready(s))
			poll_holds(s);
		return;
	}
	s->holds_read = bp_redis_link_is_up(s->link);
	s->holds_ns = s->holds_read ? sent_ns : 0;
}

/* The states that are raised are in the list. */
void bp_alarm_on_replay(struct bp_alarm_store *s, const struct bp_resp *r)
{
	const unsigned n = take_changes(s, r, s->replay, true);

	s->replayed += n;
	if (n == BP_ALARM_CHANGES_PAGE && s->replayed < REPLAY_MAX)
		replay(s);
	else if (bp_redis_link_is_up(s->link))
		s->replay_done = true;
}
