/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema.h"

#include <string.h>

#include "config/type_transform.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define US ((uint64_t)1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define HOUR (3600 * S)
#define DAY (24 * HOUR)

#define IN(type_, member_)                                                                         \
	.offset = offsetof(struct type_, member_), .size = sizeof(((struct type_ *)0)->member_)
#define AT(member_) IN(bp_config, member_)
#define GIVEN(type_, member_) .given = 1 + offsetof(struct type_, member_)

static const char *const hugepages_words[] = {"auto", "require", "never", NULL};
static const char *const idle_words[] = {"spin", "sleep", NULL};
static const char *const kernel_words[] = {"auto", "virtio", "tap", "off", NULL};
/* local is what addresses make, and punt what the kernel's routes make. */
static const char *const route_words[] = {
	"unicast", "", "blackhole", "unreachable", "prohibit", NULL};
static const char *const judge_words[] = {"to_broker", "from_broker", "both", NULL};
static const char *const checksum_words[] = {"verify", "trust", NULL};
static const char *const binary_words[] = {"int8", "int16", "int32", "int64", "uint8", "uint16",
	"uint32", "uint64", "float32", "float64", NULL};
static const char *const endian_words[] = {"big", "little", NULL};
static const char *const repeat_words[] = {"every", "on_change", NULL};
static const char *const action_words[] = {"publish", "clone", NULL};
static const char *const payload_words[] = {"original", "envelope", NULL};

static const char *const confirm_words[] = {"stored", "forwarded", NULL};
static const char *const instances_words[] = {"object", "report", NULL};
static const char *const binding_words[] = {"", "coap", "http", NULL};
static const char *const release_words[] = {"1", "2", "2a", "3", "4", "5", NULL};
static const char *const message_words[] = {"con", "non", NULL};
static const char *const format_words[] = {"full", "paper", NULL};
static const char *const angle_words[] = {"radians", "degrees", NULL};
static const char *const number_words[] = {"fixed32", "ufixed32", "float32", "float64", NULL};
static const char *const method_words[] = {
	"vector", "exact", "large", "medium", "small", "chebyshev", "userspace", NULL};
static const char *const unknown_words[] = {"bare", "drop", NULL};
static const char *const overflow_words[] = {"saturate", "drop", NULL};
static const char *const singular_words[] = {"refuse", "allow", NULL};

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
static const struct bp_list_layout rule_list = {
	.element = sizeof(struct bp_rule_spec),
	.items = offsetof(struct bp_config, mqtt.rules),
	.count = offsetof(struct bp_config, mqtt.n_rules),
	.allocated = true,
};

static const struct bp_list_layout aggregate_list = {
	.element = sizeof(struct bp_agg_rule),
	.items = offsetof(struct bp_config, agg.aggregate),
	.count = offsetof(struct bp_config, agg.n_aggregate),
};
static const struct bp_list_layout disaggregate_list = {
	.element = sizeof(struct bp_disagg_rule),
	.items = offsetof(struct bp_config, agg.disaggregate),
	.count = offsetof(struct bp_config, agg.n_disaggregate),
};

static const struct bp_list_layout transform_list = {
	.element = sizeof(struct bp_transform_rule),
	.items = offsetof(struct bp_config, transform.rule),
	.count = offsetof(struct bp_config, transform.n_rules),
};
static const struct bp_list_layout source_list = {
	.element = sizeof(struct bp_transform_source),
	.of = bp_transform_sources_of,
};
static const struct bp_list_layout receiver_list = {
	.element = sizeof(struct bp_transform_receiver),
	.of = bp_transform_receivers_of,
};

static bool has_tls(const void *base)
{
	return ((const struct bp_config *)base)->mqtt.edge.ca_file[0] != '\0';
}

static bool has_kernel_name(const void *port)
{
	return ((const struct bp_config_port *)port)->interface.kernel_name[0] != '\0';
}

static bool host_has_kernel_name(const void *bridge)
{
	return ((const struct bp_config_bridge *)bridge)->host.kernel_name[0] != '\0';
}

static bool has_http(const void *base)
{
	return ((const struct bp_config *)base)->phd.cse.http != 0;
}

static bool has_via(const void *route)
{
	return ((const struct bp_config_static_route *)route)->hop.gateway.family != 0;
}

static bool is_unicast(const void *route)
{
	return ((const struct bp_config_static_route *)route)->type == BP_ROUTE_UNICAST;
}

static bool has_from(const void *base)
{
	return ((const struct bp_agg_rule *)base)->from.family != 0;
}

static bool has_to(const void *base)
{
	return ((const struct bp_transform_rule *)base)->to.family != 0;
}

static bool has_loader(const void *base)
{
	return ((const struct bp_config *)base)->transformation.loader.family != 0;
}

/* What a receiver says, and the one that an entry has for those that say nothing. */
#define SAYS(what_, flag_)                                                                         \
	static bool receiver_has_##what_(const void *base)                                         \
	{                                                                                          \
		return (((const struct bp_transform_receiver *)base)->flags & (flag_)) != 0;       \
	}
#define ENTRY_SAYS(what_)                                                                          \
	static bool entry_has_##what_(const void *base)                                            \
	{                                                                                          \
		return receiver_has_##what_(&((const struct bp_transform_rule *)base)->otherwise); \
	}
SAYS(address, BP_TRANSFORM_ADDRESS)
SAYS(udp, BP_TRANSFORM_UDP)
SAYS(mac, BP_TRANSFORM_MAC)
SAYS(matrix, BP_TRANSFORM_MATRIX)
ENTRY_SAYS(address)
ENTRY_SAYS(udp)
ENTRY_SAYS(mac)

/* Of a number of a layout. */
#define HAS_FRACTION(what_, member_)                                                               \
	static bool what_##_has_fraction(const void *base)                                         \
	{                                                                                          \
		const uint8_t type = ((const struct bp_layout_draft *)base)->member_.type;         \
                                                                                                   \
		return type == BP_TRANSFORM_FIXED32 || type == BP_TRANSFORM_UFIXED32;              \
	}
HAS_FRACTION(radius, in[0])
HAS_FRACTION(phi, in[1])
HAS_FRACTION(theta, in[2])
HAS_FRACTION(from_x, from[0])
HAS_FRACTION(from_y, from[1])
HAS_FRACTION(from_z, from[2])
HAS_FRACTION(x, out[0])
HAS_FRACTION(y, out[1])
HAS_FRACTION(z, out[2])

static bool is_json(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.kind == BP_VALUE_JSON;
}

static bool is_binary(const void *base)
{
	return ((const struct bp_rule_spec *)base)->value.kind == BP_VALUE_BINARY;
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

/* clang-format off */
/* A number of a layout. */
#define FIELD(name_, member_, has_, help_)                                                         \
	{.path = "transform[].layout." #name_, .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_layout_draft, has_), \
	 .help = help_},                                                                           \
	{.path = "transform[].layout." #name_ ".offset", .type = &bp_type_uint, IN(bp_layout_draft, member_.offset), .flags = BP_REQUIRED | BP_RELOAD, .max = BP_TRANSFORM_OFFSET_MAX, \
	 .help = "Octets of payload before it."},                                                  \
	{.path = "transform[].layout." #name_ ".type", .type = &bp_type_enum, IN(bp_layout_draft, member_.type), .flags = BP_REQUIRED | BP_RELOAD, .words = number_words, \
	 .help = "fixed32 and ufixed32: with and without a sign, in 32 bits. float32 and float64: IEEE 754."}, \
	{.path = "transform[].layout." #name_ ".fraction", .type = &bp_type_uint, IN(bp_layout_draft, member_.fraction), .flags = BP_RELOAD, .max = 31, .preset = "25", .present = name_##_has_fraction, \
	 .help = "Bits behind the point, of a fixed-point number."}

/* A receiver; `at_`: where it is in the element. */
#define RECEIVER(path_, at_, who_)                                                                 \
	{.path = path_ ".address", .type = &bp_type_receiver_address, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = who_##_has_address, .preset_note = "the reading's own destination", \
	 .help = "Destination address of the results."},                                           \
	{.path = path_ ".udp", .type = &bp_type_receiver_udp, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = who_##_has_udp, .preset_note = "the port that the reading came to", \
	 .help = "Destination port of the results."},                                              \
	{.path = path_ ".mac", .type = &bp_type_receiver_mac, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = who_##_has_mac, .preset_note = "the reading's own destination", \
	 .help = "Destination MAC address of the results. A bridge does not ask for it (ARP): give it where address is another machine's. A router finds it itself."}, \
	{.path = path_ ".reflect", .type = &bp_type_receiver_reflect, .offset = (at_), .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .preset = "false", \
	 .help = "Whether results go back to who sent the reading, as the paper's testbed does: from the reading's destination, to udp or the port that the reading came to."}

const struct bp_setting bp_schema[] = {
	{.path = "name", .type = &bp_type_name, AT(name), .min = 1, .preset = "biplane",
	 .help = "Name of this instance. It names the shared segment, the control socket and DPDK's files, so that several instances can run on one machine."},

	{.path = "workers", .type = &bp_type_workers, .size = sizeof(struct bp_config), .min = 1, .max = BP_MAX_WORKERS, .preset = "1",
	 .help = "How many worker threads forward and inspect, or the list of the cores that they run on, such as [2, 3]."},
	{.path = "idle", .type = &bp_type_enum, AT(idle), .words = idle_words, .preset = "spin",
	 .help = "What a worker does that finds nothing: spin keeps polling; sleep naps for some microseconds, which suits a laboratory that shares its cores."},
	{.path = "mbufs", .type = &bp_type_uint, AT(mbufs), .flags = BP_OR_ZERO, .min = 512, .max = 16777216, .preset = "0",
	 .help = "Packet buffers per port and worker; 0 computes them from the numbers of descriptors."},

	{.path = "runtime", .type = &bp_type_section,
	 .help = "What biplane takes from the machine."},
	{.path = "runtime.directory", .type = &bp_type_string, AT(runtime_dir), .min = 1, .preset = "/run/biplane",
	 .help = "Directory of the control socket and the process files, and of the segment where there are no hugepages."},
	{.path = "runtime.hugepages", .type = &bp_type_enum, AT(hugepages), .words = hugepages_words, .preset = "auto",
	 .help = "auto uses hugepages where the machine has them and warns where not; require refuses to start without; never does not use them."},
	{.path = "runtime.memory", .type = &bp_type_size, AT(memory_mb), .min = 64 * MIB, .max = 1024 * GIB, .scale = MIB, .preset = "512MiB",
	 .help = "Memory given to DPDK when it runs without hugepages."},

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
	 .help = "Addresses that are remembered; at the bound the oldest goes."},
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

	{.path = "phd", .type = &bp_type_section, GIVEN(bp_config, phd.enabled), .check = bp_check_phd,
	 .help = "Personal health devices: biplane is their manager by ISO/IEEE 11073-20601, and what they measure becomes content instances of a oneM2M CSE. Without this section they are forwarded as everything else."},
	{.path = "phd.listen", .type = &bp_type_section,
	 .help = "Where devices reach it: these ports of every address of a port that routes or of a bridge's host."},
	{.path = "phd.listen.udp", .type = &bp_type_uint, AT(phd.listen_udp), .flags = BP_OR_ZERO, .min = 1, .max = 65535, .preset = "6024",
	 .help = "The UDP port, one APDU a datagram; 0: none."},
	{.path = "phd.listen.tcp", .type = &bp_type_uint, AT(phd.listen_tcp), .flags = BP_OR_ZERO, .min = 1, .max = 65535, .preset = "6024",
	 .help = "The TCP port; 0: none. Devices that come by TCP are served by the control plane."},
	{.path = "phd.sessions", .type = &bp_type_uint, AT(phd.sessions), .min = 16, .max = 4194304, .preset = "65536",
	 .help = "Devices that may be associated at one time; more are rejected as transient and counted. Each takes 160 bytes of the segment."},
	{.path = "phd.layouts", .type = &bp_type_uint, AT(phd.layouts), .min = 16, .max = 4096, .preset = "1024",
	 .help = "Different configurations that associated devices may have; those that have the same share one."},
	{.path = "phd.system_id", .type = &bp_type_system_id, AT(phd.system_id), GIVEN(bp_config, phd.has_system_id), .preset_note = "made of the MAC address of the first port that routes",
	 .help = "biplane's own system-id (EUI-64), which it tells devices."},
	{.path = "phd.confirm", .type = &bp_type_enum, AT(phd.confirm), .flags = BP_RELOAD, .words = confirm_words, .preset = "stored",
	 .help = "When the response to a confirmed report is sent: stored waits for the CSE's acknowledgement, so that nothing is lost that a device was told is taken; forwarded sends it at once."},
	{.path = "phd.instances", .type = &bp_type_enum, AT(phd.instances), .words = instances_words, .preset = "object",
	 .help = "object makes a content instance of each measured object, report one of all objects of a report, for which {object} is report."},
	{.path = "phd.allow", .type = &bp_type_system_ids, AT(phd.allow), .flags = BP_RELOAD, .max = BP_PHD_ALLOW_MAX, GIVEN(bp_config, phd.has_allow), .preset_note = "none: every device may associate",
	 .help = "The devices that may associate; others are rejected as unauthorized. The standard has no authentication: who can send with a device's address can send in its name."},
	{.path = "phd.allow_file", .type = &bp_type_string, AT(phd.allow_file), .flags = BP_RELOAD, .min = 1, .preset_note = "none",
	 .help = "A file of such devices, beside those of allow, one a line; what follows a # is a comment. Also without allow all others are rejected. A reload reads it anew; one that can't be read, or has a line that is no system-id, is refused."},
	{.path = "phd.limits", .type = &bp_type_section,
	 .help = "What one sender, or all, may take. What is over a limit is counted by its reason."},
	{.path = "phd.limits.per_address", .type = &bp_type_uint, AT(phd.limits.per_address), .flags = BP_RELOAD, .min = 1, .max = 4194304, .preset = "1024",
	 .help = "Devices that may be associated from one IP address, and TCP connections that may come from one."},
	{.path = "phd.limits.associations", .type = &bp_type_uint, AT(phd.limits.associations), .flags = BP_RELOAD, .min = 1, .max = 1000000, .preset = "20000",
	 .help = "Associations accepted each second, a tenth of them at once."},
	{.path = "phd.limits.strays", .type = &bp_type_uint, AT(phd.limits.strays), .flags = BP_RELOAD, .max = 1000000, .preset = "1000",
	 .help = "Reports a second, over all workers, that belong to no association and are answered, so that the device associates anew; more are dropped."},
	{.path = "phd.limits.pending", .type = &bp_type_uint, AT(phd.limits.pending), .min = 16, .max = 65536, .preset = "4096",
	 .help = "Reports that may wait in the control plane for the CSE; more are answered so that the device repeats them."},
	{.path = "phd.idle", .type = &bp_type_duration, AT(phd.idle_ns), .flags = BP_RELOAD | BP_OR_ZERO, .min = 60 * S, .max = 3650 * DAY, .preset = "0",
	 .help = "An association without a report for so long is aborted; 0: it never is, as the standard has it."},
	{.path = "phd.timeouts", .type = &bp_type_section,
	 .help = "How long a device may take before its association is aborted."},
	{.path = "phd.timeouts.config", .type = &bp_type_duration, AT(phd.timeouts.config_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "10s",
	 .help = "For its configuration, when that is not known."},
	{.path = "phd.timeouts.service", .type = &bp_type_duration, AT(phd.timeouts.service_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "3s",
	 .help = "For the answer to a question of biplane."},
	{.path = "phd.timeouts.release", .type = &bp_type_duration, AT(phd.timeouts.release_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "3s",
	 .help = "For the answer to biplane's wish to end the association."},
	{.path = "phd.store", .type = &bp_type_section,
	 .help = "The file that keeps associations and configurations, so that devices go on measuring after a restart."},
	{.path = "phd.store.path", .type = &bp_type_string, AT(phd.store_path), .min = 1, .preset = "/var/lib/biplane/phd.db",
	 .help = "The file. Each instance needs its own."},
	{.path = "phd.cse", .type = &bp_type_section, .flags = BP_REQUIRED,
	 .help = "The oneM2M CSE that gets the measurements."},
	{.path = "phd.cse.address", .type = &bp_type_address, AT(phd.cse.address), .flags = BP_REQUIRED,
	 .help = "Its address."},
	{.path = "phd.cse.coap", .type = &bp_type_uint, AT(phd.cse.coap), .min = 1, .max = 65535, .preset = "5683",
	 .help = "Its UDP port for CoAP."},
	{.path = "phd.cse.http", .type = &bp_type_uint, AT(phd.cse.http), .min = 1, .max = 65535, .present = has_http, .preset_note = "none",
	 .help = "Its TCP port for HTTP, without TLS. It serves for phd.cse.provision; measurements go by CoAP."},
	{.path = "phd.cse.provision", .type = &bp_type_enum, AT(phd.cse.provision), .words = binding_words, .preset_note = "http where phd.cse.http is given, else coap",
	 .help = "By which of them AEs and containers are made, and found again."},
	{.path = "phd.cse.originator", .type = &bp_type_originator, AT(phd.cse.originator), .min = 2, .max = 64, .preset = "Cbiplane",
	 .help = "In whose name requests are made. With {system_id} in it each device is an originator of its own and registers its own AE, so that the AE in phd.cse.path needs {system_id}, too; else biplane is one, and gives itself the right to write for the devices."},
	{.path = "phd.cse.path", .type = &bp_type_resource_path, AT(phd.cse.path), .min = 3, .max = 200, .preset = "cse-in/{system_id}/{object}",
	 .help = "The container that gets an instance: the CSE's name, the device's AE and its containers. {system_id} stands for 16 hexadecimal digits, {type} for a word such as pulse_oximeter, {object} for one such as spo2. {system_id} must stand in it, or devices would share containers; where the AE is without it, devices share the AE."},
	{.path = "phd.cse.release", .type = &bp_type_enum, AT(phd.cse.release), .words = release_words, .preset = "4",
	 .help = "The oneM2M release that requests name and whose CoAP options are used; those of 1 and 2 have other numbers, and name none."},
	{.path = "phd.cse.message", .type = &bp_type_enum, AT(phd.cse.message), .words = message_words, .preset = "con",
	 .help = "Whether CoAP requests ask for an acknowledgement (con) or not (non)."},
	{.path = "phd.cse.source_ports", .type = &bp_type_port_range, AT(phd.cse.source_ports), .min = 1024, .max = 65535, .preset = "20000-29999",
	 .help = "UDP ports that requests are sent from, shared among the workers. A message id is not used again within 247 s from one port, which allows 264 requests a second for each."},
	{.path = "phd.cse.max_body", .type = &bp_type_uint, AT(phd.cse.max_body), .min = 64, .max = 4000, .preset = "1024",
	 .help = "Bytes of one instance's representation; what would be longer is made by the control plane, or answered as an error."},
	{.path = "phd.cse.name_instances", .type = &bp_type_bool, AT(phd.cse.name_instances), .preset = "true",
	 .help = "Whether instances are given names, so that one that is sent again meets itself and is not stored twice."},
	{.path = "phd.cse.keep", .type = &bp_type_uint, AT(phd.cse.keep), .max = 1000000, .preset = "0",
	 .help = "Instances that a container keeps at most; 0: as many as the CSE likes."},
	{.path = "phd.cse.outstanding", .type = &bp_type_uint, AT(phd.cse.outstanding), .min = 1, .max = 256, .preset = "8",
	 .help = "Requests for the devices' resources that may wait for an answer at one time. Reports that the control plane sends itself have 256 besides."},
	{.path = "phd.cse.retry_max", .type = &bp_type_duration, AT(phd.cse.retry_max_ns), .min = S, .max = HOUR, .preset = "60s",
	 .help = "Longest pause between tries while the CSE is away."},

	{.path = "aggregate", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_AGG_RULES_MAX, .list = &aggregate_list, .preset_note = "none",
	 .help = "UDP messages that are sent on as the payload of one packet, the aggregate, as docs/aggregation-format.md says. Of the entries of a port the first that a message's destination is in is for it. The first entry of this list or of disaggregate, and the last, come and go with a restart only."},
	{.path = "aggregate[].port", .type = &bp_type_port, IN(bp_agg_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that the messages come in on. Their aggregates go the way that they would have gone."},
	{.path = "aggregate[].to", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Where the messages go, and so their aggregates. Each destination has aggregates of its own."},
	{.path = "aggregate[].to.address", .type = &bp_type_hosts, IN(bp_agg_rule, to.address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination address, or a prefix of several."},
	{.path = "aggregate[].to.udp", .type = &bp_type_udp_ports, IN(bp_agg_rule, to.udp_first), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination UDP port, or a range of several."},
	{.path = "aggregate[].format", .type = &bp_type_enum, IN(bp_agg_rule, format), .flags = BP_RELOAD, .words = format_words, .preset = "full",
	 .help = "full restores each datagram, its sender included. paper is for the switches of Lin et al. (2018): IPv4, messages of 16 octets behind the flag header of 6, and no word of their senders."},
	{.path = "aggregate[].senders", .type = &bp_type_host_list, IN(bp_agg_rule, n_senders), .flags = BP_RELOAD, .preset_note = "none: messages of all are aggregated",
	 .help = "Addresses and prefixes whose messages are aggregated; those of others go on as they came. disaggregate[].senders of the far end refuses an aggregate whole for one message from elsewhere, so give both ends the same: else one device with a wrong or forged address loses the messages of the others."},
	{.path = "aggregate[].messages", .type = &bp_type_uint, IN(bp_agg_rule, messages), .flags = BP_RELOAD, .min = 1, .max = 255, .preset = "8",
	 .help = "An aggregate that holds so many messages leaves."},
	{.path = "aggregate[].max_delay", .type = &bp_type_duration, IN(bp_agg_rule, max_delay_ns), .flags = BP_RELOAD | BP_OR_ZERO, .min = 10 * US, .max = HOUR, .preset = "1ms",
	 .help = "An aggregate whose oldest message has waited so long leaves; 0: messages wait until it is full, however long that takes."},
	{.path = "aggregate[].max_message", .type = &bp_type_uint, IN(bp_agg_rule, max_message), .flags = BP_RELOAD, .max = 65000, .preset = "1024",
	 .help = "Octets of UDP payload. A longer message, or one that even alone would make an aggregate exceed mtu, goes on as it came."},
	{.path = "aggregate[].mtu", .type = &bp_type_uint, IN(bp_agg_rule, mtu), .flags = BP_RELOAD | BP_OR_ZERO, .min = 128, .max = 65535, .preset = "0",
	 .help = "Octets that an aggregate's IP packet may have; an aggregate that has no room for the next message leaves. 0 takes the least MTU of all ports."},
	{.path = "aggregate[].from", .type = &bp_type_section, .flags = BP_RELOAD, .present = has_from,
	 .help = "The aggregates' own source. Without it they have that of the first message of their stream, in format paper that of the first message in them."},
	{.path = "aggregate[].from.address", .type = &bp_type_address, IN(bp_agg_rule, from), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Source address."},
	{.path = "aggregate[].from.udp", .type = &bp_type_uint, IN(bp_agg_rule, from_udp), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Source UDP port."},

	{.path = "disaggregate", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_AGG_RULES_MAX, .list = &disaggregate_list, .preset_note = "none",
	 .help = "Aggregates that are taken apart. Of the entries of a port the first that an aggregate's destination is in is for it. Messages that came alone go on as they came."},
	{.path = "disaggregate[].port", .type = &bp_type_port, IN(bp_disagg_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that the aggregates come in on. Their messages go the way that they would have gone."},
	{.path = "disaggregate[].to", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Where the aggregates go, which is where their messages go."},
	{.path = "disaggregate[].to.address", .type = &bp_type_hosts, IN(bp_disagg_rule, to.address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination address, or a prefix of several."},
	{.path = "disaggregate[].to.udp", .type = &bp_type_udp_ports, IN(bp_disagg_rule, to.udp_first), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination UDP port, or a range of several."},
	{.path = "disaggregate[].format", .type = &bp_type_enum, IN(bp_disagg_rule, format), .flags = BP_RELOAD, .words = format_words, .preset = "full",
	 .help = "As aggregate[].format; that of whoever made the aggregates."},
	{.path = "disaggregate[].senders", .type = &bp_type_host_list, IN(bp_disagg_rule, n_senders), .flags = BP_RELOAD, .preset_note = "none: every aggregate is refused",
	 .help = "Addresses and prefixes that messages may be from. An aggregate with one from elsewhere is dropped whole and counted: whoever can send here could otherwise send in anybody's name. In format paper that is the aggregate's own source."},
	{.path = "disaggregate[].pace", .type = &bp_type_bool, IN(bp_disagg_rule, pace), .flags = BP_RELOAD, .preset = "false",
	 .help = "Whether the messages of an aggregate leave one by one, gap apart, rather than at once."},
	{.path = "disaggregate[].gap", .type = &bp_type_duration, IN(bp_disagg_rule, gap_ns), .flags = BP_RELOAD, .min = 100, .max = S, .preset = "10us",
	 .help = "Least time between two messages of this entry where pace is true, at each worker."},

	{.path = "aggregation", .type = &bp_type_section, .done = bp_check_aggregation,
	 .help = "Bounds of aggregate and disaggregate."},
	{.path = "aggregation.streams", .type = &bp_type_uint, AT(aggregation.streams), .min = 1, .max = 1048576, .preset = "1024",
	 .help = "Streams of aggregates that each worker makes at one time, and as many that it follows by their sequence numbers. At the bound the one that was idle the longest gives way, or else the oldest, whose aggregate leaves."},
	{.path = "aggregation.queue", .type = &bp_type_uint, AT(aggregation.queue), .min = 16, .max = 65536, .preset = "4096",
	 .help = "Messages that may wait for their gap, of each entry with pace at each worker, rounded up to a power of two. At the bound the oldest leaves early."},

	{.path = "transform", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_TRANSFORM_RULES_MAX, .list = &transform_list, .preset_note = "none",
	 .help = "Readings of trackers, points in UDP datagrams, that become Cartesian coordinates in the receivers' frames. Of the entries of a port the first that a datagram's destination is in is for it; what is for an entry and can't be transformed is dropped and counted, so that no reading arrives as it came. The first entry, and the last, come and go with a restart only."},
	{.path = "transform[].port", .type = &bp_type_port, IN(bp_transform_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that the readings come in on. Results go the way that a datagram to the receiver would have gone from there: over the bridge, or by the routing tables."},
	{.path = "transform[].udp", .type = &bp_type_uint, IN(bp_transform_rule, udp), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination port of the readings."},
	{.path = "transform[].to", .type = &bp_type_hosts, IN(bp_transform_rule, to), .flags = BP_RELOAD, .present = has_to, .preset_note = "any address, of both IP versions",
	 .help = "Destination addresses of the readings."},
	{.path = "transform[].layout", .type = &bp_type_transform_layout, IN(bp_transform_rule, layout), .unfold = bp_transform_layout_unfold, .flags = BP_RELOAD, .preset = "paper",
	 .help = "What stands where in the UDP payload; what else is in there is kept. paper: 40 octets, big-endian numbers of 32 bits with 25 bits of fraction: radius, phi, theta, then x, y and z, and two time stamps (Kunze et al., Coordinate Transformation in Programmable Switches, 2021). paper-timed: the same behind the timing header of 17 octets."},
	{.path = "transform[].layout.length", .type = &bp_type_uint, IN(bp_layout_draft, length), .flags = BP_RELOAD | BP_OR_ZERO, .min = 8, .max = 9000, .preset = "0", .preset_note = "as many as the fields need",
	 .help = "Octets that a reading has at least; a shorter one is dropped. What is behind them is kept."},
	{.path = "transform[].layout.order", .type = &bp_type_enum, IN(bp_layout_draft, order), .flags = BP_RELOAD, .words = endian_words, .preset = "big",
	 .help = "Byte order of all numbers."},
	{.path = "transform[].layout.angles", .type = &bp_type_enum, IN(bp_layout_draft, angles), .flags = BP_RELOAD, .words = angle_words, .preset = "radians",
	 .help = "Unit of phi and theta."},
	FIELD(radius, in[0], has_in[0], "The distance."),
	FIELD(phi, in[1], has_in[1], "The azimuth, from the x axis towards the y axis."),
	FIELD(theta, in[2], has_in[2], "The polar angle, from the z axis."),
	FIELD(from_x, from[0], has_from[0], "Instead of radius, phi and theta: the reading is a Cartesian point already, and this is its x. Then there is only the matrix to apply."),
	FIELD(from_y, from[1], has_from[1], "Its y."),
	FIELD(from_z, from[2], has_from[2], "Its z."),
	FIELD(x, out[0], has_out[0], "Where the result's x is written."),
	FIELD(y, out[1], has_out[1], "Where its y is written."),
	FIELD(z, out[2], has_out[2], "Where its z is written."),
	{.path = "transform[].method", .type = &bp_type_enum, IN(bp_transform_rule, method), .flags = BP_RELOAD, .words = method_words, .preset = "vector",
	 .help = "How points are computed. vector: in double, several at once; the error stays below 0.2 micrometres for readings in metres up to 64. exact: in double, with the C library's functions. The others are the paper's, for study: tables large, medium and small, chebyshev, a polynomial of degree 6, and userspace."},
	{.path = "transform[].unknown", .type = &bp_type_enum, IN(bp_transform_rule, drop_unknown), .flags = BP_RELOAD, .words = unknown_words, .preset = "drop",
	 .help = "What becomes of readings whose source is not in the list: drop; or bare, the Cartesian point without a matrix goes to receiver."},
	{.path = "transform[].overflow", .type = &bp_type_enum, IN(bp_transform_rule, drop_overflow), .flags = BP_RELOAD, .words = overflow_words, .preset = "saturate",
	 .help = "What becomes of a result that the layout can't hold: saturate sends the nearest that it can, and counts it by source; drop drops the datagram to that receiver."},
	{.path = "transform[].singular", .type = &bp_type_enum, IN(bp_transform_rule, allow_singular), .flags = BP_RELOAD, .words = singular_words, .preset = "refuse",
	 .help = "Whether a matrix may flatten space to a plane, a line or a point, as one does that projects on purpose."},
	{.path = "transform[].loader", .type = &bp_type_bool, IN(bp_transform_rule, loader), .flags = BP_RELOAD, .preset = "false",
	 .help = "Whether whoever connects to transformation.loader may set the matrices of this entry, and add sources to it."},
	{.path = "transform[].receiver", .type = &bp_type_section, .flags = BP_RELOAD,
	 .help = "The receiver of sources without one, of readings of unknown sources and of sources that are added while it runs; and what a receiver in the list does not say."},
	RECEIVER("transform[].receiver", offsetof(struct bp_transform_rule, otherwise), entry),
	{.path = "transform[].sources", .type = &bp_type_transform_sources, .size = sizeof(struct bp_transform_rule), .flags = BP_RELOAD, .max = BP_TRANSFORM_MATRICES_MAX, .list = &source_list, .preset_note = "none",
	 .help = "Who readings come from. Of prefixes the longest that a reading's source address is in is for it."},
	{.path = "transform[].sources[].address", .type = &bp_type_hosts, IN(bp_transform_source, address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Source address of its readings, or a prefix of such."},
	{.path = "transform[].sources[].receivers", .type = &bp_type_receivers, .size = sizeof(struct bp_transform_source), .flags = BP_RELOAD, .max = BP_TRANSFORM_RECEIVERS_MAX, .list = &receiver_list, .preset_note = "one, without a matrix",
	 .help = "Who gets the results: a datagram each. What a receiver does not say is as in the entry's receiver; where it goes (address with mac, or reflect) as a whole."},
	RECEIVER("transform[].sources[].receivers[]", 0, receiver),
	{.path = "transform[].sources[].receivers[].matrix", .type = &bp_type_matrix, .size = sizeof(struct bp_transform_receiver), .flags = BP_RELOAD, .present = receiver_has_matrix, .preset_note = "none: it gets the bare Cartesian point",
	 .help = "From the tracker's frame into the receiver's: the first three columns turn, scale and shear, and the last shifts. For a matrix with an entry of 64 or more the methods in fixed point compute in double."},

	{.path = "transformation", .type = &bp_type_section, .done = bp_check_transform,
	 .help = "What all entries of transform share."},
	{.path = "transformation.matrices", .type = &bp_type_uint, AT(transformation.matrices), .min = 1, .max = BP_TRANSFORM_MATRICES_MAX, .preset = "1024",
	 .help = "Receivers of all sources together, those that are added while it runs too. Each takes some 600 octets of the shared memory."},
	{.path = "transformation.loader", .type = &bp_type_section, .present = has_loader,
	 .help = "Where the control plane listens for matrices as the paper's authors' server does: messages of 100 octets over TCP, of which each is answered with ok when its matrix is in force, or with what is wrong with it. Without this section nobody listens."},
	{.path = "transformation.loader.address", .type = &bp_type_loopback, AT(transformation.loader), .flags = BP_REQUIRED,
	 .help = "A loopback address, since the protocol knows no password."},
	{.path = "transformation.loader.tcp", .type = &bp_type_uint, AT(transformation.loader_tcp), .min = 1, .max = 65535, .preset = "16400",
	 .help = "TCP port."},
	{.path = "transformation.loader.connections", .type = &bp_type_uint, AT(transformation.loader_connections), .min = 1, .max = 256, .preset = "8",
	 .help = "Connections at one time; of a further one nothing is read until another ends. One that is silent for a minute is closed."},

	{.path = "mqtt", .type = &bp_type_section, GIVEN(bp_config, mqtt.enabled), .check = bp_check_mqtt,
	 .help = "Inspection of MQTT. Without this section biplane forwards and inspects nothing."},
	{.path = "mqtt.ports", .type = &bp_type_tcp_ports, AT(mqtt.n_ports), .min = 1, .max = 65535, .preset = "1883",
	 .help = "TCP ports on which brokers listen."},
	{.path = "mqtt.judge", .type = &bp_type_enum, AT(mqtt.judge), .words = judge_words, .preset = "to_broker",
	 .help = "Which publications the rules see: those of the devices (to_broker), those that brokers deliver (from_broker), or both."},
	{.path = "mqtt.checksum", .type = &bp_type_enum, AT(mqtt.checksum), .words = checksum_words, .preset = "verify",
	 .help = "verify never reads a segment whose TCP checksum is wrong; trust leaves that to the receiver. Either way the frame is forwarded."},
	{.path = "mqtt.flows", .type = &bp_type_uint, AT(mqtt.flows), .min = 1, .max = 16777216, .preset = "65536",
	 .help = "TCP connections that are followed at one time; at the bound the one that was idle the longest goes."},
	{.path = "mqtt.flow_timeout", .type = &bp_type_duration, AT(mqtt.flow_timeout_ns), .min = S, .max = 30 * DAY, .preset = "1h",
	 .help = "A connection that was idle for so long is forgotten."},
	{.path = "mqtt.handshake_timeout", .type = &bp_type_duration, AT(mqtt.handshake_timeout_ns), .min = S, .max = HOUR, .preset = "30s",
	 .help = "The same for a connection whose handshake is not complete."},
	{.path = "mqtt.carry_per_flow", .type = &bp_type_size, AT(mqtt.carry_per_flow), .min = KIB, .max = 256 * MIB, .preset = "256KiB",
	 .help = "Bytes of an incomplete MQTT packet that are kept for one connection; a longer packet is forwarded but not read."},
	{.path = "mqtt.carry_total", .type = &bp_type_size, AT(mqtt.carry_total), .min = KIB, .max = 1024 * GIB, .preset = "64MiB",
	 .help = "The same for all connections together."},
	{.path = "mqtt.reorder_bytes", .type = &bp_type_size, AT(mqtt.reorder_bytes), .min = 0, .max = 16 * MIB, .preset = "64KiB",
	 .help = "How far ahead of the stream a segment may be and still be kept until what is before it arrives, for each direction of a connection."},
	{.path = "mqtt.topic_states", .type = &bp_type_uint, AT(mqtt.topic_states), .min = 1, .max = 16777216, .preset = "65536",
	 .help = "Pairs of rule and topic whose state (clear, hold, repeat) is kept."},
	{.path = "mqtt.max_rules", .type = &bp_type_uint, AT(mqtt.max_rules), .min = 1, .max = 131072, .preset = "16384",
	 .help = "Rules that the segment has room for."},
	{.path = "mqtt.alarm_ring", .type = &bp_type_size, AT(mqtt.alarm_ring), .min = 64 * KIB, .max = GIB, .preset = "8MiB",
	 .help = "Size of the ring that carries each worker's alarms to the publisher. An alarm of over a quarter of it, its payload included, is lost and counted."},

	{.path = "mqtt.edge", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_config, mqtt.edge.enabled), .check = bp_check_edge,
	 .help = "The MQTT broker that gets the alarms of action publish."},
	{.path = "mqtt.edge.host", .type = &bp_type_string, AT(mqtt.edge.host), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "Its name or address."},
	{.path = "mqtt.edge.port", .type = &bp_type_uint, AT(mqtt.edge.port), .flags = BP_RELOAD, .min = 1, .max = 65535, .preset_note = "1883, or 8883 with tls",
	 .help = "Its TCP port."},
	{.path = "mqtt.edge.client_id", .type = &bp_type_string, AT(mqtt.edge.client_id), .flags = BP_RELOAD, .min = 1, .preset_note = "biplane- and the instance's name",
	 .help = "The client identifier that biplane connects with."},
	{.path = "mqtt.edge.username", .type = &bp_type_string, AT(mqtt.edge.username), .flags = BP_RELOAD, .min = 1, .preset_note = "none",
	 .help = "User name for the broker."},
	{.path = "mqtt.edge.password_file", .type = &bp_type_string, AT(mqtt.edge.password_file), .flags = BP_RELOAD, .min = 1, .preset_note = "none",
	 .help = "File whose first line is the password."},
	{.path = "mqtt.edge.tls", .type = &bp_type_section, .flags = BP_RELOAD, .present = has_tls,
	 .help = "Connects with TLS. Files are in PEM form."},
	{.path = "mqtt.edge.tls.ca", .type = &bp_type_string, AT(mqtt.edge.ca_file), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "Certificates of the authorities that are trusted to have signed the broker's."},
	{.path = "mqtt.edge.tls.cert", .type = &bp_type_string, AT(mqtt.edge.cert_file), .flags = BP_RELOAD, .min = 1, .preset_note = "none",
	 .help = "biplane's own certificate, where the broker asks for one."},
	{.path = "mqtt.edge.tls.key", .type = &bp_type_string, AT(mqtt.edge.key_file), .flags = BP_RELOAD, .min = 1, .preset_note = "none",
	 .help = "The private key of cert."},
	{.path = "mqtt.edge.keep_alive", .type = &bp_type_duration, AT(mqtt.edge.keep_alive_s), .flags = BP_RELOAD, .min = 5 * S, .max = 65535 * S, .scale = S, .preset = "30s",
	 .help = "Longest silence on the connection to the broker, in whole seconds."},
	{.path = "mqtt.edge.inflight", .type = &bp_type_uint, AT(mqtt.edge.inflight), .flags = BP_RELOAD, .min = 1, .max = 2000, .preset = "1000",
	 .help = "Alarms that may be sent and not yet acknowledged."},
	{.path = "mqtt.edge.ack_timeout", .type = &bp_type_duration, AT(mqtt.edge.ack_timeout_ns), .flags = BP_RELOAD, .min = 100 * MS, .max = HOUR, .preset = "5s",
	 .help = "An alarm that is not acknowledged for so long goes to the spool, and biplane connects anew."},

	{.path = "mqtt.clone", .type = &bp_type_section, .flags = BP_RELOAD, GIVEN(bp_config, mqtt.clone.enabled), .check = bp_check_clone,
	 .help = "Where action clone sends its frames."},
	{.path = "mqtt.clone.port", .type = &bp_type_port, AT(mqtt.clone.port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that they leave by."},
	{.path = "mqtt.clone.mac", .type = &bp_type_mac, AT(mqtt.clone.mac), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination MAC address: the edge broker's, or its next hop's."},
	{.path = "mqtt.clone.address", .type = &bp_type_ip4, AT(mqtt.clone.ip4), .flags = BP_RELOAD, GIVEN(bp_clone_target, has_ip4) + offsetof(struct bp_config, mqtt.clone), .preset_note = "none: alarms of IPv4 connections are not cloned",
	 .help = "Destination IPv4 address. This or address6 must be given."},
	{.path = "mqtt.clone.address6", .type = &bp_type_ip6, AT(mqtt.clone.ip6), .flags = BP_RELOAD, GIVEN(bp_clone_target, has_ip6) + offsetof(struct bp_config, mqtt.clone), .preset_note = "none: alarms of IPv6 connections are not cloned",
	 .help = "Destination IPv6 address."},
	{.path = "mqtt.clone.tcp_port", .type = &bp_type_uint, AT(mqtt.clone.tcp_port), .flags = BP_RELOAD, .min = 1, .max = 65535, .preset = "1883",
	 .help = "Destination TCP port."},

	{.path = "mqtt.spool", .type = &bp_type_section,
	 .help = "The file that keeps alarms while the edge broker is away."},
	{.path = "mqtt.spool.path", .type = &bp_type_string, AT(mqtt.spool.path), .min = 1, .preset = "/var/lib/biplane/spool.db",
	 .help = "The file. Each instance needs its own."},
	{.path = "mqtt.spool.max_size", .type = &bp_type_size, AT(mqtt.spool.max_bytes), .flags = BP_RELOAD, .min = 64 * KIB, .max = 1024 * GIB, .preset = "256MiB",
	 .help = "At this size the oldest alarms go, and are counted."},
	{.path = "mqtt.spool.max_age", .type = &bp_type_duration, AT(mqtt.spool.max_age_ns), .flags = BP_RELOAD, .min = S, .max = 3650 * DAY, .preset = "7d",
	 .help = "Alarms older than this go, and are counted."},

	{.path = "mqtt.rules", .type = &bp_type_list, .flags = BP_RELOAD, .max = 131072, .list = &rule_list, .check = bp_check_rule,
	 .preset_note = "none", .help = "What raises an alarm."},
	{.path = "mqtt.rules[].name", .type = &bp_type_name, IN(bp_rule_spec, name), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "The rule's name, unique in the file."},
	{.path = "mqtt.rules[].topic", .type = &bp_type_filter, IN(bp_rule_spec, filter), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "MQTT topic filter of the publications that the rule looks at; + and # are its wildcards."},
	{.path = "mqtt.rules[].value", .type = &bp_type_variant, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .preset = "text",
	 .help = "Where in the payload the number is: text (the whole payload is one decimal number), or a mapping with json or binary. A payload without such a number is counted and not judged."},
	{.path = "mqtt.rules[].value.json", .type = &bp_type_json_path, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .present = is_json, .preset_note = "none",
	 .help = "The payload is JSON, and the number is at this path."},
	{.path = "mqtt.rules[].value.binary", .type = &bp_type_section, .flags = BP_RELOAD, .present = is_binary,
	 .help = "The number stands in binary form at a fixed place."},
	{.path = "mqtt.rules[].value.binary.offset", .type = &bp_type_uint, IN(bp_rule_spec, value.binary.offset), .flags = BP_RELOAD, .max = 268435455, .preset = "0",
	 .help = "Its first byte, counted from the payload's start."},
	{.path = "mqtt.rules[].value.binary.type", .type = &bp_type_enum, IN(bp_rule_spec, value.binary.type), .flags = BP_REQUIRED | BP_RELOAD, .words = binary_words,
	 .help = "Its form; float32 and float64 are IEEE 754."},
	{.path = "mqtt.rules[].value.binary.endian", .type = &bp_type_enum, IN(bp_rule_spec, value.binary.little_endian), .flags = BP_RELOAD, .words = endian_words, .preset = "big",
	 .help = "Its byte order."},
	{.path = "mqtt.rules[].raise", .type = &bp_type_condition, IN(bp_rule_spec, raise), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The values that raise the alarm. The limits of inside belong to it, those of outside do not."},
	{.path = "mqtt.rules[].clear", .type = &bp_type_condition, IN(bp_rule_spec, clear), .flags = BP_RELOAD, GIVEN(bp_rule_spec, has_clear), .preset_note = "none: the alarm ends with the first value that does not raise it",
	 .help = "The values that end the alarm (hysteresis); between raise and clear it stays as it is."},
	{.path = "mqtt.rules[].hold", .type = &bp_type_hold, .size = sizeof(struct bp_rule_spec), .flags = BP_RELOAD, .min = 1, .max = 1000000, .preset = "1",
	 .help = "How many values in a row, or for how long, must be in raise before the alarm is raised."},
	{.path = "mqtt.rules[].repeat", .type = &bp_type_enum, IN(bp_rule_spec, repeat), .flags = BP_RELOAD, .words = repeat_words, .preset = "every",
	 .help = "every sends an alarm for each value that raises it, on_change only when the state changes."},
	{.path = "mqtt.rules[].action", .type = &bp_type_enum, IN(bp_rule_spec, action), .flags = BP_RELOAD, .words = action_words, .preset = "publish",
	 .help = "publish sends the alarm to mqtt.edge with QoS 1; clone sends the device's own publication, with another topic, to mqtt.clone at once."},
	{.path = "mqtt.rules[].payload", .type = &bp_type_enum, IN(bp_rule_spec, payload), .flags = BP_RELOAD, .words = payload_words, .preset = "envelope", .preset_note = "envelope; original for action clone",
	 .help = "What action publish sends: the device's payload (original), or a JSON object that tells rule, state, value, topic, client and time (envelope)."},
	{.path = "mqtt.rules[].to", .type = &bp_type_template, IN(bp_rule_spec, to), .flags = BP_RELOAD, .min = 1, .preset = "alarm/{topic}",
	 .help = "The topic of the alarm. {topic}, {rule} and {client} stand for the publication's topic, the rule's name and the device's client identifier."},
};
/* clang-format on */

const uint32_t bp_schema_rows = sizeof(bp_schema) / sizeof(bp_schema[0]);

/* The name of `s` when it is directly below `parent`. */
static const char *name_below(
	const struct bp_setting *parent, size_t parent_len, const struct bp_setting *s)
{
	const char *rest = s->path;

	if (parent != NULL) {
		if (strncmp(rest, parent->path, parent_len) != 0)
			return NULL;
		rest += parent_len;
		if (strncmp(rest, "[]", 2) == 0)
			rest += 2;
		if (*rest++ != '.')
			return NULL;
	}
	return strchr(rest, '.') == NULL ? rest : NULL;
}

const struct bp_setting *bp_schema_child(
	const struct bp_setting *parent, const struct bp_setting *after)
{
	size_t len = parent != NULL ? strlen(parent->path) : 0;
	const struct bp_setting *end = bp_schema + bp_schema_rows;
	const struct bp_setting *s = after != NULL    ? after + 1
				     : parent != NULL ? parent + 1
						      : bp_schema;

	for (; s < end; s++) {
		if (parent != NULL && strncmp(s->path, parent->path, len) != 0)
			return NULL;
		if (name_below(parent, len, s) != NULL)
			return s;
	}
	return NULL;
}

const char *bp_setting_key(const struct bp_setting *s)
{
	const char *dot = strrchr(s->path, '.');

	return dot != NULL ? dot + 1 : s->path;
}

bool bp_setting_present(const struct bp_setting *s, const void *base)
{
	if (s->present != NULL)
		return s->present(base);
	return s->given == 0 || *((const bool *)base + s->given - 1);
}

const void *bp_list_items(
	const struct bp_list_layout *l, const struct bp_config *c, const void *base, uint32_t *n)
{
	const void *items = (const char *)c + l->items;

	if (l->of != NULL)
		return l->of(c, base, n);
	*n = *(const uint32_t *)((const char *)c + l->count);
	if (l->allocated)
		memcpy(&items, items, sizeof(items));
	return items;
}

void bp_field_store(const struct bp_setting *s, void *field, uint64_t v)
{
	switch (s->size) {
	case 1:
		*(uint8_t *)field = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)field = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)field = (uint32_t)v;
		break;
	default:
		*(uint64_t *)field = v;
	}
}

uint64_t bp_field_load(const struct bp_setting *s, const void *field)
{
	switch (s->size) {
	case 1:
		return *(const uint8_t *)field;
	case 2:
		return *(const uint16_t *)field;
	case 4:
		return *(const uint32_t *)field;
	default:
		return *(const uint64_t *)field;
	}
}
