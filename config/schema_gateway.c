/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"

#define AT(member_) IN(bp_config, member_)

/* The rows that do not belong to one service: workers, ports, bridges, routes. */

static const char *const hugepages_names[] = {"auto", "require", "never", NULL};
static const char *const log_level_names[] = {"error", "warning", "info", "debug", NULL};
static const char *const log_format_names[] = {"text", "json", NULL};
static const char *const poll_names[] = {"busy", "adaptive", NULL};
static const char *const offload_names[] = {"auto", "on", "off", NULL};
static const char *const rp_filter_names[] = {"off", "strict", "loose", NULL};
static const char *const backend_names[] = {"auto", "virtio", "tap", "off", NULL};
/* Routes of type local come from addresses, and routes of type punt from the kernel's routes. */
static const char *const route_names[] = {
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
};
static const struct bp_list_layout route_list = {
	.element = sizeof(struct bp_config_static_route),
	.items = offsetof(struct bp_config, fixed.route),
	.count = offsetof(struct bp_config, fixed.n_routes),
	.allocated = true,
};
static const struct bp_list_layout neighbor_list = {
	.element = sizeof(struct bp_config_static_neighbor),
	.items = offsetof(struct bp_config, fixed.neighbor),
	.count = offsetof(struct bp_config, fixed.n_neighbors),
	.allocated = true,
};

static bool has_kernel_name(const void *port)
{
	return ((const struct bp_config_port *)port)->interface.kernel_name[0] != '\0';
}

static bool host_has_kernel_name(const void *bridge)
{
	return ((const struct bp_config_bridge *)bridge)->host_interface.kernel_name[0] != '\0';
}

static bool has_network(const void *bridge)
{
	return ((const struct bp_config_bridge *)bridge)->network[0] != '\0';
}

static bool has_via(const void *route)
{
	return ((const struct bp_config_static_route *)route)->hop.gateway.family != 0;
}

static bool is_unicast(const void *route)
{
	return ((const struct bp_config_static_route *)route)->type == BP_ROUTE_UNICAST;
}

/* A policer of the frames to the kernel. */
#define POLICER(name_, class_, rate_, help_)                                                       \
	{.path = "punt.policers." name_, .type = &bp_type_section, .help = help_},                 \
		{.path = "punt.policers." name_ ".rate_pps",                                       \
			.type = &bp_type_uint,                                                     \
			AT(punt.policer[class_].rate_pps),                                         \
			.min = 1,                                                                  \
			.max = 10000000,                                                           \
			.preset = rate_,                                                           \
			.help = "Maximum rate to the kernel over all ports, packets/s."},          \
		{.path = "punt.policers." name_ ".burst",                                          \
			.type = &bp_type_uint,                                                     \
			AT(punt.policer[class_].burst),                                            \
			.min = 1,                                                                  \
			.max = 10000000,                                                           \
			.preset_text = "a tenth of rate_pps, and at least 32",                     \
			.help = "Burst size of the token bucket, packets."},                       \
	{                                                                                          \
		.path = "punt.policers." name_ ".queue_len", .type = &bp_type_uint,                \
		AT(punt.policer[class_].queue_len), .min = 16, .max = 65536, .preset = "512",      \
		.help = "Length of the queue to the kernel of each port or bridge, packets. "      \
			"Packets that find it full are dropped and counted."                       \
	}

/* Offloads of a port's device. */
#define OFFLOAD(name_, offload_, help_)                                                            \
	{                                                                                          \
		.path = "ports[].offloads." name_, .type = &bp_type_enum,                          \
		IN(bp_config_port, offload[offload_]), .enum_names = offload_names,                \
		.preset = "auto", .help = help_                                                    \
	}

static bool has_fleet_tls(const void *base)
{
	const struct bp_config_fleet_state *f = &((const struct bp_config *)base)->fleet.state;

	return f->ca_file[0] != '\0' || f->cert_file[0] != '\0' || f->key_file[0] != '\0';
}

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "version", .type = &bp_type_version, AT(version), .preset = "1",
	 .help = "Version of the format of this file. It must be given in a file."},
	{.path = "name", .type = &bp_type_name, AT(name), .min = 1, .preset = "biplane",
	 .help = "Name of this instance. It names the shared segment, the control socket and DPDK's files, so that several instances can run on one machine. With fleet.state or fleet.config it must be given, and no other gateway of the fleet may have it."},

	{.path = "workers", .type = &bp_type_workers, .flags = BP_MAIN, .size = sizeof(struct bp_config), .min = 1, .max = BP_MAX_WORKERS, .preset = "1",
	 .help = "Number of worker threads that forward and inspect packets, or the list of their cores, such as [2, 3]."},
	{.path = "poll_mode", .type = &bp_type_enum, .flags = BP_MAIN, AT(poll_mode), .enum_names = poll_names, .preset = "busy",
	 .help = "busy: workers poll their queues without a pause and use a core each. adaptive: a worker that finds no frames sleeps until frames arrive, for machines whose cores are shared."},
	{.path = "controlplane_poll_mode", .type = &bp_type_enum, AT(controlplane_poll_mode), .enum_names = poll_names, .preset = "adaptive",
	 .help = "adaptive: the control plane sleeps until a worker wakes it. busy: it polls the queues of the workers without a pause and uses a core, so that an alarm does not wait for the wakeup of a CPU."},
	{.path = "mbufs", .type = &bp_type_uint, AT(mbufs), .zero = "auto", .min = 512, .max = 16777216, .preset = "auto",
	 .help = "Packet buffers per port and worker; auto computes the number from the descriptors of the ports."},

	{.path = "runtime", .type = &bp_type_section,
	 .help = "Resources that biplane takes from the machine."},
	{.path = "runtime.directory", .type = &bp_type_string, AT(runtime_dir), .min = 1, .preset = "/run/biplane",
	 .help = "Directory of the control socket and the process files, and of the segment where there are no hugepages."},
	{.path = "runtime.hugepages", .type = &bp_type_enum, .flags = BP_MAIN, AT(hugepages), .enum_names = hugepages_names, .preset = "auto",
	 .help = "auto uses hugepages if the machine has them and warns if not; require refuses to start without them; never uses normal pages."},
	{.path = "runtime.memory", .type = &bp_type_size, AT(memory_mb), .min = 64 * MIB, .max = 1024 * GIB, .scale = MIB, .preset = "512MiB",
	 .help = "Memory of DPDK when it runs without hugepages."},
	{.path = "runtime.cpu_latency_limit", .type = &bp_type_duration, AT(cpu_latency_limit_us), GIVEN(bp_config, has_cpu_latency_limit), .min = 0, .max = S, .scale = US, .preset_text = "none: the kernel chooses the idle states",
	 .help = "Maximum time that an idle CPU of this machine may need to resume work (PM QoS, /dev/cpu_dma_latency), while the data plane runs. A lower limit shortens the delay of alarms, and idle CPUs need more power. 0us: idle CPUs do not sleep."},
	{.path = "runtime.watchdog", .type = &bp_type_duration, AT(watchdog_ns), .zero = "off", .min = 2 * S, .max = HOUR, .preset = "10s",
	 .help = "Time without a heartbeat after which biplane run kills and restarts a plane; off disables the watchdog. A plane sends heartbeats while all of its threads make progress; its start is not limited. Under systemd, WatchdogSec= of the unit applies instead. A change takes effect when biplane run is restarted."},

	{.path = "monitoring", .type = &bp_type_section, .check = bp_check_monitoring,
	 .help = "The HTTP server of the monitor (metrics, health, the views of biplane show, the console), limits above which the data plane reports a fault, and the history of rates. Each fault is counted, shown by biplane show health and logged: a link that is down, frames that a NIC dropped or received damaged, low packet buffers, poll gaps, stalled workers, and connections that are not inspected."},
	{.path = "monitoring.listen", .type = &bp_type_listen, AT(monitoring.listen), .preset = "off",
	 .help = "Address of the HTTP server of the monitor, or unix:/PATH for a Unix socket; off disables it. An address beyond loopback needs tls_certificate, tls_key and token_file. Everything is read-only: see monitor in biplane-run(1)."},
	{.path = "monitoring.tls_certificate", .type = &bp_type_string, AT(monitoring.tls_certificate), .min = 1, .preset_text = "none: without TLS",
	 .help = "File with the certificate of the HTTP server and its chain, PEM. The monitor reads it again after SIGHUP."},
	{.path = "monitoring.tls_key", .type = &bp_type_string, AT(monitoring.tls_key), .min = 1, .preset_text = "none",
	 .help = "File with the private key of the certificate, PEM. Other users should have no access to it (mode 0640)."},
	{.path = "monitoring.token_file", .type = &bp_type_string, AT(monitoring.token_file), .min = 1, .preset_text = "none: no token is required",
	 .help = "File whose first line is the token that clients send as Authorization: Bearer TOKEN. Without it, every client that can connect is answered. Other users should have no access to it (mode 0640)."},
	{.path = "monitoring.max_connections", .type = &bp_type_uint, AT(monitoring.max_connections), .min = 4, .max = 512, .preset = "64",
	 .help = "Maximum number of HTTP connections. A connection above it replaces the one that has waited longest without a complete request."},
	{.path = "monitoring.link_up_delay", .type = &bp_type_duration, AT(monitoring.link_up_delay_ns), .min = S, .max = HOUR, .preset = "10s",
	 .help = "Time that a link may take to come up after the start before it counts as down."},
	{.path = "monitoring.mbuf_low_percent", .type = &bp_type_uint, AT(monitoring.mbuf_low_percent), .zero = "off", .min = 1, .max = 90, .preset = "5",
	 .help = "Percentage of free packet buffers in a pool below which a warning is raised; off disables it."},
	{.path = "monitoring.poll_gap_warning", .type = &bp_type_duration, AT(monitoring.poll_gap_warning_ns), .zero = "off", .min = 100 * US, .max = MINUTE, .preset = "100ms",
	 .help = "Poll gap above which a warning is raised (worker busy or descheduled); off disables it. 1ms is a good value for workers with dedicated CPUs."},
	{.path = "monitoring.worker_stall_timeout", .type = &bp_type_duration, AT(monitoring.worker_stall_timeout_ns), .zero = "off", .min = 500 * MS, .max = HOUR, .preset = "2s",
	 .help = "Time without a poll after which a worker counts as stalled; off disables the check."},
	{.path = "monitoring.not_inspected_warning", .type = &bp_type_duration, AT(monitoring.not_inspected_warning_ns), .zero = "off", .min = S, .max = DAY, .preset = "1m",
	 .help = "Time without inspection after which a connection to an MQTT port raises a warning; off disables it. biplane show not-inspected lists the connections with the reasons."},
	{.path = "monitoring.history", .type = &bp_type_duration, AT(monitoring.history_ns), .zero = "off", .min = MINUTE, .max = DAY, .preset = "1h",
	 .help = "Time for which the data plane keeps one sample of the main counters a second, for biplane show rates. A sample takes 1.1 KB, plus 48 bytes per port and 16 bytes per worker: an hour takes 4.4 MB of the shared segment with two ports and two workers; off keeps none."},
	{.path = "monitoring.log_interval", .type = &bp_type_duration, AT(monitoring.log_interval_ns), .min = S, .max = DAY, .preset = "10s",
	 .help = "Average time between two log lines about the same fault of the same port, pool or worker. Lines above this rate are suppressed, except the first few, and the next line reports the events in between. A fault of single events ends after this time without an event."},
	{.path = "monitoring.event_queue_size", .type = &bp_type_uint, AT(monitoring.event_queue_size), .min = 64, .max = 65536, .preset = "4096",
	 .help = "Records in the ring of events of each worker, of the main thread of the data plane and of the control plane: changes of connections, sessions, faults and configuration. A record has 256 bytes. A reader (biplane tail, log.events) that is slower than the events loses the oldest ones, and reports how many. A change needs a restart."},
	{.path = "monitoring.capture_buffer", .type = &bp_type_size, AT(monitoring.capture_buffer), .zero = "off", .min = MIB, .max = 1024 * MIB, .preset = "4MiB",
	 .help = "Memory in the shared segment, for each worker, for the frames of biplane capture and the records of biplane trace; rounded up to a power of two. A reader that is slower than the traffic loses the oldest records. off disables both commands."},

	{.path = "ports", .type = &bp_type_list, .flags = BP_REQUIRED, .min = 1, .max = BP_MAX_PORTS, .list = &port_list,
	 .check = bp_check_port, .help = "The network ports."},
	{.path = "ports[].name", .type = &bp_type_name, IN(bp_config_port, name), .flags = BP_REQUIRED, .min = 1,
	 .help = "Name of the port in this file, in counters and in biplane show."},
	{.path = "ports[].device", .type = &bp_type_string, IN(bp_config_port, device), .flags = BP_REQUIRED, .min = 1,
	 .help = "DPDK device: a PCI address (\"0000:03:00.0\") or a virtual device with its arguments (\"net_af_packet0,iface=eth1\")."},
	{.path = "ports[].rx_queues", .type = &bp_type_uint, IN(bp_config_port, rx_queues), .zero = "auto", .min = 1, .max = BP_MAX_WORKERS, .preset = "auto",
	 .help = "Number of receive queues; auto uses one per worker if the driver supports it."},
	{.path = "ports[].rx_descriptors", .type = &bp_type_uint, IN(bp_config_port, rx_descriptors), .zero = "auto", .min = 32, .max = 65535, .preset = "auto",
	 .help = "Descriptors per receive queue; auto uses the default of the driver."},
	{.path = "ports[].tx_descriptors", .type = &bp_type_uint, IN(bp_config_port, tx_descriptors), .zero = "auto", .min = 32, .max = 65535, .preset = "auto",
	 .help = "Descriptors per transmit queue; auto uses the default of the driver."},
	{.path = "ports[].mtu", .type = &bp_type_uint, IN(bp_config_port, mtu), .zero = "auto", .min = 68, .max = 65535, .preset = "auto",
	 .help = "MTU of the port, bytes; auto keeps the setting of the driver."},
	{.path = "ports[].promiscuous", .type = &bp_type_bool, IN(bp_config_port, promiscuous), .preset = "true", .preset_text = "true for a bridged port, false for a routed port",
	 .help = "Promiscuous mode, in which the port accepts frames for every destination address. A bridge needs it."},
	{.path = "ports[].mac", .type = &bp_type_mac, IN(bp_config_port, mac), GIVEN(bp_config_port, has_mac), .preset_text = "the address of the device; in biplane replay 02:00:00:00:00:NN, where NN is the index of the port in this list in hexadecimal, counted from 0",
	 .help = "MAC address of the port, set on the device. Its kernel interface has the same address."},
	{.path = "ports[].routed", .type = &bp_type_section, GIVEN(bp_config_port, has_routed),
	 .help = "Makes the port a routed port: it has addresses of its own, and packets for its MAC address are forwarded by the routing tables. routed: {} is a routed port without addresses in this file. A port is either routed or in a bridge."},
	{.path = "ports[].routed.addresses", .type = &bp_type_addresses, IN(bp_config_port, interface), .preset_text = "none",
	 .help = "IPv4 and IPv6 addresses with prefix lengths. biplane sets them on the kernel interface, besides those that are set there with ip or by a routing daemon. Without a kernel interface, and in biplane replay, the data plane itself answers ARP and neighbor discovery for them."},
	{.path = "ports[].routed.host_interface", .type = &bp_type_section,
	 .help = "The kernel interface through which the kernel and its daemons see the port."},
	{.path = "ports[].routed.host_interface.backend", .type = &bp_type_enum, IN(bp_config_port, interface.backend), .enum_names = backend_names, .preset = "auto",
	 .help = "virtio needs /dev/vhost-net, tap works everywhere, auto uses virtio if possible and tap otherwise. off: no kernel interface; routes and neighbors come only from routing.static_routes and routing.static_neighbors."},
	{.path = "ports[].routed.host_interface.name", .type = &bp_type_name, IN(bp_config_port, interface.kernel_name), .min = 1, .present = has_kernel_name, .preset_text = "the name of the port",
	 .help = "Name of the kernel interface. Required if the name of the port is longer than the kernel allows."},
	{.path = "ports[].offloads", .type = &bp_type_section,
	 .help = "Hardware offloads of the port. auto uses what the driver offers if there is a use for it; off does not use it, for a device that advertises an offload and fails at it; on requires it: if the driver does not offer it, the start fails (except vlan_strip). biplane show ports lists the result and the reason for each."},
	OFFLOAD("rx_checksum", BP_OFFLOAD_RX_CHECKSUM, "Receive checksum validation by the device, where a service needs it; with off biplane validates checksums itself."),
	OFFLOAD("tx_checksum", BP_OFFLOAD_TX_CHECKSUM, "Completion of partial TCP and UDP checksums by the device, as local senders leave them, on frames from a port of the same bridge. biplane always computes the checksums of packets that it originates or changes."),
	OFFLOAD("tx_multi_segs", BP_OFFLOAD_TX_MULTI_SEGS, "Transmission of packets in several mbuf segments; with off they are linearized first."),
	OFFLOAD("rx_scatter", BP_OFFLOAD_RX_SCATTER, "Reception of a frame longer than a buffer in several mbuf segments; with off, each buffer is large enough for a frame of the MTU."),
	OFFLOAD("rss", BP_OFFLOAD_RSS, "Distribution of connections over several workers by a symmetric hash (RSS); with off one worker serves the port and the ports that it exchanges frames with."),
	OFFLOAD("vlan_strip", BP_OFFLOAD_VLAN_STRIP, "VLAN stripping, which biplane disables in the device. auto restores tags if the device reports that it strips them anyway; on looks for stripped tags in any case, for a device that does not report it; off never does."),

	{.path = "bridges", .type = &bp_type_bridges, .max = BP_MAX_BRIDGES, .list = &bridge_list, .preset_text = "none", .done = bp_check_interfaces,
	 .help = "Bridges, such as [{name: line-1, ports: [devices, cloud]}]. Two ports without a host_interface are a transparent bridge, all others a learning bridge."},
	{.path = "bridges[].name", .type = &bp_type_name, IN(bp_config_bridge, name), .flags = BP_REQUIRED, .min = 1,
	 .help = "Name of the bridge and of its host interface in this file, in counters and in biplane show; unique among ports and bridges."},
	{.path = "bridges[].ports", .type = &bp_type_bridge_ports, .size = sizeof(struct bp_config_bridge), .flags = BP_REQUIRED,
	 .help = "Ports of the bridge. A port is in at most one bridge."},
	{.path = "bridges[].network", .type = &bp_type_name, IN(bp_config_bridge, network), .min = 1, .present = has_network, .preset_text = "the name of the bridge; main with host_interface, and for the only bridge of a gateway without routed ports",
	 .help = "Network of the bridge for MQTT inspection. Connections of different networks are different connections, even if their addresses and TCP ports are equal. Bridges with the same network share their connections: use it if a connection passes two bridges of this gateway, such as in front of and behind a firewall. main is the network of routed ports and of bridges with host_interface. Gateways of a fleet need the same name for the same network."},
	{.path = "bridges[].host_interface", .type = &bp_type_section, GIVEN(bp_config_bridge, has_host_interface),
	 .help = "Interface of this machine in the bridge, through which it is reachable from the segment and routes to and from it. Without it the bridge is isolated from this machine."},
	{.path = "bridges[].host_interface.addresses", .type = &bp_type_addresses, IN(bp_config_bridge, host_interface), .preset_text = "none",
	 .help = "Its addresses, as ports[].routed.addresses."},
	{.path = "bridges[].host_interface.backend", .type = &bp_type_enum, IN(bp_config_bridge, host_interface.backend), .enum_names = backend_names, .preset = "auto",
	 .help = "Its kernel interface, as ports[].routed.host_interface.backend."},
	{.path = "bridges[].host_interface.name", .type = &bp_type_name, IN(bp_config_bridge, host_interface.kernel_name), .min = 1, .present = host_has_kernel_name, .preset_text = "the name of the bridge",
	 .help = "Name of its kernel interface."},
	{.path = "bridges[].fdb_max_entries", .type = &bp_type_uint, IN(bp_config_bridge, fdb_max_entries), .min = 16, .max = 1048576, .preset = "8192",
	 .help = "Maximum number of MAC addresses per port in the forwarding database (FDB) of a learning bridge. An equal share of this number is reserved for each port, and the ports share as many again. A port at its limit loses its own oldest address, never that of another port."},
	{.path = "bridges[].fdb_aging_time", .type = &bp_type_duration, IN(bp_config_bridge, fdb_aging_time_ns), .min = S, .max = 1000000 * S, .preset = "300s",
	 .help = "Time after which a MAC address that sends nothing is removed from the FDB."},

	{.path = "routing", .type = &bp_type_section, .check = bp_check_static,
	 .help = "Capacities of the routing tables, and routes and neighbors besides those of the kernel. Entries above a capacity are counted and warned of, and their traffic is forwarded by the kernel."},
	{.path = "routing.max_ipv4_routes", .type = &bp_type_uint, .flags = BP_MAIN, AT(routing.max_ipv4_routes), .min = 16, .max = 16777216, .preset = "1048576",
	 .help = "Maximum number of IPv4 routes."},
	{.path = "routing.max_ipv6_routes", .type = &bp_type_uint, .flags = BP_MAIN, AT(routing.max_ipv6_routes), .min = 16, .max = 4194304, .preset = "262144",
	 .help = "Maximum number of IPv6 routes."},
	{.path = "routing.max_neighbors", .type = &bp_type_uint, AT(routing.max_neighbors), .min = 16, .max = 1048576, .preset = "65536",
	 .help = "Maximum number of neighbors of both families, over all interfaces."},
	{.path = "routing.max_nexthops", .type = &bp_type_uint, AT(routing.max_nexthops), .min = 16, .max = 1048576, .preset = "16384",
	 .help = "Maximum number of different next hops."},
	{.path = "routing.max_nexthop_groups", .type = &bp_type_uint, AT(routing.max_nexthop_groups), .min = 16, .max = 65536, .preset = "1024",
	 .help = "Maximum number of different groups of next hops (ECMP)."},
	{.path = "routing.ipv6_rp_filter", .type = &bp_type_enum, .flags = BP_MAIN, AT(ipv6_rp_filter), .enum_names = rp_filter_names, .preset = "off",
	 .help = "Reverse path filter for IPv6 (RFC 3704), for which the kernel has no sysctl: strict drops packets whose source is not routed through the interface they arrived on, loose drops packets whose source has no route. For IPv4 the rp_filter of the kernel interface applies."},
	{.path = "routing.static_routes", .type = &bp_type_list, .max = 65536, .list = &route_list, .preset_text = "none",
	 .help = "Static routes, for biplane replay and for ports without a kernel interface. A static route has precedence over a kernel route of the same prefix. Entries of one prefix that differ in via or interface share its traffic per flow (ECMP)."},
	{.path = "routing.static_routes[].prefix", .type = &bp_type_prefix, IN(bp_config_static_route, prefix), .flags = BP_REQUIRED,
	 .help = "Destination prefix."},
	{.path = "routing.static_routes[].via", .type = &bp_type_address, IN(bp_config_static_route, hop.gateway), .present = has_via, .preset_text = "none: the destinations are on the link of interface",
	 .help = "Address of the next hop. The next hop of an IPv4 prefix may be an IPv6 address."},
	{.path = "routing.static_routes[].interface", .type = &bp_type_interface, IN(bp_config_static_route, hop.interface), GIVEN(bp_config_static_route, has_interface), .preset_text = "the interface with an address in whose prefix via is",
	 .help = "Output interface: a routed port, or a bridge with a host_interface."},
	{.path = "routing.static_routes[].type", .type = &bp_type_enum, IN(bp_config_static_route, type), .enum_names = route_names, .preset = "unicast",
	 .help = "unicast forwards and needs via or interface. The other types take neither: blackhole drops and counts, unreachable and prohibit make the kernel answer with that ICMP error."},
	{.path = "routing.static_routes[].weight", .type = &bp_type_uint, IN(bp_config_static_route, hop.weight), .present = is_unicast, .min = 1, .max = 256, .preset = "1",
	 .help = "ECMP weight among the entries of the same prefix."},
	{.path = "routing.static_neighbors", .type = &bp_type_list, .max = 65536, .list = &neighbor_list, .preset_text = "none",
	 .help = "Static ARP and ND entries."},
	{.path = "routing.static_neighbors[].address", .type = &bp_type_address, IN(bp_config_static_neighbor, address), .flags = BP_REQUIRED,
	 .help = "IPv4 or IPv6 address of the neighbor."},
	{.path = "routing.static_neighbors[].mac", .type = &bp_type_mac, IN(bp_config_static_neighbor, mac), .flags = BP_REQUIRED,
	 .help = "MAC address of the neighbor."},
	{.path = "routing.static_neighbors[].interface", .type = &bp_type_interface, IN(bp_config_static_neighbor, interface), .flags = BP_REQUIRED,
	 .help = "Interface on whose link the neighbor is: a routed port, or a bridge with a host_interface."},

	{.path = "netlink", .type = &bp_type_section,
	 .help = "How the control plane reads interfaces, neighbors and routes from the kernel."},
	{.path = "netlink.route_table", .type = &bp_type_table, .flags = BP_MAIN, AT(netlink.route_table), .min = 1, .max = UINT32_MAX, .preset = "main",
	 .help = "Routing table of the kernel whose routes biplane uses."},
	{.path = "netlink.receive_buffer", .type = &bp_type_size, AT(netlink.receive_buffer), .min = MIB, .max = GIB, .preset = "16MiB",
	 .help = "Receive buffer of the Netlink socket. After an overrun the control plane resynchronises."},
	{.path = "netlink.neighbor_refresh", .type = &bp_type_duration, AT(netlink.neighbor_refresh_ns), .min = S, .max = DAY, .preset = "60s",
	 .help = "A stale neighbor that forwarded traffic used within this time is refreshed in the kernel, which does not see that traffic."},

	{.path = "punt", .type = &bp_type_section, .done = bp_check_punt,
	 .help = "Packets that are punted to the kernel: everything that is not user data to forward."},
	{.path = "punt.health_device_ports", .type = &bp_type_tcp_ports, AT(punt.n_health_device_ports), .min = 1, .max = 65535, .preset = "6024",
	 .help = "TCP and UDP ports of the signalling of personal health devices (ISO/IEEE 11073-20601), which belongs to the policer health_devices. Ports on which biplane listens for health devices belong to it without being listed."},
	{.path = "punt.policers", .type = &bp_type_section,
	 .help = "Policers in descending order of priority, so that a flood in one class does not starve those before it. Each has a token bucket and a queue; excess packets are dropped and counted per class."},
	POLICER("routing", BP_EX_ROUTING, "2000", "Routing protocols, ARP and IPv6 neighbor discovery."),
	POLICER("health_devices", BP_EX_PHD, "20000", "Signalling of personal health devices."),
	POLICER("local", BP_EX_LOCAL, "10000", "Other traffic to an address of this machine."),
	POLICER("other", BP_EX_OTHER, "1000", "Packets that the kernel answers or forwards: expired hop limit, options, packet too big, unresolved neighbor, unknown EtherType."),

	{.path = "log", .type = &bp_type_section,
	 .help = "The log on standard error, or in the journal where systemd runs the planes."},
	{.path = "log.level", .type = &bp_type_enum, AT(log.level), .flags = BP_RELOAD, .enum_names = log_level_names, .preset = "info",
	 .help = "The lowest level that is logged. error: action required; warning: investigate; info: no action; debug: for developers."},
	{.path = "log.format", .type = &bp_type_enum, AT(log.format), .flags = BP_RELOAD, .enum_names = log_format_names, .preset = "text",
	 .help = "Form of a line outside the journal: text, or one JSON object."},
	{.path = "log.events", .type = &bp_type_event_log, AT(log.events), .preset = "off",
	 .help = "Log of events, written by biplane monitor: one JSON object per line for each alarm, connection, session of a health device, fault, change of the configuration, and start or stop of a plane. A file is opened for appending, and again at SIGHUP. unix: connects to a Unix socket, a stream socket or else a datagram socket. journal: the journal of systemd. A change takes effect when the monitor is restarted."},

	/* fleet/schema_fleet.c continues the section. */
	{.path = "fleet", .type = &bp_type_section, GIVEN(bp_config, fleet.enabled),
	 .help = "What several gateways share, so that each of them can continue the work of another one. Without this section a gateway is alone."},
	{.path = "fleet.name", .type = &bp_type_name, AT(fleet.name), .flags = BP_REQUIRED, .min = 1,
	 .help = "Name of the fleet: the same in all of its gateways. All keys in Redis begin with biplane:NAME:."},
	{.path = "fleet.state", .type = &bp_type_section, GIVEN(bp_config, fleet.state.enabled), .check = bp_check_fleet_state,
	 .help = "Redis with the state that the gateways share. Forwarding and inspection do not depend on it: while it is unreachable, changes wait in the memory of the control plane."},
	{.path = "fleet.state.server", .type = &bp_type_redis, AT(fleet.state.redis), .flags = BP_REQUIRED,
	 .help = "URL of Redis, or of the Sentinels that know its address. Scheme rediss uses TLS. Hosts are IP addresses, because the control plane resolves no names while it runs; the certificate of a server must be for its address. The default TCP port is 6379, of Sentinels 26379. /DB is the number of the database, #MASTER the name of the master at the Sentinels. Sentinels are used without password."},
	{.path = "fleet.state.username", .type = &bp_type_string, AT(fleet.state.username), .min = 1, .preset_text = "none: the default user of Redis",
	 .help = "User name for Redis (ACL); it needs password_file."},
	{.path = "fleet.state.password_file", .type = &bp_type_string, AT(fleet.state.password_file), .min = 1, .preset_text = "none",
	 .help = "File whose first line is the password. Other users should have no access to it (mode 0640)."},
	{.path = "fleet.state.tls", .type = &bp_type_section, .present = has_fleet_tls,
	 .help = "Certificates for a server with scheme rediss. Files are in PEM format."},
	{.path = "fleet.state.tls.ca", .type = &bp_type_string, AT(fleet.state.ca_file), .min = 1, .preset_text = "the system's certificate store",
	 .help = "CA certificates that the server's certificate is verified with."},
	{.path = "fleet.state.tls.cert", .type = &bp_type_string, AT(fleet.state.cert_file), .min = 1, .preset_text = "none",
	 .help = "Client certificate, for a server that requires one."},
	{.path = "fleet.state.tls.key", .type = &bp_type_string, AT(fleet.state.key_file), .min = 1, .preset_text = "none",
	 .help = "Private key of cert. Other users should have no access to it (mode 0640)."},
	{.path = "fleet.state.timeout", .type = &bp_type_duration, AT(fleet.state.timeout_ns), .min = 10 * MS, .max = MINUTE, .preset = "1s",
	 .help = "Time to connect, and to wait for an answer, after which biplane closes the connection and connects again."},
	{.path = "fleet.state.max_queued", .type = &bp_type_uint, AT(fleet.state.max_queued), .min = 16, .max = 1048576, .preset = "65536",
	 .help = "Maximum number of changes that wait for Redis. At the limit the oldest one that newer changes of its key repeat is dropped, and counted."},
	{.path = "fleet.state.max_queue_size", .type = &bp_type_size, AT(fleet.state.max_queue_size), .min = 256 * KIB, .max = GIB, .preset = "16MiB",
	 .help = "Maximum memory of the changes that wait for Redis."},
	{.path = "fleet.state.max_alarm_states", .type = &bp_type_uint, AT(fleet.state.max_alarm_states), .min = 16, .max = 65536, .preset = "32768",
	 .help = "Maximum number of alarm states that this gateway shares: those that were raised here, until 60 s after their clear. A topic counts as one state for each 256 bytes that it begins. At the limit, further alarms are published, and their states are not shared. The gateways of a fleet share at most 65536 raised states together."},
	{.path = "fleet.state.max_alarm_states_per_client", .type = &bp_type_uint, AT(fleet.state.max_alarm_states_per_client), .min = 1, .max = 65536, .preset = "1024",
	 .help = "Maximum number of these of one client address (IPv6: a /64)."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_gateway, rows);
