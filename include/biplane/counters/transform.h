/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_TRANSFORM_H
#define BIPLANE_COUNTERS_TRANSFORM_H

#include "biplane/counters.h"

/* Coordinate transformation. */
#define BP_COUNTER_GROUPS_OF_TRANSFORM(X)                                                          \
	X(TRANSFORM, "transform",                                                                  \
		"Readings that became coordinates, and what had to be done to some; "              \
		"what was dropped of them is among the drops.")

#define BP_COUNTERS_OF_TRANSFORM(X)                                                                \
	/* frames that biplane made */                                                             \
	X(TRANSFORM_COPY, ORIGINATED, "transform_copy",                                            \
		"datagrams for the second and further receivers of a reading")                     \
	/* frames that left nowhere */                                                             \
	X(DROP_TRANSFORM_RULES, DROP, "transform_rules",                                           \
		"readings: the control plane has put no rules of transform in force yet")          \
	X(DROP_TRANSFORM_LENGTH, DROP, "transform_length",                                         \
		"readings shorter than their layout, or whose IP and UDP lengths disagree")        \
	X(DROP_TRANSFORM_CHECKSUM, DROP, "transform_checksum",                                     \
		"readings with a wrong IPv4 header or UDP checksum, or IPv6 without one")          \
	X(DROP_TRANSFORM_SHAPE, DROP, "transform_shape",                                           \
		"readings in fragments, behind IPv6 extension headers, or in buffers "             \
		"that can't be put together")                                                      \
	X(DROP_TRANSFORM_INPUT, DROP, "transform_input",                                           \
		"readings with a number that is not finite, or an angle that can't be")            \
	X(DROP_TRANSFORM_SOURCE, DROP, "transform_source",                                         \
		"readings of a source without an entry, with unknown_source: drop, or of "         \
		"an address that no sender has")                                                   \
	X(DROP_TRANSFORM_OVERFLOW, DROP, "transform_overflow",                                     \
		"results that their format can't hold, where overflow: drop")                      \
	X(DROP_TRANSFORM_FAMILY, DROP, "transform_family",                                         \
		"readings of another IP version than their receiver")                              \
	X(DROP_TRANSFORM_REFLECT, DROP, "transform_reflect",                                       \
		"readings that can't be answered: sent to a group or nobody, or with "             \
		"no TTL or hop limit left")                                                        \
	/* coordinate transformation */                                                            \
	X(TRANSFORM_READING, TRANSFORM, "transform_reading", "readings that were transformed")     \
	X(TRANSFORM_BARE, TRANSFORM, "transform_bare",                                             \
		"datagrams with the bare point: there is no matrix")                               \
	X(TRANSFORM_SATURATED, TRANSFORM, "transform_saturated",                                   \
		"datagrams with a coordinate that was saturated")                                  \
	X(TRANSFORM_NO_MBUF, TRANSFORM, "transform_no_mbuf",                                       \
		"datagrams for further receivers that were not made for want of an mbuf")

BP_DECLARE_COUNTERS(TRANSFORM, 1 + BP_SERVICE_TRANSFORM);

#endif
