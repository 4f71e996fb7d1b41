/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_SEGMENT_GATEWAY_H
#define BP_TESTS_HOSTILE_SEGMENT_GATEWAY_H

#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform/transform_rig.h"

#include "dataplane/workers/ruleset_copies.h"
#include "shm/health/phd_writer.h"

/*
 * A worker with every service at the same time, traffic for each of them, and functions that
 * overwrite what the control plane has written. The unit test and the fuzz target share it.
 *
 * Ports: a and b are bridged, with inspection, aggregation, transformation and LCL scheduling; c
 * and d route, with health devices behind c and the CSE behind d.
 */
enum { GW_A, GW_B, GW_C, GW_D, GW_PORTS };

enum gateway_traffic {
	GW_MQTT,      /* a connection opens, publishes and closes; an old one publishes */
	GW_HEALTH,    /* reports of devices, and the CSE's responses */
	GW_ROUTED,    /* IPv4 and IPv6 packets for every kind of route */
	GW_AGGREGATE, /* messages, and the aggregates that resulted from them, on their way back */
	GW_TRANSFORM, /* readings of trackers that have entries, and of one that has none */
	GW_LCL,       /* frames with labels and without */
	GW_TRAFFIC,
};

/* Data that the control plane activates with a new generation. */
enum gateway_plan {
	GW_RULES,
	GW_AGG_PLAN,
	GW_LCL_PLAN,
	GW_PHD_PLAN,
	GW_BANK,
	GW_LAYOUTS,
	GW_SAMPLING_PLAN,
	GW_PLANS
};

/* A table that the control plane writes, alone or with the data plane. */
struct gateway_table {
	const char *name;
	uint8_t *bytes;
	uint64_t size;
	uint32_t *hot; /* offsets of words that are not 0, when all was set up */
	uint32_t n_hot;
};
#define GW_TABLES_MAX 192u

struct gateway_undo {
	uint8_t *at;
	uint8_t was[8];
	uint8_t n;
};

struct gateway {
	struct xrig x;
	struct bp_ruleset_copies *banks;
	struct bp_phd_writer *phd;
	struct bp_phd_settings plan;
	struct gateway_table table[GW_TABLES_MAX];
	unsigned n_tables;
	struct gateway_undo *undo;
	size_t n_undo, room_undo;
	unsigned serial; /* of bursts */
	uint64_t rules_generation;
	unsigned rules_taken[BP_RULESET_COPIES_REJECTED + 1]; /* by enum bp_ruleset_copies_result */
	void *mqtt;                                           /* mqtt_traffic.c */
};

void gateway_start(struct gateway *g);
/* Checks that no buffer was lost. */
void gateway_stop(struct gateway *g);

/* One burst of that kind through the worker, and what comes back for it. */
void gateway_burst(struct gateway *g, enum gateway_traffic kind);

/* Overwrites up to 8 bytes of a table; bytes beyond its end are omitted. */
void gateway_write(struct gateway *g, unsigned table, uint64_t at, const void *bytes, unsigned n);
/* Gives the current content of the tables of `plan` a new generation, so that workers load it. */
void gateway_publish(struct gateway *g, enum gateway_plan plan);
/* All bytes are as they were before the first gateway_write(), and are active. */
void gateway_mend(struct gateway *g);

/* Walks until nothing is held any more: no aggregate, no frame that waits for its slot. False: not
 * all buffers came back. */
bool gateway_drain(struct gateway *g);

/* Puts n rules active, of those that traffic matches: at most GW_RULES_MAX. `same`: with the
 * generation of those before them. Of every kind: plain ones, then a combination, a rule with
 * `absent`, one on a string, windows over values and time, one on Sparkplug B, one on all elements
 * of an array, and one with deadband and quiet. */
#define GW_RULES_MAX 14u
#define GW_PARTS 2u /* of the combination; they are rules of their own in the image */
void gateway_rules(struct gateway *g, unsigned n, bool same);

/* ---- of gateway.c, for the files of traffic ---- */

/* Puts a frame in; without room it is none. */
void gateway_put(struct gateway *g, unsigned port, const void *frame, uint32_t len);
void gateway_walk(struct gateway *g);
/* Frees what left by a port, and what went to the kernel. */
void gateway_clear(struct gateway *g);

/* ---- the files of traffic ---- */
void gateway_mqtt_start(struct gateway *g);
void gateway_mqtt_stop(struct gateway *g);
void gateway_mqtt(struct gateway *g);
void gateway_health_start(struct gateway *g);
void gateway_health(struct gateway *g);

#endif
