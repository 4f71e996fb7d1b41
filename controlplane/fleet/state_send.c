/* SPDX-License-Identifier: BSD-3-Clause */
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/fleet/state_internal.h"
#include "controlplane/process/clock.h"

#define INFLIGHT_MAX 512u
/* An idle connection is checked as often. */
#define PING_NS 1000000000ull

#define COUNTER_MAX "70368744177664"
#define COUNTER_AHEAD "1048576"
#define STORED_MAX "65568"
_Static_assert(BP_FLEET_MARK_LEN + BP_FLEET_VALUE_MAX == 65568, "the scripts have it as a text");
_Static_assert(BP_FLEET_COUNTER_MAX == 70368744177664, "the scripts have it as a text");
_Static_assert((BP_FLEET_COUNTER_MAX << BP_FLEET_NONCE_BITS | 0xffff) == 0x400000000000ffff,
	"the scripts have it as a text");
_Static_assert(BP_FLEET_COUNTER_AHEAD == 1048576, "the scripts have it as a text");

/*
 * KEYS: the value, and a stream. ARGV: mark, bytes, time to live (ms), channel or "", text to
 * publish; then the entries of the stream. Marks have a fixed length and hexadecimal digits, so
 * their order as texts is that of the numbers. An epoch above the highest one was not written by
 * this script: it does not count. Redis does not undo the commands before one that fails: the
 * entries, which can fail, come first.
 */
#define PUT_SCRIPT                                                                                 \
	"local old = redis.call('GET', KEYS[1])\n"                                                 \
	"if old and #old >= 32 and string.sub(old, 1, 32) > ARGV[1] and\n"                         \
	"  string.sub(old, 1, 16) <= '" BP_FLEET_EPOCH_MAX_TEXT "' then return 0 end\n"            \
	"for i = 6, #ARGV do\n"                                                                    \
	"  redis.call('XADD', KEYS[2], 'MAXLEN', '~', " BP_FLEET_STREAM_KEPT                       \
	", '*', 's', ARGV[i])\n"                                                                   \
	"end\n"                                                                                    \
	"redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])\n"                          \
	"if ARGV[4] ~= '' then\n"                                                                  \
	"  redis.call('PUBLISH', ARGV[4], ARGV[5] .. ' ' .. ARGV[1] .. ARGV[2])\n"                 \
	"end\n"                                                                                    \
	"return 1\n"
/*
 * KEYS: the counter. ARGV: the number of this process, which the counter must reach; a number that
 * a new one must exceed; "1" for a new one. A Redis without its data, or a replica that lacks the
 * last writes, learns the number from the processes that have one. The counter ends at its maximum,
 * so no process gets the number of another one; those that have a number keep it. The second number
 * is of a value that anybody may have written: it does not move the counter far. A counter that is
 * no number, or NaN, which fails each comparison, is at its end. A counter that does not change is
 * not written: a Redis without free memory refuses each SET.
 */
#define EPOCH_SCRIPT                                                                               \
	"local got = redis.pcall('GET', KEYS[1])\n"                                                \
	"local own, above = tonumber(ARGV[1]), tonumber(ARGV[2])\n"                                \
	"local n = nil\n"                                                                          \
	"if not got then n = 0 elseif type(got) == 'string' then n = tonumber(got) end\n"          \
	"if n == nil then return ARGV[3] == '1' and 0 or own end\n"                                \
	"if n < own then n = own end\n"                                                            \
	"if ARGV[3] == '1' then\n"                                                                 \
	"  if above > n + " COUNTER_AHEAD " then\n"                                                \
	"    own = -1\n"                                                                           \
	"  else\n"                                                                                 \
	"    if n < above then n = above end\n"                                                    \
	"    if not (n < " COUNTER_MAX ") then return 0 end\n"                                     \
	"    n = n + 1\n"                                                                          \
	"    own = n\n"                                                                            \
	"  end\n"                                                                                  \
	"end\n"                                                                                    \
	"local text = string.format('%.0f', n)\n"                                                  \
	"if got ~= text then redis.call('SET', KEYS[1], text) end\n"                               \
	"return own\n"
/*
 * KEYS: the value. One that is longer than a gateway writes is returned as '', which is no value:
 * an answer of any length would end the connection.
 */
#define GET_SCRIPT                                                                                 \
	"local value = redis.pcall('GET', KEYS[1])\n"                                              \
	"if type(value) == 'string' and #value > " STORED_MAX " then return '' end\n"              \
	"return value\n"
/*
 * KEYS: a stream. ARGV: where to begin, and a number of entries. An entry that no gateway has
 * written may have any number of fields, of any length: only its id is returned.
 */
#define ENTRIES_SCRIPT                                                                             \
	"local all = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])\n"              \
	"for _, e in ipairs(all) do\n"                                                             \
	"  if #e[2] ~= 2 or #e[2][1] > 16 or #e[2][2] > " BP_FLEET_ENTRY_MAX                       \
	" then e[2] = {} end\n"                                                                    \
	"end\n"                                                                                    \
	"return all\n"
enum { SCRIPT_PUT, SCRIPT_EPOCH, SCRIPT_GET, SCRIPT_ENTRIES };
const char *const bp_fleet_scripts[] = {PUT_SCRIPT, EPOCH_SCRIPT, GET_SCRIPT, ENTRIES_SCRIPT, NULL};

/* ---- commands ---- */

#define WORD(text_, len_) ((struct iovec){(void *)(uintptr_t)(text_), (len_)})

struct key_text {
	char text[BP_FLEET_PREFIX_MAX + BP_FLEET_KEY_MAX + 1];
	size_t len;
};

static void make_key(const struct bp_fleet_state *s, const char *key, struct key_text *out)
{
	out->len = (size_t)snprintf(out->text, sizeof(out->text), "%s%s", s->prefix, key);
}

#define WORDS_MAX 10u /* without the entries */
static unsigned entry_words(const struct bp_fleet_op *op, struct iovec *words)
{
	const char *at = op->value + op->len;
	uint32_t len;

	for (unsigned i = 0; i < op->n_entries; i++, at += len) {
		memcpy(&len, at, sizeof(len));
		at += sizeof(len);
		words[i] = WORD(at, len);
	}
	return op->n_entries;
}

static void send_put(struct bp_fleet_state *s, struct bp_fleet_op *op, uint64_t now)
{
	const uint64_t ttl_ms = (op->expires_ns - now) / 1000000u + 1;
	char mark[BP_FLEET_MARK_LEN + 1], ttl[24];
	struct key_text key, stream, channel = {.len = 0};

	if (op->epoch == 0)
		op->epoch = s->epoch;
	make_key(s, op->key, &key);
	if (op->channel != NULL)
		make_key(s, op->channel, &channel);
	snprintf(mark, sizeof(mark), "%016" PRIx64 "%016" PRIx64, op->shared ? 0 : op->epoch,
		op->version);
	const int n = snprintf(ttl, sizeof(ttl), "%" PRIu64, ttl_ms);
	struct iovec words[WORDS_MAX + BP_FLEET_ENTRIES_MAX];
	unsigned at = 0;

	words[at++] = WORD("EVALSHA", 7);
	words[at++] = WORD(bp_redis_link_script(s->link, SCRIPT_PUT), BP_REDIS_SHA_LEN);
	words[at++] = WORD(op->stream != NULL ? "2" : "1", 1);
	words[at++] = WORD(key.text, key.len);
	if (op->stream != NULL) {
		make_key(s, op->stream, &stream);
		words[at++] = WORD(stream.text, stream.len);
	}
	words[at++] = WORD(mark, BP_FLEET_MARK_LEN);
	words[at++] = WORD(op->value, op->len);
	words[at++] = WORD(ttl, (size_t)n);
	words[at++] = WORD(channel.text, channel.len);
	words[at++] = WORD(op->key, strlen(op->key));
	at += entry_words(op, words + at);
	bp_redis_link_send(s->link, at, words);
}

static void send_get(struct bp_fleet_state *s, const struct bp_fleet_op *op)
{
	struct key_text key;
	char page[12];

	make_key(s, op->key, &key);
	if (!op->entries) {
		bp_redis_link_send(s->link, 4,
			(const struct iovec[]){WORD("EVALSHA", 7),
				WORD(bp_redis_link_script(s->link, SCRIPT_GET), BP_REDIS_SHA_LEN),
				WORD("1", 1), WORD(key.text, key.len)});
		return;
	}
	const int n = snprintf(page, sizeof(page), "%u", BP_FLEET_ENTRIES_PAGE);

	bp_redis_link_send(s->link, 6,
		(const struct iovec[]){WORD("EVALSHA", 7),
			WORD(bp_redis_link_script(s->link, SCRIPT_ENTRIES), BP_REDIS_SHA_LEN),
			WORD("1", 1), WORD(key.text, key.len), WORD(op->value, op->len),
			WORD(page, (size_t)n)});
}

static void send_epoch(struct bp_fleet_state *s)
{
	struct key_text key;
	char own[24], above[24];

	/* A number that Redis may refuse hides no other one, and does not delay the first epoch. */
	s->epoch_above = s->outrank != 0 || s->epoch == 0 ? s->outrank : s->outrank_far;
	s->epoch_new = s->epoch == 0 || s->epoch_above != 0;
	make_key(s, "epoch", &key);
	snprintf(own, sizeof(own), "%" PRIu64, bp_fleet_epoch_counter(s->epoch));
	snprintf(above, sizeof(above), "%" PRIu64, s->epoch_above);
	const struct iovec words[] = {WORD("EVALSHA", 7),
		WORD(bp_redis_link_script(s->link, SCRIPT_EPOCH), BP_REDIS_SHA_LEN), WORD("1", 1),
		WORD(key.text, key.len), WORD(own, strlen(own)), WORD(above, strlen(above)),
		WORD(s->epoch_new ? "1" : "0", 1)};

	bp_redis_link_send(s->link, sizeof(words) / sizeof(words[0]), words);
}

/* Requests that belong to no caller: their place among the replies. */
static bool send_own(struct bp_fleet_state *s, enum bp_fleet_op_kind kind, uint64_t now)
{
	static const struct iovec ping[] = {{(void *)(uintptr_t) "PING", 4}};
	struct bp_fleet_op *op = bp_fleet_op_new(kind, "", NULL, 0, 0);

	if (op == NULL)
		return false;
	op->sent_ns = now;
	bp_fleet_queue_sent(&s->queue, op);
	if (kind == BP_FLEET_OP_EPOCH)
		send_epoch(s);
	else
		bp_redis_link_send(s->link, 1, ping);
	return true;
}

/* ---- the timer ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A process that did not run (SIGSTOP) has the answers of meanwhile still unread. */
#define LATE_NS 100000000u
#define GRACE_NS 50000000u

static uint64_t timeout_of(const struct bp_fleet_state *s, const struct bp_fleet_op *sent)
{
	const uint64_t timeout = sent->sent_ns + s->c.timeout_ns;

	return timeout > s->grace_ns ? timeout : s->grace_ns;
}

void bp_fleet_arm(struct bp_fleet_state *s)
{
	const struct bp_fleet_op *delayed = TAILQ_FIRST(&s->queue.list[BP_FLEET_DELAYED]);
	const struct bp_fleet_op *read = TAILQ_FIRST(&s->queue.list[BP_FLEET_READS]);
	const struct bp_fleet_op *sent = TAILQ_FIRST(&s->queue.list[BP_FLEET_SENT]);
	const uint64_t now = bp_mono_ns();
	uint64_t due = UINT64_MAX;

	if (delayed != NULL)
		due = delayed->due_ns;
	if (read != NULL)
		due = min_u64(due, read->expires_ns);
	if (sent != NULL)
		due = min_u64(due, timeout_of(s, sent));
	else if (bp_redis_link_is_up(s->link))
		due = min_u64(due, s->heard_ns + PING_NS);
	if (s->pause_ns > now)
		due = min_u64(due, s->pause_ns);
	if (due >= s->armed_ns)
		return;
	s->armed_ns = due;
	due = due > now ? due - now : 0;
	const struct timeval t = {
		(time_t)(due / 1000000000u), (suseconds_t)(due % 1000000000u / 1000 + 1)};

	event_add(s->timer, &t);
}

/* ---- sending ---- */

static bool may_write(struct bp_fleet_state *s, uint64_t now)
{
	return s->epoch_known && now >= s->pause_ns;
}

static void pump_writes(struct bp_fleet_state *s, uint64_t now)
{
	struct bp_fleet_op *op;

	while (bp_redis_link_is_up(s->link) && s->queue.n_sent < INFLIGHT_MAX &&
		(op = TAILQ_FIRST(&s->queue.list[BP_FLEET_READY])) != NULL && may_write(s, now)) {
		if (op->expires_ns <= now) {
			bp_fleet_lose(s, op, &s->counters.lost_expired);
			continue;
		}
		op->sent_ns = now;
		bp_fleet_queue_sent(&s->queue, op);
		send_put(s, op, now);
	}
}

void bp_fleet_pump(struct bp_fleet_state *s)
{
	const uint64_t now = bp_mono_ns();
	struct bp_fleet_op *op;

	bp_fleet_queue_mature(&s->queue, s->draining ? UINT64_MAX : now);
	if (bp_redis_link_is_up(s->link) && !s->epoch_known && !s->epoch_asked &&
		now >= s->pause_ns)
		s->epoch_asked = send_own(s, BP_FLEET_OP_EPOCH, now);
	while (bp_redis_link_is_up(s->link) && s->queue.n_sent < INFLIGHT_MAX &&
		(op = TAILQ_FIRST(&s->queue.list[BP_FLEET_READS])) != NULL) {
		op->sent_ns = now;
		bp_fleet_queue_sent(&s->queue, op);
		send_get(s, op);
	}
	pump_writes(s, now);
	bp_fleet_call_back(s);
	if (s->draining && (s->queue.n_writes == 0 || !bp_redis_link_is_up(s->link)))
		bp_fleet_drained(s);
	bp_fleet_arm(s);
}

void bp_fleet_drained(struct bp_fleet_state *s)
{
	void (*done)(void *arg) = s->drained;

	s->drained = NULL;
	if (done != NULL)
		done(s->drained_arg);
}

static void expire_reads(struct bp_fleet_state *s, uint64_t now)
{
	static const struct bp_fleet_value unknown;
	struct bp_fleet_op *op;

	while ((op = TAILQ_FIRST(&s->queue.list[BP_FLEET_READS])) != NULL && op->expires_ns <= now)
		bp_fleet_end_read(s, op, &unknown);
}

void bp_fleet_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_fleet_state *s = arg;
	const struct bp_fleet_op *sent = TAILQ_FIRST(&s->queue.list[BP_FLEET_SENT]);
	const uint64_t now = bp_mono_ns();

	(void)fd;
	(void)what;
	if (now > s->armed_ns && now - s->armed_ns > LATE_NS)
		s->grace_ns = now + GRACE_NS;
	s->armed_ns = UINT64_MAX;
	if (sent != NULL && timeout_of(s, sent) <= now)
		bp_redis_link_fail(s->link, BP_FLEET_ERROR_TIMEOUT, "no answer in time");
	else if (sent == NULL && bp_redis_link_is_up(s->link) && s->heard_ns + PING_NS <= now)
		send_own(s, BP_FLEET_OP_PING, now);
	expire_reads(s, now);
	bp_fleet_pump(s);
}
