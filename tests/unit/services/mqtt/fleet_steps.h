/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_FLEET_STEPS_H
#define BP_TESTS_UNIT_SERVICES_MQTT_FLEET_STEPS_H

#include <string.h>

#include "biplane/counters/mqtt.h"
#include "rig.h"
#include "websocket_peer.h"
#include "services/mqtt/flow_export.h"
#include "shm/mqtt/mqtt_tables.h"

/*
 * Two gateways of a fleet, whose control planes this test is: `one` has a connection, `two` meets
 * it later. Each test has a pair of its own.
 */
static struct rig one, two;
static struct bp_exporter *exporter; /* of `one` */

static struct {
	struct bp_connection_key key;
	uint8_t p[BP_CONNECTION_RECORD_MAX];
	size_t n;
	struct bp_export_ref ref;
	uint64_t epoch;
	unsigned puts, ends, claims;
} stored;
static uint64_t own_epoch; /* of the control plane of `one` */

static inline void stored_put(void *arg, const struct bp_export_ref *ref,
	const struct bp_connection_key *k, const uint8_t *p, size_t n, uint64_t epoch)
{
	(void)arg;
	stored.ref = *ref;
	stored.epoch = epoch;
	stored.key = *k;
	memcpy(stored.p, p, n);
	stored.n = n;
	stored.puts++;
}

static inline void stored_end(void *arg, const struct bp_connection_key *k, uint64_t epoch)
{
	(void)arg;
	stored.epoch = epoch;
	stored.key = *k;
	stored.ends++;
}

static inline void stored_claim(
	void *arg, const struct bp_export_ref *ref, const struct bp_connection_key *k)
{
	(void)arg;
	stored.ref = *ref;
	stored.key = *k;
	stored.claims++;
}

/* of gateways that are opened from now on */
static uint32_t resync_packets;
static bool to_broker_only;
static void (*configure)(struct rig *r); /* NULL: nothing else */

static inline void open_gateway(struct rig *r, uint64_t gateway)
{
	rig_defaults(r);
	r->gateway = gateway;
	r->config.fleet.state.enabled = true;
	r->mqtt.directions = to_broker_only ? BP_DIRECTIONS_TO_BROKER : BP_DIRECTIONS_BOTH;
	r->mqtt.resync_packets = resync_packets;
	r->mqtt.n_websocket_ports = 1;
	r->mqtt.websocket_ports[0] = WS_PORT;
	if (configure != NULL)
		configure(r);
	rig_open(r);
	rig_rules(r, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static inline void open_fleet(void)
{
	memset(&stored, 0, sizeof(stored));
	open_gateway(&one, 1);
	open_gateway(&two, 2);
	own_epoch = 1;
	exporter = bp_exporter_create(1, one.mono_ns);
	assert_non_null(exporter);
}

static inline void close_fleet(void)
{
	bp_exporter_free(exporter);
	rig_close(&one);
	rig_close(&two);
}

static inline struct bp_export_sink sink_of_one(void)
{
	return (struct bp_export_sink){
		.epoch = own_epoch, .put = stored_put, .end = stored_end, .claim = stored_claim};
}

static inline void scan(void)
{
	const struct bp_export_sink sink = sink_of_one();

	assert_true(bp_exporter_scan(
		exporter, &one.shm, one.mono_ns, one.mqtt.connection_timeout_ns, &sink));
}

/* The connection rests, and has a record. */
static inline void rest_and_scan(void)
{
	rig_advance(&one, 2 * BP_EXPORT_INTERVAL_NS);
	scan();
}

/* The next request of `two`. False: there is none. */
static inline bool request(struct bp_connection_key *k)
{
	struct bp_ring *ring = &two.shm.adopt_requests[0];
	uint64_t cursor = bp_ring_tail(ring);
	uint32_t size;
	const void *p = bp_ring_peek(ring, &cursor, &size);

	if (p == NULL)
		return false;
	assert_int_equal(size, sizeof(*k));
	memcpy(k, p, sizeof(*k));
	bp_ring_release(ring, cursor);
	return true;
}

static inline void offer_holds(uint32_t result, const struct bp_connection_key *k,
	const void *holds, size_t holds_len, const void *record, size_t n)
{
	const struct bp_adopt_offer head = {.result = result, .holds_len = (uint32_t)holds_len};
	struct bp_ring *ring = &two.shm.adopt_offers[0];
	uint64_t mark;
	uint8_t *p =
		bp_ring_reserve(ring, (uint32_t)(sizeof(head) + sizeof(*k) + holds_len + n), &mark);

	assert_non_null(p);
	memcpy(p, &head, sizeof(head));
	memcpy(p + sizeof(head), k, sizeof(*k));
	p += sizeof(head) + sizeof(*k);
	if (holds_len != 0)
		memcpy(p, holds, holds_len);
	if (n != 0)
		memcpy(p + holds_len, record, n);
	bp_ring_commit(ring, mark);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
}

static inline void offer_bytes(
	uint32_t result, const struct bp_connection_key *k, const void *record, size_t n)
{
	offer_holds(result, k, NULL, 0, record, n);
}

/* Answers that had a result. */
static inline uint64_t answers(void)
{
	static const bp_counter_t result[] = {BP_C_FLEET_ADOPTED, BP_C_FLEET_STALE,
		BP_C_FLEET_CONFLICT, BP_C_FLEET_INVALID, BP_C_FLEET_LATE};
	uint64_t n = 0;

	for (unsigned i = 0; i < sizeof(result) / sizeof(result[0]); i++)
		n += rig_count(&two, result[i]);
	return n;
}

/* The next request, if there is one after the time in which a stale record is asked for again. */
static inline bool request_again(struct bp_connection_key *k)
{
	rig_advance(&two, 60000000);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	return request(k);
}

/* The same record, also if it is asked for again, until there is a result. */
static inline void offer_record(const struct bp_connection_key *k, const void *record, size_t n)
{
	const uint64_t before = answers();
	struct bp_connection_key again;

	offer_bytes(BP_ADOPT_FOUND, k, record, n);
	while (answers() == before) {
		assert_true(request_again(&again));
		assert_true(bp_connection_key_equal(k, &again));
		offer_bytes(BP_ADOPT_FOUND, &again, record, n);
	}
}

/* The fleet has no record of what `two` asks for. */
static inline void answer_not_found(void)
{
	struct bp_connection_key k;

	while (request(&k))
		offer_bytes(BP_ADOPT_NOT_FOUND, &k, NULL, 0);
}

/* `two` has asked for the connection, and gets the record. */
static inline void offer(void)
{
	struct bp_connection_key k;

	assert_true(request(&k));
	assert_true(bp_connection_key_equal(&k, &stored.key));
	offer_record(&k, stored.p, stored.n);
}

static inline void publish_alias(
	struct rig *r, struct peer *c, const char *topic, uint16_t alias, const char *value)
{
	rig_publish(r, c, CLIENT,
		&(struct mq_publish){
			.version = 5, .topic = topic, .alias = alias, .payload = value});
	rig_ack(r, c, BROKER);
}

/* A client of `one` with an alias; its record. */
static inline void connect_alias(struct peer *c, uint32_t number)
{
	peer_init(c, number & 1, number, 0xffffff00u + number, 0xfffffff0u);
	rig_connect_alias(&one, c, "sensor", 10, 10);
	publish_alias(&one, c, "t/x", 3, "1");
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	assert_string_equal(rig_told_values(&one), "");
}

#endif
