/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include "config/schema.h"
#include "config/mqtt/settings.h"
#include "shm/rules/combination.h"

/* Functions derived from the schema, except parsing: defaults, dump, restart, the reference page.
 */

#define FULL                                                                                       \
	"version: 1\nname: plant-7\nworkers: [2, 3]\npoll_mode: adaptive\nmbufs: 4096\n"           \
	"runtime: {directory: \"/tmp/a \\\"b\\\"\", hugepages: never, memory: 1GiB, watchdog: "    \
	"1m}\n"                                                                                    \
	"ports:\n"                                                                                 \
	"  - {name: devices, device: \"0000:03:00.0\", rx_queues: 2, rx_descriptors: 512, "        \
	"tx_descriptors: 256, mtu: 1500, promiscuous: false, offloads: {rx_checksum: off, "        \
	"tx_checksum: on, "                                                                        \
	"tx_multi_segs: off, rx_scatter: on, rss: off, vlan_strip: on}}\n"                         \
	"  - {name: cloud, device: \"net_af_packet0,iface=b\"}\n"                                  \
	"  - {name: edge, device: net_null0}\n  - {name: spare, device: net_null1}\n"              \
	"bridges: [{name: bridge0, ports: [devices, cloud]}, {name: bridge1, ports: [edge, "       \
	"spare], network: line-2, fdb_max_entries: 100, fdb_aging_time: 90s}]\n"                   \
	"fleet: {name: plant, labels: {site: north, role: edge}, config: {server: "                \
	"\"etcds://10.0.0.1:2379,h:1\", keys: [/k1, /k2], ca_file: /ca, cert_file: /cert, "        \
	"key_file: /key, username: u, password_file: /pw, trial_time: 90s, directory: /d}}\n"      \
	"mqtt:\n"                                                                                  \
	"  tcp_ports: [1883, 8080]\n  websocket_ports: [8083]\n  brokers: [10.1.0.9, "             \
	"\"fd00::/64\"]\n  directions: both\n  "                                                   \
	"evaluate: "                                                                               \
	"acknowledged\n"                                                                           \
	"  strictness: standard\n  verify_checksums: false\n  separate_vrfs: false\n  "            \
	"max_connections: 1048576\n"                                                               \
	"  connection_timeout: 10m\n  handshake_timeout: 5s\n  reassembly_per_connection: 4KiB\n " \
	" reassembly_total: "                                                                      \
	"1MiB\n"                                                                                   \
	"  reorder_buffer: 0\n  max_topic_aliases: 10\n  connection_cpu_percent: 11\n  "           \
	"worker_cpu_percent: 12\n"                                                                 \
	"  resync_packets: 9\n  min_ttl: 3\n  max_alarm_states: 7\n  max_rules: 9\n"               \
	"  max_sparkplug_metrics: 10\n"                                                            \
	"  max_watched_topics: 8\n"                                                                \
	"  max_windows: 8\n  max_window_values: 16\n"                                              \
	"  alarm_queue_size: 1MiB\n"                                                               \
	"  publisher: {broker: \"mqtts://h\", username: u, password_file: /p, tls: {ca: /a, "      \
	"cert: /b, key: /c}, "                                                                     \
	"keep_alive: 1m, max_inflight: 10, puback_timeout: 1500ms}\n"                              \
	"  kafka: {brokers: \"kafkas://k1,k2:19093\", topic: t, client_id: c, username: u, "       \
	"password_file: /p, sasl_mechanism: plain, tls: {ca: /a, cert: /b, key: /c}, "             \
	"max_inflight: 11, max_message_size: 20kB, ack_timeout: 2s, unreachable_after: 3s}\n"      \
	"  mirror: {port: edge, mac: \"02:aB:00:00:00:01\", ipv4_address: 192.0.2.10, "            \
	"ipv6_address: "                                                                           \
	"\"2001:db8::1\", tcp_port: 1884}\n"                                                       \
	"  spool: {path: /s, max_size: 1GiB, max_age: 36h, max_keys: 5}\n"                         \
	"  rules:\n"                                                                               \
	"    - {name: a, topic: \"#\", raise: \"> 80.25\", clear: \"< -1e-7\", hold: 3 samples, "  \
	"repeat: "                                                                                 \
	"on_change, payload: original, publish: {topic: \"x/{topic}/{rule}/{client}\"}}\n"         \
	"    - {name: b, topic: \"t/\\u00e4 \\\\ \\u0001\", value: {json: \"$.a['b \\\\'c']"       \
	"[3]['\\\\u0000']\"}, raise: inside 1..2, hold: 10s, quiet: 10m, deadband: 0.5, action: "  \
	"mirror, severity: "                                                                       \
	"critical}\n"                                                                              \
	"    - {name: c, topic: +/x, value: {binary: {type: uint32, offset: 9, byte_order: "       \
	"little}}, "                                                                               \
	"window: {values: 9, type: tumbling, function: percentile, percentile: 95}, "              \
	"raise: outside 1..2, publish: {destination: both}, annotations: {site: north, "           \
	"runbook: \"https://example.org/#1\"}}\n"                                                  \
	"    - {name: d, topic: spBv1.0/g/+/n/#, value: {sparkplug: a/b, historical: evaluate, "   \
	"death: -1}, raise: \"> 1\"}\n"                                                            \
	"    - {name: e, topic: +/g/DDATA/+/+, value: sparkplug_online, raise: \"== 0\"}\n"        \
	"    - {name: f, topic: a/+, absent: 90s}\n"

#define HEALTH                                                                                     \
	"ports: [{name: a, device: x, routed: {addresses: 10.0.0.1/24}}]\nhealth_devices: {cse: "  \
	"{coap: "                                                                                  \
	"\"coap://10.1.0.20\", "                                                                   \
	"http: \"http://10.1.0.20\"}}\n"

static void all_sections_are_read(void **state)
{
	struct bp_config *c = accepted(FULL);
	const struct bp_rule_spec *r;
	static const uint8_t mac[6] = {0x02, 0xab, 0, 0, 0, 1}, ip4[4] = {192, 0, 2, 10};
	static const uint8_t ip6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};

	assert_string_equal(c->name, "plant-7");
	assert_string_equal(c->fleet.name, "plant");
	assert_true(c->fleet.labels.n == 2 && c->fleet.config.keys.n == 2);
	assert_string_equal(c->fleet.labels.label[1].value, "edge");
	assert_string_equal(c->fleet.config.keys.path[1], "/k2");
	assert_string_equal(c->fleet.config.key_file, "/key");
	assert_int_equal(c->fleet.config.trial_time_ns, 90000000000);
	assert_string_equal(c->runtime_dir, "/tmp/a \"b\"");
	assert_int_equal(c->hugepages, BP_HUGEPAGES_NEVER);
	assert_int_equal(c->memory_mb, 1024);
	assert_int_equal(c->watchdog_ns, 60000000000ull);
	assert_int_equal(c->poll_mode, BP_POLL_ADAPTIVE);
	assert_int_equal(c->mbufs, 4096);
	assert_true(c->workers_listed && c->n_workers == 2);
	assert_true(c->worker_core[0] == 2 && c->worker_core[1] == 3);
	assert_int_equal(c->n_ports, 4);
	assert_string_equal(c->port[0].device, "0000:03:00.0");
	assert_int_equal(c->port[0].rx_queues, 2);
	assert_int_equal(c->port[0].rx_descriptors, 512);
	assert_int_equal(c->port[0].tx_descriptors, 256);
	assert_int_equal(c->port[0].mtu, 1500);
	assert_false(c->port[0].promiscuous);
	for (unsigned i = 0; i < BP_OFFLOADS; i++) {
		assert_int_equal(c->port[0].offload[i], i % 2 ? BP_OFFLOAD_ON : BP_OFFLOAD_OFF);
		assert_int_equal(c->port[1].offload[i], BP_OFFLOAD_AUTO);
	}
	assert_string_equal(c->port[3].name, "spare");
	assert_true(c->port[3].promiscuous);
	assert_int_equal(c->n_bridges, 2);
	assert_true(c->bridge[1].n == 2 && c->bridge[1].port[0] == 2 && c->bridge[1].port[1] == 3);
	assert_int_equal(c->bridge[0].fdb_max_entries, 8192);
	assert_int_equal(c->bridge[1].fdb_max_entries, 100);
	assert_int_equal(c->bridge[1].fdb_aging_time_ns, 90000000000);
	assert_string_equal(c->bridge[1].name, "bridge1");
	assert_true(bp_config_mqtt(c)->enabled && bp_config_mqtt(c)->publisher.enabled &&
		    bp_config_mqtt(c)->mirror.enabled);
	assert_true(bp_config_mqtt(c)->n_tcp_ports == 2 && bp_config_mqtt(c)->tcp_ports[1] == 8080);
	assert_int_equal(bp_config_mqtt(c)->directions, BP_DIRECTIONS_BOTH);
	assert_int_equal(bp_config_mqtt(c)->evaluate, BP_EVALUATE_ACKNOWLEDGED);
	assert_int_equal(bp_config_mqtt(c)->n_brokers, 2);
	assert_int_equal(bp_config_mqtt(c)->brokers[0].length, 32);
	assert_int_equal(bp_config_mqtt(c)->brokers[1].family, 6);
	assert_int_equal(bp_config_mqtt(c)->strictness, BP_STRICTNESS_STANDARD);
	assert_false(bp_config_mqtt(c)->verify_checksums);
	assert_false(bp_config_mqtt(c)->separate_vrfs);
	assert_int_equal(bp_config_mqtt(c)->max_connections, 1048576);
	assert_int_equal(bp_config_mqtt(c)->connection_timeout_ns, 600000000000);
	assert_int_equal(bp_config_mqtt(c)->handshake_timeout_ns, 5000000000);
	assert_int_equal(bp_config_mqtt(c)->reassembly_per_connection, 4096);
	assert_int_equal(bp_config_mqtt(c)->reassembly_total, 1048576);
	assert_int_equal(bp_config_mqtt(c)->reorder_buffer, 0);
	assert_int_equal(bp_config_mqtt(c)->max_topic_aliases, 10);
	assert_int_equal(bp_config_mqtt(c)->connection_cpu_percent, 11);
	assert_int_equal(bp_config_mqtt(c)->worker_cpu_percent, 12);
	assert_int_equal(bp_config_mqtt(c)->resync_packets, 9);
	assert_int_equal(bp_config_mqtt(c)->min_ttl, 3);
	assert_int_equal(bp_config_mqtt(c)->max_alarm_states, 7);
	assert_int_equal(bp_config_mqtt(c)->max_sparkplug_metrics, 10);
	assert_int_equal(bp_config_mqtt(c)->max_watched_topics, 8);
	assert_int_equal(bp_config_mqtt(c)->max_windows, 8);
	assert_int_equal(bp_config_mqtt(c)->max_window_values, 16);
	assert_int_equal(bp_config_mqtt(c)->max_rules, 9);
	assert_int_equal(bp_config_mqtt(c)->alarm_queue_size, 1048576);
	assert_string_equal(bp_config_mqtt(c)->publisher.client_id, "biplane-plant-7");
	assert_string_equal(bp_config_mqtt(c)->publisher.key_file, "/c");
	assert_int_equal(bp_config_mqtt(c)->publisher.broker.tcp_port, 8883);
	assert_int_equal(bp_config_mqtt(c)->publisher.keep_alive_s, 60);
	assert_int_equal(bp_config_mqtt(c)->publisher.max_inflight, 10);
	assert_int_equal(bp_config_mqtt(c)->publisher.puback_timeout_ns, 1500000000);
	assert_true(bp_config_mqtt(c)->kafka.enabled && bp_config_mqtt(c)->kafka.brokers.tls);
	assert_string_equal(bp_config_mqtt(c)->kafka.brokers.list, "k1:9093,k2:19093");
	assert_string_equal(bp_config_mqtt(c)->kafka.topic, "t");
	assert_int_equal(bp_config_mqtt(c)->kafka.sasl, BP_SASL_PLAIN);
	assert_string_equal(bp_config_mqtt(c)->kafka.key_file, "/c");
	assert_int_equal(bp_config_mqtt(c)->kafka.max_inflight, 11);
	assert_int_equal(bp_config_mqtt(c)->kafka.max_message_size, 20000);
	assert_int_equal(bp_config_mqtt(c)->kafka.ack_timeout_ns, 2000000000);
	assert_int_equal(bp_config_mqtt(c)->kafka.unreachable_after_ns, 3000000000);
	assert_int_equal(bp_config_mqtt(c)->rules[0].destination, BP_DESTINATION_MQTT);
	assert_int_equal(bp_config_mqtt(c)->rules[2].destination, BP_DESTINATION_BOTH);
	assert_int_equal(bp_config_mqtt(c)->mirror.port, 2);
	assert_memory_equal(bp_config_mqtt(c)->mirror.mac, mac, 6);
	assert_true(bp_config_mqtt(c)->mirror.has_ip4 && bp_config_mqtt(c)->mirror.has_ip6);
	assert_memory_equal(bp_config_mqtt(c)->mirror.ip4, ip4, 4);
	assert_memory_equal(bp_config_mqtt(c)->mirror.ip6, ip6, 16);
	assert_int_equal(bp_config_mqtt(c)->mirror.tcp_port, 1884);
	assert_int_equal(bp_config_mqtt(c)->spool.max_bytes, 1 << 30);
	assert_int_equal(bp_config_mqtt(c)->spool.max_age_ns, 129600000000000);
	assert_int_equal(bp_config_mqtt(c)->spool.max_keys, 5);
	assert_int_equal(bp_config_mqtt(c)->n_rules, 6);
	r = bp_config_mqtt(c)->rules;
	assert_true(r[0].raise.op == BP_COND_GT && r[0].raise.a == 80.25);
	assert_true(r[0].has_clear && r[0].clear.op == BP_COND_LT && r[0].clear.a == -1e-7);
	assert_true(r[0].hold == BP_HOLD_COUNT && r[0].hold_count == 3);
	assert_int_equal(r[0].repeat, BP_REPEAT_ON_CHANGE);
	assert_int_equal(r[0].payload, BP_PAYLOAD_ORIGINAL);
	assert_string_equal(r[0].to, "x/{topic}/{rule}/{client}");
	assert_string_equal(r[1].filter, "t/\xc3\xa4 \\ \x01");
	assert_true(r[1].value.kind == BP_VALUE_JSON && r[1].value.json.steps == 4);
	assert_true(r[1].raise.op == BP_COND_INSIDE && r[1].raise.a == 1 && r[1].raise.b == 2);
	assert_true(r[1].hold == BP_HOLD_TIME && r[1].hold_ns == 10000000000);
	assert_true(r[1].action == BP_ACTION_MIRROR && r[1].payload == BP_PAYLOAD_ORIGINAL);
	assert_false(r[1].has_clear);
	assert_true(r[1].quiet_ns == 600000000000 && r[1].deadband == 0.5);
	assert_true(r[0].quiet_ns == 0 && r[0].deadband == 0);
	assert_true(r[0].severity == BP_SEVERITY_NONE && r[1].severity == BP_SEVERITY_CRITICAL);
	assert_true(r[1].annotations.n == 0 && r[2].annotations.n == 2);
	assert_memory_equal(r[2].annotations.text, "site\0north\0runbook\0https://example.org/#1",
		r[2].annotations.used);
	assert_true(r[2].value.kind == BP_VALUE_BINARY && r[2].value.binary.type == BP_BIN_UINT32);
	assert_true(r[2].value.binary.offset == 9 && r[2].value.binary.little_endian == 1);
	assert_int_equal(r[2].payload, BP_PAYLOAD_ENVELOPE);
	assert_string_equal(r[2].to, "alarm/{topic}");
	assert_true(r[3].value.kind == BP_VALUE_SPARKPLUG && r[3].value.sparkplug.historical == 1);
	assert_string_equal(r[3].value.names.metric, "a/b");
	assert_true(r[3].value.sparkplug.has_death && r[3].value.sparkplug.death == -1);
	assert_true(r[4].value.kind == BP_VALUE_SPARKPLUG);
	assert_int_equal(r[4].value.sparkplug.what, BP_SPARKPLUG_ONLINE);
	assert_int_equal(r[5].absent_ns, 90000000000);
	assert_int_equal(r[5].repeat, BP_REPEAT_ON_CHANGE);
	assert_true(r[5].raise.op == BP_COND_GE && r[5].raise.a == 90);
	bp_config_free(c);
}

#define PORT_HEAD(name, device)                                                                    \
	"  - name: \"" name "\"\n    device: \"" device "\"\n    rx_queues: auto\n"                \
	"    rx_descriptors: auto\n    tx_descriptors: auto\n    mtu: auto\n"
#define FDB "    fdb_max_entries: 8192\n    fdb_aging_time: 5m\n"
#define OFFLOADS                                                                                   \
	"    offloads:\n      rx_checksum: auto\n      tx_checksum: auto\n"                        \
	"      tx_multi_segs: auto\n      rx_scatter: auto\n      rss: auto\n"                     \
	"      vlan_strip: auto\n"
#define POLICER(name, rate, burst, queue)                                                          \
	"    " name ":\n      rate_pps: " rate "\n      burst: " burst "\n      queue_len: " queue \
	"\n"
#define AGGREGATION_DEFAULTS                                                                       \
	"aggregation:\n  max_streams: 1024\n  pacing_queue_len: 4096\n  encapsulate: []\n"         \
	"  decapsulate: []\n"                                                                      \
	"transform:\n  max_matrices: 1024\n  entries: []\nsampling: []\n"                          \
	"lcl:\n  ethertype: 0x88b5\n  max_flows: 256\n  ports: []\n  flows: []\n"
#define ROUTING_DEFAULTS                                                                           \
	"routing:\n  max_ipv4_routes: 1048576\n  max_ipv6_routes: 262144\n"                        \
	"  max_neighbors: 65536\n  max_nexthops: 16384\n  max_nexthop_groups: 1024\n"              \
	"  ipv6_rp_filter: off\n  static_routes: []\n  static_neighbors: []\n"                     \
	"netlink:\n  route_table: main\n  receive_buffer: 16MiB\n  neighbor_refresh: 1m\n"         \
	"punt:\n  health_device_ports: [6024]\n  policers:\n" POLICER(                             \
		"routing", "2000", "200", "512") POLICER("health_devices", "20000", "2000", "512") \
		POLICER("local", "10000", "1000", "512") POLICER(                                  \
			"other", "1000", "100", "512") "log:\n  level: info\n  format: text\n"     \
						       "  events: off\n"

/* The dump of the least configuration is the table of defaults. */
#define MONITORING                                                                                 \
	"monitoring:\n  listen: off\n  max_connections: 64\n  link_up_delay: 10s\n  "              \
	"mbuf_low_percent: 5\n  poll_gap_warning: 100ms\n"                                         \
	"  worker_stall_timeout: 2s\n  not_inspected_warning: 1m\n  history: 1h\n  log_interval: " \
	"10s\n"                                                                                    \
	"  event_queue_size: 4096\n  capture_buffer: 4MiB\n"

/* clang-format off */
#define DEFAULT_PORTS                                                                              \
	"ports:\n" PORT_HEAD("a", "x") "    promiscuous: true\n" OFFLOADS                          \
	PORT_HEAD("b", "y") "    promiscuous: true\n" OFFLOADS                                     \
	"bridges:\n  - name: \"bridge0\"\n    ports: [\"a\", \"b\"]\n" FDB
/* clang-format on */

static void defaults_are_dumped(void **state)
{
	struct bp_config *c = accepted(EDGE "  mirror: {port: b, mac: \"02:00:00:00:00:01\", "
					    "ipv4_address: 192.0.2.1}\n  rules:\n"
					    "    - {name: r, topic: t, raise: \"> 1\"}\n");
	char *text = dump(c);

	assert_string_equal(text,
		"version: 1\nname: \"biplane\"\nworkers: 1\npoll_mode: "
		"busy\ncontrolplane_poll_mode: adaptive\nmbufs: "
		"auto\nruntime:\n"
		"  directory: \"/run/biplane\"\n  hugepages: auto\n  memory: 512MiB\n  watchdog: "
		"10s\n" MONITORING DEFAULT_PORTS ROUTING_DEFAULTS
		"mqtt:\n  tcp_ports: [1883]\n  websocket_ports: []\n  brokers: []\n"
		"  directions: to_broker\n  evaluate: published\n  strictness: mosquitto\n  "
		"verify_checksums: "
		"true\n  separate_vrfs: true\n  max_connections: 65536\n "
		" max_unestablished: 16385\n"
		"  connection_timeout: 1h\n"
		"  handshake_timeout: 30s\n  reassembly_per_connection: 256KiB\n  "
		"reassembly_total: 64MiB\n"
		"  reassembly_unestablished: 16MiB\n"
		"  reorder_buffer: 64KiB\n  max_topic_aliases: 256\n  connection_cpu_percent: 20\n"
		"  worker_cpu_percent: 50\n  resync_packets: 4\n  "
		"min_ttl: 1\n  max_alarm_states: 65536\n  max_sparkplug_metrics: 16384\n"
		"  max_watched_topics: 16384\n"
		"  max_combination_values: 65536\n"
		"  max_windows: 4096\n  max_window_values: 128\n"
		"  max_rules: 16384\n  max_policy_rules: 1024\n  max_policy_rates: 65536\n  "
		"alarm_queue_size: 8MiB\n"
		"  publisher:\n    broker: \"mqtt://h:1883\"\n    client_id: \"biplane-biplane\"\n"
		"    keep_alive: 30s\n    max_inflight: 1000\n    puback_timeout: 5s\n"
		"    unreachable_after: 1m\n"
		"  mirror:\n    port: \"b\"\n    mac: \"02:00:00:00:00:01\"\n    ipv4_address: "
		"192.0.2.1\n"
		"    tcp_port: 1883\n  spool:\n    path: \"/var/lib/biplane/biplane.spool.db\"\n"
		"    max_size: 256MiB\n    max_age: 7d\n    max_keys: 65536\n    backlog_warning: "
		"10000\n  rules:\n    - name: "
		"\"r\"\n      topic: "
		"\"t\"\n"
		"      value: text\n      raise:\n        above: 1\n      hold: off\n      repeat: "
		"every\n      quiet: off\n      severity: none\n"
		"      action: publish\n      payload: envelope\n      publish:\n        topic: "
		"\"alarm/{topic}\"\n        destination: mqtt\n" AGGREGATION_DEFAULTS);
	free(text);
	bp_config_free(c);
}

/* Section fleet is dumped only if the file has it. */
static void the_fleet_is_dumped(void **state)
{
	struct bp_config *c =
		accepted(PORTS "name: g\nfleet: {name: f, state: {server: "
			       "\"rediss-sentinel://10.0.0.1,10.0.0.2/1#m\", "
			       "username: u, password_file: /p, tls: {ca: /a}, max_queued: 99}}\n");
	char *text = dump(c);

	assert_non_null(strstr(text,
		"fleet:\n  name: \"f\"\n  state:\n"
		"    server: \"rediss-sentinel://10.0.0.1:26379,10.0.0.2:26379/1#m\"\n"
		"    username: \"u\"\n    password_file: \"/p\"\n    tls:\n      ca: \"/a\"\n"
		"    timeout: 1s\n    max_queued: 99\n    max_queue_size: 16MiB\n"
		"    max_alarm_states: 32768\n    max_alarm_states_per_client: 1024\n"));
	free(text);
	bp_config_free(c);
}

/* Every setting of routing, none at its default. */
#define ROUTED                                                                                     \
	"ports:\n"                                                                                 \
	"  - {name: lan, device: x, mac: \"02:00:00:00:00:0a\", routed: {addresses: "              \
	"[10.0.0.1/24, \"fd00::1/64\"], host_interface: {backend: tap, name: lan0}}}\n"            \
	"  - {name: wan, device: y, promiscuous: true, routed: {host_interface: {backend: "        \
	"off}}}\n  - {name: c, device: z}\n  - {name: d, device: w}\n"                             \
	"bridges: [{name: plant, ports: [c, d], host_interface: {addresses: 10.3.0.1/24, "         \
	"backend: virtio, name: plant0}, fdb_max_entries: 100, fdb_aging_time: 90s}]\n"            \
	"routing:\n  {max_ipv4_routes: 16, max_ipv6_routes: 17, max_neighbors: 18, "               \
	"max_nexthops: 19, max_nexthop_groups: 20, ipv6_rp_filter: loose,\n  static_routes: [\n"   \
	"    {prefix: 10.2.0.0/16, via: 10.3.0.2},\n"                                              \
	"    {prefix: 10.2.0.0/16, via: \"fe80::2\", interface: lan, weight: 7},\n"                \
	"    {prefix: \"::/0\", interface: wan}, {prefix: 10.9.0.0/16, type: prohibit}],\n"        \
	"  static_neighbors: [{address: \"fe80::2\", mac: \"02:00:00:00:01:02\", interface: "      \
	"lan}]}\n"                                                                                 \
	"netlink: {route_table: 100, receive_buffer: 2MiB, neighbor_refresh: 90s}\n"               \
	"punt:\n  health_device_ports: [1, 2]\n  policers:\n    routing: {rate_pps: 1, burst: "    \
	"2, queue_len: 16}\n    health_devices: {rate_pps: 30, burst: 3, queue_len: 17}\n"         \
	"    local: {rate_pps: 4000}\n    other: {rate_pps: 50, queue_len: 18}\n"
#define HEAD                                                                                       \
	"version: 1\nname: \"biplane\"\nworkers: 1\npoll_mode: busy\ncontrolplane_poll_mode: "     \
	"adaptive\nmbufs: auto\nruntime:\n"                                                        \
	"  directory: \"/run/biplane\"\n  hugepages: auto\n  memory: 512MiB\n  watchdog: "         \
	"10s\n" MONITORING

static void routing_is_dumped(void **state)
{
	struct bp_config *c = accepted(ROUTED);
	char *text = dump(c);

	/* clang-format off */
	assert_string_equal(text,
		HEAD "ports:\n"
		PORT_HEAD("lan", "x")
		"    promiscuous: false\n    mac: \"02:00:00:00:00:0a\"\n"
		"    routed:\n      addresses: [\"10.0.0.1/24\", \"fd00::1/64\"]\n"
		"      host_interface:\n        backend: tap\n        name: \"lan0\"\n" OFFLOADS
		PORT_HEAD("wan", "y")
		"    promiscuous: true\n    routed:\n      addresses: []\n"
		"      host_interface:\n        backend: off\n" OFFLOADS
		PORT_HEAD("c", "z")
		"    promiscuous: true\n" OFFLOADS
		PORT_HEAD("d", "w")
		"    promiscuous: true\n" OFFLOADS
		"bridges:\n  - name: \"plant\"\n    ports: [\"c\", \"d\"]\n"
		"    host_interface:\n      addresses: [\"10.3.0.1/24\"]\n      backend: virtio\n"
		"      name: \"plant0\"\n    fdb_max_entries: 100\n    fdb_aging_time: 90s\n"
		"routing:\n  max_ipv4_routes: 16\n  max_ipv6_routes: 17\n  max_neighbors: 18\n"
		"  max_nexthops: 19\n  max_nexthop_groups: 20\n  ipv6_rp_filter: loose\n"
		"  static_routes:\n"
		"    - prefix: \"10.2.0.0/16\"\n      via: 10.3.0.2\n      type: unicast\n"
		"      weight: 1\n"
		"    - prefix: \"10.2.0.0/16\"\n      via: \"fe80::2\"\n      interface: \"lan\"\n"
		"      type: unicast\n      weight: 7\n"
		"    - prefix: \"::/0\"\n      interface: \"wan\"\n      type: unicast\n"
		"      weight: 1\n"
		"    - prefix: \"10.9.0.0/16\"\n      type: prohibit\n"
		"  static_neighbors:\n"
		"    - address: \"fe80::2\"\n      mac: \"02:00:00:00:01:02\"\n"
		"      interface: \"lan\"\n"
		"netlink:\n  route_table: 100\n  receive_buffer: 2MiB\n  neighbor_refresh: 90s\n"
		"punt:\n  health_device_ports: [1, 2]\n  policers:\n"
		POLICER("routing", "1", "2", "16") POLICER("health_devices", "30", "3", "17")
		POLICER("local", "4000", "400", "512") POLICER("other", "50", "32", "18")
			"log:\n  level: info\n  format: text\n" "  events: off\n"
		AGGREGATION_DEFAULTS);
	/* clang-format on */
	free(text);
	bp_config_free(c);
}

/* The bytes of two combinations, and of their parts. */
static void assert_same_combination(
	const struct bp_combination_spec *a, const struct bp_combination_spec *b)
{
	assert_int_equal(a->n_parts, b->n_parts);
	assert_memory_equal(&a->program, &b->program, sizeof(a->program));
	assert_memory_equal(a->part, b->part, a->n_parts * sizeof(a->part[0]));
}

/* Rules are hashed as bytes: the same text must give the same bytes. */
static void assert_same_rules(struct bp_rule_spec a, struct bp_rule_spec b)
{
	assert_int_equal(a.combination != NULL, b.combination != NULL);
	if (a.combination != NULL)
		assert_same_combination(a.combination, b.combination);
	a.combination = b.combination = NULL;
	assert_memory_equal(&a, &b, sizeof(a));
}

static void assert_round_trip(const char *text)
{
	struct bp_config *a = accepted(text), *b;
	char *x = dump(a), *y;

	b = accepted(x);
	y = dump(b);
	assert_string_equal(x, y);
	assert_int_equal(bp_config_mqtt(a)->n_rules, bp_config_mqtt(b)->n_rules);
	for (uint32_t i = 0; i < bp_config_mqtt(a)->n_rules; i++)
		assert_same_rules(bp_config_mqtt(a)->rules[i], bp_config_mqtt(b)->rules[i]);
	free(x);
	free(y);
	bp_config_free(a);
	bp_config_free(b);
}

static void dumps_read_back_the_same(void **state)
{
	assert_round_trip(FULL);
	assert_round_trip(ROUTED);
	assert_round_trip(PORTS);
	assert_round_trip(EDGE);
	assert_round_trip(EDGE "  rules: []\n");
	assert_round_trip(EDGE
		"  rules:\n    - name: r\n      all:\n"
		"        - {topic: \"p/{c}/t\", value: {json: $.a}, condition: {inside: [1, "
		"2]}, max_age: 3s}\n"
		"        - any: [{not: {topic: \"p/{c}/x\", condition: \"< 2\", value: {binary: "
		"{type: int8}}}}, {topic: \"{c}\", condition: {at_most: 1}, window: {values: 16, "
		"function: mean}}]\n"
		"      publish: {topic: \"a/{c}\"}\n"
		"    - {name: s, any: [{topic: x, condition: {equals: 0}}], repeat: every, hold: "
		"3 samples}\n");
	assert_round_trip(EDGE "  kafka: {brokers: \"kafka://k\"}\n");
	assert_round_trip(EDGE "  rules:\n");
	assert_round_trip(EDGE "  rules: ~\n");
	assert_round_trip(BRIDGED "mqtt:\n");
	/* More doubled apostrophes than libfyaml 0.7.12 copies without a leak. */
	assert_round_trip(BRIDGED
		"mqtt: {publisher: {broker: \"mqtt://h\", username: 'x''''''''''''''''''y'}}\n");
	assert_round_trip(BRIDGED "mqtt: {publisher: {broker: \"mqtt://h\", username: "
				  "\"a'\\\"\\\\: #\\u0085\\u2029\\ufeff\\uffff\\U0001F600\"}}\n");
}

static void examples_are_right(void **state)
{
	static const char *const names[] = {"nic", "lab-veth", "three-ports-mirror", "bridge-host",
		"rules", "router", "router-frr", "health", "aggregation-near", "aggregation-far",
		"transform", "lcl-edge", "lcl-node", "sampling"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[1024], *messages;
		size_t size;
		FILE *f = open_memstream(&messages, &size);
		struct bp_config *c;

		snprintf(path, sizeof(path), EXAMPLES "/%s.yaml", names[i]);
		c = bp_config_load(path, f);
		fclose(f);
		assert_string_equal(messages, "");
		assert_non_null(c);
		bp_config_free(c);
		free(messages);
	}
}

#define RESTART(path) path ": changing it needs a restart\n"
#define NO_LONGER_ROUTES(port)                                                                     \
	"ports[" port "].promiscuous: changing it needs a restart\n"                               \
	"ports[" port "].routed: changing it needs a restart\n"

static void restart_is_needed_where_the_schema_says(void **state)
{
	needs(FULL, FULL, "");
	needs(PORTS, PORTS "name: biplane\nbridges: []\n", "");
	needs(PORTS, ROLELESS "name: x\nworkers: 2\nruntime: {memory: 64MiB}\n" BRIDGE,
		"name: changing it needs a restart\nworkers: changing it needs a restart\n"
		"runtime.memory: changing it needs a restart\n" NO_LONGER_ROUTES("0")
			NO_LONGER_ROUTES("1") "bridges: changing it needs a restart\n");
	needs(PORTS, PORTS "workers: [1]\n", "workers: changing it needs a restart\n");
	needs(PORTS,
		"ports: [{name: a, device: z, routed: {}}, {name: c, device: y, mtu: 100, routed: "
		"{}}]\n",
		"ports[0].device: changing it needs a restart\nports[1].name: changing it needs a "
		"restart\n"
		"ports[1].mtu: changing it needs a restart\n" RESTART(
			"ports[1].routed.host_interface.name"));
	needs(PORTS, "ports: [{name: a, device: x, routed: {}}]\n",
		"ports: changing it needs a restart\n");
	needs(BRIDGED, EDGE, "mqtt: changing it needs a restart\n");
	needs(EDGE, BRIDGED, "mqtt: changing it needs a restart\n");
	needs(EDGE, EDGE "  max_connections: 5\n  tcp_ports: [1883, 1884]\n  spool: {path: /x}\n",
		"mqtt.tcp_ports: changing it needs a restart\nmqtt.max_connections: changing it "
		"needs a restart\n"
		"mqtt.max_unestablished: changing it needs a restart\n" /* a quarter of it */
		"mqtt.spool.path: changing it needs a restart\n");
}

static void changes_of_routing_need_a_restart(void **state)
{
	static const char router[] =
		PORTS "routing: {static_routes: [{prefix: 10.0.0.0/8, interface: a}]}\n";

	needs(ROUTED, ROUTED, "");
	/* The default written out, and a prefix in another form, are no change. */
	needs(PORTS,
		"ports: [{name: a, device: x, promiscuous: false, routed: {host_interface: "
		"{backend: auto, name: a}}}, "
		"{name: b, device: y, routed: {addresses: []}}]\nrouting: {static_routes: "
		"~}\nbridges: []\n"
		"punt: {policers: {local: {burst: 1000}}}\nnetlink: {route_table: 254}\n",
		"");
	needs(PORTS,
		"ports: [{name: a, device: x, mac: \"02:00:00:00:00:01\", routed: {host_interface: "
		"{backend: tap}}}, {name: b, "
		"device: y, promiscuous: true, routed: {addresses: 10.0.0.1/24, host_interface: "
		"{name: q}}}]\n",
		RESTART("ports[0].mac") RESTART("ports[0].routed.host_interface.backend")
			RESTART("ports[1].promiscuous") RESTART("ports[1].routed.addresses")
				RESTART("ports[1].routed.host_interface.name"));
	needs("ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/24]}}]\n",
		"ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/25]}}]\n",
		RESTART("ports[0].routed.addresses"));
	needs(BRIDGED, ROLELESS "bridges: [{name: bridge0, ports: [b, a]}]\n",
		RESTART("bridges[0].ports"));
	needs(BRIDGED, ROLELESS "bridges: [{name: h, ports: [a, b], host_interface: {}}]\n",
		RESTART("bridges[0].name") RESTART("bridges[0].host_interface"));
	needs(BRIDGED, ROLELESS "bridges: [{name: bridge0, ports: [a, b], fdb_max_entries: 16}]\n",
		RESTART("bridges[0].fdb_max_entries"));
	needs(BRIDGED, ROLELESS "bridges: [{name: bridge0, ports: [a, b], network: line}]\n",
		RESTART("bridges[0].network"));
	needs(ROLELESS "bridges: [{name: h, ports: [a, b], host_interface: {}}]\n",
		ROLELESS "bridges: [{name: g, ports: [a, b], host_interface: {addresses: "
			 "10.0.0.1/24, backend: off}}]\n",
		RESTART("bridges[0].name") RESTART("bridges[0].host_interface.addresses")
			RESTART("bridges[0].host_interface.backend")
				RESTART("bridges[0].host_interface.name"));
	needs(PORTS, PORTS "routing: {max_ipv4_routes: 16}\nnetlink: {route_table: 5}\n",
		RESTART("routing.max_ipv4_routes") RESTART("netlink.route_table"));
	needs(PORTS, router, RESTART("routing.static_routes"));
	needs(router, PORTS, RESTART("routing.static_routes"));
	needs(router,
		PORTS "routing: {static_routes: [{prefix: 10.0.0.0/8, interface: b, weight: 2}]}\n",
		RESTART("routing.static_routes[0].interface")
			RESTART("routing.static_routes[0].weight"));
	needs(router, PORTS "routing: {static_routes: [{prefix: 10.0.0.0/9, type: blackhole}]}\n",
		RESTART("routing.static_routes[0].prefix")
			RESTART("routing.static_routes[0].interface")
				RESTART("routing.static_routes[0].type")
					RESTART("routing.static_routes[0].weight"));
	needs(PORTS,
		PORTS "routing: {static_neighbors: [{address: 10.0.0.1, mac: "
		      "\"02:00:00:00:00:01\", interface: a}]}\n",
		RESTART("routing.static_neighbors"));
	needs(PORTS,
		PORTS "punt: {health_device_ports: 5, policers: {health_devices: {rate_pps: 10, "
		      "queue_len: 16}, other: "
		      "{burst: 7}}}\n",
		RESTART("punt.health_device_ports") RESTART("punt.policers.health_devices.rate_pps")
			RESTART("punt.policers.health_devices.burst")
				RESTART("punt.policers.health_devices.queue_len")
					RESTART("punt.policers.other.burst"));
}

#define KAFKA(values_) EDGE "  kafka: {brokers: kafka://" values_ "}\n"

static void reload_applies_remaining_settings(void **state)
{
	needs(EDGE, EDGE "  spool: {max_size: 1MiB, max_age: 1d}\n", "");
	needs(EDGE, EDGE "  rules: [{name: r, topic: t, raise: \"> 1\"}]\n", "");
	needs(EDGE, CLONE "  publisher: {broker: \"mqtts://other:5\", tls: {ca: /c}}\n", "");
	needs(CLONE, BRIDGED "mqtt: {}\n", "");
	needs(KAFKA("k"), KAFKA("k:1, topic: u, ack_timeout: 9s"), "");
	needs(EDGE, KAFKA("k"), RESTART("mqtt.kafka"));
	needs(KAFKA("k"), EDGE, RESTART("mqtt.kafka"));
}

#define FLEET PORTS "name: g\nfleet: {name: f, state: {server: \"redis://10.0.0.1\"}}\n"
#define LOADER BRIDGED "transform: {matrix_loader: {address: 127.0.0.1}}\n"

/* A change of each single setting needs a restart or is reloadable, as its row says. */
static void each_flag_is_obeyed(void **state)
{
	const struct bp_setting *s = NULL;
	uint32_t told = 0;

	while ((s = bp_schema_next(s)) != NULL) {
		struct bp_config *a, *b;
		const char *of;
		void *field;
		FILE *f;

		if (s->type != &bp_type_uint || strchr(s->path, '[') != NULL)
			continue;
		of = strncmp(s->path, "health_devices.", 15) == 0 ? HEALTH
		     : strncmp(s->path, "transform.m", 11) == 0   ? LOADER
		     : strncmp(s->path, "fleet.", 6) == 0         ? FLEET
								  : FULL;
		a = accepted(of);
		b = accepted(of);
		field = bp_setting_field(s, bp_setting_base(s, b));
		bp_field_store(s, field, bp_field_load(s, field) + 1);
		f = fopen("/dev/null", "w");
		assert_int_equal(bp_config_restart_needed(a, b, f), (s->flags & BP_RELOAD) == 0);
		told += (s->flags & BP_RELOAD) == 0;
		fclose(f);
		bp_config_free(a);
		bp_config_free(b);
	}
	assert_true(told > 3);
}

static void the_page_names_every_setting(void **state)
{
	const struct bp_setting *s = NULL;
	char *page;
	size_t size;
	FILE *f = open_memstream(&page, &size);

	bp_config_man(f);
	fclose(f);
	while ((s = bp_schema_next(s)) != NULL) {
		char bold[128], heading[128];

		snprintf(bold, sizeof(bold), "\n.B %s\n", s->path);
		snprintf(heading, sizeof(heading), "\n.SS %s\n", s->path);
		assert_true(strstr(page, bold) != NULL || strstr(page, heading) != NULL);
	}
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_sections_are_read),
		cmocka_unit_test(defaults_are_dumped),
		cmocka_unit_test(routing_is_dumped),
		cmocka_unit_test(the_fleet_is_dumped),
		cmocka_unit_test(dumps_read_back_the_same),
		cmocka_unit_test(examples_are_right),
		cmocka_unit_test(restart_is_needed_where_the_schema_says),
		cmocka_unit_test(changes_of_routing_need_a_restart),
		cmocka_unit_test(reload_applies_remaining_settings),
		cmocka_unit_test(each_flag_is_obeyed),
		cmocka_unit_test(the_page_names_every_setting),
	};

	return cmocka_run_group_tests_name("config dump", tests, NULL, NULL);
}
