/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LCL scheduling in replay: output's time stamps are departures. Three nodes in a row, the output
 * of one the input of the next: whatever each of them made a frame wait, in all it is d0 +- tau.
 */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"
#include "tests/unit/dataplane/replay/replay_rig.h"

#include <string.h>

#include "dataplane/replay/capture.h"

#define TAU 20000
#define BUDGET 150000
#define NODES 3u
#define TAU_AND_RATE "slot: 20us, queues: 6, link_rate: 1Gbps"
#define EDGE                                                                                       \
	AGG_PORTS "lcl:\n  ports:\n"                                                               \
		  "    - {port: b, " TAU_AND_RATE "}\n"                                            \
		  "  flows:\n"                                                                     \
		  "    - {name: f, match: {port: a, udp_port: 7000}, latency_budget: 150us, "      \
		  "hops: 3, "                                                                      \
		  "rate: 100Mbps, burst: 700, max_frame_size: 140, id: 7, output_port: b}\n"
#define NEXT                                                                                       \
	AGG_PORTS "lcl:\n  ports:\n"                                                               \
		  "    - {port: a, " TAU_AND_RATE ", trust_labels: true}\n"                        \
		  "    - {port: b, " TAU_AND_RATE "}\n"
#define BEGIN 1700000000123456789u
#define BURSTS 400u
#define IN_BURST 4u
#define FRAMES (BURSTS * IN_BURST)
#define OTHERS 3u /* best effort, to each burst */

/* When frame i of the flow came into the first node. */
static uint64_t came[FRAMES];

static uint32_t next_random(void)
{
	static uint32_t seed = 1;

	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static uint32_t datagram(uint32_t number, uint16_t dport, uint32_t bytes, uint8_t *f)
{
	static uint8_t payload[1024];
	struct udp u = agg_message(0);

	u.dport = dport;
	u.payload = payload;
	u.len = bytes - 42;
	memcpy(payload, &number, sizeof(number));
	return agg_frame(&u, f);
}

/* Bursts of short frames at any time, best effort among them. */
static void write_input(void)
{
	struct replay_capture *c = replay_capture_begin("0.pcap");
	uint64_t t = BEGIN;
	uint8_t f[UDP_FRAME_MAX];

	for (uint32_t b = 0; b < BURSTS; b++) {
		t += 30000 + next_random() % 60000;
		for (uint32_t i = 0; i < IN_BURST + OTHERS; i++) {
			t += 1 + next_random() % 1500;
			if (i < IN_BURST) {
				came[b * IN_BURST + i] = t;
				replay_capture_put(
					c, t, f, datagram(b * IN_BURST + i, 7000, 140, f));
			} else {
				replay_capture_put(
					c, t, f, datagram(0, 9000, 64 + next_random() % 900, f));
			}
		}
	}
	replay_capture_end(c);
}

static int set_up(void **state)
{
	if (replay_set_up(state) != 0)
		return -1;
	write_input();
	return 0;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The output of node `node` (1..): every frame once, in order, with the label for the remaining
 * nodes, whose d is reduced by exactly the waiting time that the captures show. */
static void check_output(unsigned node, unsigned *others)
{
	const uint32_t label = node < NODES ? LCL_LABEL : 0;
	/* each node makes up for its share of what those before were off, the last one for all */
	const int64_t slack = node == 2 ? TAU + TAU / 2 : TAU;
	struct bp_captures *c = bp_captures_create();
	struct bp_capture_frame f;
	uint32_t next = 0;
	char name[16], err[256];

	*others = 0;
	snprintf(name, sizeof(name), "%u.pcap", node);
	assert_int_equal(bp_captures_add(c, replay_path(name), err, sizeof(err)), 0);
	while (bp_captures_next(c, &f)) {
		uint32_t number;
		int64_t waited;

		if (f.len != 140 + label || f.data[label + 37] != 7000 % 256) {
			++*others;
			continue;
		}
		memcpy(&number, f.data + label + 42, sizeof(number));
		assert_int_equal(number, next++);
		waited = (int64_t)(f.time_ns - came[number]);
		assert_true(waited >= (int64_t)node * (BUDGET / 3) - slack);
		assert_true(waited <= (int64_t)node * (BUDGET / 3) + slack);
		if (label == 0)
			continue;
		assert_int_equal(be32(f.data + 12), 0x88b50100 + NODES - node);
		assert_int_equal((int32_t)be32(f.data + 16), BUDGET - waited);
		assert_int_equal(be32(f.data + 20) >> 16, 7);
		assert_int_equal(be32(f.data + 22), number);
	}
	assert_int_equal(next, FRAMES);
	bp_captures_free(c);
}

static uint64_t counter(const json_t *report, const char *name)
{
	return (uint64_t)json_integer_value(
		json_object_get(json_object_get(report, "counters"), name));
}

static json_t *statistics(const struct bp_shm *shm)
{
	const unsigned out = shm->lcl.n_ports - 1;
	const struct bp_lcl_port_stats *p = &shm->lcl.ports[out];
	const struct bp_lcl_flow_stats *f = &shm->lcl.flows[(size_t)out * shm->lcl.limit + 1];

	return json_pack("{sI sI sI sI sI sI sI sI sI}", "sent", (json_int_t)p->sent, "best_effort",
		(json_int_t)p->best_effort, "outside", (json_int_t)p->outside, "broken",
		(json_int_t)p->intervals_broken, "late", (json_int_t)p->late_max_ns, "flow",
		(json_int_t)f->flow, "frames", (json_int_t)f->frames, "missing",
		(json_int_t)f->missing, "last", (json_int_t)f->last);
}

static uint64_t of(const json_t *report, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(json_object_get(report, "lcl"), name));
}

static bool present(const struct bp_shm *shm)
{
	return shm->lcl.plan != NULL;
}

static void three_nodes(void **state)
{
	static const struct bp_replay_part part = {"lcl", statistics, NULL, present};
	static const struct bp_replay_part *const parts[] = {&part};
	const struct bp_replay_options with_statistics = {.parts = parts, .n_parts = 1};

	for (unsigned node = 1; node <= NODES; node++) {
		char in[16], out[16];
		const struct replay_way way = {"a", in, "b", out};
		unsigned others;
		json_t *j;

		snprintf(in, sizeof(in), "%u.pcap", node - 1);
		snprintf(out, sizeof(out), "%u.pcap", node);
		j = replay_json(node == 1 ? EDGE : NEXT, &way, with_statistics);
		check_output(node, &others);
		assert_int_equal(others, BURSTS * OTHERS);
		assert_int_equal(of(j, "sent"), FRAMES);
		assert_int_equal(of(j, "best_effort"), BURSTS * OTHERS);
		assert_int_equal(of(j, "outside"), 0);
		assert_int_equal(of(j, "broken"), 0);
		assert_int_equal(of(j, "late"), 0);
		assert_int_equal(of(j, "flow"), 7);
		assert_int_equal(of(j, "frames"), FRAMES);
		assert_int_equal(of(j, "missing"), 0);
		assert_int_equal(of(j, "last"), node == NODES);
		assert_int_equal(counter(j, "lcl_added"), node == 1 ? FRAMES : 0);
		assert_int_equal(counter(j, "lcl_removed"), node == NODES ? FRAMES : 0);
		json_decref(j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_nodes),
	};

	return cmocka_run_group_tests(tests, set_up, replay_tear_down);
}
