/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TOP_CONNECTIONS_H
#define BP_APPS_BIPLANE_TOP_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "services/mqtt/flow_show.h"
#include "shm/layout.h"

/*
 * Rates of the MQTT connections. An update reads at most BP_TOP_SLOTS slots of the tables and
 * continues there at the next update, so that its work does not depend on the number of
 * connections; a connection's rate is its average since it was read last. What was read of each
 * slot stays in private memory (16 bytes a slot), from which the first rows of an order are
 * selected.
 */
#define BP_TOP_SLOTS (1u << 17)

struct bp_top_slot {
	uint32_t publishes;
	uint32_t seen;
	float rate; /* NAN: read only once */
	uint16_t life;
	uint8_t used;
};

struct bp_top_connections {
	struct bp_top_slot *slot; /* of all workers, one after the other */
	uint64_t *read_ns;        /* by chunk of 4096 slots: when they were read last */
	uint64_t slots, at;
	uint64_t per_worker[BP_MAX_WORKERS];
	unsigned updates; /* for all slots */
};

enum bp_top_connection_order { BP_TOP_BY_RATE, BP_TOP_BY_PUBLISHES, BP_TOP_BY_IDLE };

struct bp_top_connection {
	struct bp_flow_view view;
	double rate; /* NAN: unknown */
};

/* Returns whether there was enough memory. */
bool bp_top_connections_update(
	struct bp_top_connections *c, const struct bp_shm *m, uint64_t mono_ns);
/*
 * The first n connections of the order, or the last ones; out[] has n elements. Returns their
 * number. Connections that ended since the update are left out.
 */
unsigned bp_top_connections_first(const struct bp_top_connections *c, const struct bp_shm *m,
	uint64_t mono_ns, enum bp_top_connection_order order, bool ascending,
	struct bp_top_connection *out, unsigned n);
void bp_top_connections_free(struct bp_top_connections *c);

#endif
