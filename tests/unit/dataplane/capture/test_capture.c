/* SPDX-License-Identifier: BSD-3-Clause */
/* What a worker captures, where, and that nothing changes while it captures nothing. */
#include "biplane/counters/general.h"
#include "dataplane/capture/capture_points.h"
#include "tests/unit/dataplane/capture/capture_rig.h"

#define WIRE                                                                                       \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"
#define SWITCH                                                                                     \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b, c]}]\n"
#define A 0
#define B 1

static uint8_t f[1500];

static void send_one(struct rig *r, unsigned port, uint32_t len, uint8_t src, uint8_t dst)
{
	frame_make(f, len, src, dst, 0x0800);
	rig_put(r, port, f, len);
	rig_walk(r);
}

static void is_frame(
	const struct bp_capture_record *c, enum bp_capture_point point, unsigned port, uint32_t len)
{
	assert_int_equal(c->head.kind, BP_CAPTURE_RECORD_FRAME);
	assert_int_equal(c->point, point);
	assert_int_equal(c->port, port);
	assert_int_equal(c->length, len);
	assert_int_equal(c->captured, len);
	assert_memory_equal(c->data, f, len);
}

static void nothing_is_captured_without_a_request(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, WIRE);
	apply(&r);
	reader = reader_of(&r);
	send_one(&r, A, 64, 1, 2);
	assert_null(next_record(&reader));
	assert_int_equal(r.worker->capture_tx, 0);
	assert_false(r.worker->capture_drops);
	assert_false(r.worker->capture->wraps);
	capture_stop(&r);
}

static void received_and_sent_frames_are_captured(void **state)
{
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, WIRE);
	reader = reader_of(&r);
	new_request(7);
	write_request(&r, 3);
	apply(&r);
	assert_int_equal(atomic_load(&r.shm.capture.status[3].id), 7);
	r.worker->now_ns = 1234567890123456789ull;
	send_one(&r, A, 100, 1, 2);
	c = must(&reader);
	is_frame(c, BP_CAPTURE_RX, A, 100);
	assert_int_equal(c->time_ns, 1234567890123456789ull);
	assert_int_equal(c->slots, 1 << 3);
	assert_int_equal(c->generation, 1);
	is_frame(must(&reader), BP_CAPTURE_TX, B, 100);
	assert_null(next_record(&reader));
	assert_int_equal(matched(&r, 3, A), 1);
	assert_int_equal(matched(&r, 3, B), 1);
	rig_expect(&r, B, f, 100);
	capture_stop(&r);
}

static void ended_capture_captures_nothing(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, WIRE);
	new_request(7);
	request.drops = 1;
	write_request(&r, 0);
	apply(&r);
	send_one(&r, A, 64, 1, 2);
	memset(&request, 0, sizeof(request));
	write_request(&r, 0);
	apply(&r);
	assert_int_equal(atomic_load(&r.shm.capture.status[0].id), 0);
	reader = reader_of(&r);
	send_one(&r, A, 64, 1, 2);
	assert_null(next_record(&reader));
	assert_false(r.worker->capture->wraps);
	/* the command still reads how many there were */
	assert_int_equal(matched(&r, 0, A), 1);
	/* the next capture in the slot begins at 0 */
	new_request(8);
	write_request(&r, 0);
	apply(&r);
	assert_int_equal(matched(&r, 0, A), 0);
	capture_stop(&r);
}

static void ports_and_directions_are_selected(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, WIRE);
	reader = reader_of(&r);
	new_request(1)->ports = 1u << B;
	request.tx = 0;
	write_request(&r, 0);
	apply(&r);
	send_one(&r, A, 64, 1, 2);
	assert_null(next_record(&reader));
	send_one(&r, B, 64, 2, 1);
	is_frame(must(&reader), BP_CAPTURE_RX, B, 64);
	assert_null(next_record(&reader));
	capture_stop(&r);
}

static void filter_and_snap_length_apply(void **state)
{
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, WIRE);
	reader = reader_of(&r);
	new_request(1)->snap_length = 20;
	filter_request("ether src 02:00:00:00:00:05");
	write_request(&r, 0);
	apply(&r);
	send_one(&r, A, 64, 1, 2);
	assert_null(next_record(&reader));
	send_one(&r, A, 64, 5, 2);
	c = must(&reader);
	assert_int_equal(c->length, 64);
	assert_int_equal(c->captured, 20);
	assert_memory_equal(c->data, f, 20);
	capture_stop(&r);
}

/* One copy for several captures, long enough for each. */
static void captures_share_a_record(void **state)
{
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, WIRE);
	reader = reader_of(&r);
	new_request(1)->tx = 0;
	request.snap_length = 14;
	write_request(&r, 0);
	new_request(2)->tx = 0;
	request.snap_length = 40;
	write_request(&r, 5);
	new_request(3)->tx = 0;
	filter_request("ether src 02:00:00:00:00:05");
	write_request(&r, 7);
	apply(&r);
	send_one(&r, A, 64, 1, 2);
	c = must(&reader);
	assert_int_equal(c->slots, 1 << 0 | 1 << 5);
	assert_int_equal(c->captured, 40);
	send_one(&r, A, 64, 5, 2);
	c = must(&reader);
	assert_int_equal(c->slots, 1 << 0 | 1 << 5 | 1 << 7);
	assert_int_equal(c->captured, 64);
	assert_null(next_record(&reader));
	assert_int_equal(matched(&r, 0, A), 2);
	assert_int_equal(matched(&r, 7, A), 1);
	capture_stop(&r);
}

static unsigned node_index(const struct rig *r, const char *name)
{
	struct bp_worker *const workers[] = {r->worker};
	unsigned i = 0;

	bp_publish_nodes((struct bp_shm *)(uintptr_t)&r->shm, workers, 1);
	while (i < BP_MAX_NODES && strcmp(r->shm.nodes[i].name, name) != 0)
		i++;
	return i;
}

static void drops_have_reason_and_node(void **state)
{
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, SWITCH);
	send_one(&r, A, 64, 1, 2); /* learns the station 1 */
	reader = reader_of(&r);
	new_request(1)->drops = 1;
	request.rx = request.tx = 0;
	write_request(&r, 0);
	apply(&r);
	assert_true(r.worker->capture->wraps);
	for (unsigned i = 0; i < 20; i++) {
		send_one(&r, A, 64, 3, 1); /* to a station on the same port */
		c = must(&reader);
		is_frame(c, BP_CAPTURE_DROP, A, 64);
		assert_int_equal(c->reason, BP_C_DROP_HAIRPIN);
		assert_int_equal(c->node, node_index(&r, "bp_bridge"));
		assert_null(next_record(&reader));
	}
	/* forwarded normally */
	send_one(&r, B, 64, 2, 1);
	assert_null(next_record(&reader));
	assert_int_equal(rig_counter(&r, BP_C_DROP_HAIRPIN), 20);
	capture_stop(&r);
}

/* The driver accepts 63 frames: the others are drops, not sent frames. */
static void frames_that_the_driver_rejects_are_drops(void **state)
{
	unsigned sent = 0, dropped = 0;
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, WIRE);
	reader = reader_of(&r);
	new_request(1)->drops = 1;
	request.rx = 0;
	write_request(&r, 0);
	apply(&r);
	for (unsigned i = 0; i < 100; i++)
		send_one(&r, A, 64, 1, 2);
	while ((c = next_record(&reader)) != NULL) {
		sent += c->point == BP_CAPTURE_TX;
		dropped += c->point == BP_CAPTURE_DROP;
		assert_int_equal(c->port, B);
		if (c->point == BP_CAPTURE_DROP)
			assert_int_equal(c->reason, BP_C_DROP_TX_FULL);
	}
	assert_int_equal(sent, RIG_DEPTH - 1);
	assert_int_equal(dropped, 100 - sent);
	assert_int_equal(matched(&r, 0, B), 100);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_FULL), dropped);
	capture_stop(&r);
}

/* A burst of which the driver accepts a part. */
static void partly_accepted_burst_has_records_of_the_accepted(void **state)
{
	unsigned sent = 0, dropped = 0;
	struct bp_capture_reader reader;
	const struct bp_capture_record *c;
	struct rig r;

	capture_start(&r, WIRE);
	for (unsigned i = 0; i < 40; i++)
		send_one(&r, A, 64, 1, 2);
	reader = reader_of(&r);
	new_request(1)->drops = 1;
	request.rx = 0;
	write_request(&r, 0);
	apply(&r);
	for (unsigned i = 0; i < 40; i++) {
		frame_make(f, 64, 1, 2, (uint16_t)(0x8000 + i));
		rig_put(&r, A, f, 64);
	}
	rig_walk(&r);
	while ((c = next_record(&reader)) != NULL) {
		/* in order: the first are sent */
		assert_int_equal(c->data[13], sent + dropped);
		assert_true(c->point == BP_CAPTURE_TX ? dropped == 0 : c->point == BP_CAPTURE_DROP);
		sent += c->point == BP_CAPTURE_TX;
		dropped += c->point == BP_CAPTURE_DROP;
	}
	assert_int_equal(sent, RIG_DEPTH - 1 - 40);
	assert_int_equal(dropped, 40 - sent);
	capture_stop(&r);
}

#define BURST_MAX 150u /* more than two bursts of a filter */

/* A frame from station `src`, in one or two buffers. */
static struct rte_mbuf *burst_frame(struct rig *r, uint8_t src, bool chained)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);

	assert_non_null(m);
	m->port = A;
	frame_make(f, 64, src, 2, 0x0800);
	if (!chained) {
		memcpy(rte_pktmbuf_append(m, 64), f, 64);
		return m;
	}
	/* the filter needs both */
	memcpy(rte_pktmbuf_append(m, 8), f, 8);
	m->next = rte_pktmbuf_alloc(r->pool);
	assert_non_null(m->next);
	memcpy(rte_pktmbuf_append(m->next, 56), f + 8, 56);
	m->nb_segs = 2;
	m->pkt_len = 64;
	return m;
}

/* The stations that the slots select; slot 4: all, slot 6: none, for it is of another port. */
static const unsigned station_of[] = {[0] = 1, [2] = 2, [5] = 1, [7] = 3};

static uint8_t slots_of(unsigned src)
{
	uint8_t slots = 1 << 4;

	for (unsigned slot = 0; slot < sizeof(station_of) / sizeof(station_of[0]); slot++)
		if (station_of[slot] != 0 && station_of[slot] == src)
			slots |= (uint8_t)(1u << slot);
	return slots;
}

static void request_stations(struct rig *r, bool all)
{
	for (unsigned slot = 0; slot < 8; slot++) {
		char filter[40];

		if (station_of[slot] == 0 && slot != 6 && !(all && slot == 4))
			continue;
		new_request(slot + 1)->tx = 0;
		request.drops = 1;
		snprintf(filter, sizeof(filter), "ether src 02:00:00:00:00:%02x", station_of[slot]);
		if (station_of[slot] != 0)
			filter_request(filter);
		if (slot == 6)
			request.ports = 1u << B;
		write_request(r, slot);
	}
	apply(r);
}

/* Receives, or drops, a burst of which each frame has one of the stations 0 to 5. */
static void check_burst(struct rig *r, struct bp_capture_reader *reader, unsigned n, bool drops,
	bool all, uint64_t *seed)
{
	uint64_t before[BP_CAPTURE_SLOTS], want[BP_CAPTURE_SLOTS] = {0};
	struct rte_mbuf *m[BURST_MAX];
	uint8_t src[BURST_MAX];
	const unsigned chains = test_below(seed, 3);

	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++)
		before[slot] = matched(r, slot, A);
	for (unsigned i = 0; i < n; i++) {
		src[i] = (uint8_t)test_below(seed, 6);
		m[i] = burst_frame(r, src[i], test_below(seed, 3) < chains);
	}
	if (drops)
		bp_capture_dropped(r->worker, m, (uint16_t)n);
	else
		bp_capture_received(r->worker, A, m, (uint16_t)n);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t slots = slots_of(src[i]) & (uint8_t)(all ? 0xff : ~(1u << 4));
		const struct bp_capture_record *c;

		for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++)
			want[slot] += slots >> slot & 1;
		if (slots == 0)
			continue;
		c = must(reader);
		frame_make(f, 64, src[i], 2, 0x0800);
		is_frame(c, drops ? BP_CAPTURE_DROP : BP_CAPTURE_RX, A, 64);
		assert_int_equal(c->slots, slots);
	}
	assert_null(next_record(reader));
	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++)
		assert_int_equal(matched(r, slot, A) - before[slot], want[slot]);
	rte_pktmbuf_free_bulk(m, n);
}

/* Bursts of each length up to that of a filter, and longer ones, for several captures. */
static void each_frame_of_a_burst_has_its_captures(void **state)
{
	struct bp_capture_reader reader;
	uint64_t seed = 11;
	struct rig r;

	for (unsigned all = 0; all < 2; all++) {
		capture_start(&r, WIRE);
		reader = reader_of(&r);
		request_stations(&r, all != 0);
		for (unsigned n = 0; n <= BURST_MAX; n += n < 66 ? 1 : 28) {
			check_burst(&r, &reader, n, false, all != 0, &seed);
			check_burst(&r, &reader, n, true, all != 0, &seed);
		}
		capture_stop(&r);
	}
}

/* Frames of several buffers, of the longest size that the rig can make. */
static void long_frames_are_captured(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, WIRE);
	reader = reader_of(&r);
	new_request(1);
	filter_request("ether[1499] = 0xdb"); /* the last byte, which counts up */
	write_request(&r, 0);
	apply(&r);
	send_one(&r, A, 1500, 1, 2);
	if (f[1499] == 0xdb)
		is_frame(must(&reader), BP_CAPTURE_RX, A, 1500);
	else
		assert_null(next_record(&reader));
	capture_stop(&r);
}

/* A set is kept while a worker may use it, and no third one is made meanwhile. */
static void sets_wait_for_the_worker(void **state)
{
	struct bp_capture_sets *sets;
	struct rig r;

	capture_start(&r, WIRE);
	sets = r.worker->capture->sets;
	new_request(1);
	filter_request("tcp port 1883");
	write_request(&r, 0);
	assert_true(bp_capture_sets_poll(sets));
	new_request(2);
	write_request(&r, 1);
	assert_false(bp_capture_sets_poll(sets));
	assert_int_equal(atomic_load(&r.shm.capture.status[0].id), 0);
	bp_capture_check(r.worker);
	assert_true(bp_capture_sets_poll(sets));
	assert_int_equal(atomic_load(&r.shm.capture.status[0].id), 1);
	assert_int_equal(atomic_load(&r.shm.capture.status[1].id), 0);
	bp_capture_check(r.worker);
	assert_false(bp_capture_sets_poll(sets));
	assert_int_equal(atomic_load(&r.shm.capture.status[1].id), 2);
	assert_false(bp_capture_sets_poll(sets));
	capture_stop(&r);
}

/* A control plane that was killed while it wrote a slot. */
static void half_written_slot_is_read_later(void **state)
{
	struct bp_capture_sets *sets;
	struct rig r;

	capture_start(&r, WIRE);
	sets = r.worker->capture->sets;
	new_request(1);
	write_request(&r, 0);
	atomic_fetch_or(&r.shm.capture.slot[2].lock.generation, 1);
	assert_false(bp_capture_sets_poll(sets));
	new_request(2);
	write_request(&r, 2);
	assert_true(bp_capture_sets_poll(sets));
	capture_stop(&r);
}

static bool rings_are_empty(const struct rig *r)
{
	const uint8_t *data = bp_capture_ring_of(&r->shm.capture, 0)->data;
	uint8_t any = 0;

	for (uint64_t i = 0; i < r->shm.capture.ring_capacity; i++)
		any |= data[i];
	return any == 0;
}

/* The data plane was killed during a capture, which ended before the next one started. */
static void frames_of_a_killed_predecessor_are_cleared(void **state)
{
	struct bp_capture_sets *next;
	struct rig r;

	capture_start(&r, WIRE);
	new_request(1);
	write_request(&r, 0);
	apply(&r);
	send_one(&r, A, 100, 1, 2);
	assert_false(rings_are_empty(&r));
	bp_capture_end(r.worker);
	bp_capture_sets_free(r.worker->capture->sets);
	memset(&request, 0, sizeof(request));
	write_request(&r, 0);
	next = bp_capture_sets_create(&r.shm, 1);
	assert_non_null(next);
	bp_capture_sets_begin(next, 0);
	r.worker->capture->sets = next;
	apply(&r);
	assert_true(rings_are_empty(&r));
	capture_stop(&r);
}

/* One poll clears a part, and starts from the beginning after another capture. */
static void rings_are_cleared_in_parts(void **state)
{
	struct bp_capture_sets *sets;
	uint8_t *data;
	uint64_t size;
	struct rig r;

	capture_start(&r, WIRE "monitoring: {capture_buffer: 32MiB}\n");
	sets = r.worker->capture->sets;
	size = r.shm.capture.ring_capacity;
	data = bp_capture_ring_of(&r.shm.capture, 0)->data;
	assert_true(size > BP_CAPTURE_CLEAR_STEP && size <= 2 * BP_CAPTURE_CLEAR_STEP);
	for (unsigned i = 1; i <= 2; i++) {
		new_request(i);
		write_request(&r, 0);
		apply(&r);
		assert_int_equal(atomic_load(&r.shm.capture.status[0].id), i);
		memset(data, 0xdb, size);
		memset(&request, 0, sizeof(request));
		write_request(&r, 0);
		apply(&r);
		assert_int_equal(data[0] | data[BP_CAPTURE_CLEAR_STEP - 1], 0);
		assert_int_equal(data[BP_CAPTURE_CLEAR_STEP], 0xdb);
		assert_int_equal(data[size - 1], 0xdb);
	}
	assert_false(bp_capture_sets_poll(sets));
	assert_true(rings_are_empty(&r));
	memset(data, 0xdb, 8);
	assert_false(bp_capture_sets_poll(sets)); /* nothing is left to be cleared */
	assert_int_equal(data[0], 0xdb);
	capture_stop(&r);
}

/* A valid program of `divisions` and a return. */
static void costly_request(uint64_t id, unsigned divisions)
{
	new_request(id)->n_insns = divisions + 2;
	request.insn[0] = (struct bp_capture_insn){0x80, 0, 0, 0};
	for (unsigned i = 1; i <= divisions; i++)
		request.insn[i] = (struct bp_capture_insn){0x34, 0, 0, 3};
	request.insn[divisions + 1] = (struct bp_capture_insn){0x06, 0, 0, 1};
	assert_null(bp_capture_request_invalid(&request));
}

/* Whatever the control plane admitted: workers run filters up to the limit, in the order of the
 * slots. */
static void costly_filters_are_not_run(void **state)
{
	struct bp_capture_status *status;
	struct rig r;

	capture_start(&r, WIRE);
	status = r.shm.capture.status;
	costly_request(1, (BP_CAPTURE_COST_MAX - 2) / BP_CAPTURE_DIVISION_COST + 1);
	write_request(&r, 0);
	costly_request(2, BP_CAPTURE_COST_MAX / BP_CAPTURE_DIVISION_COST - 2);
	write_request(&r, 1);
	costly_request(3, 2);
	write_request(&r, 2);
	new_request(4);
	write_request(&r, 3);
	apply(&r);
	assert_int_equal(atomic_load(&status[0].id), 0);
	assert_int_equal(atomic_load(&status[1].id), 2);
	assert_int_equal(atomic_load(&status[2].id), 0);
	assert_int_equal(atomic_load(&status[3].id), 4); /* without a filter */
	memset(&request, 0, sizeof(request));
	write_request(&r, 1);
	apply(&r);
	assert_int_equal(atomic_load(&status[2].id), 3);
	capture_stop(&r);
}

/* Anything in the table of requests: the worker walks, and the main thread ends. */
static void damaged_requests_do_no_harm(void **state)
{
	static uint64_t seed = 5;
	uint8_t *bytes = (uint8_t *)&request;
	struct rig r;

	capture_start(&r, SWITCH);
	for (unsigned i = 0; i < 3000; i++) {
		new_request(i + 1);
		filter_request(i % 2 ? "tcp port 1883" : "ether[12:2] > 5");
		request.drops = 1;
		for (unsigned k = test_below(&seed, 12); k-- > 0;)
			bytes[test_below(
				&seed, test_below(&seed, 2) ? 64 : (uint32_t)sizeof(request))] =
				(uint8_t)test_random(&seed);
		write_request(&r, test_below(&seed, BP_CAPTURE_SLOTS));
		apply(&r);
		send_one(
			&r, i % 3, 60 + test_below(&seed, 100), (uint8_t)(i % 5), (uint8_t)(i % 7));
		for (unsigned p = 0; p < 3; p++) {
			struct rte_mbuf *m;

			while ((m = bp_ring_ports_take(&r.ports, p)) != NULL)
				rte_pktmbuf_free(m);
		}
	}
	capture_stop(&r);
}

/* Rules that change the first node of a port find port_rx although its function is replaced. */
static void graph_is_entered_while_it_is_wrapped(void **state)
{
	struct bp_capture_reader reader;
	struct rig r;

	capture_start(&r, WIRE);
	reader = reader_of(&r);
	new_request(1)->drops = 1;
	write_request(&r, 0);
	apply(&r);
	r.unconnected = 1; /* no edge of port_rx */
	r.worker->onward[A] = BP_EDGE_DROP;
	bp_graph_enter(r.worker);
	frame_make(f, 64, 1, 2, 0x0800);
	rig_put(&r, A, f, 64);
	rig_walk(&r);
	is_frame(must(&reader), BP_CAPTURE_RX, A, 64);
	assert_int_equal(must(&reader)->point, BP_CAPTURE_DROP);
	capture_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_captured_without_a_request),
		cmocka_unit_test(received_and_sent_frames_are_captured),
		cmocka_unit_test(ended_capture_captures_nothing),
		cmocka_unit_test(ports_and_directions_are_selected),
		cmocka_unit_test(filter_and_snap_length_apply),
		cmocka_unit_test(captures_share_a_record),
		cmocka_unit_test(drops_have_reason_and_node),
		cmocka_unit_test(frames_that_the_driver_rejects_are_drops),
		cmocka_unit_test(partly_accepted_burst_has_records_of_the_accepted),
		cmocka_unit_test(each_frame_of_a_burst_has_its_captures),
		cmocka_unit_test(long_frames_are_captured),
		cmocka_unit_test(sets_wait_for_the_worker),
		cmocka_unit_test(half_written_slot_is_read_later),
		cmocka_unit_test(frames_of_a_killed_predecessor_are_cleared),
		cmocka_unit_test(rings_are_cleared_in_parts),
		cmocka_unit_test(costly_filters_are_not_run),
		cmocka_unit_test(damaged_requests_do_no_harm),
		cmocka_unit_test(graph_is_entered_while_it_is_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
