/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_KEEP_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_KEEP_RIG_H

#include "controlplane/health/store/persist.h"
#include "tests/unit/controlplane/health/phd_store_rig.h"
#include "tests/unit/shm/health/phd_rig.h"

/* A control plane's manager with its store, over tables that outlive it or not. Devices are
 * numbers: device n has the system-id rig_system_id(n) and, unless said otherwise,
 * address 10.9.x.y, port 40000. */
struct keep_rig {
	struct rig *store; /* its directory, path, event base and stderr; its store is not used */
	struct event_base *base;
	struct phd_rig x;
	struct bp_config_phd c;
	struct bp_phd_manager_counts counts;
	struct bp_phd_manager *m;
	struct bp_phd_persist *keep;
	bool tables, denies;
	/* since the start: */
	unsigned restored; /* sessions of which that was told */
	unsigned replies;  /* APDUs sent */
	uint8_t last[64];  /* the last one of an association */
};

struct keep_rig *keep_rig_new(struct rig *store, uint32_t sessions);
void keep_rig_free(struct keep_rig *k);
/* A control plane starts; the loop does not run. Without tables it makes them. */
void keep_start(struct keep_rig *k);
/* Until reading ended. */
void keep_load(struct keep_rig *k);
/* It ends, with all written that was queued; the tables stay. */
void keep_stop(struct keep_rig *k);
/* The segment is gone. */
void keep_lose_tables(struct keep_rig *k);

/* The device sends, from this port. */
void keep_send(struct keep_rig *k, unsigned device, uint16_t port, const uint8_t *apdu, size_t len);
void keep_aarq(struct keep_rig *k, unsigned device, uint16_t port, uint16_t config_id);
/* A whole association by a configuration of its own, which measures `code`. */
void keep_declare(struct keep_rig *k, unsigned device, uint16_t config_id, uint16_t code);
/* The result of the AARE that was the last reply, or what else it was. */
int keep_answered(const struct keep_rig *k);

/* The device's session, or NULL; found by its system-id, and checked to be in the table. */
struct bp_phd_session *keep_session(const struct keep_rig *k, unsigned device);
enum bp_phd_state keep_state(const struct keep_rig *k, unsigned device);

/* Asks the closed file: an integer. */
long keep_sql(const struct keep_rig *k, const char *sql);
/* That the closed file has a row for each operating UDP session in the table, as it is there but
 * for `reports`, and no other. */
void keep_check_rows(const struct keep_rig *k);

#endif
