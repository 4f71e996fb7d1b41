/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of different networks with the same addresses and TCP ports. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "services/mqtt/flow.h"
#include "services/mqtt/flow_show.h"
#include "rig.h"

#define N 2 /* networks */

static struct rig rig;
/* the same connection on both: other bytes, and other sequence numbers */
static struct peer peer[N];

/* Two bridges of two ports each; network[i]: of bridge i, "": its name. */
static void bridges(struct bp_config *c, const char *const network[N])
{
	c->n_ports = 2 * N;
	c->n_bridges = N;
	for (uint8_t i = 0; i < N; i++) {
		struct bp_config_bridge *b = &c->bridge[i];

		snprintf(b->name, sizeof(b->name), "cell-%u", i);
		snprintf(b->network, sizeof(b->network), "%s", network[i]);
		b->n = 2;
		b->port[0] = (uint8_t)(2 * i);
		b->port[1] = (uint8_t)(2 * i + 1);
	}
	for (unsigned p = 0; p < 2 * N; p++)
		snprintf(c->port[p].device, sizeof(c->port[p].device), "net%u", p);
}

static void open_rig(bool bursts)
{
	rig_defaults(&rig);
	bridges(&rig.config, (const char *const[]){"", ""});
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
	rig.bursts = bursts;
	for (uint32_t i = 0; i < N; i++)
		peer_init(&peer[i], false, 7, 1000 + 5000 * i, 90000 + 7000 * i);
}

/* Frames from now on arrive in network `number`. */
static struct peer *in_network(uint8_t number)
{
	rig_flush(&rig);
	rig.network = number;
	return &peer[number - 1];
}

static void connect_all(void)
{
	char id[16];

	for (uint8_t k = 1; k <= N; k++) {
		snprintf(id, sizeof(id), "client-%u", k);
		rig_connect(&rig, in_network(k), 4, id);
	}
}

/* A frame of the burst path, in each network in turn. */
static void values_of_all_are_evaluated(bool bursts)
{
	char value[16];
	struct told_list l;

	open_rig(bursts);
	rig.burst_size = 16;
	connect_all();
	for (unsigned i = 0; i < 64; i++)
		for (uint8_t k = 1; k <= N; k++) {
			/* a topic each: alarm states are by rule and topic */
			snprintf(value, sizeof(value), "%u%u.5", i % 2 ? 9 : 1, k);
			rig.network = k;
			rig_publish_text(&rig, &peer[k - 1], k == 1 ? "t/1" : "t/2", value);
		}
	rig_flush(&rig);
	l = rig_told(&rig);
	assert_int_equal(l.n, N * 32);
	for (size_t i = 0; i < l.n; i++) {
		const uint8_t k = (uint8_t)(i % N + 1);

		snprintf(value, sizeof(value), "client-%u", k);
		assert_string_equal(l.a[i].client, value);
		assert_string_equal(l.a[i].topic, k == 1 ? "t/1" : "t/2");
	}
	told_free(&l);
	if (bursts)
		assert_true(rig.n_general < 40); /* of 128 and two handshakes */
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_WINDOW), 0);
	assert_int_equal(bp_mqtt_worker_flows(rig.in), N);
	rig_close(&rig);
}

static void general_path_has_both(void **state)
{
	(void)state;
	values_of_all_are_evaluated(false);
}

static void burst_path_has_both(void **state)
{
	(void)state;
	values_of_all_are_evaluated(true);
}

/* Whatever a host of one network sends with the addresses, ports and numbers of a connection of the
 * other one. */
static void other_network_changes_nothing(bool bursts)
{
	static const uint8_t flags[] = {
		TH_RST, TH_RST | TH_ACK, TH_SYN, TH_SYN | TH_ACK, TH_FIN | TH_ACK, TH_ACK};
	struct bytes b = {0};

	open_rig(bursts);
	rig_connect(&rig, in_network(1), 4, "c");
	for (unsigned i = 0; i < sizeof(flags); i++) {
		struct peer *c = &peer[0];

		mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "99"});
		rig_flush(&rig);
		rig.network = 2;
		for (unsigned from = 0; from < 2; from++) {
			rig_segment(&rig, c, from, flags[i], c->seq[from], c->seq[!from], NULL, 0);
			rig_segment(&rig, c, from, flags[i], c->seq[from], c->seq[!from], b.p, b.n);
		}
		bytes_free(&b);
		rig_publish_text(&rig, in_network(1), "t/x", "81");
		rig_publish_text(&rig, in_network(1), "t/x", "79");
		rig_flush(&rig);
		assert_string_equal(rig_told_values(&rig), "81");
	}
	assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 0);
	rig_close(&rig);
}

static void general_path_ignores_other(void **state)
{
	(void)state;
	other_network_changes_nothing(false);
}

static void burst_path_ignores_other(void **state)
{
	(void)state;
	other_network_changes_nothing(true);
}

/* ---- views ---- */

static int collect(const struct bp_flow_view *v, void *arg)
{
	char(*names)[BP_NAME_MAX + 1] = arg;

	assert_string_equal(names[0], "");
	memmove(names[0], names[1], sizeof(names[0]));
	memcpy(names[1], v->network, sizeof(names[1]));
	return 0;
}

static void views_have_the_name(void **state)
{
	char names[2][BP_NAME_MAX + 1] = {"", ""};

	(void)state;
	open_rig(false);
	connect_all();
	assert_int_equal(
		bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns, collect, names), 0);
	assert_int_equal(names[0][5] ^ names[1][5], '0' ^ '1');
	assert_memory_equal(names[0], "cell-", 5);
	assert_memory_equal(names[1], "cell-", 5);
	rig_close(&rig);
}

/* ---- a restart of the data plane ---- */

static void connections_are_adopted(void **state)
{
	(void)state;
	open_rig(false);
	connect_all();
	rig_restart(&rig);
	assert_null(bp_mqtt_worker_not_adopted(rig.in));
	for (uint8_t k = 1; k <= N; k++)
		rig_publish_text(&rig, in_network(k), k == 1 ? "t/1" : "t/2", k == 1 ? "81" : "82");
	assert_string_equal(rig_told_values(&rig), "81 82");
	assert_int_equal(rig_count(&rig, BP_C_CONN_ADOPTED), N);
	rig_close(&rig);
}

/* Another process: connections are not taken for those of another network. */
static void not_adopted_with(const char *const network[N], bool swapped)
{
	open_rig(false);
	connect_all();
	bridges(&rig.config, network);
	if (swapped) {
		struct bp_config_bridge *b = rig.config.bridge, first = b[0];

		b[0] = b[1];
		b[1] = first;
	}
	rig_restart(&rig);
	assert_non_null(bp_mqtt_worker_not_adopted(rig.in));
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 0);
	rig_close(&rig);
}

static void changed_networks_are_not_adopted(void **state)
{
	(void)state;
	not_adopted_with((const char *const[]){"", "other"}, false);
	not_adopted_with((const char *const[]){"shared", "shared"}, false);
	not_adopted_with((const char *const[]){"main", ""}, false);
	not_adopted_with((const char *const[]){"cell-1", "cell-0"}, false);
	not_adopted_with((const char *const[]){"", ""}, true); /* the order of the file */
}

static void damaged_number_is_not_adopted(void **state)
{
	struct bp_flow *f;
	uint64_t n;

	(void)state;
	open_rig(false);
	connect_all();
	f = (struct bp_flow *)(uintptr_t)bp_flows_of(rig.shm.flows, rig.shm.flows_len, 1, 0, &n);
	for (uint64_t i = 0; i < n; i++)
		if (f[i].proof != 0)
			f[i].k1 |= (uint64_t)0x7c << BP_FLOW_K1_NETWORK;
	rig_restart(&rig);
	assert_int_equal(rig_count(&rig, BP_C_CONN_NOT_ADOPTED), N);
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 0);
	rig_close(&rig);
}

/* ---- numbers ---- */

static void numbers_and_names(void **state)
{
	static struct bp_config c;
	struct bp_networks n;

	(void)state;
	bridges(&c, (const char *const[]){"", ""});
	bp_config_networks(&c, &n);
	assert_int_equal(n.n, 3);
	assert_memory_equal(n.of_port, "\1\1\2\2\0", 5);
	assert_string_equal(n.name[0], "");
	assert_string_equal(n.name[1], "cell-0");
	assert_string_equal(n.name[2], "cell-1");

	bridges(&c, (const char *const[]){"both", "both"});
	bp_config_networks(&c, &n);
	assert_int_equal(n.n, 2);
	assert_memory_equal(n.of_port, "\1\1\1\1\0", 5);

	/* the kernel routes between a bridge with a host interface and routed ports */
	bridges(&c, (const char *const[]){"", "main"});
	c.bridge[0].has_host_interface = true;
	bp_config_networks(&c, &n);
	assert_int_equal(n.n, 1);
	assert_memory_equal(n.of_port, "\0\0\0\0\0", 5);
	c.bridge[0].has_host_interface = false;

	/* the only bridge, with a routed port and without one; or with a name that is given */
	bridges(&c, (const char *const[]){"", ""});
	c.n_bridges = 1;
	bp_config_networks(&c, &n);
	assert_memory_equal(n.of_port, "\1\1\0\0\0", 5);
	c.n_ports = 2;
	bp_config_networks(&c, &n);
	assert_int_equal(n.n, 1);
	assert_memory_equal(n.of_port, "\0\0\0\0\0", 5);
	strcpy(c.bridge[0].network, "cells");
	bp_config_networks(&c, &n);
	assert_string_equal(n.name[n.of_port[0]], "cells");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(general_path_has_both),
		cmocka_unit_test(burst_path_has_both),
		cmocka_unit_test(general_path_ignores_other),
		cmocka_unit_test(burst_path_ignores_other),
		cmocka_unit_test(views_have_the_name),
		cmocka_unit_test(connections_are_adopted),
		cmocka_unit_test(changed_networks_are_not_adopted),
		cmocka_unit_test(damaged_number_is_not_adopted),
		cmocka_unit_test(numbers_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
