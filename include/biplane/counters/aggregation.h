/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_AGGREGATION_H
#define BIPLANE_COUNTERS_AGGREGATION_H

#include "biplane/counters.h"

/* Aggregation of UDP messages. */
#define BP_COUNTER_GROUPS_OF_AGGREGATION(X)                                                        \
	X(AGGREGATION, "aggregation",                                                              \
		"UDP messages that bypassed encapsulation or decapsulation and were forwarded "    \
		"unchanged, by reason, and messages lost in queues.")

#define BP_COUNTERS_OF_AGGREGATION(X)                                                              \
	/* frames that biplane generated */                                                        \
	X(ENCAP_AGGREGATE, ORIGINATED, "encap_aggregate", "aggregates generated")                  \
	X(DECAP_MESSAGE, ORIGINATED, "decap_message", "UDP messages restored from aggregates")     \
	/* dropped frames */                                                                       \
	X(DROP_ENCAP_AMBIGUOUS_PAYLOAD, DROP, "encap_ambiguous_payload",                           \
		"not encapsulated, and the payload is indistinguishable from an aggregate")        \
	X(DROP_DECAP_UDP_CHECKSUM, DROP, "decap_udp_checksum",                                     \
		"aggregates with a wrong IPv4 header or UDP checksum, or without UDP checksum")    \
	X(DROP_DECAP_LENGTH, DROP, "decap_length",                                                 \
		"aggregates with inconsistent IP and UDP lengths")                                 \
	X(DROP_DECAP_VERSION, DROP, "decap_version", "aggregates of an unknown format version")    \
	X(DROP_DECAP_CHECKSUM, DROP, "decap_checksum",                                             \
		"aggregates with a wrong checksum of header and directory")                        \
	X(DROP_DECAP_FAMILY, DROP, "decap_family",                                                 \
		"aggregates of messages of the other IP version")                                  \
	X(DROP_DECAP_COUNT, DROP, "decap_count",                                                   \
		"aggregates with inconsistent length and message count")                           \
	X(DROP_DECAP_DIRECTORY, DROP, "decap_directory", "aggregates with a malformed directory")  \
	X(DROP_DECAP_SOURCE_NOT_ALLOWED, DROP, "decap_source_not_allowed",                         \
		"aggregates with a message source outside allowed_senders")                        \
	X(DROP_DECAP_NO_MBUF, DROP, "decap_no_mbuf",                                               \
		"decapsulation failed: no mbufs, or batch of restored messages full")              \
	/* terminated frames */                                                                    \
	X(ENCAP_MESSAGE, TERMINATED, "encap_message", "UDP messages encapsulated")                 \
	X(DECAP_AGGREGATE, TERMINATED, "decap_aggregate", "aggregates decapsulated")               \
	/* bypassed messages */                                                                    \
	X(ENCAP_BYPASS_LENGTH, AGGREGATION, "encap_bypass_length",                                 \
		"longer than max_message_size or the maximum size of an aggregate")                \
	X(ENCAP_BYPASS_CHECKSUM, AGGREGATION, "encap_bypass_checksum",                             \
		"wrong IPv4 header or UDP checksum, or IPv6 without UDP checksum")                 \
	X(ENCAP_BYPASS_UNSUPPORTED, AGGREGATION, "encap_bypass_unsupported",                       \
		"IPv4 options, fragments, or inconsistent IP and UDP lengths")                     \
	X(ENCAP_BYPASS_FORMAT, AGGREGATION, "encap_bypass_format",                                 \
		"message that format lin2018 does not support")                                    \
	X(ENCAP_BYPASS_SOURCE, AGGREGATION, "encap_bypass_source",                                 \
		"source outside allowed_senders, or source address, UDP port or TTL that an "      \
		"aggregate does not carry")                                                        \
	X(ENCAP_BYPASS_NO_MBUF, AGGREGATION, "encap_bypass_no_mbuf",                               \
		"no mbuf for a new aggregate")                                                     \
	X(ENCAP_LOST_NO_MBUF, AGGREGATION, "encap_lost_no_mbuf",                                   \
		"queued messages lost: no mbuf at flush")                                          \
	X(DECAP_BYPASS, AGGREGATION, "decap_bypass",                                               \
		"packets at a decapsulation entry that are not aggregates: forwarded")

BP_DECLARE_COUNTERS(AGGREGATION, 1 + BP_SERVICE_AGGREGATION);

#endif
