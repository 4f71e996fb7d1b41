/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_TRANSFORM_H
#define BIPLANE_COUNTERS_TRANSFORM_H

#include "biplane/counters.h"

/* Coordinate transformation. */
#define BP_COUNTER_GROUPS_OF_TRANSFORM(X)                                                          \
	X(TRANSFORM, "transform",                                                                  \
		"Coordinate transformation of readings. Dropped readings are in group drop.")

#define BP_COUNTERS_OF_TRANSFORM(X)                                                                \
	/* frames that biplane generated */                                                        \
	X(TRANSFORM_COPY, ORIGINATED, "transform_copy",                                            \
		"datagrams for the second and further receivers of a reading")                     \
	/* dropped frames */                                                                       \
	X(DROP_TRANSFORM_NO_RULES, DROP, "transform_no_rules",                                     \
		"readings: no rules from the control plane yet")                                   \
	X(DROP_TRANSFORM_LENGTH, DROP, "transform_length",                                         \
		"readings shorter than their layout, or with inconsistent IP and UDP lengths")     \
	X(DROP_TRANSFORM_CHECKSUM, DROP, "transform_checksum",                                     \
		"readings with a wrong IPv4 header or UDP checksum, or IPv6 without UDP checksum") \
	X(DROP_TRANSFORM_UNSUPPORTED, DROP, "transform_unsupported",                               \
		"readings in fragments, with IPv6 extension headers, or in too many segments")     \
	X(DROP_TRANSFORM_INVALID, DROP, "transform_invalid",                                       \
		"readings with an infinite number or NaN, or an invalid angle")                    \
	X(DROP_TRANSFORM_UNKNOWN_SOURCE, DROP, "transform_unknown_source",                         \
		"readings of a source without an entry (unknown_source: drop), or with an "        \
		"invalid source address")                                                          \
	X(DROP_TRANSFORM_OVERFLOW, DROP, "transform_overflow",                                     \
		"results out of range of their format (overflow: drop)")                           \
	X(DROP_TRANSFORM_FAMILY, DROP, "transform_family",                                         \
		"readings of another IP version than their receiver")                              \
	X(DROP_TRANSFORM_REPLY, DROP, "transform_reply",                                           \
		"readings without a valid address to reply to, or with TTL or hop limit expired")  \
	/* coordinate transformation */                                                            \
	X(TRANSFORM_READING, TRANSFORM, "transform_reading", "readings transformed")               \
	X(TRANSFORM_NO_MATRIX, TRANSFORM, "transform_no_matrix",                                   \
		"datagrams with the untransformed point: no matrix")                               \
	X(TRANSFORM_SATURATED, TRANSFORM, "transform_saturated",                                   \
		"datagrams with a saturated coordinate")                                           \
	X(TRANSFORM_NO_MBUF, TRANSFORM, "transform_no_mbuf",                                       \
		"datagrams for further receivers not sent: no mbuf")

BP_DECLARE_COUNTERS(TRANSFORM, 1 + BP_SERVICE_TRANSFORM);

#endif
