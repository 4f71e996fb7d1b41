/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"

#define AT(member_) IN(bp_config, member_)

/* The rows of what is not of one service: workers, ports, bridges, routes. */

static const char *const hugepages_words[] = {"auto", "require", "never", NULL};
static const char *const poll_words[] = {"busy", "adaptive", NULL};
static const char *const offload_words[] = {"auto", "on", "off", NULL};
static const char *const rp_filter_words[] = {"off", "strict", "loose", NULL};
static const char *const kernel_words[] = {"auto", "virtio", "tap", "off", NULL};
/* local is what addresses make, and punt what the kernel's routes make. */
static const char *const route_words[] = {
	"unicast", "", "blackhole", "unreachable", "prohibit", NULL};

static const struct bp_list_layout port_list = {
	.element = sizeof(struct bp_config_port),
	.items = offsetof(struct bp_config, port),
	.count = offsetof(struct bp_config, n_ports),
};
static const struct bp_list_layout bridge_list = {
	.element = sizeof(struct bp_config_bridge),
	.items = offsetof(struct bp_config, bridge),
	.count = offsetof(struct bp_config, n_bridges),
	.brief = "ports",
};
static const struct bp_list_layout route_list = {
	.element = sizeof(struct bp_config_static_route),
	.items = offsetof(struct bp_config, fixed.route),
	.count = offsetof(struct bp_config, fixed.n_routes),
	.allocated = true,
};
static const struct bp_list_layout neighbour_list = {
	.element = sizeof(struct bp_config_static_neighbour),
	.items = offsetof(struct bp_config, fixed.neighbour),
	.count = offsetof(struct bp_config, fixed.n_neighbours),
	.allocated = true,
};

static bool has_kernel_name(const void *port)
{
	return ((const struct bp_config_port *)port)->interface.kernel_name[0] != '\0';
}

static bool host_has_kernel_name(const void *bridge)
{
	return ((const struct bp_config_bridge *)bridge)->host.kernel_name[0] != '\0';
}

static bool has_via(const void *route)
{
	return ((const struct bp_config_static_route *)route)->hop.gateway.family != 0;
}

static bool is_unicast(const void *route)
{
	return ((const struct bp_config_static_route *)route)->type == BP_ROUTE_UNICAST;
}

/* What a class of frames to the kernel is given. */
#define CLASS(name_, class_, rate_, help_)                                                         \
	{.path = "exception.classes." name_, .type = &bp_type_section, .help = help_},             \
		{.path = "exception.classes." name_ ".rate",                                       \
			.type = &bp_type_uint,                                                     \
			AT(exception.class[class_].rate),                                          \
			.min = 1,                                                                  \
			.max = 10000000,                                                           \
			.preset = rate_,                                                           \
			.help = "Frames of this class that the kernel gets each second, over all " \
				"ports."},                                                         \
		{.path = "exception.classes." name_ ".burst",                                      \
			.type = &bp_type_uint,                                                     \
			AT(exception.class[class_].burst),                                         \
			.min = 1,                                                                  \
			.max = 10000000,                                                           \
			.preset_note = "a tenth of rate, and at least 32",                         \
			.help = "Frames that may come at once before rate bounds them."},          \
	{                                                                                          \
		.path = "exception.classes." name_ ".queue", .type = &bp_type_uint,                \
		AT(exception.class[class_].queue), .min = 16, .max = 65536, .preset = "512",       \
		.help = "Frames of this class that may wait for the kernel, of each port or "      \
			"bridge; "                                                                 \
			"more are dropped and counted."                                            \
	}

/* What a port's device may be told to do. */
#define OFFLOAD(name_, offload_, help_)                                                            \
	{                                                                                          \
		.path = "ports[].offloads." name_, .type = &bp_type_enum,                          \
		IN(bp_config_port, offload[offload_]), .words = offload_words, .preset = "auto",   \
		.help = help_                                                                      \
	}

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "version", .type = &bp_type_version, AT(version), .preset = "1",
	 .help = "Version of the format of this file."},
	{.path = "name", .type = &bp_type_name, AT(name), .min = 1, .preset = "biplane",
	 .help = "Name of this instance. It names the shared segment, the control socket and DPDK's files, so that several instances can run on one machine."},

	{.path = "workers", .type = &bp_type_workers, .size = sizeof(struct bp_config), .min = 1, .max = BP_MAX_WORKERS, .preset = "1",
	 .help = "Number of worker threads that forward and inspect packets, or the list of their cores, such as [2, 3]."},
	{.path = "poll_mode", .type = &bp_type_enum, AT(poll_mode), .words = poll_words, .preset = "busy",
	 .help = "busy: workers poll their queues without a pause and use a core each. adaptive: a worker that finds no frames sleeps for some microseconds, for machines whose cores are shared."},
	{.path = "mbufs", .type = &bp_type_uint, AT(mbufs), .zero = "auto", .min = 512, .max = 16777216, .preset = "auto",
	 .help = "Packet buffers per port and worker; auto computes the number from the descriptors of the ports."},

	{.path = "runtime", .type = &bp_type_section,
	 .help = "Resources that biplane takes from the machine."},
	{.path = "runtime.directory", .type = &bp_type_string, AT(runtime_dir), .min = 1, .preset = "/run/biplane",
	 .help = "Directory of the control socket and the process files, and of the segment where there are no hugepages."},
	{.path = "runtime.hugepages", .type = &bp_type_enum, AT(hugepages), .words = hugepages_words, .preset = "auto",
	 .help = "auto uses hugepages if the machine has them and warns if not; require refuses to start without them; never uses normal pages."},
	{.path = "runtime.memory", .type = &bp_type_size, AT(memory_mb), .min = 64 * MIB, .max = 1024 * GIB, .scale = MIB, .preset = "512MiB",
	 .help = "Memory of DPDK when it runs without hugepages."},
	{.path = "runtime.watchdog", .type = &bp_type_duration, AT(watchdog_ns), .zero = "off", .min = 2 * S, .max = HOUR, .preset = "10s",
	 .help = "Time without a heartbeat after which biplane run kills and restarts a plane; off disables the watchdog. A plane sends heartbeats while all of its threads make progress; its start is not limited. Under systemd, WatchdogSec= of the unit applies instead. A change takes effect when biplane run is restarted."},

	{.path = "monitoring", .type = &bp_type_section,
	 .help = "Limits above which the data plane reports a fault. Each fault is counted, shown by biplane show trouble and logged: a link that is down, frames that a NIC dropped or received damaged, low packet buffers, poll gaps, stalled workers, and connections that are not inspected."},
	{.path = "monitoring.link_up_delay", .type = &bp_type_duration, AT(monitoring.link_up_delay_ns), .min = S, .max = HOUR, .preset = "10s",
	 .help = "Time that a link may take to come up after the start before it counts as down."},
	{.path = "monitoring.mbuf_low_percent", .type = &bp_type_uint, AT(monitoring.mbuf_low_percent), .zero = "off", .min = 1, .max = 90, .preset = "5",
	 .help = "Percentage of free packet buffers in a pool below which a warning is raised; off disables it."},
	{.path = "monitoring.poll_gap_warning", .type = &bp_type_duration, AT(monitoring.poll_gap_warning_ns), .zero = "off", .min = 100 * US, .max = MINUTE, .preset = "100ms",
	 .help = "Poll gap above which a warning is raised (worker busy or descheduled); off disables it. 1ms is a good value for workers with dedicated CPUs."},
	{.path = "monitoring.worker_stall_timeout", .type = &bp_type_duration, AT(monitoring.worker_stall_timeout_ns), .zero = "off", .min = 500 * MS, .max = HOUR, .preset = "2s",
	 .help = "Time without a poll after which a worker counts as stalled; off disables the check."},
	{.path = "monitoring.not_inspected_warning", .type = &bp_type_duration, AT(monitoring.not_inspected_warning_ns), .zero = "off", .min = S, .max = DAY, .preset = "1m",
	 .help = "Time without inspection after which a connection to an MQTT port raises a warning; off disables it. biplane show unread lists the connections with the reasons."},
	{.path = "monitoring.log_interval", .type = &bp_type_duration, AT(monitoring.log_interval_ns), .min = S, .max = DAY, .preset = "10s",
	 .help = "Average time between two log lines about the same fault of the same port, pool or worker. Lines above this rate are suppressed, except the first few, and the next line reports the events in between. A fault of single events ends after this time without an event."},

	{.path = "ports", .type = &bp_type_list, .flags = BP_REQUIRED, .min = 1, .max = BP_MAX_PORTS, .list = &port_list,
	 .check = bp_check_port, .help = "The network ports."},
	{.path = "ports[].name", .type = &bp_type_name, IN(bp_config_port, name), .flags = BP_REQUIRED, .min = 1,
	 .help = "What this file and the counters call the port."},
	{.path = "ports[].device", .type = &bp_type_string, IN(bp_config_port, device), .flags = BP_REQUIRED, .min = 1,
	 .help = "The device as DPDK names it: a PCI address (\"0000:03:00.0\") or a virtual device with its arguments (\"net_af_packet0,iface=eth1\")."},
	{.path = "ports[].queues", .type = &bp_type_uint, IN(bp_config_port, queues), .flags = BP_OR_ZERO, .min = 1, .max = BP_MAX_WORKERS, .preset = "0",
	 .help = "Receive queues; 0 takes one per worker where the driver has them."},
	{.path = "ports[].rx_descriptors", .type = &bp_type_uint, IN(bp_config_port, rx_descriptors), .flags = BP_OR_ZERO, .min = 32, .max = 65535, .preset = "0",
	 .help = "Descriptors of each receive queue; 0 takes the driver's default."},
	{.path = "ports[].tx_descriptors", .type = &bp_type_uint, IN(bp_config_port, tx_descriptors), .flags = BP_OR_ZERO, .min = 32, .max = 65535, .preset = "0",
	 .help = "Descriptors of each transmit queue; 0 takes the driver's default."},
	{.path = "ports[].mtu", .type = &bp_type_uint, IN(bp_config_port, mtu), .flags = BP_OR_ZERO, .min = 68, .max = 65535, .preset = "0",
	 .help = "Largest IP packet in bytes that the port takes; 0 leaves the driver's setting."},
	{.path = "ports[].promiscuous", .type = &bp_type_bool, IN(bp_config_port, promiscuous), .preset = "true", .preset_note = "true for a port in a bridge, false for one that routes",
	 .help = "Whether the port takes frames for every destination address, which bridging needs."},
	{.path = "ports[].mac", .type = &bp_type_mac, IN(bp_config_port, mac), GIVEN(bp_config_port, has_mac), .preset_note = "the device's own; in biplane replay 02:00:00:00:00:NN, where NN is the port's place in this list in hexadecimal, counted from 0",
	 .help = "The port's MAC address, which the device is told to take. Its kernel interface has the same."},
	{.path = "ports[].addresses", .type = &bp_type_addresses, IN(bp_config_port, interface), .preset_note = "none",
	 .help = "IPv4 and IPv6 addresses of a port that routes. biplane gives them to its kernel interface, besides those that are set there with ip or by a routing daemon; with kernel off, and in biplane replay, the data plane answers ARP and neighbour discovery for them itself. The addresses of a bridge are its host's."},
	{.path = "ports[].kernel", .type = &bp_type_enum, IN(bp_config_port, interface.kernel), .words = kernel_words, .preset = "auto", .preset_note = "auto; off for a port in a bridge",
	 .help = "The kernel interface of a port that routes, by which the kernel and its daemons see it: virtio needs /dev/vhost-net, tap works everywhere, auto takes virtio where it can and tap elsewhere. With off the port has none and is told its routes and neighbours by the section static alone."},
	{.path = "ports[].interface", .type = &bp_type_name, IN(bp_config_port, interface.kernel_name), .min = 1, .present = has_kernel_name, .preset_note = "the port's name",
	 .help = "Name of the port's kernel interface. A port whose name is longer than the kernel allows must be given one."},
	{.path = "ports[].offloads", .type = &bp_type_section,
	 .help = "What the port's device does in the place of the processor. auto uses what its driver offers and what there is a use for; off does without, for a device that says that it can and can't; on, where its driver does not offer it, is an error at start, but for vlan_strip. biplane show ports tells what came of each, and why."},
	OFFLOAD("rx_checksum", BP_OFFLOAD_RX_CHECKSUM, "Whether the device is asked if the checksums of received frames are right, where a service reads them; with off its word does not count, and biplane verifies them."),
	OFFLOAD("tx_checksum", BP_OFFLOAD_TX_CHECKSUM, "Whether the device completes the partial checksums of TCP and UDP that local senders leave, on frames from a port of the same bridge. Checksums of what biplane makes or changes are its own in any case."),
	OFFLOAD("multi_segment", BP_OFFLOAD_MULTI_SEGMENT, "Whether the device sends frames that lie in several buffers; with off they are put together first."),
	OFFLOAD("scatter", BP_OFFLOAD_SCATTER, "Whether the device lays received frames that are longer than a buffer in several; with off all buffers have room for a frame of the port's mtu."),
	OFFLOAD("rss", BP_OFFLOAD_RSS, "Whether the device shares connections out among several workers, by a hash with a symmetric key; with off one worker serves the port, and the ports that it exchanges frames with."),
	OFFLOAD("vlan_strip", BP_OFFLOAD_VLAN_STRIP, "The device is told to leave VLAN tags in frames. auto puts them back where it says that it takes them off all the same; on looks for such frames in any case, for a device that does not say; off never does."),

	{.path = "bridge", .type = &bp_type_bridges, .max = BP_MAX_BRIDGES, .list = &bridge_list, .preset_note = "none: every port routes", .done = bp_check_interfaces,
	 .help = "Ports that form one Ethernet segment, such as [[devices, cloud]]. Two ports are a transparent wire, three or more a learning switch. A port that is in no bridge routes: it has addresses of its own, and frames for its MAC address are forwarded by the routing tables."},
	{.path = "bridge[].ports", .type = &bp_type_bridge_ports, .size = sizeof(struct bp_config_bridge), .flags = BP_REQUIRED,
	 .help = "The bridge's ports. A bridge that is written as a list has these and no host."},
	{.path = "bridge[].host", .type = &bp_type_section, GIVEN(bp_config_bridge, has_host),
	 .help = "This machine's own interface in the bridge, by which it is reached from the segment and routes to and from it. Without it the bridge is closed to this machine."},
	{.path = "bridge[].host.name", .type = &bp_type_name, IN(bp_config_bridge, host_name), .flags = BP_REQUIRED, .min = 1,
	 .help = "What this file and the counters call it; no port has the same name."},
	{.path = "bridge[].host.addresses", .type = &bp_type_addresses, IN(bp_config_bridge, host), .preset_note = "none",
	 .help = "Its addresses, as ports[].addresses."},
	{.path = "bridge[].host.kernel", .type = &bp_type_enum, IN(bp_config_bridge, host.kernel), .words = kernel_words, .preset = "auto",
	 .help = "Its kernel interface, as ports[].kernel."},
	{.path = "bridge[].host.interface", .type = &bp_type_name, IN(bp_config_bridge, host.kernel_name), .min = 1, .present = host_has_kernel_name, .preset_note = "the host's name",
	 .help = "Name of its kernel interface."},
	{.path = "bridging", .type = &bp_type_section,
	 .help = "The address table of the bridges with three or more ports."},
	{.path = "bridging.mac_table", .type = &bp_type_uint, AT(mac_table), .min = 16, .max = 1048576, .preset = "8192",
	 .help = "Most addresses that one port may have. Each port has an equal share of this number to itself, and as many again are for whichever ports need more; a port at its bound loses its own oldest address, never another port's."},
	{.path = "bridging.ageing", .type = &bp_type_duration, AT(mac_ageing_ns), .min = S, .max = 1000000 * S, .preset = "300s",
	 .help = "How long an address is remembered that is not seen."},

	{.path = "routing", .type = &bp_type_section,
	 .help = "Room in the routing tables. What a table has no room for is counted and warned of, and its traffic goes by way of the kernel."},
	{.path = "routing.routes4", .type = &bp_type_uint, AT(routing.routes4), .min = 16, .max = 16777216, .preset = "1048576",
	 .help = "IPv4 routes."},
	{.path = "routing.routes6", .type = &bp_type_uint, AT(routing.routes6), .min = 16, .max = 4194304, .preset = "262144",
	 .help = "IPv6 routes."},
	{.path = "routing.neighbours", .type = &bp_type_uint, AT(routing.neighbours), .min = 16, .max = 1048576, .preset = "65536",
	 .help = "Neighbours of both families, over all interfaces."},
	{.path = "routing.nexthops", .type = &bp_type_uint, AT(routing.nexthops), .min = 16, .max = 1048576, .preset = "16384",
	 .help = "Different next hops that routes go through."},
	{.path = "routing.groups", .type = &bp_type_uint, AT(routing.groups), .min = 16, .max = 65536, .preset = "1024",
	 .help = "Different sets of several next hops among which routes share their traffic (ECMP)."},
	{.path = "routing.rp_filter6", .type = &bp_type_enum, AT(rp_filter6), .words = rp_filter_words, .preset = "off",
	 .help = "Reverse path filter for IPv6, for which the kernel has no sysctl (for IPv4 the kernel interface's rp_filter is obeyed): strict drops packets from sources whose route does not lead back through the interface they came in on, loose those from sources without a route (RFC 3704)."},

	{.path = "sync", .type = &bp_type_section,
	 .help = "How the control plane mirrors the kernel's interfaces, neighbours and routes."},
	{.path = "sync.table", .type = &bp_type_table, AT(sync.table), .min = 1, .max = UINT32_MAX, .preset = "main",
	 .help = "The kernel's routing table whose routes are mirrored."},
	{.path = "sync.receive_buffer", .type = &bp_type_size, AT(sync.receive_buffer), .min = MIB, .max = GIB, .preset = "16MiB",
	 .help = "Buffer of the Netlink socket. When events come faster than they are read and it overruns, everything is read anew."},
	{.path = "sync.neighbour_keep", .type = &bp_type_duration, AT(sync.neighbour_keep_ns), .min = S, .max = DAY, .preset = "60s",
	 .help = "A neighbour that traffic used within so long is kept: the kernel, which does not see that traffic, is made to ask for it again before it is forgotten."},

	{.path = "static", .type = &bp_type_section, .check = bp_check_static,
	 .help = "Routes and neighbours besides those of the kernel: for biplane replay, and for ports with kernel off."},
	{.path = "static.routes", .type = &bp_type_list, .max = 65536, .list = &route_list, .preset_note = "none",
	 .help = "Routes. Each stands before the kernel's route of the same prefix. Entries of the same prefix that differ in via or port share the traffic, each flow keeping to one of them (ECMP)."},
	{.path = "static.routes[].prefix", .type = &bp_type_prefix, IN(bp_config_static_route, prefix), .flags = BP_REQUIRED,
	 .help = "The destinations."},
	{.path = "static.routes[].via", .type = &bp_type_address, IN(bp_config_static_route, hop.gateway), .present = has_via, .preset_note = "none: the destinations are neighbours on port",
	 .help = "Address of the next router. That of a route for an IPv4 prefix may be an IPv6 address."},
	{.path = "static.routes[].port", .type = &bp_type_interface, IN(bp_config_static_route, hop.interface), GIVEN(bp_config_static_route, has_port), .preset_note = "the one with an address in whose prefix via is",
	 .help = "Port that routes, or host of a bridge, that the traffic leaves by."},
	{.path = "static.routes[].type", .type = &bp_type_enum, IN(bp_config_static_route, type), .words = route_words, .preset = "unicast",
	 .help = "unicast forwards and needs via or port. The others have neither: blackhole drops and counts, unreachable and prohibit have the kernel answer with that ICMP message."},
	{.path = "static.routes[].weight", .type = &bp_type_uint, IN(bp_config_static_route, hop.weight), .present = is_unicast, .min = 1, .max = 256, .preset = "1",
	 .help = "Share of this entry in the traffic, among those of the same prefix."},
	{.path = "static.neighbours", .type = &bp_type_list, .max = 65536, .list = &neighbour_list, .preset_note = "none",
	 .help = "Neighbours that are not asked for."},
	{.path = "static.neighbours[].address", .type = &bp_type_address, IN(bp_config_static_neighbour, address), .flags = BP_REQUIRED,
	 .help = "The neighbour's address."},
	{.path = "static.neighbours[].mac", .type = &bp_type_mac, IN(bp_config_static_neighbour, mac), .flags = BP_REQUIRED,
	 .help = "Its MAC address."},
	{.path = "static.neighbours[].port", .type = &bp_type_interface, IN(bp_config_static_neighbour, interface), .flags = BP_REQUIRED,
	 .help = "Port that routes, or host of a bridge, on whose segment it is."},

	{.path = "exception", .type = &bp_type_section, .done = bp_check_exception,
	 .help = "What goes to the kernel: all that is not user data to forward."},
	{.path = "exception.phd_ports", .type = &bp_type_tcp_ports, AT(exception.n_phd_ports), .min = 1, .max = 65535, .preset = "6024",
	 .help = "Ports, TCP and UDP, of the signalling of personal health devices (ISO/IEEE 11073-20601), which is class phd. Those of phd.listen are of it without being named here."},
	{.path = "exception.classes", .type = &bp_type_section,
	 .help = "Classes in the order in which they are served, so that a flood of one can't starve those before it. Each has a token bucket and a queue; what is over them is dropped and counted by class."},
	CLASS("routing", BP_EX_ROUTING, "2000", "Routing protocols, ARP and IPv6 neighbour discovery."),
	CLASS("phd", BP_EX_PHD, "20000", "Signalling of personal health devices."),
	CLASS("local", BP_EX_LOCAL, "10000", "What else is for an address of this machine."),
	CLASS("other", BP_EX_OTHER, "1000", "What the kernel is to answer or to forward: expired hop limits, options, packets that are too big, neighbours that are not resolved, unknown EtherTypes."),
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_gateway, rows);
