/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/aggregation/schema.h"
#include "config/health/settings.h"
#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"

/*
 * Checks section aggregation after all settings are read: contradictions within an entry and
 * between entries. An entry with an error already has its message and is skipped.
 */

#define ENCAPSULATE "aggregation.encapsulate"
#define DECAPSULATE "aggregation.decapsulate"

/* An entry of either list. */
struct entry {
	const struct bp_agg_to *to;
	const struct bp_yaml *node; /* its YAML mapping */
	const char *list;           /* its path: ENCAPSULATE or DECAPSULATE */
	uint32_t i;
	uint8_t port, format;
};

struct entries {
	struct entry list[BP_AGG_RULES_MAX];
	uint32_t n;
};

/* Returns the node for a message about a setting: the setting, or the entry if it has none. */
static const struct bp_yaml *place(const struct entry *e, const char *path)
{
	const struct bp_yaml *n = bp_yaml_find(e->node, path);

	return n != NULL ? n : e->node;
}

#define ERROR(r_, e_, path_, ...)                                                                  \
	bp_error((r_)->messages, place(e_, path_)->line, place(e_, path_)->column, __VA_ARGS__)
#define WARNING(r_, e_, path_, ...)                                                                \
	bp_warning((r_)->messages, place(e_, path_)->line, place(e_, path_)->column, __VA_ARGS__)

static bool covers(const struct bp_agg_to *a, const struct bp_agg_to *b)
{
	struct bp_address first = {.family = b->address.family};

	memcpy(first.bytes, b->address.bytes, sizeof(first.bytes));
	return a->address.length <= b->address.length && bp_prefix_contains(&a->address, &first) &&
	       a->udp_first <= b->udp_first && a->udp_last >= b->udp_last;
}

/* Two prefixes overlap only when one contains the other. */
static bool meet(const struct bp_agg_to *a, const struct bp_agg_to *b)
{
	const bool a_shorter = a->address.length <= b->address.length;
	const struct bp_prefix *wide = a_shorter ? &a->address : &b->address;
	const struct bp_prefix *narrow = a_shorter ? &b->address : &a->address;
	struct bp_address first = {.family = narrow->family};

	memcpy(first.bytes, narrow->bytes, sizeof(first.bytes));
	return bp_prefix_contains(wide, &first) && a->udp_first <= b->udp_last &&
	       b->udp_first <= a->udp_last;
}

/* First match wins, so an entry behind one that covers it never matches. */
static void check_covered(struct bp_reader *r, const struct entries *all)
{
	for (uint32_t i = 0; i < all->n; i++) {
		const struct entry *e = &all->list[i];

		for (uint32_t k = 0; k < i; k++) {
			const struct entry *before = &all->list[k];

			if (before->port != e->port || !covers(before->to, e->to))
				continue;
			ERROR(r, e, "to",
				"%s[%u].to: %s[%u] on line %u matches all these destinations on "
				"this port first; expected %s",
				e->list, e->i, e->list, before->i,
				bp_messages_line(r->messages, before->node->line),
				covers(e->to, before->to)
					? "other destinations, or another port"
					: "this entry before that one, or other destinations");
			break;
		}
	}
}

/* Aggregates that arrive there would be aggregated a second time, and messages that begin like an
 * aggregate are dropped. */
static void check_both(
	struct bp_reader *r, const struct entries *encapsulate, const struct entries *decapsulate)
{
	for (uint32_t i = 0; i < decapsulate->n; i++) {
		const struct entry *d = &decapsulate->list[i];

		for (uint32_t k = 0; k < encapsulate->n; k++) {
			const struct entry *a = &encapsulate->list[k];

			if (a->port != d->port || !meet(a->to, d->to))
				continue;
			ERROR(r, d, "to",
				DECAPSULATE "[%u].to: " ENCAPSULATE
					    "[%u] on line %u matches some of these destinations "
					    "on this port; expected other destinations, or the "
					    "port where the aggregates arrive",
				d->i, a->i, bp_messages_line(r->messages, a->node->line));
			break;
		}
	}
}

static void check_format(struct bp_reader *r, const struct entry *e)
{
	if (e->format == BP_AGG_FORMAT_LIN2018 && e->to->address.family != 4)
		ERROR(r, e, "to.address",
			"%s[%u].to.address: format lin2018 supports IPv4 only; expected an IPv4 "
			"address or prefix, or format full",
			e->list, e->i);
}

static void check_source(struct bp_reader *r, const struct entry *e, const struct bp_agg_rule *rule)
{
	if (rule->from.family != 0 && rule->from.family != e->to->address.family)
		ERROR(r, e, "source.address",
			ENCAPSULATE
			"[%u].source.address: to.address is IPv%u; expected an IPv%u address",
			e->i, e->to->address.family, e->to->address.family);
}

/* Bytes of the IP and UDP headers. */
static uint32_t headers(const struct entry *e)
{
	return (e->to->address.family == 4 ? 20u : 40u) + 8u;
}

/* Returns the size of the smallest IP packet with `n` messages: in format full, with empty messages
 * of one sender, and a one-byte entry for each message after the first. */
static uint32_t min_packet(const struct entry *e, uint32_t n)
{
	if (e->format == BP_AGG_FORMAT_LIN2018)
		return headers(e) + BP_AGG_LIN2018_LEN(n);
	return headers(e) + bp_agg_full_alone(e->to->address.family, 0) + n - 1;
}

/* Returns the longest message of format full that fits alone in an IP packet of `mtu` bytes; -1:
 * none. */
static int longest(const struct entry *e, uint32_t mtu)
{
	const unsigned family = e->to->address.family;
	int most = (int)mtu - (int)(headers(e) + bp_agg_full_alone(family, 256)) + 256;

	if (most < 256) /* its length field is one byte shorter */
		most = most < 255 ? most + 1 : 255;
	return most < 0 ? -1 : most;
}

/* Returns the port with the smallest MTU that the file sets, excluding port `but`; NULL: the file
 * sets none. */
static const struct bp_config_port *min_mtu(const struct bp_config *c, uint32_t but)
{
	const struct bp_config_port *smallest = NULL;

	for (uint32_t i = 0; i < c->n_ports; i++) {
		const struct bp_config_port *p = &c->port[i];

		if (i != but && p->mtu != 0 && (smallest == NULL || p->mtu < smallest->mtu))
			smallest = p;
	}
	return smallest;
}

/* Checks that the configured messages fit in the IP packet of an aggregate. */
static void check_room(
	struct bp_reader *r, const struct entry *e, const struct bp_agg_rule *rule, uint32_t mtu)
{
	const int payload = longest(e, mtu);
	uint32_t most = rule->messages;

	while (most > 0 && min_packet(e, most) > mtu)
		most--;
	if (most < rule->messages)
		WARNING(r, e, "max_messages",
			ENCAPSULATE "[%u].max_messages: an aggregate never holds %u messages, an "
				    "IP packet of %u bytes has space for %u; expected at most %u, "
				    "or a larger mtu",
			e->i, rule->messages, mtu, most, most);
	if (e->format != BP_AGG_FORMAT_FULL || bp_yaml_find(e->node, "max_message_size") == NULL ||
		rule->max_message <= payload)
		return;
	WARNING(r, e, "max_message_size",
		ENCAPSULATE "[%u].max_message_size: an IP packet of %u bytes has space for a "
			    "message of %d, longer messages bypass aggregation; expected at most "
			    "%d, or a larger mtu",
		e->i, mtu, payload < 0 ? 0 : payload, payload < 0 ? 0 : payload);
}

static void check_sizes(struct bp_reader *r, const struct entry *e, const struct bp_agg_rule *rule)
{
	const struct bp_config_port *other = min_mtu(r->config, e->port);
	const struct bp_config_port *smallest = min_mtu(r->config, BP_MAX_PORTS);

	if (e->format == BP_AGG_FORMAT_LIN2018 && rule->max_message < BP_AGG_LIN2018_LEN(1))
		ERROR(r, e, "max_message_size",
			ENCAPSULATE "[%u].max_message_size: a message of format lin2018 has %u "
				    "bytes; expected at least %u",
			e->i, BP_AGG_LIN2018_LEN(1), BP_AGG_LIN2018_LEN(1));
	if (other != NULL && rule->mtu > other->mtu)
		WARNING(r, e, "mtu",
			ENCAPSULATE "[%u].mtu: port '%s' has an MTU of %u bytes; expected at most "
				    "%u, if aggregates leave by that port",
			e->i, other->name, other->mtu, other->mtu);
	if (rule->mtu != 0)
		check_room(r, e, rule, rule->mtu);
	else if (smallest != NULL)
		check_room(r, e, rule, smallest->mtu);
}

const struct bp_address *bp_config_own_address(
	const struct bp_config *c, const struct bp_prefix *prefix)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const char *name;
		const struct bp_config_interface *of = bp_config_interface(c, i, &name);

		for (uint32_t k = 0; of != NULL && k < of->n_addresses; k++) {
			if (bp_prefix_contains(prefix, &of->address[k].address))
				return &of->address[k].address;
		}
	}
	return NULL;
}

/* biplane's own manager of health devices does not decapsulate aggregates. */
static void check_own(struct bp_reader *r, const struct entry *e)
{
	const struct bp_config_phd *p = bp_config_phd(r->config);
	const struct bp_address *own = bp_config_own_address(r->config, &e->to->address);
	const uint32_t first = e->to->udp_first, last = e->to->udp_last;
	const char *what = NULL;
	char text[BP_ADDRESS_TEXT];

	if (!p->enabled || own == NULL)
		return;
	if (first <= p->listen_udp_port && p->listen_udp_port <= last)
		what = "health_devices.listen.udp_port";
	else if (first <= p->cse.source_ports[1] && p->cse.source_ports[0] <= last)
		what = "health_devices.cse.source_ports";
	if (what != NULL)
		ERROR(r, e, "to",
			ENCAPSULATE "[%u].to: it contains %s of %s, an address of this gateway, "
				    "which reads no aggregates; expected destinations without it",
			e->i, what, bp_address_text(own, text));
}

/* Checks that each of n senders can send to the destination. warn_of_all: warn about a prefix of
 * length 0. */
static void check_given_senders(struct bp_reader *r, const struct entry *e,
	const struct bp_prefix *senders, uint32_t n, bool warn_of_all)
{
	const struct bp_yaml *list = bp_yaml_find(e->node, "allowed_senders");
	const struct bp_yaml *at = n != 0 && list->kind == BP_YAML_LIST ? list->first : list;

	for (uint32_t i = 0; i < n; i++, at = at->next) {
		char text[BP_ADDRESS_TEXT];

		if (senders[i].family != e->to->address.family)
			bp_error(r->messages, at->line, at->column,
				"%s[%u].allowed_senders: %s is IPv%u and to.address is IPv%u; "
				"expected IPv%u addresses and prefixes",
				e->list, e->i, bp_prefix_text(&senders[i], text), senders[i].family,
				e->to->address.family, e->to->address.family);
		else if (senders[i].length == 0 && warn_of_all)
			bp_warning(r->messages, at->line, at->column,
				"%s[%u].allowed_senders: %s lets any host that reaches this port "
				"spoof any sender; expected the prefixes of the senders",
				e->list, e->i, bp_prefix_text(&senders[i], text));
	}
}

static void check_encapsulate(
	struct bp_reader *r, const struct entry *e, const struct bp_agg_rule *rule)
{
	check_format(r, e);
	check_source(r, e, rule);
	check_sizes(r, e, rule);
	check_own(r, e);
	check_given_senders(r, e, rule->senders, rule->n_senders, false);
}

static void check_decapsulate(
	struct bp_reader *r, const struct entry *e, const struct bp_disagg_rule *rule)
{
	check_format(r, e);
	if (rule->n_senders == 0)
		ERROR(r, e, "allowed_senders",
			DECAPSULATE "[%u].allowed_senders: the list is empty, so every aggregate "
				    "would be dropped; expected the prefixes of the senders, such "
				    "as [10.0.0.0/24]",
			e->i);
	check_given_senders(r, e, rule->senders, rule->n_senders, true);
}

/* Returns the elements of a list as read, with or without errors; NULL: none. */
static const struct bp_yaml *elements(const struct bp_reader *r, const char *list)
{
	const struct bp_yaml *n = bp_yaml_find(r->root, list);

	return n != NULL && !n->bad && n->kind == BP_YAML_LIST ? n->first : NULL;
}

static void read_encapsulate(struct bp_reader *r, struct entries *out)
{
	const struct bp_agg_rules *rules = &bp_config_aggregation(r->config)->rules;
	const struct bp_yaml *node = elements(r, ENCAPSULATE);

	out->n = 0;
	for (uint32_t i = 0; node != NULL && i < rules->n_aggregate; node = node->next, i++) {
		const struct bp_agg_rule *rule = &rules->aggregate[i];
		const struct entry e = {&rule->to, node, ENCAPSULATE, i, rule->port, rule->format};

		if (node->faulty)
			continue;
		check_encapsulate(r, &e, rule);
		out->list[out->n++] = e;
	}
}

static void read_decapsulate(struct bp_reader *r, struct entries *out)
{
	const struct bp_agg_rules *rules = &bp_config_aggregation(r->config)->rules;
	const struct bp_yaml *node = elements(r, DECAPSULATE);

	out->n = 0;
	for (uint32_t i = 0; node != NULL && i < rules->n_disaggregate; node = node->next, i++) {
		const struct bp_disagg_rule *rule = &rules->disaggregate[i];
		const struct entry e = {&rule->to, node, DECAPSULATE, i, rule->port, rule->format};

		if (node->faulty)
			continue;
		check_decapsulate(r, &e, rule);
		out->list[out->n++] = e;
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

void bp_check_aggregation(struct bp_reader *r)
{
	struct entries encapsulate, decapsulate;
	struct bp_config_aggregation *c = bp_config_aggregation_set(r->config);

	c->pacing_queue_len = rounded_up(c->pacing_queue_len);
	read_encapsulate(r, &encapsulate);
	read_decapsulate(r, &decapsulate);
	check_covered(r, &encapsulate);
	check_covered(r, &decapsulate);
	check_both(r, &encapsulate, &decapsulate);
}
