/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/forwarding/fdb.h"

#include <stdio.h>

#include "config/config.h"
#include "dataplane/forwarding/mac_table.h"

int bp_fdb_create(struct bp_fdb *fdb, const struct bp_config *c, char *err, size_t err_size)
{
	*fdb = (struct bp_fdb){{NULL}};
	for (unsigned b = 0; b < c->n_bridges; b++) {
		const struct bp_config_bridge *br = &c->bridge[b];

		if (br->n == 2 && !br->has_host_interface)
			continue;
		fdb->of[b] = bp_mac_table_create(br->fdb_max_entries, br->fdb_aging_time_ns);
		if (fdb->of[b] == NULL) {
			snprintf(err, err_size,
				"bridge %s: no memory for an FDB of %u entries; lower "
				"fdb_max_entries",
				br->name, br->fdb_max_entries);
			return -1;
		}
		for (unsigned i = 0; i < br->n; i++)
			bp_mac_table_set_bridge(fdb->of[b], br->port[i], (uint8_t)b);
	}
	return 0;
}

void bp_fdb_free(struct bp_fdb *fdb)
{
	for (unsigned b = 0; b < BP_MAX_BRIDGES; b++) {
		bp_mac_table_free(fdb->of[b]);
		fdb->of[b] = NULL;
	}
}

void bp_fdb_tick(const struct bp_fdb *fdb, unsigned n_bridges, uint64_t mono_ns)
{
	for (unsigned b = 0; b < n_bridges; b++)
		if (fdb->of[b] != NULL)
			bp_mac_table_tick(fdb->of[b], mono_ns);
}
