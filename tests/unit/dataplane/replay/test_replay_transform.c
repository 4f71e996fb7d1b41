/* SPDX-License-Identifier: BSD-3-Clause */
/* Transformation in replay: the file's own rules and matrices, and the report's part on them. */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/replay/replay_rig.h"
#include "tests/unit/dataplane/transform/transform_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/replay/capture.h"

#define FILE_                                                                                      \
	"version: 1\nports:\n"                                                                     \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"                                              \
	"transform:\n  entries:\n"                                                                 \
	"  - port: a\n"                                                                            \
	"    udp_port: 10000\n"                                                                    \
	"    layout: kunze2021\n"                                                                  \
	"    sources:\n"                                                                           \
	"      - address: 10.0.0.5\n"                                                              \
	"        receivers:\n"                                                                     \
	"          - {address: 10.1.0.9, udp_port: 20000, matrix: [[-1, 0, 0, 0.5], [0, -1, 0, "   \
	"1], "                                                                                     \
	"[0, 0, 1, 1.5]]}\n"                                                                       \
	"          - {address: 10.1.0.10, udp_port: 20001}\n"
#define READINGS 100u

static int capture(void **state)
{
	struct replay_capture *c;

	if (replay_set_up(state) != 0)
		return -1;
	c = replay_capture_begin("in.pcap");
	for (unsigned i = 0; i < READINGS; i++) {
		const struct udp u = x_reading(i);
		uint8_t f[UDP_FRAME_MAX];

		replay_capture_put(c, (uint64_t)i * 1000000000u, f, agg_frame(&u, f));
	}
	replay_capture_end(c);
	return 0;
}

static json_t *statistics(const struct bp_shm *shm)
{
	return json_pack("{sI sI}", "readings", (json_int_t)shm->transform.rule_stats->readings,
		"sent", (json_int_t)shm->transform.rule_stats->sent);
}

static void print_statistics(const json_t *j, FILE *out)
{
	fprintf(out, "readings: %d\n", (int)json_integer_value(json_object_get(j, "readings")));
}

static bool present(const struct bp_shm *shm)
{
	return shm->transform.head != NULL;
}

static const struct bp_replay_part report_part = {
	"transformation", statistics, print_statistics, present};
static const struct bp_replay_part *const parts[] = {&report_part};
static const struct bp_replay_options with_statistics = {.parts = parts, .n_parts = 1};
static const struct replay_way a_to_b = {"a", "in.pcap", "b", "out.pcap"};

static void expect(const struct bp_capture_frame *f, const struct udp *u)
{
	uint8_t frame[UDP_FRAME_MAX];

	assert_int_equal(f->len, agg_frame(u, frame));
	assert_memory_equal(f->data, frame, f->len);
}

static void readings_are_transformed_in_replay(void **state)
{
	const struct bp_transform_receiver to[2] = {
		x_receiver("10.1.0.9", 20000, 0.5), x_receiver("10.1.0.10", 20001, 0)};
	struct bp_captures *c = bp_captures_create();
	struct bp_capture_frame f;
	char err[256] = "", *text;
	json_t *j = replay_json(FILE_, &a_to_b, with_statistics), *part;

	part = json_object_get(j, "transformation");
	assert_int_equal(json_integer_value(json_object_get(part, "readings")), READINGS);
	assert_int_equal(json_integer_value(json_object_get(part, "sent")), 2 * READINGS);
	json_decref(j);
	assert_int_equal(bp_captures_add(c, replay_path("out.pcap"), err, sizeof(err)), 0);
	for (unsigned i = 0; i < READINGS; i++) {
		for (unsigned k = 0; k < 2; k++) {
			const struct udp u = x_result(i, &to[k]);

			assert_true(bp_captures_next(c, &f));
			assert_int_equal(f.time_ns, (uint64_t)i * 1000000000u);
			expect(&f, &u);
		}
	}
	assert_false(bp_captures_next(c, &f));
	bp_captures_free(c);
	text = replay_text(FILE_, &a_to_b, with_statistics);
	assert_non_null(strstr(text, "readings: 100\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_are_transformed_in_replay),
	};

	return cmocka_run_group_tests(tests, capture, replay_tear_down);
}
