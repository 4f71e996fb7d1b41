/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_FLOW_TABLE_RIG_H
#define BP_TESTS_UNIT_SERVICES_MQTT_FLOW_TABLE_RIG_H

#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "services/mqtt/flow.h"

#define SECOND 1000000000ull

/* A flow table under a time that the test sets. */
struct table {
	struct bp_flow_table t;
	struct bp_counters counters;
	void *memory;
	uint64_t bytes;
	uint64_t mono_ns;
};

extern unsigned table_released; /* flows of the last table that was opened */

struct table *table_open(uint32_t capacity, uint64_t idle_ns, uint64_t opening_ns);
void table_close(struct table *t);
void table_at(struct table *t, uint64_t mono_ns);
struct bp_flow *table_find(struct table *t, uint64_t k0, uint64_t k1);
struct bp_flow *table_add(struct table *t, uint64_t k0, uint64_t k1, unsigned list);
/* Everything that must agree with everything else. */
void table_consistent(const struct bp_flow_table *t);

#endif
