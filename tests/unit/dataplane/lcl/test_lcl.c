/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes lcl_in, lcl and lcl_plain: handling of labels, and of frames that cannot have one. */
#include "biplane/counters/general.h"
#include "biplane/counters/lcl.h"
#include "config/lcl/settings.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"

#include <string.h>

#include "dataplane/ports/link.h"

enum { A, B, C };

/* A datagram of an entry gets a label, and leaves in the slot that its share falls in. */
static void a_label_is_added(void **state)
{
	uint8_t f[UDP_FRAME_MAX];
	const uint32_t len = lcl_datagram(f);
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	for (uint32_t i = 0; i < 3; i++) {
		rig_put(&r, A, f, len);
		rig_walk(&r);
		lcl_pass(&r, LCL_TAU - 1);
		rig_expect_none(&r, B);
		lcl_pass(&r, 1);
		lcl_expect(&r, B, f, len,
			&(struct label){.d = 25000 - LCL_TAU, .n = 1, .flow = 7, .sequence = i});
	}
	assert_int_equal(rig_counter(&r, BP_C_LCL_ADDED), 3);
	assert_int_equal(rig_counter(&r, BP_C_LCL_REMOVED), 0);
	rig_stop(&r);
}

/* d is reduced by the waiting time; the rest of the label is unchanged, except n. */
static void a_label_is_changed(void **state)
{
	const struct label in = {.d = 90000, .n = 3, .flow = 999, .sequence = 0xfedcba98};
	struct label out = in;
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start(&r, LCL_TRUSTED, false, false);
	lcl_put(&r, A, f, sizeof(f), &in);
	agg_pass(&r, 300); /* after its slot began: 30 us from now is in slot 3 */
	rig_walk(&r);
	lcl_pass(&r, 3 * LCL_TAU - 300 - 1);
	rig_expect_none(&r, B);
	lcl_pass(&r, 1);
	out.n = 2;
	out.d = 90000 - (3 * LCL_TAU - 300);
	lcl_expect(&r, B, f, sizeof(f), &out);
	/* a late poll is in the label */
	lcl_put(&r, B, f, sizeof(f), &in);
	rig_walk(&r);
	lcl_pass(&r, 3 * LCL_TAU + 777);
	out.d = 90000 - 3 * LCL_TAU - 777;
	lcl_expect(&r, A, f, sizeof(f), &out);
	rig_stop(&r);
}

/* At the last node it is taken off. */
static void a_label_is_removed(void **state)
{
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start(&r, LCL_TRUSTED, false, false);
	lcl_put(&r, A, f, sizeof(f), &(struct label){.d = 15000, .n = 1});
	rig_walk(&r);
	rig_expect_none(&r, B);
	lcl_pass(&r, LCL_TAU);
	rig_expect(&r, B, f, sizeof(f));
	assert_int_equal(rig_counter(&r, BP_C_LCL_REMOVED), 1);
	rig_stop(&r);
}

/* d used up: at once, counted, and d continues below 0, as far as a label may say. */
static void late_frame_is_sent_immediately(void **state)
{
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start(&r, LCL_TRUSTED, false, false);
	lcl_put(&r, A, f, sizeof(f), &(struct label){.d = -1, .n = 2});
	lcl_put(&r, A, f, sizeof(f), &(struct label){.d = -999999990, .n = 2});
	lcl_put(&r, A, f, sizeof(f), &(struct label){.d = -500000000, .n = 2});
	rig_walk(&r);
	lcl_expect(&r, B, f, sizeof(f), &(struct label){.d = -1, .n = 1});
	rig_expect_none(&r, B); /* the wire */
	lcl_pass(&r, 100);
	lcl_expect(&r, B, f, sizeof(f), &(struct label){.d = -1000000000, .n = 1});
	lcl_pass(&r, 100);
	lcl_expect(&r, B, f, sizeof(f), &(struct label){.d = -500000200, .n = 1});
	assert_int_equal(rig_counter(&r, BP_C_LCL_LATE), 3);
	rig_stop(&r);
}

/* Best effort that no slot is in the way of leaves with the walk that it came in with. */
static void others_are_best_effort(void **state)
{
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start(&r, LCL_TRUSTED, false, false);
	rig_put(&r, A, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, B, f, sizeof(f));
	assert_int_equal(atomic_load(&r.shm.lcl.ports[1].best_effort), 1);
	assert_int_equal(atomic_load(&r.shm.lcl.ports[1].best_effort_bytes), sizeof(f));
	assert_int_equal(atomic_load(&r.shm.lcl.ports[1].sent), 0);
	rig_stop(&r);
}

/* A port that does not trust: the label goes, and what it asked for. */
static void label_on_an_untrusted_port_is_removed(void **state)
{
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start(&r, AGG_PORTS LCL_PORTS_BEGIN LCL_PORT("b", "") LCL_FLOW, false, false);
	lcl_put(&r, A, f, sizeof(f), &(struct label){.d = 90000, .n = 3});
	lcl_put(&r, A, f, sizeof(f), &(struct label){.d = 90000, .n = 0});
	lcl_put(&r, B, f, sizeof(f), &(struct label){.d = 90000, .n = 3});
	rig_walk(&r);
	rig_expect(&r, B, f, sizeof(f));
	rig_expect(&r, B, f, sizeof(f));
	rig_expect(&r, A, f, sizeof(f));
	assert_int_equal(rig_counter(&r, BP_C_LCL_UNTRUSTED), 3);
	assert_int_equal(rig_counter(&r, BP_C_LCL_LOST_LABEL), 0);
	rig_stop(&r);
}

/* A frame with an invalid label becomes best effort. */
static void bad_labels(void **state)
{
	static const struct {
		struct label label;
		bp_counter_t counter;
	} bad[] = {
		{{.d = 90000, .n = 0}, BP_C_LCL_BAD_HOPS},
		{{.d = 90000, .n = 65}, BP_C_LCL_BAD_HOPS},
		{{.d = 90000, .n = 255}, BP_C_LCL_BAD_HOPS},
		{{.d = 1000000001, .n = 3}, BP_C_LCL_BAD_DELAY},
		{{.d = -1000000001, .n = 3}, BP_C_LCL_BAD_DELAY},
		{{.d = INT32_MIN, .n = 3}, BP_C_LCL_BAD_DELAY},
		{{.d = 90000, .n = 3, .version = 2}, BP_C_LCL_BAD_VERSION},
		{{.d = 90000, .n = 3, .version = 255}, BP_C_LCL_BAD_VERSION},
	};
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < RTE_DIM(bad); i++) {
		rig_start(&r, LCL_TRUSTED, false, false);
		lcl_put(&r, A, f, sizeof(f), &bad[i].label);
		rig_walk(&r);
		rig_expect(&r, B, f, sizeof(f));
		assert_int_equal(rig_counter(&r, bad[i].counter), 1);
		assert_int_equal(atomic_load(&r.shm.lcl.ports[1].best_effort), 1);
		rig_stop(&r);
	}
}

/* A frame that ends in its label has nothing that could be sent without it. */
static void truncated_labels(void **state)
{
	uint8_t f[64], labelled[128];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	lcl_frame(f, sizeof(f), &(struct label){.d = 90000, .n = 3}, labelled);
	rig_start(&r, LCL_TRUSTED, false, false);
	for (uint32_t len = 14; len < 12 + LCL_LABEL + 2; len++) {
		rig_put(&r, A, labelled, len);
		rig_walk(&r);
		rig_expect(&r, B, labelled, len);
		assert_int_equal(rig_counter(&r, BP_C_LCL_BAD_TRUNCATED), len - 13);
		lcl_pass(&r, 1000);
	}
	rig_put(&r, A, labelled, 12 + LCL_LABEL + 2);
	rig_walk(&r);
	lcl_pass(&r, 4 * LCL_TAU);
	lcl_expect(&r, B, f, 14,
		&(struct label){.d = (int32_t)(90000 - (r.worker->mono_ns - 1000014000)), .n = 2});
	rig_stop(&r);
}

/* One label behind another is no one's: no trick to get one through. */
static void nested_labels(void **state)
{
	const struct label in = {.d = 90000, .n = 3};
	uint8_t f[64], one[128], two[128];
	uint32_t len;
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	len = lcl_frame(f, sizeof(f), &in, one);
	len = lcl_frame(one, len, &in, two);
	for (unsigned trusted = 0; trusted < 2; trusted++) {
		rig_start(&r,
			trusted ? LCL_TRUSTED
				: AGG_PORTS LCL_PORTS_BEGIN LCL_PORT("b", "") LCL_FLOW,
			false, false);
		rig_put(&r, A, two, len);
		lcl_put(&r, A, two, len, &in);
		rig_walk(&r);
		rig_expect(&r, B, f, sizeof(f));
		rig_expect(&r, B, f, sizeof(f));
		assert_int_equal(rig_counter(&r, BP_C_LCL_BAD_NESTED), 3);
		assert_int_equal(rig_counter(&r, BP_C_LCL_UNTRUSTED), trusted ? 0 : 2);
		assert_int_equal(atomic_load(&r.shm.lcl.ports[trusted].best_effort), 2);
		rig_stop(&r);
	}
}

/* Tags stay behind the label as they are. */
static void tagged_frames(void **state)
{
	static const char tags[] = {(char)0x88, (char)0xa8, 0x60, 5, (char)0x81, 0, 0x20, 9};
	uint8_t plain[UDP_FRAME_MAX], f[UDP_FRAME_MAX + 8];
	const uint32_t len = lcl_datagram(plain);
	struct rig r;

	memcpy(f, plain, 12);
	memcpy(f + 12, tags, 8);
	memcpy(f + 20, plain + 12, len - 12);
	rig_start(&r, LCL_TRUSTED, false, false);
	rig_put(&r, A, f, len + 8);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	lcl_expect(&r, B, f, len + 8, &(struct label){.d = 15000, .n = 1, .flow = 7});
	lcl_put(&r, B, f, len + 8, &(struct label){.d = 15000, .n = 1, .flow = 7});
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	rig_expect(&r, A, f, len + 8);
	rig_stop(&r);
}

static void other_ethertype(struct bp_config *c, void *arg)
{
	bp_config_lcl_set(c)->ethertype = 0x88b6;
}

static void the_ethertype_is_configured(void **state)
{
	const struct label in = {.d = 30000, .n = 3, .type = 0x88b6};
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_start_changed(&r, LCL_TRUSTED, other_ethertype, NULL);
	lcl_put(&r, A, f, sizeof(f), &in);
	lcl_put(&r, A, f, sizeof(f), &(struct label){.d = 30000, .n = 3});
	rig_walk(&r);
	/* another protocol's frame */
	lcl_expect(&r, B, f, sizeof(f), &(struct label){.d = 30000, .n = 3});
	lcl_pass(&r, LCL_TAU);
	lcl_expect(&r, B, f, sizeof(f), &(struct label){.d = 20000, .n = 2, .type = 0x88b6});
	rig_stop(&r);
}

/* Up to the port's MTU, Ethernet header and two tags, the label included. */
static void long_frames_go_without(void **state)
{
	const uint32_t most = 1500 + 14 + 8 - LCL_LABEL;
	struct udp u = agg_message(0);
	uint8_t f[UDP_FRAME_MAX], payload[1500] = {0};
	struct rig r;

	u.dport = 7000;
	u.payload = payload;
	rig_start(&r, LCL_TRUSTED, false, false);
	u.len = most - 42;
	assert_int_equal(agg_frame(&u, f), most);
	rig_put(&r, A, f, most);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	lcl_expect(&r, B, f, most, &(struct label){.d = 15000, .n = 1, .flow = 7});
	assert_int_equal(rig_counter(&r, BP_C_LCL_UNLABELED_MTU), 0);
	u.len++;
	assert_int_equal(agg_frame(&u, f), most + 1);
	lcl_pass(&r, LCL_TAU);
	rig_put(&r, A, f, most + 1);
	rig_walk(&r);
	rig_expect(&r, B, f, most + 1);
	assert_int_equal(rig_counter(&r, BP_C_LCL_UNLABELED_MTU), 1);
	rig_stop(&r);
}

/* The largest MTU there is, as that of a loopback interface: a scheduler counts to fewer bytes.
 */
static void maximum_mtu(void **state)
{
	struct bp_lcl *l;
	char err[256] = "";
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	r.worker->mtu[A] = r.worker->mtu[B] = UINT16_MAX;
	l = bp_lcl_create(r.config, &r.shm.lcl);
	assert_non_null(l);
	if (bp_lcl_begin(l, r.worker, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	assert_int_equal(bp_lcl_frame_most(l->of[B]), BP_LCL_BYTES_MAX);
	bp_lcl_free(l);
	rig_stop(&r);
}

#define SWITCH3                                                                                    \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b, c]}]\n"

/* Copies are labelled as the frame is; by a port without LCL it leaves plain. */
static void flooded_frames(void **state)
{
	const struct label in = {.d = 20000, .n = 2, .flow = 3, .sequence = 8};
	const struct label out = {.d = 10000, .n = 1, .flow = 3, .sequence = 8};
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned third = 0; third < 2; third++) {
		rig_start(&r,
			third ? SWITCH3 LCL_PORTS_BEGIN LCL_PORT("a", ", trust_labels: true")
					LCL_PORT("b", "") LCL_PORT("c", "")
			      : SWITCH3 LCL_PORTS_BEGIN LCL_PORT("a", ", trust_labels: true")
					LCL_PORT("b", ""),
			false, false);
		lcl_put(&r, A, f, sizeof(f), &in);
		rig_walk(&r);
		if (!third)
			rig_expect(&r, C, f, sizeof(f));
		lcl_pass(&r, LCL_TAU);
		lcl_expect(&r, B, f, sizeof(f), &out);
		if (third)
			lcl_expect(&r, C, f, sizeof(f), &out);
		assert_int_equal(rig_counter(&r, BP_C_LCL_LOST_LABEL), third ? 0 : 1);
		rig_stop(&r);
	}
}

/* A local sender's partial checksum behind a label is completed as without. */
static void partial_checksums(void **state)
{
	uint8_t f[UDP_FRAME_MAX], labelled[UDP_FRAME_MAX + LCL_LABEL];
	uint32_t len = lcl_datagram(f);
	uint8_t partial[UDP_FRAME_MAX];
	struct bp_worker *w;
	struct rig r;

	rig_start(&r, LCL_TRUSTED, true, false);
	w = r.worker;
	assert_int_equal(bp_lcl_of(w)->after[A], BP_EDGE_CHECKSUM);
	memcpy(partial, f, len);
	/* UDP's, over the pseudo-header alone: 10.0.0.1, 10.1.0.9, 17, the length */
	{
		uint32_t sum = 0x0a00 + 0x0001 + 0x0a01 + 0x0009 + 17 + (len - 34);

		sum = (sum & 0xffff) + (sum >> 16);
		partial[40] = (uint8_t)(sum >> 8);
		partial[41] = (uint8_t)sum;
	}
	len = lcl_frame(partial, len, &(struct label){.d = 20000, .n = 1}, labelled);
	rig_put_flags(&r, A, labelled, len, RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rig_walk(&r);
	lcl_pass(&r, 2 * LCL_TAU);
	rig_expect(&r, B, f, len - LCL_LABEL);
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_COMPLETED), 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_is_added),
		cmocka_unit_test(a_label_is_changed),
		cmocka_unit_test(a_label_is_removed),
		cmocka_unit_test(late_frame_is_sent_immediately),
		cmocka_unit_test(others_are_best_effort),
		cmocka_unit_test(label_on_an_untrusted_port_is_removed),
		cmocka_unit_test(bad_labels),
		cmocka_unit_test(truncated_labels),
		cmocka_unit_test(nested_labels),
		cmocka_unit_test(tagged_frames),
		cmocka_unit_test(the_ethertype_is_configured),
		cmocka_unit_test(long_frames_go_without),
		cmocka_unit_test(maximum_mtu),
		cmocka_unit_test(flooded_frames),
		cmocka_unit_test(partial_checksums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
