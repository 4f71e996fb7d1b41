/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_SPARKPLUG_SPARKPLUG_H
#define BP_PROTO_SPARKPLUG_SPARKPLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sparkplug B (Eclipse Sparkplug 3.0.0): topics, and payloads in the encoding of protobuf 2. Pure
 * functions: no allocation, no state, no read outside the payload, and work in proportion to its
 * length. Messages are read as protobuf does: unknown fields and known ones with another wire type
 * are skipped, and the last of a repeated scalar counts.
 */

enum bp_sparkplug_type {
	BP_SPARKPLUG_NONE,
	BP_SPARKPLUG_NBIRTH,
	BP_SPARKPLUG_NDEATH,
	BP_SPARKPLUG_NDATA,
	BP_SPARKPLUG_NCMD,
	BP_SPARKPLUG_DBIRTH,
	BP_SPARKPLUG_DDEATH,
	BP_SPARKPLUG_DDATA,
	BP_SPARKPLUG_DCMD,
};

/* spBv1.0/GROUP/TYPE/NODE[/DEVICE]; the texts point into the topic. */
struct bp_sparkplug_topic {
	uint8_t type; /* enum bp_sparkplug_type */
	uint16_t group_len, node_len, device_len;
	const uint8_t *group, *node, *device; /* device NULL: the message is of the node */
};

/* Whether the topic begins as one of Sparkplug B. */
static inline bool bp_sparkplug_is_topic(const uint8_t *topic, uint32_t len)
{
	static const uint8_t prefix[8] = {'s', 'p', 'B', 'v', '1', '.', '0', '/'};

	return len > sizeof(prefix) && __builtin_memcmp(topic, prefix, sizeof(prefix)) == 0;
}

/* False: not a topic of a node or a device, as those of host applications. */
bool bp_sparkplug_topic(const uint8_t *topic, uint32_t len, struct bp_sparkplug_topic *out);

static inline bool bp_sparkplug_is_birth(uint8_t type)
{
	return type == BP_SPARKPLUG_NBIRTH || type == BP_SPARKPLUG_DBIRTH;
}
static inline bool bp_sparkplug_is_death(uint8_t type)
{
	return type == BP_SPARKPLUG_NDEATH || type == BP_SPARKPLUG_DDEATH;
}
static inline bool bp_sparkplug_is_data(uint8_t type)
{
	return type == BP_SPARKPLUG_NDATA || type == BP_SPARKPLUG_DDATA;
}

/* The text of the third level. */
const char *bp_sparkplug_type_name(uint8_t type);

/*
 * Writes the topic of the data messages of the same node or device (NDATA or DDATA) to out[0..len)
 * and returns its length, which is at most that of a birth or death.
 */
uint32_t bp_sparkplug_data_topic(const struct bp_sparkplug_topic *t, char *out);

enum bp_sparkplug_datatype {
	BP_SPARKPLUG_UNKNOWN,
	BP_SPARKPLUG_INT8,
	BP_SPARKPLUG_INT16,
	BP_SPARKPLUG_INT32,
	BP_SPARKPLUG_INT64,
	BP_SPARKPLUG_UINT8,
	BP_SPARKPLUG_UINT16,
	BP_SPARKPLUG_UINT32,
	BP_SPARKPLUG_UINT64,
	BP_SPARKPLUG_FLOAT,
	BP_SPARKPLUG_DOUBLE,
	BP_SPARKPLUG_BOOLEAN,
	BP_SPARKPLUG_STRING,
	BP_SPARKPLUG_DATETIME,
	BP_SPARKPLUG_TEXT,
	BP_SPARKPLUG_UUID,
	BP_SPARKPLUG_DATASET,
	BP_SPARKPLUG_BYTES,
	BP_SPARKPLUG_FILE,
	BP_SPARKPLUG_TEMPLATE,
	BP_SPARKPLUG_PROPERTYSET,
	BP_SPARKPLUG_PROPERTYSETLIST,
	BP_SPARKPLUG_INT8_ARRAY,
	BP_SPARKPLUG_BOOLEAN_ARRAY = 32,
	BP_SPARKPLUG_STRING_ARRAY,
	BP_SPARKPLUG_DATETIME_ARRAY,
};

/* The members of the oneof `value` of a metric, by their field numbers. */
enum bp_sparkplug_field {
	BP_SPARKPLUG_VALUE_INT = 10,
	BP_SPARKPLUG_VALUE_LONG,
	BP_SPARKPLUG_VALUE_FLOAT,
	BP_SPARKPLUG_VALUE_DOUBLE,
	BP_SPARKPLUG_VALUE_BOOLEAN,
	BP_SPARKPLUG_VALUE_STRING,
	BP_SPARKPLUG_VALUE_BYTES,
	BP_SPARKPLUG_VALUE_DATASET,
	BP_SPARKPLUG_VALUE_TEMPLATE,
	BP_SPARKPLUG_VALUE_EXTENSION,
};

struct bp_sparkplug_metric {
	const uint8_t *name; /* NULL: none */
	uint32_t name_len;
	uint32_t datatype; /* 0: not given, or unknown */
	uint64_t alias;
	bool has_alias, is_null, is_historical;
	uint8_t field;        /* enum bp_sparkplug_field; 0: no value */
	uint64_t bits;        /* the value of fields 10 to 14 */
	const uint8_t *bytes; /* the value of fields 15 to 19 */
	uint32_t bytes_len;
};

struct bp_sparkplug_head {
	bool has_seq, has_timestamp;
	uint64_t seq, timestamp;
};

/* seq and timestamp of a payload; its metrics are skipped. False: it is malformed. */
bool bp_sparkplug_head(const uint8_t *payload, size_t len, struct bp_sparkplug_head *out);

/*
 * Reads the metrics of a payload one after the other: begin at *at = payload. Returns 1 with a
 * metric, 0 at the end, -1 where the payload is malformed.
 */
int bp_sparkplug_next(const uint8_t **at, const uint8_t *end, struct bp_sparkplug_metric *metric);

/* A metric to search for in a payload. */
struct bp_sparkplug_wanted {
	const char *name;
	uint32_t name_len;
	bool has_alias;  /* metrics without a name are compared by `alias` */
	bool historical; /* historical values are searched, too */
	bool beginning;  /* the payload continues behind its end */
	uint64_t alias;
};
enum bp_sparkplug_found {
	BP_SPARKPLUG_MALFORMED,
	BP_SPARKPLUG_ABSENT,
	BP_SPARKPLUG_ABSENT_UNNAMED, /* metrics with an alias but no name are there, and !has_alias
				      */
	BP_SPARKPLUG_HISTORICAL,     /* only historical values of the metric are there */
	BP_SPARKPLUG_FOUND,
};
/* Finds the last value of a metric. A payload is malformed as a whole: it is read to its end. Of a
 * beginning, the complete metrics are read; MALFORMED where the metric is not among them. */
enum bp_sparkplug_found bp_sparkplug_find(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_wanted *wanted, struct bp_sparkplug_metric *metric);

/*
 * The number of a metric: integers by the width and sign of their datatype, booleans 0 and 1, times
 * in ms. `datatype`: of the birth, for a metric that has none. False: it has no finite number.
 */
bool bp_sparkplug_number(
	const struct bp_sparkplug_metric *metric, uint32_t datatype, double *value);

/* The same for a boolean. False: it is none. */
bool bp_sparkplug_boolean(
	const struct bp_sparkplug_metric *metric, uint32_t datatype, double *value);
/* Whether it is a string, text or UUID, which is then bytes[0..bytes_len). */
bool bp_sparkplug_is_text(const struct bp_sparkplug_metric *metric);

/*
 * A member of a metric: COLUMN[ROW] of a DataSet (without [ROW]: of its last row), METRIC of a
 * Template (METRIC/METRIC of a Template in it), or [INDEX] of an array.
 */
struct bp_sparkplug_member {
	const uint8_t *name;
	uint32_t name_len;
	uint32_t row; /* UINT32_MAX: none is given */
};
/* Parses a text, to which *m then points. False: it is none. */
bool bp_sparkplug_member_parse(const char *text, struct bp_sparkplug_member *m);
/* The member as a metric, for the functions above. `datatype`: of the birth, as there. False: the
 * metric has no such member. */
bool bp_sparkplug_member_find(const struct bp_sparkplug_metric *metric, uint32_t datatype,
	const struct bp_sparkplug_member *member, struct bp_sparkplug_metric *out);

#endif
