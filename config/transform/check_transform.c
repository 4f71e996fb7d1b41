/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/health/settings.h"
#include "config/transform/check_transform.h"

#include "config/transform/settings.h"

/*
 * Checks section transform after all settings are read: contradictions within an entry and between
 * entries. An entry with an error already has its message and is skipped.
 */

static bool covers(const struct bp_transform_rule *a, const struct bp_transform_rule *b)
{
	struct bp_address first = {.family = b->to.family};

	if (a->port != b->port || a->udp != b->udp || a->to.family == 0)
		return a->port == b->port && a->udp == b->udp;
	memcpy(first.bytes, b->to.bytes, sizeof(first.bytes));
	return b->to.family != 0 && a->to.length <= b->to.length &&
	       bp_prefix_contains(&a->to, &first);
}

/* First match wins, so an entry behind one that covers it never matches. */
static void check_covered(struct bp_reader *r, const struct bp_transform_entry *all, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint32_t k = 0;

		while (k < i && !covers(all[k].rule, all[i].rule))
			k++;
		if (k < i)
			BP_AT_ERROR(r, bp_place(all[i].node, "to"),
				BP_ENTRY
				": " BP_ENTRY
				" on line %u matches all these readings first; expected %s",
				all[i].i, all[k].i,
				bp_messages_line(r->messages, all[k].node->line),
				covers(all[i].rule, all[k].rule)
					? "another port, UDP port or destination"
					: "this entry before that one, or other destinations");
	}
}

void bp_check_receiver(struct bp_reader *r, const struct bp_transform_entry *e,
	const struct bp_transform_receiver *to, const struct bp_yaml *node, const char *path)
{
	const bool routes = bp_config_port_routes(r->config, e->rule->port);
	const char *port = r->config->port[e->rule->port].name;

	if ((to->flags & BP_TRANSFORM_REFLECT) &&
		(to->flags & (BP_TRANSFORM_ADDRESS | BP_TRANSFORM_MAC)))
		BP_AT_ERROR(r, bp_place(node, "reply_to_sender"),
			"%s.reply_to_sender: replies go to the sender's addresses; expected no %s "
			"in this receiver",
			path, to->flags & BP_TRANSFORM_ADDRESS ? "address" : "mac");
	else if (!routes && (to->flags & BP_TRANSFORM_ADDRESS) && !(to->flags & BP_TRANSFORM_MAC))
		BP_AT_WARNING(r, bp_place(node, "address"),
			"%s.address: port '%s' is in a bridge, which resolves no MAC addresses, so "
			"results keep the reading's; expected mac in this receiver",
			path, port);
	else if (routes && (to->flags & BP_TRANSFORM_MAC))
		BP_AT_WARNING(r, bp_place(node, "mac"),
			"%s.mac: port '%s' is routed and resolves MAC addresses itself, so this "
			"one is "
			"not used; expected mac only if the port is in a bridge",
			path, port);
}

/* Datagrams to biplane's own manager of health devices are not transformed. */
static void check_own(struct bp_reader *r, const struct bp_transform_entry *e)
{
	static const struct bp_prefix any[2] = {{.family = 4}, {.family = 6}};
	const struct bp_config_phd *p = bp_config_phd(r->config);
	const uint16_t udp = e->rule->udp;
	const struct bp_address *own = NULL;
	const char *what = NULL;
	char text[BP_ADDRESS_TEXT];

	if (e->rule->to.family != 0)
		own = bp_config_own_address(r->config, &e->rule->to);
	for (unsigned i = 0; e->rule->to.family == 0 && own == NULL && i < 2; i++)
		own = bp_config_own_address(r->config, &any[i]);
	if (!p->enabled || own == NULL)
		return;
	if (udp == p->listen_udp_port)
		what = "health_devices.listen.udp_port";
	else if (p->cse.source_ports[0] <= udp && udp <= p->cse.source_ports[1])
		what = "health_devices.cse.source_ports";
	if (what != NULL)
		BP_AT_ERROR(r, bp_place(e->node, "udp_port"),
			BP_ENTRY ".udp_port: it is %s of %s, an address of this gateway; expected "
				 "another port, or destinations (to) without that address",
			e->i, what, bp_address_text(own, text));
}

static void check_entry(struct bp_reader *r, const struct bp_transform_entry *e)
{
	const struct bp_transform_rule *rule = e->rule;
	const struct bp_yaml *receiver = bp_yaml_find(e->node, "receiver");
	char path[64];

	snprintf(path, sizeof(path), BP_ENTRY ".receiver", e->i);
	if (receiver != NULL)
		bp_check_receiver(r, e, &rule->otherwise, receiver, path);
	if (rule->to.family != 0 && (rule->otherwise.flags & BP_TRANSFORM_ADDRESS) &&
		rule->otherwise.family != rule->to.family)
		BP_AT_ERROR(r, bp_place(receiver, "address"),
			"%s.address: readings to IPv%u addresses stay IPv%u; expected an IPv%u "
			"address",
			path, rule->to.family, rule->to.family, rule->to.family);
	check_own(r, e);
	bp_check_sources(r, e);
}

/* Returns the elements as read, with or without errors; NULL: none. */
static const struct bp_yaml *elements(const struct bp_reader *r)
{
	const struct bp_yaml *n = bp_yaml_find(r->root, "transform.entries");

	return n != NULL && !n->bad && n->kind == BP_YAML_LIST ? n->first : NULL;
}

/* A source without receivers takes one row. */
static uint32_t count_rows(const struct bp_transform_config *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_sources; i++)
		n += t->source[i].n != 0 ? t->source[i].n : 1;
	return n;
}

static void check_room(struct bp_reader *r)
{
	const struct bp_yaml *given = bp_yaml_find(r->root, "transform.max_matrices");
	const struct bp_yaml *list = bp_yaml_find(r->root, "transform.entries");
	const uint32_t rows = count_rows(&bp_config_transform(r->config)->entries);
	const struct bp_yaml *at = given != NULL ? given : list;

	if (at == NULL || at->bad || rows <= bp_config_transform(r->config)->max_matrices)
		return;
	BP_AT_ERROR(r, at,
		"transform.max_matrices: %u is too small for the %u receivers in all entries; "
		"expected at least %u (at most %u)",
		bp_config_transform(r->config)->max_matrices, rows, rows,
		BP_TRANSFORM_MATRICES_MAX);
}

static void check_loader(struct bp_reader *r)
{
	const struct bp_transform_config *t = &bp_config_transform(r->config)->entries;
	const struct bp_yaml *loader = bp_yaml_find(r->root, "transform.matrix_loader");
	const struct bp_yaml *n = elements(r);
	bool any = false;

	for (uint32_t i = 0; i < t->n_rules && n != NULL; i++, n = n->next) {
		any = any || t->rule[i].loader;
		if (t->rule[i].loader && loader == NULL)
			BP_AT_WARNING(r, bp_place(n, "matrix_loader"),
				BP_ENTRY
				".matrix_loader: there is no section transform.matrix_loader, "
				"so no matrices can be loaded; expected it, such as "
				"matrix_loader: {address: 127.0.0.1}",
				i);
	}
	if (loader != NULL && !loader->faulty && !any)
		bp_warning(r->messages, loader->key->line, loader->key->column,
			"transform.matrix_loader: no entry has matrix_loader: true, so no matrices "
			"can be loaded; expected it in an entry");
}

void bp_check_transform(struct bp_reader *r)
{
	const struct bp_transform_config *t = &bp_config_transform(r->config)->entries;
	struct bp_transform_entry right[BP_TRANSFORM_RULES_MAX];
	const struct bp_yaml *node = elements(r);
	uint32_t n = 0;

	for (uint32_t i = 0; node != NULL && i < t->n_rules; node = node->next, i++) {
		if (node->faulty)
			continue;
		right[n] = (struct bp_transform_entry){&t->rule[i], node, i};
		check_entry(r, &right[n++]);
	}
	check_covered(r, right, n);
	check_room(r);
	check_loader(r);
}
