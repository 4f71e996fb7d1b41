/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_ETCD_ROWS_H
#define BP_APPS_BIPLANE_FLEET_ETCD_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys and values in the JSON of etcd. No byte of it is trusted. */

#define BP_ETCD_PAGE 128u /* keys of an answer: of 30 KiB each on average */

/* A key of the store. `value`: JSON string with its bytes; NULL: they are not UTF-8. */
struct bp_etcd_row {
	char *key;
	json_t *value;
	int64_t mod_revision; /* of the last change */
};
struct bp_etcd_rows {
	unsigned n;
	struct bp_etcd_row *row;
};
/* Appends the keys of an answer, its member "kvs" (NULL: none). False: it is not valid; free the
 * rows also then. */
bool bp_etcd_rows_add(const json_t *kvs, struct bp_etcd_rows *rows);
void bp_etcd_rows_free(struct bp_etcd_rows *rows);

/* Base64, a new reference; NULL without memory. */
json_t *bp_etcd_encode(const char *text, size_t len);
/* etcd writes 64-bit numbers as strings, and omits 0. False: it is none. */
bool bp_etcd_int(const json_t *value, int64_t *out);

#endif
