/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_BOUNDED_JSON_H
#define BP_APPS_BIPLANE_FLEET_BOUNDED_JSON_H

#include <jansson.h>
#include <stddef.h>

/*
 * JSON of others. Each "{}" of three bytes needs some hundred bytes of memory, so a bound of the
 * length is no bound of the memory: the number of values has one, too. A page of keys of etcd has
 * about 1,000 values.
 */
#define BP_FLEET_JSON_VALUES_MAX 8192u

/* A new reference; NULL: it is not JSON, has a member twice, has more values, or no memory. */
json_t *bp_fleet_json(const char *text, size_t len);

#endif
