/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_AGGREGATION_H
#define BIPLANE_COUNTERS_AGGREGATION_H

#include "biplane/counters.h"

/* Aggregation of UDP messages. */
#define BP_COUNTER_GROUPS_OF_AGGREGATION(X)                                                        \
	X(AGGREGATION, "aggregation",                                                              \
		"Messages for aggregation that went on as they came, and why; frames "             \
		"where aggregates are taken apart that are none.")

#define BP_COUNTERS_OF_AGGREGATION(X)                                                              \
	/* frames that biplane made */                                                             \
	X(AGG_AGGREGATE, ORIGINATED, "agg_aggregate", "aggregates of UDP messages")                \
	X(DISAGG_MESSAGE, ORIGINATED, "disagg_message", "UDP messages restored from aggregates")   \
	/* frames that left nowhere */                                                             \
	X(DROP_AGG_MIMIC, DROP, "agg_mimic",                                                       \
		"to be aggregated, but can't be, and begins like an aggregate")                    \
	X(DROP_DISAGG_UDP_CHECKSUM, DROP, "disagg_udp_checksum",                                   \
		"aggregates with a wrong UDP or IPv4 header checksum, or no UDP checksum")         \
	X(DROP_DISAGG_LENGTHS, DROP, "disagg_lengths",                                             \
		"aggregates whose IP and UDP lengths disagree")                                    \
	X(DROP_DISAGG_VERSION, DROP, "disagg_version", "aggregates of an unknown version")         \
	X(DROP_DISAGG_CHECKSUM, DROP, "disagg_checksum",                                           \
		"aggregates with a wrong checksum over header and directory")                      \
	X(DROP_DISAGG_FAMILY, DROP, "disagg_family",                                               \
		"aggregates of another IP version than their packet")                              \
	X(DROP_DISAGG_COUNT, DROP, "disagg_count", "aggregates whose length and count disagree")   \
	X(DROP_DISAGG_ENTRY, DROP, "disagg_entry", "aggregates with a malformed directory")        \
	X(DROP_DISAGG_FORGED, DROP, "disagg_forged",                                               \
		"aggregates with a sender outside of senders")                                     \
	X(DROP_DISAGG_NO_MBUF, DROP, "disagg_no_mbuf",                                             \
		"aggregates not taken apart for want of mbufs, or of room among what "             \
		"was restored at the same time")                                                   \
	/* frames for biplane itself */                                                            \
	X(AGG_MESSAGE, TERMINATED, "agg_message", "UDP messages put into aggregates")              \
	X(DISAGG_AGGREGATE, TERMINATED, "disagg_aggregate", "aggregates that were taken apart")    \
	/* aggregation: messages that went on as they came */                                      \
	X(AGG_PASSED_LENGTH, AGGREGATION, "agg_passed_length",                                     \
		"longer than max_message, or than an aggregate may be")                            \
	X(AGG_PASSED_CHECKSUM, AGGREGATION, "agg_passed_checksum",                                 \
		"IP or UDP checksum wrong; IPv6 without one")                                      \
	X(AGG_PASSED_SHAPE, AGGREGATION, "agg_passed_shape",                                       \
		"IPv4 options, fragments, or IP and UDP lengths that disagree")                    \
	X(AGG_PASSED_FORMAT, AGGREGATION, "agg_passed_format", "no message of format paper")       \
	X(AGG_PASSED_SENDER, AGGREGATION, "agg_passed_sender",                                     \
		"not among senders; source address, port or TTL that no aggregate can carry")      \
	X(AGG_PASSED_NO_MBUF, AGGREGATION, "agg_passed_no_mbuf", "no mbuf for a new aggregate")    \
	X(AGG_LOST_NO_MBUF, AGGREGATION, "agg_lost_no_mbuf",                                       \
		"messages that waited in records, lost: no mbuf when they were to leave")          \
	X(DISAGG_PLAIN, AGGREGATION, "disagg_plain",                                               \
		"where aggregates are taken apart, messages that are none")

BP_DECLARE_COUNTERS(AGGREGATION, 1 + BP_SERVICE_AGGREGATION);

#endif
