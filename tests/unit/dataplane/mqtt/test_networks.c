/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments belong to connections of the VRF of the interface that received them. */
#include "biplane/counters/mqtt.h"
#include "dataplane/mqtt/tcp_hint.h"
#include "services/mqtt/flow_show.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"
#include "tests/unit/services/mqtt/mqtt_peer.h"

#define UP (BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL)
#define MQTT "mqtt: {publisher: {broker: \"mqtt://127.0.0.1\"}}\n"
#define SUB BP_MAX_INTERFACES
#define ID 100
enum { MAIN, BLUE, RED, GREEN }; /* numbers of VRFs; table 10 is that of BLUE, ... */

static void set_vrf_of(struct rig *r, unsigned i, unsigned vrf, uint32_t flags)
{
	struct bp_interface_info info = {
		.flags = flags, .mtu = 1500, .vrf = (uint8_t)vrf, .vrf_table = 10 * vrf};

	if (i == SUB) {
		info.parent = A;
		info.vlan_id = ID;
	} else {
		info.name[0] = "abc"[i];
	}
	memcpy(info.mac, mac_of[i == SUB ? A : i], 6);
	assert_int_equal(bp_fib_interface_set(r->writer, i, &info), BP_FIB_DONE);
}

static void start_mqtt(struct rig *r, const char *more)
{
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), "%s" MQTT "%s", ROUTER, more);
	start_with(r, yaml);
	for (unsigned vrf = MAIN; vrf <= GREEN; vrf++) {
		const struct bp_vrf_info info = {.table = 10 * vrf};
		struct bp_route route = {.prefix = bp_prefix_of(address("192.0.2.0"), 24),
			.type = BP_ROUTE_UNICAST,
			.n_hops = 1,
			.hop[0] = {.interface = C, .weight = 1, .gateway = address("10.3.0.2")}};

		if (vrf != MAIN)
			assert_int_equal(bp_fib_vrf_set(r->writer, vrf, &info), BP_FIB_DONE);
		route.prefix.vrf = (uint8_t)vrf;
		assert_int_equal(bp_fib_route_set(r->writer, &route), BP_FIB_DONE);
	}
}

static int collect(const struct bp_flow_view *v, void *arg)
{
	char *names = arg;

	strcat(names, v->network[0] != '\0' ? v->network : "main");
	strcat(names, v->vlan_outer != 0 ? "/vlan " : " ");
	return 0;
}

/* A SYN from the same client arrives there. Its connection is in this network, which is new. */
static void is_new_in(struct rig *r, unsigned port, uint16_t vlan, const char *network)
{
	char before[256] = "", after[256] = "";
	uint8_t frame[128];
	struct rte_mbuf *m;
	struct peer c;
	size_t n;

	bp_flow_visit(r->shm.flows, r->shm.flows_len, 1, r->worker->mono_ns, collect, before);
	peer_init(&c, false, 1, 1000, 2000);
	c.n_vlan = vlan != 0;
	c.vlan[0] = vlan;
	n = peer_frame(&c, CLIENT, TH_SYN, c.seq[CLIENT], 0, NULL, 0, frame);
	memcpy(frame, mac_of[port], 6);
	rig_put(r, port, frame, (uint32_t)n);
	rig_walk(r);
	m = bp_ring_ports_take(&r->ports, C);
	assert_non_null(m);
	rte_pktmbuf_free(m);
	bp_flow_visit(r->shm.flows, r->shm.flows_len, 1, r->worker->mono_ns, collect, after);
	if (network == NULL) {
		assert_string_equal(after, before);
		return;
	}
	assert_null(strstr(before, network));
	assert_non_null(strstr(after, network));
	assert_int_equal(strlen(after), strlen(before) + strlen(network) + 1);
}

static void each_vrf_is_a_network(void **state)
{
	struct rig r;

	(void)state;
	start_mqtt(&r, "");
	set_vrf_of(&r, A, BLUE, UP);
	set_vrf_of(&r, SUB, RED, UP);
	is_new_in(&r, A, 0, "vrf:10");
	is_new_in(&r, A, ID, "vrf:20");
	is_new_in(&r, B, 0, "main");
	is_new_in(&r, A, 0, NULL); /* a retransmission */
	set_vrf_of(&r, B, RED, UP);
	is_new_in(&r, B, 0, NULL);
	set_vrf_of(&r, B, GREEN, UP);
	is_new_in(&r, B, 0, "vrf:30");
	set_vrf_of(&r, SUB, MAIN, UP);
	is_new_in(&r, A, ID, NULL);
	rig_stop(&r);
}

/* The same segment of the client with two tags, which is punted. */
static void is_known(struct rig *r, uint16_t outer, uint16_t inner)
{
	char before[256] = "", after[256] = "";
	uint8_t frame[128];
	struct peer c;
	size_t n;

	bp_flow_visit(r->shm.flows, r->shm.flows_len, 1, r->worker->mono_ns, collect, before);
	peer_init(&c, false, 1, 1000, 2000);
	c.n_vlan = 2;
	c.vlan[0] = outer;
	c.vlan[1] = inner;
	n = peer_frame(&c, CLIENT, TH_SYN, c.seq[CLIENT], 0, NULL, 0, frame);
	memcpy(frame, mac_of[A], 6);
	bp_put_be16(frame + 12, BP_ETHER_VLAN);
	rig_put(r, A, frame, (uint32_t)n);
	rig_walk(r);
	/* a priority tag in front is of the port */
	if (outer == 0)
		memmove(frame + 12, frame + 16, (n -= 4) - 12);
	rig_expect_kernel(r, BP_EX_OTHER, A, frame, (uint32_t)n);
	bp_flow_visit(r->shm.flows, r->shm.flows_len, 1, r->worker->mono_ns, collect, after);
	assert_string_equal(after, before);
}

/* The kernel strips priority tags, and receives the frame by the same subinterface. */
static void priority_tags_make_no_other_connection(void **state)
{
	struct rig r;

	(void)state;
	start_mqtt(&r, "");
	set_vrf_of(&r, A, BLUE, UP);
	set_vrf_of(&r, SUB, RED, UP);
	is_new_in(&r, A, ID, "vrf:20");
	is_known(&r, 0, ID);
	is_known(&r, ID, 0);
	rig_stop(&r);
}

/* The table of a number is another one, as after VRFs were deleted and created. */
static void a_number_of_a_vrf_is_reused(void **state)
{
	const struct bp_vrf_info other = {.table = 77};
	struct bp_interface_info info;
	struct rig r;

	(void)state;
	start_mqtt(&r, "");
	set_vrf_of(&r, A, BLUE, UP);
	is_new_in(&r, A, 0, "vrf:10");
	assert_int_equal(bp_fib_vrf_set(r.writer, BLUE, &other), BP_FIB_DONE);
	assert_true(bp_fib_interface(&r.shm.fib, A, &info));
	info.vrf_table = 77;
	assert_int_equal(bp_fib_interface_set(r.writer, A, &info), BP_FIB_DONE);
	is_new_in(&r, A, 0, "vrf:77");
	rig_stop(&r);
}

/* While the kernel interface is missing, segments are in the network that they were in. */
static void a_missing_interface_keeps_its_network(void **state)
{
	uint8_t blue;
	struct rig r;

	(void)state;
	start_mqtt(&r, "");
	set_vrf_of(&r, A, BLUE, UP);
	rig_walk(&r);
	blue = r.worker->network[A];
	assert_int_not_equal(blue, 0);
	set_vrf_of(&r, A, MAIN, BP_IF_PRESENT);
	rig_walk(&r);
	assert_int_equal(r.worker->network[A], blue);
	set_vrf_of(&r, A, MAIN, UP);
	rig_walk(&r);
	assert_int_equal(r.worker->network[A], 0);
	rig_stop(&r);
}

/* Its ports are in the VRF of its host interface; those of another bridge are in none. */
static void bridges_with_a_host_interface(void **state)
{
	struct bp_interface_info info = {
		.name = "h", .flags = UP, .mtu = 1500, .vrf = BLUE, .vrf_table = 10};
	struct rig r;

	(void)state;
	rig_start(&r,
		"ports: [{name: a, device: net_null0}, {name: b, device: net_null1}, "
		"{name: c, device: net_null2}, {name: d, device: net_null3}]\n"
		"bridges: [{name: h, ports: [a, b], host_interface: {}}, "
		"{name: x, ports: [c, d]}]\n" MQTT,
		false, false);
	assert_int_equal(r.worker->network[A], 0);
	assert_int_equal(bp_fib_interface_set(r.writer, BP_MAX_PORTS, &info), BP_FIB_DONE);
	info.name[0] = 'c'; /* no interface of the kernel, whatever the table has */
	info.vrf_table = 20;
	assert_int_equal(bp_fib_interface_set(r.writer, C, &info), BP_FIB_DONE);
	rig_walk(&r);
	assert_true(r.worker->network[A] >= BP_NETWORKS_CONFIGURED);
	assert_int_equal(r.worker->network[B], r.worker->network[A]);
	assert_int_equal(r.worker->network[C], 1);
	assert_int_equal(r.worker->network[3], 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_vrf_is_a_network),
		cmocka_unit_test(priority_tags_make_no_other_connection),
		cmocka_unit_test(a_number_of_a_vrf_is_reused),
		cmocka_unit_test(a_missing_interface_keeps_its_network),
		cmocka_unit_test(bridges_with_a_host_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
