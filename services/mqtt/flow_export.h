/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLOW_EXPORT_H
#define BP_SERVICES_MQTT_FLOW_EXPORT_H

#include "services/mqtt/connection_record.h"

struct bp_shm;

/*
 * For the control plane: finds the connections whose state changed, and makes records of them. It
 * reads the flow tables while the workers write them, and writes nothing there.
 *
 * A connection has a new record when both directions are at a packet boundary and have rested there
 * for BP_EXPORT_REST_NS (a request and its response are in one record then), or have not rested for
 * BP_EXPORT_BUSY_NS; at most one in BP_EXPORT_INTERVAL_NS, unless it has a new topic. So the
 * cost of a connection does not depend on its packets. A connection that a worker is changing has
 * none, also when the worker has ended meanwhile: its position may be inside a segment whose alarms
 * were not published.
 */
#define BP_EXPORT_REST_NS 2000000ull
#define BP_EXPORT_INTERVAL_NS 40000000ull /* a request, and a response that comes later */
#define BP_EXPORT_BUSY_NS 500000000ull

/* Of one call, over all workers: it blocks the event loop for 0.3 ms at most. In a flood of alarms,
 * is_complete() adds up to 1 ms for all records together. */
#define BP_EXPORT_GROUPS 4096u /* groups of BP_FLOW_WAYS slots, most of which are free */
#define BP_EXPORT_FLOWS 1024u  /* slots in use */
#define BP_EXPORT_RECORDS 64u

/* A record's place, for what is known later. */
struct bp_export_ref {
	uint32_t slot;
	uint16_t worker, life;
	uint32_t next[2]; /* its positions */
};

struct bp_export_sink {
	/* Of this process, not 0: the owner of what changes now. */
	uint64_t epoch;
	/*
	 * The state of a connection, p[0..n). `epoch`: of the process when the connection was last
	 * used, which can be lower than that of now. It may have moved to another gateway since;
	 * its record there has a higher epoch, which this write must not pass.
	 */
	void (*put)(void *arg, const struct bp_export_ref *ref, const struct bp_connection_key *k,
		const uint8_t *p, size_t n, uint64_t epoch);
	/* A connection with a record ended, or is no longer inspected; `epoch` likewise. */
	void (*end)(void *arg, const struct bp_connection_key *k, uint64_t epoch);
	/* Before put(), for the state that was read: whether the fleet has, or gets with the
	 * record, all that its packets have changed. False: the next scan asks again. NULL: always.
	 */
	bool (*is_complete)(void *arg, const struct bp_connection_key *k);
	/* A connection whose record was refused is used again: it has moved back here. Calls
	 * bp_exporter_again() once the process has a higher epoch than the record. */
	void (*claim)(
		void *arg, const struct bp_export_ref *ref, const struct bp_connection_key *k);
	void *arg;
};

struct bp_exporter;
/* NULL: no memory. mono_ns: now, CLOCK_MONOTONIC. Connections that are not used from then on have
 * no record of this exporter: they may have moved to another gateway. */
struct bp_exporter *bp_exporter_create(unsigned workers, uint64_t mono_ns);
void bp_exporter_free(struct bp_exporter *e);
/*
 * Continues with the next slots of the workers' tables, within the bounds above. A record that did
 * not change is made again once half of lifetime_ns has passed and the connection was used since.
 * False: no memory; it continues with the next call.
 */
bool bp_exporter_scan(struct bp_exporter *e, const struct bp_shm *shm, uint64_t mono_ns,
	uint64_t lifetime_ns, const struct bp_export_sink *sink);
/* The last one: examines each slot, and waits for no rest and no interval. */
bool bp_exporter_finish(struct bp_exporter *e, const struct bp_shm *shm, uint64_t mono_ns,
	uint64_t lifetime_ns, const struct bp_export_sink *sink);
/* All records were lost: each connection has one made again. */
void bp_exporter_forget(struct bp_exporter *e);
/* Whether there is a record of the connection of a packet. `p` is untrusted. */
struct bp_stream_place;
bool bp_exporter_has_record(struct bp_exporter *e, const struct bp_stream_place *p);
/* The key of that connection. False: it has ended. */
bool bp_exporter_key(
	const struct bp_shm *shm, const struct bp_stream_place *p, struct bp_connection_key *k);
/* This one was lost. */
void bp_exporter_again(struct bp_exporter *e, const struct bp_export_ref *ref);
/* It was refused: another gateway has the connection. No other one is made until the connection is
 * used here again. */
void bp_exporter_refused(struct bp_exporter *e, const struct bp_export_ref *ref);

#endif
