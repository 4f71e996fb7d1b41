/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/alarm_store.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "controlplane/fleet/alarm_store_internal.h"
#include "controlplane/process/clock.h"
#include "shm/rules/rule_state.h"

/* So that a slow connection sends a renewal in time behind them. */
#define INFLIGHT_BYTES_MAX (1u << 20)
/* For the cursors of scans, polls and renewals. */
#define RESERVED 8u
/* Unanswered commands are checked for their timeout as often. */
#define CHECK_MS 100

/* Raised and cleared states, and holds in progress. */

#define CHANGES_PAGE 64u
/* Gateways that are connected read all; one that starts needs those that may still continue. */
#define HOLDS_KEPT 4096
/* What is older is not read: below the age that the receiver refuses, as a change is stored later
 * than its time. */
#define HOLDS_NS (BP_RULE_STATE_IDLE_NS - 60000000000ull)
/* Changes that are read from before the first connection; the stream has about 65,536. */
#define REPLAY_MAX 131072u

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
	bp_redis_link_send(s->link, 5,
		(const struct iovec[]){WORD("HSCAN", 5), WORD_OF(s->key[KEY_RAISED]),
			WORD(cursor, len), WORD("COUNT", 5), WORD("100", 3)});
}

static void read_stream(
	struct bp_alarm_store *s, enum bp_alarm_command command, const char *key, const char *from)
{
	char n[12];

	snprintf(n, sizeof(n), "%u", CHANGES_PAGE);
	bp_alarm_push(s, command, "");
	bp_redis_link_send(s->link, 6,
		(const struct iovec[]){WORD("XRANGE", 6), WORD_OF(key), WORD_OF(from), WORD("+", 1),
			WORD("COUNT", 5), WORD_OF(n)});
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
			WORD("MAXLEN", 6), WORD("~", 1), WORD_OF(BP_TEXT(HOLDS_KEPT)), WORD("*", 1),
			WORD("s", 1), WORD(bytes, len)});
}

/* The receiver knows the newest of each pair. */
static void poll_holds(struct bp_alarm_store *s)
{
	char from[BP_ALARM_CHANGE_MAX + 1];

	if (s->polling_holds)
		return;
	if (s->hold[0] != '\0')
		snprintf(from, sizeof(from), "(%s", s->hold);
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
	bp_alarm_push(s, SENT_LAST_CHANGE, "");
	bp_redis_link_send(s->link, 6,
		(const struct iovec[]){WORD("XREVRANGE", 9), WORD_OF(s->key[KEY_CHANGES]),
			WORD("+", 1), WORD("-", 1), WORD("COUNT", 5), WORD("1", 1)});
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
	return s->polled_ns;
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
}

/* Reads an entry of a stream with one field: its id, and its value. NULL: it is not one. */
static const struct bp_resp *read_change(
	struct bp_alarm_store *s, const struct bp_resp *e, char id[BP_ALARM_CHANGE_MAX])
{
	if (e->type != BP_RESP_ARRAY || e->n != 2 || e[1].type != BP_RESP_TEXT || e[1].len == 0 ||
		e[1].len >= BP_ALARM_CHANGE_MAX || e[2].type != BP_RESP_ARRAY || e[2].n != 2 ||
		e[3].type != BP_RESP_TEXT || e[4].type != BP_RESP_TEXT) {
		bp_alarm_invalid(s, "changes of states: unexpected answer");
		return NULL;
	}
	memcpy(id, e[1].text, e[1].len);
	id[e[1].len] = '\0';
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

	if (r->type != BP_RESP_ARRAY || r->n > CHANGES_PAGE) {
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

void bp_alarm_on_changes(struct bp_alarm_store *s, const struct bp_resp *r, uint64_t sent_ns)
{
	s->polling = false;
	if (take_changes(s, r, s->change, false) < CHANGES_PAGE)
		s->polled_ns = sent_ns;
	else if (bp_alarm_store_ready(s))
		bp_alarm_store_poll_states(s);
}

void bp_alarm_on_holds(struct bp_alarm_store *s, const struct bp_resp *r)
{
	s->polling_holds = false;
	if (take_changes(s, r, s->hold, false) < CHANGES_PAGE)
		s->holds_read = bp_redis_link_is_up(s->link);
	else if (bp_alarm_store_ready(s))
		poll_holds(s);
}

/* The states that are raised are in the list. */
void bp_alarm_on_replay(struct bp_alarm_store *s, const struct bp_resp *r)
{
	const unsigned n = take_changes(s, r, s->replay, true);

	s->replayed += n;
	if (n == CHANGES_PAGE && s->replayed < REPLAY_MAX)
		replay(s);
	else if (bp_redis_link_is_up(s->link))
		s->replay_done = true;
}

/* ---- commands ---- */

void bp_alarm_push(struct bp_alarm_store *s, enum bp_alarm_command command, const char *uid)
{
	struct bp_alarm_sent *e = &s->sent[(s->first + s->n++) % BP_ALARM_INFLIGHT_MAX];

	e->command = command;
	e->sent_ns = bp_mono_ns();
	e->bytes = 0;
	snprintf(e->uid, sizeof(e->uid), "%s", uid);
}

void bp_alarm_call(
	struct bp_alarm_store *s, enum bp_alarm_script script, unsigned n, const struct iovec *args)
{
	struct iovec words[3 + KEY_SCRIPTS + 4] = {WORD("EVALSHA", 7),
		WORD(bp_redis_link_script(s->link, script), BP_REDIS_SHA_LEN), WORD("11", 2)};
	unsigned at = 3;

	_Static_assert(KEY_SCRIPTS == 11, "the number of keys is a text");
	for (unsigned i = 0; i < KEY_SCRIPTS; i++)
		words[at++] = WORD_OF(s->key[i]);
	for (unsigned i = 0; i < n; i++)
		words[at++] = args[i];
	bp_redis_link_send(s->link, at, words);
}

/* ---- answers ---- */

void bp_alarm_invalid(struct bp_alarm_store *s, const char *text)
{
	bp_redis_link_fail(s->link, BP_FLEET_ERROR_PROTOCOL, text);
}

static void copy_text(const struct bp_resp *error, char out[BP_FLEET_ERROR_TEXT])
{
	snprintf(out, BP_FLEET_ERROR_TEXT, "%.*s", (int)(error->len < 200 ? error->len : 200),
		error->text);
}

/* Of one command: the connection stays. */
void bp_alarm_note(struct bp_alarm_store *s, const struct bp_resp *error)
{
	char text[BP_FLEET_ERROR_TEXT];

	copy_text(error, text);
	s->owner.failed(s->owner.arg, bp_redis_error(error), text);
}

/* Redis has no free memory: the connection stays, so that copies can be removed. */
static bool on_full(
	struct bp_alarm_store *s, const struct bp_alarm_sent *e, const struct bp_resp *r)
{
	if (r->type != BP_RESP_ERROR || bp_redis_error(r) != BP_FLEET_ERROR_FULL)
		return false;
	if (e->command != SENT_RENEW && e->command != SENT_CLAIM && e->command != SENT_STATE &&
		e->command != SENT_REJECT && e->command != SENT_HOLD)
		return false;
	bp_alarm_note(s, r);
	if (e->command == SENT_RENEW)
		s->owner.not_renewed(s->owner.arg);
	else if (e->command == SENT_CLAIM)
		s->owner.claimed(s->owner.arg, 0);
	else if (e->command == SENT_STATE)
		s->owner.state_put(s->owner.arg, e->uid, BP_ALARM_STATE_FULL);
	/* REJECT: it stays a copy. HOLD: the next change is sent */
	return true;
}

/* Whether the error is for this copy alone: others can be stored. */
static bool is_of_copy(const struct bp_alarm_sent *e, const struct bp_resp *r)
{
	const enum bp_fleet_error why = bp_redis_error(r);

	return e->command == SENT_PUT &&
	       (why == BP_FLEET_ERROR_REFUSED || why == BP_FLEET_ERROR_FULL);
}

static void on_reply(void *arg, const struct bp_resp *r)
{
	struct bp_alarm_store *s = arg;
	const struct bp_alarm_sent e = s->sent[s->first];

	if (s->n == 0) {
		bp_alarm_invalid(s, "an answer to no request");
		return;
	}
	s->first = (s->first + 1) % BP_ALARM_INFLIGHT_MAX;
	s->n--;
	s->bytes -= e.bytes;
	if (on_full(s, &e, r))
		return;
	if (r->type == BP_RESP_ERROR && !is_of_copy(&e, r)) {
		char text[BP_FLEET_ERROR_TEXT];

		copy_text(r, text);
		bp_redis_link_fail(s->link, bp_redis_error(r), text);
		return;
	}
	switch (e.command) {
	case SENT_REJECT:
	case SENT_HOLD:
		break;
	case SENT_POLL_HOLDS:
		bp_alarm_on_holds(s, r);
		break;
	case SENT_PUT:
		bp_alarm_on_put(s, e.uid, r);
		break;
	case SENT_REMOVE:
		s->owner.removed(s->owner.arg, e.uid);
		break;
	case SENT_LIST:
		bp_alarm_on_list(s, r);
		break;
	case SENT_FETCH:
		if (r->type == BP_RESP_TEXT)
			s->owner.fetched(s->owner.arg, e.uid, r->text, r->len);
		else
			s->owner.fetched(s->owner.arg, e.uid, NULL, 0);
		break;
	case SENT_LIST_TAKEN:
		bp_alarm_on_taken(s, r);
		break;
	case SENT_STATE:
		bp_alarm_on_state(s, e.uid, r);
		break;
	case SENT_LIST_STATES:
		bp_alarm_on_states(s, r);
		break;
	case SENT_LAST_CHANGE:
		bp_alarm_on_last_change(s, r);
		break;
	case SENT_REPLAY:
		bp_alarm_on_replay(s, r);
		break;
	case SENT_POLL:
		bp_alarm_on_changes(s, r, e.sent_ns);
		break;
	case SENT_RENEW:
	case SENT_CLAIM:
		bp_alarm_on_number(s, e.command, r);
		break;
	}
}

/* ---- the connection ---- */

static void on_up(void *arg)
{
	struct bp_alarm_store *s = arg;

	s->owner.up(s->owner.arg);
}

static void on_down(void *arg, enum bp_fleet_error why, const char *text)
{
	struct bp_alarm_store *s = arg;

	bp_log_limited(&s->log, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("server", bp_redis_link_peer(s->link)),
			BP_LOG_STR("reason", bp_fleet_error_name[why]), BP_LOG_STR("error", text)),
		"no connection to Redis for copies of alarms; alarms are published without a copy");
	s->first = s->n = 0;
	s->bytes = 0;
	s->polling = s->polling_holds = s->holds_read = false;
	s->change[0] = s->hold[0] = '\0';
	s->owner.failed(s->owner.arg, why, text);
	s->owner.down(s->owner.arg);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_alarm_store *s = arg;

	const uint64_t now = bp_mono_ns();
	/* a process that did not run (SIGSTOP) has the answers of meanwhile still unread */
	const bool late = now - s->checked_ns > 2 * CHECK_MS * 1000000ull;

	(void)fd;
	(void)what;
	s->checked_ns = now;
	if (!late && s->n != 0 && now - s->sent[s->first].sent_ns > s->c.timeout_ns)
		bp_redis_link_fail(s->link, BP_FLEET_ERROR_TIMEOUT, "no answer in time");
}

bool bp_alarm_store_ready(const struct bp_alarm_store *s)
{
	return bp_redis_link_is_up(s->link) && s->n < BP_ALARM_INFLIGHT_MAX - RESERVED &&
	       s->bytes < INFLIGHT_BYTES_MAX;
}

bool bp_alarm_store_can_renew(const struct bp_alarm_store *s)
{
	return bp_redis_link_is_up(s->link) && s->n < BP_ALARM_INFLIGHT_MAX - RESERVED / 2;
}

static void make_keys(struct bp_alarm_store *s, const char *fleet)
{
	static const char *const name[] = {"lease:", "copies:", "order:", "taken:", "rejected:",
		"seq", "gateways", "raised", "changes", "cleared", "clears", "holds"};

	snprintf(s->prefix, sizeof(s->prefix), "biplane:%s:alarms:", fleet);
	for (unsigned i = 0; i <= KEY_HOLDS; i++)
		snprintf(s->key[i], sizeof(s->key[i]), "%s%s%s", s->prefix, name[i],
			i < KEY_SEQ ? s->gateway : "");
}

struct bp_alarm_store *bp_alarm_store_new(struct event_base *base, const struct bp_config_fleet *c,
	const char *gateway, const struct bp_alarm_store_owner *owner, char *err, size_t err_size)
{
	const struct timeval interval = {.tv_usec = CHECK_MS * 1000};
	struct bp_alarm_store *s = calloc(1, sizeof(*s));
	const struct bp_redis_link_owner link = {.up = on_up,
		.down = on_down,
		.reply = on_reply,
		.arg = s,
		.scripts = bp_alarm_scripts,
		.backoff_max_ns = BP_ALARM_BACKOFF_MAX_NS};

	snprintf(err, err_size, "no memory for the alarms of the fleet");
	if (s == NULL)
		return NULL;
	s->c = c->state;
	s->owner = *owner;
	snprintf(s->gateway, sizeof(s->gateway), "%s", gateway);
	make_keys(s, c->name);
	s->timer = event_new(base, -1, EV_PERSIST, on_timer, s);
	if (s->timer == NULL || event_add(s->timer, &interval) != 0 ||
		(s->link = bp_redis_link_new(base, &s->c, &link, err, err_size)) == NULL) {
		bp_alarm_store_free(s);
		return NULL;
	}
	return s;
}

void bp_alarm_store_free(struct bp_alarm_store *s)
{
	if (s == NULL)
		return;
	bp_redis_link_free(s->link);
	if (s->timer != NULL)
		event_free(s->timer);
	free(s);
}
