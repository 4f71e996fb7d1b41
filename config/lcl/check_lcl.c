/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/lcl/check_lcl.h"
#include "services/lcl/scheduler.h"
#include "proto/lcl/lcl.h"

/*
 * Checks section lcl after all of it is read: defaults that depend on other settings, and
 * contradictions within an entry and between entries. An entry with an error already has its
 * message and is skipped.
 */

#define FRAME_DEFAULT 1518u
#define LINK_MIN_FRAME 84u /* bytes of the shortest frame on the link: 64, preamble and gap */
/* Overhead of a flow's frame on the link, in addition to its length without checksum. */
#define LINK_OVERHEAD (BP_LCL_LABEL + BP_LCL_LINK_OVERHEAD)

/* Returns the elements of lcl.ports or lcl.flows as read, with or without errors; NULL: none. */
static const struct bp_yaml *elements(const struct bp_reader *r, const char *list)
{
	const struct bp_yaml *n = bp_yaml_find(r->root, list);

	return n != NULL && !n->bad && n->kind == BP_YAML_LIST ? n->first : NULL;
}

static void check_ethertype(struct bp_reader *r)
{
	static const struct {
		uint16_t type;
		const char *what;
	} taken[] = {{0x0800, "IPv4's"}, {0x0806, "ARP's"}, {0x86dd, "IPv6's"},
		{0x8100, "a VLAN tag's"}, {0x88a8, "a VLAN tag's"}};
	const struct bp_yaml *at = bp_yaml_find(r->root, "lcl.ethertype");

	for (size_t i = 0; at != NULL && !at->bad && i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (taken[i].type == bp_config_lcl(r->config)->ethertype)
			BP_AT_ERROR(r, at,
				"lcl.ethertype: 0x%04x is %s; expected an unused EtherType, such "
				"as "
				"0x88b5",
				taken[i].type, taken[i].what);
	}
}

/* Queue sizes are powers of two. */
static uint32_t rounded_up(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

/* The number of shortest frames that a slot can send, plus the frame that ends it. */
static uint32_t frames_per_slot(const struct bp_lcl_port *p)
{
	const uint64_t bytes = p->rate_bps / 8 * p->tau_ns / 1000000000;
	const uint64_t n = bytes / LINK_MIN_FRAME + 1;

	return n < 16 ? 16 : n > 65536 ? 65536 : (uint32_t)n;
}

static void check_port(struct bp_reader *r, uint32_t i, const struct bp_yaml *node)
{
	struct bp_lcl_port *p = &bp_config_lcl_set(r->config)->port[i];
	uint32_t k = 0;

	p->handover = rounded_up(p->handover);
	if (p->queue_frames == 0)
		p->queue_frames = frames_per_slot(p);
	while (k < i && bp_config_lcl(r->config)->port[k].port != p->port)
		k++;
	if (k < i)
		BP_AT_ERROR(r, bp_place(node, "port"),
			"lcl.ports[%u].port: port '%s' is in lcl.ports[%u] already; expected each "
			"port once",
			i, r->config->port[p->port].name, k);
	if (p->guard_ns >= p->tau_ns)
		BP_AT_ERROR(r, bp_place(node, "guard_time"),
			"lcl.ports[%u].guard_time: no time is left for best effort in a slot of "
			"%llu ns; expected less than slot",
			i, (unsigned long long)p->tau_ns);
}

/* Returns whether all of lcl.ports was read without error; the checks of flows depend on it. */
static bool check_ports(struct bp_reader *r)
{
	const struct bp_yaml *list = bp_yaml_find(r->root, "lcl.ports");
	const struct bp_yaml *node = elements(r, "lcl.ports");
	bool good = list == NULL || !list->faulty;

	for (uint32_t i = 0; node != NULL && i < bp_config_lcl(r->config)->n_ports;
		node = node->next, i++) {
		if (!node->faulty)
			check_port(r, i, node);
		good = good && !node->faulty;
	}
	return good;
}

static const struct bp_config_port *port_of(const struct bp_config *c, const struct bp_lcl_flow *f)
{
	return &c->port[bp_config_lcl(c)->port[f->out].port];
}

/* Largest frame that can also carry a label, in bytes. */
static uint32_t labelled_most(const struct bp_config_port *p)
{
	return (p->mtu != 0 ? p->mtu : BP_LCL_MTU_DEFAULT) + BP_LCL_FRAME_OVERHEAD - BP_LCL_LABEL;
}

/* Default frame size of a flow, in bytes: the limit of port and burst. */
static uint32_t frame_allowed(const struct bp_config *c, const struct bp_lcl_flow *f)
{
	const uint32_t fits = labelled_most(port_of(c, f));
	const uint32_t most = fits < FRAME_DEFAULT ? fits : FRAME_DEFAULT;

	return f->burst - LINK_OVERHEAD < most ? f->burst - LINK_OVERHEAD : most;
}

static void complete(const struct bp_config *c, const struct bp_lcl_entry *e)
{
	struct bp_lcl_flow *f = e->flow;

	if (f->id == 0)
		f->id = (uint16_t)(e->i + 1);
	if (f->peak_bps == 0)
		f->peak_bps = bp_config_lcl(c)->port[f->out].rate_bps;
	if (f->frame == 0)
		f->frame = frame_allowed(c, f);
}

static void check_frame(struct bp_reader *r, const struct bp_lcl_entry *e)
{
	const struct bp_lcl_flow *f = e->flow;
	const struct bp_config_port *port = port_of(r->config, f);
	const uint32_t most = labelled_most(port);

	if (f->burst < f->frame + LINK_OVERHEAD)
		BP_AT_ERROR(r, bp_place(e->node, "burst"),
			"lcl.flows[%u].burst: a frame of %u bytes takes %u bytes on the link; "
			"expected at least that burst, or a smaller max_frame_size",
			e->i, f->frame, f->frame + LINK_OVERHEAD);
	if (port->mtu != 0 && f->frame > most)
		BP_AT_ERROR(r, bp_place(e->node, "max_frame_size"),
			"lcl.flows[%u].max_frame_size: with the label of %u bytes the frame "
			"exceeds "
			"the mtu of port '%s', %u; expected at most %u, or a larger mtu",
			e->i, BP_LCL_LABEL, port->name, port->mtu, most);
	else if (f->frame > most && f->burst >= f->frame + LINK_OVERHEAD)
		BP_AT_WARNING(r, bp_place(e->node, "max_frame_size"),
			"lcl.flows[%u].max_frame_size: port '%s' has no mtu in the file; with an "
			"mtu of %u, frames of more than %u bytes cannot carry a label and are sent "
			"as best effort",
			e->i, port->name, BP_LCL_MTU_DEFAULT, most);
	if (f->rate_bps > f->peak_bps)
		BP_AT_ERROR(r, bp_place(e->node, "peak_rate"),
			"lcl.flows[%u].peak_rate: it is below the flow's average rate; expected "
			"at least rate",
			e->i);
}

/* Names and numbers of entries are unique. */
static void check_unique(struct bp_reader *r, const struct bp_lcl_entry *all, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(all[i].flow->name, all[k].flow->name) == 0)
				BP_AT_ERROR(r, bp_place(all[i].node, "name"),
					"lcl.flows[%u].name: flow '%s' is named twice; expected a "
					"unique name (the other is on line %u)",
					all[i].i, all[i].flow->name,
					bp_messages_line(r->messages, all[k].node->line));
			if (all[i].flow->id == all[k].flow->id)
				BP_AT_ERROR(r, bp_place(all[i].node, "id"),
					"lcl.flows[%u].id: lcl.flows[%u] has id %u, too; expected "
					"a "
					"unique id",
					all[i].i, all[k].i, all[i].flow->id);
		}
	}
}

/* Returns whether the output port of the flow is known. */
static bool check_out(struct bp_reader *r, const struct bp_lcl_entry *e)
{
	const bool given = bp_yaml_find(e->node, "output_port") != NULL;

	if (bp_config_lcl(r->config)->n_ports == 0)
		BP_AT_ERROR(r, e->node,
			"lcl.flows[%u]: lcl.ports is empty; expected the flow's output port in "
			"lcl.ports",
			e->i);
	else if (!given && bp_config_lcl(r->config)->n_ports > 1)
		BP_AT_ERROR(r, e->node,
			"lcl.flows[%u] has no 'output_port'; expected one of the %u ports in "
			"lcl.ports",
			e->i, bp_config_lcl(r->config)->n_ports);
	return given || bp_config_lcl(r->config)->n_ports == 1;
}

static void check_flows(struct bp_reader *r)
{
	static _Thread_local struct bp_lcl_entry all[BP_LCL_FLOWS_MAX];
	struct bp_lcl_rules *rules = &bp_config_lcl_set(r->config)->rules;
	const struct bp_yaml *node = elements(r, "lcl.flows");
	const uint32_t errors = r->messages->errors;
	uint32_t n = 0;

	for (uint32_t i = 0; node != NULL && i < rules->n_flows; node = node->next, i++) {
		const struct bp_lcl_entry e = {&rules->flow[i], node, i};

		if (node->faulty || !check_out(r, &e))
			continue;
		complete(r->config, &e);
		check_frame(r, &e);
		all[n++] = e;
	}
	check_unique(r, all, n);
	bp_check_lcl_matches(r, all, n);
	if (n == rules->n_flows && r->messages->errors == errors)
		bp_check_lcl_admission(r, all);
	if (rules->n_flows > bp_config_lcl(r->config)->max_flows)
		BP_AT_WARNING(r, bp_place(r->root, "lcl.max_flows"),
			"lcl.max_flows: %u flows are given, and some have no statistics of their "
			"own; expected at least that number",
			rules->n_flows);
}

void bp_check_lcl(struct bp_reader *r)
{
	check_ethertype(r);
	if (check_ports(r))
		check_flows(r);
}
