/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_GENERAL_H
#define BIPLANE_COUNTERS_GENERAL_H

#include "biplane/counters.h"

/* What no service alone counts. */
#define BP_COUNTER_GROUPS_OF_GENERAL(X)                                                            \
	X(ORIGINATED, "originated",                                                                \
		"Frames that biplane generated, and frames received from the kernel: left side "   \
		"of the balance.")                                                                 \
	X(DROP, "drop", "Dropped frames, by reason: right side of the balance.")                   \
	X(TERMINATED, "terminated",                                                                \
		"Frames addressed to biplane and processed there: right side of the balance.")     \
	X(PUNTED, "punted", "Frames handed to the kernel, by class: right side of the balance.")   \
	X(PUNT_REASON, "punt_reason",                                                              \
		"Why frames were sent to the exception path. Each frame is also counted in group " \
		"punted or drop.")                                                                 \
	X(ROUTE, "route", "Routing.")                                                              \
	X(BRIDGE, "bridge", "Bridging, and offloads done in software.")                            \
	X(WORKER, "worker",                                                                        \
		"Time of workers, all together; sleeps only with `poll_mode: adaptive`.")          \
	X(HEALTH, "health",                                                                        \
		"Faults. `biplane show health` lists each with its object, start and duration, "   \
		"and the log the remedy. Frames counted here never reached biplane and are not "   \
		"part of the balance.")

#define BP_COUNTERS_OF_GENERAL(X)                                                                  \
	/* frames that biplane generated */                                                        \
	X(FLOOD_COPY, ORIGINATED, "flood_copy",                                                    \
		"copies of flooded frames for the second and further ports")                       \
	X(FROM_KERNEL, ORIGINATED, "from_kernel",                                                  \
		"frames received from the kernel through host interfaces")                         \
	/* dropped frames */                                                                       \
	X(DROP_TX_FULL, DROP, "tx_full", "TX queue of the output port full")                       \
	X(DROP_TX_DOWN, DROP, "tx_down", "link of the output port down")                           \
	X(DROP_TX_TOO_MANY_SEGMENTS, DROP, "tx_too_many_segments",                                 \
		"too many segments and linearize failed")                                          \
	X(DROP_TX_CHECKSUM_UNSUPPORTED, DROP, "tx_checksum_unsupported",                           \
		"partial checksum that the output port's driver does not support")                 \
	X(DROP_VLAN_NO_HEADROOM, DROP, "vlan_no_headroom",                                         \
		"no headroom for the VLAN tag of a subinterface, or that the port stripped")       \
	X(DROP_RX_NO_MBUF, DROP, "rx_no_mbuf",                                                     \
		"received in several buffers, and no mbuf to copy it into one")                    \
	X(DROP_HAIRPIN, DROP, "hairpin", "output port is the input port")                          \
	X(DROP_NO_OUTPUT_PORT, DROP, "no_output_port", "bridge without another port to send to")   \
	X(DROP_RUNT, DROP, "runt", "shorter than an Ethernet header")                              \
	X(DROP_DST_MAC_MISMATCH, DROP, "dst_mac_mismatch",                                         \
		"routed port: destination MAC address of another station")                         \
	X(DROP_IF_DOWN, DROP, "interface_down", "input or output interface down")                  \
	X(DROP_IP_HEADER, DROP, "ip_header", "invalid IP version, header length or total length")  \
	X(DROP_IP_CHECKSUM, DROP, "ip_checksum", "wrong IPv4 header checksum")                     \
	X(DROP_MARTIAN, DROP, "martian", "martian source or destination address")                  \
	X(DROP_LINK_LOCAL, DROP, "link_local",                                                     \
		"IPv4 link-local source or destination address (169.254.0.0/16)")                  \
	X(DROP_SOURCE_LOCAL, DROP, "source_local",                                                 \
		"source address is an own address or a broadcast address of an own subnet")        \
	X(DROP_REVERSE_PATH, DROP, "reverse_path",                                                 \
		"reverse path filter (rp_filter): no route to the source through the input "       \
		"interface")                                                                       \
	X(DROP_FORWARDING_OFF, DROP, "forwarding_disabled",                                        \
		"forwarding disabled on the input interface (sysctl forwarding)")                  \
	X(DROP_BLACKHOLE, DROP, "blackhole", "blackhole route")                                    \
	X(DROP_NO_HOST_INTERFACE, DROP, "no_host_interface",                                       \
		"punted, but the interface has no host interface")                                 \
	X(DROP_PUNT_QUEUE_ROUTING, DROP, "punt_queue_full_routing",                                \
		"punt queue of class routing full")                                                \
	X(DROP_PUNT_QUEUE_PHD, DROP, "punt_queue_full_health_devices",                             \
		"punt queue of class health_devices full")                                         \
	X(DROP_PUNT_QUEUE_LOCAL, DROP, "punt_queue_full_local", "punt queue of class local full")  \
	X(DROP_PUNT_QUEUE_OTHER, DROP, "punt_queue_full_other", "punt queue of class other full")  \
	X(DROP_HOST_TX_FULL, DROP, "host_tx_full", "host interface: queue to the kernel full")     \
	X(DROP_HOST_RX_FULL, DROP, "host_rx_full",                                                 \
		"host interface: queue from the kernel to the worker full")                        \
	X(DROP_DRAINED_AT_SHUTDOWN, DROP, "drained_at_shutdown",                                   \
		"in flight when the worker stopped")                                               \
	X(DROP_NO_NEXT_NODE, DROP, "no_next_node",                                                 \
		"next node not in the graph: a bug in biplane, report it")                         \
	/* punted frames */                                                                        \
	X(PUNTED_ROUTING, PUNTED, "punted_routing",                                                \
		"routing protocols, ARP and neighbor discovery")                                   \
	X(PUNTED_PHD, PUNTED, "punted_health_devices",                                             \
		"association and configuration of personal health devices")                        \
	X(PUNTED_LOCAL, PUNTED, "punted_local", "other packets to addresses of this machine")      \
	X(PUNTED_OTHER, PUNTED, "punted_other", "packets that the kernel replies to or forwards")  \
	/* punt reasons */                                                                         \
	X(PUNT_ARP, PUNT_REASON, "punt_arp", "ARP")                                                \
	X(PUNT_ND, PUNT_REASON, "punt_nd", "neighbor and router discovery")                        \
	X(PUNT_LOCAL, PUNT_REASON, "punt_local", "destination is an address of this machine")      \
	X(PUNT_MULTICAST, PUNT_REASON, "punt_multicast", "IP multicast or broadcast")              \
	X(PUNT_TTL_EXPIRED, PUNT_REASON, "punt_ttl_expired", "TTL or hop limit expired")           \
	X(PUNT_IP_OPTIONS, PUNT_REASON, "punt_ip_options",                                         \
		"IPv4 options or IPv6 hop-by-hop options")                                         \
	X(PUNT_MTU_EXCEEDED, PUNT_REASON, "punt_mtu_exceeded",                                     \
		"larger than the MTU of the output interface")                                     \
	X(PUNT_NO_NEIGHBOR, PUNT_REASON, "punt_no_neighbor",                                       \
		"neighbor entry of the next hop not resolved")                                     \
	X(PUNT_NO_ROUTE, PUNT_REASON, "punt_no_route", "no route")                                 \
	X(PUNT_UNREACHABLE, PUNT_REASON, "punt_unreachable", "unreachable or prohibit route")      \
	X(PUNT_FOREIGN_INTERFACE, PUNT_REASON, "punt_foreign_interface",                           \
		"route through an interface that biplane does not manage")                         \
	X(PUNT_SCOPE, PUNT_REASON, "punt_scope",                                                   \
		"IPv6 link-local source address to a destination off the link: the kernel "        \
		"replies")                                                                         \
	X(PUNT_REDIRECT, PUNT_REASON, "punt_redirect",                                             \
		"output interface is the input interface: the kernel forwards and sends a "        \
		"redirect")                                                                        \
	X(PUNT_ETHERTYPE, PUNT_REASON, "punt_ethertype", "neither IP nor ARP")                     \
	X(PUNT_VLAN, PUNT_REASON, "punt_vlan",                                                     \
		"VLAN tag of no subinterface, or another tag behind that of a subinterface")       \
	/* routing */                                                                              \
	X(FORWARDED_IP4, ROUTE, "forwarded_ip4", "IPv4 packets forwarded")                         \
	X(FORWARDED_IP6, ROUTE, "forwarded_ip6", "IPv6 packets forwarded")                         \
	X(ARP_REPLIES, ROUTE, "arp_replies", "ARP replies sent by the data plane")                 \
	X(ND_ADVERTISEMENTS, ROUTE, "nd_advertisements",                                           \
		"neighbor advertisements sent by the data plane")                                  \
	/* bridging */                                                                             \
	X(MAC_LEARNED, BRIDGE, "mac_learned", "source addresses learned in the FDB")               \
	X(MAC_MOVED, BRIDGE, "mac_moved", "addresses that moved to another port")                  \
	X(MAC_MOVE_REFUSED, BRIDGE, "mac_move_refused",                                            \
		"moves refused: address seen on the other port a moment ago")                      \
	X(MAC_EVICTED, BRIDGE, "mac_evicted", "addresses evicted: no free FDB entry for the port") \
	X(MAC_NOT_LEARNED, BRIDGE, "mac_not_learned",                                              \
		"source addresses not learned: no free FDB entry for the port")                    \
	X(FLOODED, BRIDGE, "flooded", "frames flooded to all other ports of the bridge")           \
	X(FLOOD_NO_MBUF, BRIDGE, "flood_no_mbuf", "copies of flooded frames not sent: no mbuf")    \
	X(CHECKSUM_COMPLETED, BRIDGE, "checksum_completed",                                        \
		"partial checksums completed in software")                                         \
	X(CHECKSUM_OFFLOADED, BRIDGE, "checksum_offloaded",                                        \
		"partial checksums completed by the output port's device")                         \
	X(TX_LINEARIZED, BRIDGE, "tx_linearized",                                                  \
		"frames linearized: too many segments for the output port")                        \
	X(VLAN_RESTORED, BRIDGE, "vlan_restored", "VLAN tags restored that the port had stripped") \
	X(RX_LINEARIZED, BRIDGE, "rx_linearized",                                                  \
		"received frames in several buffers copied into one")                              \
	/* workers */                                                                              \
	X(WORKER_SLEEPS, WORKER, "worker_sleeps",                                                  \
		"sleeps until frames arrived, a deadline came, or 10 ms passed")                   \
	X(WORKER_SLEEP_NS, WORKER, "worker_sleep_ns", "time slept, ns")                            \
	X(WORKER_BUSY_NS, WORKER, "worker_busy_ns",                                                \
		"time of walks that received frames, ns: estimated from one walk in 16")           \
	/* faults */                                                                               \
	X(LINK_DOWN, HEALTH, "link_down", "changes of a port's link to down")                      \
	X(NIC_MISSED, HEALTH, "nic_missed", "frames dropped by NICs: RX queue full (imissed)")     \
	X(NIC_NO_MBUF, HEALTH, "nic_no_mbuf", "RX mbuf allocation failures (rx_nombuf)")           \
	X(NIC_ERRORS, HEALTH, "nic_errors", "frames received with errors (ierrors)")               \
	X(MBUFS_LOW, HEALTH, "mbufs_low",                                                          \
		"times a pool's free mbufs fell below monitoring.mbuf_low_percent")                \
	X(POLL_GAPS, HEALTH, "poll_gaps",                                                          \
		"poll gaps of a worker longer than monitoring.poll_gap_warning")                   \
	X(WORKER_STALLS, HEALTH, "worker_stalls",                                                  \
		"workers stalled for longer than monitoring.worker_stall_timeout")                 \
	X(CONNECTIONS_NOT_INSPECTED, HEALTH, "connections_not_inspected",                          \
		"times connections were not inspected for longer than "                            \
		"monitoring.not_inspected_warning")                                                \
	X(RULES_REFUSED, HEALTH, "rules_refused",                                                  \
		"damaged generations of rules in the segment, not loaded")                         \
	X(SEGMENT_INVALID, HEALTH, "segment_invalid",                                              \
		"invalid indexes, plans and layouts from the control plane")                       \
	X(SEGMENT_QUARANTINED, HEALTH, "segment_quarantined",                                      \
		"damaged parts of the segment quarantined, or headers restored")

BP_DECLARE_COUNTERS(GENERAL, 0);

#endif
