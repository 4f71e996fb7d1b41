/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/alarm_store.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "controlplane/fleet/alarm_store_internal.h"
#include "controlplane/process/clock.h"

/* So that a slow connection sends a renewal in time behind them. */
#define INFLIGHT_BYTES_MAX (1u << 20)
/* For the cursors of scans, polls and renewals. */
#define RESERVED 8u
/* Unanswered commands are checked for their timeout as often. */
#define CHECK_MS 100

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

void bp_alarm_read(struct bp_alarm_store *s, const char *command, const char *key, unsigned max,
	unsigned n, const struct iovec *words)
{
	char bytes[12];
	const int len = snprintf(bytes, sizeof(bytes), "%u", max);
	struct iovec all[6 + BP_ALARM_READ_WORDS] = {WORD("EVALSHA", 7),
		WORD(bp_redis_link_script(s->link, SCRIPT_READ), BP_REDIS_SHA_LEN), WORD("1", 1),
		WORD_OF(key), WORD(bytes, (size_t)len), WORD_OF(command)};
	unsigned at = 6;

	for (unsigned i = 0; i < n; i++)
		all[at++] = words[i];
	bp_redis_link_send(s->link, at, all);
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
		bp_alarm_on_holds(s, r, e.sent_ns);
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
	s->polled_ns = s->holds_ns = 0;
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
