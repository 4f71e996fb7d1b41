/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

/* Routing: interfaces of ports and bridges, static routes, punted packets. */

#define SEGMENT "{name: c, device: z}, {name: d, device: w}]\n"
#define ROUTER                                                                                     \
	"ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/24, \"fd00::1/64\"]}},\n"      \
	"  {name: b, device: y, routed: {addresses: 10.1.0.1/24}}, " SEGMENT                       \
	"bridges: [{name: plant, ports: [c, d], host_interface: {addresses: 10.3.0.1/24}}]\n"
#define ROUTES ROUTER "routing:\n  static_routes:\n"

static const struct bp_config_interface *interface_of(
	const struct bp_config *c, unsigned i, const char *name)
{
	const char *is = NULL;
	const struct bp_config_interface *of = bp_config_interface(c, i, &is);

	assert_non_null(of);
	assert_string_equal(is, name);
	return of;
}

static bool is_address(
	const struct bp_interface_address *a, uint8_t family, const uint8_t *bytes, uint8_t length)
{
	static const uint8_t none[16];

	return a->address.family == family && a->length == length &&
	       memcmp(a->address.bytes, bytes, bp_address_bits(family) / 8) == 0 &&
	       (family == 6 || memcmp(a->address.bytes + 4, none, 12) == 0);
}

static void interfaces_are_read(void **state)
{
	static const uint8_t ip4[4] = {10, 0, 0, 1}, ip6[16] = {0xfd, [15] = 1};
	static const uint8_t host[4] = {10, 3, 0, 1}, mac[6] = {2, 0, 0, 0, 0, 0xa};
	struct bp_config *c = accepted(
		"ports: [{name: a, device: x, mac: \"02:00:00:00:00:0a\", promiscuous: true, "
		"routed: {addresses: [10.0.0.1/24, \"fd00::1/64\"], host_interface: {name: "
		"wan0}}},\n"
		"  {name: b, device: y, routed: {host_interface: {backend: virtio}}}, " SEGMENT
		"bridges: [{host_interface: {addresses: 10.3.0.1/24, backend: tap, name: plant0}, "
		"name: plant, ports: [c, d]}]\n");
	const struct bp_config_interface *i = interface_of(c, 0, "a");
	const char *none = NULL;

	assert_int_equal(i->n_addresses, 2);
	assert_true(is_address(&i->address[0], 4, ip4, 24));
	assert_true(is_address(&i->address[1], 6, ip6, 64));
	assert_int_equal(i->backend, BP_BACKEND_AUTO);
	assert_string_equal(i->kernel_name, "wan0");
	assert_true(c->port[0].has_mac && !c->port[1].has_mac);
	assert_memory_equal(c->port[0].mac, mac, 6);
	assert_true(bp_config_port_routes(c, 0) && !bp_config_port_routes(c, 2));

	i = interface_of(c, 1, "b");
	assert_int_equal(i->backend, BP_BACKEND_VIRTIO);
	assert_string_equal(i->kernel_name, "b");
	assert_int_equal(i->n_addresses, 0);
	assert_null(bp_config_interface(c, 2, &none));

	i = interface_of(c, BP_MAX_PORTS, "plant");
	assert_true(i->n_addresses == 1 && is_address(&i->address[0], 4, host, 24));
	assert_int_equal(i->backend, BP_BACKEND_TAP);
	assert_string_equal(i->kernel_name, "plant0");
	assert_true(c->bridge[0].n == 2 && c->bridge[0].port[0] == 2 && c->bridge[0].port[1] == 3);

	/* The default follows the bridge, what is given does not. */
	assert_true(c->port[0].promiscuous && !c->port[1].promiscuous && c->port[2].promiscuous);
	/* A bridged port has no interface of its own, and says so. */
	assert_int_equal(c->port[2].interface.backend, BP_BACKEND_OFF);
	assert_string_equal(c->port[2].interface.kernel_name, "");
	bp_config_free(c);
}

#define BRIDGE_PORTS                                                                               \
	"a list of two or more names of ports, such as [devices, cloud], with each port in one "   \
	"bridge only\n"
#define BRIDGES "a list of at most 16 bridges, such as [{name: line-1, ports: [devices, cloud]}]\n"

static void bridges_are_read(void **state)
{
	struct bp_config *c = accepted(ROLELESS "bridges: [{name: line-1, ports: [b, a], "
						"fdb_max_entries: 99, fdb_aging_time: 7s}]\n");
	const struct bp_config_bridge *b = c->bridge;

	assert_int_equal(c->n_bridges, 1);
	assert_string_equal(b->name, "line-1");
	assert_true(b->n == 2 && b->port[0] == 1 && b->port[1] == 0);
	assert_false(b->has_host_interface);
	assert_true(b->fdb_max_entries == 99 && b->fdb_aging_time_ns == 7000000000);
	assert_false(bp_config_port_routes(c, 0));
	bp_config_free(c);
	says(ROLELESS "bridges: [~, 5, {name: h, prots: [a, b]}]\n",
		"f.yaml:2:11: bridges[0] has no 'name'; expected a name of at most 31 letters, "
		"digits, '_', '-' and '.', the first not '-' or '.'\n"
		"f.yaml:2:11: bridges[0] has no 'ports'; expected " BRIDGE_PORTS
		"f.yaml:2:14: bridges[1]: found a single value; expected a mapping of "
		"settings\n"
		"f.yaml:2:17: bridges[2] has no 'ports'; expected " BRIDGE_PORTS
		"f.yaml:2:27: unknown setting 'prots'; did you mean 'ports'?\n");
	says(ROLELESS "bridges: {ports: [a, b]}\n",
		"f.yaml:2:10: bridges: found a mapping; expected " BRIDGES);
	says(ROLELESS "bridges: [~,~,~,~,~,~,~,~,~,~,~,~,~,~,~,~,~]\n",
		"f.yaml:2:10: bridges: 17 are given; expected " BRIDGES);
}

/* A list in place of a mapping gets its correction. */
static void bridges_as_lists_are_corrected(void **state)
{
	says(ROLELESS "bridges: [[a, b], {name: h, ports: [a, b]}, [b, [c]]]\n",
		"f.yaml:2:11: bridges[0]: a list is given; expected {name: line-1, ports: [a, b]}\n"
		"f.yaml:2:45: bridges[2]: a list is given; expected {name: line-3, ports: [b, "
		"PORT]}\n");
	says(ROLELESS "bridges: [a, b]\n",
		"f.yaml:2:10: bridges: a list of names is given; expected [{name: line-1, ports: "
		"[a, b]}]\n");
}

#define NO_ROLE(port)                                                                              \
	"port '" port "' has no role; expected it in a bridge, such as bridges: [{name: line-1, "  \
	"ports: [" port ", PORT]}], or routed, such as routed: {addresses: [10.0.0.1/24]} "        \
	"(without addresses: routed: {})\n"
#define BOTH(port)                                                                                 \
	"port '" port "' is in bridge 'h'; expected a port that is either bridged or routed "      \
	"(addresses of a bridge: bridges[0].host_interface.addresses)\n"

static void ports_have_one_role(void **state)
{
	says("ports:\n  - {name: a, device: x}\n  - {name: b, device: y, routed: ~}\n",
		"f.yaml:2:5: ports[0]: " NO_ROLE("a"));
	says("ports:\n"
	     "  - {name: a, device: x, routed: {addresses: [10.0.0.1/24]}}\n"
	     "  - {name: b, device: y, routed: {}}\n"
	     "bridges: [{name: h, ports: [a, b]}]\n",
		"f.yaml:2:34: ports[0].routed: " BOTH("a") "f.yaml:3:34: ports[1].routed: " BOTH(
			"b"));
}

static void interfaces_have_unique_names(void **state)
{
	struct bp_config *c;

	says("ports: [{name: abcdefghijklmnop, device: x, routed: {}}]\n",
		"f.yaml:1:16: ports[0].routed.host_interface.name: 'abcdefghijklmnop' is 16 bytes "
		"long, too long for a kernel interface; expected "
		"ports[0].routed.host_interface.name of at most 15 bytes, or backend: off\n");
	c = accepted("ports: [{name: abcdefghijklmnop, device: x, routed: {host_interface: "
		     "{backend: off}}}, {name: "
		     "abcdefghijklmnoq, device: y, routed: {host_interface: {name: i}}}]\n");
	assert_string_equal(c->port[0].interface.kernel_name, "");
	assert_string_equal(c->port[1].interface.kernel_name, "i");
	bp_config_free(c);
	/* The role of the port is unknown: only the error of the bridge is reported. */
	says("ports: [{name: abcdefghijklmnop, device: x}, {name: b, device: y}]\n"
	     "bridges: [{name: h, ports: [abcdefghijklmnop, bb]}]\n",
		"f.yaml:2:47: bridges[0].ports: there is no port 'bb'; expected " BRIDGE_PORTS);
	says("ports: [{name: a, device: x, routed: {}}, {name: b, device: y, routed: "
	     "{host_interface: {name: a}}}]\n",
		"f.yaml:1:96: ports[1].routed.host_interface.name: 'a' is the kernel interface of "
		"ports[0].routed too; expected a unique name\n");
	says("ports: [{name: default, device: x, routed: {}}]\n",
		"f.yaml:1:16: ports[0].routed.host_interface.name: 'default' is reserved by the "
		"kernel; expected another name for the kernel interface\n");
	says("ports: [{name: a, device: x, routed: {}}, {name: b, device: y, routed: {}}, " SEGMENT
	     "bridges:\n  - {name: a, ports: [c, d], host_interface: {}}\n",
		"f.yaml:3:12: bridges[0].name: 'a' is the name of ports[0] too; expected a unique "
		"name among ports and bridges\n");
	says("ports: [{name: a, device: x}, {name: b, device: y}, " SEGMENT
	     "bridges:\n  - {name: g, ports: [a, b], host_interface: {}}\n"
	     "  - {name: h, ports: [c, d], host_interface: {name: g}}\n",
		"f.yaml:4:53: bridges[1].host_interface.name: 'g' is the kernel interface of "
		"bridges[0].host_interface too; expected a unique name\n");
	says("ports: [{name: a, device: x}, {name: b, device: y}, " SEGMENT
	     "bridges:\n  - {name: g, ports: [a, b]}\n  - {name: g, ports: [c, d]}\n",
		"f.yaml:4:12: bridges[1].name: 'g' is the name of bridges[0] too; expected a "
		"unique "
		"name among ports and bridges\n");
}

#define TAKEN(place, of, name)                                                                     \
	place ".host_interface.name: '" name "' is the interface that ports[" of                   \
	      "].device opens; expected another name for the kernel interface, or backend: off\n"

static void devices_and_kernel_interfaces_share_a_namespace(void **state)
{
	says("ports: [{name: eth1, device: \"net_af_packet0,iface=eth1\", routed: {}}]\n",
		"f.yaml:1:16: " TAKEN("ports[0].routed", "0", "eth1"));
	says("ports:\n  - {name: lan, device: \"net_pcap0,iface=eth1\", routed: {host_interface: "
	     "{name: eth2}}}\n"
	     "  - {name: wan, device: \"net_pcap1,rx_iface=eth2,tx_iface=eth3\", routed: {}}\n"
	     "  - {name: eth3, device: net_null0, routed: {}}\n",
		"f.yaml:2:81: " TAKEN("ports[0].routed", "1", "eth2") "f.yaml:4:12: " TAKEN(
			"ports[2].routed", "1", "eth3"));
	/* Also for ports of a bridge; not with backend off, and not for names with only a common
	 * prefix. */
	says("ports: [{name: a, device: \"net_af_xdp0,queue_count=1,iface=q\"}, {name: b, device: "
	     "\"net_af_xdp1,iface=plant\"}]\nbridges: [{name: plant, ports: [a, b], "
	     "host_interface: {}}]\n",
		"f.yaml:2:18: bridges[0]" TAKEN("", "1", "plant"));
	bp_config_free(
		accepted("ports: [{name: eth1, device: \"net_af_packet0,iface=eth1\", routed: "
			 "{host_interface: {backend: off}}}, {name: eth, device: "
			 "\"net_af_packet1,iface=eth10,xiface=eth\", routed: {}}]\n"));
}

static void addresses_are_given_once(void **state)
{
	says("ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/24, 10.0.0.1/25]}},\n"
	     "  {name: b, device: y, routed: {addresses: [10.0.0.300/24, \"fd00::1/64\", "
	     "10.0.0.1/8]}},\n"
	     "  {name: c, device: z, routed: {addresses: \"fd00:0::1/48\"}}]\n",
		"f.yaml:1:64: ports[0].routed.addresses: 10.0.0.1 is an address of 'a' already; "
		"expected "
		"each address once\n"
		"f.yaml:2:45: ports[1].routed.addresses: '10.0.0.300/24' is not an address with "
		"its "
		"prefix's length; expected a list of at most 16 addresses of hosts, each with its "
		"prefix's length, such as [10.0.0.1/24, \"fd00::1/64\"]\n"
		"f.yaml:2:74: ports[1].routed.addresses: 10.0.0.1 is an address of 'a' already; "
		"expected "
		"each address once\n"
		"f.yaml:3:44: ports[2].routed.addresses: fd00::1 is an address of 'b' already; "
		"expected "
		"each address once\n");
	/* The same link-local address is allowed on each link. */
	says("ports: [{name: a, device: x, routed: {addresses: \"fe80::1/64\"}}, {name: b, device: "
	     "y, routed: {addresses: [\"fe80::1/64\"]}}]\n",
		"");
	says("ports: [{name: a, device: x, routed: {addresses: [\"fe80::1/64\", "
	     "\"fe80::1/10\"]}}]\n",
		"f.yaml:1:65: ports[0].routed.addresses: fe80::1 is an address of 'a' already; "
		"expected "
		"each address once\n");
}

static void addresses_are_bounded(void **state)
{
	char text[1024] = "ports: [{name: a, device: x, routed: {addresses: [";
	struct bp_config *c;
	size_t n = strlen(text);

	for (int i = 1; i <= BP_ADDRESSES_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "10.0.%d.1/24, ", i);
	snprintf(text + n, sizeof(text) - n, "]}}]\n");
	c = accepted(text);
	assert_int_equal(c->port[0].interface.n_addresses, BP_ADDRESSES_MAX);
	assert_int_equal(c->port[0].interface.address[15].address.bytes[2], 16);
	bp_config_free(c);
	snprintf(text + n, sizeof(text) - n, "10.0.0.1/24]}}]\n");
	says(text, "f.yaml:1:50: ports[0].routed.addresses: 17 are given; expected a list of at "
		   "most 16 "
		   "addresses of hosts, each with its prefix's length, such as [10.0.0.1/24, "
		   "\"fd00::1/64\"]\n");
}

static void static_routes_are_read(void **state)
{
	struct bp_config *c = accepted(ROUTES
		"    - {prefix: 10.2.0.0/16, via: 10.1.0.2, interface: a}\n"
		"    - {prefix: 10.2.0.0/16, via: 10.1.0.2, weight: 256}\n"
		"    - {prefix: 10.2.0.0/16, via: 10.3.0.9}\n"
		"    - {prefix: 10.2.0.0/16, via: \"fe80::2\", interface: plant}\n"
		"    - {prefix: \"2001:db8::/33\", interface: b}\n"
		"    - {prefix: 0.0.0.0/0, type: unreachable}\n"
		"  static_neighbors:\n"
		"    - {address: \"fe80::2\", mac: \"02:00:00:00:01:02\", interface: plant}\n");
	const struct bp_config_static_route *r = c->fixed.route;
	const struct bp_config_static_neighbor *n = c->fixed.neighbor;
	static const uint8_t ip6[16] = {0x20, 0x01, 0x0d, 0xb8}, ll[16] = {0xfe, 0x80, [15] = 2};
	static const uint8_t via[16] = {10, 1, 0, 2}, mac[6] = {2, 0, 0, 0, 1, 2};

	assert_int_equal(c->fixed.n_routes, 6);
	assert_true(r[0].prefix.family == 4 && r[0].prefix.length == 16);
	assert_true(r[0].prefix.bytes[0] == 10 && r[0].prefix.bytes[1] == 2);
	assert_true(r[0].has_interface && r[0].hop.interface == 0 && r[0].hop.weight == 1);
	assert_true(r[0].hop.gateway.family == 4);
	assert_memory_equal(r[0].hop.gateway.bytes, via, 16);
	/* Without a port: the interface in whose prefix via is. */
	assert_true(!r[1].has_interface && r[1].hop.interface == 1 && r[1].hop.weight == 256);
	assert_true(!r[2].has_interface && r[2].hop.interface == BP_MAX_PORTS);
	assert_true(r[3].has_interface && r[3].hop.interface == BP_MAX_PORTS);
	assert_true(r[3].hop.gateway.family == 6);
	assert_true(r[4].prefix.family == 6 && r[4].prefix.length == 33);
	assert_memory_equal(r[4].prefix.bytes, ip6, 16);
	assert_true(r[4].hop.gateway.family == 0 && r[4].hop.interface == 1);
	assert_int_equal(r[4].type, BP_ROUTE_UNICAST);
	assert_int_equal(r[5].type, BP_ROUTE_UNREACHABLE);
	assert_int_equal(r[5].hop.interface, BP_NO_INTERFACE);
	assert_int_equal(c->fixed.n_neighbors, 1);
	assert_true(n->address.family == 6 && n->interface == BP_MAX_PORTS);
	assert_memory_equal(n->address.bytes, ll, 16);
	assert_memory_equal(n->mac, mac, 6);
	bp_config_free(c);
}

/* Of two interfaces the one with the longer prefix has the gateway; of equal ones neither. */
static void the_longest_prefix_has_the_gateway(void **state)
{
	static const char longer[] =
		"ports: [{name: a, device: x, routed: {addresses: 10.0.0.1/8}}, {name: b, device: "
		"y, routed: {addresses: 10.0.0.2/24}}]\n"
		"routing: {static_routes: [{prefix: 0.0.0.0/0, via: 10.0.0.3}]}\n";
	struct bp_config *c = accepted(longer);

	assert_int_equal(c->fixed.route[0].hop.interface, 1);
	bp_config_free(c);
	says("ports: [{name: a, device: x, routed: {addresses: 10.0.0.1/24}}, {name: b, device: y, "
	     "routed: {addresses: 10.0.0.2/24}}]\n"
	     "routing: {static_routes: [{prefix: 0.0.0.0/0, via: 10.0.0.3}]}\n",
		"f.yaml:2:52: routing.static_routes[0].via: several interfaces have this address "
		"in their prefixes; "
		"expected interface\n");
	bp_config_free(
		accepted("ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/24, "
			 "10.0.0.2/24]}}]\n"
			 "routing: {static_routes: [{prefix: 0.0.0.0/0, via: 10.0.0.3}]}\n"));
}

static void static_routes_must_lead_somewhere(void **state)
{
	says(ROUTES "    - {prefix: 10.2.0.0/16}\n"
		    "    - {prefix: 10.4.0.0/16, via: 10.1.0.2, interface: c}\n"
		    "    - {prefix: 10.4.0.0/16, via: 10.9.0.2}\n"
		    "    - {prefix: 10.5.0.0/16, type: prohibit, weight: 4}\n"
		    "    - {prefix: 10.6.0.0/16, type: blackhole, via: 10.1.0.2, interface: b}\n"
		    "    - {prefix: \"2001:db8::/32\", via: 10.3.0.3}\n"
		    "    - {prefix: 10.7.0.0/16, via: \"fe80::2\"}\n"
		    "    - {prefix: 10.8.0.1/16, via: 10.3.0.1}\n",
		"f.yaml:6:7: routing.static_routes[0] has neither 'via' nor 'interface'; expected "
		"one of them, "
		"or a type other than unicast\n"
		"f.yaml:7:55: routing.static_routes[1].interface: port 'c' is in a bridge; "
		"expected the name of a routed port, or of a bridge with a host_interface\n"
		"f.yaml:8:34: routing.static_routes[2].via: no interface has this address in its "
		"prefixes; "
		"expected an interface address in the same prefix, or interface\n"
		"f.yaml:9:45: routing.static_routes[3].weight: a route of this type has no next "
		"hop; "
		"expected no via, interface or weight, or type unicast\n"
		"f.yaml:10:46: routing.static_routes[4].via: a route of this type has no next hop; "
		"expected "
		"no via, interface or weight, or type unicast\n"
		"f.yaml:11:38: routing.static_routes[5].via: an IPv4 next hop cannot be used for "
		"an IPv6 prefix; "
		"expected an IPv6 address\n"
		"f.yaml:12:34: routing.static_routes[6].via: a link-local next hop needs an "
		"interface; "
		"expected interface\n"
		"f.yaml:13:16: routing.static_routes[7].prefix: 10.8.0.1/16 has bits set beyond "
		"its "
		"length; its prefix is 10.8.0.0/16; expected an IPv4 or IPv6 prefix with "
		"its length, such as 10.2.0.0/16 or 2001:db8::/32\n"
		"f.yaml:13:34: routing.static_routes[7].via: this is an address of this gateway; "
		"expected "
		"the address of the next hop\n");
	/* A mistake in an address does not make one of the route, too. */
	says("ports: [{name: a, device: x, routed: {adresses: 10.0.0.1/24}}]\n"
	     "routing: {static_routes: [{prefix: 0.0.0.0/0, via: 10.0.0.2}]}\n",
		"f.yaml:1:39: unknown setting 'adresses'; did you mean 'addresses'?\n");
}

static void entries_of_one_prefix_are_hops(void **state)
{
	says(ROUTES "    - {prefix: 10.2.0.0/16, via: 10.1.0.2}\n"
		    "    - {prefix: 10.2.0.0/17, via: 10.1.0.2}\n"
		    "    - {prefix: 10.2.0.0/16, via: 10.1.0.2, interface: b, weight: 3}\n"
		    "    - {prefix: 10.2.0.0/16, via: 10.1.0.2, interface: a}\n"
		    "    - {prefix: 10.2.0.0/16, type: blackhole}\n",
		"f.yaml:8:7: routing.static_routes[2]: 10.2.0.0/16 is given twice with the same "
		"next hop; "
		"expected one entry, or entries of type unicast that differ in via or interface "
		"(the "
		"other is on line 6)\n"
		"f.yaml:10:7: routing.static_routes[4]: 10.2.0.0/16 is given twice; expected one "
		"entry, or "
		"entries of type unicast that differ in via or interface (the other is on line "
		"6)\n");
	says(ROUTER "routing:\n  static_neighbors:\n"
		    "    - {address: 10.0.0.9, mac: \"02:00:00:00:00:01\", interface: a}\n"
		    "    - {address: 10.0.0.9, mac: \"02:00:00:00:00:01\", interface: b}\n"
		    "    - {address: 10.0.0.9, mac: \"02:00:00:00:00:02\", interface: a}\n"
		    "    - {}\n    - {}\n",
		"f.yaml:8:7: routing.static_neighbors[2]: this neighbor is given twice; expected "
		"it once "
		"(the other is on line 6)\n"
		"f.yaml:9:7: routing.static_neighbors[3] has no 'address'; expected a unicast IPv4 "
		"or "
		"IPv6 address such as 192.0.2.10 or 2001:db8::10\n"
		"f.yaml:9:7: routing.static_neighbors[3] has no 'mac'; expected a unicast MAC "
		"address "
		"such as \"02:00:00:00:00:01\"\n"
		"f.yaml:9:7: routing.static_neighbors[3] has no 'interface'; expected the name of "
		"a routed port, or of a bridge with a host_interface\n"
		"f.yaml:10:7: routing.static_neighbors[4] has no 'address'; expected a unicast "
		"IPv4 or "
		"IPv6 address such as 192.0.2.10 or 2001:db8::10\n"
		"f.yaml:10:7: routing.static_neighbors[4] has no 'mac'; expected a unicast MAC "
		"address "
		"such as \"02:00:00:00:00:01\"\n"
		"f.yaml:10:7: routing.static_neighbors[4] has no 'interface'; expected the name of "
		"a routed port, or of a bridge with a host_interface\n");
}

/* ROUTES and `n` entries of that form, in which %d counts up from 1. */
static char *with_entries(const char *before, const char *form, int n)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	fputs(before, f);
	for (int i = 1; i <= n; i++) {
		const char *at = strstr(form, "%d");

		fprintf(f, "%.*s%d%s", (int)(at - form), form, i, at + 2);
	}
	assert_int_equal(fclose(f), 0);
	return text;
}

static void static_entries_are_bounded(void **state)
{
	static const char hop[] = "    - {prefix: 10.2.0.0/16, via: 10.1.0.%d, interface: a}\n";
	static const char route[] = "    - {prefix: 10.%d.0.0/16, interface: a}\n";
	static const char neighbor[] =
		"    - {address: 10.9.0.%d, mac: \"02:00:00:00:00:01\", interface: a}\n";
	/* via is no address of ours even where the entry's number is */
	char *text = with_entries(
		"ports: [{name: a, device: x, routed: {}}]\nrouting:\n  static_routes:\n", hop,
		BP_HOPS_MAX);

	bp_config_free(accepted(text));
	free(text);
	text = with_entries(
		"ports: [{name: a, device: x, routed: {}}]\nrouting:\n  static_routes:\n", hop,
		BP_HOPS_MAX + 3);
	says(text, "f.yaml:36:7: routing.static_routes[32]: 10.2.0.0/16 has 35 entries; expected "
		   "at most "
		   "32 of one prefix\n");
	free(text);
	text = with_entries(
		"ports: [{name: a, device: x, routed: {}}]\nrouting:\n  max_ipv4_routes: 16\n"
		"  static_routes:\n",
		route, 17);
	says(text, "f.yaml:5:5: routing.static_routes: 17 IPv4 prefixes are given; expected at "
		   "most 16 "
		   "(routing.max_ipv4_routes)\n");
	free(text);
	text = with_entries(
		"ports: [{name: a, device: x, routed: {}}]\nrouting:\n  max_neighbors: 16\n  "
		"static_neighbors:\n",
		neighbor, 17);
	says(text,
		"f.yaml:5:5: routing.static_neighbors: 17 neighbors are given; expected at most 16 "
		"(routing.max_neighbors)\n");
	free(text);
}

/* As many as may be, each by way of a gateway that must be found. */
static void many_routes_are_read(void **state)
{
	struct bp_config *c;
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	fputs(ROUTES, f);
	for (int i = 0; i < 65536; i++)
		fprintf(f, "    - {prefix: 11.%d.%d.0/24, via: 10.1.0.%d}\n", i >> 8, i & 255,
			2 + i % 200);
	assert_int_equal(fclose(f), 0);
	c = accepted(text);
	assert_int_equal(c->fixed.n_routes, 65536);
	assert_int_equal(c->fixed.route[65535].hop.interface, 1);
	free(text);
	bp_config_free(c);
}

static void classes_are_read(void **state)
{
	struct bp_config *c = accepted(
		PORTS "punt: {health_device_ports: [6024, 6025], policers: {routing: "
		      "{rate_pps: 100}, local: {rate_pps: 5000, burst: 1, queue_len: 16}}}\n");

	assert_int_equal(c->punt.policer[BP_EX_ROUTING].rate_pps, 100);
	assert_int_equal(c->punt.policer[BP_EX_ROUTING].burst, 32);
	assert_int_equal(c->punt.policer[BP_EX_ROUTING].queue_len, 512);
	assert_int_equal(c->punt.policer[BP_EX_PHD].burst, 2000);
	assert_int_equal(c->punt.policer[BP_EX_LOCAL].rate_pps, 5000);
	assert_int_equal(c->punt.policer[BP_EX_LOCAL].burst, 1);
	assert_int_equal(c->punt.policer[BP_EX_LOCAL].queue_len, 16);
	assert_int_equal(c->punt.policer[BP_EX_OTHER].rate_pps, 1000);
	assert_true(c->punt.n_health_device_ports == 2 && c->punt.health_device_ports[1] == 6025);
	bp_config_free(c);
}

static void capacities_and_sync_are_read(void **state)
{
	struct bp_config *c =
		accepted(PORTS "routing: {max_ipv4_routes: 100, max_ipv6_routes: "
			       "200, max_neighbors: 300, max_nexthops: 400, "
			       "max_nexthop_groups: 500}\nnetlink: {route_table: local, "
			       "receive_buffer: 1GiB, neighbor_refresh: "
			       "90s}\n");

	assert_int_equal(c->routing.max_ipv4_routes, 100);
	assert_int_equal(c->routing.max_ipv6_routes, 200);
	assert_int_equal(c->routing.max_neighbors, 300);
	assert_int_equal(c->routing.max_nexthops, 400);
	assert_int_equal(c->routing.max_nexthop_groups, 500);
	assert_int_equal(c->netlink.route_table, 255);
	assert_int_equal(c->netlink.receive_buffer, 1u << 30);
	assert_int_equal(c->netlink.neighbor_refresh_ns, 90000000000);
	bp_config_free(c);
	c = accepted(PORTS);
	assert_int_equal(c->netlink.route_table, 254);
	assert_int_equal(c->routing.max_ipv4_routes, 1048576);
	bp_config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interfaces_are_read),
		cmocka_unit_test(bridges_are_read),
		cmocka_unit_test(bridges_as_lists_are_corrected),
		cmocka_unit_test(ports_have_one_role),
		cmocka_unit_test(interfaces_have_unique_names),
		cmocka_unit_test(devices_and_kernel_interfaces_share_a_namespace),
		cmocka_unit_test(addresses_are_given_once),
		cmocka_unit_test(addresses_are_bounded),
		cmocka_unit_test(static_routes_are_read),
		cmocka_unit_test(the_longest_prefix_has_the_gateway),
		cmocka_unit_test(static_routes_must_lead_somewhere),
		cmocka_unit_test(entries_of_one_prefix_are_hops),
		cmocka_unit_test(static_entries_are_bounded),
		cmocka_unit_test(many_routes_are_read),
		cmocka_unit_test(classes_are_read),
		cmocka_unit_test(capacities_and_sync_are_read),
	};

	return cmocka_run_group_tests_name("config routing", tests, NULL, NULL);
}
