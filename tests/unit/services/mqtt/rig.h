/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_RIG_H
#define BP_TESTS_UNIT_SERVICES_MQTT_RIG_H

#include "config/mqtt/settings.h"
#include "services/mqtt/burst.h"
#include "services/mqtt/enforce.h"
#include "services/mqtt/inspect.h"
#include "mqtt_peer.h"
#include "shm/layout.h"

struct rig_frames {
	size_t n;
	struct bytes *frame;
};
void rig_frames_free(struct rig_frames *f);

/*
 * An inspector with its environment: a segment in private memory, rules, a clock that only the test
 * advances, and the alarms that it wrote. Aborts with a message if a required call fails; it uses
 * no test framework, because the fuzzers link it too.
 */
struct rig {
	struct bp_config config;
	struct bp_config_mqtt mqtt; /* its settings of the service */
	struct bp_segment *segment;
	struct bp_shm shm;
	struct bp_mqtt_worker *in;
	uint64_t now_ns, mono_ns;
	uint64_t generation;
	const struct bp_ruleset *rules;
	uint64_t gateway; /* gateways have different keys */
	bool live;        /* a tick searches a part of the watched topics, as in a gateway */
	uint8_t *frame;   /* scratch */
	bool trust_checksums;
	/* as the nodes do: frames by the burst (services/mqtt/burst.h) */
	bool bursts;
	uint32_t burst_size; /* maximum frames per burst; 0 is 1 */
	struct bp_mqtt_burst burst;
	uint8_t *exact[BP_MQTT_BURST];
	uint32_t len[BP_MQTT_BURST];
	uint32_t done;                   /* frames of a burst that were forwarded */
	uint64_t n_in_bursts, n_general; /* of these, read by the general path */
	uint64_t n_blanked;              /* and whose topic the burst path overwrote */
	uint64_t n_template, n_numbers;  /* and by a template (services/mqtt/same_template.h) */
	struct rig_frames *record;       /* frames are noted here, and not read */
	/* With a policy that refuses packets: each frame that is forwarded, and each answer. */
	void (*forwarded)(void *arg, const uint8_t *frame, uint32_t len, bool to_client);
	void *forwarded_arg;
	bool no_payload; /* frames are in several buffers, as for the enforcing path */
	/* ingress port + 1 of all frames, or of those of the client; 0: unknown */
	uint8_t port, broker_port;
	uint8_t network; /* of all frames */
	bool routed;     /* both are routed ports */
	uint32_t pieces; /* split frames in pieces of this many bytes after the headers; 0: whole */
};

/* Small bounds that tests change before rig_open(). */
void rig_defaults(struct rig *r);
void rig_open(struct rig *r);
/* Expires every flow, demands that nothing is carried any more, and frees all. */
void rig_close(struct rig *r);
/* The process is killed, and another one begins with the content of the segment. */
void rig_restart(struct rig *r);
/* Moves the clock far enough that every flow is over its time, and lets them go. */
void rig_expire_all(struct rig *r);

/* Puts these rules active, as a reload does: in the other bank, with the old set at hand. */
void rig_rules(struct rig *r, const struct bp_rule_spec *rules, uint32_t n);
/* The same, and no burst has begun since. */
void rig_reload(struct rig *r, const struct bp_rule_spec *rules, uint32_t n);
/* `op` one of enum bp_cond_op; value source text, action publish, to "alarm/{topic}". */
struct bp_rule_spec rig_rule(const char *name, const char *filter, uint8_t op, double a);

void rig_advance(struct rig *r, uint64_t ns);
/* One frame as the nodes `ethernet` and `mqtt` treat it. It is copied to memory of its very size.
 */
void rig_frame(struct rig *r, const uint8_t *frame, size_t len);
/* Reads what was gathered so far. */
void rig_flush(struct rig *r);
/* bp_single_checksum_ok() */
bool rig_plain_checksum_ok(const uint8_t *frame, uint32_t total);
uint64_t rig_count(const struct rig *r, bp_counter_t c);

/* Segments of a connection. send: at the position, which moves on; the ACK is always up to date. */
void rig_segment(struct rig *r, const struct peer *c, unsigned from, uint8_t flags, uint32_t seq,
	uint32_t ack, const void *payload, size_t n);
void rig_send(struct rig *r, struct peer *c, unsigned from, const void *payload, size_t n);
void rig_send_bytes(struct rig *r, struct peer *c, unsigned from, struct bytes *b); /* and frees */
void rig_ack(struct rig *r, const struct peer *c, unsigned from);                   /* bare */
/* The receiver of what `from` sends has all of it, and the sender continues from there. */
void rig_ack_all(struct rig *r, const struct peer *c, unsigned from);
/* CONNACK with success. */
void rig_accept(struct rig *r, struct peer *c, uint8_t version);
void rig_handshake(struct rig *r, struct peer *c); /* SYN, SYN-ACK, ACK */
void rig_connect(struct rig *r, struct peer *c, uint8_t version, const char *client_id);
/* ...with the topic aliases that the broker and the client allow each other. */
void rig_connect_alias(struct rig *r, struct peer *c, const char *client_id, uint16_t broker_allows,
	uint16_t client_allows);
void rig_publish(struct rig *r, struct peer *c, unsigned from, const struct mq_publish *p);
/* QoS 0 of version 3.1.1. */
void rig_publish_text(struct rig *r, struct peer *c, const char *topic, const char *payload);
void rig_fin_both(struct rig *r, struct peer *c);

/* An alarm out of the ring. */
struct told {
	uint64_t id, time_ns;
	double value;
	uint8_t state, flags, qos, severity;
	uint64_t transition;
	uint16_t client_port;
	uint8_t client_ip[16];
	char rule[64], client[256], topic[1100], to[1400];
	uint8_t *payload;
	uint32_t payload_len;
	uint8_t value_text; /* as in struct bp_alarm */
	char value_string[64];
	struct bp_alarm_times times;
};
struct told_list {
	struct told *a;
	size_t n;
};
/* Takes all that is in the ring. */
struct told_list rig_told(struct rig *r);
void told_free(struct told_list *l);
/* The values of the alarms, in order, as "81 82"; all are taken. Static memory. */
const char *rig_told_values(struct rig *r);
/* Takes and drops them; how many there were. */
size_t rig_told_count(struct rig *r);

#endif
