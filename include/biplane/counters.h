/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_H
#define BIPLANE_COUNTERS_H

#include <stdint.h>

/*
 * Every counter that a worker keeps, in one list: identifier, group, one line of help. The table in
 * the segment, `biplane show`, replay's JSON and the documentation's page all derive from it, so a
 * counter that can't be said in one line can't exist.
 *
 * The sum that holds at rest, per gateway:
 *
 *     sum of port rx + made = sum of port tx + drops + to the kernel + consumed
 *
 * where `made` is the group BP_CG_MADE (frames that biplane itself added, and those that came from
 * the kernel), `drops` is the group BP_CG_DROP and `to the kernel` is the group BP_CG_KERNEL, and
 * `consumed` is BP_CG_CONSUMED: frames for biplane itself, which ended there as they should. The
 * group PUNT says why frames were handed to the exception path; each of them is then counted once
 * more, by KERNEL or by DROP. The group PHD counts what was done with reports of personal health
 * devices, and what the CSE said to it; AGGREGATION, messages that no aggregate took and frames
 * that were none; TRANSFORM, readings that became coordinates; LCL, what became of latency labels.
 * The groups INSPECT, STREAM, FLOW, VALUE and ALARM describe what inspection saw; a frame that they
 * count is forwarded all the same. The group TROUBLE is what a person should look at; frames that
 * it counts never reached biplane. Frames that a port's scheduler holds back, like messages that
 * wait for their pace, are under way: at rest there are none.
 */
#define BP_COUNTERS(X)                                                                             \
	/* frames that biplane made */                                                             \
	X(FLOOD_COPY, MADE, "flood_copy", "copies made to flood a frame to further ports")         \
	X(CLONE_FRAME, MADE, "clone_frame", "alarm frames built by action clone")                  \
	X(FROM_KERNEL, MADE, "from_kernel", "frames that the kernel sent through its interfaces")  \
	X(PHD_INSTANCE_FRAME, MADE, "phd_instance_frame",                                          \
		"requests to the CSE beyond the first of a report")                                \
	X(PHD_ANSWER_FRAME, MADE, "phd_answer_frame",                                              \
		"answers to devices beside a request: confirm: forwarded")                         \
	X(CSE_ACK_FRAME, MADE, "cse_ack_frame",                                                    \
		"empty acknowledgements of the CSE's confirmable responses")                       \
	X(PHD_MANAGER_FRAME, MADE, "phd_manager_frame",                                            \
		"replay: what its own manager said to devices")                                    \
	X(AGG_AGGREGATE, MADE, "agg_aggregate", "aggregates of UDP messages")                      \
	X(DISAGG_MESSAGE, MADE, "disagg_message", "UDP messages restored from aggregates")         \
	X(TRANSFORM_COPY, MADE, "transform_copy",                                                  \
		"datagrams for the second and further receivers of a reading")                     \
	/* frames that left nowhere */                                                             \
	X(DROP_TX_FULL, DROP, "tx_full", "the output port's driver took no more frames")           \
	X(DROP_TX_DOWN, DROP, "tx_down", "the output port's link was down")                        \
	X(DROP_TX_PIECES, DROP, "tx_pieces",                                                       \
		"in more buffers than the output port sends, and too long, or no mbuf, for one")   \
	X(DROP_TX_REFUSED, DROP, "tx_refused",                                                     \
		"the output port's driver can't complete the partial checksum")                    \
	X(DROP_VLAN_TAG, DROP, "vlan_tag",                                                         \
		"the port took the VLAN tag off, and there was no room to put it back")            \
	X(DROP_SAME_PORT, DROP, "same_port", "the destination is on the port the frame came from") \
	X(DROP_NO_PEER, DROP, "no_peer", "no other port of the bridge could take the frame")       \
	X(DROP_RUNT, DROP, "runt", "shorter than an Ethernet header")                              \
	X(DROP_NOT_FOR_US, DROP, "not_for_us", "on a routed port, for another station's MAC")      \
	X(DROP_IF_DOWN, DROP, "interface_down",                                                    \
		"the interface it came in on or would leave by is down")                           \
	X(DROP_IP_HEADER, DROP, "ip_header",                                                       \
		"IP version, header length or total length that can't be")                         \
	X(DROP_IP_CHECKSUM, DROP, "ip_checksum", "wrong checksum of the IPv4 header")              \
	X(DROP_MARTIAN, DROP, "martian", "source or destination address that no router forwards")  \
	X(DROP_LINK_LOCAL, DROP, "link_local",                                                     \
		"from or to an IPv4 link-local address (169.254/16), which no router forwards")    \
	X(DROP_SOURCE_LOCAL, DROP, "source_local",                                                 \
		"source address is the gateway's own or a broadcast address of its subnets")       \
	X(DROP_REVERSE_PATH, DROP, "reverse_path",                                                 \
		"reverse path filter: no route to the source, or not through this interface")      \
	X(DROP_FORWARDING_OFF, DROP, "forwarding_disabled",                                        \
		"the interface it came in on does not forward (sysctl forwarding)")                \
	X(DROP_BLACKHOLE, DROP, "blackhole", "the route says blackhole")                           \
	X(DROP_NO_KERNEL, DROP, "no_kernel", "for the kernel, but the interface has none")         \
	X(DROP_QUEUE_ROUTING, DROP, "kernel_queue_routing", "queue of class routing was full")     \
	X(DROP_QUEUE_PHD, DROP, "kernel_queue_phd", "queue of class phd was full")                 \
	X(DROP_QUEUE_LOCAL, DROP, "kernel_queue_local", "queue of class local was full")           \
	X(DROP_QUEUE_OTHER, DROP, "kernel_queue_other", "queue of class other was full")           \
	X(DROP_KERNEL_TX, DROP, "kernel_tx", "the kernel interface took no more frames")           \
	X(DROP_KERNEL_RX, DROP, "kernel_rx", "from the kernel: no room on the way to the worker")  \
	X(DROP_FLUSHED, DROP, "flushed", "still inside biplane when the worker was stopped")       \
	X(DROP_PHD_CHECKSUM, DROP, "phd_checksum", "from a device, UDP length or checksum wrong")  \
	X(DROP_PHD_DISCARDED, DROP, "phd_discarded",                                               \
		"unconfirmed reports that can't be stored; group phd says why")                    \
	X(DROP_PHD_STRAY, DROP, "phd_stray", "reports without a session, over limits.strays")      \
	X(DROP_PHD_LOADING, DROP, "phd_loading",                                                   \
		"reports without a session while sessions are read back from the store")           \
	X(DROP_PHD_REPEAT_UNCONFIRMED, DROP, "phd_repeat_unconfirmed",                             \
		"unconfirmed reports that are stored already")                                     \
	X(DROP_PHD_EMPTY_UNCONFIRMED, DROP, "phd_empty_unconfirmed",                               \
		"unconfirmed reports without an observation")                                      \
	X(DROP_PHD_NO_MBUF, DROP, "phd_no_mbuf", "reports not sent for want of mbufs")             \
	X(DROP_PHD_NO_IDS, DROP, "phd_no_ids",                                                     \
		"reports not sent: all message ids of cse.source_ports were used in the last 247 " \
		"s")                                                                               \
	X(DROP_CSE_CHECKSUM, DROP, "cse_checksum", "from the CSE, UDP length or checksum wrong")   \
	X(DROP_CSE_UNREADABLE, DROP, "cse_unreadable", "from the CSE, and no response of CoAP")    \
	X(DROP_CSE_BAD_TOKEN, DROP, "cse_bad_token",                                               \
		"responses whose token is none of a session that is open")                         \
	X(DROP_PHD_ANSWER_NO_WAY, DROP, "phd_answer_no_way",                                       \
		"answers to devices that could neither be sent nor handed over")                   \
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
		"aggregates not taken apart for want of mbufs, or of room among what was "         \
		"restored at the same time")                                                       \
	X(DROP_TRANSFORM_RULES, DROP, "transform_rules",                                           \
		"readings: the control plane has put no rules of transform in force yet")          \
	X(DROP_TRANSFORM_LENGTH, DROP, "transform_length",                                         \
		"readings shorter than their layout, or whose IP and UDP lengths disagree")        \
	X(DROP_TRANSFORM_CHECKSUM, DROP, "transform_checksum",                                     \
		"readings with a wrong IPv4 header or UDP checksum, or IPv6 without one")          \
	X(DROP_TRANSFORM_SHAPE, DROP, "transform_shape",                                           \
		"readings in fragments, behind IPv6 extension headers, or in buffers that can't "  \
		"be put together")                                                                 \
	X(DROP_TRANSFORM_INPUT, DROP, "transform_input",                                           \
		"readings with a number that is not finite, or an angle that can't be")            \
	X(DROP_TRANSFORM_SOURCE, DROP, "transform_source",                                         \
		"readings of a source without an entry, where unknown: drop, or of an address "    \
		"that no sender has")                                                              \
	X(DROP_TRANSFORM_OVERFLOW, DROP, "transform_overflow",                                     \
		"results that their format can't hold, where overflow: drop")                      \
	X(DROP_TRANSFORM_FAMILY, DROP, "transform_family",                                         \
		"readings of another IP version than their receiver")                              \
	X(DROP_TRANSFORM_REFLECT, DROP, "transform_reflect",                                       \
		"readings that can't be answered: sent to a group or nobody, or with no TTL or "   \
		"hop limit left")                                                                  \
	X(DROP_LCL_FULL, DROP, "lcl_full", "time-sensitive, and all queues were full")             \
	X(DROP_LCL_BEST_EFFORT_FULL, DROP, "lcl_best_effort_full",                                 \
		"best effort, and the queue for that was full")                                    \
	X(DROP_LCL_HANDOVER_FULL, DROP, "lcl_handover_full",                                       \
		"on the way to the worker that owns the port: the ring was full")                  \
	X(DROP_LCL_NO_MBUF, DROP, "lcl_no_mbuf",                                                   \
		"with a label that could not be taken off, or a first buffer too short to tell, "  \
		"for want of an mbuf")                                                             \
	/* frames for biplane itself */                                                            \
	X(CSE_ACKED, CONSUMED, "cse_acked", "responses of the CSE that no answer follows")         \
	X(CSE_ACK_EMPTY, CONSUMED, "cse_ack_empty",                                                \
		"empty acknowledgements: the response will come by itself")                        \
	X(CSE_ACK_REPEATED, CONSUMED, "cse_ack_repeated",                                          \
		"responses for what is known to be stored, or for an earlier report")              \
	X(CSE_RESET, CONSUMED, "cse_reset", "resets: the CSE can't make sense of a request")       \
	X(PHD_ANSWER_HANDED, CONSUMED, "phd_answer_handed",                                        \
		"answers to devices that the control plane sends: no neighbour yet")               \
	X(PHD_MANAGER_TAKEN, CONSUMED, "phd_manager_taken",                                        \
		"replay: what its own manager took, in the kernel's place")                        \
	X(AGG_MESSAGE, CONSUMED, "agg_message", "UDP messages put into aggregates")                \
	X(DISAGG_AGGREGATE, CONSUMED, "disagg_aggregate", "aggregates that were taken apart")      \
	/* to the kernel */                                                                        \
	X(KERNEL_ROUTING, KERNEL, "kernel_routing",                                                \
		"routing protocols, ARP and neighbour discovery")                                  \
	X(KERNEL_PHD, KERNEL, "kernel_phd", "signalling of personal health devices")               \
	X(KERNEL_LOCAL, KERNEL, "kernel_local", "what else is for this machine's addresses")       \
	X(KERNEL_OTHER, KERNEL, "kernel_other", "what the kernel must answer or forward")          \
	/* why frames were handed to the exception path */                                         \
	X(PUNT_ARP, PUNT, "punt_arp", "ARP")                                                       \
	X(PUNT_ND, PUNT, "punt_nd", "neighbour and router discovery")                              \
	X(PUNT_LOCAL, PUNT, "punt_local", "for an address of this machine")                        \
	X(PUNT_MULTICAST, PUNT, "punt_multicast", "IP multicast or broadcast")                     \
	X(PUNT_TTL, PUNT, "punt_ttl", "TTL or hop limit used up")                                  \
	X(PUNT_OPTIONS, PUNT, "punt_options", "IPv4 options or hop-by-hop options")                \
	X(PUNT_MTU, PUNT, "punt_mtu", "larger than the MTU of the interface it would leave by")    \
	X(PUNT_NEIGHBOUR, PUNT, "punt_neighbour", "the next hop's MAC is not known yet")           \
	X(PUNT_NO_ROUTE, PUNT, "punt_no_route", "no route")                                        \
	X(PUNT_UNREACHABLE, PUNT, "punt_unreachable", "the route says unreachable or prohibit")    \
	X(PUNT_FOREIGN, PUNT, "punt_foreign",                                                      \
		"the route leads through an interface that is not ours")                           \
	X(PUNT_SCOPE, PUNT, "punt_scope",                                                          \
		"IPv6 link-local source, to beyond its link: the kernel answers")                  \
	X(PUNT_REDIRECT, PUNT, "punt_redirect",                                                    \
		"leaves by the interface it came in on: the kernel forwards it and redirects")     \
	X(PUNT_ETHERTYPE, PUNT, "punt_ethertype", "neither IP nor ARP, or with a VLAN tag")        \
	X(PUNT_PHD_SIGNAL, PUNT, "punt_phd_signal", "signalling of a device")                      \
	X(PUNT_PHD_STRAY, PUNT, "punt_phd_stray",                                                  \
		"reports without a session, or of one that is not operating")                      \
	X(PUNT_PHD_SLOW, PUNT, "punt_phd_slow",                                                    \
		"reports by the slow path: no containers yet, too long, CSE not resolved")         \
	X(PUNT_PHD_ANSWER, PUNT, "punt_phd_answer",                                                \
		"confirmed reports that can't be stored: the manager answers")                     \
	/* routing */                                                                              \
	X(FORWARD4, ROUTE, "forwarded_ip4", "IPv4 packets forwarded")                              \
	X(FORWARD6, ROUTE, "forwarded_ip6", "IPv6 packets forwarded")                              \
	X(ANSWERED_ARP, ROUTE, "answered_arp", "ARP requests answered by biplane itself")          \
	X(ANSWERED_ND, ROUTE, "answered_nd", "neighbour solicitations answered by biplane itself") \
	/* personal health devices: what was done with reports */                                  \
	X(PHD_REPORTS, PHD, "phd_reports", "reports of sessions that are operating and ready")     \
	X(PHD_REPORTS_CONFIRMED, PHD, "phd_reports_confirmed", "of these, confirmed")              \
	X(PHD_OBSERVATIONS, PHD, "phd_observations", "observations in reports that are new")       \
	X(PHD_INSTANCES, PHD, "phd_instances", "requests to the CSE, also repeated ones")          \
	X(PHD_STORED, PHD, "phd_stored", "of these, acknowledged as stored")                       \
	X(PHD_ANSWERS, PHD, "phd_answers", "answers to devices")                                   \
	X(PHD_REPEATS, PHD, "phd_repeats", "reports that are the last one again")                  \
	X(PHD_SAME_NUMBER, PHD, "phd_same_number",                                                 \
		"new reports with invoke-id and number of the last one")                           \
	X(PHD_UNACKNOWLEDGED, PHD, "phd_unacknowledged",                                           \
		"requests without an acknowledgement when the next report came")                   \
	X(PHD_SPECIAL_VALUES, PHD, "phd_special_values", "values that are NaN, NRes, infinite")    \
	X(PHD_BAD_TIMES, PHD, "phd_bad_times", "time stamps that no clock shows")                  \
	X(PHD_TRAILING_BYTES, PHD, "phd_trailing_bytes",                                           \
		"reports with bytes behind the scan list or a time stamp behind a value, ignored") \
	X(PHD_NO_SESSION, PHD, "phd_no_session", "discarded: the sender has no session")           \
	X(PHD_WRONG_STATE, PHD, "phd_wrong_state", "discarded: its session is not operating")      \
	X(PHD_BAD_APDU, PHD, "phd_bad_apdu", "discarded: fields that make no sense")               \
	X(PHD_BAD_LENGTH, PHD, "phd_bad_length", "discarded: lengths or counts that disagree")     \
	X(PHD_BAD_HANDLE, PHD, "phd_bad_handle", "discarded: not an event of the MDS object")      \
	X(PHD_UNKNOWN_HANDLE, PHD, "phd_unknown_handle",                                           \
		"observations, or whole reports, of objects that were not declared")               \
	X(PHD_BAD_MAP, PHD, "phd_bad_map", "discarded: data contradict the declared map")          \
	X(PHD_EVENTS_LOST, PHD, "phd_events_lost",                                                 \
		"events that the ring to the control plane had no room for")                       \
	X(CSE_ACK_UNSENT, PHD, "cse_ack_unsent",                                                   \
		"empty acknowledgements not sent: no mbuf, or no way to the CSE")                  \
	X(CSE_DENIED, PHD, "cse_denied", "responses: the originator may not")                      \
	X(CSE_NO_TARGET, PHD, "cse_no_target", "responses: the container is not there")            \
	X(CSE_BUSY, PHD, "cse_busy", "responses: later")                                           \
	X(CSE_REFUSED, PHD, "cse_refused", "responses: any other error")                           \
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
		"where aggregates are taken apart, messages that are none")                        \
	/* coordinate transformation */                                                            \
	X(TRANSFORM_READING, TRANSFORM, "transform_reading", "readings that were transformed")     \
	X(TRANSFORM_BARE, TRANSFORM, "transform_bare",                                             \
		"datagrams with the bare point: there is no matrix")                               \
	X(TRANSFORM_SATURATED, TRANSFORM, "transform_saturated",                                   \
		"datagrams with a coordinate that was saturated")                                  \
	X(TRANSFORM_NO_MBUF, TRANSFORM, "transform_no_mbuf",                                       \
		"datagrams for further receivers that were not made for want of an mbuf")          \
	/* LCL scheduling */                                                                       \
	X(LCL_ADDED, LCL, "lcl_added",                                                             \
		"frames that became time-sensitive here: of an entry of flows")                    \
	X(LCL_REMOVED, LCL, "lcl_removed", "frames at their last node: they left without a label") \
	X(LCL_UNTRUSTED, LCL, "lcl_untrusted",                                                     \
		"labels taken off because the port does not trust labels")                         \
	X(LCL_BAD_TRUNCATED, LCL, "lcl_bad_truncated", "frames that end in their label")           \
	X(LCL_BAD_VERSION, LCL, "lcl_bad_version", "labels taken off: of an unknown version")      \
	X(LCL_BAD_HOPS, LCL, "lcl_bad_hops", "labels taken off: no node ahead, or too many")       \
	X(LCL_BAD_DELAY, LCL, "lcl_bad_delay",                                                     \
		"labels taken off: a delay that is more than a second, either way")                \
	X(LCL_BAD_NESTED, LCL, "lcl_bad_nested", "labels taken off: one behind another")           \
	X(LCL_LOST, LCL, "lcl_lost",                                                               \
		"time-sensitive frames that left by a port without LCL, plain")                    \
	X(LCL_CONSUMED, LCL, "lcl_consumed",                                                       \
		"labels of frames that a service or the kernel took in")                           \
	X(LCL_LATE, LCL, "lcl_late",                                                               \
		"time-sensitive frames whose delay was used up when they came")                    \
	X(LCL_EARLY, LCL, "lcl_early",                                                             \
		"those whose time lies further ahead than the queues reach")                       \
	X(LCL_MOVED, LCL, "lcl_moved", "those that went to a later queue: their own was full")     \
	X(LCL_UNLABELLED_LENGTH, LCL, "lcl_unlabelled_length",                                     \
		"sent as best effort: with the label, longer than the port's MTU allows")          \
	X(LCL_UNLABELLED_HEADROOM, LCL, "lcl_unlabelled_headroom",                                 \
		"sent as best effort: no room for the label in the buffer")                        \
	X(LCL_UNLABELLED_NO_MBUF, LCL, "lcl_unlabelled_no_mbuf",                                   \
		"sent as best effort: the buffer is shared, and there was none for a copy")        \
	X(LCL_HANDED_OVER, LCL, "lcl_handed_over",                                                 \
		"frames taken over from workers that do not own the port")                         \
	/* bridging */                                                                             \
	X(MAC_LEARNED, BRIDGE, "mac_learned", "source addresses entered in the MAC table")         \
	X(MAC_MOVED, BRIDGE, "mac_moved", "addresses that appeared on another port")               \
	X(MAC_MOVE_REFUSED, BRIDGE, "mac_move_refused",                                            \
		"addresses not moved: claimed by two ports, and just seen on the other")           \
	X(MAC_EVICTED, BRIDGE, "mac_evicted",                                                      \
		"addresses replaced by a new one: their port had no entry left")                   \
	X(MAC_NOT_LEARNED, BRIDGE, "mac_not_learned",                                              \
		"source addresses not learned: their port had no entry left")                      \
	X(FLOODED, BRIDGE, "flooded", "frames sent to every other port of the bridge")             \
	X(FLOOD_NO_MBUF, BRIDGE, "flood_no_mbuf", "flood copies not made for want of an mbuf")     \
	X(CHECKSUM_COMPLETED, BRIDGE, "checksum_completed",                                        \
		"partial checksums of a local sender that were completed")                         \
	X(CHECKSUM_LEFT, BRIDGE, "checksum_left",                                                  \
		"partial checksums that were left to the output port's device")                    \
	X(TX_COPIED, BRIDGE, "tx_copied",                                                          \
		"frames in several buffers put together for a port that can't send them")          \
	X(VLAN_RESTORED, BRIDGE, "vlan_restored",                                                  \
		"frames given back the VLAN tag that the port took off")                           \
	/* what inspection made of each frame */                                                   \
	X(SEG_INSPECTED, INSPECT, "segments", "TCP segments to or from an inspected port")         \
	X(SEG_EMPTY, INSPECT, "segments_empty", "of these, without payload")                       \
	X(SEG_DUPLICATE, INSPECT, "segments_duplicate", "wholly retransmitted: read before")       \
	X(SEG_OVERLAP, INSPECT, "segments_overlap", "partly retransmitted: the new part was read") \
	X(SEG_OUT_OF_ORDER, INSPECT, "segments_out_of_order", "ahead of the stream: a copy waits") \
	X(SEG_REORDER_FULL, INSPECT, "segments_reorder_full",                                      \
		"ahead of the stream beyond what reorder_bytes allows")                            \
	X(SEG_REORDER_TOTAL, INSPECT, "segments_reorder_total",                                    \
		"ahead of the stream while half of carry_total is in use")                         \
	X(SEG_BAD_CHECKSUM, INSPECT, "segments_bad_checksum",                                      \
		"with a wrong TCP checksum: forwarded, never read")                                \
	X(SEG_BAD_HEADER, INSPECT, "segments_bad_header",                                          \
		"IP or TCP lengths that contradict the frame")                                     \
	X(SEG_FRAGMENT, INSPECT, "segments_fragment", "IP fragments, which are not read")          \
	X(NOT_INSPECTED_VLAN, INSPECT, "not_inspected_vlan",                                       \
		"frames with more than three VLAN tags")                                           \
	X(NOT_INSPECTED_LLC, INSPECT, "not_inspected_llc",                                         \
		"LLC frames that may carry IP, but not as SNAP with OUI 0")                        \
	X(NOT_INSPECTED_PPPOE, INSPECT, "not_inspected_pppoe",                                     \
		"PPPoE session data other than IPv4 and IPv6")                                     \
	X(NOT_INSPECTED_MPLS, INSPECT, "not_inspected_mpls",                                       \
		"MPLS with over eight labels, or not carrying IPv4 or IPv6")                       \
	X(NOT_INSPECTED_TUNNEL, INSPECT, "not_inspected_tunnel",                                   \
		"IP packets that carry IP in IP, GRE or ESP")                                      \
	X(SEG_OUTSIDE, INSPECT, "segments_outside", "sequence number far outside the stream")      \
	X(SEG_NO_ACK, INSPECT, "segments_no_ack", "without the ACK flag: no receiver reads these") \
	X(SEG_ACK_INVALID, INSPECT, "segments_ack_invalid",                                        \
		"that acknowledge what was never sent, or is too old: not read")                   \
	X(SEG_ACK_UNSEEN, INSPECT, "segments_ack_unseen",                                          \
		"that acknowledge unseen bytes: kept until the peer confirms")                     \
	X(SEG_NOT_FORWARDED, INSPECT, "segments_not_forwarded",                                    \
		"not read, connection unproven: not forwarded by routing")                         \
	X(SEG_OTHER_BROKER, INSPECT, "segments_other_broker",                                      \
		"not read, connection unproven: not to or from mqtt.brokers")                      \
	X(SEG_SAME_PORT, INSPECT, "segments_same_port",                                            \
		"not read, connection unproven: same ingress port as the client")                  \
	X(SEG_LOW_TTL, INSPECT, "segments_low_ttl",                                                \
		"with a TTL or hop limit below mqtt.min_ttl: not read")                            \
	X(SEG_URGENT, INSPECT, "segments_urgent_bytes",                                            \
		"urgent bytes, which a receiver takes out of the stream")                          \
	X(SEG_NO_FLOW, INSPECT, "segments_no_flow", "without payload and of no known connection")  \
	X(SEG_CLOSED, INSPECT, "segments_closed",                                                  \
		"with payload, within 10 s after the end of their connection: not read")           \
	/* connections */                                                                          \
	X(FLOW_OPENED, FLOW, "flows_opened", "connections followed from their SYN")                \
	X(FLOW_MIDWAY, FLOW, "flows_midway", "connections met in the middle")                      \
	X(FLOW_REOPENED, FLOW, "flows_reopened", "a new SYN on a known address pair")              \
	X(FLOW_SYN_UNCONFIRMED, FLOW, "flows_syn_unconfirmed",                                     \
		"SYN or SYN-ACK of another connection than is held: not believed alone")           \
	X(FLOW_PROVEN, FLOW, "flows_proven",                                                       \
		"connections proven by handshake and CONNACK, or mid-stream")                      \
	X(FLOW_FIN, FLOW, "flows_fin", "connections closed by FIN from both ends")                 \
	X(FLOW_RST, FLOW, "flows_rst", "connections closed by RST")                                \
	X(FLOW_RST_IGNORED, FLOW, "flows_rst_ignored",                                             \
		"RST that is not at the next number, ignored")                                     \
	X(FLOW_EXPIRED, FLOW, "flows_expired",                                                     \
		"proven connections idle for longer than flow_timeout")                            \
	X(FLOW_EXPIRED_UNPROVEN, FLOW, "flows_expired_unproven",                                   \
		"unproven connections idle for longer than their timeout")                         \
	X(FLOW_EVICTED, FLOW, "flows_evicted",                                                     \
		"proven connections evicted: the flow table was full")                             \
	X(FLOW_EVICTED_UNPROVEN, FLOW, "flows_evicted_unproven",                                   \
		"unproven connections evicted: max_unproven or carry_unproven reached")            \
	X(FLOW_NO_SLOT, FLOW, "flows_no_slot",                                                     \
		"new connections not followed: only proven ones could be evicted")                 \
	X(FLOW_ADOPTED, FLOW, "flows_adopted", "connections read on after a restart of biplane")   \
	X(FLOW_ADOPTED_RESYNC, FLOW, "flows_adopted_resync",                                       \
		"adopted after a restart, but their cut packet was damaged: resynchronizing")      \
	X(FLOW_NOT_ADOPTED, FLOW, "flows_not_adopted",                                             \
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
		"boundaries accepted after resync_pushes in a row: known topics are read again")   \
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
		"packets not read: longer than carry_per_flow allows")                             \
	X(CARRY_TOTAL_LIMIT, STREAM, "carry_total_limit", "packets not read: carry_total used up") \
	X(CARRY_CLIENT_LIMIT, STREAM, "carry_client_limit",                                        \
		"packets not read: the client address holds its share of carry_total")             \
	X(CARRY_UNPROVEN_LIMIT, STREAM, "carry_unproven_limit",                                    \
		"packets of unproven connections not read: carry_unproven used up")                \
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
	X(MATCH_NONE, VALUE, "match_none", "PUBLISH that no rule's topic filter matches")          \
	X(NOT_INSPECTED_WORK, VALUE, "not_inspected_work_budget",                                  \
		"not evaluated by all rules, or not searched: connection over work_budget")        \
	X(NOT_INSPECTED_WORKER, VALUE, "not_inspected_worker_budget",                              \
		"not evaluated by all rules, or not searched: worker over worker_budget")          \
	X(MATCH, VALUE, "matches", "pairs of a PUBLISH and a rule that matches it")                \
	X(VALUE_MISSING, VALUE, "value_missing", "payload has no such value at the rule's source") \
	X(STATE_EVICTED, VALUE, "state_evicted",                                                   \
		"states of a hold in progress evicted: table full")                                \
	X(STATE_EVICTED_RAISED, VALUE, "state_evicted_raised",                                     \
		"states of raised alarms evicted: table full")                                     \
	X(STATE_NOT_KEPT, VALUE, "state_not_kept",                                                 \
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
	X(CLONE_NO_EDGE, ALARM, "clone_no_edge", "clones not made: no clone target configured")    \
	/* signs of trouble */                                                                     \
	X(LINK_DOWN, TROUBLE, "link_down", "times that the link of a port went down")              \
	X(NIC_MISSED, TROUBLE, "nic_missed",                                                       \
		"frames that NICs dropped because no worker took them in time (imissed)")          \
	X(NIC_NO_MBUF, TROUBLE, "nic_no_mbuf",                                                     \
		"times that a port had no packet buffer for a frame (rx_nombuf)")                  \
	X(NIC_ERRORS, TROUBLE, "nic_errors",                                                       \
		"frames that ports received damaged, or could not receive (ierrors)")              \
	X(MBUFS_LOW, TROUBLE, "mbufs_low",                                                         \
		"times that a pool had fewer packet buffers than trouble.buffers_low")             \
	X(WORKER_OVERRUN, TROUBLE, "worker_overrun",                                               \
		"times that a worker left its queues for longer than trouble.worker_overrun")      \
	X(WORKER_STUCK, TROUBLE, "worker_stuck",                                                   \
		"times that a worker did not come back for trouble.worker_stuck")                  \
	X(UNREAD_CONNECTIONS, TROUBLE, "connections_not_inspected",                                \
		"times that connections passed unread for over trouble.not_inspected")             \
	X(RULES_REFUSED, TROUBLE, "rules_refused",                                                 \
		"generations of rules in the segment that were damaged and not taken")             \
	X(SEGMENT_INVALID, TROUBLE, "segment_invalid",                                             \
		"indexes, plans and layouts of the control plane's that were not valid")           \
	X(SEGMENT_QUARANTINED, TROUBLE, "segment_quarantined",                                     \
		"parts of the segment that were damaged and quarantined, or whose header was "     \
		"restored")

enum bp_counter_group {
	BP_CG_MADE,
	BP_CG_DROP,
	BP_CG_CONSUMED,
	BP_CG_KERNEL,
	BP_CG_PUNT,
	BP_CG_ROUTE,
	BP_CG_PHD,
	BP_CG_AGGREGATION,
	BP_CG_TRANSFORM,
	BP_CG_LCL,
	BP_CG_BRIDGE,
	BP_CG_INSPECT,
	BP_CG_FLOW,
	BP_CG_STREAM,
	BP_CG_MQTT,
	BP_CG_VALUE,
	BP_CG_ALARM,
	BP_CG_TROUBLE,
	BP_CG_COUNT,
};

enum bp_counter {
#define X(id, group, name, help) BP_C_##id,
	BP_COUNTERS (X)
#undef X
		BP_C_COUNT,
};

struct bp_counter_info {
	const char *name;
	enum bp_counter_group group;
	const char *help;
};

/* Defined in shm/counters.c; indexed by enum bp_counter. */
extern const struct bp_counter_info bp_counter_info[BP_C_COUNT];
/* "made", "drop", "bridge", ...; indexed by enum bp_counter_group. */
extern const char *const bp_counter_group_name[BP_CG_COUNT];

/*
 * One worker's counters, or the exception thread's, or the main thread's. Written by it alone with
 * plain stores that readers in other processes load with relaxed atomics; a uint64_t store is
 * single on every 64-bit machine.
 */
struct bp_counters {
	uint64_t v[BP_C_COUNT];
} __attribute__((aligned(64)));

#endif
