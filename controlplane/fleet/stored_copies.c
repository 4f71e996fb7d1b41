/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controlplane/fleet/alarm_store_internal.h"

/* Leases, copies of alarms and their claims. */

/* ---- commands ---- */

#define EPOCH_TEXT 17u
static void write_epoch(char out[EPOCH_TEXT], uint64_t epoch)
{
	snprintf(out, EPOCH_TEXT, "%016" PRIx64, epoch);
}

void bp_alarm_store_renew(struct bp_alarm_store *s, uint64_t epoch)
{
	char mark[EPOCH_TEXT], ttl[24];

	write_epoch(mark, epoch);
	snprintf(ttl, sizeof(ttl), "%llu", BP_ALARM_LEASE_NS / 1000000u);
	bp_alarm_push(s, SENT_RENEW, "");
	bp_alarm_call(s, SCRIPT_RENEW, 2, (const struct iovec[]){WORD_OF(mark), WORD_OF(ttl)});
}

void bp_alarm_store_put(
	struct bp_alarm_store *s, uint64_t epoch, const char *uid, const void *bytes, size_t len)
{
	char mark[EPOCH_TEXT];

	write_epoch(mark, epoch);
	bp_alarm_push(s, SENT_PUT, uid);
	s->sent[(s->first + s->n - 1) % BP_ALARM_INFLIGHT_MAX].bytes = len;
	s->bytes += len;
	bp_alarm_call(s, SCRIPT_PUT, 4,
		(const struct iovec[]){
			WORD_OF(mark), WORD_OF(uid), WORD(bytes, len), WORD_OF(s->gateway)});
}

void bp_alarm_store_remove(struct bp_alarm_store *s, const char *uid)
{
	bp_alarm_push(s, SENT_REMOVE, uid);
	bp_alarm_call(s, SCRIPT_REMOVE, 1, (const struct iovec[]){WORD_OF(uid)});
}

void bp_alarm_store_forget(struct bp_alarm_store *s, const char *uid)
{
	bp_alarm_push(s, SENT_REMOVE, uid);
	bp_redis_link_send(s->link, 3,
		(const struct iovec[]){WORD("SREM", 4), WORD_OF(s->key[KEY_TAKEN]), WORD_OF(uid)});
}

void bp_alarm_store_reject(struct bp_alarm_store *s, const char *uid)
{
	bp_alarm_push(s, SENT_REJECT, uid);
	bp_alarm_call(s, SCRIPT_REJECT, 2,
		(const struct iovec[]){WORD_OF(uid), WORD_OF(BP_TEXT(BP_ALARM_REJECTED_MAX))});
}

void bp_alarm_store_claim(struct bp_alarm_store *s, uint64_t epoch)
{
	char mark[EPOCH_TEXT], n[12];

	write_epoch(mark, epoch);
	snprintf(n, sizeof(n), "%u", BP_ALARM_PAGE);
	bp_alarm_push(s, SENT_CLAIM, "");
	bp_alarm_call(s, SCRIPT_CLAIM, 4,
		(const struct iovec[]){
			WORD_OF(mark), WORD_OF(n), WORD_OF(s->gateway), WORD_OF(s->prefix)});
}

void bp_alarm_store_list(struct bp_alarm_store *s, double after)
{
	char from[40], n[12];

	snprintf(from, sizeof(from), "(%.17g", after);
	snprintf(n, sizeof(n), "%u", BP_ALARM_PAGE);
	bp_alarm_push(s, SENT_LIST, "");
	bp_redis_link_send(s->link, 8,
		(const struct iovec[]){WORD("ZRANGEBYSCORE", 13), WORD_OF(s->key[KEY_ORDER]),
			WORD_OF(from), WORD("+inf", 4), WORD("WITHSCORES", 10), WORD("LIMIT", 5),
			WORD("0", 1), WORD_OF(n)});
}

void bp_alarm_store_fetch(struct bp_alarm_store *s, const char *uid)
{
	bp_alarm_push(s, SENT_FETCH, uid);
	bp_alarm_read(s, "HGET", s->key[KEY_COPIES], BP_FLEET_VALUE_MAX, 1,
		(const struct iovec[]){WORD_OF(uid)});
}

static void scan_taken(struct bp_alarm_store *s, const char *cursor, size_t len)
{
	bp_alarm_push(s, SENT_LIST_TAKEN, "");
	bp_alarm_read(s, "SSCAN", s->key[KEY_TAKEN], BP_ALARM_UID_TEXT - 1, 3,
		(const struct iovec[]){WORD(cursor, len), WORD("COUNT", 5), WORD("200", 3)});
}

void bp_alarm_store_list_taken(struct bp_alarm_store *s)
{
	scan_taken(s, "0", 1);
}

/* ---- answers ---- */

static bool read_uid(const struct bp_resp *r, char out[BP_ALARM_UID_TEXT])
{
	if (r->type != BP_RESP_TEXT || r->len != BP_ALARM_UID_TEXT - 1)
		return false;
	memcpy(out, r->text, r->len);
	out[r->len] = '\0';
	return strspn(out, "0123456789abcdef") == r->len;
}

void bp_alarm_on_put(struct bp_alarm_store *s, const char *uid, const struct bp_resp *r)
{
	enum bp_alarm_stored result;

	if (r->type == BP_RESP_ERROR)
		bp_alarm_note(s, r);
	if (r->type == BP_RESP_ERROR && bp_redis_error(r) == BP_FLEET_ERROR_REFUSED)
		result = BP_ALARM_STORE_REFUSED;
	else if (r->type == BP_RESP_INTEGER && r->integer == 1)
		result = BP_ALARM_STORED;
	else if (r->type == BP_RESP_INTEGER && r->integer == -1)
		result = BP_ALARM_STORE_FENCED;
	else if (r->type == BP_RESP_INTEGER && r->integer == -2)
		result = BP_ALARM_STORE_TAKEN;
	else if ((r->type == BP_RESP_INTEGER && r->integer == -3) ||
		 (r->type == BP_RESP_ERROR && bp_redis_error(r) == BP_FLEET_ERROR_FULL))
		result = BP_ALARM_STORE_FULL;
	else {
		bp_alarm_invalid(s, "a copy of an alarm: unexpected answer");
		return;
	}
	s->owner.stored(s->owner.arg, uid, result);
}

static bool read_score(const struct bp_resp *r, double *out)
{
	char text[32], *end;

	if (r->type != BP_RESP_TEXT || r->len == 0 || r->len >= sizeof(text))
		return false;
	memcpy(text, r->text, r->len);
	text[r->len] = '\0';
	*out = strtod(text, &end);
	return *end == '\0';
}

void bp_alarm_on_list(struct bp_alarm_store *s, const struct bp_resp *r)
{
	char uid[BP_ALARM_PAGE][BP_ALARM_UID_TEXT];
	double after = 0;

	if (r->type != BP_RESP_ARRAY || r->n % 2 != 0 || r->n > 2 * BP_ALARM_PAGE) {
		bp_alarm_invalid(s, "copies of alarms: unexpected answer");
		return;
	}
	for (unsigned i = 0; i < r->n / 2; i++) {
		if (!read_uid(&r[1 + 2 * i], uid[i]))
			uid[i][0] = '\0';
		if (!read_score(&r[2 + 2 * i], &after)) {
			bp_alarm_invalid(s, "copies of alarms: invalid entry");
			return;
		}
	}
	s->owner.listed(s->owner.arg, r->n / 2, uid, after);
}

void bp_alarm_on_taken(struct bp_alarm_store *s, const struct bp_resp *r)
{
	char uid[BP_ALARM_UID_TEXT];

	if (r->type != BP_RESP_ARRAY || r->n != 2 || r[1].type != BP_RESP_TEXT || r[1].len > 20 ||
		r[2].type != BP_RESP_ARRAY) {
		bp_alarm_invalid(s, "claimed alarms: unexpected answer");
		return;
	}
	for (unsigned i = 0; i < r[2].n; i++)
		if (read_uid(&r[3 + i], uid))
			s->owner.taken(s->owner.arg, uid);
	/* the owner sends nothing for each of them */
	if (r[1].len == 1 && r[1].text[0] == '0')
		s->owner.taken(s->owner.arg, NULL);
	else
		scan_taken(s, r[1].text, r[1].len);
}

void bp_alarm_on_number(
	struct bp_alarm_store *s, enum bp_alarm_command command, const struct bp_resp *r)
{
	if (r->type != BP_RESP_INTEGER || r->integer < -3 || r->integer > UINT32_MAX)
		bp_alarm_invalid(s, "unexpected answer");
	else if (command == SENT_RENEW)
		s->owner.renewed(
			s->owner.arg, r->integer >= 0, r->integer > 0 ? (uint64_t)r->integer : 0);
	else
		s->owner.claimed(s->owner.arg, r->integer > 0 ? (uint32_t)r->integer : 0);
}
