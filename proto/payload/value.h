/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_VALUE_H
#define BP_PROTO_PAYLOAD_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The number that a rule reads from a PUBLISH payload. Three sources, one result: a finite double,
 * or nothing. A decimal number beyond its range is the largest double of that sign, so that it
 * compares correctly. There are no heuristics: a payload that does not exactly match its source
 * description has no value. Pure functions: no allocation, no state, no read outside [payload,
 * payload + len).
 */

enum bp_value_kind {
	BP_VALUE_TEXT,      /* the whole payload is one decimal number */
	BP_VALUE_JSON,      /* the number at a path in a JSON text (RFC 8259) */
	BP_VALUE_BINARY,    /* a fixed-width number at an offset */
	BP_VALUE_SPARKPLUG, /* a metric of Sparkplug B: services/mqtt/sparkplug.c reads it */
};

enum bp_binary_type {
	BP_BIN_INT8,
	BP_BIN_INT16,
	BP_BIN_INT32,
	BP_BIN_INT64,
	BP_BIN_UINT8,
	BP_BIN_UINT16,
	BP_BIN_UINT32,
	BP_BIN_UINT64,
	BP_BIN_FLOAT32,
	BP_BIN_FLOAT64,
};

#define BP_JSON_STEPS_MAX 16
#define BP_JSON_NAMES_MAX 240
#define BP_JSON_DEPTH_MAX 64 /* deeper nesting is skipped by counting brackets */

/*
 * A compiled path: `$` then `.name`, `['name']`, `["name"]` or `[index]`. Position independent and
 * without indeterminate padding (always memset first), so that equal paths are equal bytes.
 */
struct bp_json_path {
	uint8_t steps;
	struct {
		uint8_t is_index;
		uint8_t name_off; /* into names */
		uint8_t name_len;
		uint8_t pad;
		uint32_t index;
	} step[BP_JSON_STEPS_MAX];
	char names[BP_JSON_NAMES_MAX];
};

struct bp_binary_source {
	uint32_t offset; /* bytes from the payload's start */
	uint8_t type;    /* enum bp_binary_type */
	uint8_t little_endian;
	uint16_t pad;
};

enum bp_sparkplug_what {
	BP_SPARKPLUG_METRIC,
	BP_SPARKPLUG_ONLINE, /* 1 at a birth or data of a node or device, 0 at its death */
};
#define BP_SPARKPLUG_NAME_MAX 255
#define BP_SPARKPLUG_MEMBER_MAX 63

struct bp_sparkplug_source {
	uint8_t what;       /* enum bp_sparkplug_what */
	uint8_t historical; /* historical values are evaluated, too */
	bool has_death;
	uint8_t name_len; /* of compiled rules, as the key */
	uint32_t pad;
	double death; /* value at a death */
	uint64_t key; /* hash of the name */
};
/* NUL terminated, and 0 to their ends, so that equal sources are equal bytes. */
struct bp_sparkplug_names {
	char metric[BP_SPARKPLUG_NAME_MAX + 1];
	char member[BP_SPARKPLUG_MEMBER_MAX + 1]; /* of a DataSet or Template; "": none */
};

struct bp_value_source {
	uint32_t kind; /* enum bp_value_kind */
	struct bp_binary_source binary;
	struct bp_sparkplug_source sparkplug;
	union { /* by kind */
		struct bp_json_path json;
		struct bp_sparkplug_names names; /* BP_VALUE_SPARKPLUG */
	};
};

/*
 * Compiles `path` (NUL terminated UTF-8). Returns 0, or a negative number with *error set to a
 * static string and *error_at to the byte offset of the error.
 */
int bp_json_path_compile(
	const char *path, struct bp_json_path *out, const char **error, size_t *error_at);

/* As bp_value_json(), and returns the begin of the number in the payload, or NULL. */
const uint8_t *bp_value_json_at(
	const uint8_t *payload, size_t len, const struct bp_json_path *path, double *value);

/* Each returns true and sets *value to a finite number, or returns false. */
bool bp_value_text(const uint8_t *payload, size_t len, double *value);
static inline bool bp_value_json(
	const uint8_t *payload, size_t len, const struct bp_json_path *path, double *value)
{
	return bp_value_json_at(payload, len, path, value) != NULL;
}
bool bp_value_binary(
	const uint8_t *payload, size_t len, const struct bp_binary_source *source, double *value);

/* Dispatches on source->kind. */
bool bp_value_extract(
	const uint8_t *payload, size_t len, const struct bp_value_source *source, double *value);

/* The end of the JSON number at `p`, or NULL: only its syntax, which costs less than its value. */
const uint8_t *bp_number_end(const uint8_t *p, const uint8_t *end);

/*
 * The same for a payload that continues after its first `have` bytes: a binary number in them, or
 * the last number at the path in this part of a JSON text, for any rest of the text.
 */
bool bp_value_beginning(
	const uint8_t *payload, size_t have, const struct bp_value_source *source, double *value);

/*
 * Reads a JSON number (RFC 8259 section 6) or, with `lenient`, the text form (leading +, leading
 * zeros, ".5" and "5." allowed) at [p, end). Returns the position after it, or NULL. Correctly
 * rounded (the same double as strtod in the C locale) for every input; *value is set only when
 * finite.
 */
const uint8_t *bp_number_parse(const uint8_t *p, const uint8_t *end, bool lenient, double *value);

/* Shortest decimal that reads back as `v`; returns the length, `out` holds at least 32 bytes. */
int bp_number_format(double v, char *out);

#endif
