/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SERVICE_H
#define BP_CONFIG_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/services.h"
#include "config/schema.h"

/* A service's part of the configuration. */
struct bp_config_service {
	/* Rows of the table of settings, with their checks. NULL: none. */
	const struct bp_schema_part *settings;
	size_t size; /* size of its settings, a structure that is initialised to zeros */
	/* Frees the memory that the settings own, not the settings. May be NULL. */
	void (*release)(void *settings);
	/* For a service whose nodes and tables are created at the start, only if the file has an
	 * entry for them: returns a section with an entry, or NULL. May be NULL. */
	const char *(*entries)(const struct bp_config *c);
	/* Sets the number of elements of the service's tables in the segment (shm/service.h), in
	 * their order. NULL: no tables. */
	void (*capacities)(const struct bp_config *c, uint64_t *capacity);
};

/* By enum bp_service_id. */
extern const struct bp_config_service *const bp_config_services[BP_SERVICE_COUNT];

#endif
