/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/etcd_rows.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

json_t *bp_etcd_encode(const char *text, size_t len)
{
	char *base64 = malloc(BASE64_ENCODE_RAW_LENGTH(len) + 1);
	json_t *out;

	if (base64 == NULL)
		return NULL;
	base64_encode_raw(base64, len, (const uint8_t *)text);
	out = json_stringn(base64, BASE64_ENCODE_RAW_LENGTH(len));
	free(base64);
	return out;
}

/* The decoded bytes, with a NUL behind them; NULL: it is not base64. */
static char *decode(const json_t *value, size_t *len)
{
	const char *text = json_string_value(value);
	const size_t n = json_string_length(value);
	struct base64_decode_ctx ctx;
	char *out;

	*len = BASE64_DECODE_LENGTH(n);
	out = malloc(*len + 1);
	if (out == NULL)
		return NULL;
	base64_decode_init(&ctx);
	if (text != NULL && (!base64_decode_update(&ctx, len, (uint8_t *)out, n, text) ||
				    !base64_decode_final(&ctx))) {
		free(out);
		return NULL;
	}
	if (text == NULL)
		*len = 0;
	out[*len] = '\0';
	return out;
}

bool bp_etcd_int(const json_t *value, int64_t *out)
{
	const char *text = json_string_value(value);
	char *end;

	*out = 0;
	if (value == NULL)
		return true;
	if (json_is_integer(value)) {
		*out = json_integer_value(value);
		return true;
	}
	if (text == NULL || text[0] == '\0' || strspn(text, "-0123456789") != strlen(text))
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool read_row(const json_t *kv, struct bp_etcd_row *row)
{
	size_t key_len, len;
	char *value;

	row->key = decode(json_object_get(kv, "key"), &key_len);
	if (row->key == NULL || strlen(row->key) != key_len ||
		!bp_etcd_int(json_object_get(kv, "mod_revision"), &row->mod_revision))
		return false;
	value = decode(json_object_get(kv, "value"), &len);
	row->value = value != NULL ? json_stringn(value, len) : NULL;
	free(value);
	return true;
}

bool bp_etcd_rows_add(const json_t *kvs, struct bp_etcd_rows *rows)
{
	const size_t n = json_array_size(kvs);
	struct bp_etcd_row *more;

	if (kvs == NULL)
		return true;
	if (!json_is_array(kvs) || n > BP_ETCD_PAGE)
		return false;
	more = reallocarray(rows->row, rows->n + n + 1, sizeof(*more));
	if (more == NULL)
		return false;
	rows->row = more;
	for (size_t i = 0; i < n; i++) {
		rows->row[rows->n] = (struct bp_etcd_row){.key = NULL};
		if (!read_row(json_array_get(kvs, i), &rows->row[rows->n++]))
			return false; /* what was read of it is freed */
	}
	return true;
}

void bp_etcd_rows_free(struct bp_etcd_rows *rows)
{
	for (unsigned i = 0; i < rows->n; i++) {
		free(rows->row[i].key);
		json_decref(rows->row[i].value);
	}
	free(rows->row);
	*rows = (struct bp_etcd_rows){.n = 0};
}
