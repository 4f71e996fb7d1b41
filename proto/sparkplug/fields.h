/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_SPARKPLUG_FIELDS_H
#define BP_PROTO_SPARKPLUG_FIELDS_H

#include "proto/sparkplug/protobuf.h"
#include "proto/sparkplug/sparkplug.h"

/* The fields of the messages Payload and Metric of sparkplug_b.proto, for the files of this folder.
 */

enum { PAYLOAD_TIMESTAMP = 1, PAYLOAD_METRICS = 2, PAYLOAD_SEQ = 3 };
enum {
	METRIC_NAME = 1,
	METRIC_ALIAS,
	METRIC_TIMESTAMP,
	METRIC_DATATYPE,
	METRIC_IS_HISTORICAL,
	METRIC_IS_TRANSIENT,
	METRIC_IS_NULL,
};

/* Whether this is a value of a metric, of those that are no varints. */
static inline bool bp_sparkplug_is_value(uint32_t number, uint8_t wire)
{
	switch (wire) {
	case BP_PB_BYTES:
		return number >= BP_SPARKPLUG_VALUE_STRING &&
		       number <= BP_SPARKPLUG_VALUE_EXTENSION;
	case BP_PB_FIXED32:
		return number == BP_SPARKPLUG_VALUE_FLOAT;
	case BP_PB_FIXED64:
		return number == BP_SPARKPLUG_VALUE_DOUBLE;
	default:
		return false;
	}
}

#endif
