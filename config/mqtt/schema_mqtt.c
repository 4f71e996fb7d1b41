/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/mqtt/condition.h"
#include "config/mqtt/schema.h"
#include "shm/rules/combination.h"

#define AT(member_) IN(bp_config_mqtt, member_)

/* The rows of section mqtt. */

/* bp_type_tcp_ports and bp_type_host_list store their elements behind the count. */
_Static_assert(offsetof(struct bp_config_mqtt, tcp_ports) ==
		       offsetof(struct bp_config_mqtt, n_tcp_ports) + sizeof(uint32_t),
	"the ports follow their count");
_Static_assert(offsetof(struct bp_config_mqtt, websocket_ports) ==
		       offsetof(struct bp_config_mqtt, n_websocket_ports) + sizeof(uint32_t),
	"the ports follow their count");
_Static_assert(offsetof(struct bp_config_mqtt, brokers) ==
		       offsetof(struct bp_config_mqtt, n_brokers) + sizeof(uint32_t),
	"the prefixes follow their count");

static const char *const direction_names[] = {"to_broker", "from_broker", "both", NULL};
static const char *const strictness_names[] = {"mosquitto", "standard", NULL};
static const char *const evaluate_names[] = {"published", "acknowledged", NULL};
static const char *const binary_names[] = {"int8", "int16", "int32", "int64", "uint8", "uint16",
	"uint32", "uint64", "float32", "float64", NULL};
static const char *const byte_order_names[] = {"big", "little", NULL};
static const char *const historical_names[] = {"ignore", "evaluate", NULL};
static const char *const value_type_names[] = {"number", "string", "boolean", NULL};
static const char *const match_names[] = {"any", "all", NULL};
static const char *const repeat_names[] = {"every", "on_change", NULL};
static const char *const severity_names[] = {
	"none", "info", "warning", "minor", "major", "critical", NULL};
static const char *const action_names[] = {"publish", "mirror", NULL};
static const char *const destination_names[] = {"mqtt", "kafka", "both", NULL};
static const char *const window_names[] = {"sliding", "tumbling", NULL};
static const char *const function_names[] = {
	"mean", "min", "max", "sum", "count", "stddev", "delta", "rate", "percentile", NULL};
static const char *const sasl_names[] = {"scram-sha-512", "scram-sha-256", "plain", NULL};
static const char *const payload_names[] = {"original", "envelope", NULL};

static const char *const policy_action_names[] = {"allow", "observe", "close", "blank", NULL};
static const char *const policy_fail_names[] = {"open", "closed", NULL};
static const char *const policy_fallback_names[] = {"close", "pass", NULL};
static const char *const policy_on_reload_names[] = {"leave", "close", NULL};
static const char *const policy_packet_names[] = {
	"any", "connect", "will", "publish", "subscribe", NULL};
static const char *const policy_anonymous_names[] = {"any", "true", "false", NULL};
static const char *const policy_version_names[] = {"any", "", "", "3.1", "3.1.1", "5.0", NULL};
static const char *const policy_qos_names[] = {"any", "0", "1", "2", NULL};
static const char *const policy_per_names[] = {"client", "address", "topic", NULL};
static const char *const policy_retain_names[] = {"any", "false", "true", NULL};

static const struct bp_list_layout policy_list = {
	.element = sizeof(struct bp_policy_rule_spec),
	.items = offsetof(struct bp_config_mqtt, policy.rules),
	.count = offsetof(struct bp_config_mqtt, policy.n_rules),
	.allocated = true,
};

static const struct bp_list_layout fail_list = {
	.element = sizeof(struct bp_policy_fail_override),
	.items = offsetof(struct bp_config_mqtt, policy.fail_override),
	.count = offsetof(struct bp_config_mqtt, policy.n_fail_overrides),
};

static const struct bp_list_layout rule_list = {
	.element = sizeof(struct bp_rule_spec),
	.items = offsetof(struct bp_config_mqtt, rules),
	.count = offsetof(struct bp_config_mqtt, n_rules),
	.allocated = true,
};

static bool has_tls(const void *base)
{
	const struct bp_config_publisher *p = &((const struct bp_config_mqtt *)base)->publisher;

	return p->ca_file[0] != '\0' || p->cert_file[0] != '\0' || p->key_file[0] != '\0';
}

static bool has_kafka_tls(const void *base)
{
	const struct bp_config_kafka *k = &((const struct bp_config_mqtt *)base)->kafka;

	return k->ca_file[0] != '\0' || k->cert_file[0] != '\0' || k->key_file[0] != '\0';
}

static bool has_kafka_username(const void *base)
{
	return ((const struct bp_config_mqtt *)base)->kafka.username[0] != '\0';
}

static bool is_json(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.kind == BP_VALUE_JSON;
}

static bool is_cbor(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.kind == BP_VALUE_CBOR;
}

static bool is_msgpack(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.kind == BP_VALUE_MSGPACK;
}

static bool is_absence(const void *base)
{
	return ((const struct bp_rule_spec *)base)->absent_ns != 0;
}

static bool has_raise(const void *base)
{
	return !is_absence(base);
}

static bool is_binary(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.kind == BP_VALUE_BINARY;
}

static bool has_deadband(const void *base)
{
	return ((const struct bp_rule_spec *)base)->deadband != 0;
}

static bool has_annotations(const void *base)
{
	return ((const struct bp_rule_spec *)base)->annotations.n != 0;
}

static bool is_sparkplug(const void *base)
{
	const struct bp_value_source *v = &((const struct bp_rule_spec *)base)->value;

	return v->kind == BP_VALUE_SPARKPLUG && v->sparkplug.what == BP_SPARKPLUG_METRIC;
}

static bool has_topic(const void *base)
{
	return ((const struct bp_rule_spec *)base)->combination == NULL;
}

static bool is_plain(const void *base)
{
	return has_topic(base) && has_raise(base);
}

static bool is_combination(const void *base, unsigned kind)
{
	const struct bp_combination_spec *c = ((const struct bp_rule_spec *)base)->combination;

	return c != NULL && (c->program.step[0] & BP_STEP_KIND) == kind;
}

static bool is_all(const void *base)
{
	return is_combination(base, BP_STEP_ALL);
}

static bool is_any(const void *base)
{
	return is_combination(base, BP_STEP_ANY);
}

static bool has_max_age(const void *base)
{
	return ((const struct bp_rule_spec *)base)->max_age_ns != 0;
}

static bool has_type(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.type != BP_VALUE_NUMBER;
}

static bool has_match(const void *base)
{
	return bp_value_has_elements(&((const struct bp_rule_spec *)base)->value);
}

static bool is_scaled(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.scaled;
}

static bool has_values(const void *base)
{
	return ((const struct bp_rule_spec *)base)->window.values != 0;
}

static bool has_window_time(const void *base)
{
	return ((const struct bp_rule_spec *)base)->window.time_ns != 0;
}

static bool has_percentile(const void *base)
{
	return ((const struct bp_rule_spec *)base)->window.function == BP_WINDOW_PERCENTILE;
}

static bool has_burst(const void *base)
{
	return ((const struct bp_policy_rule_spec *)base)->rate_burst != 0;
}

static bool has_days(const void *base)
{
	return ((const struct bp_policy_rule_spec *)base)->days != 0;
}

static bool has_payload(const void *base)
{
	return ((const struct bp_policy_rule_spec *)base)->payload != NULL;
}

static bool has_member(const void *base)
{
	return is_sparkplug(base) &&
	       ((const struct bp_rule_spec *)base)->value.names.member[0] != '\0';
}

/* clang-format off */
#define COMPARISON(of_, key_, op_, type_, member_, help_) \
	{.path = "mqtt.rules[]." of_ "." key_, .type = &type_, IN(bp_condition_map, bounds member_), .flags = BP_RELOAD, GIVEN(bp_condition_map, has[op_]), .preset_text = "none", \
	 .help = help_}
#define COMPARISONS(of_) \
	COMPARISON(of_, "above", BP_COND_GT, bp_type_bound, .a, "Values greater than this number."), \
	COMPARISON(of_, "at_least", BP_COND_GE, bp_type_bound, .a, "Values greater than or equal to this number."), \
	COMPARISON(of_, "below", BP_COND_LT, bp_type_bound, .a, "Values less than this number."), \
	COMPARISON(of_, "at_most", BP_COND_LE, bp_type_bound, .a, "Values less than or equal to this number."), \
	COMPARISON(of_, "equals", BP_COND_EQ, bp_type_operand, .a, "Values equal to this number, boolean or string."), \
	COMPARISON(of_, "not_equals", BP_COND_NE, bp_type_operand, .a, "Values not equal to this number, boolean or string."), \
	COMPARISON(of_, "one_of", BP_CONDITION_ONE_OF, bp_type_operands, , "Strings of this list, with value type string."), \
	COMPARISON(of_, "inside", BP_COND_INSIDE, bp_type_bounds, , "Values from A to B, including A and B."), \
	COMPARISON(of_, "outside", BP_COND_OUTSIDE, bp_type_bounds, , "Values less than A or greater than B.")

static const struct bp_setting rows[] = {
	{.path = "mqtt", .type = &bp_type_section, GIVEN(bp_config_mqtt, enabled), .check = bp_check_mqtt,
	 .help = "MQTT inspection. Without this section biplane forwards traffic and inspects nothing."},
	{.path = "mqtt.tcp_ports", .type = &bp_type_tcp_ports, .flags = BP_MAIN, AT(n_tcp_ports), .min = 1, .max = 65535, .preset = "1883",
	 .help = "TCP ports of the brokers."},
	{.path = "mqtt.websocket_ports", .type = &bp_type_tcp_ports, .flags = BP_MAIN, AT(n_websocket_ports), .min = 1, .max = 65535, .preset_text = "none",
	 .help = "Further TCP ports of the brokers, for MQTT over WebSocket. A connection to one of them that begins with an HTTP request is inspected if the broker accepts the upgrade to WebSocket; any other is inspected as one to tcp_ports."},
	{.path = "mqtt.brokers", .type = &bp_type_host_list, .flags = BP_MAIN, AT(n_brokers), .preset_text = "none: every address",
	 .help = "Addresses and prefixes of the brokers whose connections are inspected. Without this list a client that publishes to any server on one of tcp_ports can raise and clear alarms."},
	{.path = "mqtt.directions", .type = &bp_type_enum, .flags = BP_MAIN, AT(directions), .enum_names = direction_names, .preset = "to_broker",
	 .help = "Publications that the rules evaluate: those from clients to the broker (to_broker), those from the broker to clients (from_broker), or both."},
	{.path = "mqtt.evaluate", .type = &bp_type_enum, .flags = BP_MAIN, AT(evaluate), .enum_names = evaluate_names, .preset = "published",
	 .help = "When publications to a broker are evaluated. published: immediately when they are read; only on a connection on which the broker has refused a publication (PUBACK or PUBREC with a reason code of 0x80 or above), publications with QoS 1 and 2 wait for their acknowledgement. acknowledged: on every connection, publications with QoS 1 and 2 wait until the broker acknowledges them with success, one round trip later. Waiting publications share reorder_buffer. QoS 0 has no acknowledgement."},
	{.path = "mqtt.strictness", .type = &bp_type_enum, AT(strictness), .enum_names = strictness_names, .preset = "mosquitto",
	 .help = "Handling of clients that violate the MQTT standard. mosquitto: inspection stops where mosquitto 2.0 closes the connection, and continues where it does not. standard: inspection stops at each violation for which the standard demands that the connection is closed, and at no other."},
	{.path = "mqtt.verify_checksums", .type = &bp_type_bool, AT(verify_checksums), .preset = "true",
	 .help = "Whether TCP checksums are verified. With true, a segment with a wrong checksum is forwarded but not inspected. With false, it is inspected; the receiver discards it."},
	{.path = "mqtt.separate_vrfs", .type = &bp_type_bool, AT(separate_vrfs), .preset = "true",
	 .help = "Whether the connections of each VRF are identified separately: two VRFs can have the same addresses. With false, all VRFs and routed ports are one network: for gateways on which the two directions of a connection arrive in different VRFs (route leaking)."},
	{.path = "mqtt.max_connections", .type = &bp_type_uint, .flags = BP_MAIN, AT(max_connections), .min = 1, .max = 16777216, .preset = "65536",
	 .help = "Maximum number of established TCP connections: the handshake is complete, and the broker has accepted the connection. At the limit the connection that was idle for the longest time is evicted."},
	{.path = "mqtt.max_unestablished", .type = &bp_type_uint, AT(max_unestablished), .min = 1, .max = 16777216, .preset_text = "a quarter of max_connections",
	 .help = "Maximum number of further connections that are not established: half open, without CONNACK, or picked up mid-stream. At the limit the client address (IPv6: the /64) with the most of them loses its oldest one. They never evict an established connection."},
	{.path = "mqtt.connection_timeout", .type = &bp_type_duration, .flags = BP_MAIN, AT(connection_timeout_ns), .min = S, .max = 30 * DAY, .preset = "1h",
	 .help = "Idle time after which an established connection is removed. A connection that was picked up mid-stream has the same timeout, but no reassembly memory."},
	{.path = "mqtt.handshake_timeout", .type = &bp_type_duration, AT(handshake_timeout_ns), .min = S, .max = HOUR, .preset = "30s",
	 .help = "Idle time after which an unestablished connection is removed."},
	{.path = "mqtt.reassembly_per_connection", .type = &bp_type_size, .flags = BP_MAIN, AT(reassembly_per_connection), .min = KIB, .max = 256 * MIB, .preset = "256KiB",
	 .help = "Maximum size of an MQTT packet that is reassembled from several segments. A longer packet is forwarded but not inspected."},
	{.path = "mqtt.reassembly_total", .type = &bp_type_size, AT(reassembly_total), .min = KIB, .max = 1024 * GIB, .preset = "64MiB",
	 .help = "Reassembly memory of all connections. One client address (IPv6: a /64) gets reassembly_per_connection, and beyond that at most half of the remaining memory."},
	{.path = "mqtt.reassembly_unestablished", .type = &bp_type_size, AT(reassembly_unestablished), .min = KIB, .max = 1024 * GIB, .preset_text = "a quarter of reassembly_total",
	 .help = "Share of reassembly_total for all unestablished connections. At the limit the client address that uses the most loses its oldest unestablished connection."},
	{.path = "mqtt.reorder_buffer", .type = &bp_type_size, AT(reorder_buffer), .min = 0, .max = 16 * MIB, .preset = "64KiB",
	 .help = "Maximum distance of an out-of-order segment from the expected sequence number, and memory for such segments, for each direction of a connection."},
	{.path = "mqtt.max_topic_aliases", .type = &bp_type_uint, AT(max_topic_aliases), .min = 0, .max = 65535, .preset = "256",
	 .help = "Highest topic alias (MQTT 5.0) that is stored for each direction of a connection, where the receiver allows as many. A publication with a higher alias and no topic is forwarded but not evaluated, and counted."},
	{.path = "mqtt.connection_cpu_percent", .type = &bp_type_uint, AT(connection_cpu_percent), .min = 1, .max = 100, .preset = "20",
	 .help = "Maximum share of a core for the inspection of one connection, in percent, in addition to 8 ns for each byte of its frames. A connection above the limit is forwarded and followed, but its publications are not evaluated until it is below the limit again, and counted."},
	{.path = "mqtt.worker_cpu_percent", .type = &bp_type_uint, AT(worker_cpu_percent), .min = 1, .max = 100, .preset = "50",
	 .help = "Maximum share of a core for the inspection of all connections of a worker, in percent. The rest of the core remains for forwarding."},
	{.path = "mqtt.resync_packets", .type = &bp_type_uint, AT(resync_packets), .min = 1, .max = 64, .zero = "off", .preset = "4",
	 .help = "Number of consecutive complete packets, each in a short segment of its own and on a topic that the client has published to on this connection before, after which inspection resumes on these topics when bytes were lost. off waits for a packet that the broker answers; a client that publishes only with QoS 0 may never send one."},
	{.path = "mqtt.min_ttl", .type = &bp_type_uint, AT(min_ttl), .min = 1, .max = 255, .preset = "1",
	 .help = "Minimum TTL (IPv4) or hop limit (IPv6) of inspected segments; others are forwarded but not inspected. Set it to the number of routers between biplane and the brokers plus one, so that a segment that cannot reach a broker raises no alarm."},
	{.path = "mqtt.max_alarm_states", .type = &bp_type_uint, .flags = BP_MAIN, AT(max_alarm_states), .min = 1, .max = 16777216, .preset = "65536",
	 .help = "Maximum number of pairs of rule and topic whose alarm state (clear, hold, repeat) is stored. A pair of a rule with deadband or quiet can need one more for each of them."},
	{.path = "mqtt.max_sparkplug_metrics", .type = &bp_type_uint, AT(max_sparkplug_metrics), .min = 1, .max = 16777216, .preset = "16384",
	 .help = "Maximum number of Sparkplug B nodes, and of pairs of device and metric of a rule, whose session, alias and datatype are stored."},
	{.path = "mqtt.max_watched_topics", .type = &bp_type_uint, AT(max_watched_topics), .min = 1, .max = 4194304, .preset = "16384",
	 .help = "Maximum number of pairs of rule and topic that rules with absent watch. At the limit a topic whose alarm is raised is evicted, or one of the same client; otherwise the new topic is not watched. Both are counted."},
	{.path = "mqtt.max_combination_values", .type = &bp_type_uint, AT(max_combination_values), .min = 1, .max = 16777216, .preset = "65536",
	 .help = "Maximum number of last values of parts of combinations (all, any) that are stored: one for each part and key. At the limit the oldest value of the same client is evicted."},
	{.path = "mqtt.max_windows", .type = &bp_type_uint, .flags = BP_MAIN, AT(max_windows), .min = 1, .max = 4194304, .preset = "4096",
	 .help = "Maximum number of pairs of rule and topic whose window is stored."},
	{.path = "mqtt.max_window_values", .type = &bp_type_uint, AT(max_window_values), .min = 2, .max = BP_WINDOW_VALUES_MAX, .preset = "128",
	 .help = "Maximum number of values of a window; the shared segment has memory for this number in each window. A window with function rate has space for half of them. A percentile over time needs at least 296, and has less error with more: 1024."},
	{.path = "mqtt.max_rules", .type = &bp_type_uint, AT(max_rules), .min = 1, .max = 131072, .preset = "16384",
	 .help = "Maximum number of rules and of parts of combinations together; the shared segment has memory for this number."},
	{.path = "mqtt.max_policy_rules", .type = &bp_type_uint, AT(max_policy_rules), .max = 65536, .preset = "1024",
	 .help = "Maximum number of rules of the policy; the shared segment has memory for this number."},
	{.path = "mqtt.max_policy_rates", .type = &bp_type_uint, AT(max_policy_rates), .min = 1, .max = 4194304, .preset = "65536",
	 .help = "Maximum number of clients, addresses and topics whose rate is stored, for each rule of the policy with rate. At the limit the token bucket that is full the soonest is used for another one; its former owner may send a burst again, and this is counted."},
	{.path = "mqtt.alarm_queue_size", .type = &bp_type_size, AT(alarm_queue_size), .min = 64 * KIB, .max = GIB, .preset = "8MiB",
	 .help = "Size of each worker's queue of alarms for the publisher. An alarm larger than a quarter of the queue, payload included, is dropped and counted."},

	{.path = "mqtt.publisher", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_config_mqtt, publisher.enabled), .check = bp_check_publisher,
	 .help = "Connection to the MQTT broker that receives the alarms of rules with action publish."},
	{.path = "mqtt.publisher.broker", .type = &bp_type_broker, AT(publisher.broker), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "URL of the broker. HOST is a name, an IPv4 address, or an IPv6 address in brackets. The default TCP port is 1883 for mqtt and 8883 for mqtts."},
	{.path = "mqtt.publisher.client_id", .type = &bp_type_string, AT(publisher.client_id), .flags = BP_RELOAD, .min = 1, .preset_text = "biplane- and the instance's name",
	 .help = "MQTT client identifier of the connection."},
	{.path = "mqtt.publisher.username", .type = &bp_type_string, AT(publisher.username), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "User name for the broker."},
	{.path = "mqtt.publisher.password_file", .type = &bp_type_string, AT(publisher.password_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "File whose first line is the password. Other users should have no access to it (mode 0640)."},
	{.path = "mqtt.publisher.tls", .type = &bp_type_section, .flags = BP_RELOAD, .present = has_tls,
	 .help = "Certificates for a broker with scheme mqtts. Files are in PEM format."},
	{.path = "mqtt.publisher.tls.ca", .type = &bp_type_string, AT(publisher.ca_file), .flags = BP_RELOAD, .min = 1, .preset_text = "the system's certificate store",
	 .help = "CA certificates that the broker's certificate is verified with."},
	{.path = "mqtt.publisher.tls.cert", .type = &bp_type_string, AT(publisher.cert_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "Client certificate, for a broker that requires one."},
	{.path = "mqtt.publisher.tls.key", .type = &bp_type_string, AT(publisher.key_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "Private key of cert. Other users should have no access to it (mode 0640)."},
	{.path = "mqtt.publisher.keep_alive", .type = &bp_type_duration, AT(publisher.keep_alive_s), .flags = BP_RELOAD, .min = 5 * S, .max = 65535 * S, .scale = S, .preset = "30s",
	 .help = "MQTT keep-alive interval, in whole seconds."},
	{.path = "mqtt.publisher.max_inflight", .type = &bp_type_uint, AT(publisher.max_inflight), .flags = BP_RELOAD, .min = 1, .max = 2000, .preset = "1000",
	 .help = "Maximum number of alarms that are sent and not yet acknowledged."},
	{.path = "mqtt.publisher.puback_timeout", .type = &bp_type_duration, AT(publisher.puback_timeout_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "5s",
	 .help = "Time without PUBACK after which the alarms in flight are moved to the spool and biplane reconnects."},
	{.path = "mqtt.publisher.unreachable_after", .type = &bp_type_duration, AT(publisher.unreachable_after_ns), .flags = BP_RELOAD, .min = S, .max = DAY, .zero = "off", .preset = "1m",
	 .help = "Time without a connection to the broker after which the fault edge_unreachable is raised. off disables it."},

	{.path = "mqtt.kafka", .type = &bp_type_section, GIVEN(bp_config_mqtt, kafka.enabled), .check = bp_check_kafka,
	 .help = "Connection to the Kafka cluster that receives the alarms of rules with publish.destination kafka or both. Each alarm is one message, acknowledged by all in-sync replicas: its key is the rule's name, a colon and the publication's topic, its value the same payload as in MQTT, and its headers are id, uid, rule and state. While the cluster is unreachable its alarms wait in a spool of their own: the path of mqtt.spool with .kafka appended, with the same limits."},
	{.path = "mqtt.kafka.brokers", .type = &bp_type_kafka_brokers, AT(kafka.brokers), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "URL of the cluster with one or more of its brokers, from which the others are discovered. HOST is a name, an IPv4 address, or an IPv6 address in brackets. The default TCP port is 9092 for kafka and 9093 for kafkas."},
	{.path = "mqtt.kafka.topic", .type = &bp_type_kafka_topic, AT(kafka.topic), .flags = BP_MAIN | BP_RELOAD, .min = 1, .preset = "biplane-alarms",
	 .help = "Kafka topic of the alarms, up to 249 letters, digits, dots, underscores and hyphens. Its max.message.bytes must be at least 16384."},
	{.path = "mqtt.kafka.client_id", .type = &bp_type_string, AT(kafka.client_id), .flags = BP_RELOAD, .min = 1, .preset_text = "biplane- and the instance's name",
	 .help = "Kafka client identifier of the connections."},
	{.path = "mqtt.kafka.username", .type = &bp_type_string, AT(kafka.username), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "User name for SASL authentication."},
	{.path = "mqtt.kafka.password_file", .type = &bp_type_string, AT(kafka.password_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "File whose first line is the password. Other users should have no access to it (mode 0640)."},
	{.path = "mqtt.kafka.sasl_mechanism", .type = &bp_type_enum, AT(kafka.sasl), .flags = BP_RELOAD, .enum_names = sasl_names, .present = has_kafka_username, .preset = "scram-sha-512",
	 .help = "SASL mechanism for username and password_file. plain sends the password itself, so it needs kafkas://."},
	{.path = "mqtt.kafka.tls", .type = &bp_type_section, .flags = BP_RELOAD, .present = has_kafka_tls,
	 .help = "Certificates for brokers with scheme kafkas. Files are in PEM format."},
	{.path = "mqtt.kafka.tls.ca", .type = &bp_type_string, AT(kafka.ca_file), .flags = BP_RELOAD, .min = 1, .preset_text = "the system's certificate store",
	 .help = "CA certificates that the brokers' certificates are verified with."},
	{.path = "mqtt.kafka.tls.cert", .type = &bp_type_string, AT(kafka.cert_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "Client certificate, for brokers that require one."},
	{.path = "mqtt.kafka.tls.key", .type = &bp_type_string, AT(kafka.key_file), .flags = BP_RELOAD, .min = 1, .preset_text = "none",
	 .help = "Private key of cert. Other users should have no access to it (mode 0640)."},
	{.path = "mqtt.kafka.max_inflight", .type = &bp_type_uint, AT(kafka.max_inflight), .flags = BP_RELOAD, .min = 1, .max = 2000, .preset = "1000",
	 .help = "Maximum number of alarms that are sent and not yet acknowledged."},
	{.path = "mqtt.kafka.max_message_size", .type = &bp_type_size, AT(kafka.max_message_size), .flags = BP_RELOAD, .min = 16 * KIB, .max = 256 * MIB, .preset = "1000000",
	 .help = "Maximum size of a message. A larger alarm is dropped and counted, and so is one that the brokers refuse for its size (message.max.bytes, max.message.bytes)."},
	{.path = "mqtt.kafka.ack_timeout", .type = &bp_type_duration, AT(kafka.ack_timeout_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "5s",
	 .help = "Time without acknowledgement after which an alarm in flight is also written to the spool. It remains in flight."},
	{.path = "mqtt.kafka.unreachable_after", .type = &bp_type_duration, AT(kafka.unreachable_after_ns), .flags = BP_RELOAD, .min = S, .max = DAY, .zero = "off", .preset = "1m",
	 .help = "Time without a connected broker, or without any acknowledgement while alarms are in flight, after which the fault kafka_unreachable is raised. off disables it."},

	{.path = "mqtt.mirror", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_config_mqtt, mirror.enabled), .check = bp_check_mirror,
	 .help = "Destination of the frames of rules with action mirror."},
	{.path = "mqtt.mirror.port", .type = &bp_type_port, AT(mirror.port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Output port."},
	{.path = "mqtt.mirror.mac", .type = &bp_type_mac, AT(mirror.mac), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination MAC address: the broker's, or its next hop's."},
	{.path = "mqtt.mirror.ipv4_address", .type = &bp_type_ip4, AT(mirror.ip4), .flags = BP_RELOAD, GIVEN(bp_mirror_target, has_ip4) + offsetof(struct bp_config_mqtt, mirror), .preset_text = "none: alarms of IPv4 connections are not mirrored",
	 .help = "Destination IPv4 address. At least one of ipv4_address and ipv6_address is required."},
	{.path = "mqtt.mirror.ipv6_address", .type = &bp_type_ip6, AT(mirror.ip6), .flags = BP_RELOAD, GIVEN(bp_mirror_target, has_ip6) + offsetof(struct bp_config_mqtt, mirror), .preset_text = "none: alarms of IPv6 connections are not mirrored",
	 .help = "Destination IPv6 address."},
	{.path = "mqtt.mirror.tcp_port", .type = &bp_type_uint, AT(mirror.tcp_port), .flags = BP_RELOAD, .min = 1, .max = 65535, .preset = "1883",
	 .help = "Destination TCP port."},

	{.path = "mqtt.spool", .type = &bp_type_section,
	 .help = "File in which alarms are stored while the publisher's broker is unreachable."},
	{.path = "mqtt.spool.path", .type = &bp_type_string, AT(spool.path), .min = 1, .preset_text = "/var/lib/biplane/NAME.spool.db, where NAME is the name of the instance",
	 .help = "Path of the file."},
	{.path = "mqtt.spool.max_size", .type = &bp_type_size, AT(spool.max_bytes), .flags = BP_MAIN | BP_RELOAD, .min = 64 * KIB, .max = 1024 * GIB, .preset = "256MiB",
	 .help = "Maximum size of the file. At this size the oldest alarms are deleted and counted."},
	{.path = "mqtt.spool.max_age", .type = &bp_type_duration, AT(spool.max_age_ns), .flags = BP_MAIN | BP_RELOAD, .min = S, .max = 3650 * DAY, .preset = "7d",
	 .help = "Maximum age of an alarm. Older ones are deleted and counted."},
	{.path = "mqtt.spool.max_keys", .type = &bp_type_uint, AT(spool.max_keys), .min = 1, .max = 16777216, .preset = "65536",
	 .help = "Maximum number of pairs of rule and topic with alarms in the spool whose order is kept separately. Alarms of the same rule and topic are published in order: up to this number, only new alarms of the same pair wait for those in the spool; beyond it, all new alarms wait."},
	{.path = "mqtt.spool.backlog_warning", .type = &bp_type_uint, AT(spool.backlog_warning), .flags = BP_RELOAD, .min = 1, .max = 1000000000, .zero = "off", .preset = "10000",
	 .help = "Number of alarms in the spool at which the fault spool_backlog is raised; it ends when fewer than half as many are left. off disables it."},

	{.path = "mqtt.rules", .type = &bp_type_list, .flags = BP_RELOAD, .max = 131072, .list = &rule_list, .check = bp_check_rule,
	 .preset_text = "none", .help = "Rules that raise alarms."},
	{.path = "mqtt.rules[].name", .type = &bp_type_name, IN(bp_rule_spec, name), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "Name of the rule, unique in the file."},
	{.path = "mqtt.rules[].topic", .type = &bp_type_filter, IN(bp_rule_spec, filter), .flags = BP_RELOAD, .min = 1, .present = has_topic, .preset_text = "required, unless all or any is given",
	 .help = "MQTT topic filter of the publications that the rule evaluates; + and # are wildcards."},
	{.path = "mqtt.rules[].value", .type = &bp_type_variant, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .present = is_plain, .preset = "text",
	 .help = "Format of the value in the payload: text (the whole payload is one decimal number), sparkplug_online, or a mapping with json, cbor, msgpack, binary or sparkplug, and with type, match, scale and offset. A mapping without a source is the whole payload. A payload without such a value is counted and not evaluated."},
	{.path = "mqtt.rules[].value.json", .type = &bp_type_json_path, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .present = is_json, .preset_text = "none",
	 .help = "JSON path of the value in a JSON payload. [*] is each element of an array."},
	{.path = "mqtt.rules[].value.cbor", .type = &bp_type_json_path, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .present = is_cbor, .preset_text = "none",
	 .help = "Path, as in json, of the value in a CBOR payload (RFC 8949). Members are those whose names are text strings; tags are skipped."},
	{.path = "mqtt.rules[].value.msgpack", .type = &bp_type_json_path, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .present = is_msgpack, .preset_text = "none",
	 .help = "Path, as in json, of the value in a MessagePack payload. Members are those whose names are strings."},
	{.path = "mqtt.rules[].value.binary", .type = &bp_type_section, .flags = BP_RELOAD, .present = is_binary,
	 .help = "Position and type of a binary number."},
	{.path = "mqtt.rules[].value.binary.offset", .type = &bp_type_uint, IN(bp_rule_spec, value.binary.offset), .flags = BP_RELOAD, .max = 268435455, .preset = "0",
	 .help = "Offset of the first byte in the payload."},
	{.path = "mqtt.rules[].value.binary.type", .type = &bp_type_enum, IN(bp_rule_spec, value.binary.type), .flags = BP_REQUIRED | BP_RELOAD, .enum_names = binary_names,
	 .help = "Type of the number; float32 and float64 are IEEE 754."},
	{.path = "mqtt.rules[].value.binary.byte_order", .type = &bp_type_enum, IN(bp_rule_spec, value.binary.little_endian), .flags = BP_RELOAD, .enum_names = byte_order_names, .preset = "big",
	 .help = "Byte order of the number."},
	{.path = "mqtt.rules[].value.sparkplug", .type = &bp_type_string, IN(bp_rule_spec, value.names.metric), .flags = BP_RELOAD, .min = 1, .present = is_sparkplug, .preset_text = "none",
	 .help = "Name of a metric of Sparkplug B. The topic filter matches the topics of the device's data messages, such as spBv1.0/plant/+/node-1/#; births and deaths of the same device are read, too. A message without the metric leaves its value unchanged."},
	{.path = "mqtt.rules[].value.member", .type = &bp_type_string, IN(bp_rule_spec, value.names.member), .flags = BP_RELOAD, .min = 1, .present = has_member, .preset_text = "none",
	 .help = "Member of a metric that has several values: COLUMN[ROW] of a DataSet, with rows from 0 (COLUMN: the last row); METRIC of a Template, and METRIC/METRIC of a Template in it; [INDEX] of an array."},
	{.path = "mqtt.rules[].value.historical", .type = &bp_type_enum, IN(bp_rule_spec, value.sparkplug.historical), .flags = BP_RELOAD, .enum_names = historical_names, .present = is_sparkplug, .preset = "ignore",
	 .help = "Values of the metric that are marked as historical: not evaluated (ignore), or evaluated as others (evaluate)."},
	{.path = "mqtt.rules[].value.death", .type = &bp_type_bound, IN(bp_rule_spec, value.sparkplug.death), .flags = BP_RELOAD, GIVEN(bp_rule_spec, value.sparkplug.has_death), .present = is_sparkplug, .preset_text = "none: a death is not evaluated",
	 .help = "Value of the metric at the death of its node or device, so that the death raises or clears the alarm."},
	{.path = "mqtt.rules[].value.type", .type = &bp_type_enum, IN(bp_rule_spec, value.type), .flags = BP_RELOAD, .enum_names = value_type_names, .present = has_type, .preset = "number",
	 .help = "Type of the value in the payload; a payload with a value of another type has no value. string: compared with equals, not_equals and one_of; without a source, the whole payload without the blanks around it. A metric of Sparkplug B may be a string or a boolean, too. boolean: true or false, compared with equals and not_equals."},
	{.path = "mqtt.rules[].value.match", .type = &bp_type_enum, IN(bp_rule_spec, value.match), .flags = BP_RELOAD, .enum_names = match_names, .present = has_match, .preset = "any",
	 .help = "With [*] in the path, the elements that must meet a condition. any: raise is met by at least one element, clear by all. all: raise is met by all elements, clear by at least one. Elements without such a value do not count."},
	{.path = "mqtt.rules[].value.scale", .type = &bp_type_bound, IN(bp_rule_spec, value.scale), .flags = BP_RELOAD, .present = is_scaled, .preset = "1",
	 .help = "Factor that the number is multiplied with before it is evaluated, such as a conversion of units."},
	{.path = "mqtt.rules[].value.offset", .type = &bp_type_bound, IN(bp_rule_spec, value.offset), .flags = BP_RELOAD, .present = is_scaled, .preset = "0",
	 .help = "Number that is added after the multiplication with scale."},
	{.path = "mqtt.rules[].window", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_rule_spec, window.given), .check = bp_check_window,
	 .help = "The conditions evaluate a function of the last values of each topic instead of its last value. There is no result before the window has been full once."},
	{.path = "mqtt.rules[].window.values", .type = &bp_type_uint, IN(bp_rule_spec, window.values), .flags = BP_RELOAD, .min = 2, .max = BP_WINDOW_VALUES_MAX, .present = has_values, .preset_text = "none",
	 .help = "Number of values of the window, at most max_window_values."},
	{.path = "mqtt.rules[].window.time", .type = &bp_type_duration, IN(bp_rule_spec, window.time_ns), .flags = BP_RELOAD, .min = BP_WINDOW_TIME_MIN, .max = BP_WINDOW_TIME_MAX, .present = has_window_time, .preset_text = "none",
	 .help = "Time of the window, instead of values. A value leaves a sliding window between 15/16 of this time and all of it after it arrived."},
	{.path = "mqtt.rules[].window.type", .type = &bp_type_enum, IN(bp_rule_spec, window.tumbling), .flags = BP_RELOAD, .enum_names = window_names, .preset = "sliding",
	 .help = "sliding has a result for each value. tumbling has a result for each full window, and the next value begins an empty one."},
	{.path = "mqtt.rules[].window.function", .type = &bp_type_enum, IN(bp_rule_spec, window.function), .flags = BP_REQUIRED | BP_RELOAD, .enum_names = function_names,
	 .help = "Function of the values: mean, min, max, sum, count, stddev (of the population), delta (the newest value minus the oldest one), rate (increase of a counter per second; a value lower than the one before is a reset of the counter to 0), or percentile (nearest rank; over a time of values rounded to 7 significant bits)."},
	{.path = "mqtt.rules[].window.percentile", .type = &bp_type_bound, IN(bp_rule_spec, window.percentile), .flags = BP_RELOAD, .present = has_percentile, .preset_text = "none",
	 .help = "Percentage of function percentile, above 0 and at most 100: at least this share of the values is less than or equal to the result."},
	{.path = "mqtt.rules[].raise", .type = &bp_type_condition, IN(bp_rule_spec, raise), .unfold = bp_raise_unfold, .flags = BP_RELOAD, .present = is_plain, .preset_text = "required, unless absent, all or any is given",
	 .help = "Condition that raises the alarm."},
	COMPARISONS("raise"),
	{.path = "mqtt.rules[].clear", .type = &bp_type_condition, IN(bp_rule_spec, clear), .unfold = bp_clear_unfold, .flags = BP_RELOAD, GIVEN(bp_rule_spec, has_clear), .preset_text = "none: the alarm is cleared by the first value that does not raise it",
	 .help = "Condition that clears the alarm (hysteresis). A value that neither raises nor clears leaves the alarm's state unchanged."},
	COMPARISONS("clear"),
	{.path = "mqtt.rules[].absent", .type = &bp_type_duration, IN(bp_rule_spec, absent_ns), .flags = BP_RELOAD, .min = S, .max = 30 * DAY, .present = is_absence, .preset_text = "none",
	 .help = "Time without a publication on a topic after which the alarm is raised, instead of raise; the next publication clears it. A topic without wildcards is watched from the load of the rule, in a fleet from its first publication, and a topic that matches wildcards from its first publication. The payload is not evaluated."},
	{.path = "mqtt.rules[].all", .type = &bp_type_combination, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .present = is_all, .preset_text = "none",
	 .help = "Combination of several sources, instead of topic, value, raise and clear: the alarm is raised when all parts are met and cleared when one is not. Parts with the same text at the levels with a name in braces belong together. A part without a value, or with one older than max_age, is unknown: an unknown combination changes nothing."},
	{.path = "mqtt.rules[].all[].topic", .type = &bp_type_string, IN(bp_rule_spec, filter), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "MQTT topic of the part. A level {NAME} is any level; all parts of a combination have the same names. + and # are not allowed."},
	{.path = "mqtt.rules[].all[].value", .type = &bp_type_variant, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .like = "mqtt.rules[].value", .preset = "text",
	 .help = "As mqtt.rules[].value."},
	{.path = "mqtt.rules[].all[].condition", .type = &bp_type_condition, IN(bp_rule_spec, raise), .unfold = bp_raise_unfold, .flags = BP_REQUIRED | BP_RELOAD, .like = "mqtt.rules[].raise",
	 .help = "Condition of the part, as mqtt.rules[].raise."},
	{.path = "mqtt.rules[].all[].window", .type = &bp_type_section, .flags = BP_RELOAD, .like = "mqtt.rules[].window", GIVEN(bp_rule_spec, window.given), .check = bp_check_window,
	 .help = "Window of the part, as mqtt.rules[].window."},
	{.path = "mqtt.rules[].all[].max_age", .type = &bp_type_duration, IN(bp_rule_spec, max_age_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = 30 * DAY, .present = has_max_age, .preset_text = "none: no limit",
	 .help = "Time after which the last value of the part is unknown."},
	{.path = "mqtt.rules[].any", .type = &bp_type_combination, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .present = is_any, .preset_text = "none",
	 .help = "As all, but the alarm is raised when at least one part is met and cleared when none is."},
	{.path = "mqtt.rules[].hold", .type = &bp_type_hold, .size = sizeof(struct bp_rule_spec), .present = has_raise, .flags = BP_MAIN | BP_RELOAD, .min = 1, .max = 1000000, .preset = "off",
	 .help = "Number of consecutive values, or the time, for which raise must be met before the alarm is raised. With off the first value raises it."},
	{.path = "mqtt.rules[].repeat", .type = &bp_type_enum, IN(bp_rule_spec, repeat), .present = has_raise, .flags = BP_MAIN | BP_RELOAD, .enum_names = repeat_names, .preset = "every",
	 .help = "every sends an alarm for each value that meets raise. on_change sends an alarm only when the state changes, and is the default of a combination (all, any)."},
	{.path = "mqtt.rules[].deadband", .type = &bp_type_positive, IN(bp_rule_spec, deadband), .flags = BP_RELOAD, .present = has_deadband, .preset_text = "none: each value that meets raise sends an alarm",
	 .help = "With repeat: every, a raised alarm is sent again only if the value differs by more than this number from that of the last alarm."},
	{.path = "mqtt.rules[].quiet", .type = &bp_type_duration, IN(bp_rule_spec, quiet_ns), .present = has_raise, .flags = BP_RELOAD, .min = MS, .max = 365 * DAY, .zero = "off", .preset = "off",
	 .help = "Time after an alarm for which the rule raises no alarm for the same topic, and repeats none. An alarm in this sense is a raise, a repetition or a clear. A clear is sent immediately. When the time has ended, the next value that meets raise, and hold, raises the alarm."},
	{.path = "mqtt.rules[].severity", .type = &bp_type_enum, IN(bp_rule_spec, severity), .flags = BP_RELOAD, .enum_names = severity_names, .preset = "none",
	 .help = "Severity of the rule's alarms. It is in the envelope, in the headers of Kafka, in events and in lists of alarms. A reload that changes it keeps the states of the rule."},
	{.path = "mqtt.rules[].annotations", .type = &bp_type_annotations, IN(bp_rule_spec, annotations), .flags = BP_RELOAD, .present = has_annotations, .preset_text = "none",
	 .help = "Texts that the envelope of each alarm of the rule contains, such as {runbook: \"https://example.org/overheat\"}. An alarm is published with the annotations that its rule has at that time. A reload that changes them keeps the states of the rule."},
	{.path = "mqtt.rules[].action", .type = &bp_type_enum, IN(bp_rule_spec, action), .flags = BP_RELOAD, .enum_names = action_names, .preset = "publish",
	 .help = "publish sends the alarm to its destination, by default with QoS 1 to the broker of mqtt.publisher. mirror immediately sends a copy of the device's frame, with another topic, to mqtt.mirror."},
	{.path = "mqtt.rules[].payload", .type = &bp_type_enum, IN(bp_rule_spec, payload), .flags = BP_RELOAD, .enum_names = payload_names, .preset = "envelope", .preset_text = "envelope; original for action mirror",
	 .help = "Payload of the alarm: the device's payload (original), or a JSON object with rule, state, value, topic, client and time (envelope)."},
	{.path = "mqtt.rules[].publish", .type = &bp_type_section, .flags = BP_RELOAD,
	 .help = "The publication that the alarm is sent as."},
	{.path = "mqtt.rules[].publish.topic", .type = &bp_type_template, IN(bp_rule_spec, to), .flags = BP_MAIN | BP_RELOAD, .min = 1, .preset = "alarm/{topic}",
	 .help = "Topic of the alarm. {topic}, {rule} and {client} are replaced by the publication's topic, the rule's name and the device's client identifier."},
	{.path = "mqtt.rules[].publish.destination", .type = &bp_type_enum, IN(bp_rule_spec, destination), .flags = BP_RELOAD, .enum_names = destination_names, .preset = "mqtt",
	 .help = "Destination of the alarm: the broker of mqtt.publisher (mqtt), the cluster of mqtt.kafka (kafka), or both."},
	{.path = "mqtt.policy", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_config_mqtt, policy.given), .check = bp_check_policy,
	 .help = "Policy of what MQTT clients may do. Its rules are in order, and the first one that a packet matches decides about it. Packets that it does not allow are counted and reported as events, and with action close or blank not forwarded."},
	{.path = "mqtt.policy.default", .type = &bp_type_enum, AT(policy.preset), .flags = BP_MAIN | BP_RELOAD, .enum_names = policy_action_names, .preset = "allow",
	 .help = "Action for packets that no rule matches: allow, observe, close or blank."},
	{.path = "mqtt.policy.fail", .type = &bp_type_enum, AT(policy.fail), .flags = BP_MAIN | BP_RELOAD, .enum_names = policy_fail_names, .preset = "open",
	 .help = "What happens to packets about which there is no decision, in a policy with action close or blank. open: they are forwarded and counted. closed: their connection ends. There is no decision about connections that are not inspected or were met mid-stream, about clients of which a rule needs an unknown identity, and about packets beyond a limit of inspection."},
	{.path = "mqtt.policy.fallback", .type = &bp_type_enum, AT(policy.fallback), .flags = BP_RELOAD, .enum_names = policy_fallback_names, .preset = "close",
	 .help = "What happens to a packet with action blank whose topic cannot be overwritten: its connection ends (close), or it is forwarded and reported as with action observe (pass). A topic cannot be overwritten if a part of it was forwarded in an earlier segment or, with MQTT over WebSocket, is in an earlier frame, if it is a topic alias of an allowed topic, or if a publication has a topic of one byte. Both are counted."},
	{.path = "mqtt.policy.on_reload", .type = &bp_type_enum, AT(policy.on_reload), .flags = BP_RELOAD, .enum_names = policy_on_reload_names, .preset = "leave",
	 .help = "What happens to connections whose CONNECT or will a changed policy refuses with action close or blank. leave: they continue until a packet of them is refused. close: they end with their next segment. Both are decided by the address, port, client identifier, user name and MQTT version of the client and by its will; a connection that a rule needs more of continues, and is counted (policy_reload_undecided). If nothing is kept of a will that the policy may refuse, mqtt.policy.fail decides."},
	{.path = "mqtt.policy.quarantine", .type = &bp_type_string, AT(policy.quarantine), .flags = BP_RELOAD, .min = 1, .preset = "$refused",
	 .help = "Topic of publications with action blank. It begins with $. A longer topic is overwritten with this one, a slash and hyphens, a shorter one with its first bytes."},
	{.path = "mqtt.policy.fail_overrides", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_MAX_INTERFACES, .list = &fail_list,
	 .preset_text = "none", .help = "Bridges and routed ports with another value of fail, which decides about the clients whose segments arrive there."},
	{.path = "mqtt.policy.fail_overrides[].interface", .type = &bp_type_bridge_or_port, IN(bp_policy_fail_override, interface), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Bridge, with all of its ports, or routed port, with all of its VLAN subinterfaces."},
	{.path = "mqtt.policy.fail_overrides[].fail", .type = &bp_type_enum, IN(bp_policy_fail_override, fail), .flags = BP_REQUIRED | BP_RELOAD, .enum_names = policy_fail_names,
	 .help = "As mqtt.policy.fail."},
	{.path = "mqtt.policy.rules", .type = &bp_type_list, .flags = BP_RELOAD, .max = 65536, .list = &policy_list, .check = bp_check_policy_rule,
	 .preset_text = "none", .help = "Rules of the policy, in order. A packet matches a rule if it has all that the rule gives."},
	{.path = "mqtt.policy.rules[].name", .type = &bp_type_name, IN(bp_policy_rule_spec, name), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "Name of the rule, unique in the policy."},
	{.path = "mqtt.policy.rules[].action", .type = &bp_type_enum, IN(bp_policy_rule_spec, action), .flags = BP_REQUIRED | BP_RELOAD, .enum_names = policy_action_names,
	 .help = "Action for packets that match the rule. allow: nothing. observe: the packet is counted and reported as an event. close: also, it is not forwarded, and its connection ends. blank: the topic of a publication is overwritten with that of mqtt.policy.quarantine, and its retain flag is cleared; a topic filter is overwritten with one that matches nothing; the connection continues. A refused CONNECT or will ends the connection with blank, too."},
	{.path = "mqtt.policy.rules[].packet", .type = &bp_type_enum, IN(bp_policy_rule_spec, packet), .flags = BP_RELOAD, .enum_names = policy_packet_names, .preset = "any",
	 .help = "Packets that match: connect; will (the will message of a CONNECT); publish (from the client); subscribe (each topic filter of it is decided about separately); or any of them."},
	{.path = "mqtt.policy.rules[].topic", .type = &bp_type_filter, IN(bp_policy_rule_spec, topic), .flags = BP_RELOAD, .min = 1, .preset_text = "none: any topic, and packets without a topic",
	 .help = "MQTT topic filter of publications, wills and subscriptions; a level {client} or {user} is the client identifier or user name of the client. A subscription matches a rule with action allow if the rule's filter covers its filter, and any other rule if there is a topic that both match."},
	{.path = "mqtt.policy.rules[].client_id", .type = &bp_type_string, IN(bp_policy_rule_spec, client), .flags = BP_RELOAD, .min = 1, .preset_text = "none: any client",
	 .help = "Client identifier; one * in it is any text."},
	{.path = "mqtt.policy.rules[].user_name", .type = &bp_type_string, IN(bp_policy_rule_spec, user), .flags = BP_RELOAD, .min = 1, .preset_text = "none: any user name, and clients without one",
	 .help = "User name; one * in it is any text."},
	{.path = "mqtt.policy.rules[].anonymous", .type = &bp_type_enum, IN(bp_policy_rule_spec, identity), .flags = BP_RELOAD, .enum_names = policy_anonymous_names, .preset = "any",
	 .help = "Whether the client has no user name: true, false or any."},
	{.path = "mqtt.policy.rules[].address", .type = &bp_type_prefix, IN(bp_policy_rule_spec, address), .flags = BP_RELOAD, GIVEN(bp_policy_rule_spec, has_address), .preset_text = "none: any address",
	 .help = "Prefix that contains the address of the client, such as 10.0.0.0/24 or 10.0.0.5/32."},
	{.path = "mqtt.policy.rules[].port", .type = &bp_type_port, IN(bp_policy_rule_spec, port), .flags = BP_RELOAD, GIVEN(bp_policy_rule_spec, has_port), .preset_text = "none: any port",
	 .help = "Port that receives the packets of the client."},
	{.path = "mqtt.policy.rules[].mqtt_version", .type = &bp_type_enum, IN(bp_policy_rule_spec, version), .flags = BP_RELOAD, .enum_names = policy_version_names, .preset = "any",
	 .help = "Version of MQTT."},
	{.path = "mqtt.policy.rules[].qos", .type = &bp_type_enum, IN(bp_policy_rule_spec, qos), .flags = BP_RELOAD, .enum_names = policy_qos_names, .preset = "any",
	 .help = "QoS of publications and wills."},
	{.path = "mqtt.policy.rules[].retain", .type = &bp_type_enum, IN(bp_policy_rule_spec, retain), .flags = BP_RELOAD, .enum_names = policy_retain_names, .preset = "any",
	 .help = "Whether publications and wills are retained: true, false or any."},
	{.path = "mqtt.policy.rules[].larger_than", .type = &bp_type_size, IN(bp_policy_rule_spec, larger_than), .flags = BP_RELOAD | BP_OR_ZERO, .min = 1, .max = 268435455, GIVEN(bp_policy_rule_spec, has_size), .preset_text = "none: any payload",
	 .help = "Publications and wills with a larger payload."},
	{.path = "mqtt.policy.rules[].payload", .type = &bp_type_policy_payload, .offset = offsetof(struct bp_policy_rule_spec, payload), .size = sizeof(void *), .flags = BP_RELOAD, .present = has_payload, .preset_text = "none: any payload",
	 .help = "Publications and wills whose payload has a value that meets the condition. A payload without the value does not match."},
	{.path = "mqtt.policy.rules[].payload.value", .type = &bp_type_variant, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .like = "mqtt.rules[].value", .preset = "text",
	 .help = "Value of the payload, as value of mqtt.rules, without metrics of Sparkplug B."},
	{.path = "mqtt.policy.rules[].payload.condition", .type = &bp_type_condition, IN(bp_rule_spec, raise), .unfold = bp_raise_unfold, .flags = BP_REQUIRED | BP_RELOAD, .like = "mqtt.rules[].raise",
	 .help = "Condition of the value, as raise of mqtt.rules."},
	{.path = "mqtt.policy.rules[].packet_larger_than", .type = &bp_type_size, IN(bp_policy_rule_spec, packet_larger_than), .flags = BP_RELOAD, .min = 1, .max = 268435454, GIVEN(bp_policy_rule_spec, has_packet_size), .preset_text = "none: any packet",
	 .help = "Packets CONNECT, PUBLISH and SUBSCRIBE with a larger remaining length, which is all after the fixed header."},
	{.path = "mqtt.policy.rules[].keep_alive", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_policy_rule_spec, has_keep_alive), .check = bp_check_policy_keep_alive,
	 .help = "Keep-alive of a CONNECT. 0, which disables it, is above each number."},
	{.path = "mqtt.policy.rules[].keep_alive.above", .type = &bp_type_duration, IN(bp_policy_rule_spec, keep_above), .flags = BP_RELOAD, .min = S, .max = 65535 * S, .scale = S, GIVEN(bp_policy_rule_spec, has_keep_above), .preset_text = "none",
	 .help = "CONNECTs with a longer keep-alive, or with none; 65535s: only those with none."},
	{.path = "mqtt.policy.rules[].keep_alive.below", .type = &bp_type_duration, IN(bp_policy_rule_spec, keep_below), .flags = BP_RELOAD, .min = 2 * S, .max = 65535 * S, .scale = S, GIVEN(bp_policy_rule_spec, has_keep_below), .preset_text = "none",
	 .help = "CONNECTs with a shorter keep-alive. With above: both must be met."},
	{.path = "mqtt.policy.rules[].connections", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_policy_rule_spec, has_connections),
	 .help = "Number of connections of the client's address (IPv6: a /64) whose CONNECT was read, with the one of the packet. A connection whose end was not seen counts until connection_timeout."},
	{.path = "mqtt.policy.rules[].connections.above", .type = &bp_type_uint, IN(bp_policy_rule_spec, connections), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 16777215,
	 .help = "CONNECTs with which the address has more connections than this."},
	{.path = "mqtt.policy.rules[].hours", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_policy_rule_spec, has_hours), .check = bp_check_policy_hours,
	 .help = "Time at which packets match, in UTC."},
	{.path = "mqtt.policy.rules[].hours.from", .type = &bp_type_time_of_day, IN(bp_policy_rule_spec, from), .flags = BP_RELOAD, .max = 1439, .preset = "00:00",
	 .help = "First minute of the day."},
	{.path = "mqtt.policy.rules[].hours.to", .type = &bp_type_time_of_day, IN(bp_policy_rule_spec, to), .flags = BP_RELOAD, .min = 1, .max = 1440, .preset = "24:00",
	 .help = "Minute at which the time ends; earlier than from: on the next day."},
	{.path = "mqtt.policy.rules[].hours.days", .type = &bp_type_days, IN(bp_policy_rule_spec, days), .flags = BP_RELOAD, .present = has_days, .preset_text = "none: each day",
	 .help = "Days of the week on which the time begins; [fri] with from 22:00 and to 06:00 ends on Saturday."},
	{.path = "mqtt.policy.rules[].rate", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_policy_rule_spec, has_rate), .check = bp_check_policy_rate,
	 .help = "Rate of the packets that meet all other conditions of the rule. Those above it match the rule; later rules decide about the others."},
	{.path = "mqtt.policy.rules[].rate.per", .type = &bp_type_enum, IN(bp_policy_rule_spec, rate_per), .flags = BP_REQUIRED | BP_RELOAD, .enum_names = policy_per_names,
	 .help = "Packets that are counted together: those of a client identifier from one address (client); those from one address (address), of IPv6 from one /64; or those with one topic, from all clients (topic). Packets of a client without a known identifier are counted by its address."},
	{.path = "mqtt.policy.rules[].rate.above", .type = &bp_type_packet_rate, IN(bp_policy_rule_spec, rate), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 1000000,
	 .help = "Average rate that is not exceeded. Each topic filter of a SUBSCRIBE counts as a packet."},
	{.path = "mqtt.policy.rules[].rate.burst", .type = &bp_type_uint, IN(bp_policy_rule_spec, rate_burst), .flags = BP_RELOAD, .min = 1, .max = 1000000, .present = has_burst, .preset_text = "the number of above",
	 .help = "Number of packets that may arrive at once after a pause."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_mqtt, rows);
