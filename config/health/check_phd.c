/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/health/schema.h"

/* Section health_devices: contradictions between its settings. */

/* Ephemeral ports of the kernel, unless net.ipv4.ip_local_port_range sets another range. */
#define KERNEL_FIRST 32768
#define KERNEL_LAST 60999

/* Returns whether a setting of `e` is valid, or is not given and has its default. */
static bool fine(const struct bp_yaml *e, const char *key)
{
	const struct bp_yaml *n = bp_yaml_find(e, key);

	return n == NULL || (!n->bad && !n->faulty);
}

/* Returns the node for a message about a setting: the setting, or the section if it has none. */
static const struct bp_yaml *place(const struct bp_yaml *e, const char *key)
{
	const struct bp_yaml *n = bp_yaml_find(e, key);

	return n != NULL ? n : e;
}

static void check_listen(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_config_phd *p = bp_config_phd(r->config);
	const struct bp_yaml *at = place(n, "listen");

	if (fine(n, "listen") && p->listen_udp_port == 0 && p->listen_tcp_port == 0)
		bp_error(r->messages, at->line, at->column,
			"health_devices.listen: udp_port and tcp_port are both off; expected a "
			"port for "
			"at least one");
}

/* The requests of the workers need source ports of their own, which no device uses as a
 * destination. */
static void check_source_ports(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_config_phd *p = bp_config_phd(r->config);
	const uint32_t first = p->cse.source_ports[0], last = p->cse.source_ports[1];
	const struct bp_yaml *cse = bp_yaml_find(n, "cse");
	const struct bp_yaml *at = cse != NULL ? place(cse, "source_ports") : n;

	if (cse == NULL || !fine(cse, "source_ports") || !fine(n, "listen"))
		return;
	if (p->listen_udp_port >= first && p->listen_udp_port <= last)
		bp_error(r->messages, at->line, at->column,
			"health_devices.cse.source_ports: port %u is "
			"health_devices.listen.udp_port; "
			"expected a range without it",
			p->listen_udp_port);
	if (last - first + 1 < r->config->n_workers)
		bp_error(r->messages, at->line, at->column,
			"health_devices.cse.source_ports: %u workers share %u ports; expected "
			"at least one port for each worker",
			r->config->n_workers, last - first + 1);
	if (first <= KERNEL_LAST && last >= KERNEL_FIRST)
		bp_warning(r->messages, at->line, at->column,
			"health_devices.cse.source_ports: the kernel uses ports %u-%u as ephemeral "
			"ports, and biplane would receive the answers to its sockets; expected a "
			"range outside, or a different net.ipv4.ip_local_port_range",
			KERNEL_FIRST, KERNEL_LAST);
}

static void check_provision(struct bp_reader *r, const struct bp_yaml *n)
{
	struct bp_config_phd_cse *c = &bp_config_phd_set(r->config)->cse;
	const struct bp_yaml *cse = bp_yaml_find(n, "cse");

	if (c->provision == BP_PHD_BINDING_AUTO)
		c->provision = c->http_port != 0 ? BP_PHD_BINDING_HTTP : BP_PHD_BINDING_COAP;
	if (c->provision != BP_PHD_BINDING_HTTP || c->http_port != 0 || cse == NULL ||
		!fine(cse, "provision") || !fine(cse, "http"))
		return;
	bp_error(r->messages, place(cse, "provision")->line, place(cse, "provision")->column,
		"health_devices.cse.provision: http needs health_devices.cse.http, which is "
		"missing; "
		"expected it, such as http://192.0.2.20:8080, or coap");
}

/* Returns whether the second segment of a path, the AE, contains the placeholder. */
static bool ae_holds(const char *path, const char *what)
{
	const char *ae = strchr(path, '/') + 1, *at = strstr(ae, what);

	return at != NULL && at < strchr(ae, '/');
}

/*
 * A CSE allows one originator to register an AE, and no other originator to create resources in it.
 * Instances of two devices in one container are indistinguishable: their names do not contain the
 * device. If two names are equal, the second instance is lost.
 */
static void check_names(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_config_phd_cse *c = &bp_config_phd(r->config)->cse;
	const struct bp_yaml *cse = bp_yaml_find(n, "cse"), *at;

	if (cse == NULL || !fine(cse, "path") || !fine(cse, "originator"))
		return;
	at = place(cse, "path");
	if (strstr(c->path, "{system_id}") == NULL)
		bp_error(r->messages, at->line, at->column,
			"health_devices.cse.path: {system_id} is missing, so devices would share "
			"containers; expected {system_id} in the AE or in a container, such as "
			"cse-in/ward/{system_id}/{object}");
	else if (strstr(c->originator, "{system_id}") != NULL && !ae_holds(c->path, "{system_id}"))
		bp_error(r->messages, at->line, at->column,
			"health_devices.cse.path: the AE, the second segment, has no {system_id} "
			"and "
			"cse.originator has it, so only the first device could register the AE; "
			"expected {system_id} in that segment, or an originator without it");
}

/* An error in an interface may drop its addresses. */
static bool interfaces_are_right(const struct bp_reader *r)
{
	const struct bp_yaml *ports = bp_yaml_find(r->root, "ports");
	const struct bp_yaml *bridges = bp_yaml_find(r->root, "bridges");

	return ports != NULL && !ports->faulty && (bridges == NULL || !bridges->faulty);
}

void bp_check_phd(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	if (!bp_config_routes(r->config) && interfaces_are_right(r))
		bp_error(r->messages, n->line, n->column,
			"health_devices: there is no routed port and no bridge with a host "
			"interface, so devices have no address to connect to; expected one");
	check_listen(r, n);
	if (bp_config_phd(r->config)->store_path[0] == '\0')
		snprintf(bp_config_phd_set(r->config)->store_path,
			sizeof(bp_config_phd(r->config)->store_path),
			"/var/lib/biplane/%s.health.db", r->config->name);
	r->config->punt.listen_udp = bp_config_phd(r->config)->listen_udp_port;
	r->config->punt.listen_tcp = bp_config_phd(r->config)->listen_tcp_port;
	check_source_ports(r, n);
	check_provision(r, n);
	check_names(r, n);
}
