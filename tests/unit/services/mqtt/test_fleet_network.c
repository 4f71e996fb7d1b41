/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of networks, as gateways of a fleet share them. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>

#include "fleet_steps.h"

static const char *bridge_name[2];

static void two_bridges(struct rig *r)
{
	struct bp_config *c = &r->config;

	c->n_ports = 4;
	c->n_bridges = 2;
	for (uint8_t i = 0; i < 2; i++) {
		struct bp_config_bridge *b = &c->bridge[i];

		snprintf(b->name, sizeof(b->name), "%s", bridge_name[i]);
		b->n = 2;
		b->port[0] = (uint8_t)(2 * i);
		b->port[1] = (uint8_t)(2 * i + 1);
	}
}

/* The names of the bridges of each gateway, in the order of its file. */
static void open_networks(const char *of_one[2], const char *of_two[2])
{
	memset(&stored, 0, sizeof(stored));
	configure = two_bridges;
	memcpy(bridge_name, of_one, sizeof(bridge_name));
	open_gateway(&one, 1);
	memcpy(bridge_name, of_two, sizeof(bridge_name));
	open_gateway(&two, 2);
	own_epoch = 1;
	exporter = bp_exporter_create(1, one.mono_ns);
	assert_non_null(exporter);
}

/* The same network has another number at the other gateway. */
static void adopted_by_name(void **state)
{
	struct peer c;

	(void)state;
	open_networks((const char *[]){"a", "b"}, (const char *[]){"b", "a"});
	one.network = 1; /* a */
	connect_alias(&c, 1);
	assert_string_equal(stored.key.network, "a");
	two.network = 2; /* a */
	publish_alias(&two, &c, "", 3, "90");
	offer();
	assert_string_equal(rig_told_values(&two), "90");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	close_fleet();
}

/* The other network asks for another connection, and the record is none of it. */
static void other_network_does_not_adopt(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_networks((const char *[]){"a", "b"}, (const char *[]){"a", "b"});
	one.network = 1;
	connect_alias(&c, 1);
	two.network = 2;
	publish_alias(&two, &c, "", 3, "90");
	assert_true(request(&k));
	assert_string_equal(k.network, "b");
	assert_false(bp_connection_key_equal(&k, &stored.key));
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_INVALID), 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 0);
	assert_string_equal(rig_told_values(&two), "");
	close_fleet();
}

/* An answer for a network that this gateway does not have, or for no possible name. */
static void unknown_network(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_networks((const char *[]){"a", "b"}, (const char *[]){"c", "d"});
	one.network = 1;
	connect_alias(&c, 1);
	two.network = 1;
	publish_alias(&two, &c, "", 3, "90");
	assert_true(request(&k));
	assert_string_equal(k.network, "c");
	offer_bytes(BP_ADOPT_FOUND, &stored.key, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_INVALID), 1);
	memset(k.network, 'x', sizeof(k.network));
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	memset(k.network, 0, sizeof(k.network));
	k.network[sizeof(k.network) - 1] = 'x';
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_INVALID), 3);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 0);
	close_fleet();
}

/* The end of the connection of one network leaves the record of the other. */
static void each_has_a_record(void **state)
{
	struct peer c[2];

	(void)state;
	open_networks((const char *[]){"a", "b"}, (const char *[]){"a", "b"});
	for (uint8_t i = 0; i < 2; i++) {
		one.network = (uint8_t)(i + 1);
		peer_init(&c[i], false, 5, 1000 + 50 * i, 2000 + 50 * i);
		rig_connect(&one, &c[i], 4, "same");
	}
	rest_and_scan();
	assert_int_equal(stored.puts, 2);
	one.network = 1;
	rig_fin_both(&one, &c[0]);
	rest_and_scan();
	assert_int_equal(stored.ends, 1);
	assert_string_equal(stored.key.network, "a");
	close_fleet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adopted_by_name),
		cmocka_unit_test(other_network_does_not_adopt),
		cmocka_unit_test(unknown_network),
		cmocka_unit_test(each_has_a_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
