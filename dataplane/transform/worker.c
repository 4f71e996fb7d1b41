/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Node transform: the first node, or after checksum, for frames of a port with entries of
 * `transform`; after disaggregate on a port with entries of `decapsulate`, so restored messages can
 * be readings. Results continue at node aggregate, if the port has such entries, or past the nodes
 * that inspect TCP; results that are sent back leave by their input port or, on a routed port, by
 * node ip4. Frames that are not readings continue unmodified, in order.
 */
#include "dataplane/transform/worker.h"

#include <stdlib.h>
#include <string.h>

#include "biplane/counters/general.h"
#include "config/transform/settings.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/workers/graph.h"
#include "config/segment.h"
#include "shm/transform/transform_writer.h"
#include "shm/words.h"

/* ---- rules ---- */

/* Enters a rule for all ports and all of its destinations; the first rule that matches applies. */
static void enter(struct bp_transform_worker *t, unsigned number, const struct bp_transform_rule *r)
{
	struct bp_agg_to to = {.address = r->to, .udp_first = r->udp, .udp_last = r->udp};

	if (r->port >= BP_MAX_PORTS)
		return;
	t->ports_with_entries |= 1u << r->port;
	if (r->to.family != 0) {
		bp_agg_match_enter(&t->match, number, r->port, &to);
		return;
	}
	for (unsigned family = 4; family <= 6; family += 2) {
		to.address = (struct bp_prefix){.family = (uint8_t)family};
		bp_agg_match_enter(&t->match, number, r->port, &to);
	}
}

static void clear(struct bp_transform_rule_stats *s)
{
	_Atomic uint64_t *stat = (_Atomic uint64_t *)s;

	for (unsigned i = 0; i < sizeof(*s) / sizeof(*stat); i++)
		atomic_store_explicit(&stat[i], 0, memory_order_relaxed);
}

static void copy(
	struct bp_transform_worker *t, unsigned number, const struct bp_transform_rule_row *row)
{
	struct bp_transform_worker_rule *to = &t->rule[number];
	const struct bp_transform_rule *r = &row->rule;

	*to = (struct bp_transform_worker_rule){.layout = r->layout,
		.ops = bp_transform_ops(r->method),
		.stats = &t->rule_stats[number],
		.otherwise = row->otherwise,
		.method = r->method,
		.drop_unknown = r->drop_unknown,
		.drop_overflow = r->drop_overflow};
}

/* Whether two rules match the same readings: then the statistics of the first continue. */
static bool same_readings(const struct bp_transform_rule *a, const struct bp_transform_rule *b)
{
	return a->port == b->port && a->udp == b->udp && memcmp(&a->to, &b->to, sizeof(a->to)) == 0;
}

/*
 * Sets the rules of the active bank or, to drop readings, those of the configuration of the worker.
 */
static void set_rules(struct bp_transform_worker *t)
{
	const struct bp_transform_bank *bank = t->view.bank != NULL ? t->taken : NULL;
	const unsigned n = bank != NULL ? bank->n_rules : t->own->n_rules;

	bp_agg_match_clear(&t->match);
	t->ports_with_entries = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct bp_transform_rule *r =
			bank != NULL ? &bank->rule[i].rule : &t->own->rule[i];

		if (bank != NULL)
			copy(t, i, &bank->rule[i]);
		if (i >= t->n_counted || !same_readings(&t->counted[i], r)) {
			clear(&t->rule_stats[i]);
			t->counted[i] = *r;
		}
		enter(t, i, r);
	}
	t->n_counted = n;
	t->last_row = NULL;
	t->template.valid = false;
	bp_graph_enter(t->worker);
}

void bp_transform_worker_apply_generation(struct bp_transform_worker *t)
{
	const uint64_t active = bp_generation_enter(&t->tables->generation, t->worker->index);
	struct bp_transform_view view;

	t->active = active;
	view = bp_transform_view_of(t->tables, active);
	/* the worker uses a copy that it validated */
	if (view.bank != NULL) {
		bp_words_load(t->taken, view.bank, sizeof(*t->taken));
		view.key = t->taken->key;
		if (t->taken->ports != t->ports_key ||
			!bp_transform_rules_valid(t->taken, t->tables->matrices)) {
			if (t->taken->ports == t->ports_key)
				bp_count(t->worker, BP_C_SEGMENT_INVALID, 1);
			view.bank = NULL;
		}
	}
	if (view.bank == NULL && t->view.bank == NULL)
		return;
	t->view = view;
	set_rules(t);
}

/* ---- life ---- */

struct bp_transform_worker *bp_transform_worker_create(
	const struct bp_config *c, const struct bp_transform_tables *tables, unsigned worker)
{
	struct bp_transform_worker *t = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(sizeof(struct bp_transform_worker), RTE_CACHE_LINE_SIZE));

	if (t == NULL)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->taken = aligned_alloc(_Alignof(struct bp_transform_bank), sizeof(*t->taken));
	if (t->taken == NULL) {
		free(t);
		return NULL;
	}
	bp_transform_methods_init();
	t->tables = tables;
	t->own = &bp_config_transform(c)->entries;
	t->avx512_supported = bp_transform_avx512_supported();
	for (unsigned i = 0; i < BP_RX_BURST; i++)
		t->numbers[i] = (uint8_t)i;
	for (unsigned length = 0; length <= 128; length++) {
		static const uint8_t ones[16] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
			255, 255, 255, 255, 255, 255};

		bp_transform_words(6, length, ones, t->prefix[length]);
	}
	t->ports_key = bp_config_ports_key(c);
	t->rule_stats = tables->rule_stats + (size_t)worker * BP_TRANSFORM_RULES_MAX;
	t->source_stats = tables->source_stats + (size_t)worker * tables->matrices;
	return t;
}

void bp_transform_worker_free(struct bp_transform_worker *t)
{
	if (t != NULL)
		free(t->taken);
	free(t);
}

void bp_transform_worker_begin(struct bp_transform_worker *t, struct bp_worker *w)
{
	t->worker = w;
	bp_mbuf_stock_init(&t->stock, w->pool);
	set_rules(t);
}

void bp_transform_worker_end(struct bp_transform_worker *t)
{
	t->view.bank = NULL;
	t->template.valid = false; /* it refers to a rule of that bank */
	t->active = 0;
	bp_generation_acknowledge(&t->tables->generation, t->worker->index, BP_GENERATION_NONE);
}

void bp_transform_burst_process(
	struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n)
{
	if (t->avx512_supported && n >= 8 && t->template.valid &&
		bp_template_is_kunze2021(&t->template) && bp_transform_single_stream(t, m, n))
		return;
	bp_transform_collect(t, m, n);
	bp_transform_send(t, n);
}

/* ---- node ---- */

static uint16_t transform_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	const struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_transform_worker *t = bp_transform_worker_of(w);
	struct rte_mbuf *const *m = (struct rte_mbuf *const *)objs;
	unsigned n;

	bp_edge_batch_begin(&t->out, t->worker, graph, node, t->out_frames, RTE_DIM(t->out_frames),
		BP_EDGE_DROP);
	t->copies = 0;
	/* the MAC address of a routed port may change between two walks */
	t->template.valid &= w->router.rx_mac[t->template.port] == t->template.mac;
	for (unsigned i = 0; i < nb_objs; i += n) {
		n = RTE_MIN((unsigned)BP_RX_BURST, nb_objs - i);
		bp_transform_burst_process(t, m + i, n);
	}
	bp_edge_batch_end(&t->out);
	return nb_objs;
}

struct rte_node_register bp_node_transform = {
	.name = "bp_transform",
	.process = transform_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_transform, BP_EDGE_DROP, BP_NEXT_PATH, BP_NEXT_PORTS)
