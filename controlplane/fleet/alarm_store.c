/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/alarm_store.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/fleet/redis_link.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"
#include "proto/redis/resp.h"
#include "shm/rules/rule_state.h"

#define INFLIGHT_MAX 256u /* a power of two */
/* So that a slow connection sends a renewal in time behind them. */
#define INFLIGHT_BYTES_MAX (1u << 20)
/* For the cursors of scans, polls and renewals. */
#define RESERVED 8u
/* Unanswered commands are checked for their timeout as often. */
#define CHECK_MS 100
#define KEY_MAX 224u
/* Copies that no gateway renews or claims, and notes of claims, expire after this time. */
#define KEPT_MS "604800000"
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/*
 * Keys, below biplane:FLEET:alarms: and with G for the name of a gateway:
 *   lease:G   epoch of the process, 16 hexadecimal digits
 *   copies:G  hash: uid to record
 *   order:G   sorted set of these uids; the score is a number that increases in the whole fleet
 *   taken:G   set: uids of G that others have claimed
 *   rejected:G hash: uids to records that G cannot publish; it expires
 *   seq       the last score
 *   gateways  set: names of gateways that may have copies
 *   raised    hash: uid of rule and topic to state
 *   changes   stream: the last states that were raised and cleared
 *   holds     stream: the last changes of holds
 *   cleared   hash: uid to the number of its last clear
 *   clears    sorted set of these uids by the time of the clear, ms; both expire
 */
enum {
	LEASE,
	COPIES,
	ORDER,
	TAKEN,
	REJECTED,
	SEQ,
	GATEWAYS,
	RAISED,
	CHANGES,
	CLEARED,
	CLEARS,
	KEYS,
	HOLDS = KEYS
};

/* KEYS: as above. ARGV: epoch, time to live of the lease (ms). A Redis without free memory refuses
 * a SET, but not to extend the lease. */
#define RENEW_SCRIPT                                                                               \
	"local old = redis.call('GET', KEYS[1])\n"                                                 \
	"if old and old > ARGV[1] then return -1 end\n"                                            \
	"if old == ARGV[1] then\n"                                                                 \
	"  redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"                                              \
	"else\n"                                                                                   \
	"  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])\n"                                   \
	"end\n"                                                                                    \
	"redis.call('PEXPIRE', KEYS[2], " KEPT_MS ")\n"                                            \
	"redis.call('PEXPIRE', KEYS[3], " KEPT_MS ")\n"                                            \
	"return redis.call('SCARD', KEYS[4])\n"
/* ARGV: epoch, uid, record, name of the gateway. */
#define PUT_SCRIPT                                                                                 \
	"local old = redis.call('GET', KEYS[1])\n"                                                 \
	"if old and old > ARGV[1] then return -1 end\n"                                            \
	"if redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1 then return -2 end\n"                   \
	"if redis.call('HLEN', KEYS[2]) >= " TEXT(                                                 \
		MAX_COPIES) " then return -3 end\n"                                                \
			    "if redis.call('HSETNX', KEYS[2], ARGV[2], ARGV[3]) == 1 then\n"       \
			    "  redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[6]), "          \
			    "ARGV[2])\n"                                                           \
			    "  redis.call('SADD', KEYS[7], ARGV[4])\n"                             \
			    "end\n"                                                                \
			    "return 1\n"
/* ARGV: uid. */
#define REMOVE_SCRIPT                                                                              \
	"redis.call('HDEL', KEYS[2], ARGV[1])\n"                                                   \
	"redis.call('ZREM', KEYS[3], ARGV[1])\n"                                                   \
	"redis.call('SREM', KEYS[4], ARGV[1])\n"                                                   \
	"return 1\n"
/* ARGV: uid, number of records. The oldest ones are not known: a full hash is emptied. */
#define REJECT_SCRIPT                                                                              \
	"local value = redis.call('HGET', KEYS[2], ARGV[1])\n"                                     \
	"if value then\n"                                                                          \
	"  if redis.call('HLEN', KEYS[5]) >= tonumber(ARGV[2]) then\n"                             \
	"    redis.call('DEL', KEYS[5])\n"                                                         \
	"  end\n"                                                                                  \
	"  redis.call('HSET', KEYS[5], ARGV[1], value)\n"                                          \
	"  redis.call('PEXPIRE', KEYS[5], " KEPT_MS ")\n"                                          \
	"end\n"                                                                                    \
	"redis.call('HDEL', KEYS[2], ARGV[1])\n"                                                   \
	"redis.call('ZREM', KEYS[3], ARGV[1])\n"                                                   \
	"return 1\n"
/*
 * ARGV: epoch, number of copies, name of the gateway, prefix of all keys. A claim moves the copies,
 * so that a gateway that dies after its claim is itself claimed with them. The note in taken:G
 * reports to the owner, if it returns, that it must not publish them. It ends when the owner claims
 * them back.
 */
#define CLAIM_SCRIPT                                                                               \
	"if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end\n"                            \
	"if redis.call('HLEN', KEYS[2]) + ARGV[2] > " TEXT(                                        \
		MAX_COPIES) " then return -3 end\n"                                                \
			    "for _, g in ipairs(redis.call('SMEMBERS', KEYS[7])) do\n"             \
			    "  if g ~= ARGV[3] and redis.call('EXISTS', ARGV[4] .. 'lease:' .. "   \
			    "g) == 0 then\n"                                                       \
			    "    local copies, order = ARGV[4] .. 'copies:' .. g, ARGV[4] .. "     \
			    "'order:' .. g\n"                                                      \
			    "    local taken = ARGV[4] .. 'taken:' .. g\n"                         \
			    "    local list = redis.call('ZRANGE', order, 0, ARGV[2] - 1, "        \
			    "'WITHSCORES')\n"                                                      \
			    "    if #list == 0 then\n"                                             \
			    "      redis.call('SREM', KEYS[7], g)\n"                               \
			    "    else\n"                                                           \
			    "      for i = 1, #list, 2 do\n"                                       \
			    "        local value = redis.call('HGET', copies, list[i])\n"          \
			    "        if value then\n"                                              \
			    "          redis.call('HSETNX', KEYS[2], list[i], value)\n"            \
			    "          redis.call('ZADD', KEYS[3], list[i + 1], list[i])\n"        \
			    "          redis.call('HDEL', copies, list[i])\n"                      \
			    "          redis.call('SADD', taken, list[i])\n"                       \
			    "          redis.call('SREM', KEYS[4], list[i])\n"                     \
			    "        end\n"                                                        \
			    "        redis.call('ZREM', order, list[i])\n"                         \
			    "      end\n"                                                          \
			    "      redis.call('PEXPIRE', taken, " KEPT_MS ")\n"                    \
			    "      redis.call('SADD', KEYS[7], ARGV[3])\n"                         \
			    "      return #list / 2\n"                                             \
			    "    end\n"                                                            \
			    "  end\n"                                                              \
			    "end\n"                                                                \
			    "return 0\n"
/*
 * ARGV: uid, state. The result is the state that wins, or nothing. A clear is stored also without
 * free memory, as its first write frees some; what it adds is bounded: the oldest clears go first,
 * a few more than one at a time, so that those which are too old go, too. Long topics shorten the
 * stream. A stored number that is ahead was
 * not written by this script: it does not count.
 */
#define STATE_SCRIPT                                                                               \
	"local t = string.sub(ARGV[2], 2, 17)\n"                                                   \
	"local now = redis.call('TIME')\n"                                                         \
	"local limit = string.format('%016x',\n"                                                   \
	"  math.floor((now[1] + " AHEAD_S ") * 1e9 / " UNIT_NS "))\n"                              \
	"if t > limit then return 'ahead' end\n"                                                   \
	"local gone = redis.call('HGET', KEYS[10], ARGV[1])\n"                                     \
	"local old = redis.call('HGET', KEYS[8], ARGV[1])\n"                                       \
	"if gone and gone > limit then gone = nil end\n"                                           \
	"if old and string.sub(old, 2, 17) > limit then old = nil end\n"                           \
	"if gone and gone >= t then\n"                                                             \
	"  if old and string.sub(old, 2, 17) <= gone then\n"                                       \
	"    redis.call('HDEL', KEYS[8], ARGV[1])\n"                                               \
	"  end\n"                                                                                  \
	"  return 'c' .. gone .. string.sub(ARGV[2], 18)\n"                                        \
	"end\n"                                                                                    \
	"if string.sub(ARGV[2], 1, 1) == 'c' then\n"                                               \
	"  if old and string.sub(old, 2, 17) > t then return '' end\n"                             \
	"  redis.call('HDEL', KEYS[8], ARGV[1])\n"                                                 \
	"  redis.call('HSET', KEYS[10], ARGV[1], t)\n"                                             \
	"  redis.call('ZADD', KEYS[11], now[1] * 1000, ARGV[1])\n"                                 \
	"  local gone = redis.call('ZRANGE', KEYS[11], 0, -" TEXT(                                 \
		MAX_CLEARS) " - 1)\n"                                                              \
			    "  if #gone == 0 then\n"                                               \
			    "    gone = redis.call('ZRANGEBYSCORE', KEYS[11], '-inf',\n"           \
			    "      now[1] * 1000 - " CLEARED_MS ", 'LIMIT', 0, 8)\n"               \
			    "  end\n"                                                              \
			    "  for _, uid in ipairs(gone) do\n"                                    \
			    "    redis.call('ZREM', KEYS[11], uid)\n"                              \
			    "    redis.call('HDEL', KEYS[10], uid)\n"                              \
			    "  end\n"                                                              \
			    "  redis.call('PEXPIRE', KEYS[10], " CLEARED_MS ")\n"                  \
			    "  redis.call('PEXPIRE', KEYS[11], " CLEARED_MS ")\n"                  \
			    "else\n"                                                               \
			    "  if old and string.sub(old, 2, 17) == t then return '' end\n"        \
			    "  if old and string.sub(old, 2, 17) < t then return old end\n"        \
			    "  if not old and redis.call('HLEN', KEYS[8]) >= " TEXT(               \
				    MAX_COPIES) " then return 'full' end\n"                        \
						"  redis.call('HSET', KEYS[8], ARGV[1], "          \
						"ARGV[2])\n"                                       \
						"end\n"                                            \
						"local n = #ARGV[2] > 512 and 8192 or 65536\n"     \
						"redis.call('XADD', KEYS[9], 'MAXLEN', '~', n, "   \
						"'*', 's', ARGV[2])\n"                             \
						"return ''\n"
#define CLEARED_MS "86400000"
/* A number from a clock that is ahead would outlast all real raises of the next time. */
#define AHEAD_S "5"
#define UNIT_NS "16384"
_Static_assert(1 << BP_TRANSITION_SHIFT == 16384, "the script has the unit as a text");
#define MAX_COPIES 65536
#define MAX_CLEARS 65536
_Static_assert(MAX_COPIES == BP_ALARM_STORE_MAX, "the scripts have the bound as a text");
enum script { SCRIPT_RENEW, SCRIPT_PUT, SCRIPT_REMOVE, SCRIPT_CLAIM, SCRIPT_STATE, SCRIPT_REJECT };
static const char *const scripts[] = {
	RENEW_SCRIPT, PUT_SCRIPT, REMOVE_SCRIPT, CLAIM_SCRIPT, STATE_SCRIPT, REJECT_SCRIPT, NULL};

_Static_assert(BP_ALARM_STATES_INFLIGHT <= INFLIGHT_MAX / 2, "the other half is for the rest");

#define CHANGE_MAX 48u /* an id of a stream */
#define CHANGES_PAGE 64u
/* Gateways that are connected read all; one that starts needs those that may still continue. */
#define HOLDS_KEPT 4096
/* What is older is not read: below the age that the receiver refuses, as a change is stored later
 * than its time. */
#define HOLDS_NS (BP_RULE_STATE_IDLE_NS - 60000000000ull)
/* Changes that are read from before the first connection; the stream has about 65,536. */
#define REPLAY_MAX 131072u

enum command {
	RENEW,
	PUT,
	REMOVE,
	REJECT,
	CLAIM,
	LIST,
	FETCH,
	LIST_TAKEN,
	STATE,
	LIST_STATES,
	LAST_CHANGE,
	REPLAY,
	POLL,
	HOLD,
	POLL_HOLDS
};

struct sent {
	enum command command;
	uint64_t sent_ns;
	size_t bytes; /* of the copy */
	char uid[BP_ALARM_UID_TEXT];
};

struct bp_alarm_store {
	struct bp_config_fleet_state c; /* a reload frees the configuration */
	struct bp_alarm_store_owner owner;
	struct bp_redis_link *link;
	struct event *timer;
	char gateway[BP_NAME_MAX + 1];
	char prefix[96], key[HOLDS + 1][KEY_MAX]; /* the scripts have those before HOLDS */
	struct sent sent[INFLIGHT_MAX];           /* without an answer */
	unsigned first, n;
	size_t bytes;            /* of the copies in them */
	char change[CHANGE_MAX]; /* the last one that was read; "": not known */
	bool polling;
	char hold[CHANGE_MAX]; /* the same of the holds */
	bool polling_holds, holds_read;
	uint64_t checked_ns; /* for timeouts */
	uint64_t polled_ns;  /* all changes before this time are known; 0: none */
	/* The changes from before this process. */
	char replay[CHANGE_MAX]; /* the last one that was read; "": none */
	uint32_t replayed;
	bool replay_done;
	struct bp_log_limit log;
};

#define WORD(text_, len_) ((struct iovec){(void *)(uintptr_t)(text_), (len_)})
#define WORD_OF(text_) WORD(text_, strlen(text_))

/* ---- commands ---- */

static void push(struct bp_alarm_store *s, enum command command, const char *uid)
{
	struct sent *e = &s->sent[(s->first + s->n++) % INFLIGHT_MAX];

	e->command = command;
	e->sent_ns = bp_mono_ns();
	e->bytes = 0;
	snprintf(e->uid, sizeof(e->uid), "%s", uid);
}

static void call(struct bp_alarm_store *s, enum script script, unsigned n, const struct iovec *args)
{
	struct iovec words[3 + KEYS + 4] = {WORD("EVALSHA", 7),
		WORD(bp_redis_link_script(s->link, script), BP_REDIS_SHA_LEN), WORD("11", 2)};
	unsigned at = 3;

	_Static_assert(KEYS == 11, "the number of keys is a text");
	for (unsigned i = 0; i < KEYS; i++)
		words[at++] = WORD_OF(s->key[i]);
	for (unsigned i = 0; i < n; i++)
		words[at++] = args[i];
	bp_redis_link_send(s->link, at, words);
}

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
	push(s, RENEW, "");
	call(s, SCRIPT_RENEW, 2, (const struct iovec[]){WORD_OF(mark), WORD_OF(ttl)});
}

void bp_alarm_store_put(
	struct bp_alarm_store *s, uint64_t epoch, const char *uid, const void *bytes, size_t len)
{
	char mark[EPOCH_TEXT];

	write_epoch(mark, epoch);
	push(s, PUT, uid);
	s->sent[(s->first + s->n - 1) % INFLIGHT_MAX].bytes = len;
	s->bytes += len;
	call(s, SCRIPT_PUT, 4,
		(const struct iovec[]){
			WORD_OF(mark), WORD_OF(uid), WORD(bytes, len), WORD_OF(s->gateway)});
}

void bp_alarm_store_remove(struct bp_alarm_store *s, const char *uid)
{
	push(s, REMOVE, uid);
	call(s, SCRIPT_REMOVE, 1, (const struct iovec[]){WORD_OF(uid)});
}

void bp_alarm_store_forget(struct bp_alarm_store *s, const char *uid)
{
	push(s, REMOVE, uid);
	bp_redis_link_send(s->link, 3,
		(const struct iovec[]){WORD("SREM", 4), WORD_OF(s->key[TAKEN]), WORD_OF(uid)});
}

void bp_alarm_store_reject(struct bp_alarm_store *s, const char *uid)
{
	push(s, REJECT, uid);
	call(s, SCRIPT_REJECT, 2,
		(const struct iovec[]){WORD_OF(uid), WORD_OF(TEXT(BP_ALARM_REJECTED_MAX))});
}

void bp_alarm_store_claim(struct bp_alarm_store *s, uint64_t epoch)
{
	char mark[EPOCH_TEXT], n[12];

	write_epoch(mark, epoch);
	snprintf(n, sizeof(n), "%u", BP_ALARM_PAGE);
	push(s, CLAIM, "");
	call(s, SCRIPT_CLAIM, 4,
		(const struct iovec[]){
			WORD_OF(mark), WORD_OF(n), WORD_OF(s->gateway), WORD_OF(s->prefix)});
}

void bp_alarm_store_list(struct bp_alarm_store *s, double after)
{
	char from[40], n[12];

	snprintf(from, sizeof(from), "(%.17g", after);
	snprintf(n, sizeof(n), "%u", BP_ALARM_PAGE);
	push(s, LIST, "");
	bp_redis_link_send(s->link, 8,
		(const struct iovec[]){WORD("ZRANGEBYSCORE", 13), WORD_OF(s->key[ORDER]),
			WORD_OF(from), WORD("+inf", 4), WORD("WITHSCORES", 10), WORD("LIMIT", 5),
			WORD("0", 1), WORD_OF(n)});
}

void bp_alarm_store_fetch(struct bp_alarm_store *s, const char *uid)
{
	push(s, FETCH, uid);
	bp_redis_link_send(s->link, 3,
		(const struct iovec[]){WORD("HGET", 4), WORD_OF(s->key[COPIES]), WORD_OF(uid)});
}

static void scan_taken(struct bp_alarm_store *s, const char *cursor, size_t len)
{
	push(s, LIST_TAKEN, "");
	bp_redis_link_send(s->link, 5,
		(const struct iovec[]){WORD("SSCAN", 5), WORD_OF(s->key[TAKEN]), WORD(cursor, len),
			WORD("COUNT", 5), WORD("200", 3)});
}

void bp_alarm_store_list_taken(struct bp_alarm_store *s)
{
	scan_taken(s, "0", 1);
}

void bp_alarm_store_put_state(
	struct bp_alarm_store *s, const char *uid, const void *bytes, size_t len)
{
	push(s, STATE, uid);
	call(s, SCRIPT_STATE, 2, (const struct iovec[]){WORD_OF(uid), WORD(bytes, len)});
}

static void scan_states(struct bp_alarm_store *s, const char *cursor, size_t len)
{
	push(s, LIST_STATES, "");
	bp_redis_link_send(s->link, 5,
		(const struct iovec[]){WORD("HSCAN", 5), WORD_OF(s->key[RAISED]), WORD(cursor, len),
			WORD("COUNT", 5), WORD("100", 3)});
}

static void read_stream(
	struct bp_alarm_store *s, enum command command, const char *key, const char *from)
{
	char n[12];

	snprintf(n, sizeof(n), "%u", CHANGES_PAGE);
	push(s, command, "");
	bp_redis_link_send(s->link, 6,
		(const struct iovec[]){WORD("XRANGE", 6), WORD_OF(key), WORD_OF(from), WORD("+", 1),
			WORD("COUNT", 5), WORD_OF(n)});
}

static void read_changes(struct bp_alarm_store *s, enum command command, const char *from)
{
	read_stream(s, command, s->key[CHANGES], from);
}

void bp_alarm_store_add_hold(struct bp_alarm_store *s, const void *bytes, size_t len)
{
	push(s, HOLD, "");
	bp_redis_link_send(s->link, 8,
		(const struct iovec[]){WORD("XADD", 4), WORD_OF(s->key[HOLDS]), WORD("MAXLEN", 6),
			WORD("~", 1), WORD_OF(TEXT(HOLDS_KEPT)), WORD("*", 1), WORD("s", 1),
			WORD(bytes, len)});
}

/* The receiver knows the newest of each pair. */
static void poll_holds(struct bp_alarm_store *s)
{
	char from[CHANGE_MAX + 1];

	if (s->polling_holds)
		return;
	if (s->hold[0] != '\0')
		snprintf(from, sizeof(from), "(%s", s->hold);
	else
		snprintf(from, sizeof(from), "%llu", (bp_unix_ns() - HOLDS_NS) / 1000000);
	s->polling_holds = true;
	read_stream(s, POLL_HOLDS, s->key[HOLDS], from);
}

static void replay(struct bp_alarm_store *s)
{
	char from[CHANGE_MAX + 1] = "-";

	if (s->replay[0] != '\0')
		snprintf(from, sizeof(from), "(%s", s->replay);
	read_changes(s, REPLAY, from);
}

/* The last change before the list, so that no change is missed. */
void bp_alarm_store_list_states(struct bp_alarm_store *s)
{
	s->change[0] = '\0';
	push(s, LAST_CHANGE, "");
	bp_redis_link_send(s->link, 6,
		(const struct iovec[]){WORD("XREVRANGE", 9), WORD_OF(s->key[CHANGES]), WORD("+", 1),
			WORD("-", 1), WORD("COUNT", 5), WORD("1", 1)});
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
	char from[CHANGE_MAX + 1];

	if (s->change[0] == '\0' || s->polling)
		return;
	poll_holds(s); /* answered before the changes */
	snprintf(from, sizeof(from), "(%s", s->change);
	s->polling = true;
	read_changes(s, POLL, from);
}

/* ---- answers ---- */

static void invalid(struct bp_alarm_store *s, const char *text)
{
	bp_redis_link_fail(s->link, BP_FLEET_ERROR_PROTOCOL, text);
}

static bool read_uid(const struct bp_resp *r, char out[BP_ALARM_UID_TEXT])
{
	if (r->type != BP_RESP_TEXT || r->len != BP_ALARM_UID_TEXT - 1)
		return false;
	memcpy(out, r->text, r->len);
	out[r->len] = '\0';
	return strspn(out, "0123456789abcdef") == r->len;
}

static void copy_text(const struct bp_resp *error, char out[BP_FLEET_ERROR_TEXT])
{
	snprintf(out, BP_FLEET_ERROR_TEXT, "%.*s", (int)(error->len < 200 ? error->len : 200),
		error->text);
}

/* Of one command: the connection stays. */
static void note(struct bp_alarm_store *s, const struct bp_resp *error)
{
	char text[BP_FLEET_ERROR_TEXT];

	copy_text(error, text);
	s->owner.failed(s->owner.arg, bp_redis_error(error), text);
}

static void on_put(struct bp_alarm_store *s, const char *uid, const struct bp_resp *r)
{
	enum bp_alarm_stored result;

	if (r->type == BP_RESP_ERROR)
		note(s, r);
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
		invalid(s, "a copy of an alarm: unexpected answer");
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

static void on_list(struct bp_alarm_store *s, const struct bp_resp *r)
{
	char uid[BP_ALARM_PAGE][BP_ALARM_UID_TEXT];
	double after = 0;

	if (r->type != BP_RESP_ARRAY || r->n % 2 != 0 || r->n > 2 * BP_ALARM_PAGE) {
		invalid(s, "copies of alarms: unexpected answer");
		return;
	}
	for (unsigned i = 0; i < r->n / 2; i++) {
		if (!read_uid(&r[1 + 2 * i], uid[i]) || !read_score(&r[2 + 2 * i], &after)) {
			invalid(s, "copies of alarms: invalid entry");
			return;
		}
	}
	s->owner.listed(s->owner.arg, r->n / 2, uid, after);
}

static void on_taken(struct bp_alarm_store *s, const struct bp_resp *r)
{
	char uid[BP_ALARM_UID_TEXT];

	if (r->type != BP_RESP_ARRAY || r->n != 2 || r[1].type != BP_RESP_TEXT || r[1].len > 20 ||
		r[2].type != BP_RESP_ARRAY) {
		invalid(s, "claimed alarms: unexpected answer");
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

static void on_state(struct bp_alarm_store *s, const char *uid, const struct bp_resp *r)
{
	enum bp_alarm_state_put result = BP_ALARM_STATE_STORED;

	if (r->type != BP_RESP_TEXT) {
		invalid(s, "a state: unexpected answer");
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

static void on_states(struct bp_alarm_store *s, const struct bp_resp *r)
{
	if (r->type != BP_RESP_ARRAY || r->n != 2 || r[1].type != BP_RESP_TEXT || r[1].len > 20 ||
		r[2].type != BP_RESP_ARRAY || r[2].n % 2 != 0 || r[2].skip != r[2].n + 1) {
		invalid(s, "raised states: unexpected answer");
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
	struct bp_alarm_store *s, const struct bp_resp *e, char id[CHANGE_MAX])
{
	if (e->type != BP_RESP_ARRAY || e->n != 2 || e[1].type != BP_RESP_TEXT || e[1].len == 0 ||
		e[1].len >= CHANGE_MAX || e[2].type != BP_RESP_ARRAY || e[2].n != 2 ||
		e[3].type != BP_RESP_TEXT || e[4].type != BP_RESP_TEXT) {
		invalid(s, "changes of states: unexpected answer");
		return NULL;
	}
	memcpy(id, e[1].text, e[1].len);
	id[e[1].len] = '\0';
	return &e[4];
}

static void on_last_change(struct bp_alarm_store *s, const struct bp_resp *r)
{
	if (r->type != BP_RESP_ARRAY || r->n > 1) {
		invalid(s, "changes of states: unexpected answer");
		return;
	}
	snprintf(s->change, sizeof(s->change), "0-0");
	if (r->n == 1 && read_change(s, r + 1, s->change) == NULL)
		return;
	scan_states(s, "0", 1);
}

/* Returns their number. `last`: the id of the last one. */
static unsigned take_changes(
	struct bp_alarm_store *s, const struct bp_resp *r, char last[CHANGE_MAX], bool only_clears)
{
	const struct bp_resp *e = r + 1, *value;

	if (r->type != BP_RESP_ARRAY || r->n > CHANGES_PAGE) {
		invalid(s, "changes of states: unexpected answer");
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

static void on_changes(struct bp_alarm_store *s, const struct bp_resp *r, uint64_t sent_ns)
{
	s->polling = false;
	if (take_changes(s, r, s->change, false) < CHANGES_PAGE)
		s->polled_ns = sent_ns;
	else if (bp_alarm_store_ready(s))
		bp_alarm_store_poll_states(s);
}

static void on_holds(struct bp_alarm_store *s, const struct bp_resp *r)
{
	s->polling_holds = false;
	if (take_changes(s, r, s->hold, false) < CHANGES_PAGE)
		s->holds_read = bp_redis_link_is_up(s->link);
	else if (bp_alarm_store_ready(s))
		poll_holds(s);
}

/* The states that are raised are in the list. */
static void on_replay(struct bp_alarm_store *s, const struct bp_resp *r)
{
	const unsigned n = take_changes(s, r, s->replay, true);

	s->replayed += n;
	if (n == CHANGES_PAGE && s->replayed < REPLAY_MAX)
		replay(s);
	else if (bp_redis_link_is_up(s->link))
		s->replay_done = true;
}

static void on_number(struct bp_alarm_store *s, enum command command, const struct bp_resp *r)
{
	if (r->type != BP_RESP_INTEGER || r->integer < -3 || r->integer > UINT32_MAX)
		invalid(s, "unexpected answer");
	else if (command == RENEW)
		s->owner.renewed(
			s->owner.arg, r->integer >= 0, r->integer > 0 ? (uint64_t)r->integer : 0);
	else
		s->owner.claimed(s->owner.arg, r->integer > 0 ? (uint32_t)r->integer : 0);
}

/* Redis has no free memory: the connection stays, so that copies can be removed. */
static bool on_full(struct bp_alarm_store *s, const struct sent *e, const struct bp_resp *r)
{
	if (r->type != BP_RESP_ERROR || bp_redis_error(r) != BP_FLEET_ERROR_FULL)
		return false;
	if (e->command != RENEW && e->command != CLAIM && e->command != STATE &&
		e->command != REJECT && e->command != HOLD)
		return false;
	note(s, r);
	if (e->command == RENEW)
		s->owner.not_renewed(s->owner.arg);
	else if (e->command == CLAIM)
		s->owner.claimed(s->owner.arg, 0);
	else if (e->command == STATE)
		s->owner.state_put(s->owner.arg, e->uid, BP_ALARM_STATE_FULL);
	/* REJECT: it stays a copy. HOLD: the next change is sent */
	return true;
}

/* Whether the error is for this copy alone: others can be stored. */
static bool is_of_copy(const struct sent *e, const struct bp_resp *r)
{
	const enum bp_fleet_error why = bp_redis_error(r);

	return e->command == PUT && (why == BP_FLEET_ERROR_REFUSED || why == BP_FLEET_ERROR_FULL);
}

static void on_reply(void *arg, const struct bp_resp *r)
{
	struct bp_alarm_store *s = arg;
	const struct sent e = s->sent[s->first];

	if (s->n == 0) {
		invalid(s, "an answer to no request");
		return;
	}
	s->first = (s->first + 1) % INFLIGHT_MAX;
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
	case REJECT:
	case HOLD:
		break;
	case POLL_HOLDS:
		on_holds(s, r);
		break;
	case PUT:
		on_put(s, e.uid, r);
		break;
	case REMOVE:
		s->owner.removed(s->owner.arg, e.uid);
		break;
	case LIST:
		on_list(s, r);
		break;
	case FETCH:
		if (r->type == BP_RESP_TEXT)
			s->owner.fetched(s->owner.arg, e.uid, r->text, r->len);
		else
			s->owner.fetched(s->owner.arg, e.uid, NULL, 0);
		break;
	case LIST_TAKEN:
		on_taken(s, r);
		break;
	case STATE:
		on_state(s, e.uid, r);
		break;
	case LIST_STATES:
		on_states(s, r);
		break;
	case LAST_CHANGE:
		on_last_change(s, r);
		break;
	case REPLAY:
		on_replay(s, r);
		break;
	case POLL:
		on_changes(s, r, e.sent_ns);
		break;
	case RENEW:
	case CLAIM:
		on_number(s, e.command, r);
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
	return bp_redis_link_is_up(s->link) && s->n < INFLIGHT_MAX - RESERVED &&
	       s->bytes < INFLIGHT_BYTES_MAX;
}

bool bp_alarm_store_can_renew(const struct bp_alarm_store *s)
{
	return bp_redis_link_is_up(s->link) && s->n < INFLIGHT_MAX - RESERVED / 2;
}

static void make_keys(struct bp_alarm_store *s, const char *fleet)
{
	static const char *const name[] = {"lease:", "copies:", "order:", "taken:", "rejected:",
		"seq", "gateways", "raised", "changes", "cleared", "clears", "holds"};

	snprintf(s->prefix, sizeof(s->prefix), "biplane:%s:alarms:", fleet);
	for (unsigned i = 0; i <= HOLDS; i++)
		snprintf(s->key[i], sizeof(s->key[i]), "%s%s%s", s->prefix, name[i],
			i < SEQ ? s->gateway : "");
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
		.scripts = scripts,
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
