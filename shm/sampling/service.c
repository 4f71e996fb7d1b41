/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "shm/sampling/sampling.h"

static const struct bp_table_shape shape[BP_SAMPLING_TABLES] = {
	[BP_ST_RULES] = {"sampling_plan", sizeof(struct bp_sampling_shared_rules), BP_SEG_CONTROL},
	[BP_ST_STATS] = {"sampling_stats", sizeof(struct bp_sampling_stats), BP_SEG_DATA},
};

static bool sizes_agree(const uint64_t *capacity, uint64_t workers)
{
	return capacity[BP_ST_RULES] == 1 &&
	       (capacity[BP_ST_STATS] == 1 || capacity[BP_ST_STATS] == workers * BP_SAMPLING_MAX);
}

static int map(struct bp_shm *m, void *const *address, const uint64_t *capacity, char *err,
	size_t err_size)
{
	struct bp_sampling_tables *t;

	m->service[BP_SERVICE_SAMPLING] = NULL;
	if (capacity[BP_ST_STATS] == 1)
		return 0;
	t = bp_segment_private(m->segment, sizeof(*t));
	if (t == NULL) {
		snprintf(err, err_size, "no memory for the tables of sampling");
		return -1;
	}
	t->plan = address[BP_ST_RULES];
	t->stats = address[BP_ST_STATS];
	m->service[BP_SERVICE_SAMPLING] = t;
	return 0;
}

const struct bp_service_tables bp_tables_sampling = {
	.shape = shape,
	.n = BP_SAMPLING_TABLES,
	.sizes_agree = sizes_agree,
	.map = map,
};
