/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/*
 * What makes a router's interface, checked when it is known which ports are in a bridge: the
 * defaults that depend on that, and what the interfaces must not have in common. A setting that has
 * its message already is not looked at.
 */

/* A port, or the host of a bridge. */
struct place {
	struct bp_config_interface *of;
	const char *name;
	const struct bp_yaml *node;  /* its mapping */
	struct bp_config_port *port; /* NULL: a host */
	bool routes;
	char path[32];
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

static void collect(struct bp_reader *r, struct places *p)
{
	struct bp_config *c = r->config;
	uint32_t i = 0;

	p->n = 0;
	for (const struct bp_yaml *e = list_of(r, "ports"); e != NULL && i < c->n_ports;
		e = e->next, i++) {
		struct place *at = &p->list[p->n];

		if (e->bad || e->kind != BP_YAML_MAP)
			continue;
		*at = (struct place){&c->port[i].interface, c->port[i].name, e, &c->port[i],
			bp_config_port_routes(c, i), ""};
		snprintf(at->path, sizeof(at->path), "ports[%u]", i);
		p->n++;
	}
	i = 0;
	for (const struct bp_yaml *e = list_of(r, "bridge"); e != NULL && i < c->n_bridges;
		e = e->next, i++) {
		struct place *at = &p->list[p->n];
		const struct bp_yaml *host = bp_yaml_find(e, "host");

		if (e->bad || host == NULL || host->bad || host->kind != BP_YAML_MAP)
			continue;
		*at = (struct place){
			&c->bridge[i].host, c->bridge[i].host_name, host, NULL, true, ""};
		snprintf(at->path, sizeof(at->path), "bridge[%u].host", i);
		p->n++;
	}
}

/* The setting if it is given and right, or NULL. */
static const struct bp_yaml *good(const struct place *p, const char *key)
{
	const struct bp_yaml *n = bp_yaml_find(p->node, key);

	return n != NULL && !n->bad ? n : NULL;
}

/* Where the file says how the kernel interface is called. */
static const struct bp_yaml *name_node(const struct place *p)
{
	const struct bp_yaml *n = good(p, "interface");

	if (n == NULL)
		n = good(p, "name");
	return n != NULL ? n : p->node;
}

static void refuse_bridged(struct bp_reader *r, const struct place *p, const char *key, bool is_set)
{
	const struct bp_yaml *n = good(p, key);

	if (n == NULL || !is_set)
		return;
	bp_error(r->messages, n->line, n->column,
		"%s.%s: port '%s' is in a bridge and has none of its own; expected it with the "
		"bridge's host, such as bridge: [{ports: [devices, cloud], host: {name: plant, "
		"addresses: [10.0.0.1/24]}}]",
		p->path, key, p->name);
}

static void settle_bridged(struct bp_reader *r, struct place *p)
{
	refuse_bridged(r, p, "addresses", p->of->n_addresses > 0);
	refuse_bridged(r, p, "kernel", p->of->kernel != BP_KERNEL_OFF);
	refuse_bridged(r, p, "interface", true);
	memset(p->of, 0, sizeof(*p->of));
	p->of->kernel = BP_KERNEL_OFF;
}

/* Names that the kernel has for itself, as interfaces or in /proc/sys/net. */
static bool is_reserved(const char *name)
{
	return strcmp(name, "lo") == 0 || strcmp(name, "all") == 0 || strcmp(name, "default") == 0;
}

static void settle_routed(struct bp_reader *r, struct place *p, bool sure)
{
	struct bp_config_interface *i = p->of;
	const struct bp_yaml *n = name_node(p);

	if (i->kernel == BP_KERNEL_OFF || bp_yaml_find(p->node, "kernel") != good(p, "kernel"))
		return;
	if (i->kernel_name[0] == '\0') {
		if (good(p, "name") == NULL ||
			good(p, "interface") != bp_yaml_find(p->node, "interface"))
			return;
		if (strlen(p->name) <= BP_INTERFACE_NAME_MAX)
			strcpy(i->kernel_name, p->name);
		else if (sure)
			bp_error(r->messages, n->line, n->column,
				"%s.name: '%s' is %zu bytes long, too long for the kernel "
				"interface; "
				"expected %s.interface with a name of at most %u bytes, or kernel: "
				"off",
				p->path, p->name, strlen(p->name), p->path, BP_INTERFACE_NAME_MAX);
	}
	if (is_reserved(i->kernel_name) && sure)
		bp_error(r->messages, n->line, n->column,
			"%s.interface: the kernel has '%s' for itself; expected another name for "
			"the kernel interface",
			p->path, i->kernel_name);
}

static void settle(struct bp_reader *r, struct place *p, bool sure)
{
	if (p->routes)
		settle_routed(r, p, sure);
	else
		settle_bridged(r, p);
	if (p->port != NULL && bp_yaml_find(p->node, "promiscuous") == NULL)
		p->port->promiscuous = !p->routes;
}

/* Whether an argument of the device names this interface of the kernel: "net_pcap0,rx_iface=NAME".
 */
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
	return p->routes && p->of->kernel != BP_KERNEL_OFF && p->of->kernel_name[0] != '\0';
}

static void check_devices(struct bp_reader *r, const struct place *p)
{
	const struct bp_yaml *n = name_node(p);

	for (uint32_t i = 0; i < r->config->n_ports && has_kernel_interface(p); i++) {
		if (!device_opens(r->config->port[i].device, p->of->kernel_name))
			continue;
		bp_error(r->messages, n->line, n->column,
			"%s.interface: ports[%u].device opens an interface '%s', which the kernel "
			"interface can't be called too; expected another name in %s.interface, or "
			"kernel: off",
			p->path, i, p->of->kernel_name, p->path);
		return;
	}
}

static void check_names(struct bp_reader *r, const struct places *p, uint32_t k)
{
	const struct place *a = &p->list[k];
	const struct bp_yaml *name = good(a, "name"), *n = name_node(a);

	for (uint32_t i = 0; i < k; i++) {
		const struct place *b = &p->list[i];

		if (name != NULL && strcmp(a->name, b->name) == 0) {
			/* Two ports of one name have their message from the port's check. */
			if (a->port == NULL)
				bp_error(r->messages, name->line, name->column,
					"%s.name: '%s' is the name of %s too; expected a name of "
					"its own for each port and host",
					a->path, a->name, b->path);
			return;
		}
		if (has_kernel_interface(a) && has_kernel_interface(b) &&
			strcmp(a->of->kernel_name, b->of->kernel_name) == 0) {
			bp_error(r->messages, n->line, n->column,
				"%s.interface: '%s' is the kernel interface of %s too; expected a "
				"name of its own for each",
				a->path, a->of->kernel_name, b->path);
			return;
		}
	}
}

/* The node of address `k` of those that were read. */
static const struct bp_yaml *address_node(const struct place *p, uint32_t k)
{
	const struct bp_yaml *n = bp_yaml_find(p->node, "addresses");

	if (n->kind != BP_YAML_LIST)
		return n;
	for (n = n->first; n->bad || k-- > 0;)
		n = n->next;
	return n;
}

/* On each link there may be the same link-local address. */
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
		const struct bp_yaml *n = address_node(at, k);
		char text[BP_ADDRESS_TEXT];

		if (other != NULL)
			bp_error(r->messages, n->line, n->column,
				"%s.addresses: %s is an address of '%s' already; expected each "
				"address once",
				at->path, bp_address_text(a, text), other->name);
	}
}

void bp_check_interfaces(struct bp_reader *r)
{
	const struct bp_yaml *bridge = bp_yaml_find(r->root, "bridge");
	/* With an error in it a port may only seem to be in no bridge. */
	bool sure = bridge == NULL || !bridge->faulty;
	struct places p;

	collect(r, &p);
	for (uint32_t i = 0; i < p.n; i++)
		settle(r, &p.list[i], sure);
	for (uint32_t i = 0; i < p.n; i++) {
		if (sure)
			check_devices(r, &p.list[i]);
		check_names(r, &p, i);
		check_addresses(r, &p, i);
	}
}
