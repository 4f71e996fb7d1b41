/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/health/schema.h"

/* Section phd: what its settings must not contradict. */

/* Ports that the kernel gives to sockets of its own choice, unless net.ipv4.ip_local_port_range
 * says otherwise. */
#define KERNEL_FIRST 32768
#define KERNEL_LAST 60999

/* Whether a setting of `e` is right, or is not given and has its default. */
static bool fine(const struct bp_yaml *e, const char *key)
{
	const struct bp_yaml *n = bp_yaml_find(e, key);

	return n == NULL || (!n->bad && !n->faulty);
}

/* Where a message about a setting points: at it, or at the section. */
static const struct bp_yaml *place(const struct bp_yaml *e, const char *key)
{
	const struct bp_yaml *n = bp_yaml_find(e, key);

	return n != NULL ? n : e;
}

static void check_listen(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_config_phd *p = bp_config_phd(r->config);
	const struct bp_yaml *at = place(n, "listen");

	if (fine(n, "listen") && p->listen_udp == 0 && p->listen_tcp == 0)
		bp_error(r->messages, at->line, at->column,
			"phd.listen: udp and tcp are both off; expected a port for one of them");
}

/* The workers' requests need ports of their own, and none that devices send to. */
static void check_source_ports(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_config_phd *p = bp_config_phd(r->config);
	const uint32_t first = p->cse.source_ports[0], last = p->cse.source_ports[1];
	const struct bp_yaml *cse = bp_yaml_find(n, "cse");
	const struct bp_yaml *at = cse != NULL ? place(cse, "source_ports") : n;

	if (cse == NULL || !fine(cse, "source_ports") || !fine(n, "listen"))
		return;
	if (p->listen_udp >= first && p->listen_udp <= last)
		bp_error(r->messages, at->line, at->column,
			"phd.cse.source_ports: port %u is phd.listen.udp; expected a range "
			"without it",
			p->listen_udp);
	if (last - first + 1 < r->config->n_workers)
		bp_error(r->messages, at->line, at->column,
			"phd.cse.source_ports: there are %u workers for %u ports; expected at "
			"least one port for each",
			r->config->n_workers, last - first + 1);
	if (first <= KERNEL_LAST && last >= KERNEL_FIRST)
		bp_warning(r->messages, at->line, at->column,
			"phd.cse.source_ports: the kernel may give ports %u-%u to sockets of its "
			"own choice, whose answers biplane would take; expected a range outside, "
			"or another one in net.ipv4.ip_local_port_range",
			KERNEL_FIRST, KERNEL_LAST);
}

static void check_provision(struct bp_reader *r, const struct bp_yaml *n)
{
	struct bp_config_phd_cse *c = &bp_config_phd_set(r->config)->cse;
	const struct bp_yaml *cse = bp_yaml_find(n, "cse");

	if (c->provision == BP_PHD_BINDING_AUTO)
		c->provision = c->http != 0 ? BP_PHD_BINDING_HTTP : BP_PHD_BINDING_COAP;
	if (c->provision != BP_PHD_BINDING_HTTP || c->http != 0 || cse == NULL ||
		!fine(cse, "provision") || !fine(cse, "http"))
		return;
	bp_error(r->messages, place(cse, "provision")->line, place(cse, "provision")->column,
		"phd.cse.provision: http is wanted and there is no phd.cse.http; expected its port "
		"with it, or coap");
}

/* Whether the second segment of a path holds it: the AE's. */
static bool ae_holds(const char *path, const char *what)
{
	const char *ae = strchr(path, '/') + 1, *at = strstr(ae, what);

	return at != NULL && at < strchr(ae, '/');
}

/*
 * A CSE lets one originator register an AE, and nobody else make anything in it; and what stands
 * in one container nobody can tell apart: names of instances say nothing of the device, so that
 * those of two devices may be the same, and the second instance would be lost.
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
			"phd.cse.path: it has no {system_id}, so that devices would share "
			"containers and nobody could tell whose an instance is; expected "
			"{system_id} in the AE or in a container, such as "
			"cse-in/ward/{system_id}/{object}");
	else if (strstr(c->originator, "{system_id}") != NULL && !ae_holds(c->path, "{system_id}"))
		bp_error(r->messages, at->line, at->column,
			"phd.cse.path: its AE, the second segment, has no {system_id} and "
			"phd.cse.originator has it, so that the device that comes first would "
			"register the AE and all others be refused; expected {system_id} in that "
			"segment, or an originator without it");
}

/* An error there may leave an interface out. */
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
			"phd: every port is in a bridge and no bridge has a host, so that devices "
			"have no address to send to; expected a port that is in no bridge, or a "
			"bridge's host");
	check_listen(r, n);
	r->config->punt.listen_udp = bp_config_phd(r->config)->listen_udp;
	r->config->punt.listen_tcp = bp_config_phd(r->config)->listen_tcp;
	check_source_ports(r, n);
	check_provision(r, n);
	check_names(r, n);
}
