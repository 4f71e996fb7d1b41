/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_MQTT_H
#define BIPLANE_COUNTERS_MQTT_H

#include "biplane/counters.h"

/* Inspection of MQTT and its alarms. A frame that the groups here count is forwarded all the same.
 */
#define BP_COUNTER_GROUPS_OF_MQTT(X)                                                               \
	X(INSPECTION, "inspect",                                                                   \
		"What inspection made of each TCP segment. All of them are forwarded.")            \
	X(CONNECTION, "flow", "The connections that inspection follows.")                          \
	X(STREAM, "stream", "The byte streams: where they could be read, and why some could not.") \
	X(MQTT, "mqtt", "The MQTT control packets that were read.")                                \
	X(RULE, "value", "What the rules found in the payloads.")                                  \
	X(ALARM, "alarm", "The alarms and what became of them.")

#define BP_COUNTERS_OF_MQTT(X)                                                                     \
	/* frames that biplane made */                                                             \
	X(CLONE_FRAME, ORIGINATED, "clone_frame", "alarm frames built by action clone")            \
	/* what inspection made of each frame */                                                   \
	X(SEG_INSPECTED, INSPECTION, "segments", "TCP segments to or from an inspected port")      \
	X(SEG_EMPTY, INSPECTION, "segments_empty", "of these, without payload")                    \
	X(SEG_DUPLICATE, INSPECTION, "segments_duplicate", "wholly retransmitted: read before")    \
	X(SEG_OVERLAP, INSPECTION, "segments_overlap",                                             \
		"partly retransmitted: the new part was read")                                     \
	X(SEG_OUT_OF_ORDER, INSPECTION, "segments_out_of_order",                                   \
		"ahead of the stream: a copy waits")                                               \
	X(SEG_REORDER_FULL, INSPECTION, "segments_reorder_full",                                   \
		"ahead of the stream beyond what reorder_buffer allows")                           \
	X(SEG_REORDER_TOTAL, INSPECTION, "segments_reorder_total",                                 \
		"ahead of the stream while half of reassembly_total is in use")                    \
	X(SEG_BAD_CHECKSUM, INSPECTION, "segments_bad_checksum",                                   \
		"with a wrong TCP checksum: forwarded, never read")                                \
	X(SEG_BAD_HEADER, INSPECTION, "segments_bad_header",                                       \
		"IP or TCP lengths that contradict the frame")                                     \
	X(SEG_FRAGMENT, INSPECTION, "segments_fragment", "IP fragments, which are not read")       \
	X(NOT_INSPECTED_VLAN, INSPECTION, "not_inspected_vlan",                                    \
		"frames with more than three VLAN tags")                                           \
	X(NOT_INSPECTED_LLC, INSPECTION, "not_inspected_llc",                                      \
		"LLC frames that may carry IP, but not as SNAP with OUI 0")                        \
	X(NOT_INSPECTED_PPPOE, INSPECTION, "not_inspected_pppoe",                                  \
		"PPPoE session data other than IPv4 and IPv6")                                     \
	X(NOT_INSPECTED_MPLS, INSPECTION, "not_inspected_mpls",                                    \
		"MPLS with over eight labels, or not carrying IPv4 or IPv6")                       \
	X(NOT_INSPECTED_TUNNEL, INSPECTION, "not_inspected_tunnel",                                \
		"IP packets that carry IP in IP, GRE or ESP")                                      \
	X(SEG_OUTSIDE, INSPECTION, "segments_outside", "sequence number far outside the stream")   \
	X(SEG_NO_ACK, INSPECTION, "segments_no_ack",                                               \
		"without the ACK flag: no receiver reads these")                                   \
	X(SEG_ACK_INVALID, INSPECTION, "segments_ack_invalid",                                     \
		"that acknowledge what was never sent, or is too old: not read")                   \
	X(SEG_ACK_UNSEEN, INSPECTION, "segments_ack_unseen",                                       \
		"that acknowledge unseen bytes: kept until the peer confirms")                     \
	X(SEG_NOT_FORWARDED, INSPECTION, "segments_not_forwarded",                                 \
		"not read, connection unestablished: not forwarded by routing")                    \
	X(SEG_OTHER_BROKER, INSPECTION, "segments_other_broker",                                   \
		"not read, connection unestablished: not to or from mqtt.brokers")                 \
	X(SEG_SAME_PORT, INSPECTION, "segments_same_port",                                         \
		"not read, connection unestablished: same ingress port as the client")             \
	X(SEG_LOW_TTL, INSPECTION, "segments_low_ttl",                                             \
		"with a TTL or hop limit below mqtt.min_ttl: not read")                            \
	X(SEG_URGENT, INSPECTION, "segments_urgent_bytes",                                         \
		"urgent bytes, which a receiver takes out of the stream")                          \
	X(SEG_NO_FLOW, INSPECTION, "segments_no_flow",                                             \
		"without payload and of no known connection")                                      \
	X(SEG_CLOSED, INSPECTION, "segments_closed",                                               \
		"with payload, within 10 s after the end of their connection: not read")           \
	/* connections */                                                                          \
	X(FLOW_OPENED, CONNECTION, "flows_opened", "connections followed from their SYN")          \
	X(FLOW_MIDWAY, CONNECTION, "flows_midway", "connections met in the middle")                \
	X(FLOW_REOPENED, CONNECTION, "flows_reopened", "a new SYN on a known address pair")        \
	X(FLOW_SYN_UNCONFIRMED, CONNECTION, "flows_syn_unconfirmed",                               \
		"SYN or SYN-ACK of another connection than is held: not believed alone")           \
	X(FLOW_PROVEN, CONNECTION, "flows_proven",                                                 \
		"connections proven by handshake and CONNACK, or mid-stream")                      \
	X(FLOW_FIN, CONNECTION, "flows_fin", "connections closed by FIN from both ends")           \
	X(FLOW_RST, CONNECTION, "flows_rst", "connections closed by RST")                          \
	X(FLOW_RST_IGNORED, CONNECTION, "flows_rst_ignored",                                       \
		"RST that is not at the next number, ignored")                                     \
	X(FLOW_EXPIRED, CONNECTION, "flows_expired",                                               \
		"established connections idle for longer than connection_timeout")                 \
	X(FLOW_EXPIRED_UNPROVEN, CONNECTION, "flows_expired_unproven",                             \
		"unestablished connections idle for longer than their timeout")                    \
	X(FLOW_EVICTED, CONNECTION, "flows_evicted",                                               \
		"established connections evicted: the flow table was full")                        \
	X(FLOW_EVICTED_UNPROVEN, CONNECTION, "flows_evicted_unproven",                             \
		"unestablished connections evicted: max_unestablished or "                         \
		"reassembly_unestablished reached")                                                \
	X(FLOW_NO_SLOT, CONNECTION, "flows_no_slot",                                               \
		"new connections not followed: only proven ones could be evicted")                 \
	X(FLOW_ADOPTED, CONNECTION, "flows_adopted",                                               \
		"connections read on after a restart of biplane")                                  \
	X(FLOW_ADOPTED_RESYNC, CONNECTION, "flows_adopted_resync",                                 \
		"adopted after a restart, but their cut packet was damaged: resynchronizing")      \
	X(FLOW_NOT_ADOPTED, CONNECTION, "flows_not_adopted",                                       \
		"damaged at a restart: picked up mid-stream")                                      \
	/* streams */                                                                              \
	X(WAIT_DROPPED, STREAM, "unproven_bytes_dropped",                                          \
		"bytes that waited for the proof of their connection in vain")                     \
	X(WAIT_FULL, STREAM, "unproven_full",                                                      \
		"segments before the proof of their connection beyond the bounds")                 \
	X(AFTER_DISCONNECT, STREAM, "segments_after_disconnect",                                   \
		"behind a DISCONNECT or a FIN: no broker reads them")                              \
	X(GAP_LOST, STREAM, "gaps_lost", "bytes that will never be seen: acknowledged unseen")     \
	X(GAP_IN_PACKET, STREAM, "gaps_in_packet",                                                 \
		"of these, inside one packet of known length: its end is the next boundary")       \
	X(SEEK_ENTERED, STREAM, "seeks", "times a stream had to be searched for a boundary")       \
	X(SEEK_PROVEN, STREAM, "seeks_proven", "boundaries proven by the peer's answer")           \
	X(SEEK_PUSHED, STREAM, "seeks_pushed",                                                     \
		"boundaries accepted after resync_packets in a row: known topics are read again")  \
	X(SEEK_REFUTED, STREAM, "seeks_refuted",                                                   \
		"of these, those that what followed showed to be wrong: searched again")           \
	X(SEEK_NO_VERSION, STREAM, "seeks_no_version",                                             \
		"boundary proven, but the MQTT version still unknown")                             \
	X(OPAQUE_NOT_MQTT, STREAM, "opaque_not_mqtt", "stream did not begin with CONNECT")         \
	X(OPAQUE_LENGTH, STREAM, "opaque_remaining_length", "remaining length over four octets")   \
	X(OPAQUE_FLAGS, STREAM, "opaque_flags", "fixed-header flags that the type does not allow") \
	X(OPAQUE_TYPE, STREAM, "opaque_type", "packet type reserved or not allowed there")         \
	X(OPAQUE_QOS, STREAM, "opaque_qos", "QoS 3")                                               \
	X(OPAQUE_PACKET_ID, STREAM, "opaque_packet_id", "packet identifier 0")                     \
	X(OPAQUE_TOPIC_UTF8, STREAM, "opaque_topic_utf8", "topic name that is not valid UTF-8")    \
	X(OPAQUE_TOPIC_WILDCARD, STREAM, "opaque_topic_wildcard", "+ or # in a topic name")        \
	X(OPAQUE_TOPIC_LEVELS, STREAM, "opaque_topic_levels", "topic name of over 201 levels")     \
	X(OPAQUE_TOPIC_EMPTY, STREAM, "opaque_topic_empty", "empty topic name without an alias")   \
	X(OPAQUE_TRUNCATED, STREAM, "opaque_truncated", "a field runs past the end of its packet") \
	X(OPAQUE_PROPERTY, STREAM, "opaque_property",                                              \
		"version 5 property unknown, repeated, misplaced or lying about its length")       \
	X(OPAQUE_ALIAS, STREAM, "opaque_alias", "topic alias 0 or above the peer's maximum")       \
	X(OPAQUE_CONNECT, STREAM, "opaque_connect", "CONNECT malformed or of unknown version")     \
	X(OPAQUE_PROTOCOL, STREAM, "opaque_protocol", "a second CONNECT, or a packet out of turn") \
	X(OPAQUE_REFUSED, STREAM, "opaque_refused", "the broker refused the connection")           \
	X(CARRY_FLOW_LIMIT, STREAM, "carry_flow_limit",                                            \
		"packets not read: longer than reassembly_per_connection allows")                  \
	X(CARRY_TOTAL_LIMIT, STREAM, "carry_total_limit",                                          \
		"packets not read: reassembly_total used up")                                      \
	X(CARRY_CLIENT_LIMIT, STREAM, "carry_client_limit",                                        \
		"packets not read: the client address holds its share of reassembly_total")        \
	X(CARRY_UNPROVEN_LIMIT, STREAM, "carry_unproven_limit",                                    \
		"packets of unestablished connections not read: reassembly_unestablished used up") \
	X(SUSPICIOUS_FLAGS, STREAM, "suspicious_flags",                                            \
		"packets read in spite of fixed-header flags against the standard")                \
	X(SUSPICIOUS_TYPE, STREAM, "suspicious_type",                                              \
		"packets of a type that only a broker sends, ignored as mosquitto does")           \
	X(SUSPICIOUS_STRING, STREAM, "suspicious_string",                                          \
		"packets read in spite of a control character or an invalid optional string")      \
	X(SUSPICIOUS_WILDCARD, STREAM, "suspicious_wildcard",                                      \
		"packets read in spite of a response topic with + or #")                           \
	X(SUSPICIOUS_FILTER, STREAM, "suspicious_filter",                                          \
		"SUBSCRIBE read in spite of an empty topic filter")                                \
	X(SUSPICIOUS_LENGTH, STREAM, "suspicious_length",                                          \
		"packets read in spite of bytes behind their last field, or a missing field")      \
	X(SUSPICIOUS_PROPERTY, STREAM, "suspicious_property",                                      \
		"packets read in spite of a property value against the standard")                  \
	X(SUSPICIOUS_CONNECT, STREAM, "suspicious_connect",                                        \
		"CONNECT read in spite of connect flags against the standard")                     \
	X(SUSPICIOUS_LEVELS, STREAM, "suspicious_levels",                                          \
		"PUBLISH read in spite of a topic of over 201 levels: strictness standard")        \
	/* MQTT */                                                                                 \
	X(MQTT_PACKETS, MQTT, "mqtt_packets", "MQTT control packets read")                         \
	X(MQTT_PUBLISH, MQTT, "publishes", "of these, PUBLISH in the judged direction")            \
	X(MQTT_PUBLISH_OTHER, MQTT, "publishes_other_way", "PUBLISH in the other direction")       \
	X(MQTT_PUBLISH_LOST, MQTT, "publishes_lost", "PUBLISH begun but not read to its end")      \
	X(PUBLISH_BEGINNING, MQTT, "publishes_beginning",                                          \
		"PUBLISH longer than reassembly allows, evaluated by their beginning")             \
	X(PUBLISH_TOO_LONG, MQTT, "publishes_too_long",                                            \
		"pairs of such a PUBLISH and a rule whose value is not in that beginning")         \
	X(MQTT_DUP, MQTT, "publishes_dup", "PUBLISH with DUP: sent again by the client")           \
	X(QOS2_AGAIN, MQTT, "publishes_qos2_repeated",                                             \
		"QoS 2 PUBLISH whose identifier is in flight: evaluated before")                   \
	X(QOS2_NO_ROOM, MQTT, "qos2_no_room",                                                      \
		"QoS 2 identifiers not remembered: one repeated counts twice")                     \
	X(ACK_AWAITED, MQTT, "publishes_ack_awaited",                                              \
		"PUBLISH evaluated only when the broker acknowledges it")                          \
	X(ACK_MISSING, MQTT, "publishes_ack_missing",                                              \
		"not evaluated: no acknowledgement was seen before the connection ended")          \
	X(ACK_NO_ROOM, MQTT, "publishes_ack_no_room",                                              \
		"not evaluated: no memory to wait for the acknowledgement")                        \
	X(ACK_NOT_ADOPTED, MQTT, "publishes_ack_restart",                                          \
		"connections whose PUBLISH in wait were dropped at a restart of biplane")          \
	X(PUBLISH_REFUSED, MQTT, "publishes_refused",                                              \
		"PUBLISH that the broker refused by PUBACK or PUBREC")                             \
	X(PUBLISH_REFUSED_LATE, MQTT, "publishes_refused_late",                                    \
		"of these, those that had not waited: evaluated, if a rule matched")               \
	X(ALIAS_UNMAPPED, MQTT, "alias_unmapped", "PUBLISH with an alias that is not mapped")      \
	X(ALIAS_NO_ROOM, MQTT, "alias_no_room", "topic alias not kept: carry limits reached")      \
	X(ALIAS_OVER_MAX, MQTT, "alias_over_max", "topic alias not kept: over max_topic_aliases")  \
	X(ALIAS_BEFORE_CONNACK, MQTT, "alias_before_connack",                                      \
		"topic alias not kept: the broker has not accepted the connection")                \
	X(TOPIC_MEMO, MQTT, "topic_memo", "PUBLISH on the topic that the flow published last")     \
	X(TOPIC_LOOKUP, MQTT, "topic_lookup", "PUBLISH whose topic was looked up in the rules")    \
	X(TOPIC_UNPROVEN, MQTT, "topics_unproven",                                                 \
		"of these, topics not judged: new since seeks_pushed, and nothing answered yet")   \
	X(WILL_EVALUATED, MQTT, "wills_evaluated",                                                 \
		"will messages evaluated: the connection ended without DISCONNECT")                \
	X(WILL_DISCARDED, MQTT, "wills_discarded", "will messages discarded by a DISCONNECT")      \
	X(WILL_DELAYED, MQTT, "wills_delayed",                                                     \
		"will messages that waited for their will delay interval")                         \
	X(WILL_CANCELLED, MQTT, "wills_cancelled",                                                 \
		"of these, not evaluated: the client was back in time")                            \
	X(WILL_DELAYED_FULL, MQTT, "wills_delayed_full",                                           \
		"will messages not evaluated: as many wait as there may be connections")           \
	X(WILL_DELAYED_RESTART, MQTT, "wills_delayed_restart",                                     \
		"will messages not evaluated: they waited when biplane was restarted")             \
	X(WILL_REFUSED, MQTT, "wills_refused",                                                     \
		"will messages not evaluated: the broker did not accept the connection")           \
	X(WILL_UNCLEAR, MQTT, "wills_unclear",                                                     \
		"will messages not evaluated: the last bytes of the client were not read")         \
	X(WILL_FORGOTTEN, MQTT, "wills_forgotten",                                                 \
		"will messages not evaluated: the connection was evicted or timed out alive")      \
	X(WILL_NO_MEMORY, MQTT, "wills_no_memory",                                                 \
		"will messages not kept: reassembly memory limits reached")                        \
	/* rules */                                                                                \
	X(MATCH_NONE, RULE, "match_none", "PUBLISH that no rule's topic filter matches")           \
	X(NOT_INSPECTED_WORK, RULE, "not_inspected_work_budget",                                   \
		"not evaluated by all rules, or not searched: connection over "                    \
		"connection_cpu_percent")                                                          \
	X(NOT_INSPECTED_WORKER, RULE, "not_inspected_worker_budget",                               \
		"not evaluated by all rules, or not searched: worker over worker_cpu_percent")     \
	X(MATCH, RULE, "matches", "pairs of a PUBLISH and a rule that matches it")                 \
	X(VALUE_MISSING, RULE, "value_missing", "payload has no such value at the rule's source")  \
	X(STATE_EVICTED, RULE, "state_evicted",                                                    \
		"states of a hold in progress evicted: table full")                                \
	X(STATE_EVICTED_RAISED, RULE, "state_evicted_raised",                                      \
		"states of raised alarms evicted: table full")                                     \
	X(STATE_NOT_KEPT, RULE, "state_not_kept",                                                  \
		"states not stored: other clients' states have all entries")                       \
	/* alarms */                                                                               \
	X(ALARM_RAISED, ALARM, "alarms_raised", "alarms raised")                                   \
	X(ALARM_CLEARED, ALARM, "alarms_cleared", "alarms cleared")                                \
	X(ALARM_QUEUED, ALARM, "alarms_queued", "alarms handed to the control plane")              \
	X(ALARM_RING_FULL, ALARM, "alarms_ring_full", "alarms lost: the ring was full")            \
	X(ALARM_TOO_LARGE, ALARM, "alarms_too_large", "alarms lost: larger than the ring takes")   \
	X(CLONE_NO_MBUF, ALARM, "clone_no_mbuf", "clones not made for want of an mbuf")            \
	X(CLONE_TOO_LARGE, ALARM, "clone_too_large", "clones not made: over the edge port's MTU")  \
	X(CLONE_FAMILY, ALARM, "clone_family", "clones not made: edge has no such IP version")     \
	X(CLONE_NO_FRAME, ALARM, "clone_no_frame",                                                 \
		"clones not made: a will message of a connection whose end was not seen")          \
	X(CLONE_NO_EDGE, ALARM, "clone_no_edge", "clones not made: no clone target configured")

BP_DECLARE_COUNTERS(MQTT, 1 + BP_SERVICE_MQTT);

#endif
