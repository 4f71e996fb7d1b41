/* SPDX-License-Identifier: BSD-3-Clause */
/* Traced frames: each step, and that all frames leave as they do without a trace. */
#include "biplane/counters/general.h"
#include "dataplane/capture/trace.h"
#include "tests/unit/dataplane/capture/capture_rig.h"

#define SWITCH                                                                                     \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b, c]}]\n"
enum { A, B, C };

static uint8_t f[1500];

/* A step in a record, and its parts. */
struct step {
	const struct bp_capture_record *record;
	struct bp_trace_step head;
	const struct bp_trace_next *next;
	const struct bp_trace_count *count;
};

static struct step must_step(struct bp_capture_reader *reader, enum bp_trace_event event)
{
	struct step s = {.record = must(reader)};

	assert_int_equal(s.record->head.kind, BP_CAPTURE_RECORD_TRACE);
	memcpy(&s.head, s.record->data, sizeof(s.head));
	assert_int_equal(s.head.event, event);
	assert_true(s.record->captured <= BP_TRACE_STEP_MAX);
	s.next = (const void *)(s.record->data + sizeof(s.head));
	s.count = (const void *)(s.next + s.head.n_next);
	return s;
}

static const char *node_name(const struct rig *r, unsigned index)
{
	struct bp_worker *const workers[] = {r->worker};

	bp_publish_nodes((struct bp_shm *)(uintptr_t)&r->shm, workers, 1);
	assert_true(index < BP_MAX_NODES);
	return r->shm.nodes[index].name;
}

static bool counted(const struct step *s, bp_counter_t counter, uint32_t n)
{
	for (unsigned i = 0; i < s->head.n_counts; i++)
		if (s->count[i].counter == counter && s->count[i].n == n)
			return true;
	return false;
}

static void start_trace(struct rig *r, unsigned slot, const char *filter, uint32_t frames)
{
	new_request(slot + 100)->kind = BP_CAPTURE_TRACE;
	request.tx = 0;
	request.frames = frames;
	if (filter)
		filter_request(filter);
	write_request(r, slot);
	apply(r);
}

static void send_one(struct rig *r, unsigned port, uint32_t len, uint8_t src, uint8_t dst)
{
	frame_make(f, len, src, dst, 0x0800);
	rig_put(r, port, f, len);
	rig_walk(r);
}

static void forwarded_frame_has_a_step_for_each_node(void **state)
{
	struct bp_capture_reader reader;
	struct step s;
	struct rig r;

	capture_start(&r, SWITCH);
	send_one(&r, B, 64, 2, 1); /* learns station 2 */
	rig_expect(&r, A, f, 64);
	rig_expect(&r, C, f, 64);
	reader = reader_of(&r);
	start_trace(&r, 2, NULL, 10);
	send_one(&r, A, 100, 1, 2);
	s = must_step(&reader, BP_TRACE_RECEIVED);
	assert_int_equal(s.record->slots, 1 << 2);
	assert_int_equal(s.record->port, A);
	assert_int_equal(s.record->length, 100);
	assert_string_equal(node_name(&r, s.record->node), "bp_port_rx-0-0");
	s = must_step(&reader, BP_TRACE_NODE);
	assert_string_equal(node_name(&r, s.record->node), "bp_bridge");
	assert_int_equal(s.head.n_next, 1);
	assert_string_equal(node_name(&r, s.next[0].node), "bp_port_tx-1");
	assert_int_equal(s.next[0].frames, 1);
	s = must_step(&reader, BP_TRACE_SENT);
	assert_int_equal(s.record->port, B);
	s = must_step(&reader, BP_TRACE_NODE);
	assert_string_equal(node_name(&r, s.record->node), "bp_port_tx-1");
	assert_int_equal(s.head.n_next, 0);
	assert_null(next_record(&reader));
	rig_expect(&r, B, f, 100);
	capture_stop(&r);
}

static void flooded_frame_is_followed_to_each_port(void **state)
{
	unsigned sent = 0;
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct step s;
	struct rig r;

	capture_start(&r, SWITCH);
	reader = reader_of(&r);
	start_trace(&r, 0, NULL, 10);
	send_one(&r, A, 100, 1, 2);
	must_step(&reader, BP_TRACE_RECEIVED);
	s = must_step(&reader, BP_TRACE_NODE);
	assert_int_equal(s.head.n_next, 2);
	while ((c = next_record(&reader)) != NULL) {
		memcpy(&s.head, c->data, sizeof(s.head));
		sent += s.head.event == BP_TRACE_SENT ? 1u << c->port : 0;
		assert_int_equal(s.head.frame, 1);
	}
	assert_int_equal(sent, 1 << B | 1 << C);
	rig_expect(&r, B, f, 100);
	rig_expect(&r, C, f, 100);
	capture_stop(&r);
}

static void dropped_frame_has_its_reason(void **state)
{
	struct bp_capture_reader reader;
	struct step s;
	struct rig r;

	capture_start(&r, SWITCH);
	send_one(&r, A, 64, 1, 9);
	reader = reader_of(&r);
	start_trace(&r, 0, "ether src 02:00:00:00:00:03", 10);
	send_one(&r, A, 64, 3, 1);
	must_step(&reader, BP_TRACE_RECEIVED);
	s = must_step(&reader, BP_TRACE_NODE);
	assert_string_equal(node_name(&r, s.next[0].node), "bp_drop");
	s = must_step(&reader, BP_TRACE_NODE);
	assert_string_equal(node_name(&r, s.record->node), "bp_drop");
	assert_true(counted(&s, BP_C_DROP_HAIRPIN, 1));
	assert_null(next_record(&reader));
	capture_stop(&r);
}

/* A burst of which some are traced: all leave in their order, as without a trace. */
static void other_frames_are_not_disturbed(void **state)
{
	unsigned received = 0;
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, SWITCH);
	send_one(&r, B, 64, 2, 1);
	rig_expect(&r, A, f, 64);
	rig_expect(&r, C, f, 64);
	reader = reader_of(&r);
	start_trace(&r, 0, "ether[12:2] & 3 = 1", 1000);
	for (unsigned i = 0; i < 60; i++) {
		frame_make(f, 64, 1, 2, (uint16_t)(0x8000 + i));
		rig_put(&r, A, f, 64);
	}
	rig_walk(&r);
	for (unsigned i = 0; i < 60; i++) {
		frame_make(f, 64, 1, 2, (uint16_t)(0x8000 + i));
		rig_expect(&r, B, f, 64);
	}
	while ((c = next_record(&reader)) != NULL) {
		struct bp_trace_step head;

		memcpy(&head, c->data, sizeof(head));
		received += head.event == BP_TRACE_RECEIVED;
	}
	assert_int_equal(received, 15);
	capture_stop(&r);
}

static void number_of_frames_is_bounded(void **state)
{
	unsigned received = 0;
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, SWITCH);
	reader = reader_of(&r);
	start_trace(&r, 0, NULL, 3);
	for (unsigned i = 0; i < 20; i++)
		send_one(&r, A, 64, 1, 2);
	/* another change does not begin it again */
	start_trace(&r, 1, "ip6", 3);
	send_one(&r, A, 64, 1, 2);
	while ((c = next_record(&reader)) != NULL) {
		struct bp_trace_step head;

		memcpy(&head, c->data, sizeof(head));
		received += head.event == BP_TRACE_RECEIVED;
	}
	assert_int_equal(received, 3);
	capture_stop(&r);
}

/* Beside a capture of the same frames. */
static void trace_and_capture_are_separate(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, SWITCH);
	new_request(5)->tx = 0;
	write_request(&r, 7);
	start_trace(&r, 0, NULL, 3);
	reader = reader_of(&r);
	send_one(&r, A, 64, 1, 2);
	assert_int_equal(must_step(&reader, BP_TRACE_RECEIVED).record->slots, 1);
	assert_int_equal(must(&reader)->slots, 1 << 7);
	assert_int_equal(matched(&r, 7, A), 1);
	assert_int_equal(matched(&r, 0, A), 1);
	capture_stop(&r);
}

static unsigned index_of(const struct rig *r, const char *name)
{
	unsigned i = 0;

	while (strcmp(node_name(r, i), name) != 0)
		i++;
	return i;
}

static void capture_drops(struct rig *r, unsigned slot)
{
	new_request(slot + 100)->drops = 1;
	request.rx = request.tx = 0;
	write_request(r, slot);
	apply(r);
}

/* The next record of a dropped frame, among the steps of a trace. */
static const struct bp_capture_record *must_drop(struct bp_capture_reader *reader)
{
	const struct bp_capture_record *c;

	do
		c = must(reader);
	while (c->head.kind != BP_CAPTURE_RECORD_FRAME);
	assert_int_equal(c->point, BP_CAPTURE_DROP);
	return c;
}

/* Four frames that the bridge drops, of which a trace may follow one. */
static void drop_four(struct rig *r, struct bp_capture_reader *reader)
{
	for (unsigned i = 0; i < 4; i++) {
		frame_make(f, 64, 3, 1, (uint16_t)(0x8000 + i));
		rig_put(r, A, f, 64);
	}
	rig_walk(r);
	for (unsigned i = 0; i < 4; i++) {
		const struct bp_capture_record *c = must_drop(reader);

		assert_int_equal(c->data[13], i);
		assert_int_equal(c->node, index_of(r, "bp_bridge"));
	}
}

/* What was dropped before the capture began is not taken for its frames. */
static void drops_before_a_capture_are_forgotten(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, SWITCH);
	send_one(&r, A, 64, 1, 9);
	start_trace(&r, 0, "ip6", 10);
	for (unsigned i = 0; i < BP_MAX_NODES; i++)
		send_one(&r, A, 64, 3, 1);
	reader = reader_of(&r);
	capture_drops(&r, 1);
	drop_four(&r, &reader);
	capture_stop(&r);
}

/* A traced frame splits the burst of node drop. */
static void drops_of_a_split_burst_have_their_node(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, SWITCH);
	send_one(&r, A, 64, 1, 9);
	reader = reader_of(&r);
	start_trace(&r, 0, "ether[12:2] = 0x8001", 10);
	capture_drops(&r, 1);
	drop_four(&r, &reader);
	drop_four(&r, &reader);
	capture_stop(&r);
}

static void rejected_frame_is_lost(void **state)
{
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	unsigned sent = 0, lost = 0;
	struct rig r;

	capture_start(&r, SWITCH);
	send_one(&r, B, 64, 2, 1);
	rig_expect(&r, A, f, 64);
	rig_expect(&r, C, f, 64);
	reader = reader_of(&r);
	start_trace(&r, 0, NULL, 1000);
	for (unsigned i = 0; i < 70; i++)
		send_one(&r, A, 64, 1, 2);
	while ((c = next_record(&reader)) != NULL) {
		struct bp_trace_step head;

		memcpy(&head, c->data, sizeof(head));
		sent += head.event == BP_TRACE_SENT;
		lost += head.event == BP_TRACE_LOST;
		if (head.event == BP_TRACE_LOST)
			assert_int_equal(c->reason, BP_C_DROP_TX_FULL);
	}
	assert_int_equal(sent, RIG_DEPTH - 1);
	assert_int_equal(lost, 70 - sent);
	capture_stop(&r);
}

/* A frame waits in a queue while its trace ends, and another trace gets the slot. */
static void held_frame_is_not_of_the_next_trace(void **state)
{
	struct bp_capture_reader reader;
	struct bp_trace_sending sending;
	struct rte_mbuf *m;
	uint64_t since;
	struct rig r;

	capture_start(&r, SWITCH);
	reader = reader_of(&r);
	start_trace(&r, 0, NULL, 10);
	m = rte_pktmbuf_alloc(r.pool);
	assert_non_null(m);
	assert_non_null(rte_pktmbuf_append(m, 64));
	bp_trace_received(r.worker->capture->trace, m, A, 1, 0);
	since = must_step(&reader, BP_TRACE_RECEIVED).record->generation + 1;
	request.kind = BP_CAPTURE_NONE;
	write_request(&r, 0);
	apply(&r);
	start_trace(&r, 0, NULL, 10);
	bp_trace_sending(r.worker->capture->trace, &m, 1, &sending);
	bp_trace_sent(r.worker->capture->trace, &sending, 1, 1, B, 0, 0);
	assert_true(must_step(&reader, BP_TRACE_SENT).record->generation < since);
	bp_trace_received(r.worker->capture->trace, m, A, 1, 0);
	assert_true(must_step(&reader, BP_TRACE_RECEIVED).record->generation >= since);
	rte_pktmbuf_free(m);
	capture_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forwarded_frame_has_a_step_for_each_node),
		cmocka_unit_test(flooded_frame_is_followed_to_each_port),
		cmocka_unit_test(dropped_frame_has_its_reason),
		cmocka_unit_test(other_frames_are_not_disturbed),
		cmocka_unit_test(number_of_frames_is_bounded),
		cmocka_unit_test(trace_and_capture_are_separate),
		cmocka_unit_test(drops_before_a_capture_are_forgotten),
		cmocka_unit_test(drops_of_a_split_burst_have_their_node),
		cmocka_unit_test(rejected_frame_is_lost),
		cmocka_unit_test(held_frame_is_not_of_the_next_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
