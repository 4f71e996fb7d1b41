/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane show` over a segment with known contents: ports, drops, counters, nodes, planes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <time.h>
#include <unistd.h>

#include "apps/biplane/show/status_view.h"
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "biplane/counters/mqtt.h"
#include "show_view.h"

static void set_port(unsigned i, const char *name)
{
	struct bp_port_info *p = &shm.ports[i];

	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->device, sizeof(p->device), "net_null%u", i);
	snprintf(p->driver, sizeof(p->driver), "net_null");
	p->link_up = 1;
	p->speed_mbps = 10000;
	p->mtu = 1500;
	p->rx_queues = p->tx_queues = 2;
	p->workers = 3;
	p->hw_imissed = 5 + i;
}

static void count_frames(unsigned worker, unsigned port, uint64_t rx, uint64_t tx)
{
	struct bp_port_stats *s = &shm.port_stats[worker * BP_MAX_PORTS + port];

	atomic_store(&s->rx_packets, rx);
	atomic_store(&s->rx_bytes, rx * 64);
	atomic_store(&s->tx_packets, tx);
	atomic_store(&s->tx_bytes, tx * 64);
}

static void ports_sum_over_workers(void **state)
{
	set_port(0, "devices");
	set_port(1, "cloud");
	count_frames(0, 0, 100, 10);
	count_frames(1, 0, 23, 1);
	count_frames(1, 1, 7, 0);
	atomic_store(&shm.global->dp_ports, 2);

	json_t *v = collect(&bp_show_ports);

	assert_int_equal(json_array_size(json_object_get(v, "ports")), 2);
	assert_text(row(v, "ports", 0), "name", "devices");
	assert_number(row(v, "ports", 0), "rx_packets", 123);
	assert_number(row(v, "ports", 0), "rx_bytes", 123 * 64);
	assert_number(row(v, "ports", 0), "tx_packets", 11);
	assert_number(row(v, "ports", 1), "rx_packets", 7);
	assert_number(row(v, "ports", 1), "hw_missed", 6);
	assert_int_equal(json_array_size(json_object_get(row(v, "ports", 0), "workers")), 2);

	char *text = text_of(&bp_show_ports, v, false);

	assert_non_null(strstr(text, "devices  net_null0  net_null"));
	assert_non_null(strstr(text, " 0,1 "));
	assert_non_null(strstr(text, " 7872 "));
	free(text);
}

static void set_offload(unsigned i, enum bp_offload o, uint8_t word, uint8_t by, const char *why)
{
	struct bp_port_offload *p = &shm.ports[i].offload[o];

	p->word = word;
	p->outcome = by;
	snprintf(p->why, sizeof(p->why), "%s", why);
}

/* For each offload: setting, outcome and reason. */
static void ports_tell_of_offloads(void **state)
{
	set_port(0, "devices");
	set_port(1, "cloud");
	set_offload(0, BP_OFFLOAD_RX_CHECKSUM, BP_OFFLOAD_OFF, BP_OFFLOAD_SOFTWARE, "set off");
	set_offload(1, BP_OFFLOAD_RX_SCATTER, BP_OFFLOAD_ON, BP_OFFLOAD_HARDWARE, "in several");
	set_offload(1, BP_OFFLOAD_RSS, 77, 88, "a segment of a later version");
	atomic_store(&shm.global->dp_ports, 2);

	json_t *v = collect(&bp_show_ports);
	const json_t *of0 = json_object_get(row(v, "ports", 0), "offloads"),
		     *of1 = json_object_get(row(v, "ports", 1), "offloads");

	assert_int_equal(json_array_size(of0), BP_OFFLOADS);
	assert_text(json_array_get(of0, 0), "offload", "rx_checksum");
	assert_text(json_array_get(of0, 0), "setting", "off");
	assert_text(json_array_get(of0, 0), "outcome", "software");
	assert_text(json_array_get(of0, 0), "reason", "set off");
	assert_text(json_array_get(of0, 1), "setting", "auto");
	assert_text(json_array_get(of0, 1), "outcome", "unused");
	assert_text(json_array_get(of1, 3), "offload", "rx_scatter");
	assert_text(json_array_get(of1, 3), "setting", "on");
	assert_text(json_array_get(of1, 3), "outcome", "hardware");
	assert_text(json_array_get(of1, 4), "setting", "?");
	assert_text(json_array_get(of1, 4), "outcome", "?");

	char *text = text_of(&bp_show_ports, v, false);

	assert_non_null(strstr(text, "\nPORT     OFFLOAD        SETTING  OUTCOME   REASON\n"
				     "devices  rx_checksum    off      software  set off\n"));
	assert_non_null(strstr(text, "\ncloud    rx_scatter     on       hardware  in several\n"));
	free(text);
}

static void more_ports_than_there_can_be(void **state)
{
	atomic_store(&shm.global->dp_ports, UINT32_MAX);
	assert_int_equal(bp_show_ports_in_use(&shm), config.n_ports);
}

static void no_ports_yet(void **state)
{
	char *text = text_of(&bp_show_ports, collect(&bp_show_ports), false);

	assert_string_equal(text, "no ports: the data plane has not started yet\n");
	free(text);
}

static void drops_balance(void **state)
{
	count_frames(0, 0, 100, 0);
	count_frames(1, 1, 0, 83);
	shm.counters[0].v[BP_C_PUNTED_ROUTING] = 2;
	shm.counters[2].v[BP_C_PUNTED_OTHER] = 8; /* the exception thread */
	shm.counters[1].v[BP_C_FROM_KERNEL] = 3;
	shm.counters[0].v[BP_C_MIRROR_FRAME] = 4;
	shm.counters[1].v[BP_C_FLOOD_COPY] = 1;
	shm.counters[0].v[BP_C_DROP_TX_FULL] = 7;
	shm.counters[1].v[BP_C_DROP_TX_FULL] = 5;
	set_port(0, "devices");
	set_port(1, "cloud");
	atomic_store(&shm.global->dp_ports, 2);
	shm.port_drops[0].n[bp_drop_slot[BP_C_DROP_TX_FULL]] = 7;
	shm.port_drops[BP_MAX_PORTS + 1].n[bp_drop_slot[BP_C_DROP_TX_FULL]] =
		4; /* one of no port */
	shm.counters[1].v[BP_C_DROP_RUNT] = 3;
	shm.counters[0].v[BP_C_CSE_ACK_FRAME] = 2;
	shm.counters[1].v[BP_C_CSE_RESET] = 2;
	shm.counters[1].v[BP_C_FLOODED] = 1000; /* of no group in the sum */
	shm.counters[1].v[BP_C_PUNT_ARP] = 50;  /* nor is the reason for the exception path */

	json_t *v = collect(&bp_show_drops);

	assert_number(v, "rx", 100);
	assert_number(v, "originated", 10);
	assert_number(v, "tx", 83);
	assert_number(v, "drops", 15);
	assert_number(v, "punted", 10);
	assert_number(v, "terminated", 2);
	assert_number(v, "difference", 0);
	assert_true(json_is_true(json_object_get(v, "balanced")));

	char *text = text_of(&bp_show_drops, json_incref(v), false);

	assert_non_null(strstr(text, "tx_full     12  devices 7, cloud 4  TX"));
	assert_non_null(strstr(text, "runt         3  -                   shorter"));
	assert_null(strstr(text, "hairpin"));
	assert_non_null(strstr(text,
		"rx 100 + originated 10 = tx 83 + drops 15 + punted 10 + terminated 2: ok\n"));
	free(text);
	text = text_of(&bp_show_drops, v, true);
	assert_non_null(strstr(text, "hairpin"));
	free(text);

	count_frames(1, 1, 0, 86);
	text = text_of(&bp_show_drops, collect(&bp_show_drops), false);
	assert_non_null(
		strstr(text, "tx 86 + drops 15 + punted 10 + terminated 2: difference -3 "));
	free(text);
}

static const char *string_of(const json_t *list, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(list, i), key));
}

static void counters_are_all_there(void **state)
{
	shm.counters[0].v[BP_C_MATCH] = 1;
	shm.counters[1].v[BP_C_MATCH] = 2;

	json_t *v = collect(&bp_show_counters);

	const json_t *list = json_object_get(v, "counters");
	size_t counters = 0, groups = 0, begun = 0, matches = SIZE_MAX;

	for (unsigned c = 0; c < BP_C_COUNT; c++)
		counters += bp_counter_info[c].name != NULL;
	for (unsigned g = 0; g < BP_CG_COUNT; g++)
		groups += bp_counter_group_info[g].name != NULL;
	assert_int_equal(json_array_size(list), counters);
	for (size_t i = 0; i < counters; i++) {
		const char *group = string_of(list, i, "group");

		begun += i == 0 || strcmp(group, string_of(list, i - 1, "group")) != 0;
		if (strcmp(string_of(list, i, "name"), "matches") == 0)
			matches = i;
	}
	assert_int_equal(begun, groups); /* the counters of a group are together */
	assert_text(row(v, "counters", matches), "group", "rule");
	assert_number(row(v, "counters", matches), "count", 3);

	char *text = text_of(&bp_show_counters, v, false);

	assert_non_null(strstr(text, "matches of a PUBLISH and a rule"));
	free(text);
}

static void nodes_divide_and_round(void **state)
{
	struct bp_node_info *n = &shm.nodes[BP_MAX_NODES]; /* worker 1's first */

	snprintf(n->name, sizeof(n->name), "port_rx-0-1");
	n->worker = 1;
	atomic_store(&n->calls, 3);
	atomic_store(&n->objects, 10);
	atomic_store(&n->cycles, 1234);
	snprintf(n[1].name, sizeof(n[1].name), "drop");
	n[1].worker = 1;

	json_t *v = collect(&bp_show_nodes);

	assert_int_equal(json_array_size(json_object_get(v, "nodes")), 2);
	assert_number(row(v, "nodes", 0), "worker", 1);
	assert_true(
		json_real_value(json_object_get(row(v, "nodes", 0), "packets_per_call")) == 3.33);
	assert_true(
		json_real_value(json_object_get(row(v, "nodes", 0), "cycles_per_packet")) == 123.4);
	assert_true(json_is_null(json_object_get(row(v, "nodes", 1), "packets_per_call")));

	char *text = text_of(&bp_show_nodes, v, false);

	assert_non_null(strstr(text, "port_rx-0-1"));
	assert_non_null(strstr(text, "123.4\n"));
	free(text);
}

static void status_tells_which_planes_run(void **state)
{
	struct bp_shm_global *g = shm.global;
	struct timespec now;

	/* the heartbeat is compared with the process's own start */
	clock_gettime(CLOCK_REALTIME, &now);
	source.unix_ns = (uint64_t)now.tv_sec * 1000000000ull;
	atomic_store(&g->dp_pid, (uint64_t)getpid());
	atomic_store(&g->dp_started_ns, source.unix_ns - 3661000000000ull);
	atomic_store(&g->dp_heartbeat_ns, source.unix_ns + 1); /* the clock was set back */
	atomic_store(&shm.control->cp_pid, 0x7fffffff);
	atomic_store(&shm.shared->run_cp_restarts, 3);
	atomic_store(&shm.control->publisher[BP_TO_MQTT].connected, 1);
	atomic_store(&shm.control->publisher[BP_TO_MQTT].spool_rows, 17);
	atomic_store(&shm.control->publisher[BP_TO_MQTT].spool_errors, 4);
	atomic_store(&shm.control->rules_active, 5 << 1 | 1);

	json_t *v = collect(&bp_status_view);

	assert_true(json_is_true(json_object_get(row(v, "planes", 0), "running")));
	assert_number(row(v, "planes", 0), "uptime_s", 3661);
	assert_number(row(v, "planes", 0), "heartbeat_age_s", 0);
	assert_false(json_is_true(json_object_get(row(v, "planes", 1), "running")));
	assert_true(json_is_null(json_object_get(row(v, "planes", 1), "uptime_s")));
	assert_number(row(v, "planes", 1), "restarts", 3);
	assert_number(json_object_get(v, "spool"), "rows", 17);
	assert_number(json_object_get(v, "spool"), "errors", 4);
	assert_number(json_object_get(v, "reloads"), "generation", 5);
	assert_true(json_is_null(json_object_get(v, "kafka")));

	char *text = text_of(&bp_status_view, v, false);

	assert_non_null(strstr(text, "1:01:01"));
	assert_non_null(strstr(text, "publisher  connected, connects 0"));
	assert_non_null(strstr(text, "rows 17, bytes 0, errors 4"));
	assert_null(strstr(text, "kafka"));
	free(text);
}

static void status_tells_of_kafka(void **state)
{
	struct bp_publisher_counters *c = &shm.control->publisher[BP_TO_KAFKA];
	const struct bp_fault_record fault = {.subject = "publisher",
		.kind = BP_FAULT_KAFKA_UNREACHABLE,
		.active = 1,
		.began_ns = 1};
	const json_t *kafka;
	char *text;

	atomic_store(&c->max_inflight, 1000);
	atomic_store(&c->connected, 1);
	atomic_store(&c->brokers, 3);
	atomic_store(&c->brokers_connected, 2);
	atomic_store(&c->inflight, 5);
	atomic_store(&c->spool_rows, 12);
	atomic_store(&c->rejected, 7);

	json_t *v = collect(&bp_status_view);

	assert_true(json_is_null(json_object_get(json_object_get(v, "kafka"), "fault")));
	text = text_of(&bp_status_view, v, false);
	assert_non_null(strstr(text, "kafka      connected, brokers 3, brokers_connected 2, "));
	assert_non_null(strstr(text, "in_flight 5, rejected 7, "));
	free(text);
	atomic_store(&c->connected, 0);
	bp_fault_write(
		&shm.cp_faults[BP_FAULT_KAFKA_UNREACHABLE - BP_FAULT_CONTROLPLANE_FIRST], &fault);
	v = collect(&bp_status_view);
	kafka = json_object_get(v, "kafka");
	assert_text(kafka, "state", "unreachable");
	assert_text(kafka, "fault", "kafka_unreachable");
	assert_number(kafka, "spool_rows", 12);
	text = text_of(&bp_status_view, v, false);
	assert_non_null(strstr(text, "kafka      unreachable, kafka_unreachable, brokers 3"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ports_sum_over_workers),
		CASE(ports_tell_of_offloads),
		CASE(more_ports_than_there_can_be),
		CASE(no_ports_yet),
		CASE(drops_balance),
		CASE(counters_are_all_there),
		CASE(nodes_divide_and_round),
		CASE(status_tells_which_planes_run),
		CASE(status_tells_of_kafka),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
