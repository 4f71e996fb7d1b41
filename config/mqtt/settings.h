/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_MQTT_SETTINGS_H
#define BP_CONFIG_MQTT_SETTINGS_H

#include "biplane/aggregation.h"
#include "biplane/policy.h"
#include "biplane/rule.h"
#include "config/config.h"

enum bp_directions { BP_DIRECTIONS_TO_BROKER, BP_DIRECTIONS_FROM_BROKER, BP_DIRECTIONS_BOTH };
enum bp_strictness { BP_STRICTNESS_MOSQUITTO, BP_STRICTNESS_STANDARD };
enum bp_evaluate { BP_EVALUATE_PUBLISHED, BP_EVALUATE_ACKNOWLEDGED };

struct bp_config_broker {
	bool tls;
	uint16_t tcp_port;
	char host[256]; /* name or address */
};

struct bp_config_publisher {
	bool enabled;
	struct bp_config_broker broker;
	char client_id[128];
	char username[128];
	char password_file[512]; /* "": none; the first line of the file is the password */
	char ca_file[512];       /* "": the system's certificates */
	char cert_file[512], key_file[512];
	uint32_t keep_alive_s;
	uint32_t max_inflight; /* maximum number of alarms without PUBACK */
	uint64_t puback_timeout_ns;
	uint64_t unreachable_after_ns; /* 0: off */
};

enum bp_sasl { BP_SASL_SCRAM_SHA_512, BP_SASL_SCRAM_SHA_256, BP_SASL_PLAIN };

/* The bootstrap servers of a Kafka cluster. */
struct bp_config_kafka_brokers {
	bool tls;
	char list[1024]; /* HOST:PORT,HOST:PORT...; an IPv6 address in brackets */
};

struct bp_config_kafka {
	bool enabled;
	struct bp_config_kafka_brokers brokers;
	char topic[250];
	char client_id[128];
	char username[128];
	char password_file[512]; /* "": none; the first line of the file is the password */
	uint8_t sasl;            /* enum bp_sasl; only with a user name */
	char ca_file[512];       /* "": the system's certificates */
	char cert_file[512], key_file[512];
	uint32_t max_inflight;     /* maximum number of alarms without acknowledgement */
	uint64_t max_message_size; /* bytes */
	uint64_t ack_timeout_ns;
	uint64_t unreachable_after_ns; /* 0: off */
};

struct bp_config_spool {
	char path[512];
	uint64_t max_bytes;
	uint64_t max_age_ns;
	uint32_t max_keys;        /* pairs of rule and topic with separate ordering */
	uint32_t backlog_warning; /* alarms in the spool; 0: off */
};

struct bp_config_mqtt {
	bool enabled; /* the file has an mqtt section */
	uint32_t n_tcp_ports;
	uint16_t tcp_ports[BP_MAX_MQTT_PORTS];
	uint32_t n_websocket_ports;
	uint16_t websocket_ports[BP_MAX_MQTT_PORTS];
	uint32_t n_brokers; /* 0: any address */
	struct bp_prefix brokers[BP_AGG_SENDERS_MAX];
	uint8_t directions; /* enum bp_directions */
	uint8_t strictness; /* enum bp_strictness */
	uint8_t evaluate;   /* enum bp_evaluate */
	bool verify_checksums;
	bool separate_vrfs; /* each VRF is a network of its own */
	uint32_t max_connections;
	uint32_t max_unestablished; /* 0: a quarter of max_connections */
	uint64_t connection_timeout_ns, handshake_timeout_ns;
	uint64_t reassembly_per_connection, reassembly_total; /* bytes */
	uint64_t reassembly_unestablished; /* of reassembly_total; 0: a quarter of it */
	uint64_t reorder_buffer;           /* bytes per direction of a connection */
	uint32_t max_topic_aliases;        /* per direction of a connection */
	uint32_t connection_cpu_percent, worker_cpu_percent;
	uint32_t resync_packets; /* 0: only an answered packet resynchronises */
	uint32_t min_ttl;
	uint32_t max_alarm_states;
	uint32_t max_sparkplug_metrics;
	uint32_t max_watched_topics;
	uint32_t max_combination_values;
	uint32_t max_windows, max_window_values;
	uint32_t max_rules;
	uint32_t max_policy_rules, max_policy_rates;
	uint64_t alarm_queue_size; /* bytes per worker */
	struct bp_config_publisher publisher;
	struct bp_config_kafka kafka;
	struct bp_mirror_target mirror;
	struct bp_config_spool spool;
	uint32_t n_rules;
	struct bp_rule_spec *rules; /* owned by the configuration */
	struct bp_policy_spec policy;
};
BP_CONFIG_SERVICE(mqtt, MQTT)

/* Options of inspection: services/mqtt/inspect.h. */
struct bp_mqtt_options;
void bp_config_mqtt_options(const struct bp_config *c, struct bp_mqtt_options *o);
/* Returns the size of one worker's flow table in the segment, in bytes. Both planes compute the
 * size of the segment; only the data plane reads the table. */
uint64_t bp_flow_table_size(const struct bp_config *c);

#endif
