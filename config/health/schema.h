/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_HEALTH_SCHEMA_H
#define BP_CONFIG_HEALTH_SCHEMA_H

#include "config/health/settings.h"
#include "config/schema.h"

extern const struct bp_schema_part bp_schema_phd;
extern const struct bp_type bp_type_system_id, bp_type_system_ids;
extern const struct bp_type bp_type_resource_path, bp_type_originator;
extern const struct bp_type bp_type_coap_url, bp_type_http_url;

/* check_phd.c: section health_devices */
void bp_check_phd(struct bp_reader *r, const struct bp_yaml *n, void *base);

#endif
