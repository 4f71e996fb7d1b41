/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of a segment with all services, in each format, and of a damaged segment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/monitor/counters.h"
#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/general.h"
#include "proto/payload/utf8.h"
#include "shm/sampling/sampling.h"
#include "tests/unit/apps/biplane/metrics_segment.h"
#include "tests/unit/times.h"

static struct bp_shm shm;

static int set_up(void **state)
{
	metrics_segment_open(&shm);
	metrics_segment_fill(&shm);
	return 0;
}

static int tear_down(void **state)
{
	bp_segment_close(shm.segment);
	return 0;
}

static char *written(enum bp_metrics_format format)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(bp_metrics_write_as(&shm, format, out), 0);
	fclose(out);
	return text;
}

static void contains(const char *text, const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole))
		fail_msg("no line '%s'", line);
}

static void values_of_the_segment(void **state)
{
	static const char *const lines[] = {
		("biplane_build_info{version=\"" BP_VERSION "\"} 1"),
		"biplane_plane_up{plane=\"controlplane\"} 0",
		"biplane_plane_start_time_seconds{plane=\"dataplane\"} 1700000000.5",
		"biplane_plane_start_time_seconds{plane=\"controlplane\"} 1700000000",
		"biplane_plane_cpu_seconds_total{plane=\"dataplane\"} 2.5",
		"biplane_plane_resident_bytes{plane=\"dataplane\"} 67108864",
		"biplane_fleet_agent_up 1",
		"biplane_fleet_rollout_serial 9",
		"biplane_fleet_bundle_version 7",
		"biplane_fleet_rollout_state{state=\"rolled_back\"} 1",
		"biplane_fleet_rollout_state{state=\"applied\"} 0",
		"biplane_fleet_rollouts_total{result=\"rolled_back\"} 2",
		"biplane_workers 2",
		"biplane_worker_rx_packets_total{worker=\"0\"} 303",
		"biplane_node_cycles_total{node=\"ip4\",worker=\"1\"} 9001",
		("biplane_port_info{port=\"lan\",device=\"net_null2\",driver=\"net_null\","
		 "bridge=\"\"} 1"),
		"biplane_port_link_up{port=\"cloud\"} 0",
		"biplane_port_speed_bytes{port=\"lan\"} 1250000000",
		"biplane_port_rx_packets_total{port=\"cloud\"} 212",
		"biplane_port_rx_bytes_total{port=\"cloud\"} 13568",
		"biplane_drops_total{reason=\"driver_rx_missed\",port=\"lan\"} 72",
		"biplane_port_drops_total{port=\"cloud\",reason=\"runt\"} 2",
		"biplane_frames_received_total 636",
		"biplane_frames_total{outcome=\"sent\"} 306",
		"biplane_fault_active{fault=\"link_down\",object=\"cloud\"} 1",
		"biplane_fault_occurrences_total{fault=\"link_down\",object=\"cloud\"} 4",
		"biplane_netlink_state{state=\"synced\"} 1",
		"biplane_netlink_state{state=\"off\"} 0",
		"biplane_rule_matches_total{rule=\"hot\"} 800",
		"biplane_rule_alarms_cleared_total{rule=\"cold \\\"x\\\"\"} 22",
		"biplane_policy_rule_decisions_total{rule=\"own \\\"y\\\"\",action=\"allow\"} 102",
		("biplane_policy_rule_decisions_total{rule=\"(default)\",action=\"observe\"} "
		 "100"),
		"biplane_policy_rule_undecided_total{rule=\"(default)\"} 6",
		"biplane_table_entries{table=\"rules\"} 2",
		"biplane_table_capacity{table=\"rules\"} 8",
		"biplane_table_entries{table=\"aggregation_streams\"} 7",
		/* a third of the cells, estimated from 4,096 of them */
		"biplane_table_entries{table=\"alarm_states\"} 43712",
		"biplane_table_capacity{table=\"alarm_states\"} 65536",
		"biplane_table_entries{table=\"sparkplug_metrics\"} 10928",
		"biplane_table_entries{table=\"watched_topics\"} 8196",
		"biplane_table_entries{table=\"combination_values\"} 43712",
		"biplane_table_entries{table=\"windows\"} 1171", /* one of each bucket */
		"biplane_encap_entry_delay_seconds_bucket{entry=\"0\",le=\"5e-06\"} 0",
		"biplane_encap_entry_delay_seconds_bucket{entry=\"0\",le=\"1e-05\"} 5",
		"biplane_decap_entry_pacing_delay_seconds_sum{entry=\"0\"} 0.000025",
		"biplane_lcl_port_slot_jitter_seconds_bucket{port=\"cloud\",le=\"1e-06\"} 0",
		"biplane_lcl_port_slot_jitter_seconds_bucket{port=\"cloud\",le=\"2.5e-06\"} 3",
		"biplane_transform_entry_readings_total{entry=\"0\"} 12",
		"biplane_sampling_entry_matched_total{entry=\"coap\"} 0",
		"biplane_mbufs_free{numa=\"0\"} 8000",
		"biplane_table_entries{table=\"fdb\",bridge=\"line\"} 12",
		"biplane_table_entries{table=\"connections\"} 101",
		"biplane_table_capacity{table=\"connections\"} 2000",
		"biplane_reassembly_bytes 8192",
		"biplane_fleet_state_connected 1",
		"biplane_fleet_state_sync_lag_seconds 1.5",
		"biplane_fleet_state_queued 12",
		"biplane_fleet_state_max_queued 65536",
		"biplane_fleet_state_writes_total{result=\"stored\"} 31",
		"biplane_fleet_state_writes_total{result=\"refused_stale\"} 32",
		"biplane_fleet_state_errors_total{reason=\"auth\"} 33",
		"biplane_fleet_connection_records_found_total 34",
		"biplane_fleet_state_associations_total{result=\"adopted\"} 35",
		"biplane_mqtt_connections_inspected 99",
		"biplane_publisher_connected{destination=\"mqtt\"} 0",
		"biplane_publisher_connected{destination=\"kafka\"} 1",
		"biplane_publisher_kafka_brokers 3",
		"biplane_publisher_kafka_brokers_connected 2",
		"biplane_publisher_max_inflight{destination=\"mqtt\"} 0",
		"biplane_publisher_max_inflight{destination=\"kafka\"} 1000",
		"biplane_spool_alarms{destination=\"kafka\"} 12",
		("biplane_publisher_alarms_dropped_total{destination=\"kafka\","
		 "reason=\"rejected\"} 7"),
		"biplane_mqtt_connections_not_inspected{reason=\"resync\"} 3",
		"biplane_mqtt_connections_not_inspected{reason=\"not_mqtt\"} 4",
	};
	char *text = written(BP_METRICS_AS_TEXT);

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		contains(text, lines[i]);
	free(text);
}

/* Series of a destination that is not configured would be alerts without a remedy. */
static void kafka_has_metrics_only_where_it_is_configured(void **state)
{
	char *text;

	atomic_store(&shm.control->publisher[BP_TO_KAFKA].max_inflight, 0);
	text = written(BP_METRICS_AS_TEXT);
	contains(text, "biplane_publisher_connected{destination=\"mqtt\"} 0");
	assert_null(strstr(text, "destination=\"kafka\""));
	assert_null(strstr(text, "\nbiplane_publisher_kafka_brokers "));
	free(text);
	atomic_store(&shm.control->publisher[BP_TO_KAFKA].max_inflight, 1000);
}

static void each_counter_is_a_metric(void **state)
{
	char *text = written(BP_METRICS_AS_TEXT);

	for (bp_counter_t c = 0; c < BP_C_COUNT; c++) {
		char value[40];

		if (!bp_counter_info[c].name)
			continue;
		snprintf(value, sizeof(value), " %llu\n",
			(unsigned long long)metrics_counter_value(c));
		if (c == BP_C_WORKER_SLEEP_NS || c == BP_C_WORKER_BUSY_NS)
			strcpy(value, "} 0.00"); /* of a worker, in seconds */
		if (!strstr(text, value))
			fail_msg("counter %s is no metric", bp_counter_info[c].name);
	}
	free(text);
}

/* A bucket that a bound divides counts as above it; the last one is the count. */
static void histogram_is_cumulative(void **state)
{
	char *text = written(BP_METRICS_AS_OPENMETRICS);
	const char *at = text;
	unsigned long long last = 0, n;

	for (unsigned i = 0; (at = strstr(at, "biplane_alarm_latency_seconds_bucket{destination="
					      "\"mqtt\",stage=\"total\"")) != NULL;
		i++) {
		n = strtoull(strchr(at, '}') + 1, NULL, 10);
		assert_true(n >= last);
		last = n;
		at++;
	}
	assert_int_equal(last, 100);
	contains(text, "biplane_alarm_latency_seconds_bucket{destination=\"mqtt\",stage=\"total\","
		       "le=\"5e-05\"} 0");
	contains(text, "biplane_alarm_latency_seconds_bucket{destination=\"mqtt\",stage=\"total\","
		       "le=\"0.0001\"} 1");
	contains(text, "biplane_alarm_latency_seconds_bucket{destination=\"mqtt\",stage=\"total\","
		       "le=\"60.0\"} 100");
	contains(text, "biplane_alarm_latency_seconds_bucket{destination=\"mqtt\",stage=\"total\","
		       "le=\"+Inf\"} 100");
	contains(text,
		"biplane_alarm_latency_seconds_sum{destination=\"mqtt\",stage=\"total\"} 4.956");
	contains(text,
		"biplane_alarm_latency_seconds_count{destination=\"mqtt\",stage=\"total\"} 100");
	free(text);
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A sample: NAME{LABEL="VALUE",...} NUMBER, its name that of the family with a permitted suffix. */
static void check_sample(const char *line, const char *family, const char *type)
{
	static const char *const none[] = {"", NULL},
				 *const histogram[] = {"_bucket", "_sum", "_count", NULL},
				 *const counter[] = {"_total", NULL},
				 *const info[] = {"_info", NULL};
	const char *const *suffix = strcmp(type, "histogram") == 0 ? histogram
				    : strcmp(type, "counter") == 0 ? counter
				    : strcmp(type, "info") == 0    ? info
								   : none;
	size_t n = strlen(family);
	const char *p;
	char *end;

	if (strncmp(line, family, n) != 0)
		fail_msg("sample '%s' is not in family %s", line, family);
	for (p = line + n; is_name(*p); p++)
		;
	for (; *suffix; suffix++)
		if (strlen(*suffix) == (size_t)(p - line) - n &&
			strncmp(*suffix, line + n, strlen(*suffix)) == 0)
			break;
	if (!*suffix)
		fail_msg("sample '%s' has no suffix of a %s", line, type);
	if (*p == '{') {
		do {
			for (p++; is_name(*p); p++)
				;
			assert_int_equal(*p++, '=');
			assert_int_equal(*p++, '"');
			for (; *p != '"' && *p != '\0'; p++)
				p += *p == '\\';
			assert_int_equal(*p++, '"');
		} while (*p == ',');
		assert_int_equal(*p++, '}');
	}
	assert_int_equal(*p++, ' ');
	assert_true(strtod(p, &end) >= 0);
	assert_string_equal(end, "");
}

/* OpenMetrics 1.0: families are not interleaved, each with HELP and TYPE first; the end. */
static void check_openmetrics(char *text)
{
	char family[200] = "", type[20] = "", seen[65536] = "\n";
	bool ended = false;

	assert_true(bp_utf8_valid((const uint8_t *)text, strlen(text)));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char name[200], word[20];

		assert_false(ended);
		if (sscanf(line, "# HELP %199s", name) == 1) {
			char unique[210];

			snprintf(unique, sizeof(unique), "\n%s\n", name);
			if (strstr(seen, unique))
				fail_msg("family %s occurs twice", name);
			strncat(seen, unique + 1, sizeof(seen) - strlen(seen) - 1);
			strcpy(family, name);
			assert_null(strpbrk(line, "\"\\"));
		} else if (sscanf(line, "# TYPE %199s %19s", name, type) == 2) {
			assert_string_equal(name, family);
		} else if (sscanf(line, "# UNIT %199s %19s", name, word) == 2) {
			assert_string_equal(name, family);
			assert_string_equal(name + strlen(name) - strlen(word), word);
		} else if (strcmp(line, "# EOF") == 0) {
			ended = true;
		} else {
			check_sample(line, family, type);
		}
	}
	assert_true(ended);
}

static void openmetrics_is_well_formed(void **state)
{
	char *text = written(BP_METRICS_AS_OPENMETRICS);

	assert_non_null(strstr(text, "\n# TYPE biplane_drops counter\n"));
	assert_non_null(strstr(text, "\n# UNIT biplane_port_rx_bytes bytes\n"));
	assert_non_null(strstr(text, "\n# TYPE biplane_build info\n"));
	check_openmetrics(text);
	free(text);
}

static void prometheus_text_names_the_samples(void **state)
{
	char *text = written(BP_METRICS_AS_TEXT);

	contains(text, "# TYPE biplane_drops_total counter");
	contains(text, "# TYPE biplane_port_info gauge");
	contains(text, "# TYPE biplane_alarm_latency_seconds histogram");
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	free(text);
}

static void json_has_the_same_samples(void **state)
{
	char *text = written(BP_METRICS_AS_OPENMETRICS),
	     *json = written(BP_METRICS_AS_JSON_COMPACT), *indented = written(BP_METRICS_AS_JSON);
	json_t *v = json_loads(json, 0, NULL), *same = json_loads(indented, 0, NULL), *family;
	size_t i, samples = 0, lines = 0;

	assert_non_null(v);
	assert_int_equal(json_array_size(json_object_get(v, "metrics")),
		json_array_size(json_object_get(same, "metrics")));
	assert_null(strchr(json, '\n') + 1 == json + strlen(json) ? NULL : json);
	json_array_foreach(json_object_get(v, "metrics"), i, family) samples +=
		json_array_size(json_object_get(family, "samples"));
	for (const char *p = text; (p = strchr(p, '\n')) != NULL;)
		lines += *++p != '#' && *p != '\0';
	assert_int_equal(samples, lines);
	json_decref(v);
	json_decref(same);
	free(text);
	free(json);
	free(indented);
}

static void names_of_devices_are_escaped(void **state)
{
	char *text;

	snprintf(shm.ports[0].device, sizeof(shm.ports[0].device), "a\"b\\c\nd\xff\xc3\xa4");
	text = written(BP_METRICS_AS_TEXT);
	assert_non_null(strstr(text, "device=\"a\\\"b\\\\c\xef\xbf\xbd"
				     "d\xef\xbf\xbd\xc3\xa4\",driver="));
	free(text);
}

/* Without services and before the planes start: no sample of a service, and no division by them. */
static void an_empty_segment_has_metrics(void **state)
{
	char *text;

	bp_segment_close(shm.segment);
	metrics_segment_open(&shm);
	text = written(BP_METRICS_AS_OPENMETRICS);
	assert_non_null(strstr(text, "\nbiplane_plane_up{plane=\"dataplane\"} 0\n"));
	assert_null(strstr(text, "biplane_rule_matches"));
	assert_null(strstr(text, "biplane_policy_rule"));
	assert_null(strstr(text, "biplane_port_link_up"));
	check_openmetrics(text);
	free(text);
}

/* Before the planes create the segment. */
static void without_a_segment_only_what_needs_none(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	bp_monitor_counters.started_unix_s = 1700000000;
	bp_monitor_counters.accepted = 7;
	bp_monitor_counters.writes_events = true;
	bp_monitor_counters.event_log = (struct bp_event_log_counts){.lost = 3, .open = true};
	assert_int_equal(bp_metrics_write(NULL, true, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "\nbiplane_up 0\n"));
	assert_non_null(strstr(text, "\nbiplane_plane_up{plane=\"dataplane\"} 0\n"));
	assert_non_null(strstr(text, "\nbiplane_monitor_connections_accepted_total 7\n"));
	assert_non_null(strstr(text, "\nbiplane_monitor_event_log_lost_total 3\n"));
	assert_non_null(strstr(text, "\nbiplane_monitor_event_log_open 1\n"));
	assert_null(strstr(text, "biplane_workers"));
	check_openmetrics(text);
	free(text);
	bp_monitor_counters = (struct bp_monitor_counters){0}; /* other processes are no monitor */
	text = written(BP_METRICS_AS_OPENMETRICS);
	assert_null(strstr(text, "biplane_monitor_"));
	free(text);
}

/* An image whose rules end beyond their bank, or are more than there may be, has none. */
static void rules_outside_of_their_bank_are_not_read(void **state)
{
	struct bp_ruleset *rs = bp_generation_bank(&shm.rules, bp_generation_active(&shm.rules));
	const uint32_t rules = rs->rules,
		       last = (uint32_t)(shm.rules.bank_size - sizeof(struct bp_rule)) / 64 * 64;
	const struct {
		uint32_t rules, n;
	} damaged[] = {{last, 2}, {UINT32_MAX, 1}, {rules + 1, 2}, {rules, 9}, {rules, UINT32_MAX}};
	char *text;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		rs->rules = damaged[i].rules;
		rs->n_rules = damaged[i].n;
		text = written(BP_METRICS_AS_TEXT);
		assert_null(strstr(text, "biplane_rule_matches"));
		free(text);
	}
	rs->rules = rules;
	rs->n_rules = 2;
	rs->n_policy = shm.max_policy_rules + 1;
	text = written(BP_METRICS_AS_TEXT);
	contains(text,
		"biplane_policy_rule_decisions_total{rule=\"(default)\",action=\"observe\"} 100");
	assert_null(strstr(text, "rule=\"own"));
	free(text);
	rs->n_policy = 1;
	rs->policy = (uint32_t)shm.rules.bank_size - 64;
	text = written(BP_METRICS_AS_TEXT);
	assert_null(strstr(text, "rule=\"own"));
	free(text);
	rs->policy_preset = 200;
	text = written(BP_METRICS_AS_TEXT);
	assert_null(strstr(text, "biplane_policy_rule_decisions_total{"));
	free(text);
	text = written(BP_METRICS_AS_TEXT);
	assert_non_null(strstr(text, "biplane_rule_matches"));
	free(text);
}

static uint64_t random_state = 0x5eed5eed5eedull;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void damage(void *at, size_t size)
{
	static const uint64_t extreme[] = {0, 1, UINT64_MAX, INT64_MAX, UINT32_MAX, 0x7fffffff};

	if (rnd() % 8 == 0) {
		memset(at, rnd() % 2 ? 0xff : (int)(rnd() & 0xff), size);
		return;
	}
	for (unsigned n = 0; n < 1 + rnd() % 16; n++) {
		const uint64_t word = rnd() % 2 ? rnd() : extreme[rnd() % 6];
		const size_t place = rnd() % size / 8 * 8;

		if (place + 8 <= size)
			memcpy((char *)at + place, &word, 8);
	}
}

static void damage_a_table(void)
{
	const struct {
		void *at;
		size_t size;
	} tables[] = {
		{shm.global, sizeof(*shm.global)},
		{shm.control, sizeof(*shm.control)},
		{shm.shared, sizeof(*shm.shared)},
		{shm.counters, shm.counter_rows * sizeof(*shm.counters)},
		{shm.port_stats, sizeof(*shm.port_stats) * WORKERS * BP_MAX_PORTS},
		{shm.ports, 3 * sizeof(*shm.ports)},
		{shm.nodes, sizeof(*shm.nodes) * WORKERS * BP_MAX_NODES},
		{shm.faults, shm.fault_rows * sizeof(*shm.faults)},
		{shm.rules.banks, 2 * shm.rules.bank_size},
		{shm.rules.banks + shm.rules.bank_size, sizeof(struct bp_ruleset)},
		{shm.alarm_latency, sizeof(*shm.alarm_latency)},
		{shm.alarm_ring[0].shared, sizeof(struct bp_ring_data)},
		{shm.fib.control, sizeof(*shm.fib.control)},
		{shm.phd.control, sizeof(*shm.phd.control)},
		{shm.phd.status, sizeof(*shm.phd.status)},
		{shm.agg.plan, sizeof(*shm.agg.plan)},
		{shm.agg.stats, sizeof(*shm.agg.stats)},
		{shm.lcl.ports, sizeof(*shm.lcl.ports)},
		{shm.transform.head, sizeof(*shm.transform.head)},
		{bp_transform_bank_at(&shm.transform, 0), sizeof(struct bp_transform_bank)},
		{bp_sampling_tables(&shm)->plan, sizeof(struct bp_sampling_shared_rules)},
	};
	const size_t i = rnd() % (sizeof(tables) / sizeof(tables[0]));

	damage(tables[i].at, tables[i].size);
}

/* Whatever a plane writes, the output is bounded and well-formed. */
static void any_word_may_be_damaged(void **state)
{
	for (unsigned round = 0; round < TEST_TIMES(800); round++) {
		json_t *v;
		char *text;

		damage_a_table();
		text = written(BP_METRICS_AS_OPENMETRICS);
		assert_true(strlen(text) < 1000000);
		check_openmetrics(text);
		free(text);
		text = written(BP_METRICS_AS_JSON_COMPACT);
		v = json_loads(text, 0, NULL);
		assert_non_null(v);
		json_decref(v);
		free(text);
		if (round % 16 != 15)
			continue;
		bp_segment_close(shm.segment);
		set_up(state);
	}
}

/* Number and types of the families do not depend on the segment. */
static void look(const struct bp_metric *row, const char *title, void *arg)
{
	assert_non_null(title);
	assert_true(row->help[0] != '\0' && row->help[strlen(row->help) - 1] != '.');
	assert_null(strpbrk(row->help, "\"\\\n"));
	for (const char *p = row->name; *p; p++)
		assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_');
	if (row->unit)
		assert_string_equal(row->name + strlen(row->name) - strlen(row->unit), row->unit);
	assert_null(strstr(row->name, "_total"));
	++*(unsigned *)arg;
}

static void rows_are_complete(void **state)
{
	unsigned n = 0;

	bp_metrics_each(look, &n);
	assert_true(n > 300);
}

/* The format of the output that a test of another program reads: test_apps_metrics FORMAT. */
static int print(const char *format)
{
	metrics_segment_open(&shm);
	metrics_segment_fill(&shm);
	return bp_metrics_write(&shm, strcmp(format, "openmetrics") == 0, stdout) ? 1 : 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		CASE(values_of_the_segment),
		CASE(kafka_has_metrics_only_where_it_is_configured),
		CASE(each_counter_is_a_metric),
		CASE(histogram_is_cumulative),
		CASE(openmetrics_is_well_formed),
		CASE(prometheus_text_names_the_samples),
		CASE(json_has_the_same_samples),
		CASE(names_of_devices_are_escaped),
		CASE(an_empty_segment_has_metrics),
		CASE(without_a_segment_only_what_needs_none),
		CASE(rules_outside_of_their_bank_are_not_read),
		CASE(any_word_may_be_damaged),
		CASE(rows_are_complete),
	};

	return argc > 1 ? print(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
