/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_INSPECT_H
#define BP_SERVICES_MQTT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/aggregation.h"
#include "biplane/fib.h"
#include "biplane/limits.h"
#include "proto/net/frame.h"
#include "shm/layout.h"

/*
 * One worker's inspection: TCP streams to and from the inspected ports are followed, MQTT is read
 * from them, rules evaluate the values, alarms go to the ring or out as clones. No DPDK in here,
 * and time is a parameter, so that tests, fuzzers and replay run the very same code.
 */
struct bp_mqtt_worker;

/* The input of action mirror, for the owner of the frames. */
struct bp_mirror_request {
	const struct bp_rule *rule;
	const struct bp_frame *frame; /* the frame that completed the PUBLISH */
	const struct bp_mqtt_publish *publish;
	const char *to; /* topic to clone to */
	uint16_t to_len;
	uint8_t version; /* of MQTT */
	uint32_t seq;    /* of the PUBLISH's first byte, or the frame's */
};
/* Returns true when the clone was sent; otherwise it has counted why not. */
typedef bool (*bp_mirror_fn)(void *arg, const struct bp_mirror_request *r);

/* The configuration of inspection. Limits are the totals of all workers. */
struct bp_mqtt_options {
	uint32_t workers;
	/* differs where connections may be other workers' than before, or of other networks */
	uint64_t placement;
	char networks[BP_NETWORKS_CONFIGURED][BP_NAME_MAX + 1]; /* by number; "" of number 0 */
	bool separate_vrfs;                                     /* each is a network of its own */
	uint32_t n_ports, n_websocket_ports; /* the latter are the last ones of the former */
	uint16_t ports[2 * BP_MAX_MQTT_PORTS];
	uint32_t n_brokers; /* 0: any address */
	struct bp_prefix brokers[BP_AGG_SENDERS_MAX];
	bool evaluates[2];                   /* by direction: publications are evaluated */
	bool mosquitto;                      /* its view is taken of what clients send */
	bool acknowledged;                   /* QoS 1 and 2 wait for their acknowledgement */
	uint32_t max_proven, max_unproven;   /* connections */
	uint64_t idle_ns, handshake_ns;      /* timeouts of both kinds */
	uint64_t reassembly_per_flow;        /* bytes of a connection */
	uint64_t reassembly_unproven;        /* bytes of all unproven connections */
	uint64_t reorder_bytes;              /* per direction of a connection */
	uint16_t max_topic_aliases;          /* per direction of a connection */
	uint32_t work_budget, worker_budget; /* percent of a core */
	uint8_t resync_pushes;               /* 0: only an answer proves a boundary */
	uint8_t min_ttl;                     /* of a segment that is read */
	bool shares_connections; /* with a fleet: connections met mid-stream may be adopted */
};

/* Bytes of one worker's flow table in the segment. */
uint64_t bp_mqtt_flow_table_bytes(const struct bp_mqtt_options *o);

/*
 * `worker` is the index of its row in the tables of `shm`. Connections that an earlier process left
 * there are adopted where they are consistent, and their inspection continues. `record_mirrored`:
 * alarms of action mirror are also written to the ring, and events of the policy have no limit
 * (replay). Returns NULL with a sentence in
 * err.
 */
struct bp_mqtt_worker *bp_mqtt_worker_create(const struct bp_mqtt_options *o, struct bp_shm *shm,
	unsigned worker, bool record_mirrored, char *err, size_t err_size);
/*
 * The number of the network of each VRF, by its routing table in the kernel; 0: the main VRF. The
 * caller no longer uses the numbers of the call before: one without a connection may be that of
 * another VRF now.
 */
void bp_mqtt_worker_networks(
	struct bp_mqtt_worker *in, const uint32_t *table, uint8_t *network, unsigned n);
/* The reason why no connection of an earlier process could be adopted, as a short phrase; NULL:
 * there was no such reason. */
const char *bp_mqtt_worker_not_adopted(const struct bp_mqtt_worker *in);
void bp_mqtt_worker_free(struct bp_mqtt_worker *in);
void bp_mqtt_worker_set_mirror(struct bp_mqtt_worker *in, bp_mirror_fn fn, void *arg);
/* Whether routing forwards a segment received on a routed port. Called for unproven connections. */
typedef bool (*bp_is_forwarded_fn)(void *arg, const struct bp_frame *f);
void bp_mqtt_worker_set_is_forwarded(struct bp_mqtt_worker *in, bp_is_forwarded_fn fn, void *arg);
/* Called for each rule that was evaluated for a value; *value NULL: the payload has none.
 * `verdict`: enum bp_verdict. For traces: NULL ends it. */
struct bp_rule;
typedef void (*bp_mqtt_evaluated_fn)(
	void *arg, const struct bp_rule *rule, const double *value, unsigned verdict);
void bp_mqtt_worker_set_evaluated(struct bp_mqtt_worker *in, bp_mqtt_evaluated_fn fn, void *arg);
/* Monotonic clock now, ns: of the same clock as mono_ns below. Called for each alarm; without it,
 * an alarm is evaluated at the time of its burst. */
typedef uint64_t (*bp_mqtt_clock_fn)(const void *arg);
void bp_mqtt_worker_set_clock(struct bp_mqtt_worker *in, bp_mqtt_clock_fn fn, const void *arg);

/*
 * Called before each burst. rules: the active rules; now_ns: the Unix time of its alarms; mono_ns:
 * a monotonic clock; both in ns.
 */
void bp_mqtt_worker_begin(struct bp_mqtt_worker *in, const struct bp_ruleset *rules,
	uint64_t now_ns, uint64_t mono_ns);

/* Whether a TCP segment between these ports (host byte order) is inspected, and in which direction:
 * *to_broker when the destination is the broker. */
bool bp_mqtt_worker_inspects(
	const struct bp_mqtt_worker *in, uint16_t sport, uint16_t dport, bool *to_broker);

/*
 * A burst in three steps, so that the memory that each frame needs is on its way while the others
 * are worked on: hash (prefetches the tags), probe (prefetches the flow), then the segment itself.
 * `frame` must be parsed (bp_frame_parse() said TCP) and its checksum verified by the caller.
 */
struct bp_lookup {
	uint64_t k0, k1, hash;
	struct bp_flow *flow; /* candidate from the probe: may be another flow, or free */
};
void bp_inspect_hash(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l);
void bp_inspect_probe(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l);
void bp_inspect_segment(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l);

/* All three for one frame: tests and tools. */
void bp_inspect_one(struct bp_mqtt_worker *in, const struct bp_frame *f);

/*
 * Where the active rules are, for publications that a tick evaluates: delayed wills, and those of
 * adopted connections. A reload may have replaced the rules of the last burst since. NULL: those of
 * the last burst.
 */
void bp_mqtt_worker_follow_rules(struct bp_mqtt_worker *in, const struct bp_ruleset *const *active);

/* Where the Unix time is, for alarms that a tick raises on a worker without traffic. NULL: the time
 * of the last burst, advanced by the ticks. */
void bp_mqtt_worker_follow_time(struct bp_mqtt_worker *in, const uint64_t *real_ns);
/* When the worker ran again after a long pause, as mono_ns; *resumed_ns 0: there was none. In a
 * fleet, another gateway may have read the frames that waited meanwhile. */
void bp_mqtt_worker_follow_pauses(struct bp_mqtt_worker *in, const uint64_t *resumed_ns);

/* The worker searches share `share` of `shares` for silent topics and windows that expire. Of
 * the workers, some may not run: those without a receive queue. */
void bp_mqtt_worker_share(struct bp_mqtt_worker *in, unsigned share, unsigned shares);

/* When a tick next raises an alarm at the earliest, monotonic; UINT64_MAX: never. */
uint64_t bp_mqtt_worker_timer(const struct bp_mqtt_worker *in);

/* Every now and then between bursts: expires idle flows, a bounded number a call. */
void bp_mqtt_worker_tick(struct bp_mqtt_worker *in, uint64_t mono_ns);

/* For tests: flows in the table, bytes carried, and the work of all segments so far (work.h). */
uint32_t bp_mqtt_worker_flows(const struct bp_mqtt_worker *in);
uint32_t bp_mqtt_worker_delayed(const struct bp_mqtt_worker *in); /* wills that wait */
void bp_mqtt_worker_end_delays(struct bp_mqtt_worker *in);        /* all of them are due */
uint64_t bp_mqtt_worker_work(const struct bp_mqtt_worker *in);
uint64_t bp_mqtt_worker_carried(const struct bp_mqtt_worker *in);

#endif
