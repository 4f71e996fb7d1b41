/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/top/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/text.h"

static const struct bp_top_column port_columns[] = {{"PORT", BP_TOP_AS_TEXT, 0},
	{"LINK", BP_TOP_AS_TEXT, 1}, {"RX-PKT/S", BP_TOP_AS_SCALED, 0},
	{"RX-BIT/S", BP_TOP_AS_SCALED, 1}, {"TX-PKT/S", BP_TOP_AS_SCALED, 2},
	{"TX-BIT/S", BP_TOP_AS_SCALED, 3}, {"TX-DROPS/S", BP_TOP_AS_SCALED, 4},
	{"NIC-DROPS/S", BP_TOP_AS_SCALED, 5}, {NULL, BP_TOP_AS_TEXT, 0}};
static const struct bp_top_column worker_columns[] = {{"WORKER", BP_TOP_AS_INTEGER, 0},
	{"BUSY-%", BP_TOP_AS_PERCENT, 1}, {"SLEEP-%", BP_TOP_AS_PERCENT, 2},
	{"RX-PKT/S", BP_TOP_AS_SCALED, 3}, {"TX-PKT/S", BP_TOP_AS_SCALED, 4},
	{"DROPS/S", BP_TOP_AS_SCALED, 5}, {"PUBLISHES/S", BP_TOP_AS_SCALED, 6},
	{"ALARMS/S", BP_TOP_AS_SCALED, 7}, {NULL, BP_TOP_AS_TEXT, 0}};
static const struct bp_top_column rule_columns[] = {{"RULE", BP_TOP_AS_TEXT, 0},
	{"TOPIC", BP_TOP_AS_TEXT, 1}, {"MATCHES/S", BP_TOP_AS_SCALED, 0},
	{"RAISED/S", BP_TOP_AS_SCALED, 1}, {"CLEARED/S", BP_TOP_AS_SCALED, 2},
	{"VALUE-MISSING/S", BP_TOP_AS_SCALED, 3}, {"MATCHED", BP_TOP_AS_INTEGER, 4},
	{"RAISED", BP_TOP_AS_INTEGER, 5}, {NULL, BP_TOP_AS_TEXT, 0}};
static const struct bp_top_column connection_columns[] = {{"CLIENT", BP_TOP_AS_TEXT, 0},
	{"BROKER", BP_TOP_AS_TEXT, 1}, {"STATE", BP_TOP_AS_TEXT, 2},
	{"PUBLISHES/S", BP_TOP_AS_SCALED, 0}, {"PUBLISHES", BP_TOP_AS_INTEGER, 1},
	{"IDLE-MS", BP_TOP_AS_INTEGER, 2}, {NULL, BP_TOP_AS_TEXT, 0}};
static const struct bp_top_column node_columns[] = {{"NODE", BP_TOP_AS_TEXT, 0},
	{"WORKER", BP_TOP_AS_INTEGER, 0}, {"CALLS/S", BP_TOP_AS_SCALED, 1},
	{"PKT/S", BP_TOP_AS_SCALED, 2}, {"PKT/CALL", BP_TOP_AS_SCALED, 3},
	{"CYCLES/PKT", BP_TOP_AS_SCALED, 4}, {"CYCLES-%", BP_TOP_AS_PERCENT, 5},
	{NULL, BP_TOP_AS_TEXT, 0}};

const struct bp_top_section bp_top_section[BP_TOP_SECTIONS] = {
	[BP_TOP_PORTS] = {"ports", port_columns, 2},
	[BP_TOP_WORKERS] = {"workers", worker_columns, 1},
	[BP_TOP_RULES] = {"rules", rule_columns, 2},
	[BP_TOP_CONNECTIONS] = {"connections", connection_columns, 3},
	[BP_TOP_NODES] = {"nodes", node_columns, 6},
};

/* Two readings and the time between them. */
struct interval {
	const struct bp_top_sample *a, *b;
	double seconds;
	bool same_run; /* of the data plane: its counters belong together */
};

static struct interval interval_of(const struct bp_top *t)
{
	const struct bp_top_sample *b = &t->sample[t->now], *a = &t->sample[1 - t->now];
	struct interval i = {.a = a, .b = b, .seconds = NAN};

	if (t->samples >= 2 && b->mono_ns > a->mono_ns) {
		i.seconds = (double)(b->mono_ns - a->mono_ns) / 1e9;
		i.same_run = a->data.started_ns == b->data.started_ns;
	}
	return i;
}

/* NAN if a counter began again, or there is one reading. */
static double rate(const struct interval *i, uint64_t a, uint64_t b)
{
	return i->same_run && b >= a ? (double)(b - a) / i->seconds : NAN;
}

static struct bp_top_row *add_row(struct bp_top_table *t)
{
	if (t->n == t->size) {
		const uint32_t size = t->size != 0 ? 2 * t->size : 64;
		struct bp_top_row *more = realloc(t->row, size * sizeof(*more));

		if (more == NULL)
			return NULL;
		t->row = more;
		t->size = size;
	}
	memset(&t->row[t->n], 0, sizeof(t->row[0]));
	return &t->row[t->n++];
}

/* Bytes of other systems: invalid UTF-8 is replaced, control characters are not printed. */
static void set_text(struct bp_top_row *r, unsigned at, const char *text, size_t max)
{
	json_t *clean = bp_text_json(text, max);
	const char *from = json_string_value(clean);
	char *to = r->text[at];
	size_t n = 0;

	for (; from != NULL && *from != '\0' && n < BP_TOP_TEXT - 5; from++) {
		const bool control =
			(unsigned char)*from < 0x20 || *from == 0x7f ||
			((unsigned char)from[0] == 0xc2 && (unsigned char)from[1] >= 0x80 &&
				(unsigned char)from[1] < 0xa0);

		to[n++] = control ? '?' : *from;
		from += control && (unsigned char)*from == 0xc2;
	}
	/* a character that was cut */
	while (n > 0 && from != NULL && ((unsigned char)*from & 0xc0) == 0x80 &&
		((unsigned char)to[n - 1] & 0x80))
		if (((unsigned char)to[--n] & 0xc0) == 0xc0)
			break;
	to[n] = '\0';
	json_decref(clean);
}

static void fill_ports(const struct interval *i, struct bp_top_table *out)
{
	for (unsigned p = 0; p < i->b->n_ports; p++) {
		const struct bp_top_port *a = &i->a->port[p], *b = &i->b->port[p];
		struct bp_top_row *r = add_row(out);

		if (r == NULL)
			return;
		set_text(r, 0, b->name, sizeof(b->name));
		set_text(r, 1, b->link_up ? "up" : "down", 5);
		r->number[0] = rate(i, a->sum.rx_packets, b->sum.rx_packets);
		r->number[1] = rate(i, a->sum.rx_bytes, b->sum.rx_bytes) * 8;
		r->number[2] = rate(i, a->sum.tx_packets, b->sum.tx_packets);
		r->number[3] = rate(i, a->sum.tx_bytes, b->sum.tx_bytes) * 8;
		r->number[4] = rate(i, a->sum.tx_dropped, b->sum.tx_dropped);
		r->number[5] = rate(i, a->nic_dropped, b->nic_dropped);
	}
}

static void fill_workers(const struct interval *i, struct bp_top_table *out)
{
	for (unsigned w = 0; w < i->b->n_workers; w++) {
		const struct bp_top_worker *a = &i->a->worker[w], *b = &i->b->worker[w];
		struct bp_top_row *r = add_row(out);

		if (r == NULL)
			return;
		r->number[0] = w;
		r->number[1] = rate(i, a->busy_ns, b->busy_ns) / 1e7;
		r->number[2] = rate(i, a->sleep_ns, b->sleep_ns) / 1e7;
		/* one walk in 16 is measured */
		if (r->number[1] > 100)
			r->number[1] = 100;
		if (r->number[2] > 100)
			r->number[2] = 100;
		r->number[3] = rate(i, a->rx, b->rx);
		r->number[4] = rate(i, a->tx, b->tx);
		r->number[5] = rate(i, a->drops, b->drops);
		r->number[6] = rate(i, a->publishes, b->publishes);
		r->number[7] = rate(i, a->alarms, b->alarms);
	}
}

static void fill_rules(
	const struct interval *i, const struct bp_ruleset *rules, struct bp_top_table *out)
{
	for (uint32_t n = 0; n < i->b->n_rules && rules != NULL && n < rules->n_rules; n++) {
		const struct bp_rule *rule = bp_ruleset_rule(rules, n);
		const struct bp_top_rule none = {0}, *b = &i->b->rule[n];
		const bool known = n < i->a->n_rules && i->a->rule[n].uid == b->uid;
		const struct bp_top_rule *a = known ? &i->a->rule[n] : &none;
		struct interval of = *i;
		struct bp_top_row *r = add_row(out);

		if (r == NULL)
			return;
		of.same_run = i->same_run && known;
		set_text(r, 0, rule->name, sizeof(rule->name));
		set_text(r, 1, bp_rules_filter(rules, rule), rule->filter_len);
		r->number[0] = rate(&of, a->matched, b->matched);
		r->number[1] = rate(&of, a->raised, b->raised);
		r->number[2] = rate(&of, a->cleared, b->cleared);
		r->number[3] = rate(&of, a->no_value, b->no_value);
		r->number[4] = (double)b->matched;
		r->number[5] = (double)b->raised;
	}
}

static void fill_nodes(const struct interval *i, struct bp_top_table *out)
{
	double cycles = 0;

	for (uint32_t n = 0; n < i->b->n_nodes; n++) {
		const struct bp_top_node *b = &i->b->node[n];
		const struct bp_top_node none = {0};
		const bool known = n < i->a->n_nodes && i->a->node[n].worker == b->worker &&
				   strcmp(i->a->node[n].name, b->name) == 0;
		const struct bp_top_node *a = known ? &i->a->node[n] : &none;
		struct interval of = *i;
		struct bp_top_row *r;

		of.same_run = i->same_run && known;
		if (rate(&of, a->calls, b->calls) == 0)
			continue;
		r = add_row(out);
		if (r == NULL)
			return;
		set_text(r, 0, b->name, sizeof(b->name));
		r->number[0] = b->worker;
		r->number[1] = rate(&of, a->calls, b->calls);
		r->number[2] = rate(&of, a->packets, b->packets);
		r->number[3] = r->number[2] / r->number[1];
		r->number[5] = rate(&of, a->cycles, b->cycles);
		r->number[4] = r->number[2] > 0 ? r->number[5] / r->number[2] : NAN;
		cycles += isnan(r->number[5]) ? 0 : r->number[5];
	}
	for (uint32_t n = 0; n < out->n; n++)
		out->row[n].number[5] *= cycles > 0 ? 100 / cycles : NAN;
}

static void fill_connections(const struct bp_top *t, const struct bp_top_order *order,
	unsigned rows, struct bp_top_table *out)
{
	static const enum bp_top_connection_order by[] = {
		BP_TOP_BY_RATE, BP_TOP_BY_PUBLISHES, BP_TOP_BY_IDLE};
	const struct bp_top_column *c = &connection_columns[order->column];
	const unsigned n = rows < BP_TOP_ROWS_MAX ? rows : BP_TOP_ROWS_MAX;
	struct bp_top_connection *list = malloc(n * sizeof(*list) + 1);
	char address[BP_TEXT_ADDRESS];
	unsigned have;

	out->total = t->sample[t->now].connections;
	if (list == NULL || t->view.segment == NULL) {
		free(list);
		return;
	}
	have = bp_top_connections_first(&t->connections, &t->view.shm, t->sample[t->now].mono_ns,
		c->format == BP_TOP_AS_TEXT ? BP_TOP_BY_RATE : by[c->at], order->reverse, list, n);
	for (unsigned i = 0; i < have; i++) {
		const struct bp_flow_view *v = &list[i].view;
		struct bp_top_row *r = add_row(out);

		if (r == NULL)
			break;
		bp_text_address(v->client_ip, v->ip6, v->client_port, address);
		set_text(r, 0, address, sizeof(address));
		bp_text_address(v->broker_ip, v->ip6, v->broker_port, address);
		set_text(r, 1, address, sizeof(address));
		set_text(r, 2, v->unread ? v->unread_reason : v->connection, BP_TOP_TEXT);
		r->number[0] = list[i].rate;
		r->number[1] = v->publishes;
		r->number[2] = (double)v->idle_ms;
	}
	free(list);
	if (t->connections.updates > 1)
		snprintf(out->note, sizeof(out->note),
			"%u slots of the connection table are read at each refresh: all in %u "
			"refreshes",
			BP_TOP_SLOTS, t->connections.updates);
}

struct sorting {
	const struct bp_top_column *column;
	bool reverse;
};

static int compare(const void *x, const void *y, void *arg)
{
	const struct sorting *s = arg;
	const struct bp_top_row *a = x, *b = y;
	const double p = a->number[s->column->at], q = b->number[s->column->at];
	int c;

	if (s->column->format == BP_TOP_AS_TEXT) {
		c = strcmp(a->text[s->column->at], b->text[s->column->at]);
		return s->reverse ? -c : c;
	}
	if (isnan(p) || isnan(q)) /* the unknown ones are the last */
		return isnan(p) - isnan(q);
	if (p != q)
		return (p < q) != s->reverse ? 1 : -1;
	c = strcmp(a->text[0], b->text[0]);
	return c != 0 ? c : (a->number[0] > b->number[0]) - (a->number[0] < b->number[0]);
}

void bp_top_table_fill(const struct bp_top *t, unsigned section, const struct bp_top_order *order,
	unsigned rows, struct bp_top_table *out)
{
	const struct interval i = interval_of(t);
	struct sorting s = {&bp_top_section[section].columns[order->column], order->reverse};

	out->n = 0;
	out->note[0] = '\0';
	if (t->samples == 0)
		return;
	if (section == BP_TOP_PORTS)
		fill_ports(&i, out);
	else if (section == BP_TOP_WORKERS)
		fill_workers(&i, out);
	else if (section == BP_TOP_RULES)
		fill_rules(&i, t->rules, out);
	else if (section == BP_TOP_CONNECTIONS)
		fill_connections(t, order, rows, out);
	else
		fill_nodes(&i, out);
	if (section != BP_TOP_CONNECTIONS)
		out->total = out->n;
	if (section != BP_TOP_CONNECTIONS || s.column->format == BP_TOP_AS_TEXT)
		qsort_r(out->row, out->n, sizeof(out->row[0]), compare, &s);
}

void bp_top_table_free(struct bp_top_table *table)
{
	free(table->row);
	memset(table, 0, sizeof(*table));
}

unsigned bp_top_columns(unsigned section)
{
	unsigned n = 0;

	while (bp_top_section[section].columns[n].heading != NULL)
		n++;
	return n;
}
