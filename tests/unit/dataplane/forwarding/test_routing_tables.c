/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing with damaged tables, changing tables, and several next hops. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"

/* ---- tables that were damaged ---- */

/* A link word of an interface or a group that cannot be leads nowhere. */
static void invalid_link_words_are_rejected(void **state)
{
	struct bp_address to4 = address("10.9.1.1"), to6 = address("fd09::1");
	_Atomic uint64_t *link;
	struct rig r;

	start(&r);
	link = &r.shm.fib.nexthops[bp_fib_lookup(&r.shm.fib, BP_VRF_MAIN, &to4)].link;
	assert_ptr_not_equal(link, &r.shm.fib.nexthops[BP_NH_NONE].link);
	for (unsigned i = BP_MAX_INTERFACES; i <= UINT8_MAX; i++) {
		*link = bp_link_make(BP_LINK_RESOLVED, (uint8_t)i, 2);
		is_dropped(&r, ip4("10.9.1.1", 64, 46), BP_C_DROP_IF_DOWN);
	}
	*link = bp_link_make(BP_LINK_GROUP, 0, r.shm.fib.max_groups);
	is_punted(&r, ip4("10.9.1.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	*link = bp_link_make(BP_LINK_GROUP, 0, 0);
	for (unsigned i = 0; i < BP_GROUP_SHARES; i++)
		r.shm.fib.groups[0].nexthop[i] = r.shm.fib.max_nexthops;
	is_punted(&r, ip4("10.9.1.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	link = &r.shm.fib.nexthops[bp_fib_lookup(&r.shm.fib, BP_VRF_MAIN, &to6)].link;
	for (unsigned i = BP_MAX_INTERFACES; i <= UINT8_MAX; i++) {
		*link = bp_link_make(BP_LINK_RESOLVED, (uint8_t)i, 2);
		is_dropped(&r, ip6("fd09::1", 64, 8), BP_C_DROP_IF_DOWN);
	}
	rig_stop(&r);
}

/* ---- interfaces and neighbors that change ---- */

static void an_interface_that_is_down(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46);
	struct rig r;

	start(&r);
	goes(&r, p, B, host_b);
	set_interface(&r, B, BP_IF_PRESENT | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	set_interface(&r, B, BP_IF_PRESENT | BP_IF_UP | BP_IF_KERNEL, 1500);
	goes(&r, p, B, host_b);
	set_interface(&r, A, BP_IF_PRESENT | BP_IF_KERNEL, 1500);
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	memset(p.bytes, 0xff, 6); /* nor broadcasts */
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	rig_stop(&r);
}

/* Tables of a configuration whose ports stood in another order, until the control plane has come.
 */
static void reused_port_number(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46);
	struct bp_interface_info info = {
		.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL,
		.mtu = 1500,
		.name = "was-b"};
	struct rig r;

	start(&r);
	memcpy(info.mac, mac_of[B], 6);
	assert_int_equal(bp_fib_interface_set(r.writer, B, &info), BP_FIB_DONE);
	set_neighbor(&r, B, "10.2.0.2", host_b);
	/* the worker has not seen "b" yet */
	r.worker->router.confirmed = 0;
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	/* its neighbors are not those of the port that has the number now */
	set_interface(&r, B, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	is_punted(&r, p, BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	set_neighbor(&r, B, "10.2.0.2", host_b);
	goes(&r, p, B, host_b);
	rig_stop(&r);
}

static void a_neighbor_that_changes(void **state)
{
	static const uint8_t other[6] = {0x02, 0, 0, 0, 0, 0x99};
	struct packet p = ip4("10.9.1.1", 64, 46), q = ip4("10.2.0.2", 64, 46);
	struct bp_address a = address("10.2.0.2");
	struct rig r;

	start(&r);
	goes(&r, p, B, host_b);
	set_neighbor(&r, B, "10.2.0.2", other);
	goes(&r, p, B, other);
	goes(&r, q, B, other);
	assert_int_equal(bp_fib_neighbor_delete(r.writer, B, &a), BP_FIB_DONE);
	is_punted(&r, p, BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	is_punted(&r, q, BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	rig_stop(&r);
}

/* Both ways to a gateway mark it as used, and so does a destination that is a neighbor. */
static void use_is_marked(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46), q = ip4("10.3.0.2", 64, 46);
	struct bp_address b = address("10.2.0.2"), c = address("10.3.0.2");
	struct rig r;

	start(&r);
	r.worker->mono_ns = 77500000000;
	assert_int_equal(bp_fib_neighbor_used(&r.shm.fib, B, &b), 0);
	goes(&r, p, B, host_b);
	goes(&r, q, C, host_c);
	assert_int_equal(bp_fib_neighbor_used(&r.shm.fib, B, &b), 77);
	assert_int_equal(bp_fib_neighbor_used(&r.shm.fib, C, &c), 77);
	r.worker->mono_ns = 99000000000;
	goes(&r, p, B, host_b);
	assert_int_equal(bp_fib_neighbor_used(&r.shm.fib, B, &b), 99);
	assert_int_equal(bp_fib_neighbor_used(&r.shm.fib, C, &c), 77);
	rig_stop(&r);
}

/* ---- several ways ---- */

static void flows_keep_their_path(void **state)
{
	struct bp_route route = {.prefix = bp_prefix_of(address("10.50.0.0"), 16), .n_hops = 2};
	unsigned seen[3] = {0};
	struct rig r;

	start(&r);
	route.hop[0] = (struct bp_hop){.interface = B, .weight = 3, .gateway = address("10.2.0.2")};
	route.hop[1] = (struct bp_hop){.interface = C, .weight = 1, .gateway = address("10.3.0.2")};
	assert_int_equal(bp_fib_route_set(r.writer, &route), BP_FIB_DONE);
	for (unsigned flow = 0; flow < 2000; flow++) {
		int way = -1;

		for (unsigned i = 0; i < 3; i++) {
			struct packet p = ip4("10.50.1.1", (uint8_t)(64 - i), 46 + i);
			struct rte_mbuf *m;

			bp_put_be16(p.bytes + 34, (uint16_t)(1000 + flow));
			put(&r, A, &p);
			for (int out = B; out <= C; out++) {
				m = bp_ring_ports_take(&r.ports, (unsigned)out);
				if (!m)
					continue;
				assert_true(way == -1 || way == out);
				way = out;
				rte_pktmbuf_free(m);
			}
		}
		assert_true(way == B || way == C);
		seen[way]++;
	}
	/* three to one, of 2000: far more than five standard deviations of 19 either way */
	assert_in_range(seen[B], 1380, 1620);
	rig_stop(&r);
}

/* Only some packets of a fragmented flow have ports: none of them counts. */
static void fragments_keep_together(void **state)
{
	struct bp_route route = {.prefix = bp_prefix_of(address("10.50.0.0"), 16), .n_hops = 2};
	struct rig r;

	start(&r);
	route.hop[0] = (struct bp_hop){.interface = B, .weight = 1, .gateway = address("10.2.0.2")};
	route.hop[1] = (struct bp_hop){.interface = C, .weight = 1, .gateway = address("10.3.0.2")};
	assert_int_equal(bp_fib_route_set(r.writer, &route), BP_FIB_DONE);
	for (unsigned flow = 0; flow < 200; flow++) {
		static const uint16_t fragment[] = {0x2000, 0x2002, 0x0004};
		unsigned out_b = 0;

		for (unsigned i = 0; i < 3; i++) {
			struct packet p = ip4("10.50.1.1", 64, 46);
			struct rte_mbuf *m;

			p.bytes[33] = (uint8_t)flow;
			bp_put_be16(p.bytes + 34, (uint16_t)(flow * 31 + i * 1000));
			bp_put_be16(p.bytes + 20, fragment[i]);
			checksum4(p.bytes + 14);
			put(&r, A, &p);
			m = bp_ring_ports_take(&r.ports, B);
			out_b += m != NULL;
			rte_pktmbuf_free(m);
			m = bp_ring_ports_take(&r.ports, C);
			rte_pktmbuf_free(m);
		}
		assert_true(out_b == 0 || out_b == 3);
	}
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_link_words_are_rejected),
		cmocka_unit_test(an_interface_that_is_down),
		cmocka_unit_test(reused_port_number),
		cmocka_unit_test(a_neighbor_that_changes),
		cmocka_unit_test(use_is_marked),
		cmocka_unit_test(flows_keep_their_path),
		cmocka_unit_test(fragments_keep_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
