/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks of VRFs: their numbers and names, and connections with the same addresses in two. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "services/mqtt/flow.h"
#include "services/mqtt/flow_show.h"
#include "rig.h"

#define VRFS (BP_NETWORK_OTHER - BP_NETWORKS_CONFIGURED) /* that have a number */
#define BLUE 10                                          /* routing tables */
#define RED 20

static struct rig rig;
static struct peer peer[2];

static void open_rig(void)
{
	rig_defaults(&rig);
	rig.mqtt.separate_vrfs = true;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
	for (uint32_t i = 0; i < 2; i++)
		peer_init(&peer[i], false, 7, 1000 + 5000 * i, 90000 + 7000 * i);
}

/* Interfaces are in these VRFs, and in no others. */
static void vrfs(const uint32_t *table, uint8_t *network, unsigned n)
{
	rig_flush(&rig);
	bp_mqtt_worker_networks(rig.in, table, network, n);
}

static uint8_t network_of(uint32_t table)
{
	uint8_t network;

	vrfs(&table, &network, 1);
	return network;
}

/* Connection `i` in this network from now on. */
static struct peer *in_network(unsigned i, uint8_t network)
{
	rig_flush(&rig);
	rig.network = network;
	return &peer[i];
}

static const char *name_of(uint8_t network)
{
	return bp_flow_header_of(rig.shm.flows, rig.shm.flows_len, 1, 0)->network[network];
}

static void numbers_and_names(void **state)
{
	static const uint32_t table[] = {0, BLUE, RED, BLUE, UINT32_MAX};
	uint8_t network[5];

	(void)state;
	open_rig();
	vrfs(table, network, 5);
	assert_int_equal(network[0], 0);
	assert_in_range(network[1], BP_NETWORKS_CONFIGURED, BP_NETWORK_OTHER - 1);
	assert_int_not_equal(network[2], network[1]);
	assert_int_equal(network[3], network[1]);
	assert_string_equal(name_of(network[1]), "vrf:10");
	assert_string_equal(name_of(network[2]), "vrf:20");
	assert_string_equal(name_of(network[4]), "vrf:4294967295");
	assert_int_equal(network_of(RED), network[2]); /* blue is gone */
	rig_close(&rig);
}

/* Each end of a connection of one VRF, and whatever a host of the other one sends to it. */
static void connections_of_two_vrfs(void **state)
{
	static const uint32_t table[] = {BLUE, RED};
	uint8_t network[2];

	(void)state;
	open_rig();
	vrfs(table, network, 2);
	for (unsigned i = 0; i < 2; i++)
		rig_connect(&rig, in_network(i, network[i]), 4, i == 0 ? "blue" : "red");
	for (unsigned i = 0; i < 2; i++)
		rig_publish_text(
			&rig, in_network(i, network[i]), i ? "t/1" : "t/0", i ? "82" : "81");
	assert_string_equal(rig_told_values(&rig), "81 82");
	rig_segment(&rig, in_network(0, network[1]), 0, TH_RST, peer[0].seq[0], peer[0].seq[1],
		NULL, 0);
	rig_publish_text(&rig, in_network(0, network[0]), "t/0", "79");
	rig_publish_text(&rig, in_network(0, network[0]), "t/0", "83");
	assert_string_equal(rig_told_values(&rig), "83");
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 2);
	assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 0);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	rig_close(&rig);
}

/* The VRF is deleted, and others are created, one after the other: none gets its number as long as
 * it has a connection. */
static void a_number_is_kept_for_its_connections(void **state)
{
	bool reused = false;
	uint8_t blue, now;

	(void)state;
	open_rig();
	blue = network_of(BLUE);
	rig_connect(&rig, in_network(0, blue), 4, "c");
	for (uint32_t i = 0; i < 2 * VRFS; i++) {
		now = network_of(100 + i);
		assert_int_not_equal(now, blue);
		assert_int_not_equal(now, BP_NETWORK_OTHER);
	}
	assert_string_equal(name_of(blue), "vrf:10");
	assert_int_equal(network_of(BLUE), blue); /* it returns, and its connection continues */
	rig_publish_text(&rig, in_network(0, blue), "t/0", "81");
	assert_string_equal(rig_told_values(&rig), "81");
	network_of(RED);
	rig_expire_all(&rig);
	for (uint32_t i = 0; i < 2 * VRFS; i++)
		reused |= network_of(1000 + i) == blue;
	assert_true(reused);
	assert_string_not_equal(name_of(blue), "vrf:10");
	rig_close(&rig);
}

static void more_vrfs_than_numbers(void **state)
{
	uint32_t table[VRFS + 3];
	uint8_t network[VRFS + 3];
	bool seen[BP_NETWORKS] = {false};

	(void)state;
	open_rig();
	for (uint32_t i = 0; i < VRFS + 3; i++)
		table[i] = 100 + i;
	table[VRFS + 2] = 0;
	vrfs(table, network, VRFS + 3);
	for (uint32_t i = 0; i < VRFS; i++) {
		assert_false(seen[network[i]]);
		assert_int_not_equal(network[i], BP_NETWORK_OTHER);
		seen[network[i]] = true;
	}
	assert_int_equal(network[VRFS], BP_NETWORK_OTHER);
	assert_int_equal(network[VRFS + 1], BP_NETWORK_OTHER);
	assert_int_equal(network[VRFS + 2], 0);
	assert_string_equal(name_of(BP_NETWORK_OTHER), "vrf:other");
	/* the connections of these are of no network that the next process knows */
	rig_connect(&rig, in_network(0, BP_NETWORK_OTHER), 4, "c");
	rig_restart(&rig);
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 0);
	rig_close(&rig);
}

/* ---- a restart of the data plane ---- */

/* The connections of a VRF that is gone are those of its table, not of the next VRF. */
static void connections_are_adopted_by_name(void **state)
{
	uint8_t blue, red;

	(void)state;
	open_rig();
	blue = network_of(BLUE);
	rig_connect(&rig, in_network(0, blue), 4, "c");
	rig_restart(&rig);
	assert_null(bp_mqtt_worker_not_adopted(rig.in));
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 1);
	red = network_of(RED);
	assert_int_not_equal(red, blue);
	assert_int_equal(network_of(BLUE), blue);
	rig_publish_text(&rig, in_network(0, blue), "t/0", "81");
	assert_string_equal(rig_told_values(&rig), "81");
	rig_close(&rig);
}

static void damaged_names_are_not_adopted(void **state)
{
	static const char *const name[] = {
		"vrf:010", "vrf:10x", "vrf:0", "vrf:4294967296", "VRF:10", "", "vrf:-1", "vrf:20"};

	(void)state;
	for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		static const uint32_t table[] = {RED, BLUE};
		uint8_t network[2];
		char *stored;

		open_rig();
		vrfs(table, network, 2);
		rig_connect(&rig, in_network(0, network[1]), 4, "c");
		stored = (char *)(uintptr_t)name_of(network[1]);
		memset(stored, 0, BP_NAME_MAX + 1);
		memcpy(stored, name[i], strlen(name[i]));
		rig_restart(&rig);
		assert_int_equal(rig_count(&rig, BP_C_CONN_NOT_ADOPTED), 1);
		assert_int_equal(bp_mqtt_worker_flows(rig.in), 0);
		rig_close(&rig);
	}
}

/* mqtt.separate_vrfs: false */
static void one_network_for_all(void **state)
{
	static const uint32_t table[] = {0, BLUE, RED};
	uint8_t network[3];

	(void)state;
	open_rig();
	rig_connect(&rig, in_network(0, network_of(BLUE)), 4, "c");
	rig.mqtt.separate_vrfs = false;
	rig_restart(&rig);
	assert_non_null(bp_mqtt_worker_not_adopted(rig.in));
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 0);
	vrfs(table, network, 3);
	assert_memory_equal(network, "\0\0\0", 3);
	rig_close(&rig);
}

/* ---- route leaking: each direction arrives in another VRF ---- */

static uint8_t leaks_to[2];

static int count_unread(const struct bp_flow_view *v, void *arg)
{
	*(unsigned *)arg += v->unread;
	if (v->unread)
		assert_string_equal(v->unread_reason, "midstream");
	return 0;
}

/* The client's connection, from the handshake on. */
static void publish_leaking(void)
{
	struct peer *c = &peer[0];
	struct bytes b = {0};

	rig_segment(&rig, in_network(0, leaks_to[0]), 0, TH_SYN, c->seq[0]++, 0, NULL, 0);
	rig_segment(&rig, in_network(0, leaks_to[1]), 1, TH_SYN | TH_ACK, c->seq[1]++, c->seq[0],
		NULL, 0);
	rig_ack(&rig, in_network(0, leaks_to[0]), 0);
	mq_connect(&b, 4, "c", 0);
	rig_send_bytes(&rig, in_network(0, leaks_to[0]), 0, &b);
	in_network(0, leaks_to[1]);
	rig_accept(&rig, c, 4);
	in_network(0, leaks_to[0]);
	rig_ack(&rig, c, 0);
	rig_publish_text(&rig, c, "t/0", "81");
	rig_ack(&rig, in_network(0, leaks_to[1]), 1);
	rig_publish_text(&rig, in_network(0, leaks_to[0]), "t/0", "82");
	rig_flush(&rig);
}

static void a_leaking_connection_is_reported(void **state)
{
	static const uint32_t table[] = {BLUE, RED};
	unsigned unread = 0;

	(void)state;
	open_rig();
	vrfs(table, leaks_to, 2);
	publish_leaking();
	assert_string_equal(rig_told_values(&rig), "");
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 2);
	assert_int_equal(bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns,
				 count_unread, &unread),
		0);
	assert_true(unread != 0);
	assert_true(rig_count(&rig, BP_C_CONN_MIDSTREAM) != 0);
	rig_close(&rig);

	open_rig();
	memset(leaks_to, 0, sizeof(leaks_to)); /* as with separate_vrfs: false */
	publish_leaking();
	assert_string_equal(rig_told_values(&rig), "81 82");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_names),
		cmocka_unit_test(connections_of_two_vrfs),
		cmocka_unit_test(a_number_is_kept_for_its_connections),
		cmocka_unit_test(more_vrfs_than_numbers),
		cmocka_unit_test(connections_are_adopted_by_name),
		cmocka_unit_test(damaged_names_are_not_adopted),
		cmocka_unit_test(one_network_for_all),
		cmocka_unit_test(a_leaking_connection_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
