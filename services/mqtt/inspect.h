/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_INSPECT_H
#define BP_SERVICES_MQTT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "proto/frame.h"
#include "shm/layout.h"

/*
 * One worker's inspection: TCP streams to and from the inspected ports are followed, MQTT is read
 * from them, rules judge the values, alarms go to the ring or out as clones. No DPDK in here, and
 * time is a parameter, so that tests, fuzzers and replay run the very same code.
 */
struct bp_mqtt_worker;

/* What action clone needs from whoever owns the frames. */
struct bp_clone_request {
	const struct bp_rule *rule;
	const struct bp_frame *frame; /* the frame that completed the PUBLISH */
	const struct bp_mqtt_publish *publish;
	const char *to; /* topic to clone to */
	uint16_t to_len;
	uint8_t version; /* of MQTT */
	uint32_t seq;    /* of the PUBLISH's first byte, or the frame's */
};
/* Returns true when the clone was sent; otherwise it has counted why not. */
typedef bool (*bp_clone_fn)(void *arg, const struct bp_clone_request *r);

/*
 * `worker` is the index of its row in the tables of `shm`. Connections that an earlier process left
 * there are adopted, as far as they are sound, and read on. `record_clones`: alarms of action
 * clone go to the ring too (replay). Returns NULL with a sentence.
 */
struct bp_mqtt_worker *bp_mqtt_worker_create(const struct bp_config *c, struct bp_shm *shm,
	unsigned worker, bool record_clones, char *err, size_t err_size);
/* Why no connection of before could be adopted, in a few words; NULL: there was no such reason. */
const char *bp_mqtt_worker_not_adopted(const struct bp_mqtt_worker *in);
void bp_mqtt_worker_free(struct bp_mqtt_worker *in);
void bp_mqtt_worker_set_clone(struct bp_mqtt_worker *in, bp_clone_fn fn, void *arg);
/* Whether routing forwards a segment received on a routed port. Called for unproven connections. */
typedef bool (*bp_is_forwarded_fn)(void *arg, const struct bp_frame *f);
void bp_mqtt_worker_set_is_forwarded(struct bp_mqtt_worker *in, bp_is_forwarded_fn fn, void *arg);

/*
 * Before each burst: the rules in force, the Unix time that its alarms carry, and a clock that does
 * not go back, both in ns.
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
 * `frame` must be parsed (bp_frame_parse() said TCP) and its checksum judged by the caller.
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

/* Every now and then between bursts: expires idle flows, a bounded number a call. */
void bp_mqtt_worker_tick(struct bp_mqtt_worker *in, uint64_t mono_ns);

/* For tests: flows in the table, bytes carried, and the work of all segments so far (work.h). */
uint32_t bp_mqtt_worker_flows(const struct bp_mqtt_worker *in);
uint32_t bp_mqtt_worker_delayed(const struct bp_mqtt_worker *in); /* wills that wait */
void bp_mqtt_worker_end_delays(struct bp_mqtt_worker *in);        /* all of them are due */
uint64_t bp_mqtt_worker_work(const struct bp_mqtt_worker *in);
uint64_t bp_mqtt_worker_carried(const struct bp_mqtt_worker *in);

#endif
