/* SPDX-License-Identifier: BSD-3-Clause */
/* `show alarms`, `show latency` and `show connections`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "controlplane/alarms/alarm_log.h"
#include "proto/tls/tls.h"
#include "services/mqtt/flow_show.h"
#include "show_view.h"

/* The flow table is written by the data plane; here by the test. */
static const struct bp_flow_view *fake_flows;
static unsigned n_fake_flows;
static int fake_damage;

int bp_flow_visit(const void *flows, uint64_t len, unsigned workers, uint64_t mono_ns,
	int (*visit)(const struct bp_flow_view *v, void *arg), void *arg)
{
	assert_ptr_equal(flows, shm.flows);
	assert_int_equal(len, shm.flows_len);
	assert_int_equal(workers, 2);
	for (unsigned i = 0; i < n_fake_flows; i++) {
		int stop = visit(&fake_flows[i], arg);

		if (stop)
			return stop;
	}
	return fake_damage;
}

static void add_alarm(struct bp_alarm_log_writer *w, uint64_t id, uint8_t flags, double value)
{
	union {
		struct bp_alarm a;
		char bytes[sizeof(struct bp_alarm) + 64];
	} u;

	memset(&u, 0, sizeof(u));
	u.a = (struct bp_alarm){
		.id = id,
		.time_ns = 1767225599000000001ull,
		.value = value,
		.state = flags & BP_ALARM_F_MIRROR ? BP_ALARM_CLEARED : BP_ALARM_RAISED,
		.flags = flags,
		.severity = flags & BP_ALARM_F_MIRROR ? BP_SEVERITY_NONE : BP_SEVERITY_MAJOR,
		.client_port = 40000,
		.client_ip = {192, 0, 2, 9},
		.rule_len = 4,
		.client_id_len = 3,
		.topic_len = 5,
		.to_len = 7,
	};
	memcpy(u.bytes + offsetof(struct bp_alarm, text),
		"rule"
		"cid"
		"a/b/c"
		"alarm/x",
		19);
	bp_alarm_log_add(w, &u.a, NULL);
}

static void alarms_newest_last(void **state)
{
	struct bp_alarm_log_writer w;

	bp_alarm_log_open(&w, shm.alarm_log);
	for (uint64_t i = 1; i <= BP_ALARM_LOG_LEN + 6; i++)
		add_alarm(&w, i, 0, 80.5);
	add_alarm(&w, BP_ALARM_LOG_LEN + 7, BP_ALARM_F_MIRROR, -3);

	source.limit = 2;

	json_t *v = collect(&bp_show_alarms);

	assert_int_equal(json_array_size(json_object_get(v, "alarms")), 2);
	assert_number(row(v, "alarms", 0), "id", (BP_ALARM_LOG_LEN + 6));
	assert_text(row(v, "alarms", 0), "time", "2025-12-31T23:59:59.000000001Z");
	assert_text(row(v, "alarms", 0), "rule", "rule");
	assert_text(row(v, "alarms", 0), "state", "raised");
	assert_text(row(v, "alarms", 0), "action", "publish");
	assert_text(row(v, "alarms", 0), "severity", "major");
	assert_true(json_is_null(json_object_get(row(v, "alarms", 1), "severity")));
	assert_true(json_real_value(json_object_get(row(v, "alarms", 0), "value")) == 80.5);
	assert_text(row(v, "alarms", 0), "client", "192.0.2.9:40000");
	assert_text(row(v, "alarms", 0), "client_id", "cid");
	assert_text(row(v, "alarms", 0), "topic", "a/b/c");
	assert_text(row(v, "alarms", 0), "publish_topic", "alarm/x");
	assert_number(row(v, "alarms", 1), "id", BP_ALARM_LOG_LEN + 7);
	assert_text(row(v, "alarms", 1), "state", "cleared");
	assert_text(row(v, "alarms", 1), "action", "mirror");

	char *text = text_of(&bp_show_alarms, v, false);

	assert_non_null(strstr(text, "  80.5  192.0.2.9:40000  cid        a/b/c  alarm/x\n"));
	free(text);

	source.limit = 0;
	v = collect(&bp_show_alarms);
	assert_int_equal(json_array_size(json_object_get(v, "alarms")), BP_ALARM_LOG_LEN);
	assert_number(row(v, "alarms", 0), "id", 8);
	json_decref(v);
}

/* A value that JSON cannot write would break every reader of the output. */
static void an_impossible_value_is_refused(void **state)
{
	struct bp_alarm_log_writer w;

	bp_alarm_log_open(&w, shm.alarm_log);
	add_alarm(&w, 1, 0, __builtin_nan(""));
	assert_null(bp_show_alarms.collect(&source, err, sizeof(err)));
	assert_non_null(strstr(err, "damaged"));
}

static void stages_of_alarms(void **state)
{
	struct bp_alarm_latency *l = shm.alarm_latency;
	json_t *v = collect(&bp_show_latency);
	char *text;

	assert_int_equal(json_array_size(json_object_get(v, "stages")), BP_ALARM_STAGES);
	assert_number(row(v, "stages", 0), "count", 0);
	assert_true(json_is_null(json_object_get(row(v, "stages", 0), "p50_ns")));
	text = text_of(&bp_show_latency, v, false);
	assert_non_null(strstr(text, "evaluate         0    -    -"));
	assert_null(strstr(text, "invalid"));
	free(text);

	for (unsigned i = 0; i < 999; i++)
		bp_histogram_add(&l->stage[BP_ALARM_PUBLISH], 10000);
	bp_histogram_add(&l->stage[BP_ALARM_PUBLISH], 2010000);
	atomic_store(&l->invalid, 1);
	v = collect(&bp_show_latency);
	assert_text(row(v, "stages", 2), "stage", "publish");
	assert_number(row(v, "stages", 2), "count", 1000);
	assert_number(row(v, "stages", 2), "avg_ns", 12000);
	assert_number(row(v, "stages", 2), "p50_ns", 10239);
	assert_number(row(v, "stages", 2), "p999_ns", 10239);
	assert_number(row(v, "stages", 2), "max_ns", 2010000);
	assert_number(v, "invalid", 1);
	text = text_of(&bp_show_latency, v, false);
	assert_non_null(strstr(text, "publish       1000  12 us  10.24 us"));
	assert_non_null(strstr(text, "2.01 ms\n"));
	assert_non_null(strstr(text, "\n1 alarm with invalid times not counted\n"));
	assert_null(strstr(text, "kafka"));
	free(text);

	atomic_store(&shm.control->publisher[BP_TO_KAFKA].max_inflight, 1);
	bp_histogram_add(&l[BP_TO_KAFKA].stage[BP_ALARM_PUBLISH], 5000);
	v = collect(&bp_show_latency);
	assert_number(row(v, "stages", 2), "count", 1000);
	assert_number(row(json_object_get(v, "kafka"), "stages", 2), "count", 1);
	text = text_of(&bp_show_latency, v, false);
	assert_non_null(strstr(text, "\nkafka\nSTAGE"));
	free(text);
}

size_t bp_flow_client_id(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, char *out, size_t size)
{
	assert_ptr_equal(reassembly, shm.reassembly);
	assert_int_equal(len, shm.reassembly_len);
	snprintf(out, size, "%s", v->client_id_len ? "sensor" : "");
	return strlen(out);
}

/* The second one has names, which any client can choose. */
bool bp_flow_tls(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, struct bp_tls_info *info)
{
	assert_ptr_equal(reassembly, shm.reassembly);
	memset(info, 0, sizeof(*info));
	if (v->tls_ref == 0)
		return false;
	bp_tls_add(info, BP_TLS_SERVER_NAME, (const uint8_t *)"a\x1b[31m\xff", 7, false);
	return true;
}

static void flows_up_to_the_limit(void **state)
{
	const struct bp_flow_view flows[] = {
		{
			.client_ip = {10, 0, 0, 1},
			.client_port = 50000,
			.broker_ip = {10, 0, 0, 2},
			.broker_port = 1883,
			.vlan_outer = 100,
			.version = 4,
			.transport = "websocket",
			.connection = "open",
			.to_broker = "inspecting",
			.from_broker = "not_inspected",
			.not_inspected_reason = "not_inspected_qos",
			.suspicious = {"suspicious_flags", "suspicious_length"},
			.publishes = 12,
			.idle_ms = 5,
			.client_id_len = 6,
		},
		{
			.ip6 = true,
			.vlan_outer = 100,
			.vlan_inner = 20,
			.worker = 1,
			.transport = "tls",
			.tls_ref = 1,
			.connection = "opening",
			.to_broker = "no_data",
			.from_broker = "no_data",
			.not_inspected_reason = "",
		},
	};

	fake_flows = flows;
	n_fake_flows = 2;
	source.limit = 1;

	json_t *v = collect(&bp_show_connections);

	assert_number(v, "total", 2);
	assert_int_equal(json_array_size(json_object_get(v, "connections")), 1);
	assert_text(row(v, "connections", 0), "client", "10.0.0.1:50000");
	assert_text(row(v, "connections", 0), "broker", "10.0.0.2:1883");
	assert_text(row(v, "connections", 0), "version", "3.1.1");
	assert_text(row(v, "connections", 0), "vlan", "100");
	assert_text(row(v, "connections", 0), "transport", "websocket");
	assert_text(row(v, "connections", 0), "client_id", "sensor");
	assert_true(json_is_null(json_object_get(row(v, "connections", 0), "tls")));
	assert_number(row(v, "connections", 0), "publishes", 12);
	assert_int_equal(
		json_array_size(json_object_get(row(v, "connections", 0), "suspicious")), 2);

	char *text = text_of(&bp_show_connections, v, false);

	assert_non_null(strstr(text, "1 of 2 connections"));
	assert_non_null(strstr(text, "not_inspected_qos"));
	free(text);

	source.limit = 0;
	v = collect(&bp_show_connections);
	assert_text(json_object_get(row(v, "connections", 1), "tls"), "server_name",
		"a\x1b[31m\xef\xbf\xbd");
	assert_true(json_is_null(
		json_object_get(json_object_get(row(v, "connections", 1), "tls"), "alpn")));
	assert_text(row(v, "connections", 1), "vlan", "100.20");
	assert_true(json_is_null(json_object_get(row(v, "connections", 1), "version")));
	json_decref(v);

	fake_damage = -1;
	assert_null(bp_show_connections.collect(&source, err, sizeof(err)));
	assert_non_null(strstr(err, "damaged"));
}

static void unread_by_reason_and_client(void **state)
{
	static struct bp_flow_view flows[700];

	for (unsigned i = 0; i < 700; i++) {
		flows[i] =
			(struct bp_flow_view){.client_ip = {10, 0, (uint8_t)(i >> 8), (uint8_t)i},
				.unread_reason = "",
				.publishes = 1};
		if (i < 600) { /* a third of these are of one address */
			flows[i].unread = true;
			flows[i].unread_reason = "not_inspected_not_mqtt";
			flows[i].unread_ms = 1000 * i;
			if (i % 3 == 0)
				memcpy(flows[i].client_ip, "\xc0\x00\x02\x09", 4);
		}
	}
	flows[699].unread = flows[699].ip6 = true;
	flows[699].unread_reason = "resync";
	flows[699].unread_ms = 5000;
	memcpy(flows[699].client_ip, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	fake_flows = flows;
	n_fake_flows = 700;
	fake_damage = 0;
	source.limit = 5;

	json_t *v = collect(&bp_show_not_inspected), *r = row(v, "reasons", 0);

	assert_number(v, "connections", 700);
	assert_number(v, "not_inspected", 601);
	assert_int_equal(json_array_size(json_object_get(v, "reasons")), 2);
	assert_text(r, "reason", "not_inspected_not_mqtt");
	assert_number(r, "connections", 600);
	assert_number(r, "max_duration_ms", 599000);
	assert_int_equal(json_array_size(json_object_get(r, "clients")), 5);
	assert_text(row(r, "clients", 0), "address", "192.0.2.9");
	assert_true(
		json_integer_value(json_object_get(row(r, "clients", 0), "connections")) >= 200);
	assert_true(json_is_true(json_object_get(r, "more_clients")));
	r = row(v, "reasons", 1);
	assert_text(r, "reason", "resync");
	assert_text(row(r, "clients", 0), "address", "2001:db8::1");
	assert_true(json_is_false(json_object_get(r, "more_clients")));

	char *text = text_of(&bp_show_not_inspected, v, false);

	assert_non_null(strstr(text, "not_inspected_not_mqtt"));
	assert_non_null(strstr(text, "9 min"));
	assert_non_null(strstr(text, "192.0.2.9 (200)"));
	assert_non_null(strstr(text, "601 of 700 connections are not inspected\n"));
	free(text);
	n_fake_flows = 1;
	flows[0].unread = false;
	text = text_of(&bp_show_not_inspected, collect(&bp_show_not_inspected), false);
	assert_non_null(strstr(text, "all connections are inspected"));
	free(text);
	fake_damage = -1;
	assert_null(bp_show_not_inspected.collect(&source, err, sizeof(err)));
	fake_damage = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(alarms_newest_last),
		CASE(an_impossible_value_is_refused),
		CASE(stages_of_alarms),
		CASE(unread_by_reason_and_client),
		CASE(flows_up_to_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
