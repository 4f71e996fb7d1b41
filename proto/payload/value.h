/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_VALUE_H
#define BP_PROTO_PAYLOAD_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The value that a rule reads from a PUBLISH payload: several sources, one result, a finite double
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
	BP_VALUE_CBOR,      /* a path as in JSON, in CBOR (RFC 8949) */
	BP_VALUE_MSGPACK,   /* the same in MessagePack */
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
 * A compiled path: `$` then `.name`, `['name']`, `["name"]`, `[index]` or `[*]`. Position
 * independent and without indeterminate padding (always memset first), so that equal paths are
 * equal bytes.
 */
struct bp_json_path {
	uint8_t steps;
	uint8_t every; /* number of steps [*] */
	struct {
		uint8_t is_index;
		uint8_t name_off; /* into names */
		uint8_t name_len;
		uint8_t every; /* [*], each element of an array; is_index too */
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

/* The type that the value has in the payload. A payload with another type there has no value. */
enum bp_value_type {
	BP_VALUE_NUMBER,
	BP_VALUE_STRING,  /* evaluated as the index of a string of the rule; -1: another one */
	BP_VALUE_BOOLEAN, /* evaluated as 1 or 0 */
};

/* Elements of arrays, [*] in the path, that must meet a condition. */
enum bp_value_match { BP_ELEMENT_ANY, BP_ELEMENT_ALL };

struct bp_value_source {
	uint8_t kind;     /* enum bp_value_kind */
	uint8_t extended; /* in an image: CBOR, MSGPACK, or a member from `type` on is no default */
	uint16_t pad;
	struct bp_binary_source binary;
	struct bp_sparkplug_source sparkplug;
	union {                                  /* by kind */
		struct bp_json_path json;        /* CBOR and MSGPACK, too */
		struct bp_sparkplug_names names; /* BP_VALUE_SPARKPLUG */
	};
	/* Only of a source that is not plain: bp_value_select() reads it. */
	uint8_t type;     /* enum bp_value_type */
	uint8_t match;    /* enum bp_value_match */
	uint8_t scaled;   /* the value is the number times `scale` plus `offset` */
	uint32_t strings; /* in an image: 1 + the index of its strings; 0: none */
	double scale, offset;
};

static inline bool bp_value_has_path(const struct bp_value_source *s)
{
	return s->kind == BP_VALUE_JSON || s->kind == BP_VALUE_CBOR || s->kind == BP_VALUE_MSGPACK;
}

/* Whether the path has [*]. */
static inline bool bp_value_has_elements(const struct bp_value_source *s)
{
	return bp_value_has_path(s) && s->json.every != 0;
}

/* The elements and the values at the path that are compared in one payload: an element of [*] with
 * a value is two. A payload with more has no value. */
#define BP_VALUE_ELEMENTS_MAX 8192

#define BP_VALUE_STRINGS_MAX 16
#define BP_VALUE_STRING_MAX 63 /* bytes of UTF-8 */

/* The strings that the conditions of a rule compare with, so sorted that each condition is a range
 * of them. Bytes behind a string are 0. */
struct bp_value_strings {
	uint8_t n;
	uint8_t len[BP_VALUE_STRINGS_MAX];
	char text[BP_VALUE_STRINGS_MAX][BP_VALUE_STRING_MAX + 1];
};

/* A string of a payload: UTF-8, its first BP_VALUE_STRING_MAX bytes or fewer. */
struct bp_value_text {
	uint8_t len;
	bool truncated; /* it is longer */
	bool replaced;  /* it has surrogates without a pair: U+FFFD instead */
	char text[BP_VALUE_STRING_MAX];
};

/* Which element of an array decides: the first of those with the highest rank. `top`: no rank is
 * higher. */
struct bp_value_rank {
	unsigned (*of)(const void *arg, double value);
	const void *arg;
	unsigned top;
};

struct bp_value_result {
	double value;
	struct bp_value_text text; /* type string */
	uint32_t elements; /* that were compared: at most BP_VALUE_ELEMENTS_MAX, or one more */
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

/*
 * The value at any source. `beginning`: the payload continues after `len` bytes, and the result is
 * right for any continuation. strings: of type string. rank: NULL without [*] in the path. Returns
 * false without a value; out->elements is set in any case.
 */
bool bp_value_select(const uint8_t *payload, size_t len, bool beginning,
	const struct bp_value_source *source, const struct bp_value_strings *strings,
	const struct bp_value_rank *rank, struct bp_value_result *out);

/* The number times the scale of the source, plus its offset. */
double bp_value_scaled(const struct bp_value_source *source, double value);

/* Whether the indices in such strings, which another process may have written, are valid. */
bool bp_value_strings_valid(const struct bp_value_strings *strings);

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
