/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SERVICE_H
#define BP_SHM_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/services.h"

struct bp_shm;

/* A table of the segment. */
struct bp_table_shape {
	const char *name;
	uint64_t element_size;
	unsigned part; /* BP_SEG_DATA ...: the writer */
};

#define BP_TABLES_OF_SERVICE 20

/*
 * A service's tables in the segment. shm/layout.c walks the array of these; the number of elements
 * of each table comes from the configuration (config/segment.h). Optional members are NULL.
 */
struct bp_service_tables {
	const struct bp_table_shape *shape; /* at most BP_TABLES_OF_SERVICE */
	unsigned n;
	/* The version of a table's elements, where it depends on more than the version of the
	 * layout. */
	uint64_t (*version)(unsigned table, uint64_t layout);
	/* For a segment that another process created, for that number of workers: whether these
	 * numbers of elements are consistent. */
	bool (*sizes_agree)(const uint64_t *capacity, uint64_t workers);
	/* Fills what struct bp_shm has of the service; m->workers and m->segment are set. 0, or -1
	 * with a sentence. */
	int (*map)(struct bp_shm *m, void *const *address, const uint64_t *capacity, char *err,
		size_t err_size);
	/* Initialises a new part, all zero; by the process that may write it. */
	void (*init)(struct bp_shm *m, unsigned part);
	/* All parts are initialised, the hash keys too. */
	void (*ready)(struct bp_shm *m);
	/* Returns why the contents of a part cannot be its writer's; NULL: they can. */
	const char *(*unsound)(const struct bp_shm *m, unsigned part);
};

/* Indexed by enum bp_service_id. */
extern const struct bp_service_tables *const bp_service_tables[BP_SERVICE_COUNT];

#endif
