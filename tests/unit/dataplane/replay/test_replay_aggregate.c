/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregation in replay: held aggregates leave when they are due, also if no frame arrives then. */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"
#include "tests/unit/dataplane/replay/replay_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/replay/capture.h"

#define T0 1700000000000000000ull
#define US 1000u
#define WIRE                                                                                       \
	"version: 1\nports:\n"                                                                     \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"
#define MAKE(rest_)                                                                                \
	"aggregation:\n  encapsulate:\n  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, "    \
	"max_messages: 8" rest_ "}\n"
#define TAKE(rest_)                                                                                \
	"aggregation:\n  decapsulate:\n  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, "    \
	"allowed_senders: "                                                                        \
	"[10.0.0.0/24]" rest_ "}\n"

/* Messages 0, 1, ... at these times after T0. */
static void capture(const char *name, const int64_t *us, unsigned n)
{
	struct replay_capture *c = replay_capture_begin(name);

	for (unsigned i = 0; i < n; i++) {
		const struct udp u = agg_message(i);
		uint8_t f[UDP_FRAME_MAX];

		replay_capture_put(c, T0 + (uint64_t)(us[i] * (int64_t)US), f, agg_frame(&u, f));
	}
	replay_capture_end(c);
}

static json_t *statistics(const struct bp_shm *shm)
{
	return json_pack("{sI sI}", "messages", (json_int_t)shm->agg.stats->messages, "stop",
		(json_int_t)shm->agg.stats->flushed[BP_AGG_FLUSH_STOP]);
}

static void print_statistics(const json_t *j, FILE *out)
{
	fprintf(out, "messages: %d\n", (int)json_integer_value(json_object_get(j, "messages")));
}

static bool present(const struct bp_shm *shm)
{
	return shm->agg.plan != NULL;
}

static const struct bp_replay_part part = {"aggregation", statistics, print_statistics, present};
static const struct bp_replay_part *const parts[] = {&part};
static const struct bp_replay_options with_statistics = {.parts = parts, .n_parts = 1};
static const struct replay_way a_to_b = {"a", "in.pcap", "b", "out.pcap"};

/* When the frames of a capture left, in microseconds after T0; bytes of each. */
static unsigned times(const char *name, int64_t us[64], uint32_t len[64])
{
	struct bp_captures *c = bp_captures_create();
	struct bp_capture_frame f;
	char err[256];
	unsigned n = 0;

	assert_int_equal(bp_captures_add(c, replay_path(name), err, sizeof(err)), 0);
	for (; bp_captures_next(c, &f); n++) {
		assert_true(n < 64);
		assert_int_equal((int64_t)(f.time_ns - T0) % (int64_t)US, 0);
		us[n] = (int64_t)(f.time_ns - T0) / (int64_t)US;
		len[n] = f.len;
	}
	assert_null(bp_captures_error(c, 0));
	bp_captures_free(c);
	return n;
}

static unsigned messages_in(uint32_t len)
{
	/* header 58, the first entry 9, the others 3 or 4, payloads 16 */
	return (len - 58 - 9 + 4) / 20 + ((len - 58 - 9 + 4) % 20 != 0);
}

/* Between frames, with a frame at that very time, and after the last. */
static void deadlines_are_exact(void **state)
{
	static const int64_t in[] = {0, 300, 999, 1000, 4200};
	static const int64_t want[] = {1000, 2000, 5200};
	static const unsigned held[] = {3, 1, 1};
	int64_t us[64];
	uint32_t len[64];

	capture("in.pcap", in, 5);
	json_decref(replay_json(WIRE MAKE(", max_delay: 1ms"), &a_to_b, with_statistics));
	assert_int_equal(times("out.pcap", us, len), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(us[i], want[i]);
		assert_int_equal(messages_in(len[i]), held[i]);
	}
}

/* Without max_delay they would wait for ever: they leave when there is no more to come. */
static void the_end_is_a_stop(void **state)
{
	static const int64_t in[] = {0, 10, 20};
	int64_t us[64];
	uint32_t len[64];
	json_t *j;

	capture("in.pcap", in, 3);
	j = replay_json(WIRE MAKE(", max_delay: unlimited"), &a_to_b, with_statistics);
	assert_int_equal(times("out.pcap", us, len), 1);
	assert_int_equal(us[0], 20);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(j, "aggregation"), "stop")), 1);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(j, "aggregation"), "messages")),
		3);
	json_decref(j);
}

/* A capture merged by another tool: clocks for ages do not go back. */
static void clock_going_backwards(void **state)
{
	static const int64_t in[] = {5000, 100, 200, 5100, 7000};
	int64_t us[64];
	uint32_t len[64];

	capture("in.pcap", in, 5);
	json_decref(replay_json(WIRE MAKE(", max_delay: 1ms"), &a_to_b, with_statistics));
	assert_int_equal(times("out.pcap", us, len), 2);
	assert_int_equal(us[0], 6000);
	assert_int_equal(messages_in(len[0]), 4);
	assert_int_equal(us[1], 8000);
}

static void pace_is_exact(void **state)
{
	static const struct replay_way there = {"a", "in.pcap", "b", "between.pcap"};
	static const struct replay_way back = {"b", "between.pcap", "a", "out.pcap"};
	static const int64_t in[] = {0, 0, 0, 0, 0, 0, 0, 0, 30, 30, 30, 30, 30, 30, 30, 30};
	int64_t us[64];
	uint32_t len[64];

	capture("in.pcap", in, 16);
	json_decref(replay_json(WIRE MAKE(""), &there, with_statistics));
	assert_int_equal(times("between.pcap", us, len), 2);
	json_decref(replay_json(WIRE TAKE(", pacing_gap: 10us"), &back, with_statistics));
	assert_int_equal(times("out.pcap", us, len), 16);
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(us[i], 10 * i);
		assert_int_equal(len[i], 42 + AGG_PAYLOAD);
	}
}

/* The same input gives the same output, byte for byte. */
static void is_deterministic(void **state)
{
	struct bp_replay_options as_json = with_statistics;
	char *report[2], *text;
	char *data[2];
	size_t n[2];
	int64_t in[40];

	for (unsigned i = 0; i < 40; i++)
		in[i] = 37 * (int64_t)i;
	capture("in.pcap", in, 40);
	as_json.json = true;
	for (unsigned i = 0; i < 2; i++) {
		FILE *f;

		report[i] = replay_text(WIRE MAKE(", max_delay: 200us"), &a_to_b, as_json);
		data[i] = malloc(65536);
		f = fopen(replay_path("out.pcap"), "r");
		assert_non_null(f);
		n[i] = fread(data[i], 1, 65536, f);
		fclose(f);
	}
	assert_true(n[0] > 1000);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(data[0], data[1], n[0]);
	assert_string_equal(report[0], report[1]);
	text = replay_text(WIRE MAKE(", max_delay: 200us"), &a_to_b, with_statistics);
	assert_non_null(strstr(text, "messages: 40\n"));
	free(text);
	for (unsigned i = 0; i < 2; i++) {
		free(report[i]);
		free(data[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines_are_exact),
		cmocka_unit_test(the_end_is_a_stop),
		cmocka_unit_test(clock_going_backwards),
		cmocka_unit_test(pace_is_exact),
		cmocka_unit_test(is_deterministic),
	};

	return cmocka_run_group_tests(tests, replay_set_up, replay_tear_down);
}
