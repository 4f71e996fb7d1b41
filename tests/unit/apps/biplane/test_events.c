/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of events: the JSON of each type, the order, losses, filters, and damaged records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "apps/biplane/events/community_id.h"
#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/monitor/counters.h"
#include "apps/biplane/monitor/event_stream.h"
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "biplane/severity.h"
#include "controlplane/alarms/alarm_log.h"
#include "shm/events/plane_events.h"
#include "shm/fault.h"
#include "show_view.h"

#define S 1000000000ull
#define T0 (1767225599 * S) /* 2025-12-31T23:59:59Z */
#define RECORDS 64u

static struct bp_event_ring worker[2], main_ring[BP_EVENTS_OTHERS];
static struct bp_event_reader *reader;

static int open_rings(void **state)
{
	if (set_up(state) != 0)
		return -1;
	for (unsigned w = 0; w < 2; w++) {
		worker[w] = bp_shm_events(&shm, w);
		bp_event_ring_open(&worker[w]);
	}
	for (unsigned i = 0; i < BP_EVENTS_OTHERS; i++) {
		main_ring[i] = bp_shm_events_of(&shm, i);
		bp_event_ring_open(&main_ring[i]);
	}
	snprintf(shm.ports[0].name, sizeof(shm.ports[0].name), "devices");
	atomic_store(&shm.global->dp_ports, 2);
	return 0;
}

static int close_rings(void **state)
{
	bp_event_reader_free(reader);
	reader = NULL;
	return tear_down(state);
}

static void read_with(struct bp_event_reader_options o)
{
	if (o.types == 0)
		o.types = BP_EVENTS_ALL;
	bp_event_reader_free(reader);
	reader = bp_event_reader_of("test", &shm, &o);
	assert_non_null(reader);
}

static void expect_none(uint64_t now)
{
	assert_null(bp_event_reader_next(reader, now, NULL));
}

/* The next event as a line; static. */
static const char *line_at(uint64_t now)
{
	static char *line;
	json_t *event = bp_event_reader_next(reader, now, NULL);

	free(line);
	line = NULL;
	assert_non_null(event);
	line = bp_event_line(event);
	json_decref(event);
	return line;
}

static void expect_line(const char *expected)
{
	assert_string_equal(line_at(T0 + 100 * S), expected);
}

/* The next event as text; static. */
static const char *text_at(uint64_t now)
{
	static char line[BP_EVENT_TEXT_LINE];
	json_t *event = bp_event_reader_next(reader, now, NULL);

	assert_non_null(event);
	bp_event_text_line(event, line);
	json_decref(event);
	return line;
}

static struct bp_event connection(
	uint64_t time_ns, enum bp_event_connection action, unsigned reason)
{
	struct bp_event e = {.time_ns = time_ns,
		.type = BP_EVENT_CONNECTION,
		.action = (uint8_t)action,
		.reason = (uint16_t)reason,
		.port = 1,
		.version = 5,
		.src_ip = {10, 0, 0, 5},
		.dest_ip = {10, 0, 0, 9},
		.src_port = 40000,
		.dest_port = 1883,
		.flow = 77,
		.number = {12}};

	bp_event_text(&e, 0, "oven-7", 6);
	return e;
}

static void write_connection(
	unsigned w, uint64_t time_ns, enum bp_event_connection action, unsigned reason)
{
	const struct bp_event e = connection(time_ns, action, reason);

	bp_event_write(&worker[w], &e);
}

static void add_alarm(uint64_t time_ns, double value, bool with_flow)
{
	static struct bp_alarm_log_writer w;
	const struct bp_alarm_flow flow = {
		.flow = 77, .broker_ip = {10, 0, 0, 9}, .broker_port = 1883, .port = 1};
	union {
		struct bp_alarm a;
		char bytes[sizeof(struct bp_alarm) + 64];
	} u;

	memset(&u, 0, sizeof(u));
	u.a = (struct bp_alarm){.id = 9,
		.time_ns = time_ns,
		.value = value,
		.state = BP_ALARM_RAISED,
		.severity = with_flow ? BP_SEVERITY_CRITICAL : BP_SEVERITY_NONE,
		.client_port = 40000,
		.client_ip = {10, 0, 0, 5},
		.rule_len = 8,
		.client_id_len = 6,
		.topic_len = 5,
		.to_len = 7};
	memcpy(u.bytes + offsetof(struct bp_alarm, text), "overheatoven-7a/b/calarm/x", 26);
	bp_alarm_log_open(&w, shm.alarm_log);
	bp_alarm_log_add(&w, &u.a, with_flow ? &flow : NULL);
}

/* ---- the shape of each type ---- */

#define AT "{\"timestamp\":\"2025-12-31T23:59:59.000000+00:00\","
#define TUPLE                                                                                      \
	"\"instance\":\"test\",\"in_iface\":\"devices\",\"flow_id\":1950889020624506,"             \
	"\"src_ip\":\"10.0.0.5\",\"src_port\":40000,\"dest_ip\":\"10.0.0.9\","                     \
	"\"dest_port\":1883,\"proto\":\"TCP\","                                                    \
	"\"community_id\":\"1:EF1U6aj69R9aiyMImKTYg8Ks984=\","
#define CLIENT "\"client_id\":\"oven-7\",\"mqtt_version\":\"5.0\""

static void connections_have_their_shape(void **state)
{
	read_with((struct bp_event_reader_options){0});
	write_connection(0, T0, BP_EVENT_CONNECTION_START, 0);
	write_connection(0, T0, BP_EVENT_CONNECTION_NOT_INSPECTED, BP_EVENT_UNREAD_RESYNC);
	write_connection(0, T0, BP_EVENT_CONNECTION_INSPECTED, 0);
	write_connection(0, T0, BP_EVENT_CONNECTION_NOT_INSPECTED, BP_EVENT_UNREAD_COUNTER);
	write_connection(0, T0, BP_EVENT_CONNECTION_END, BP_EVENT_END_EVICTED);
	expect_line(AT "\"event_type\":\"connection\"," TUPLE
		       "\"connection\":{\"state\":\"start\"," CLIENT "}}");
	expect_line(AT "\"event_type\":\"connection\"," TUPLE
		       "\"connection\":{\"state\":\"not_inspected\",\"reason\":\"resync\"," CLIENT
		       "}}");
	expect_line(AT "\"event_type\":\"connection\"," TUPLE
		       "\"connection\":{\"state\":\"inspected\"," CLIENT "}}");
	expect_line(AT "\"event_type\":\"connection\"," TUPLE
		       "\"connection\":{\"state\":\"not_inspected\","
		       "\"reason\":\"not_inspected_not_mqtt\"," CLIENT "}}");
	expect_line(AT "\"event_type\":\"connection\"," TUPLE
		       "\"connection\":{\"state\":\"end\",\"reason\":\"evicted\"," CLIENT
		       ",\"publications\":12}}");
	expect_none(T0 + 100 * S);
}

/* Names of TLS, with bytes that are no text, and with lengths that do not fit. */
static void names_of_tls_have_their_shape(void **state)
{
	struct bp_event e = connection(T0, BP_EVENT_CONNECTION_NOT_INSPECTED,
		BP_EVENT_UNREAD_COUNTER + BP_C_NOT_INSPECTED_TLS - BP_C_NOT_INSPECTED_NOT_MQTT);

	read_with((struct bp_event_reader_options){0});
	e.flags |= BP_EVENT_F_TLS;
	e.version = 0;
	memset(e.text, 0, sizeof(e.text));
	bp_event_text(&e, 0, "a\xff", 2);
	bp_event_text(&e, 1, "mqttCN", 6);
	e.number[1] = 4;
	bp_event_write(&worker[0], &e);
	e.number[1] = 1000;
	e.text_len[0] = 0;
	bp_event_write(&worker[0], &e);
	e.text_len[1] = 1000;
	bp_event_write(&worker[0], &e);
#define TLS                                                                                        \
	AT "\"event_type\":\"connection\"," TUPLE                                                  \
	   "\"connection\":{\"state\":\"not_inspected\",\"reason\":\"not_inspected_tls\",\"tls\":"
	expect_line(TLS "{\"server_name\":\"a\\uFFFD\",\"alpn\":\"mqtt\","
			"\"certificate\":\"CN\"}}}");
	expect_line(TLS "{\"alpn\":\"a\\uFFFDmqtt\"}}}");
	expect_line(TLS "{}}}");
}

static void alarms_have_their_shape(void **state)
{
	read_with((struct bp_event_reader_options){0});
	add_alarm(T0, 85.5, true);
	add_alarm(T0, 85.5, false);
	expect_line(AT
		"\"event_type\":\"alarm\"," TUPLE
		"\"alarm\":{\"state\":\"raised\",\"rule\":\"overheat\",\"value\":85.5,"
		"\"id\":9,\"severity\":\"critical\",\"client_id\":\"oven-7\",\"topic\":\"a/b/c\","
		"\"publish_topic\":\"alarm/x\",\"action\":\"publish\"}}");
	expect_line(AT "\"event_type\":\"alarm\",\"instance\":\"test\",\"src_ip\":\"10.0.0.5\","
		       "\"src_port\":40000,\"proto\":\"TCP\","
		       "\"alarm\":{\"state\":\"raised\",\"rule\":\"overheat\",\"value\":85.5,"
		       "\"id\":9,\"client_id\":\"oven-7\",\"topic\":\"a/b/c\","
		       "\"publish_topic\":\"alarm/x\",\"action\":\"publish\"}}");
	expect_none(T0 + 100 * S);
}

static void sessions_have_their_shape(void **state)
{
	struct bp_event e = {.time_ns = T0,
		.type = BP_EVENT_SESSION,
		.action = BP_EVENT_SESSION_ABORTED,
		.reason = BP_EVENT_SESSION_TIMEOUT,
		.flags = BP_EVENT_F_IP6 | BP_EVENT_F_UDP,
		.src_ip = {0xfd, [15] = 1},
		.dest_ip = {0xfd, [15] = 2},
		.src_port = 6000,
		.dest_port = 6024,
		.vlan_outer = 10,
		.vlan_inner = 20,
		.number = {3}};
	const char *line;

	read_with((struct bp_event_reader_options){0});
	bp_event_text(&e, 0, "002209225801a3ff", 16);
	bp_event_text(&e, 1, "thermometer", 11);
	bp_event_write(&main_ring[BP_EVENTS_SESSIONS], &e);
	line = line_at(T0 + 100 * S);
	assert_non_null(strstr(line, "\"event_type\":\"session\""));
	assert_non_null(strstr(line, "\"vlan\":[10,20],\"src_ip\":\"fd00::1\",\"src_port\":6000,"
				     "\"dest_ip\":\"fd00::2\",\"dest_port\":6024,"
				     "\"proto\":\"UDP\""));
	assert_non_null(strstr(line, "\"session\":{\"state\":\"aborted\",\"reason\":\"timeout\","
				     "\"system_id\":\"002209225801a3ff\","
				     "\"specialization\":\"thermometer\",\"reports\":3}"));
}

static void faults_and_planes_have_their_shape(void **state)
{
	struct bp_fault_record fault = {.subject = "cloud",
		.kind = BP_FAULT_LINK_DOWN,
		.active = 1,
		.began_ns = T0 - 2 * S};

	read_with((struct bp_event_reader_options){0});
	bp_plane_event_started(
		&main_ring[BP_EVENTS_DATAPLANE], BP_EVENT_DATAPLANE, 42, true, T0 - 3 * S);
	bp_fault_event(&main_ring[BP_EVENTS_DATAPLANE], &fault, T0);
	fault.active = 0;
	bp_fault_event(&main_ring[BP_EVENTS_DATAPLANE], &fault, T0);
	bp_config_event(&main_ring[BP_EVENTS_CONTROLPLANE], BP_EVENT_CONFIG_REFUSED, 3,
		"f.yaml:3:1: no", T0);
	bp_plane_event_stopped(
		&main_ring[BP_EVENTS_CONTROLPLANE], BP_EVENT_CONTROLPLANE, 43, T0 + S);
	expect_line("{\"timestamp\":\"2025-12-31T23:59:56.000000+00:00\",\"event_type\":\"plane\","
		    "\"instance\":\"test\",\"plane\":{\"state\":\"started\","
		    "\"name\":\"dataplane\",\"pid\":42,\"after_crash\":true}}");
	expect_line(AT "\"event_type\":\"fault\",\"instance\":\"test\",\"fault\":{"
		       "\"state\":\"raised\",\"name\":\"link_down\",\"plane\":\"dataplane\","
		       "\"object\":\"cloud\",\"since\":\"2025-12-31T23:59:57.000000+00:00\","
		       "\"description\":\"no link: cable, transceiver, the device at the other "
		       "end\"}}");
	assert_non_null(strstr(line_at(T0 + 100 * S), "\"duration_ms\":2000"));
	expect_line(AT "\"event_type\":\"config\",\"instance\":\"test\",\"config\":{"
		       "\"state\":\"refused\",\"generation\":3,\"error\":\"f.yaml:3:1: no\"}}");
	assert_non_null(strstr(line_at(T0 + 100 * S), "\"state\":\"stopped\""));
	expect_none(T0 + 100 * S);
}

static void restarts_by_the_supervisor_are_events(void **state)
{
	read_with((struct bp_event_reader_options){0});
	atomic_store(&shm.shared->run_dp_restarts, 1);
	atomic_store(&shm.shared->run_cp_restarts, 1);
	atomic_store(&shm.shared->run_cp_hung, 1);
	assert_non_null(strstr(line_at(T0), "\"plane\":{\"state\":\"restarted\","
					    "\"name\":\"dataplane\",\"hung\":false}"));
	assert_non_null(strstr(line_at(T0), "\"plane\":{\"state\":\"restarted\","
					    "\"name\":\"controlplane\",\"hung\":true}"));
	expect_none(T0);
}

static void drops_are_summed_up_by_reason(void **state)
{
	struct bp_counters *c = &shm.counters[0];

	c->v[BP_C_DROP_TX_FULL] = 5;
	read_with((struct bp_event_reader_options){.drops_interval_ns = 10 * S});
	expect_none(T0); /* what was before is not new */
	c->v[BP_C_DROP_TX_FULL] += 7;
	shm.counters[1].v[BP_C_DROP_TX_FULL] += 1;
	bp_shm_counters_main(&shm, BP_COUNTER_ROW_MAIN)->v[BP_C_NIC_MISSED] += 2;
	expect_none(T0 + 9 * S);
	assert_non_null(strstr(line_at(T0 + 10 * S), "\"drops\":{\"interval_ms\":10000,"
						     "\"total\":10,\"reasons\":{"));
	expect_none(T0 + 20 * S); /* nothing new */
	/* another data plane counts from 0 */
	atomic_store(&shm.global->dp_started_ns, T0 + 21 * S);
	c->v[BP_C_DROP_TX_FULL] = 3;
	shm.counters[1].v[BP_C_DROP_TX_FULL] = 0;
	bp_shm_counters_main(&shm, BP_COUNTER_ROW_MAIN)->v[BP_C_NIC_MISSED] = 0;
	assert_non_null(strstr(line_at(T0 + 30 * S), "\"total\":3"));
}

/* ---- order, losses, choice ---- */

static void events_of_all_writers_are_in_order(void **state)
{
	read_with((struct bp_event_reader_options){0});
	write_connection(0, T0 + 3, BP_EVENT_CONNECTION_START, 0);
	write_connection(1, T0 + 1000, BP_EVENT_CONNECTION_START, 0);
	bp_config_event(
		&main_ring[BP_EVENTS_CONTROLPLANE], BP_EVENT_CONFIG_RELOADED, 1, NULL, T0 + 2000);
	add_alarm(T0 + 1500, 1, true);
	write_connection(0, T0 + 3000, BP_EVENT_CONNECTION_END, BP_EVENT_END_RESET);
	/* not before an older one of another writer can be there */
	expect_none(T0 + 2);
	expect_none(T0 + BP_EVENT_HOLD_NS + 2);
	assert_non_null(strstr(line_at(T0 + BP_EVENT_HOLD_NS + 3), "\"start\""));
	expect_none(T0 + BP_EVENT_HOLD_NS + 3);
	assert_non_null(strstr(line_at(T0 + S), "59.000001+"));
	assert_non_null(strstr(line_at(T0 + S), "\"alarm\""));
	assert_non_null(strstr(line_at(T0 + S), "\"reloaded\""));
	assert_non_null(strstr(line_at(T0 + S), "\"reset\""));
	expect_none(T0 + S);
}

static void lost_events_are_counted(void **state)
{
	unsigned n = 0;
	json_t *event;

	read_with((struct bp_event_reader_options){0});
	for (unsigned i = 0; i < RECORDS + 36; i++)
		write_connection(1, T0 + i, BP_EVENT_CONNECTION_START, 0);
	bp_config_event(&main_ring[BP_EVENTS_CONTROLPLANE], BP_EVENT_CONFIG_RELOADED, 1, NULL, T0);
	while ((event = bp_event_reader_next(reader, T0 + S, NULL)) != NULL) {
		const json_t *lost = json_object_get(event, "lost");

		if (lost != NULL) {
			assert_int_equal(json_integer_value(json_object_get(lost, "events")), 36);
			assert_string_equal(
				json_string_value(json_object_get(lost, "source")), "worker 1");
			assert_string_equal(
				json_string_value(json_object_get(lost, "reason")), "overwritten");
		} else {
			n++;
		}
		json_decref(event);
	}
	/* a flood of one writer takes no event of another */
	assert_int_equal(n, RECORDS + 1);
	assert_int_equal(bp_event_reader_lost(reader), 36);
}

static void types_backlog_and_begin_are_chosen(void **state)
{
	unsigned types;
	char why[256];

	for (unsigned i = 0; i < 5; i++)
		write_connection(0, T0 + i * 1000, BP_EVENT_CONNECTION_START, 0);
	bp_config_event(
		&main_ring[BP_EVENTS_CONTROLPLANE], BP_EVENT_CONFIG_RELOADED, 1, NULL, T0 + 2500);
	read_with((struct bp_event_reader_options){0});
	expect_none(T0 + S);
	read_with((struct bp_event_reader_options){.backlog = 1});
	assert_non_null(strstr(line_at(T0 + S), "config"));
	assert_non_null(strstr(line_at(T0 + S), "59.000004+"));
	expect_none(T0 + S);
	read_with((struct bp_event_reader_options){.backlog = UINT64_MAX, .since_ns = T0 + 2000});
	assert_non_null(strstr(line_at(T0 + S), "config"));
	assert_non_null(strstr(line_at(T0 + S), "59.000003+"));
	assert_non_null(strstr(line_at(T0 + S), "59.000004+"));
	expect_none(T0 + S);
	/* the clock was set back: new events count */
	write_connection(0, T0 - S, BP_EVENT_CONNECTION_START, 0);
	assert_non_null(strstr(line_at(T0 + S), "58.000000+"));
	assert_int_equal(bp_event_types_parse("config,fault", &types, why, sizeof(why)), 0);
	read_with((struct bp_event_reader_options){.types = types, .backlog = UINT64_MAX});
	assert_non_null(strstr(line_at(T0 + S), "config"));
	expect_none(T0 + S);
	assert_int_equal(bp_event_types_parse("config,", &types, why, sizeof(why)), -1);
	assert_int_equal(bp_event_types_parse("", &types, why, sizeof(why)), -1);
	assert_int_equal(bp_event_types_parse("alarms", &types, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "'alarms' is not a type of events"));
}

/* The log ended, and a ring overwrote more than the log has: some events are missing. */
static void events_missed_before_the_start_are_reported(void **state)
{
	const char *line;

	for (unsigned i = 0; i < RECORDS + 1; i++)
		write_connection(0, T0 + i * 1000, BP_EVENT_CONNECTION_START, 0);
	read_with((struct bp_event_reader_options){.backlog = UINT64_MAX, .since_ns = T0 + 500});
	line = line_at(T0 + S);
	assert_non_null(strstr(line, "\"reason\":\"overwritten\",\"events\":null"));
	assert_non_null(strstr(line, "worker 0"));
	for (unsigned i = 0; i < RECORDS; i++)
		assert_non_null(strstr(line_at(T0 + S), "\"state\":\"start\""));
	expect_none(T0 + S);
	assert_int_equal(bp_event_reader_lost(reader), 1);
	/* the log has the first event that the ring still has: nothing is missing */
	read_with((struct bp_event_reader_options){.backlog = UINT64_MAX, .since_ns = T0 + 1000});
	for (unsigned i = 1; i < RECORDS; i++)
		assert_non_null(strstr(line_at(T0 + S), "\"state\":\"start\""));
	expect_none(T0 + S);
	assert_int_equal(bp_event_reader_lost(reader), 0);
}

/* A busy worker always has an event that is not due yet: events of others must not wait for it. */
static void events_after_a_clock_set_back_are_not_delayed(void **state)
{
	read_with((struct bp_event_reader_options){0});
	write_connection(0, T0 + 3600 * S, BP_EVENT_CONNECTION_START, 0);
	write_connection(0, T0 - S, BP_EVENT_CONNECTION_END, BP_EVENT_END_RESET);
	write_connection(1, T0, BP_EVENT_CONNECTION_INSPECTED, 0);
	assert_non_null(strstr(line_at(T0), "\"state\":\"start\""));
	assert_non_null(strstr(line_at(T0), "\"state\":\"end\""));
	expect_none(T0);
	assert_non_null(strstr(line_at(T0 + S), "\"state\":\"inspected\""));
}

/* ---- what the segment's other writers can do ---- */

static void damaged_records_are_counted_and_do_no_harm(void **state)
{
	uint64_t random = 3, lines = 0;

	for (unsigned round = 0; round < 300; round++) {
		json_t *event;

		read_with((struct bp_event_reader_options){.backlog = UINT64_MAX});
		for (unsigned i = 0; i < RECORDS; i++) {
			struct bp_event e;
			uint8_t *p = (uint8_t *)&e;

			for (size_t k = 0; k < sizeof(e); k++) {
				random = random * 6364136223846793005ull + 1442695040888963407ull;
				p[k] = (uint8_t)(random >> 56);
			}
			e.type %= BP_EVENT_TYPES + 1;
			e.action %= 5;
			e.reason %= 30;
			memcpy(&worker[0].slot[i].is, &e, sizeof(e));
			atomic_store(&worker[0].slot[i].seq, 2 * (i + 1));
		}
		while ((event = bp_event_reader_next(reader, T0, NULL)) != NULL) {
			char text[BP_EVENT_TEXT_LINE], *line = bp_event_line(event);

			assert_non_null(line);
			assert_null(strpbrk(line, "\n\x1b"));
			bp_event_text_line(event, text);
			for (const char *c = text; *c != '\0'; c++)
				assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
			free(line);
			json_decref(event);
			lines++;
		}
		memset(worker[0].slot, 0, RECORDS * sizeof(*worker[0].slot));
	}
	assert_true(lines > 1000);
	assert_true(bp_event_reader_lost(reader) > 0);
}

static void damaged_alarms_are_counted(void **state)
{
	read_with((struct bp_event_reader_options){0});
	add_alarm(T0, 1, true);
	shm.alarm_log[0].value = 0.0 / 0.0;
	memset(shm.alarm_log[0].topic, 0xff, sizeof(shm.alarm_log[0].topic));
	add_alarm(T0, 2, true);
	memset(shm.alarm_log[1].topic, 0xff, sizeof(shm.alarm_log[1].topic));
	assert_non_null(strstr(line_at(T0 + S), "\"source\":\"alarms\""));
	assert_non_null(strstr(line_at(T0 + S), "\"value\":2.0"));
	expect_none(T0 + S);
}

/* A client chooses its identifier; a terminal must not obey it. */
static void control_characters_do_not_reach_the_terminal(void **state)
{
	struct bp_event e = connection(T0, BP_EVENT_CONNECTION_START, 0);
	const char *text;

	read_with((struct bp_event_reader_options){0});
	e.text_len[0] = 0;
	bp_event_text(&e, 0, "a\x1b[2J \xc2\x9b\"b\xc3\xa9", 12);
	bp_event_write(&worker[0], &e);
	text = text_at(T0 + S);
	assert_non_null(strstr(text, "connection start client_id=\"a?[2J ?\\\"b\xc3\xa9\""));
	assert_non_null(strstr(text, "src=10.0.0.5:40000 dest=10.0.0.9:1883 in_iface=devices"));
	assert_null(strchr(text, '\x1b'));
}

/* Vectors of the specification of Community ID. */
static void community_ids_are_those_of_other_tools(void **state)
{
	static const uint8_t a[] = {128, 232, 110, 120}, b[] = {66, 35, 250, 204};
	static const uint8_t c[] = {192, 168, 1, 52}, d[] = {8, 8, 8, 8};
	char id[BP_COMMUNITY_ID];

	bp_community_id(false, a, 34855, b, 80, 6, id);
	assert_string_equal(id, "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
	bp_community_id(false, b, 80, a, 34855, 6, id);
	assert_string_equal(id, "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
	bp_community_id(false, c, 54585, d, 53, 17, id);
	assert_string_equal(id, "1:d/FP5EW3wiY1vCndhwleRRKHowQ=");
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, open_rings, close_rings)

/* A client of /api/v1/events that stops reading: its stream keeps one event, what the ring
 * overwrote meanwhile is counted, and the next event has the number. */
static void events_that_a_slow_stream_misses_are_counted(void **state)
{
	const struct bp_event_reader_options o = {.types = BP_EVENTS_ALL};
	struct bp_event_stream *s = bp_event_stream_new(bp_event_reader_of("test", &shm, &o), 0);
	char text[4096];

	(void)state;
	bp_monitor_counters.events_lost = 0;
	assert_non_null(s);
	assert_int_not_equal(
		bp_event_stream_read(s, text, sizeof(text)), 0); /* its first comment */
	assert_false(bp_event_stream_fill(s, T0 + S, 0));
	for (unsigned i = 0; i < 1 + 3 * RECORDS; i++) {
		write_connection(0, T0, BP_EVENT_CONNECTION_START, 0);
		assert_true(bp_event_stream_fill(s, T0 + S, 0));
	}
	assert_int_equal(bp_monitor_counters.events_lost, 0);
	assert_int_not_equal(bp_event_stream_read(s, text, sizeof(text)), 0);
	assert_true(bp_event_stream_fill(s, T0 + S, 0));
	assert_int_equal(bp_monitor_counters.events_lost, 2 * RECORDS);
	text[bp_event_stream_read(s, text, sizeof(text) - 1)] = '\0';
	assert_non_null(strstr(text, "event: lost\n"));
	assert_non_null(strstr(text, "\"events\":128,"));
	bp_event_stream_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connections_have_their_shape),
		TEST(names_of_tls_have_their_shape),
		TEST(alarms_have_their_shape),
		TEST(sessions_have_their_shape),
		TEST(faults_and_planes_have_their_shape),
		TEST(restarts_by_the_supervisor_are_events),
		TEST(drops_are_summed_up_by_reason),
		TEST(events_of_all_writers_are_in_order),
		TEST(events_missed_before_the_start_are_reported),
		TEST(events_after_a_clock_set_back_are_not_delayed),
		TEST(lost_events_are_counted),
		TEST(events_that_a_slow_stream_misses_are_counted),
		TEST(types_backlog_and_begin_are_chosen),
		TEST(damaged_records_are_counted_and_do_no_harm),
		TEST(damaged_alarms_are_counted),
		TEST(control_characters_do_not_reach_the_terminal),
		TEST(community_ids_are_those_of_other_tools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
