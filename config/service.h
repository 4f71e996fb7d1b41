/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SERVICE_H
#define BP_CONFIG_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/services.h"
#include "config/schema.h"

/* A service's part of the configuration. */
struct bp_config_service {
	/* Rows of the table of settings, with their checks. NULL: it has none. */
	const struct bp_schema_part *settings;
	size_t size; /* of its settings, a structure that begins as zeros */
	/* Frees what its settings own, not them. May be NULL. */
	void (*release)(void *settings);
	/* Of a service whose nodes and tables are made at the start, and only where the file has an
	 * entry for them: a section that has one, or NULL. May be NULL. */
	const char *(*entries)(const struct bp_config *c);
	/* Elements of the service's tables in the segment (shm/service.h), in their order. NULL: it
	 * has none. */
	void (*capacities)(const struct bp_config *c, uint64_t *capacity);
};

/* By enum bp_service_id. */
extern const struct bp_config_service *const bp_config_services[BP_SERVICE_COUNT];

#endif
