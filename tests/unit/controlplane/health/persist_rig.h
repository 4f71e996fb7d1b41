/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_PERSIST_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_PERSIST_RIG_H

#include "controlplane/health/store/persist.h"
#include "tests/unit/controlplane/health/phd_store_rig.h"
#include "tests/unit/shm/health/phd_rig.h"

/* A control plane's manager with its store, over tables that outlive it or not. Devices are
 * numbers: device n has the system-id rig_system_id(n) and, unless said otherwise,
 * address 10.9.x.y, port 40000. */
struct persist_rig {
	struct rig *store; /* its directory, path, event base and stderr; its store is not used */
	struct event_base *base;
	struct phd_rig x;
	struct bp_config_phd c;
	struct bp_phd_manager_counts counts;
	struct bp_phd_manager *m;
	struct bp_phd_persist *persist;
	bool tables, denies;
	/* since the start: */
	unsigned restored; /* sessions reported as restored */
	unsigned replies;  /* APDUs sent */
	uint8_t last[64];  /* the last one of an association */
};

struct persist_rig *persist_rig_new(struct rig *store, uint32_t sessions);
void persist_rig_free(struct persist_rig *k);
/* A control plane starts; the loop does not run. Without tables it makes them. */
void persist_start(struct persist_rig *k);
/* Until reading ended. */
void persist_load(struct persist_rig *k);
/* It ends, with all written that was queued; the tables stay. */
void persist_stop(struct persist_rig *k);
/* The segment is gone. */
void persist_lose_tables(struct persist_rig *k);

/* The device sends, from this port. */
void persist_send(
	struct persist_rig *k, unsigned device, uint16_t port, const uint8_t *apdu, size_t len);
void persist_aarq(struct persist_rig *k, unsigned device, uint16_t port, uint16_t config_id);
/* A whole association by a configuration of its own, which measures `code`. */
void persist_declare(struct persist_rig *k, unsigned device, uint16_t config_id, uint16_t code);
/* The result of the AARE that was the last reply, or what else it was. */
int persist_answered(const struct persist_rig *k);

/* The device's session, or NULL; found by its system-id, and checked to be in the table. */
struct bp_phd_session *persist_session(const struct persist_rig *k, unsigned device);
enum bp_phd_state persist_state(const struct persist_rig *k, unsigned device);

/* Asks the closed file: an integer. */
long persist_sql(const struct persist_rig *k, const char *sql);
/* That the closed file has a row for each operating UDP session in the table, as it is there but
 * for `reports`, and no other. */
void persist_check_rows(const struct persist_rig *k);

#endif
