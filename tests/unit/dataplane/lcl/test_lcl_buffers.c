/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels in buffers that are shared, short of room, cut in two, or were another frame's before. */
#include "biplane/counters/lcl.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"

#include <string.h>

enum { A, B };

/* A buffer that begins with the frame: the label has no room. */
static void no_headroom(void **state)
{
	uint8_t f[UDP_FRAME_MAX];
	const uint32_t len = lcl_datagram(f);
	struct rte_mbuf *m;
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	for (uint16_t room = LCL_LABEL - 1; room <= LCL_LABEL; room++) {
		rig_put(&r, A, f, len);
		m = lcl_last_put(&r, A);
		memmove((char *)m->buf_addr + room, rte_pktmbuf_mtod(m, void *), len);
		m->data_off = room;
		rig_walk(&r);
		lcl_pass(&r, LCL_TAU);
		if (room == LCL_LABEL)
			lcl_expect(&r, B, f, len, &(struct label){.d = 15000, .n = 1, .flow = 7});
		else
			rig_expect(&r, B, f, len);
	}
	assert_int_equal(rig_counter(&r, BP_C_LCL_UNLABELED_HEADROOM), 1);
	rig_stop(&r);
}

/* Takes all buffers, or gives them back. */
static void take_buffers(struct rig *r, struct rte_mbuf **m, bool back)
{
	if (back)
		rte_pktmbuf_free_bulk(m, r->in_pool - 1);
	else
		assert_int_equal(rte_pktmbuf_alloc_bulk(r->pool, m, r->in_pool - 1), 0);
}

/* A buffer with another reference is not modified. */
static void shared_buffers(void **state)
{
	static struct rte_mbuf *all[RIG_MBUFS];
	uint8_t f[UDP_FRAME_MAX], labelled[UDP_FRAME_MAX + LCL_LABEL];
	const struct label in = {.d = 20000, .n = 2};
	const uint32_t len = lcl_datagram(f);
	struct rte_mbuf *m;
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	lcl_frame(f, len, &in, labelled);
	for (unsigned plain = 0; plain < 2; plain++) {
		for (unsigned short_ = 0; short_ < 2; short_++) {
			rig_put(&r, A, plain ? f : labelled, plain ? len : len + LCL_LABEL);
			m = lcl_last_put(&r, A);
			rte_mbuf_refcnt_update(m, 1);
			if (short_)
				take_buffers(&r, all, false);
			rig_walk(&r);
			lcl_pass(&r, LCL_TAU);
			if (short_)
				take_buffers(&r, all, true);
			assert_int_equal(m->pkt_len, plain ? len : len + LCL_LABEL);
			assert_memory_equal(
				rte_pktmbuf_mtod(m, void *), plain ? f : labelled, m->pkt_len);
			if (plain && short_)
				rig_expect(&r, B, f, len);
			else if (plain)
				lcl_expect(&r, B, f, len,
					&(struct label){.d = 15000, .n = 1, .flow = 7});
			else if (!short_)
				lcl_expect(&r, B, f, len, &(struct label){.d = 10000, .n = 1});
			rig_expect_none(&r, B);
			rte_pktmbuf_free(m);
		}
	}
	assert_int_equal(rig_counter(&r, BP_C_LCL_UNLABELED_NO_MBUF), 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_LCL_NO_MBUF), 1);
	rig_stop(&r);
}

/* The frame that was put in last, in two buffers, of `first` bytes the first. */
static void split_last(struct rig *r, unsigned port, uint16_t first)
{
	struct rte_mbuf *m = lcl_last_put(r, port), *tail = rte_pktmbuf_alloc(r->pool);
	const uint16_t rest = (uint16_t)(m->data_len - first);

	memcpy(rte_pktmbuf_append(tail, rest), rte_pktmbuf_mtod_offset(m, uint8_t *, first), rest);
	rte_pktmbuf_trim(m, rest);
	assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
}

/* A label is detected at any buffer boundary: a peer that splits a frame so that the label is in
 * two buffers, as with shared-memory ports, cannot pass it through an untrusted port. */
static void chained_buffers(void **state)
{
	const struct label in = {.d = 20000, .n = 2}, out = {.d = 10000, .n = 1};
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned trusted = 0; trusted < 2; trusted++) {
		rig_start(&r,
			trusted ? LCL_TRUSTED
				: AGG_PORTS LCL_PORTS_BEGIN LCL_PORT("b", "") LCL_FLOW,
			false, false);
		for (uint16_t first = 1; first <= 30; first++) {
			lcl_put(&r, A, f, sizeof(f), &in);
			split_last(&r, A, first);
			rig_walk(&r);
			lcl_pass(&r, LCL_TAU);
			if (trusted)
				lcl_expect(&r, B, f, sizeof(f), &out);
			else
				rig_expect(&r, B, f, sizeof(f));
		}
		assert_int_equal(rig_counter(&r, BP_C_LCL_UNTRUSTED), trusted ? 0 : 30);
		rig_stop(&r);
	}
}

/* Nor does the next frame of its flow overtake one that must be put together first. */
static void chained_in_order(void **state)
{
	struct label l = {.d = 20000, .n = 2, .flow = 3};
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start(&r, LCL_TRUSTED, false, false);
	lcl_put(&r, A, f, sizeof(f), &l);
	split_last(&r, A, 13);
	l.sequence++;
	lcl_put(&r, A, f, sizeof(f), &l);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	lcl_expect(&r, B, f, sizeof(f), &(struct label){.d = 10000, .n = 1, .flow = 3});
	lcl_pass(&r, 100); /* the wire */
	lcl_expect(
		&r, B, f, sizeof(f), &(struct label){.d = 9900, .n = 1, .flow = 3, .sequence = 1});
	rig_stop(&r);
}

/* A second label after the first is also detected; a frame that ends in its label is unchanged. */
static void invalid_chained_buffers(void **state)
{
	const struct label in = {.d = 20000, .n = 2};
	uint8_t f[64], one[128], two[128];
	uint32_t len;
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	len = lcl_frame(f, sizeof(f), &in, one);
	len = lcl_frame(one, len, &in, two);
	rig_start(&r, LCL_TRUSTED, false, false);
	for (uint16_t first = 1; first <= 44; first++) {
		rig_put(&r, A, two, len);
		split_last(&r, A, first);
		rig_walk(&r);
		rig_expect(&r, B, f, sizeof(f));
		lcl_pass(&r, 1000);
	}
	assert_int_equal(rig_counter(&r, BP_C_LCL_BAD_NESTED), 44);
	for (uint16_t first = 1; first < 12 + LCL_LABEL; first++) {
		rig_put(&r, A, one, 12 + LCL_LABEL + 1);
		split_last(&r, A, first);
		rig_walk(&r);
		rig_expect(&r, B, one, 12 + LCL_LABEL + 1);
		lcl_pass(&r, 1000);
	}
	assert_int_equal(rig_counter(&r, BP_C_LCL_BAD_TRUNCATED), 12 + LCL_LABEL - 1);
	rig_stop(&r);
}

/* Flags and dynamic field of an mbuf may be from its previous use: some drivers do not reset the
 * flags. */
static void stale_mbuf_flags_are_ignored(void **state)
{
	uint8_t f[64];
	struct bp_lcl_field field;
	struct rte_mbuf *m;
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start(&r, LCL_TRUSTED, false, false);
	assert_int_equal(bp_lcl_field_get(&field), 0);
	rig_put(&r, A, f, sizeof(f));
	m = lcl_last_put(&r, A);
	m->ol_flags |= field.flag;
	*bp_lcl_mark_of(&field, m) = (struct bp_lcl_mark){.d = 90000, .n = 3, .flow = 5};
	rig_walk(&r);
	rig_expect(&r, B, f, sizeof(f));
	assert_int_equal(atomic_load(&r.shm.lcl.ports[1].best_effort), 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_headroom),
		cmocka_unit_test(shared_buffers),
		cmocka_unit_test(chained_buffers),
		cmocka_unit_test(chained_in_order),
		cmocka_unit_test(invalid_chained_buffers),
		cmocka_unit_test(stale_mbuf_flags_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
