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
		bool first;
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
		step = bp_trace_step_json(&s, r);
		assert_true(step == NULL || bp_trace_step_frame(r, &number, &first));
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

/* A record cannot have more parts than a worker writes: memory for steps is bounded. */
static void steps_with_too_many_parts_are_damaged(void **state)
{
	static uint64_t bytes[8192];
	static const struct bp_trace_step good,
		bad[] = {{.n_next = BP_TRACE_NEXT_MAX + 1}, {.n_counts = BP_TRACE_COUNTS_MAX + 1},
			{.n_rules = BP_TRACE_RULES_MAX + 1}, {.n_alarms = BP_TRACE_ALARMS_MAX + 1},
			{.n_bytes = BP_TRACE_BYTES_MAX + 1}, {.event = BP_TRACE_EVENTS}};
	struct bp_capture_record *r = (void *)bytes;
	struct bp_capture_session s;
	json_t *step;

	session_open(&s);
	r->head = (struct bp_capture_record_head){sizeof(bytes), BP_CAPTURE_RECORD_TRACE};
	r->captured = (uint32_t)(sizeof(bytes) - sizeof(*r));
	memcpy(r->data, &good, sizeof(good));
	step = bp_trace_step_json(&s, r);
	assert_non_null(step);
	json_decref(step);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(r->data, &bad[i], sizeof(bad[i]));
		assert_null(bp_trace_step_json(&s, r));
	}
	bp_segment_close(s.view.segment);
}

/* A client chooses its identifier, and who writes the segment the names. */
static void control_characters_do_not_reach_the_terminal(void **state)
{
	static const char evil[] = "a\x1b]0;x\x07\r\n\xc2\x9b\x7f";
	json_t *steps = json_pack("[{ss ss s[{ss ss ss}] s{ss ss ss ss ss ss}}]", "event",
		"processed", "node", "mqtt", "rules", "rule", evil, "raise", "> 80", "verdict",
		"raised", "connection", "client", "10.0.0.1:4", "client_id", evil, "broker",
		"10.0.0.2:1883", "connection", "open", "to_broker", "inspecting", "from_broker",
		"inspecting");
	json_t *trace = bp_trace_json(1, steps);
	char *out = NULL;
	size_t n, lines = 0;
	FILE *f = open_memstream(&out, &n);

	assert_non_null(trace);
	bp_trace_print(trace, f);
	fclose(f);
	for (const char *c = out; *c != '\0'; c++) {
		lines += *c == '\n';
		assert_true((*c >= ' ' && *c <= '~') || *c == '\n');
	}
	assert_int_equal(lines, 6); /* the frame, the node, connection, rule, outcome, blank */
	assert_non_null(strstr(out, "rule a\\x1b]0;x\\x07\\x0d\\x0a\\x9b\\x7f: raise"));
	assert_non_null(strstr(out, " of client a\\x1b]0;x"));
	free(out);
	json_decref(trace);
}

/* The thread of the host interfaces has no steps. */
static void punted_frames_are_queued_for_the_kernel(void **state)
{
	json_t *trace = bp_trace_json(
		1, json_pack("[{ss ss s[{ss ss}]} {ss ss}]", "event", "processed", "node", "ip4",
			   "counters", "group", "detail", "name", "punt_no_route", "event",
			   "processed", "node", "exception"));

	assert_string_equal(json_string_value(json_object_get(trace, "outcome")),
		"queued for the kernel: punt_no_route");
	json_decref(trace);
	trace = bp_trace_json(1, json_pack("[{ss ss}]", "event", "processed", "node", "mqtt"));
	assert_string_equal(json_string_value(json_object_get(trace, "outcome")),
		"not known: held in node mqtt, or steps were lost");
	json_decref(trace);
}

/* A session with a worker whose ring is full of records of this size. */
static void fill_ring(struct bp_capture_session *s, uint32_t size)
{
	const struct bp_capture_tables *t = &s->view.shm.capture;
	const struct bp_capture_record r = {
		.head = {size, BP_CAPTURE_RECORD_FRAME}, .slots = 1, .generation = 1};
	struct bp_capture_ring_shared *ring;

	session_open(s);
	ring = bp_capture_ring_of(t, 0);
	s->n_workers = 1;
	s->worker = calloc(1, sizeof(*s->worker));
	assert_non_null(s->worker);
	s->worker->record = aligned_alloc(8, (BP_CAPTURE_RECORD_MAX + 7) & ~7u);
	assert_non_null(s->worker->record);
	bp_capture_reader_init(&s->worker->reader, ring, t->ring_capacity);
	for (uint64_t at = 0; at < t->ring_capacity; at += size)
		memcpy(ring->data + at, &r, sizeof(r));
}

/* The head is far away when the command looks, and always just ahead while it reads. */
static void moving_head_does_not_keep_the_command_reading(void **state)
{
	struct bp_capture_session s;
	struct bp_capture_ring_shared *ring;
	uint64_t n = 0, capacity;

	fill_ring(&s, 64);
	ring = bp_capture_ring_of(&s.view.shm.capture, 0);
	capacity = s.view.shm.capture.ring_capacity;
	atomic_store(&ring->head, 1ull << 60);
	bp_capture_session_look(&s);
	do {
		assert_true(n <= capacity / 64);
		atomic_store(&ring->head, s.worker->reader.cursor + 4096);
		atomic_store(&ring->reserved, s.worker->reader.cursor + 4096);
		n++;
	} while (bp_capture_session_next(&s, UINT64_MAX) != NULL);
	assert_int_equal(n, capacity / 64 + 1);
	bp_capture_session_look(&s);
	assert_non_null(bp_capture_session_next(&s, UINT64_MAX));
	free(s.worker->record);
	free(s.worker);
	bp_segment_close(s.view.segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_one_line),
		cmocka_unit_test(truncated_frames_are_read_to_their_end),
		cmocka_unit_test(any_bytes_are_printed),
		cmocka_unit_test(damaged_steps_do_no_harm),
		cmocka_unit_test(steps_with_too_many_parts_are_damaged),
		cmocka_unit_test(control_characters_do_not_reach_the_terminal),
		cmocka_unit_test(punted_frames_are_queued_for_the_kernel),
		cmocka_unit_test(moving_head_does_not_keep_the_command_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
