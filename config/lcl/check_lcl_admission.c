/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/lcl/check_lcl.h"

/* Checks that the ports of lcl.ports keep the latency bound of each flow
 * (services/lcl/admission.h). */

/* The flows of one output port, and their entries. */
struct batch {
	const struct bp_lcl_port *port;
	uint32_t best_effort_max, n;
	struct bp_lcl_flow flow[BP_LCL_FLOWS_MAX];
	uint32_t entry[BP_LCL_FLOWS_MAX];
};

static void collect_flows(struct batch *b, const struct bp_config *c, uint32_t out)
{
	const uint32_t mtu = c->port[bp_config_lcl(c)->port[out].port].mtu;

	b->port = &bp_config_lcl(c)->port[out];
	b->best_effort_max = (mtu != 0 ? mtu : BP_LCL_MTU_DEFAULT) + BP_LCL_FRAME_OVERHEAD;
	b->n = 0;
	for (uint32_t i = 0; i < bp_config_lcl(c)->rules.n_flows; i++) {
		if (bp_config_lcl(c)->rules.flow[i].out != out)
			continue;
		b->entry[b->n] = i;
		b->flow[b->n++] = bp_config_lcl(c)->rules.flow[i];
	}
}

void bp_config_lcl_admit(const struct bp_config *c, struct bp_lcl_admitted *out)
{
	static _Thread_local struct bp_lcl_admitted of_port[BP_LCL_FLOWS_MAX];
	static _Thread_local struct batch b;

	for (uint32_t port = 0; port < bp_config_lcl(c)->n_ports; port++) {
		collect_flows(&b, c, port);
		bp_lcl_admit(b.port, b.best_effort_max, b.flow, b.n, of_port);
		for (uint32_t i = 0; i < b.n; i++)
			out[b.entry[i]] = of_port[i];
	}
}

/* Reports why the bound is not kept, with the numbers and the remedy. `with`: the other flows
 * involved. */
static void explain_rejection(struct bp_reader *r, const struct bp_lcl_entry *e,
	const struct batch *b, const struct bp_lcl_admitted *a, const char *with)
{
	const char *name = e->flow->name, *port = r->config->port[b->port->port].name;
	const unsigned long long need = a->need, have = a->have, tau = b->port->tau_ns;

	switch (a->why) {
	case BP_LCL_RATE:
		BP_AT_ERROR(r, bp_place(e->node, "rate"),
			"lcl.flows[%u] '%s': %sthe average rate of all flows is %llu bps, and port "
			"'%s' has %llu bps; expected lower rates",
			e->i, name, with, need, port, have);
		break;
	case BP_LCL_BURST:
		BP_AT_ERROR(r, bp_place(e->node, "burst"),
			"lcl.flows[%u] '%s': %sa slot of %llu ns of port '%s' can receive %llu "
			"bytes at hop %u, and holds %llu; expected smaller bursts, more queues, "
			"fewer hops, or a longer slot",
			e->i, name, with, tau, port, need, a->hop, have);
		break;
	case BP_LCL_QUEUE_DEPTH:
		BP_AT_ERROR(r, bp_place(e->node, "burst"),
			"lcl.flows[%u] '%s': %sa slot of port '%s' can receive %llu frames at hop "
			"%u, and a slot queue holds %llu; expected a larger slot_queue_len, or "
			"smaller bursts",
			e->i, name, with, port, need, a->hop, have);
		break;
	case BP_LCL_QUEUES:
		BP_AT_ERROR(r, bp_place(e->node, "latency_budget"),
			"lcl.flows[%u] '%s': %sat hop %u its frames can need %llu queues of %llu "
			"ns, and port '%s' has %llu; expected a smaller latency_budget, more "
			"queues, or a longer slot",
			e->i, name, with, a->hop, need, tau, port, have);
		break;
	default:
		BP_AT_ERROR(r, bp_place(e->node, "latency_budget"),
			"lcl.flows[%u] '%s': %sthe nodes before the last one can need %llu ns, and "
			"latency_budget is %llu ns; expected a larger latency_budget, or smaller "
			"bursts of the other flows",
			e->i, name, with, need, have);
	}
}

/* Checks each flow alone. Returns true when all bounds are kept. */
static bool check_alone(struct bp_reader *r, const struct bp_lcl_entry *all, const struct batch *b)
{
	struct bp_lcl_admitted a;
	bool kept = true;

	for (uint32_t i = 0; i < b->n; i++) {
		bp_lcl_admit(b->port, b->best_effort_max, &b->flow[i], 1, &a);
		if (a.why == BP_LCL_KEPT)
			continue;
		explain_rejection(r, &all[b->entry[i]], b, &a, "");
		kept = false;
	}
	return kept;
}

/* Returns the first of flows[0..n) whose bound is not kept; n: all are kept. */
static uint32_t first_refused(const struct batch *b, uint32_t n, struct bp_lcl_admitted *out)
{
	uint32_t i = 0;

	bp_lcl_admit(b->port, b->best_effort_max, b->flow, n, out);
	while (i < n && out[i].why == BP_LCL_KEPT)
		i++;
	return i;
}

/* Checks all flows together. An additional flow never improves the bounds, so a binary search finds
 * the first flow that breaks one. */
static void check_together(
	struct bp_reader *r, const struct bp_lcl_entry *all, const struct batch *b)
{
	static _Thread_local struct bp_lcl_admitted a[BP_LCL_FLOWS_MAX];
	uint32_t kept = 1, refused = b->n, i;
	char with[96];

	if (b->n < 2 || first_refused(b, b->n, a) == b->n)
		return;
	while (refused - kept > 1) {
		const uint32_t n = kept + (refused - kept) / 2;

		if (first_refused(b, n, a) == n)
			kept = n;
		else
			refused = n;
	}
	i = first_refused(b, refused, a);
	if (a[i].why == BP_LCL_RATE) /* all flows have this reason */
		i = refused - 1;
	snprintf(with, sizeof(with), "with '%s' and the flows before it, ",
		b->flow[refused - 1].name);
	explain_rejection(r, &all[b->entry[i]], b, &a[i], with);
}

void bp_check_lcl_admission(struct bp_reader *r, const struct bp_lcl_entry *all)
{
	static _Thread_local struct batch b;

	for (uint32_t port = 0; port < bp_config_lcl(r->config)->n_ports; port++) {
		collect_flows(&b, r->config, port);
		if (check_alone(r, all, &b))
			check_together(r, all, &b);
	}
}
