/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels that stay in place, against the general path, on random bursts: what leaves,
 * what is counted and what the tables say are the same.
 */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"
#include "tests/unit/proto/exact.h"

#include <string.h>

enum { A, B };

#define RUNS 40
#define STEPS 60
#define BURST 40
#define FLOWS 6u
#define FLOW 100u /* the first */
#define ROWS (FLOWS + 2u)
#define BYTES_MAX 300u

/* Result of a run. */
struct record {
	uint8_t out[STEPS * (BURST + 1) * (BYTES_MAX + sizeof(uint32_t))];
	size_t bytes;
	unsigned frames;
	unsigned in_place; /* that left with a label which never was off */
	uint64_t counter[BP_C_COUNT];
	struct bp_lcl_port_stats port;
	struct bp_lcl_flow_stats row[ROWS];
};

/* Mostly a good label, at times one of each odd kind. */
static struct label random_label(uint64_t *seed, uint32_t sequence[FLOWS])
{
	const uint16_t flow = (uint16_t)(next_random(seed) % FLOWS);
	struct label l = {.d = (int32_t)(next_random(seed) % 90000),
		.n = (uint8_t)(2 + next_random(seed) % 4),
		.flow = (uint16_t)(FLOW + flow)};

	switch (next_random(seed) % 200) {
	case 0:
		l.n = 0;
		break;
	case 1:
		l.n = 1;
		break;
	case 2:
		l.n = 65;
		break;
	case 3:
		l.version = 2;
		break;
	case 4:
		l.d = 1000000001;
		break;
	case 5:
		l.d = -1000000000;
		break;
	case 6:
		l.d = 900000000;
		break;
	case 7:
		sequence[flow] += 3;
		break;
	case 8:
		sequence[flow]--;
		break;
	default:
		break;
	}
	l.sequence = sequence[flow]++;
	return l;
}

static void put_random(struct rig *r, uint64_t *seed, uint32_t sequence[FLOWS])
{
	const uint32_t len = 60 + (uint32_t)(next_random(seed) % (BYTES_MAX - LCL_LABEL - 60));
	const struct label l = random_label(seed, sequence);
	uint8_t f[BYTES_MAX], nested[BYTES_MAX];

	frame_make(f, len, 1, 2, 0x0800);
	switch (next_random(seed) % 100) {
	case 0:
		rig_put(r, A, f, len);
		break;
	case 1:
		lcl_put(r, A, nested, lcl_frame(f, len - LCL_LABEL, &l, nested), &l);
		break;
	default:
		lcl_put(r, A, f, len, &l);
	}
}

/* The general way notes a label next to the frame, where it still is; it is forgotten here. */
static bool went_straight(const struct rig *r, struct rte_mbuf *m)
{
	struct bp_lcl_mark *mark = bp_lcl_mark_of(&bp_lcl_of(r->worker)->field, m);
	const uint8_t *type = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_LCL_AT);
	const bool labelled = type[0] == 0x88 && type[1] == 0xb5;
	const bool noted = mark->n != 0;

	memset(mark, 0, sizeof(*mark));
	return labelled && !noted;
}

static void take(struct rig *r, struct record *rec)
{
	struct rte_mbuf *m;

	for (; (m = bp_ring_ports_take(&r->ports, B)) != NULL; rec->frames++) {
		const uint32_t len = m->pkt_len;

		assert_true(len <= BYTES_MAX);
		memcpy(rec->out + rec->bytes, &len, sizeof(len));
		memcpy(rec->out + rec->bytes + sizeof(len), rte_pktmbuf_mtod(m, void *), len);
		rec->bytes += sizeof(len) + len;
		rec->in_place += went_straight(r, m);
		rte_pktmbuf_free(m);
	}
}

static void pass(struct rig *r, uint64_t ns, struct record *rec)
{
	lcl_pass(r, ns);
	take(r, rec);
}

/*
 * A frame with its last label takes the general way, and all behind it in its burst do: so it comes
 * in one burst with the others, or in one before, at the same time.
 */
static void step(struct rig *r, uint64_t *seed, bool general, uint32_t sequence[FLOWS])
{
	const struct label last = {.d = 25000, .n = 1, .flow = FLOW};
	const unsigned n = (unsigned)(next_random(seed) % BURST);
	uint8_t f[64];

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	lcl_put(r, A, f, sizeof(f), &last);
	if (!general)
		rig_walk(r);
	for (unsigned i = 0; i < n; i++)
		put_random(r, seed, sequence);
	rig_walk(r);
}

static void run(struct record *rec, uint64_t seed, bool general)
{
	uint32_t sequence[FLOWS] = {0};
	const struct bp_lcl_out *o;
	struct rig r;

	memset(rec, 0, sizeof(*rec));
	rig_start(&r, LCL_TRUSTED, false, false);
	for (unsigned i = 0; i < STEPS; i++) {
		step(&r, &seed, general, sequence);
		take(&r, rec);
		pass(&r, next_random(&seed) % (LCL_TAU / 2), rec);
	}
	for (unsigned i = 0; i < 8; i++)
		pass(&r, LCL_TAU, rec);
	o = bp_lcl_of(r.worker)->of[B];
	for (unsigned i = 0; i < BP_C_COUNT; i++)
		rec->counter[i] = rig_counter(&r, i);
	memcpy(&rec->port, o->stats, sizeof(rec->port));
	for (unsigned i = 0; i < ROWS; i++)
		memcpy(&rec->row[i], o->row[i].stats, sizeof(rec->row[i]));
	rig_stop(&r);
}

static void both_paths_give_the_same_result(void **state)
{
	static struct record in_place, general;
	unsigned moved = 0, late = 0;

	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		run(&in_place, seed, false);
		run(&general, seed, true);
		assert_int_equal(general.in_place, 0);
		assert_true(in_place.in_place > in_place.frames / 4);
		assert_int_equal(in_place.frames, general.frames);
		assert_int_equal(in_place.bytes, general.bytes);
		assert_memory_equal(in_place.out, general.out, general.bytes);
		assert_memory_equal(in_place.counter, general.counter, sizeof(general.counter));
		assert_memory_equal(&in_place.port, &general.port, sizeof(general.port));
		assert_memory_equal(in_place.row, general.row, sizeof(general.row));
		assert_int_equal(general.row[ROWS - 1].life, 0);
		moved += (unsigned)general.port.moved;
		late += (unsigned)general.port.late;
	}
	assert_true(moved > 0 && late > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_paths_give_the_same_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
