/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/check_place.h"

/*
 * Roles of ports, and routed interfaces: checked after the ports of each bridge are known. Sets the
 * defaults that depend on the roles, and checks that interfaces do not share addresses or names. A
 * setting that already has its message is not checked again.
 */

/* The interface of a routed port, or the host interface of a bridge. */
struct place {
	struct bp_config_interface *of;
	const char *name;            /* name of its port or bridge */
	const struct bp_yaml *owner; /* the mapping of the port or bridge */
	const struct bp_yaml *node;  /* the mapping with the addresses */
	const struct bp_yaml *host;  /* the mapping with backend and name; NULL: not given */
	char path[40];               /* paths of `node` and `host` for messages */
	char host_path[48];
};

struct places {
	struct place list[BP_MAX_INTERFACES];
	uint32_t n;
};

static const struct bp_yaml *list_of(const struct bp_reader *r, const char *key)
{
	const struct bp_yaml *n = bp_yaml_find(r->root, key);

	return n != NULL && !n->bad && n->kind == BP_YAML_LIST ? n->first : NULL;
}

static const struct bp_config_bridge *bridge_of(const struct bp_config *c, uint32_t port)
{
	for (uint32_t b = 0; b < c->n_bridges; b++)
		for (uint32_t i = 0; i < c->bridge[b].n; i++)
			if (c->bridge[b].port[i] == port)
				return &c->bridge[b];
	return NULL;
}

static void collect_ports(struct bp_reader *r, struct places *p)
{
	struct bp_config *c = r->config;
	uint32_t i = 0;

	for (const struct bp_yaml *e = list_of(r, "ports"); e != NULL && i < c->n_ports;
		e = e->next, i++) {
		struct place *at = &p->list[p->n];
		const struct bp_yaml *routed = bp_yaml_find(e, "routed");

		if (bridge_of(c, i) != NULL || routed == NULL || routed->bad)
			continue;
		*at = (struct place){.of = &c->port[i].interface,
			.name = c->port[i].name,
			.owner = e,
			.node = routed,
			.host = bp_good(routed, "host_interface")};
		snprintf(at->path, sizeof(at->path), "ports[%u].routed", i);
		snprintf(
			at->host_path, sizeof(at->host_path), "ports[%u].routed.host_interface", i);
		p->n++;
	}
}

static void collect_bridges(struct bp_reader *r, struct places *p)
{
	struct bp_config *c = r->config;
	uint32_t i = 0;

	for (const struct bp_yaml *e = list_of(r, "bridges"); e != NULL && i < c->n_bridges;
		e = e->next, i++) {
		struct place *at = &p->list[p->n];
		const struct bp_yaml *host = bp_good(e, "host_interface");

		if (host == NULL)
			continue;
		*at = (struct place){.of = &c->bridge[i].host_interface,
			.name = c->bridge[i].name,
			.owner = e,
			.node = host,
			.host = host};
		snprintf(at->path, sizeof(at->path), "bridges[%u].host_interface", i);
		snprintf(at->host_path, sizeof(at->host_path), "bridges[%u].host_interface", i);
		p->n++;
	}
}

/* Returns whether a setting is valid, or is not given and has its default. */
static bool is_fine(const struct bp_yaml *map, const char *key)
{
	return bp_yaml_find(map, key) == bp_good(map, key);
}

/* Returns the node with the name of the kernel interface. */
static const struct bp_yaml *name_node(const struct place *p)
{
	const struct bp_yaml *n = bp_good(p->host, "name");

	if (n == NULL)
		n = bp_good(p->owner, "name");
	return n != NULL ? n : p->owner;
}

/* A port is in a bridge or routed. */
static void check_role(struct bp_reader *r, const struct bp_yaml *e, uint32_t i, bool sure)
{
	struct bp_config_port *p = &r->config->port[i];
	const struct bp_config_bridge *b = bridge_of(r->config, i);
	const struct bp_yaml *routed = bp_good(e, "routed");

	if (bp_yaml_find(e, "promiscuous") == NULL)
		p->promiscuous = b != NULL;
	if (b != NULL && routed != NULL)
		BP_AT_ERROR(r, routed,
			"ports[%u].routed: port '%s' is in bridge '%s'; expected a port that is "
			"either bridged or routed (addresses of a bridge: "
			"bridges[%td].host_interface.addresses)",
			i, p->name, b->name, b - r->config->bridge);
	else if (b == NULL && !p->has_routed && sure && !e->faulty)
		BP_AT_ERROR(r, e,
			"ports[%u]: port '%s' has no role; expected it in a bridge, such as "
			"bridges: [{name: line-1, ports: [%s, PORT]}], or routed, such as routed: "
			"{addresses: [10.0.0.1/24]} (without addresses: routed: {})",
			i, p->name, p->name);
	if (b != NULL || !p->has_routed) {
		memset(&p->interface, 0, sizeof(p->interface));
		p->interface.backend = BP_BACKEND_OFF;
	}
}

static void check_roles(struct bp_reader *r, bool sure)
{
	uint32_t i = 0;

	for (const struct bp_yaml *e = list_of(r, "ports"); e != NULL && i < r->config->n_ports;
		e = e->next, i++)
		if (!e->bad && e->kind == BP_YAML_MAP)
			check_role(r, e, i, sure);
}

/* Names that the kernel reserves, as interfaces or in /proc/sys/net. */
static bool is_reserved(const char *name)
{
	return strcmp(name, "lo") == 0 || strcmp(name, "all") == 0 || strcmp(name, "default") == 0;
}

static void settle(struct bp_reader *r, struct place *p)
{
	struct bp_config_interface *i = p->of;
	const struct bp_yaml *n = name_node(p);

	if (i->backend == BP_BACKEND_OFF || !is_fine(p->host, "backend"))
		return;
	if (i->kernel_name[0] == '\0') {
		if (bp_good(p->owner, "name") == NULL || !is_fine(p->host, "name"))
			return;
		if (strlen(p->name) <= BP_INTERFACE_NAME_MAX)
			strcpy(i->kernel_name, p->name);
		else
			BP_AT_ERROR(r, n,
				"%s.name: '%s' is %zu bytes long, too long for a kernel interface; "
				"expected %s.name of at most %u bytes, or backend: off",
				p->host_path, p->name, strlen(p->name), p->host_path,
				BP_INTERFACE_NAME_MAX);
	}
	if (is_reserved(i->kernel_name))
		BP_AT_ERROR(r, n,
			"%s.name: '%s' is reserved by the kernel; expected another name for the "
			"kernel interface",
			p->host_path, i->kernel_name);
}

/* Returns whether an argument of the device names this kernel interface:
 * "net_pcap0,rx_iface=NAME". */
static bool device_opens(const char *device, const char *name)
{
	static const char *const keys[] = {"iface=", "rx_iface=", "tx_iface=", "rx_iface_in="};
	size_t len = strlen(name);

	for (const char *p = strchr(device, ','); p != NULL; p = strchr(p, ',')) {
		p++;
		for (uint32_t i = 0; i < 4; i++) {
			size_t key = strlen(keys[i]);

			if (strncmp(p, keys[i], key) == 0 && strncmp(p + key, name, len) == 0 &&
				(p[key + len] == ',' || p[key + len] == '\0'))
				return true;
		}
	}
	return false;
}

static bool has_kernel_interface(const struct place *p)
{
	return p->of->backend != BP_BACKEND_OFF && p->of->kernel_name[0] != '\0';
}

static void check_devices(struct bp_reader *r, const struct place *p)
{
	for (uint32_t i = 0; i < r->config->n_ports && has_kernel_interface(p); i++) {
		if (!device_opens(r->config->port[i].device, p->of->kernel_name))
			continue;
		BP_AT_ERROR(r, name_node(p),
			"%s.name: '%s' is the interface that ports[%u].device opens; expected "
			"another name for the kernel interface, or backend: off",
			p->host_path, p->of->kernel_name, i);
		return;
	}
}

static void check_kernel_names(struct bp_reader *r, const struct places *p, uint32_t k)
{
	const struct place *a = &p->list[k];

	for (uint32_t i = 0; i < k; i++) {
		const struct place *b = &p->list[i];

		if (!has_kernel_interface(a) || !has_kernel_interface(b) ||
			strcmp(a->name, b->name) == 0 ||
			strcmp(a->of->kernel_name, b->of->kernel_name) != 0)
			continue;
		BP_AT_ERROR(r, name_node(a),
			"%s.name: '%s' is the kernel interface of %s too; expected a unique name",
			a->host_path, a->of->kernel_name, b->path);
		return;
	}
}

/* Checks that names of bridges differ from each other and from names of ports. */
static void check_bridge_names(struct bp_reader *r)
{
	const struct bp_config *c = r->config;
	uint32_t i = 0;

	for (const struct bp_yaml *e = list_of(r, "bridges"); e != NULL && i < c->n_bridges;
		e = e->next, i++) {
		const struct bp_yaml *n = bp_good(e, "name");
		const int port = n != NULL ? bp_config_port_index(c, c->bridge[i].name) : -1;
		uint32_t k = 0;

		while (n != NULL && k < i && strcmp(c->bridge[k].name, c->bridge[i].name) != 0)
			k++;
		if (port < 0 && (n == NULL || k == i))
			continue;
		BP_AT_ERROR(r, n,
			"bridges[%u].name: '%s' is the name of %s[%d] too; expected a unique name "
			"among ports and bridges",
			i, c->bridge[i].name, port >= 0 ? "ports" : "bridges",
			port >= 0 ? port : (int)k);
	}
}

/* The kernel routes between bridges with a host interface and routed ports: a connection that
 * passes two of them must not be two connections. */
static void check_networks(struct bp_reader *r)
{
	const struct bp_config *c = r->config;
	uint32_t i = 0;

	for (const struct bp_yaml *e = list_of(r, "bridges"); e != NULL && i < c->n_bridges;
		e = e->next, i++) {
		const struct bp_config_bridge *b = &c->bridge[i];
		const struct bp_yaml *n = bp_good(e, "network"), *name = bp_good(e, "name");

		if (n == NULL && name != NULL && !b->has_host_interface &&
			strcmp(b->name, BP_NETWORK_MAIN) == 0 &&
			(c->n_bridges > 1 || b->n != c->n_ports))
			BP_AT_ERROR(r, name,
				"bridges[%u].name: '" BP_NETWORK_MAIN
				"' is the network of routed ports; expected another name, or "
				"a network, such as network: line-1 or network: " BP_NETWORK_MAIN,
				i);
		if (n == NULL || !b->has_host_interface || strcmp(b->network, BP_NETWORK_MAIN) == 0)
			continue;
		BP_AT_ERROR(r, n,
			"bridges[%u].network: '%s' is given for a bridge with host_interface, "
			"which the kernel routes to and from; expected " BP_NETWORK_MAIN
			", or a bridge without host_interface",
			i, b->network);
	}
}

/* Returns the node of address `k` of the valid addresses. */
static const struct bp_yaml *address_node(const struct place *p, uint32_t k)
{
	const struct bp_yaml *n = bp_yaml_find(p->node, "addresses");

	if (n->kind != BP_YAML_LIST)
		return n;
	for (n = n->first; n->bad || k-- > 0;)
		n = n->next;
	return n;
}

/* Different links may have the same link-local address. */
static bool is_link_local(const struct bp_address *a)
{
	return a->family == 6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

static const struct place *other_with(
	const struct places *p, uint32_t of, uint32_t k, const struct bp_address *a)
{
	for (uint32_t i = 0; i <= of; i++) {
		const struct bp_config_interface *other = p->list[i].of;

		for (uint32_t m = 0; m < (i < of ? other->n_addresses : k); m++) {
			if (memcmp(&other->address[m].address, a, sizeof(*a)) == 0 &&
				(i == of || !is_link_local(a)))
				return &p->list[i];
		}
	}
	return NULL;
}

static void check_addresses(struct bp_reader *r, const struct places *p, uint32_t of)
{
	const struct place *at = &p->list[of];

	for (uint32_t k = 0; k < at->of->n_addresses; k++) {
		const struct bp_address *a = &at->of->address[k].address;
		const struct place *other = other_with(p, of, k, a);
		char text[BP_ADDRESS_TEXT];

		if (other != NULL)
			BP_AT_ERROR(r, address_node(at, k),
				"%s.addresses: %s is an address of '%s' already; expected each "
				"address once",
				at->path, bp_address_text(a, text), other->name);
	}
}

void bp_check_interfaces(struct bp_reader *r)
{
	const struct bp_yaml *bridges = bp_yaml_find(r->root, "bridges");
	/* A bridge list with an error, or under its old name, makes a port appear to be in no
	 * bridge. */
	const bool sure =
		(bridges == NULL || !bridges->faulty) && bp_yaml_find(r->root, "bridge") == NULL;
	struct places p = {.n = 0};

	check_roles(r, sure);
	collect_ports(r, &p);
	collect_bridges(r, &p);
	check_bridge_names(r);
	check_networks(r);
	for (uint32_t i = 0; i < p.n; i++)
		settle(r, &p.list[i]);
	for (uint32_t i = 0; i < p.n; i++) {
		check_devices(r, &p.list[i]);
		check_kernel_names(r, &p, i);
		check_addresses(r, &p, i);
	}
}
