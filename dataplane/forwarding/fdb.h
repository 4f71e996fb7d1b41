/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_FORWARDING_FDB_H
#define BP_DATAPLANE_FORWARDING_FDB_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/limits.h"

struct bp_config;
struct bp_mac_table;

/*
 * The forwarding databases: one MAC table for each learning bridge, with its own limit and aging
 * time, so that no bridge uses entries of another. A two-port bridge that does not learn has none
 * (NULL).
 */
struct bp_fdb {
	struct bp_mac_table *of[BP_MAX_BRIDGES];
};

/* 0, or -1 with the reason in `err`. The caller must call bp_fdb_free() in both cases. */
int bp_fdb_create(struct bp_fdb *fdb, const struct bp_config *c, char *err, size_t err_size);
void bp_fdb_free(struct bp_fdb *fdb);
/* For one thread: see bp_mac_table_tick(). */
void bp_fdb_tick(const struct bp_fdb *fdb, unsigned n_bridges, uint64_t mono_ns);

#endif
