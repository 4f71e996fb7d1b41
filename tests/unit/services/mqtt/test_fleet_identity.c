/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy of a gateway that adopts a connection: who its client is comes from the record. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "biplane/policy.h"
#include "fleet_steps.h"
#include "shm/rules/policy.h"

static struct bp_policy_rule_spec rules[] = {
	{.name = "anna", .user = "anna", .topic = "t/#", .action = BP_POLICY_ALLOW},
	{.name = "nobody",
		.identity = BP_POLICY_ANONYMOUS,
		.topic = "t/#",
		.action = BP_POLICY_ALLOW},
};

/* The policy of `two`. */
static void open_with_policy(void)
{
	open_fleet();
	two.mqtt.policy = (struct bp_policy_spec){
		.given = true, .preset = BP_POLICY_OBSERVE, .n_rules = 2, .rules = rules};
	rig_rules(&two, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

/* By the number of a rule, from 1; 0: the default. */
static uint64_t decisions(unsigned r)
{
	return atomic_load(
		&two.shm.policy_stats[r == 0 ? 0 : bp_policy_rule(two.rules, r - 1)->slot].matched);
}

static uint64_t undecided(void)
{
	return rig_count(&two, BP_C_POLICY_UNDECIDED);
}

/* A client of `one`, and its record. user NULL: none. */
static void connect_as(struct peer *c, const char *id, const char *user)
{
	struct bytes b = {0}, body = {0};

	bytes_be16(&body, 4);
	bytes_add(&body, "MQTT\x04", 5);
	bytes_u8(&body, user != NULL ? 0x82 : 0x02);
	bytes_be16(&body, 60);
	bytes_be16(&body, (uint16_t)strlen(id));
	bytes_add(&body, id, strlen(id));
	if (user != NULL) {
		bytes_be16(&body, (uint16_t)strlen(user));
		bytes_add(&body, user, strlen(user));
	}
	mq_raw(&b, 0x10, body.p, body.n);
	bytes_free(&body);
	peer_init(c, false, 1, 100, 200);
	rig_handshake(&one, c);
	rig_send_bytes(&one, c, CLIENT, &b);
	rig_accept(&one, c, 4);
	rig_ack(&one, c, CLIENT);
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
}

static void publish(struct peer *c)
{
	rig_publish(&two, c, CLIENT,
		&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "1"});
	rig_ack(&two, c, BROKER);
}

static void moves(struct peer *c)
{
	publish(c);
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
}

/* The record that `two` makes of the connection. */
static struct bp_connection_record passed_on(void)
{
	struct bp_exporter *of_two = bp_exporter_create(1, two.mono_ns);
	const struct bp_export_sink sink = sink_of_one();
	struct bp_connection_record r;

	rig_advance(&two, 2 * BP_EXPORT_INTERVAL_NS);
	assert_non_null(of_two);
	stored.puts = 0;
	assert_true(bp_exporter_scan(
		of_two, &two.shm, two.mono_ns, two.mqtt.connection_timeout_ns, &sink));
	bp_exporter_free(of_two);
	assert_int_equal(stored.puts, 1);
	assert_true(bp_connection_record_read(stored.p, stored.n, &r));
	return r;
}

static void a_user_moves_with_its_connection(void **state)
{
	static const char *const id[] = {"pump", ""};
	struct bp_connection_record r;
	struct peer c;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		open_with_policy();
		connect_as(&c, id[i], "anna");
		moves(&c);
		assert_int_equal(decisions(1), 1);
		assert_int_equal(undecided(), 0);
		/* and over a restart of the data plane, and to the next gateway */
		rig_restart(&two);
		rig_rules(&two, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
		publish(&c);
		assert_int_equal(undecided(), 0);
		assert_true(decisions(1) >= 1);
		r = passed_on();
		assert_int_equal(r.user_state, BP_RECORD_USER_GIVEN);
		assert_int_equal(r.user_len, 4);
		assert_memory_equal(r.user, "anna", 4);
		assert_int_equal(r.client_id_len, strlen(id[i]));
		close_fleet();
	}
}

static void a_client_without_a_user_is_known(void **state)
{
	struct peer c;

	(void)state;
	open_with_policy();
	connect_as(&c, "pump", NULL);
	moves(&c);
	assert_int_equal(decisions(2), 1);
	assert_int_equal(undecided(), 0);
	assert_int_equal(passed_on().user_state, BP_RECORD_USER_NONE);
	close_fleet();
}

/* It stays unknown, and is passed on as unknown. */
static void a_user_that_is_too_long_is_unknown(void **state)
{
	char user[BP_RECORD_USER_MAX + 2];
	struct peer c;

	(void)state;
	memset(user, 'u', sizeof(user) - 1);
	user[sizeof(user) - 1] = '\0';
	open_with_policy();
	connect_as(&c, "pump", user);
	moves(&c);
	assert_int_equal(undecided(), 1);
	assert_int_equal(decisions(0) + decisions(1) + decisions(2), 0);
	rig_restart(&two);
	rig_rules(&two, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
	publish(&c);
	assert_int_equal(decisions(0) + decisions(1) + decisions(2), 0);
	assert_int_equal(passed_on().user_state, BP_RECORD_USER_UNKNOWN);
	close_fleet();
	/* the longest one is known */
	user[BP_RECORD_USER_MAX] = '\0';
	open_with_policy();
	connect_as(&c, "pump", user);
	moves(&c);
	assert_int_equal(undecided(), 0);
	assert_int_equal(decisions(0), 1);
	close_fleet();
}

/* A gateway of an earlier release does not say whether there is a user name. */
static void the_user_of_a_former_record_is_unknown(void **state)
{
	struct bp_connection_key k;
	struct peer c;
	uint8_t *at;

	(void)state;
	open_with_policy();
	connect_as(&c, "pump", "anna");
	at = memmem(stored.p, stored.n, "\2\4\0anna", 7);
	assert_non_null(at);
	stored.n -= 7;
	memmove(at, at + 7, stored.n - (size_t)(at - stored.p));
	memcpy(stored.p, "BPC3", 4);
	publish(&c);
	assert_true(request(&k));
	offer_record(&k, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	assert_int_equal(undecided(), 1);
	assert_int_equal(passed_on().user_state, BP_RECORD_USER_UNKNOWN);
	close_fleet();
}

/* A gateway that has read the CONNECT itself knows more than a record without a user name. */
static void a_connection_that_returns_keeps_its_user(void **state)
{
	struct peer c, same;
	struct bytes b = {0};
	uint8_t *at;

	(void)state;
	open_with_policy();
	connect_as(&c, "pump", "anna");
	peer_init(&same, false, 1, 100, 200);
	rig_handshake(&two, &same);
	mq_raw(&b, 0x10, "\0\4MQTT\4\x82\0\x3c\0\4pump\0\4anna", 22);
	rig_send_bytes(&two, &same, CLIENT, &b);
	rig_accept(&two, &same, 4);
	rig_ack(&two, &same, CLIENT);
	rig_publish(&one, &c, CLIENT,
		&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "1"});
	rig_ack(&one, &c, BROKER);
	rest_and_scan();
	assert_int_equal(stored.puts, 2);
	at = memmem(stored.p, stored.n, "\2\4\0anna", 7);
	assert_non_null(at);
	stored.n -= 6;
	memmove(at + 1, at + 7, stored.n - (size_t)(at + 1 - stored.p));
	*at = BP_RECORD_USER_UNKNOWN;
	rig_advance(&two, 1000000000);
	publish(&c);
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	assert_int_equal(undecided(), 0);
	assert_true(decisions(1) >= 1);
	assert_int_equal(passed_on().user_state, BP_RECORD_USER_GIVEN);
	close_fleet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_moves_with_its_connection),
		cmocka_unit_test(a_client_without_a_user_is_known),
		cmocka_unit_test(a_user_that_is_too_long_is_unknown),
		cmocka_unit_test(the_user_of_a_former_record_is_unknown),
		cmocka_unit_test(a_connection_that_returns_keeps_its_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
