/* SPDX-License-Identifier: BSD-3-Clause */
/* mqtt.policy.fail and fail_overrides, for each cause of a packet without a decision. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"
#include "websocket_peer.h"

static void met_midstream(void)
{
	struct peer c = open_peer();

	c.seq[CLIENT]++;
	c.seq[BROKER]++;
	publish(&c, 4, "t/x");
}

/* The data plane starts again, and its segment is lost. */
static void restart(void)
{
	struct peer c = connected(4);
	const struct bp_mqtt_worker *in = rig.in;

	memset(&broker, 0, sizeof(broker));
	broker.first = c.seq[CLIENT];
	for (uint64_t i = 0; i < (uint64_t)in->table.groups * BP_FLOW_WAYS; i++)
		if (in->table.flow[i].proof != 0)
			memset(in->table.flow[i].client_ip, 0xff, 16);
	in->table.header->now = 0;
	memset(in->table.group, 0, in->table.groups * sizeof(in->table.group[0]));
	rig_restart(&rig);
	publish(&c, 4, "t/x");
}

static void another_protocol(void)
{
	struct peer c = open_peer();

	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, "GET / HTTP/1.1\r\n\r\n", 18);
}

/* A record with a ClientHello leaves, since it is no packet of MQTT; what follows does not. */
static void tls(void)
{
	struct peer c = open_peer();

	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, "\x16\3\1\0\4\1\0\0\0", 9);
	memset(&broker, 0, sizeof(broker));
	broker.first = c.seq[CLIENT];
	rig_send(&rig, &c, CLIENT, "\x17\3\3\0\4\1\0\0\0", 9);
}

static void second_connect(void)
{
	struct bytes b = {0};
	struct peer c = connected(4);

	memset(&broker, 0, sizeof(broker));
	broker.first = c.seq[CLIENT];
	mq_connect(&b, 4, "pump-1", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
}

/* A rule reads the payload of a packet that is not kept. */
static void too_large(void)
{
	static uint8_t p[4000] = "\x30\x9c\x1f\0\4t/v1";
	struct peer c = connected(4);

	memset(&broker, 0, sizeof(broker));
	broker.first = c.seq[CLIENT];
	for (unsigned i = 0; i < 4; i++) {
		rig_send(&rig, &c, CLIENT, p + 1000 * i, i == 3 ? 999 : 1000);
		rig_ack(&rig, &c, BROKER);
	}
	if (received(&broker) < 3999) /* a part of it, which is no packet for the broker */
		memset(&broker.has, 0, sizeof(broker.has));
}

static void unknown_client(void)
{
	struct peer c = connected(4);

	memset(&broker, 0, sizeof(broker));
	broker.first = c.seq[CLIENT];
	for (uint64_t i = 0; i < (uint64_t)rig.in->table.groups * BP_FLOW_WAYS; i++) {
		rig.in->table.flow[i].session |= BP_SESSION_NO_ID;
		rig.in->table.flow[i].client_id_len = 0;
	}
	publish(&c, 4, "t/named");
}

/* mosquitto 2.1 reads it as MQTT. */
static void pong_with_payload(void)
{
	struct bytes b = {0};
	struct peer c = open_peer();

	c.broker_port = WS_PORT;
	rig_handshake(&rig, &c);
	ws_request(&b, "");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	ws_response(&b, "");
	rig_send_bytes(&rig, &c, BROKER, &b);
	memset(&broker, 0, sizeof(broker));
	broker.first = c.seq[CLIENT];
	ws_frame(&b, CLIENT, 0x8a, "12345678", 8);
	rig_send_bytes(&rig, &c, CLIENT, &b);
}

static const struct {
	void (*run)(void);
	bp_counter_t counter;
} causes[] = {
	{met_midstream, BP_C_CONN_MIDSTREAM},
	{restart, BP_C_CONN_MIDSTREAM},
	{another_protocol, BP_C_NOT_INSPECTED_NOT_MQTT},
	{tls, BP_C_NOT_INSPECTED_TLS},
	{second_connect, BP_C_NOT_INSPECTED_PROTOCOL},
	{too_large, BP_C_POLICY_NOT_EVALUATED},
	{unknown_client, BP_C_POLICY_UNDECIDED},
	{pong_with_payload, BP_C_POLICY_NOT_EVALUATED},
};

static void open_with(uint8_t fail)
{
	static struct bp_rule_spec payload = {.raise = {.op = BP_COND_GT, .a = 80}};

	open_rig(fail);
	rig_close(&rig);
	rig.mqtt.reassembly_per_connection = 3000;
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	snprintf(rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/named")->client, 8, "eve");
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/v1")->payload = &payload;
	rig_open(&rig);
}

static void check(const char *what, unsigned i, bool closed)
{
	causes[i].run();
	if (rig_count(&rig, causes[i].counter) == 0 || (received(&broker) == 0) != closed ||
		(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED) != 0) != closed ||
		(rig_count(&rig, BP_C_POLICY_FAILED_OPEN) == 0) != closed)
		fail_msg("%s, cause %u, closed %u: %u bytes arrived, cause %llu, closed %llu, open "
			 "%llu",
			what, i, closed, received(&broker),
			(unsigned long long)rig_count(&rig, causes[i].counter),
			(unsigned long long)rig_count(&rig, BP_C_POLICY_FAILED_CLOSED),
			(unsigned long long)rig_count(&rig, BP_C_POLICY_FAILED_OPEN));
	rig_close(&rig);
}

static void each_cause(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		for (uint8_t fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
			open_with(fail);
			load();
			check("policy", i, fail == BP_POLICY_FAIL_CLOSED);
		}
	}
}

/* Clients at port 0, the broker at port 1: ports of a bridge, or routed ports. */
static void each_cause_at_a_port(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		for (unsigned k = 0; k < 8; k++) {
			const uint8_t fail = k & 1 ? BP_POLICY_FAIL_CLOSED : BP_POLICY_FAIL_OPEN;
			const bool routed = k & 2, here = k & 4;
			uint32_t *ports;

			open_with(fail);
			ports = fail == BP_POLICY_FAIL_OPEN ? &rig.mqtt.policy.fail_closed_ports
							    : &rig.mqtt.policy.fail_open_ports;
			/* of others: the broker's port, if it is routed */
			*ports = here ? routed ? 1u : 3u : routed ? 6u : 4u;
			rig.port = 1;
			rig.broker_port = 2;
			rig.routed = routed;
			load();
			check(here ? "here" : "elsewhere", i,
				(fail == BP_POLICY_FAIL_CLOSED) != here);
		}
	}
}

/* A segment of the broker decides: the policy is another one, and the will is not known. */
static void unknown_will(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		const bool routed = k & 1, closed = k & 2;
		struct peer c;

		open_with(closed ? BP_POLICY_FAIL_OPEN : BP_POLICY_FAIL_CLOSED);
		rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_CLOSE;
		rig.port = 1;
		rig.broker_port = 2;
		rig.routed = routed;
		load();
		c = connected(4);
		for (uint64_t i = 0; i < (uint64_t)rig.in->table.groups * BP_FLOW_WAYS; i++)
			if (rig.in->table.flow[i].proof != 0)
				rig.in->table.flow[i].will = UINT32_MAX;
		/* only fail changes */
		*(closed ? &rig.mqtt.policy.fail_closed_ports : &rig.mqtt.policy.fail_open_ports) =
			routed ? 1 : 3;
		rule(BP_POLICY_CLOSE, BP_POLICY_WILL, "");
		load();
		for (uint64_t i = 0; i <= (uint64_t)rig.in->table.groups * BP_FLOW_WAYS; i += 64)
			bp_mqtt_worker_tick(rig.in, rig.mono_ns);
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED), closed);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_UNDECIDED), !closed);
		rig_close(&rig);
	}
}

/* A reload of fail alone decides again, as on_reload says. */
static void fail_changes(void **state)
{
	(void)state;
	for (unsigned at_port = 0; at_port < 2; at_port++) {
		struct peer c;

		open_with(BP_POLICY_FAIL_OPEN);
		rule(BP_POLICY_CLOSE, BP_POLICY_WILL, "");
		rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_CLOSE;
		rig.port = 1;
		rig.broker_port = 2;
		load();
		c = connected(4);
		for (uint64_t i = 0; i < (uint64_t)rig.in->table.groups * BP_FLOW_WAYS; i++)
			if (rig.in->table.flow[i].proof != 0)
				rig.in->table.flow[i].will = UINT32_MAX;
		if (at_port)
			rig.mqtt.policy.fail_closed_ports = 3;
		else
			rig.mqtt.policy.fail = BP_POLICY_FAIL_CLOSED;
		load();
		for (uint64_t i = 0; i <= (uint64_t)rig.in->table.groups * BP_FLOW_WAYS; i += 64)
			bp_mqtt_worker_tick(rig.in, rig.mono_ns);
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cause),
		cmocka_unit_test(each_cause_at_a_port),
		cmocka_unit_test(unknown_will),
		cmocka_unit_test(fail_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
