/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_MQTT_H
#define BIPLANE_COUNTERS_MQTT_H

#include "biplane/counters.h"

/* Inspection of MQTT and its alarms. A frame that the groups here count is forwarded all the same.
 */
#define BP_COUNTER_GROUPS_OF_MQTT(X)                                                               \
	X(INSPECTION, "inspection", "TCP segments seen by inspection. All of them are forwarded.") \
	X(CONNECTION, "connection", "Connections tracked by inspection.")                          \
	X(STREAM, "stream", "Byte streams: resynchronization, and why streams are not inspected.") \
	X(MQTT, "mqtt", "Inspected MQTT control packets.")                                         \
	X(RULE, "rule", "Evaluation of rules.")                                                    \
	X(POLICY, "policy", "Decisions of the MQTT policy.")                                       \
	X(ALARM, "alarm", "Alarms, until they leave the data plane.")

#define BP_COUNTERS_OF_MQTT(X)                                                                     \
	/* frames that biplane generated */                                                        \
	X(MIRROR_FRAME, ORIGINATED, "mirror_frame", "alarm frames built by action: mirror")        \
	X(POLICY_ANSWER, ORIGINATED, "policy_answer",                                              \
		"segments sent to the ends of connections that the policy has ended")              \
	/* dropped frames */                                                                       \
	X(DROP_POLICY_REFUSED, DROP, "policy_refused", "MQTT policy: a packet that it refuses")    \
	X(DROP_POLICY_AFTER_CLOSE, DROP, "policy_after_close",                                     \
		"MQTT policy: segments of a connection that has ended")                            \
	X(DROP_POLICY_UNJUDGED, DROP, "policy_unjudged",                                           \
		"MQTT policy, fail: closed: connections that are not inspected")                   \
	X(DROP_POLICY_NOT_INSPECTED, DROP, "policy_not_inspected",                                 \
		"MQTT policy: fragments, unreadable frames, two inspected TCP ports")              \
	X(DROP_POLICY_NOT_READ, DROP, "policy_not_read",                                           \
		"MQTT policy: segments of a client that are not valid, or before their turn")      \
	X(DROP_POLICY_AHEAD, DROP, "policy_ahead",                                                 \
		"MQTT policy: segments of a client ahead of their stream, to be sent again")       \
	X(DROP_POLICY_URGENT, DROP, "policy_urgent",                                               \
		"MQTT policy: segments of a client with urgent data")                              \
	X(DROP_POLICY_MEMORY, DROP, "policy_memory",                                               \
		"MQTT policy: no reassembly memory for the segment, to be sent again")             \
	X(DROP_POLICY_PIECES, DROP, "policy_pieces",                                               \
		"MQTT policy: segments over 16 KiB in several buffers, or in shared ones")         \
	X(DROP_POLICY_SPOOFED, DROP, "policy_spoofed",                                             \
		"MQTT policy: segments of a broker that arrived at the port of the client")        \
	/* inspection of segments */                                                               \
	X(SEG_INSPECTED, INSPECTION, "segments", "TCP segments to or from an inspected TCP port")  \
	X(SEG_EMPTY, INSPECTION, "segments_empty", "of these, without payload")                    \
	X(SEG_DUPLICATE, INSPECTION, "segments_duplicate", "retransmissions of inspected bytes")   \
	X(SEG_OVERLAP, INSPECTION, "segments_overlap",                                             \
		"partial retransmissions: new bytes inspected")                                    \
	X(SEG_OUT_OF_ORDER, INSPECTION, "segments_out_of_order",                                   \
		"out of order: copied to the reorder buffer")                                      \
	X(SEG_REORDER_FULL, INSPECTION, "segments_reorder_full",                                   \
		"out of order: reorder_buffer exceeded")                                           \
	X(SEG_REORDER_TOTAL, INSPECTION, "segments_reorder_total",                                 \
		"out of order: half of reassembly_total in use")                                   \
	X(SEG_BAD_CHECKSUM, INSPECTION, "segments_bad_checksum",                                   \
		"wrong TCP checksum: forwarded, not inspected")                                    \
	X(SEG_BAD_HEADER, INSPECTION, "segments_bad_header",                                       \
		"IP or TCP lengths inconsistent with the frame length")                            \
	X(SEG_FRAGMENT, INSPECTION, "segments_fragment", "IP fragments: not inspected")            \
	X(NOT_INSPECTED_VLAN, INSPECTION, "not_inspected_vlan",                                    \
		"frames with more than three VLAN tags")                                           \
	X(NOT_INSPECTED_LLC, INSPECTION, "not_inspected_llc",                                      \
		"LLC frames other than SNAP with OUI 0")                                           \
	X(NOT_INSPECTED_PPPOE, INSPECTION, "not_inspected_pppoe",                                  \
		"PPPoE session data other than IPv4 and IPv6")                                     \
	X(NOT_INSPECTED_MPLS, INSPECTION, "not_inspected_mpls",                                    \
		"MPLS with over eight labels, or not carrying IPv4 or IPv6")                       \
	X(NOT_INSPECTED_TUNNEL, INSPECTION, "not_inspected_tunnel",                                \
		"IP packets that carry IP in IP, GRE or ESP")                                      \
	X(SEG_OUT_OF_WINDOW, INSPECTION, "segments_out_of_window",                                 \
		"sequence number out of window")                                                   \
	X(SEG_NO_ACK, INSPECTION, "segments_no_ack",                                               \
		"without the ACK flag: receivers discard these")                                   \
	X(SEG_ACK_INVALID, INSPECTION, "segments_ack_invalid",                                     \
		"acknowledgment number out of window: not inspected")                              \
	X(SEG_ACK_UNSEEN, INSPECTION, "segments_ack_unseen",                                       \
		"acknowledgment of unseen bytes: held until confirmed by the peer")                \
	X(SEG_NOT_FORWARDED, INSPECTION, "segments_not_forwarded",                                 \
		"connection not established: segment not forwarded by routing")                    \
	X(SEG_OTHER_BROKER, INSPECTION, "segments_other_broker",                                   \
		"connection not established: segment not to or from mqtt.brokers")                 \
	X(SEG_SAME_PORT, INSPECTION, "segments_same_port",                                         \
		"connection not established: same input port as the client")                       \
	X(SEG_LOW_TTL, INSPECTION, "segments_low_ttl",                                             \
		"TTL or hop limit below mqtt.min_ttl: not inspected")                              \
	X(SEG_URGENT, INSPECTION, "segments_urgent_bytes",                                         \
		"urgent bytes, which a receiver removes from the stream")                          \
	X(SEG_NO_CONNECTION, INSPECTION, "segments_no_connection",                                 \
		"without payload and of no known connection")                                      \
	X(SEG_AFTER_CLOSE, INSPECTION, "segments_after_close",                                     \
		"with payload, within 10 s after the connection was closed: not inspected")        \
	/* connections */                                                                          \
	X(CONN_OPENED, CONNECTION, "connections_opened", "connections tracked from their SYN")     \
	X(CONN_MIDSTREAM, CONNECTION, "connections_midstream", "connections picked up mid-stream") \
	X(CONN_REOPENED, CONNECTION, "connections_reopened", "new SYN on a known 4-tuple")         \
	X(CONN_SYN_UNCONFIRMED, CONNECTION, "connections_syn_unconfirmed",                         \
		"SYN or SYN-ACK that conflicts with the tracked connection: not accepted alone")   \
	X(CONN_ESTABLISHED, CONNECTION, "connections_established",                                 \
		"connections established: handshake and CONNACK seen, or confirmed mid-stream")    \
	X(CONN_WEBSOCKET, CONNECTION, "connections_websocket",                                     \
		"connections upgraded to MQTT over WebSocket")                                     \
	X(CONN_FIN, CONNECTION, "connections_fin", "connections closed by FIN from both sides")    \
	X(CONN_RST, CONNECTION, "connections_rst", "connections closed by RST")                    \
	X(CONN_RST_IGNORED, CONNECTION, "connections_rst_ignored",                                 \
		"RST not at the next sequence number: ignored")                                    \
	X(CONN_EXPIRED, CONNECTION, "connections_expired",                                         \
		"established connections idle for longer than connection_timeout")                 \
	X(CONN_EXPIRED_UNESTABLISHED, CONNECTION, "connections_expired_unestablished",             \
		"unestablished connections idle for longer than their timeout")                    \
	X(CONN_EVICTED, CONNECTION, "connections_evicted",                                         \
		"established connections evicted: max_connections reached")                        \
	X(CONN_EVICTED_UNESTABLISHED, CONNECTION, "connections_evicted_unestablished",             \
		"unestablished connections evicted: max_unestablished or "                         \
		"reassembly_unestablished reached")                                                \
	X(CONN_TABLE_FULL, CONNECTION, "connections_table_full",                                   \
		"new connections not tracked: table full of established connections")              \
	X(CONN_ADOPTED, CONNECTION, "connections_adopted",                                         \
		"connections adopted after a restart of biplane")                                  \
	X(CONN_ADOPTED_RESYNC, CONNECTION, "connections_adopted_resync",                           \
		"adopted after a restart with a damaged partial packet: resynchronizing")          \
	X(CONN_NOT_ADOPTED, CONNECTION, "connections_not_adopted",                                 \
		"damaged at a restart: picked up mid-stream")                                      \
	X(FLEET_ASKED, CONNECTION, "connections_fleet_requests",                                   \
		"connections whose state was requested from the "                                  \
		"fleet")                                                                           \
	X(FLEET_ASK_FULL, CONNECTION, "connections_fleet_requests_full",                           \
		"not requested: too many requests without an answer")                              \
	X(FLEET_ASK_CLIENT, CONNECTION, "connections_fleet_requests_client",                       \
		"not requested: too many requests of this client address without an answer")       \
	X(FLEET_ASK_DEFERRED, CONNECTION, "connections_fleet_requests_deferred",                   \
		"requests that waited until others of the worker were answered")                   \
	X(FLEET_ADOPTED, CONNECTION, "connections_fleet_adopted",                                  \
		"connections adopted from another gateway of the fleet")                           \
	X(FLEET_NOT_FOUND, CONNECTION, "connections_fleet_not_found",                              \
		"not adopted: the fleet has no state of the connection")                           \
	X(FLEET_TIMEOUT, CONNECTION, "connections_fleet_timeout",                                  \
		"not adopted: no answer within 1 s")                                               \
	X(FLEET_BUFFER_FULL, CONNECTION, "connections_fleet_buffer_full",                          \
		"read without the answer of the fleet: reorder_buffer exceeded")                   \
	X(FLEET_LATE, CONNECTION, "connections_fleet_late",                                        \
		"states not used: connection inspected, resynchronizing, or gone")                 \
	X(FLEET_STALE, CONNECTION, "connections_fleet_stale",                                      \
		"not adopted: packets passed after the state was stored")                          \
	X(FLEET_CONFLICT, CONNECTION, "connections_fleet_conflict",                                \
		"not adopted: state of another position in the stream, TCP port or broker")        \
	X(FLEET_INVALID, CONNECTION, "connections_fleet_invalid", "not adopted: answer damaged")   \
	X(EVENTS_LIMITED, CONNECTION, "events_limited",                                            \
		"no event: over 1,000 a second and worker; of connections never established, 16")  \
	/* streams */                                                                              \
	X(UNESTABLISHED_BYTES_DISCARDED, STREAM, "unestablished_bytes_discarded",                  \
		"buffered bytes discarded: connection never established")                          \
	X(UNESTABLISHED_BUFFER_FULL, STREAM, "unestablished_buffer_full",                          \
		"segments of unestablished connections not buffered: limit reached")               \
	X(AFTER_DISCONNECT, STREAM, "segments_after_disconnect",                                   \
		"after DISCONNECT or FIN: ignored by brokers")                                     \
	X(GAP_LOST, STREAM, "gaps_lost",                                                           \
		"gaps in the stream: acknowledged bytes that were not seen")                       \
	X(GAP_IN_PACKET, STREAM, "gaps_in_packet",                                                 \
		"of these, within one packet of known length: inspection continues at its end")    \
	X(RESYNC_STARTED, STREAM, "resync_started",                                                \
		"resynchronizations started: next packet boundary unknown")                        \
	X(RESYNC_CONFIRMED, STREAM, "resync_confirmed",                                            \
		"packet boundaries confirmed by a response of the peer")                           \
	X(RESYNC_UNCONFIRMED, STREAM, "resync_unconfirmed",                                        \
		"boundaries accepted after resync_packets valid packets: known topics are "        \
		"evaluated")                                                                       \
	X(RESYNC_REVERTED, STREAM, "resync_reverted",                                              \
		"of these, wrong boundaries: resynchronization restarted")                         \
	X(RESYNC_NO_VERSION, STREAM, "resync_no_version",                                          \
		"boundary confirmed, MQTT version still unknown")                                  \
	X(NOT_INSPECTED_NOT_MQTT, STREAM, "not_inspected_not_mqtt",                                \
		"stream does not begin with CONNECT")                                              \
	X(NOT_INSPECTED_LENGTH, STREAM, "not_inspected_remaining_length",                          \
		"remaining length longer than four bytes")                                         \
	X(NOT_INSPECTED_FLAGS, STREAM, "not_inspected_flags",                                      \
		"fixed-header flags invalid for the packet type")                                  \
	X(NOT_INSPECTED_TYPE, STREAM, "not_inspected_type",                                        \
		"packet type reserved, or invalid in this direction")                              \
	X(NOT_INSPECTED_QOS, STREAM, "not_inspected_qos", "QoS 3")                                 \
	X(NOT_INSPECTED_PACKET_ID, STREAM, "not_inspected_packet_id", "packet identifier 0")       \
	X(NOT_INSPECTED_TOPIC_UTF8, STREAM, "not_inspected_topic_utf8",                            \
		"topic name not valid UTF-8")                                                      \
	X(NOT_INSPECTED_TOPIC_WILDCARD, STREAM, "not_inspected_topic_wildcard",                    \
		"+ or # in a topic name")                                                          \
	X(NOT_INSPECTED_TOPIC_LEVELS, STREAM, "not_inspected_topic_levels",                        \
		"topic name of over 201 levels")                                                   \
	X(NOT_INSPECTED_TOPIC_EMPTY, STREAM, "not_inspected_topic_empty",                          \
		"empty topic name without a topic alias")                                          \
	X(NOT_INSPECTED_TRUNCATED, STREAM, "not_inspected_truncated",                              \
		"field longer than the rest of its packet")                                        \
	X(NOT_INSPECTED_PROPERTY, STREAM, "not_inspected_property",                                \
		"MQTT 5 property unknown, repeated, misplaced or of wrong length")                 \
	X(NOT_INSPECTED_ALIAS, STREAM, "not_inspected_alias",                                      \
		"topic alias 0 or above the peer's maximum")                                       \
	X(NOT_INSPECTED_CONNECT, STREAM, "not_inspected_connect",                                  \
		"CONNECT malformed or of an unknown version")                                      \
	X(NOT_INSPECTED_PROTOCOL, STREAM, "not_inspected_protocol",                                \
		"second CONNECT, or a packet that violates the protocol order")                    \
	X(NOT_INSPECTED_REFUSED, STREAM, "not_inspected_refused",                                  \
		"connection refused by the broker")                                                \
	X(NOT_INSPECTED_WEBSOCKET_UPGRADE, STREAM, "not_inspected_websocket_upgrade",              \
		"HTTP request or response other than an upgrade to MQTT over WebSocket")           \
	X(NOT_INSPECTED_WEBSOCKET_EXTENSION, STREAM, "not_inspected_websocket_extension",          \
		"WebSocket extension, such as permessage-deflate")                                 \
	X(NOT_INSPECTED_WEBSOCKET_TEXT, STREAM, "not_inspected_websocket_text",                    \
		"WebSocket text message: MQTT uses binary messages")                               \
	X(NOT_INSPECTED_WEBSOCKET_FRAME, STREAM, "not_inspected_websocket_frame",                  \
		"WebSocket frame malformed")                                                       \
	X(NOT_INSPECTED_WEBSOCKET_MIDSTREAM, STREAM, "not_inspected_websocket_midstream",          \
		"WebSocket picked up mid-stream, or bytes of it lost")                             \
	X(NOT_INSPECTED_TLS, STREAM, "not_inspected_tls", "stream begins with TLS")                \
	X(REASSEMBLY_LIMIT_CONNECTION, STREAM, "reassembly_limit_connection",                      \
		"packets not inspected: longer than reassembly_per_connection")                    \
	X(REASSEMBLY_LIMIT_TOTAL, STREAM, "reassembly_limit_total",                                \
		"packets not inspected: reassembly_total exhausted")                               \
	X(REASSEMBLY_LIMIT_CLIENT, STREAM, "reassembly_limit_client",                              \
		"packets not inspected: share of reassembly_total of the client address "          \
		"exhausted")                                                                       \
	X(REASSEMBLY_LIMIT_UNESTABLISHED, STREAM, "reassembly_limit_unestablished",                \
		"packets of unestablished connections not inspected: reassembly_unestablished "    \
		"exhausted")                                                                       \
	X(SUSPICIOUS_FLAGS, STREAM, "suspicious_flags",                                            \
		"inspected although fixed-header flags violate the standard")                      \
	X(SUSPICIOUS_TYPE, STREAM, "suspicious_type",                                              \
		"packets of a type that only a broker sends: ignored, as by mosquitto")            \
	X(SUSPICIOUS_STRING, STREAM, "suspicious_string",                                          \
		"inspected although a string has a control character or is invalid (of a "         \
		"topic that a client repeats: once or more)")                                      \
	X(SUSPICIOUS_WILDCARD, STREAM, "suspicious_wildcard",                                      \
		"inspected although the response topic has + or #")                                \
	X(SUSPICIOUS_FILTER, STREAM, "suspicious_filter",                                          \
		"SUBSCRIBE inspected although a topic filter is empty")                            \
	X(SUSPICIOUS_LENGTH, STREAM, "suspicious_length",                                          \
		"inspected although bytes follow the last field, or a field is missing")           \
	X(SUSPICIOUS_PROPERTY, STREAM, "suspicious_property",                                      \
		"inspected although a property value violates the standard")                       \
	X(SUSPICIOUS_CONNECT, STREAM, "suspicious_connect",                                        \
		"CONNECT inspected although its flags violate the standard")                       \
	X(SUSPICIOUS_LEVELS, STREAM, "suspicious_levels",                                          \
		"PUBLISH inspected although its topic has over 201 levels (strictness: standard; " \
		"of a topic that a client repeats: once or more)")                                 \
	/* MQTT */                                                                                 \
	X(MQTT_PACKETS, MQTT, "mqtt_packets", "MQTT control packets inspected")                    \
	X(MQTT_PUBLISH, MQTT, "publishes",                                                         \
		"of these, PUBLISH in an inspected direction (mqtt.directions)")                   \
	X(MQTT_PUBLISH_OTHER_DIRECTION, MQTT, "publishes_other_direction",                         \
		"PUBLISH in the other direction")                                                  \
	X(MQTT_PUBLISH_INCOMPLETE, MQTT, "publishes_incomplete",                                   \
		"PUBLISH not inspected to the end")                                                \
	X(PUBLISH_TRUNCATED, MQTT, "publishes_truncated",                                          \
		"PUBLISH longer than the reassembly limit: first bytes evaluated")                 \
	X(PUBLISH_VALUE_TRUNCATED, MQTT, "publishes_value_truncated",                              \
		"matches of a truncated PUBLISH and a rule: value beyond the reassembly limit")    \
	X(MQTT_DUP, MQTT, "publishes_dup", "PUBLISH with the DUP flag")                            \
	X(QOS2_DUPLICATE, MQTT, "publishes_qos2_duplicate",                                        \
		"QoS 2 PUBLISH with a packet identifier in flight: already evaluated")             \
	X(QOS2_IDS_FULL, MQTT, "qos2_ids_full",                                                    \
		"QoS 2 packet identifiers not stored: a duplicate is evaluated twice")             \
	X(ACK_AWAITED, MQTT, "publishes_ack_awaited",                                              \
		"PUBLISH held until the broker acknowledges it")                                   \
	X(ACK_MISSING, MQTT, "publishes_ack_missing",                                              \
		"held PUBLISH not evaluated: connection ended without an acknowledgment")          \
	X(ACK_NO_MEMORY, MQTT, "publishes_ack_no_memory",                                          \
		"PUBLISH not evaluated: no memory to hold it until the acknowledgment")            \
	X(ACK_NOT_ADOPTED, MQTT, "publishes_ack_restart",                                          \
		"connections whose held PUBLISH were discarded at a restart of biplane")           \
	X(PUBLISH_REFUSED, MQTT, "publishes_refused",                                              \
		"PUBLISH refused by the broker in PUBACK or PUBREC")                               \
	X(PUBLISH_REFUSED_LATE, MQTT, "publishes_refused_late",                                    \
		"of these, not held: evaluated if a rule matched")                                 \
	X(ALIAS_UNMAPPED, MQTT, "alias_unmapped", "PUBLISH with an unmapped topic alias")          \
	X(ALIAS_NO_MEMORY, MQTT, "alias_no_memory",                                                \
		"topic aliases not stored: reassembly limits reached")                             \
	X(ALIAS_OVER_MAX, MQTT, "alias_over_max",                                                  \
		"topic aliases not stored: max_topic_aliases reached")                             \
	X(ALIAS_BEFORE_CONNACK, MQTT, "alias_before_connack",                                      \
		"topic aliases not stored: connection not accepted by the broker")                 \
	X(TOPIC_CACHE_HIT, MQTT, "topic_cache_hits",                                               \
		"PUBLISH with the same topic as the last of its connection")                       \
	X(TOPIC_LOOKUP, MQTT, "topic_lookups", "PUBLISH with a topic looked up in the rules")      \
	X(TOPIC_UNCONFIRMED, MQTT, "topics_unconfirmed",                                           \
		"of these, not evaluated: new topic after an unconfirmed resynchronization")       \
	X(WILL_EVALUATED, MQTT, "wills_evaluated",                                                 \
		"will messages evaluated: connection ended without DISCONNECT")                    \
	X(WILL_DISCARDED, MQTT, "wills_discarded", "will messages discarded by DISCONNECT")        \
	X(WILL_DELAYED, MQTT, "wills_delayed", "will messages delayed by the will delay interval") \
	X(WILL_CANCELED, MQTT, "wills_canceled",                                                   \
		"of these, not evaluated: client reconnected in time")                             \
	X(WILL_DELAYED_FULL, MQTT, "wills_delayed_full",                                           \
		"will messages not evaluated: as many delayed as max_connections")                 \
	X(WILL_DELAYED_RESTART, MQTT, "wills_delayed_restart",                                     \
		"delayed will messages not evaluated: restart of biplane")                         \
	X(WILL_REFUSED, MQTT, "wills_refused",                                                     \
		"will messages not evaluated: connection refused by the broker")                   \
	X(WILL_NOT_INSPECTED, MQTT, "wills_not_inspected",                                         \
		"will messages not evaluated: last bytes of the client not inspected")             \
	X(WILL_EVICTED, MQTT, "wills_evicted",                                                     \
		"will messages not evaluated: connection evicted or expired while open")           \
	X(WILL_NO_MEMORY, MQTT, "wills_no_memory",                                                 \
		"will messages not stored: reassembly limits reached")                             \
	/* rules */                                                                                \
	X(MATCH_NONE, RULE, "match_none", "PUBLISH that match no topic filter")                    \
	X(NOT_INSPECTED_CONNECTION_BUDGET, RULE, "not_inspected_connection_budget",                \
		"not evaluated by all rules, or not resynchronized: connection over "              \
		"connection_cpu_percent")                                                          \
	X(NOT_INSPECTED_WORKER_BUDGET, RULE, "not_inspected_worker_budget",                        \
		"not evaluated by all rules, or not resynchronized: worker over "                  \
		"worker_cpu_percent")                                                              \
	X(MATCH, RULE, "matches", "matches of a PUBLISH and a rule")                               \
	X(VALUE_MISSING, RULE, "value_missing", "value of the rule not found in the payload")      \
	X(VALUE_ELEMENTS_EXCEEDED, RULE, "value_elements_exceeded",                                \
		"of these, more elements of arrays than are compared in one payload")              \
	X(SPARKPLUG_BIRTH, RULE, "sparkplug_births", "NBIRTH and DBIRTH messages of Sparkplug B")  \
	X(SPARKPLUG_DEATH, RULE, "sparkplug_deaths", "NDEATH and DDEATH messages of Sparkplug B")  \
	X(SPARKPLUG_DEATH_STALE, RULE, "sparkplug_deaths_stale",                                   \
		"NDEATH ignored: bdSeq of an earlier session of the node")                         \
	X(SPARKPLUG_DEATH_CUT, RULE, "sparkplug_deaths_over_budget",                               \
		"devices not evaluated at the death of their node: over the budget of work")       \
	X(SPARKPLUG_MALFORMED, RULE, "sparkplug_malformed",                                        \
		"messages of Sparkplug B not evaluated: payload malformed")                        \
	X(SPARKPLUG_SEQ_GAP, RULE, "sparkplug_seq_gaps",                                           \
		"messages of Sparkplug B after missing sequence numbers")                          \
	X(SPARKPLUG_AFTER_DEATH, RULE, "sparkplug_after_death",                                    \
		"messages of a Sparkplug B node after its NDEATH without a new NBIRTH")            \
	X(SPARKPLUG_ALIAS_UNKNOWN, RULE, "sparkplug_alias_unknown",                                \
		"metrics by alias not evaluated: no birth of the device was seen")                 \
	X(SPARKPLUG_NULL, RULE, "sparkplug_null",                                                  \
		"metrics not evaluated: is_null, no number, or no such member")                    \
	X(SPARKPLUG_HISTORICAL, RULE, "sparkplug_historical",                                      \
		"metrics not evaluated: is_historical")                                            \
	X(SPARKPLUG_EVICTED, RULE, "sparkplug_evicted",                                            \
		"aliases and sessions of Sparkplug B evicted: table full")                         \
	X(SPARKPLUG_NOT_STORED, RULE, "sparkplug_not_stored",                                      \
		"aliases and sessions of Sparkplug B not stored: table full")                      \
	X(STATE_EVICTED, RULE, "state_evicted",                                                    \
		"states of a hold in progress evicted: table full")                                \
	X(STATE_EVICTED_RAISED, RULE, "state_evicted_raised",                                      \
		"states of raised alarms evicted: table full")                                     \
	X(STATE_NOT_STORED, RULE, "state_not_stored",                                              \
		"states not stored: table full of other clients' states")                          \
	X(TOPICS_WATCHED, RULE, "topics_watched", "topics whose absence is watched from then on")  \
	X(WATCH_EVICTED, RULE, "topics_watched_evicted",                                           \
		"watched topics evicted: table full of topics (max_watched_topics)")               \
	X(WATCH_FULL, RULE, "topics_not_watched", "topics not watched: table full")                \
	X(WATCH_TOPIC_TOO_LONG, RULE, "topics_not_watched_length",                                 \
		"PUBLISH on a topic of over 184 bytes: absence not watched")                       \
	X(WATCH_DAMAGED, RULE, "topics_watched_damaged",                                           \
		"watched topics removed: text incomplete after a restart")                         \
	X(COMBINATION_UNKNOWN, RULE, "combination_unknown",                                        \
		"combinations not decided: parts without a value, or older than max_age")          \
	X(COMBINATION_EVICTED, RULE, "combination_evicted",                                        \
		"values of parts of combinations evicted: table full")                             \
	X(COMBINATION_NOT_STORED, RULE, "combination_not_stored",                                  \
		"values of parts not stored: table full of other clients' values")                 \
	X(WINDOW_NO_RESULT, RULE, "window_no_result",                                              \
		"values whose window has no result: not full since it began, or times equal")      \
	X(WINDOW_EXPIRED, RULE, "window_expired", "results of time windows without a new value")   \
	X(WINDOW_TOPIC_TOO_LONG, RULE, "window_topic_too_long",                                    \
		"values of time windows without results by time alone: topic over 184 bytes")      \
	X(WINDOW_COARSENED, RULE, "window_coarsened",                                              \
		"percentiles over time whose error has doubled: too many different values")        \
	X(WINDOW_EVICTED, RULE, "window_evicted",                                                  \
		"windows evicted: table full (mqtt.max_windows)")                                  \
	X(WINDOW_NOT_STORED, RULE, "window_not_stored",                                            \
		"values not evaluated: table full of windows of other clients")                    \
	X(WINDOW_BUSY, RULE, "window_busy",                                                        \
		"values not evaluated: another worker did not release the window")                 \
	X(WINDOW_EMPTIED, RULE, "window_emptied",                                                  \
		"windows emptied after a restart of biplane: changes could not be undone")         \
	X(FLEET_STATE_RAISED, RULE, "states_fleet_raised",                                         \
		"states of alarms that another gateway of the fleet has raised")                   \
	X(FLEET_STATE_CLEARED, RULE, "states_fleet_cleared",                                       \
		"states of alarms that another gateway of the fleet has cleared")                  \
	X(FLEET_HOLD, RULE, "states_fleet_hold",                                                   \
		"changes of holds by other gateways of the fleet")                                 \
	X(FLEET_HOLD_NOT_REPORTED, RULE, "states_fleet_hold_not_reported",                         \
		"changes of holds not shared: ring to the control plane half full")                \
	X(FLEET_HOLD_TOPIC_TOO_LONG, RULE, "states_fleet_hold_topic_too_long",                     \
		"changes of holds not shared: topic over 4096 bytes")                              \
	X(FLEET_HOLD_ENDED, RULE, "states_fleet_hold_ended",                                       \
		"holds of other gateways ended: values of the connection were not read")           \
	X(FLEET_STATE_NO_RULE, RULE, "states_fleet_no_rule",                                       \
		"states of other gateways not used: no such rule here")                            \
	X(FLEET_STATE_NOT_STORED, RULE, "states_fleet_not_stored",                                 \
		"states of other gateways not used: table full")                                   \
	X(FLEET_STATE_OUTDATED, RULE, "states_fleet_outdated",                                     \
		"states of other gateways not used: this gateway has changed it since")            \
	X(FLEET_STATE_INVALID, RULE, "states_fleet_invalid",                                       \
		"states of other gateways not used: damaged")                                      \
	/* policy */                                                                               \
	X(POLICY_OBSERVED, POLICY, "policy_observed",                                              \
		"packets that the policy observes: a rule with action observe, or the default")    \
	X(POLICY_REFUSED, POLICY, "policy_packets_refused", "packets that the policy refuses")     \
	X(POLICY_CLOSED, POLICY, "policy_connections_closed",                                      \
		"connections that the policy has ended")                                           \
	X(POLICY_RELOAD_CLOSED, POLICY, "policy_reload_closed",                                    \
		"of these, connections whose CONNECT a changed policy refuses (on_reload: close)") \
	X(POLICY_RELOAD_UNDECIDED, POLICY, "policy_reload_undecided",                              \
		"connections that a changed policy may refuse, left: CONNECT not known "           \
		"(on_reload)")                                                                     \
	X(POLICY_WILL_LEFT, POLICY, "policy_will_left",                                            \
		"ended connections whose will the policy refuses and the broker may publish")      \
	X(POLICY_BLANKED, POLICY, "policy_packets_blanked",                                        \
		"publications and topic filters that the broker receives with another topic")      \
	X(POLICY_BLANK_FALLBACK, POLICY, "policy_blank_fallback",                                  \
		"packets of action blank that cannot be overwritten (mqtt.policy.fallback)")       \
	X(POLICY_SUBACK_REFUSED, POLICY, "policy_suback_refused",                                  \
		"refused topic filters of action blank that the SUBACK reports as refused")        \
	X(POLICY_SUBACK_UNCHANGED, POLICY, "policy_suback_unchanged",                              \
		"refused topic filters of action blank that no SUBACK reports as refused")         \
	X(POLICY_NO_ANSWER, POLICY, "policy_answers_not_sent",                                     \
		"answers of the policy that were not sent: no memory, or headers unknown")         \
	X(POLICY_FAILED_OPEN, POLICY, "policy_failed_open",                                        \
		"packets or segments without a decision that were forwarded (fail: open)")         \
	X(POLICY_FAILED_CLOSED, POLICY, "policy_failed_closed",                                    \
		"packets or segments without a decision that were refused (fail: closed)")         \
	X(POLICY_RESTORED, POLICY, "policy_retransmissions_restored",                              \
		"retransmissions with other bytes, forwarded with the original ones")              \
	X(POLICY_UNDECIDED, POLICY, "policy_undecided",                                            \
		"packets without a decision: client identifier, user name or port not known")      \
	X(POLICY_NOT_EVALUATED, POLICY, "policy_not_evaluated",                                    \
		"packets without a decision: inspection budget, too large, or unproven bytes")     \
	X(POLICY_VALUE_MISSING, POLICY, "policy_value_missing",                                    \
		"payloads without the value of a rule, which they do not match then")              \
	X(POLICY_BUCKET_EVICTED, POLICY, "policy_bucket_evicted",                                  \
		"rates restarted: table full of others (max_policy_rates)")                        \
	/* alarms */                                                                               \
	X(ALARM_RAISED, ALARM, "alarms_raised", "alarms raised")                                   \
	X(ALARM_CLEARED, ALARM, "alarms_cleared", "alarms cleared")                                \
	X(ALARM_RAISED_NONE, ALARM, "alarms_raised_none",                                          \
		"alarms raised, of rules without a severity")                                      \
	X(ALARM_RAISED_INFO, ALARM, "alarms_raised_info", "alarms raised, severity info")          \
	X(ALARM_RAISED_WARNING, ALARM, "alarms_raised_warning", "alarms raised, severity warning") \
	X(ALARM_RAISED_MINOR, ALARM, "alarms_raised_minor", "alarms raised, severity minor")       \
	X(ALARM_RAISED_MAJOR, ALARM, "alarms_raised_major", "alarms raised, severity major")       \
	X(ALARM_RAISED_CRITICAL, ALARM, "alarms_raised_critical",                                  \
		"alarms raised, severity critical")                                                \
	X(ALARM_QUEUED, ALARM, "alarms_queued", "alarms queued to the control plane")              \
	X(ALARM_QUEUE_FULL, ALARM, "alarms_queue_full", "alarms lost: alarm queue full")           \
	X(ALARM_TOO_LARGE, ALARM, "alarms_too_large",                                              \
		"alarms lost: larger than the alarm queue accepts")                                \
	X(MIRROR_NO_MBUF, ALARM, "mirror_no_mbuf", "alarm frames not sent: no mbuf")               \
	X(MIRROR_TOO_LARGE, ALARM, "mirror_too_large",                                             \
		"alarm frames not sent: larger than the MTU of the mirror port")                   \
	X(MIRROR_FAMILY, ALARM, "mirror_family",                                                   \
		"alarm frames not sent: mirror has no address of this IP version")                 \
	X(MIRROR_NO_FRAME, ALARM, "mirror_no_frame",                                               \
		"alarm frames not sent: will message of a connection whose end was not seen")      \
	X(MIRROR_WEBSOCKET, ALARM, "mirror_websocket",                                             \
		"alarm frames not sent: publication in a WebSocket")                               \
	X(MIRROR_NO_TARGET, ALARM, "mirror_no_target",                                             \
		"alarm frames not sent: no mirror configured")

BP_DECLARE_COUNTERS(MQTT, 1 + BP_SERVICE_MQTT);

/* The reasons for which a stream is not inspected are the counters from NOT_MQTT to this one. */
#define BP_C_NOT_INSPECTED_LAST BP_C_NOT_INSPECTED_TLS

#endif
