/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_GENERAL_H
#define BIPLANE_COUNTERS_GENERAL_H

#include "biplane/counters.h"

/* What no service alone counts. */
#define BP_COUNTER_GROUPS_OF_GENERAL(X)                                                            \
	X(MADE, "made",                                                                            \
		"Frames that biplane itself added, and those that came from the "                  \
		"kernel: the left side of the sum.")                                               \
	X(DROP, "drop", "Frames that left nowhere: the right side of the sum.")                    \
	X(CONSUMED, "consumed",                                                                    \
		"Frames for biplane itself, which ended there as they should: the "                \
		"right side of the sum.")                                                          \
	X(KERNEL, "kernel", "Frames given to the kernel, by class: the right side of the sum.")    \
	X(PUNT, "punt",                                                                            \
		"Why frames were handed to the exception path. Each is then counted "              \
		"by group kernel or drop.")                                                        \
	X(ROUTE, "route", "What routing did.")                                                     \
	X(BRIDGE, "bridge",                                                                        \
		"What bridging learned and flooded, and what was done in the place "               \
		"of a network card.")                                                              \
	X(TROUBLE, "trouble",                                                                      \
		"Signs of trouble; `biplane show trouble` says whose, since when and "             \
		"how long, and the log what to do. Frames that are counted here "                  \
		"never reached biplane and are in no sum.")

#define BP_COUNTERS_OF_GENERAL(X)                                                                  \
	/* frames that biplane made */                                                             \
	X(FLOOD_COPY, MADE, "flood_copy", "copies made to flood a frame to further ports")         \
	X(FROM_KERNEL, MADE, "from_kernel", "frames that the kernel sent through its interfaces")  \
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
	X(DROP_UNCONNECTED, DROP, "unconnected",                                                   \
		"sent to a node that is not in the graph: a bug in biplane, report it")            \
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
	/* routing */                                                                              \
	X(FORWARD4, ROUTE, "forwarded_ip4", "IPv4 packets forwarded")                              \
	X(FORWARD6, ROUTE, "forwarded_ip6", "IPv6 packets forwarded")                              \
	X(ANSWERED_ARP, ROUTE, "answered_arp", "ARP requests answered by biplane itself")          \
	X(ANSWERED_ND, ROUTE, "answered_nd", "neighbour solicitations answered by biplane itself") \
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
	/* signs of trouble */                                                                     \
	X(LINK_DOWN, TROUBLE, "link_down", "times that the link of a port went down")              \
	X(NIC_MISSED, TROUBLE, "nic_missed",                                                       \
		"frames that NICs dropped because no worker took them in time (imissed)")          \
	X(NIC_NO_MBUF, TROUBLE, "nic_no_mbuf",                                                     \
		"times that a port had no packet buffer for a frame (rx_nombuf)")                  \
	X(NIC_ERRORS, TROUBLE, "nic_errors",                                                       \
		"frames that ports received damaged, or could not receive (ierrors)")              \
	X(MBUFS_LOW, TROUBLE, "mbufs_low",                                                         \
		"times that a pool had fewer packet buffers than monitoring.mbuf_low_percent")     \
	X(WORKER_OVERRUN, TROUBLE, "worker_overrun",                                               \
		"times that a worker left its queues for longer than monitoring.poll_gap_warning") \
	X(WORKER_STUCK, TROUBLE, "worker_stuck",                                                   \
		"times that a worker did not come back for monitoring.worker_stall_timeout")       \
	X(UNREAD_CONNECTIONS, TROUBLE, "connections_not_inspected",                                \
		"times that connections passed unread for over monitoring.not_inspected_warning")  \
	X(RULES_REFUSED, TROUBLE, "rules_refused",                                                 \
		"generations of rules in the segment that were damaged and not taken")             \
	X(SEGMENT_INVALID, TROUBLE, "segment_invalid",                                             \
		"indexes, plans and layouts of the control plane's that were not valid")           \
	X(SEGMENT_QUARANTINED, TROUBLE, "segment_quarantined",                                     \
		"parts of the segment that were damaged and quarantined, or whose "                \
		"header was restored")

BP_DECLARE_COUNTERS(GENERAL, 0);

#endif
