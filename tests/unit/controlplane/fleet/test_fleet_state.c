/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared state of a fleet: against real Redis servers and Sentinels. */
#include "tests/unit/controlplane/fleet/redis_rig.h"

#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/fleet/fault.h"
#include "controlplane/fleet/state.h"
#include "controlplane/fleet/state_internal.h"

#define RESULTS (BP_FLEET_LOST + 1)

struct fixture {
	char dir[64];
	struct test_redis redis;
	struct event_base *base;
	struct bp_config *config;
	struct bp_fleet_state *state, *other; /* other: of a second gateway */
	unsigned done[RESULTS];
	unsigned n_got;
	struct bp_fleet_value got;
	char got_bytes[BP_FLEET_VALUE_MAX + 1];
};

static void on_done(void *arg, enum bp_fleet_result result)
{
	((struct fixture *)arg)->done[result]++;
}

static void on_got(void *arg, const struct bp_fleet_value *v)
{
	struct fixture *f = arg;

	f->n_got++;
	f->got = *v;
	assert_true(v->len <= BP_FLEET_VALUE_MAX);
	if (v->found)
		memcpy(f->got_bytes, v->bytes, v->len);
	f->got_bytes[v->found ? v->len : 0] = '\0';
}

/* The settings of fleet.state, as a file has them. */
static void configure(struct fixture *f, const char *url, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"version: 1\nname: g\nports: [{name: a, device: x, routed: {}}]\n"
		"fleet: {name: plant, state: {server: \"%s\", timeout: 300ms%s}}\n",
		url, more);
	bp_config_free(f->config);
	f->config = bp_config_parse("test", text, strlen(text), stderr);
	assert_non_null(f->config);
}

static struct bp_fleet_state *start(struct fixture *f)
{
	char err[512];
	struct bp_fleet_state *s = bp_fleet_state_new(f->base, &f->config->fleet, err, sizeof(err));

	if (s == NULL)
		fail_msg("%s", err);
	return s;
}

static void configure_redis(struct fixture *f, const char *more)
{
	char url[64];

	snprintf(url, sizeof(url), "redis://127.0.0.1:%u", f->redis.port);
	configure(f, url, more);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	test_dir_make(f->dir, sizeof(f->dir));
	f->base = event_base_new();
	test_redis_make(&f->redis, f->dir, "redis", "");
	configure_redis(f, "");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_fleet_state_free(f->state);
	bp_fleet_state_free(f->other);
	bp_config_free(f->config);
	event_base_free(f->base);
	test_redis_kill(&f->redis);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static void start_both(struct fixture *f)
{
	test_redis_start(&f->redis);
	f->state = start(f);
	RUN_UNTIL(f, bp_fleet_state_epoch(f->state) != 0);
}

static bool put_with(struct fixture *f, struct bp_fleet_state *s, const char *key,
	const char *value, uint64_t version, struct bp_fleet_write w)
{
	w.key = key;
	w.value = value;
	w.len = strlen(value);
	w.version = version;
	w.ttl_ms = w.ttl_ms != 0 ? w.ttl_ms : 60000;
	w.done = on_done;
	w.arg = f;
	return bp_fleet_state_put(s, &w);
}
#define PUT(f_, s_, key_, value_, version_, ...)                                                   \
	assert_true(put_with(f_, s_, key_, value_, version_, (struct bp_fleet_write){__VA_ARGS__}))

static const char *get(struct fixture *f, struct bp_fleet_state *s, const char *key)
{
	const unsigned before = f->n_got;

	assert_true(bp_fleet_state_get(s, key, on_got, f));
	RUN_UNTIL(f, f->n_got != before);
	return f->got_bytes;
}

static const struct bp_fleet_counters *counters(const struct fixture *f)
{
	return bp_fleet_state_counters(f->state);
}

static void a_value_is_stored_read_and_deleted(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	assert_string_equal(get(f, f->state, "k"), "");
	assert_true(f->got.known && !f->got.found);
	PUT(f, f->state, "k", "a \r\n$5 b", 7, .ttl_ms = 90000);
	assert_true(bp_fleet_state_lag_ns(f->state) > 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	assert_int_equal(bp_fleet_state_lag_ns(f->state), 0);
	assert_string_equal(get(f, f->state, "k"), "a \r\n$5 b");
	assert_int_equal(f->got.version, 7);
	assert_true(f->got.epoch == bp_fleet_state_epoch(f->state));
	assert_in_range(atoi(test_redis_cli(&f->redis, "PTTL biplane:plant:k")), 1, 90000);
	PUT(f, f->state, "k", "", 8, .ttl_ms = 1000);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	get(f, f->state, "k");
	assert_true(f->got.known && !f->got.found);
}

static void an_older_write_overwrites_nothing(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	f->other = start(f);
	RUN_UNTIL(f, bp_fleet_state_epoch(f->other) != 0);
	assert_true(bp_fleet_state_epoch(f->other) > bp_fleet_state_epoch(f->state));
	PUT(f, f->other, "k", "new owner", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	/* of a gateway that comes back, also after the new owner has deleted it */
	PUT(f, f->state, "k", "old owner", 99, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 1);
	PUT(f, f->other, "k", "", 2, .ttl_ms = 60000);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	PUT(f, f->state, "k", "old owner", 100, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 2);
	/* once it takes the key over, it outranks the other one */
	get(f, f->state, "k");
	PUT(f, f->other, "k", "new owner", 3, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 3);
	get(f, f->state, "k");
	bp_fleet_state_outrank(f->state, f->got.epoch);
	PUT(f, f->state, "k", "old owner again", 4, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 4);
	PUT(f, f->other, "k", "new owner", 999, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 3);
	assert_string_equal(get(f, f->other, "k"), "old owner again");
	assert_int_equal(counters(f)->superseded, 2);
}

static const char *entries(struct fixture *f)
{
	return test_redis_cli(&f->redis, "xrange biplane:plant:s - + | grep '^entry'");
}

/* Entries of a stream are visible with the value: those of a refused write never are, and a write
 * that replaces one has its own only. */
static void entries_belong_to_their_value(void **state)
{
	struct fixture *f = *state;
	struct iovec e[BP_FLEET_ENTRIES_MAX + 1] = {{(void *)(uintptr_t) "entry 1", 7},
		{(void *)(uintptr_t) "entry 2 ", 7}, {(void *)(uintptr_t) "entry 3", 7}};
	char large[BP_FLEET_ENTRIES_BYTES];

	start_both(f);
	PUT(f, f->state, "k", "a", 2, .stream = "s", .entries = e, .n_entries = 2);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	assert_string_equal(get(f, f->state, "k"), "a");
	assert_string_equal(entries(f), "entry 1\nentry 2");
	PUT(f, f->state, "k", "b", 1, .stream = "s", .entries = e, .n_entries = 2);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 1);
	assert_string_equal(entries(f), "entry 1\nentry 2");
	PUT(f, f->state, "k", "c", 3, .collapsible = true, .stream = "s", .entries = e,
		.n_entries = 2);
	PUT(f, f->state, "k", "d", 4, .collapsible = true, .stream = "s", .entries = e + 2,
		.n_entries = 1);
	RUN_UNTIL(f, f->done[BP_FLEET_COLLAPSED] == 1 && f->done[BP_FLEET_STORED] == 2);
	assert_string_equal(entries(f), "entry 1\nentry 2\nentry 3");
	/* too many, or too long */
	memset(large, 'x', sizeof(large));
	assert_false(put_with(f, f->state, "k", "e", 5,
		(struct bp_fleet_write){
			.stream = "s", .entries = e, .n_entries = BP_FLEET_ENTRIES_MAX + 1}));
	e[0] = (struct iovec){large, sizeof(large)};
	assert_false(put_with(f, f->state, "k", "e", 5,
		(struct bp_fleet_write){.stream = "s", .entries = e, .n_entries = 1}));
	for (unsigned i = 0; i < BP_FLEET_ENTRIES_MAX; i++)
		e[i] = (struct iovec){(void *)(uintptr_t) "entry", 5};
	PUT(f, f->state, "k", "f", 6, .stream = "s", .entries = e,
		.n_entries = BP_FLEET_ENTRIES_MAX);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 3);
	assert_int_equal(
		atoi(test_redis_cli(&f->redis, "xlen biplane:plant:s")), 3 + BP_FLEET_ENTRIES_MAX);
}

/* Redis cannot write the stream: it does not write the value either. */
static void no_value_without_its_entries(void **state)
{
	struct fixture *f = *state;
	struct iovec e = {(void *)(uintptr_t) "entry", 5};

	start_both(f);
	(void)test_redis_cli(&f->redis, "set biplane:plant:s x");
	PUT(f, f->state, "k", "a", 1, .stream = "s", .entries = &e, .n_entries = 1);
	RUN_UNTIL(f, f->done[BP_FLEET_LOST] == 1);
	assert_string_equal(test_redis_cli(&f->redis, "exists biplane:plant:k"), "0");
}

static void a_shared_value_is_compared_by_its_version(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	f->other = start(f);
	RUN_UNTIL(f, bp_fleet_state_epoch(f->other) != 0);
	PUT(f, f->other, "k", "five", 5, .shared = true);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	PUT(f, f->state, "k", "six", 6, .shared = true);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	PUT(f, f->other, "k", "five", 5, .shared = true);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 1);
	assert_string_equal(get(f, f->state, "k"), "six");
}

static void collapsible_writes_of_a_key_become_one(void **state)
{
	struct fixture *f = *state;
	char value[16];

	start_both(f);
	for (unsigned i = 1; i <= 100; i++) {
		snprintf(value, sizeof(value), "%u", i);
		PUT(f, f->state, "k", value, i, .collapsible = true);
		PUT(f, f->state, "other", value, i, .collapsible = true);
	}
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	assert_int_equal(f->done[BP_FLEET_COLLAPSED], 198);
	assert_string_equal(get(f, f->state, "k"), "100");
	/* an immediate write also replaces the one that waits */
	PUT(f, f->state, "k", "101", 101, .collapsible = true);
	PUT(f, f->state, "k", "102", 102, .collapsible = false);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 3);
	assert_int_equal(f->done[BP_FLEET_COLLAPSED], 199);
	assert_string_equal(get(f, f->state, "k"), "102");
}

/* Everything that was accepted arrives, in the order of each key, through the death of Redis. */
static void writes_wait_while_redis_is_away(void **state)
{
	struct fixture *f = *state;
	uint64_t lag;

	f->state = start(f);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_CONNECT] >= 2);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	PUT(f, f->state, "k", "2", 2, .ttl_ms = 0);
	assert_int_equal(bp_fleet_state_epoch(f->state), 0);
	lag = bp_fleet_state_lag_ns(f->state);
	get(f, f->state, "k");
	assert_false(f->got.known);
	assert_true(bp_fleet_state_lag_ns(f->state) > lag);
	test_redis_start(&f->redis);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	assert_string_equal(get(f, f->state, "k"), "2");
	test_redis_kill(&f->redis);
	PUT(f, f->state, "k", "3", 3, .ttl_ms = 0);
	RUN_UNTIL(f, !bp_fleet_state_connected(f->state));
	/* without its data it learns the epoch again */
	test_redis_start(&f->redis);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 3);
	assert_string_equal(get(f, f->state, "k"), "3");
	f->other = start(f);
	RUN_UNTIL(f, bp_fleet_state_epoch(f->other) != 0);
	assert_true(bp_fleet_state_epoch(f->other) > bp_fleet_state_epoch(f->state));
}

static void a_stopped_redis_is_left_by_timeout(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	kill(f->redis.pid, SIGSTOP);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	assert_true(bp_fleet_state_get(f->state, "k", on_got, f));
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_TIMEOUT] >= 2);
	RUN_UNTIL(f, f->n_got == 1);
	assert_false(f->got.known);
	assert_int_equal(f->done[BP_FLEET_STORED], 0);
	kill(f->redis.pid, SIGCONT);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	assert_string_equal(get(f, f->state, "k"), "1");
}

static void an_idle_connection_is_checked(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	kill(f->redis.pid, SIGSTOP);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_TIMEOUT] >= 1);
	kill(f->redis.pid, SIGCONT);
	RUN_UNTIL(f, bp_fleet_state_connected(f->state));
}

static void a_full_redis_delays_writes_and_answers_reads(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	test_redis_cli(&f->redis, "CONFIG SET maxmemory 1");
	PUT(f, f->state, "k", "2", 2, .ttl_ms = 0);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_FULL] >= 2);
	assert_string_equal(get(f, f->state, "k"), "1");
	assert_int_equal(counters(f)->connects, 1);
	test_redis_cli(&f->redis, "CONFIG SET maxmemory 0");
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	assert_string_equal(get(f, f->state, "k"), "2");
}

/* Without free memory, the counter of epochs is only written if it changes. */
static void full_redis_answers_reads_after_a_reconnect(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	test_redis_cli(&f->redis, "CONFIG SET maxmemory 1");
	test_redis_cli(&f->redis, "CLIENT KILL TYPE normal");
	RUN_UNTIL(f, counters(f)->connects == 2);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_string_equal(get(f, f->state, "k"), "1");
	assert_true(f->got.known);
	assert_int_equal(counters(f)->connects, 2);
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_FULL], 0);
}

/* A new epoch must be written: the request is repeated, and the connection stays. */
static void full_redis_delays_a_new_epoch(void **state)
{
	struct fixture *f = *state;
	uint64_t own;

	start_both(f);
	own = bp_fleet_state_epoch(f->state);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	test_redis_cli(&f->redis, "CONFIG SET maxmemory 1");
	bp_fleet_state_outrank(f->state, own + ((uint64_t)5 << BP_FLEET_NONCE_BITS));
	f->other = start(f); /* its first one */
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_FULL] >= 2 &&
			     bp_fleet_state_counters(f->other)->error[BP_FLEET_ERROR_FULL] >= 2);
	assert_string_equal(get(f, f->state, "k"), "1");
	assert_string_equal(get(f, f->other, "k"), "1");
	assert_false(bp_fleet_state_ready(f->state));
	assert_int_equal(bp_fleet_state_epoch(f->other), 0);
	assert_int_equal(counters(f)->connects, 1);
	assert_int_equal(bp_fleet_state_counters(f->other)->connects, 1);
	test_redis_cli(&f->redis, "CONFIG SET maxmemory 0");
	RUN_UNTIL(f, bp_fleet_state_ready(f->state) && bp_fleet_state_ready(f->other));
	assert_true(bp_fleet_epoch_counter(bp_fleet_state_epoch(f->state)) >
		    bp_fleet_epoch_counter(own) + 5);
}

static void errors_are_counted_by_reason(void **state)
{
	struct fixture *f = *state;
	char words[128], path[128], more[256];

	start_both(f);
	/* a key of another type is lost, nothing else */
	test_redis_cli(&f->redis, "LPUSH biplane:plant:k x");
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_LOST] == 1);
	assert_int_equal(counters(f)->lost_refused, 1);
	get(f, f->state, "k");
	assert_false(f->got.known);
	/* and so is a value that no gateway has written */
	test_redis_cli(&f->redis, "SET biplane:plant:short x");
	get(f, f->state, "short");
	assert_false(f->got.known);
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_PROTOCOL], 1);
	/* scripts that Redis has forgotten are loaded again */
	test_redis_cli(&f->redis, "SCRIPT FLUSH");
	PUT(f, f->state, "k2", "1", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_UNAVAILABLE], 1);
	/* a replica */
	snprintf(words, sizeof(words), "REPLICAOF 127.0.0.1 %u", test_free_port());
	test_redis_cli(&f->redis, words);
	PUT(f, f->state, "k2", "2", 2, .ttl_ms = 0);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_NOT_MASTER] >= 2);
	test_redis_cli(&f->redis, "REPLICAOF NO ONE");
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	/* a password */
	test_redis_cli(&f->redis, "CONFIG SET requirepass secret");
	bp_fleet_state_free(f->state);
	f->state = start(f);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_AUTH] >= 1);
	bp_fleet_state_free(f->state);
	snprintf(path, sizeof(path), "%s/password", f->dir);
	test_write_file(path, "wrong\n");
	snprintf(more, sizeof(more), ", password_file: %s", path);
	configure_redis(f, more);
	f->state = start(f);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_AUTH] >= 2);
	assert_false(bp_fleet_state_connected(f->state));
	bp_fleet_state_free(f->state);
	test_write_file(path, "secret\n");
	f->state = start(f);
	RUN_UNTIL(f, bp_fleet_state_connected(f->state));
}

/* The longest value is read. A longer one was not written by a gateway: it is unknown, and ends no
 * connection. */
static void value_of_any_length(void **state)
{
	static const unsigned len[] = {65537, 1100000, 5000000};
	struct fixture *f = *state;
	char words[256];

	start_both(f);
	for (unsigned i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		snprintf(words, sizeof(words),
			"eval \"redis.call('SET', KEYS[1], string.rep('0', 32 + %u))\" 1 "
			"biplane:plant:k",
			len[i]);
		(void)test_redis_cli(&f->redis, words);
		get(f, f->state, "k");
		assert_false(f->got.known);
		assert_int_equal(counters(f)->error[BP_FLEET_ERROR_PROTOCOL], i + 1);
	}
	(void)test_redis_cli(&f->redis,
		"eval \"redis.call('SET', KEYS[1], string.rep('0', 32 + 65536))\" 1 "
		"biplane:plant:k");
	get(f, f->state, "k");
	assert_true(f->got.known && f->got.found);
	assert_int_equal(f->got.len, BP_FLEET_VALUE_MAX);
	assert_int_equal(counters(f)->connects, 1);
}

static void the_queue_is_bounded(void **state)
{
	struct fixture *f = *state;
	char key[16];

	configure_redis(f, ", max_queued: 16");
	f->state = start(f);
	for (unsigned i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "c%u", i);
		PUT(f, f->state, key, "x", 1, .collapsible = true);
	}
	/* the oldest that are collapsible make place */
	assert_int_equal(f->done[BP_FLEET_LOST], 4);
	for (unsigned i = 0; i < 16; i++) {
		snprintf(key, sizeof(key), "n%u", i);
		PUT(f, f->state, key, "x", 1, .ttl_ms = 0);
	}
	assert_int_equal(f->done[BP_FLEET_LOST], 20);
	/* and when there are none, the new one is refused */
	assert_false(put_with(f, f->state, "n16", "x", 1, (struct bp_fleet_write){.ttl_ms = 0}));
	assert_int_equal(counters(f)->lost_full, 21);
	test_redis_start(&f->redis);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 16);
	assert_string_equal(test_redis_cli(&f->redis, "GET biplane:plant:c19"), "");
}

static void the_bytes_of_the_queue_are_bounded(void **state)
{
	struct fixture *f = *state;
	static char large[60001];

	memset(large, 'x', sizeof(large) - 1);
	configure_redis(f, ", max_queue_size: 256KiB");
	f->state = start(f);
	for (unsigned i = 0; i < 4; i++)
		PUT(f, f->state, "k", large, i, .ttl_ms = 0);
	assert_false(put_with(f, f->state, "k", large, 5, (struct bp_fleet_write){.ttl_ms = 0}));
	PUT(f, f->state, "k", "small", 6, .ttl_ms = 0);
	test_redis_start(&f->redis);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 5);
	assert_string_equal(get(f, f->state, "k"), "small");
}

static void a_write_whose_time_has_passed_is_not_sent(void **state)
{
	struct fixture *f = *state;

	f->state = start(f);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 1);
	PUT(f, f->state, "k", "2", 2, .ttl_ms = 60000);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_CONNECT] >= 1);
	test_redis_start(&f->redis);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1 && f->done[BP_FLEET_LOST] == 1);
	assert_int_equal(counters(f)->lost_expired, 1);
}

/* Two servers and three Sentinels: the client finds the master, and the next one. */
static void sentinel_finds_the_master_after_a_failover(void **state)
{
	struct fixture *f = *state;
	struct test_redis replica, sentinel[3];
	char more[512], url[256];

	test_redis_start(&f->redis);
	snprintf(more, sizeof(more), "replicaof 127.0.0.1 %u\n", f->redis.port);
	test_redis_make(&replica, f->dir, "replica", more);
	test_redis_start(&replica);
	snprintf(more, sizeof(more),
		"sentinel monitor it 127.0.0.1 %u 2\nsentinel down-after-milliseconds it 300\n"
		"sentinel failover-timeout it 3000\n",
		f->redis.port);
	for (unsigned i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "sentinel%u", i);
		test_redis_make_sentinel(&sentinel[i], f->dir, name, more);
		test_redis_start(&sentinel[i]);
	}
	WAIT_UNTIL(strstr(test_redis_cli(&f->redis, "INFO replication"), "state=online") != NULL);
	WAIT_UNTIL(strstr(test_redis_cli(&sentinel[1], "SENTINEL MASTER it"),
			   "num-other-sentinels\n2") != NULL &&
		   strstr(test_redis_cli(&sentinel[1], "SENTINEL MASTER it"), "num-slaves\n1") !=
			   NULL);
	/* the first Sentinel is dead */
	test_redis_kill(&sentinel[0]);
	snprintf(url, sizeof(url), "redis-sentinel://127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u/3#it",
		sentinel[0].port, sentinel[1].port, sentinel[2].port);
	configure(f, url, "");
	f->state = start(f);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	WAIT_UNTIL(strstr(test_redis_cli(&replica, "-n 3 GET biplane:plant:k"), "1") != NULL);
	test_redis_kill(&f->redis);
	PUT(f, f->state, "k", "2", 2, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	assert_non_null(strstr(test_redis_cli(&replica, "-n 3 GET biplane:plant:k"), "2"));
	assert_non_null(strstr(test_redis_cli(&replica, "ROLE"), "master"));
	for (unsigned i = 0; i < 3; i++)
		test_redis_kill(&sentinel[i]);
	test_redis_kill(&replica);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_SENTINEL] >= 1);
}

static void certificates_are_verified(void **state)
{
	struct fixture *f = *state;
	char command[1024], more[512], url[64];

	snprintf(command, sizeof(command),
		"cd %s && exec >openssl.log 2>&1 && set -e\n"
		"key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
		"for n in here elsewhere; do openssl req -x509 $key -keyout $n.key -out $n.crt "
		"-days 2 -subj /CN=$n -addext subjectAltName=IP:127.0.0.$((${#n} - 3)); done",
		f->dir);
	assert_int_equal(system(command), 0);
	test_redis_kill(&f->redis);
	/* the names have 4 and 9 letters: the addresses end with 1 and 6 */
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i == 0 ? "elsewhere" : "here";
		struct test_redis tls;

		snprintf(more, sizeof(more),
			"# tls-port\ntls-cert-file %s/%s.crt\ntls-key-file %s/%s.key\n"
			"tls-ca-cert-file %s/%s.crt\n",
			f->dir, name, f->dir, name, f->dir, name);
		test_redis_make(&tls, f->dir, name, more);
		test_redis_start(&tls);
		snprintf(url, sizeof(url), "rediss://127.0.0.1:%u", tls.port);
		snprintf(more, sizeof(more),
			", tls: {ca: %s/%s.crt, cert: %s/%s.crt, key: %s/%s.key}", f->dir, name,
			f->dir, name, f->dir, name);
		configure(f, url, more);
		f->state = start(f);
		if (i == 0) {
			json_t *status;

			RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_CONNECT] >= 1);
			status = bp_fleet_state_status(f->state);
			assert_non_null(
				strstr(json_string_value(json_object_get(status, "last_error")),
					"IP address mismatch"));
			json_decref(status);
		} else {
			PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
			RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
			assert_string_equal(get(f, f->state, "k"), "1");
		}
		bp_fleet_state_free(f->state);
		f->state = NULL;
		test_redis_kill(&tls);
	}
}

/* With a clock of its own: the fault begins after 10 s without Redis, and ends with it. */
static void the_fault_begins_and_ends(void **state)
{
	struct fixture *f = *state;
	struct bp_fault_row row[BP_FAULT_OF_CONTROLPLANE];
	struct bp_event_slot slot[64];
	struct bp_event_ring events = {.slot = slot, .size = 64};
	const struct bp_fault_record *is =
		&row[BP_FAULT_FLEET_STATE - BP_FAULT_CONTROLPLANE_FIRST].is;
	struct bp_fleet_fault fault = {0};
	const uint64_t second = 1000000000u, unix_ns = 5000 * second;

	memset(row, 0, sizeof(row));
	memset(slot, 0, sizeof(slot));
	bp_event_ring_open(&events);
	f->state = start(f);
	RUN_UNTIL(f, counters(f)->error[BP_FLEET_ERROR_CONNECT] >= 1);
	for (uint64_t t = 100; t <= 109; t++)
		bp_fleet_fault_update(&fault, f->state, row, &events, t * second, unix_ns + t);
	assert_int_equal(is->active, 0);
	bp_fleet_fault_update(&fault, f->state, row, &events, 110 * second, unix_ns);
	assert_int_equal(is->active, 1);
	assert_int_equal(is->spells, 1);
	assert_true(is->began_ns == unix_ns - 10 * second);
	test_redis_start(&f->redis);
	/* without an epoch, nothing is shared yet */
	RUN_UNTIL(f, bp_fleet_state_connected(f->state));
	bp_fleet_fault_update(&fault, f->state, row, &events, 111 * second, unix_ns + second);
	assert_int_equal(is->active, 1);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	bp_fleet_fault_update(&fault, f->state, row, &events, 112 * second, unix_ns + 2 * second);
	assert_int_equal(is->active, 0);
	assert_true(is->total == 12 * second && is->worst == 12 * second);
	assert_true(is->ended_ns == unix_ns + 2 * second);
	assert_string_equal(is->subject, "fleet");
}

/* A process that gets a higher epoch for one key overwrites and deletes no other one with it. */
static void a_write_keeps_an_earlier_epoch(void **state)
{
	struct fixture *f = *state;
	uint64_t first;

	start_both(f);
	first = bp_fleet_state_epoch(f->state);
	PUT(f, f->state, "k", "mine", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	f->other = start(f);
	RUN_UNTIL(f, bp_fleet_state_ready(f->other));
	PUT(f, f->other, "k", "taken over", 2, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 2);
	bp_fleet_state_outrank(f->state, bp_fleet_state_epoch(f->other));
	assert_false(bp_fleet_state_ready(f->state));
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_true(bp_fleet_state_epoch(f->state) > bp_fleet_state_epoch(f->other));
	PUT(f, f->state, "k", "", 9, .epoch = first);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 1);
	PUT(f, f->state, "k", "mine", 10, .epoch = first);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 2);
	assert_string_equal(get(f, f->state, "k"), "taken over");
}

static void set_counter(struct fixture *f, const char *text)
{
	char words[128];

	snprintf(words, sizeof(words), "set biplane:plant:epoch %s", text);
	assert_string_equal(test_redis_cli(&f->redis, words), "OK");
}

/* At its maximum the counter ends: no process gets the epoch of another one, and those that have
 * one go on with it. */
static void exhausted_epochs(void **state)
{
	static const char *const beyond[] = {"70368744177664", "70368744177665",
		"9223372036854775807", "1e300", "inf", "nan", "x"};
	struct fixture *f = *state;
	uint64_t last;

	test_redis_start(&f->redis);
	set_counter(f, "70368744177663");
	f->state = start(f);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	last = bp_fleet_state_epoch(f->state);
	assert_true(last >> 16 == (uint64_t)1 << 46);
	for (unsigned i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		set_counter(f, beyond[i]);
		f->other = start(f);
		RUN_UNTIL(f, bp_fleet_state_counters(f->other)->error[BP_FLEET_ERROR_EPOCH] >= 2);
		assert_int_equal(bp_fleet_state_epoch(f->other), 0);
		assert_false(bp_fleet_state_ready(f->other));
		assert_string_equal(
			test_redis_cli(&f->redis, "get biplane:plant:epoch"), beyond[i]);
		bp_fleet_state_free(f->other);
		f->other = NULL;
	}
	/* the first one connects again, and continues */
	test_redis_kill(&f->redis);
	RUN_UNTIL(f, !bp_fleet_state_connected(f->state));
	test_redis_start(&f->redis);
	set_counter(f, "nan");
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_true(bp_fleet_state_epoch(f->state) == last);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	assert_string_equal(get(f, f->state, "k"), "1");
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_EPOCH], 0);
}

/* A value of a higher epoch is taken over only if a process can have this epoch: one value does not
 * exhaust the counter of the fleet. */
static void implausible_epoch_of_a_value(void **state)
{
	const uint64_t near = (uint64_t)1000000 << 16, far = ((uint64_t)1 << 46) - 1;
	struct fixture *f = *state;
	uint64_t own;

	start_both(f);
	own = bp_fleet_state_epoch(f->state);
	bp_fleet_state_outrank(f->state, far << 16);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_true(bp_fleet_state_epoch(f->state) == own);
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_EPOCH], 1);
	assert_int_equal(counters(f)->connects, 1);
	assert_string_equal(test_redis_cli(&f->redis, "get biplane:plant:epoch"), "1");
	bp_fleet_state_outrank(f->state, UINT64_MAX);
	assert_true(bp_fleet_state_ready(f->state));
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_EPOCH], 2);
	bp_fleet_state_outrank(f->state, near);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_true(bp_fleet_state_epoch(f->state) > near);
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_EPOCH], 2);
}

/* A value that nobody of the fleet has written prevents no takeover, in whichever order they are
 * read. */
static void implausible_epoch_beside_a_plausible_one(void **state)
{
	const uint64_t far = ((uint64_t)1 << 45) << BP_FLEET_NONCE_BITS;
	struct fixture *f = *state;
	uint64_t near;

	start_both(f);
	for (unsigned i = 0; i < 2; i++) {
		near = bp_fleet_state_epoch(f->state) + ((uint64_t)100 << BP_FLEET_NONCE_BITS);
		bp_fleet_state_outrank(f->state, i == 0 ? far : near);
		bp_fleet_state_outrank(f->state, i == 0 ? near : far);
		assert_false(bp_fleet_state_ready(f->state));
		RUN_UNTIL(f, bp_fleet_state_ready(f->state));
		assert_true(bp_fleet_state_epoch(f->state) > near);
		assert_true(bp_fleet_state_epoch(f->state) < far);
		assert_int_equal(counters(f)->error[BP_FLEET_ERROR_EPOCH], i + 1);
	}
	/* the lower one of two that are far above this process can be plausible in Redis */
	set_counter(f, "10000000");
	near = (uint64_t)10500000 << BP_FLEET_NONCE_BITS;
	bp_fleet_state_outrank(f->state, far);
	bp_fleet_state_outrank(f->state, near);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_true(bp_fleet_state_epoch(f->state) > near);
	assert_int_equal(counters(f)->connects, 1);
}

/* Values can be read before the first epoch. */
static void implausible_epoch_before_the_first_one(void **state)
{
	const uint64_t far = ((uint64_t)1 << 45) << BP_FLEET_NONCE_BITS;
	struct fixture *f = *state;

	test_redis_start(&f->redis);
	f->state = start(f);
	bp_fleet_state_outrank(f->state, far);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_int_equal(bp_fleet_epoch_counter(bp_fleet_state_epoch(f->state)), 1);
	assert_int_equal(counters(f)->error[BP_FLEET_ERROR_EPOCH], 1);
	assert_int_equal(counters(f)->connects, 1);
}

/* A Redis that has lost its data learns the epoch, also with the request for an implausible one. */
static void epoch_is_restored_with_an_implausible_one(void **state)
{
	const uint64_t far = ((uint64_t)1 << 45) << BP_FLEET_NONCE_BITS;
	struct fixture *f = *state;

	test_redis_start(&f->redis);
	set_counter(f, "500");
	f->state = start(f);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	test_redis_kill(&f->redis);
	RUN_UNTIL(f, !bp_fleet_state_connected(f->state));
	bp_fleet_state_outrank(f->state, far);
	test_redis_start(&f->redis);
	RUN_UNTIL(f, bp_fleet_state_ready(f->state));
	assert_string_equal(test_redis_cli(&f->redis, "get biplane:plant:epoch"), "501");
}

/* The epoch of a value is above the highest one: no process has written it, and it is replaced. The
 * highest one counts. */
static void impossible_epoch_of_a_value(void **state)
{
	struct fixture *f = *state;

	start_both(f);
	test_redis_cli(&f->redis, "set biplane:plant:k 400000000000ffff0000000000000001theirs");
	PUT(f, f->state, "k", "ours", 1, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_SUPERSEDED] == 1);
	test_redis_cli(&f->redis, "set biplane:plant:k 40000000000100000000000000000001theirs");
	PUT(f, f->state, "k", "ours", 2, .ttl_ms = 0);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1);
	assert_string_equal(get(f, f->state, "k"), "ours");
}

static void on_drained(void *arg)
{
	(*(unsigned *)arg)++;
}

static void changes_are_written_at_the_end(void **state)
{
	struct fixture *f = *state;
	unsigned drained = 0;

	start_both(f);
	for (unsigned i = 0; i < 1000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%u", i);
		PUT(f, f->state, key, "1", i, .collapsible = true);
	}
	bp_fleet_state_drain(f->state, 60000000000u, on_drained, &drained);
	RUN_UNTIL(f, drained == 1);
	assert_int_equal(f->done[BP_FLEET_STORED], 1000);
	/* later ones are not delayed either, and it is called once */
	PUT(f, f->state, "k", "2", 1, .collapsible = true);
	RUN_UNTIL(f, f->done[BP_FLEET_STORED] == 1001);
	assert_int_equal(drained, 1);
}

/* The end of the process does not wait for a Redis that is away, and for a hung one only so long.
 */
static void the_end_is_bounded(void **state)
{
	struct fixture *f = *state;
	unsigned drained = 0;

	configure_redis(f, "");
	f->config->fleet.state.timeout_ns = 60000000000u;
	start_both(f);
	kill(f->redis.pid, SIGSTOP);
	PUT(f, f->state, "k", "1", 1, .collapsible = true);
	bp_fleet_state_drain(f->state, 50000000u, on_drained, &drained);
	RUN_UNTIL(f, drained == 1);
	assert_int_equal(f->done[BP_FLEET_STORED], 0);
	kill(f->redis.pid, SIGCONT);
	test_redis_kill(&f->redis);
	f->other = start(f);
	PUT(f, f->other, "k", "1", 1, .collapsible = true);
	bp_fleet_state_drain(f->other, 60000000000u, on_drained, &drained);
	RUN_UNTIL(f, drained == 2);
}

static void what_waits_at_the_end_is_reported(void **state)
{
	struct fixture *f = *state;

	f->state = start(f);
	PUT(f, f->state, "k", "1", 1, .ttl_ms = 0);
	PUT(f, f->state, "k", "2", 2, .collapsible = true);
	assert_true(bp_fleet_state_get(f->state, "k", on_got, f));
	bp_fleet_state_free(f->state);
	f->state = NULL;
	assert_int_equal(f->done[BP_FLEET_LOST], 2);
	assert_int_equal(f->n_got, 1);
	assert_false(f->got.known);
}

#define TEST(f_) cmocka_unit_test_setup_teardown(f_, setup, teardown)

/* Of a server that is not one, for example. */
static void error_text_of_any_bytes(void **state)
{
	struct fixture *f = *state;
	json_t *status;

	f->state = start(f);
	bp_fleet_on_down(f->state, BP_FLEET_ERROR_REFUSED, "a \xff\xc3 text");
	status = bp_fleet_state_status(f->state);
	assert_non_null(status);
	assert_non_null(
		strstr(json_string_value(json_object_get(status, "last_error")), ": a ?? text"));
	json_decref(status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_value_is_stored_read_and_deleted),
		TEST(an_older_write_overwrites_nothing),
		TEST(entries_belong_to_their_value),
		TEST(no_value_without_its_entries),
		TEST(a_shared_value_is_compared_by_its_version),
		TEST(collapsible_writes_of_a_key_become_one),
		TEST(writes_wait_while_redis_is_away),
		TEST(a_stopped_redis_is_left_by_timeout),
		TEST(an_idle_connection_is_checked),
		TEST(a_full_redis_delays_writes_and_answers_reads),
		TEST(full_redis_answers_reads_after_a_reconnect),
		TEST(full_redis_delays_a_new_epoch),
		TEST(errors_are_counted_by_reason),
		TEST(error_text_of_any_bytes),
		TEST(value_of_any_length),
		TEST(the_queue_is_bounded),
		TEST(the_bytes_of_the_queue_are_bounded),
		TEST(a_write_whose_time_has_passed_is_not_sent),
		TEST(sentinel_finds_the_master_after_a_failover),
		TEST(certificates_are_verified),
		TEST(the_fault_begins_and_ends),
		TEST(a_write_keeps_an_earlier_epoch),
		TEST(exhausted_epochs),
		TEST(implausible_epoch_of_a_value),
		TEST(implausible_epoch_beside_a_plausible_one),
		TEST(implausible_epoch_before_the_first_one),
		TEST(epoch_is_restored_with_an_implausible_one),
		TEST(impossible_epoch_of_a_value),
		TEST(changes_are_written_at_the_end),
		TEST(the_end_is_bounded),
		TEST(what_waits_at_the_end_is_reported),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
