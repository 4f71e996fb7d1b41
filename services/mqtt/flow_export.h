/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLOW_EXPORT_H
#define BP_SERVICES_MQTT_FLOW_EXPORT_H

#include "services/mqtt/connection_record.h"

struct bp_shm;

/*
 * For the control plane: finds the connections whose state changed, and makes records of them. It
 * reads the flow tables while the workers write them, and writes nothing there. A connection has a
 * record once both directions have rested at a packet boundary for BP_EXPORT_REST_NS, so a
 * connection with many packets costs nothing for each of them.
 */
#define BP_EXPORT_REST_NS 100000000ull

struct bp_export_sink {
	/* The state of a connection, p[0..n). */
	void (*put)(void *arg, const struct bp_connection_key *k, const uint8_t *p, size_t n);
	/* A connection with a record ended, or is no longer inspected. */
	void (*end)(void *arg, const struct bp_connection_key *k);
	void *arg;
};

struct bp_exporter;
/* NULL: no memory. */
struct bp_exporter *bp_exporter_create(unsigned workers);
void bp_exporter_free(struct bp_exporter *e);
/*
 * Examines the next slots of each worker's table, an eighth of the table and between
 * BP_EXPORT_SLOTS_MIN and BP_EXPORT_SLOTS_MAX. mono_ns: CLOCK_MONOTONIC. A record that did not
 * change is made again once half of lifetime_ns has passed and the connection was used since.
 * False: no memory; it continues with the next call.
 */
#define BP_EXPORT_SLOTS_MIN 16384u
#define BP_EXPORT_SLOTS_MAX 65536u
bool bp_exporter_scan(struct bp_exporter *e, const struct bp_shm *shm, uint64_t mono_ns,
	uint64_t lifetime_ns, const struct bp_export_sink *sink);
/* All records were lost: each connection has one made again. */
void bp_exporter_forget(struct bp_exporter *e);

#endif
