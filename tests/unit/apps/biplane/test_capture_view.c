/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands capture and trace print of frames and records that another process wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/biplane/capture/frame_text.h"
#include "apps/biplane/capture/trace_view.h"
#include "config/config.h"
#include "config/segment.h"
#include "shm/capture/trace.h"
#include "tests/unit/shm/test.h"

static uint8_t frame[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 5, 8, 0, 0x45, 0, 0, 40,
	0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40, 7, 0x5b, 0, 0, 0, 1, 0, 0, 0,
	1, 0x50, 0x12, 0, 0, 0, 0, 0, 0};

static void frames_are_one_line(void **state)
{
	char text[BP_FRAME_TEXT];

	bp_frame_text(frame, sizeof(frame), text);
	assert_string_equal(text, "02:00:00:00:00:01 > 02:00:00:00:00:02 vlan 5 10.0.0.1:40000 > "
				  "10.0.0.2:1883 TCP SYN ACK");
	frame[24] = 0;
	frame[25] = 1; /* a later fragment */
	bp_frame_text(frame, sizeof(frame), text);
	assert_string_equal(text, "02:00:00:00:00:01 > 02:00:00:00:00:02 vlan 5 10.0.0.1 > "
				  "10.0.0.2 TCP fragment");
	frame[24] = frame[25] = 0;
}

/* Each length, in memory of exactly that length. */
static void truncated_frames_are_read_to_their_end(void **state)
{
	char text[BP_FRAME_TEXT];

	for (uint32_t n = 0; n <= sizeof(frame); n++) {
		uint8_t *copy = malloc(n != 0 ? n : 1);

		assert_non_null(copy);
		memcpy(copy, frame, n);
		bp_frame_text(copy, n, text);
		assert_true(strlen(text) > 0);
		free(copy);
	}
}

static void any_bytes_are_printed(void **state)
{
	char text[BP_FRAME_TEXT];
	uint64_t seed = 4;

	for (unsigned i = 0; i < 100000; i++) {
		const uint32_t n = test_below(&seed, 90);
		uint8_t *bytes = malloc(n + 1);

		assert_non_null(bytes);
		for (uint32_t k = 0; k < n; k++)
			bytes[k] = (uint8_t)(test_below(&seed, 3) ? frame[k % sizeof(frame)]
								  : test_random(&seed));
		bp_frame_text(bytes, n, text);
		for (const char *c = text; *c != '\0'; c++)
			assert_in_range(*c, ' ', '~');
		free(bytes);
	}
}

/* A session on a segment in memory. */
static void session_open(struct bp_capture_session *s)
{
	static const char yaml[] = "version: 1\nports:\n  - {name: a, device: x}\n"
				   "  - {name: b, device: y}\n"
				   "bridges: [{name: bridge0, ports: [a, b]}]\n";
	struct bp_config *c = bp_config_parse("f.yaml", yaml, strlen(yaml), stderr);
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	char err[512];

	assert_non_null(c);
	memset(s, 0, sizeof(*s));
	s->view.segment = bp_segment_anonymous(specs, bp_shm_specs(c, specs), err, sizeof(err));
	assert_non_null(s->view.segment);
	assert_int_equal(bp_shm_map(&s->view.shm, s->view.segment, err, sizeof(err)), 0);
	bp_config_free(c);
}

/* Records of a damaged segment: a step, or NULL, and nothing outside of the record is read. */
static void damaged_steps_do_no_harm(void **state)
{
	struct bp_capture_session s;
	unsigned good = 0, bad = 0;
	uint64_t seed = 9;

	session_open(&s);
	for (unsigned i = 0; i < 50000; i++) {
		const uint32_t n = 8 * test_below(&seed, 200);
		struct bp_capture_record *r = malloc(sizeof(*r) + n);
		struct bp_trace_step head = {.event = (uint16_t)test_below(&seed, 5),
			.n_bytes = (uint16_t)test_below(&seed, 200),
			.n_next = (uint8_t)test_below(&seed, 4),
			.n_counts = (uint8_t)test_below(&seed, 6),
			.n_rules = (uint8_t)test_below(&seed, 3),
			.n_alarms = (uint8_t)test_below(&seed, 3)};
		uint32_t number;
		json_t *step, *steps = json_array();

		assert_non_null(r);
		for (uint32_t k = 0; k < n; k++)
			r->data[k] = (uint8_t)test_random(&seed);
		*r = (struct bp_capture_record){
			.head = {(uint32_t)sizeof(*r) + n, BP_CAPTURE_RECORD_TRACE},
			.captured = n,
			.reason = (uint16_t)test_random(&seed),
			.node = (uint16_t)test_random(&seed),
			.port = (uint8_t)test_below(&seed, BP_MAX_PORTS + 1)};
		if (n >= sizeof(head) && test_below(&seed, 4) != 0)
			memcpy(r->data, &head, sizeof(head));
		step = bp_trace_step_json(&s, r, &number);
		good += step != NULL;
		bad += step == NULL;
		if (step != NULL) {
			FILE *null = fopen("/dev/null", "w");
			json_t *trace;

			json_array_append_new(steps, step);
			trace = bp_trace_json(1, steps);
			assert_non_null(trace);
			bp_trace_print(trace, null);
			json_decref(trace);
			fclose(null);
		} else {
			json_decref(steps);
		}
		free(r);
	}
	assert_true(good > 1000);
	assert_true(bad > 1000);
	bp_segment_close(s.view.segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_one_line),
		cmocka_unit_test(truncated_frames_are_read_to_their_end),
		cmocka_unit_test(any_bytes_are_printed),
		cmocka_unit_test(damaged_steps_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
