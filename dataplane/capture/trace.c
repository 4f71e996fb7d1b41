/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/capture/trace.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/capture/capture.h"
#include "dataplane/capture/capture_points.h"
#include "dataplane/mqtt/segment_frame.h"
#include "dataplane/mqtt/tcp_hint.h"
#include "services/mqtt/inspect.h"
#include "shm/rules/rule_state.h"

#define NUMBER_BITS (32u - BP_TRACE_SLOTS_BITS)
/* Frames of a node's input that can be separated; DPDK's arrays have at least 256 places. */
#define BURST_MAX 512u
#define PART_MAX 64u

static struct bp_trace_field register_field(void)
{
	static const struct rte_mbuf_dynfield field = {.name = "biplane_trace_mark",
		.size = sizeof(struct bp_trace_mark),
		.align = _Alignof(struct bp_trace_mark)};
	static const struct rte_mbuf_dynflag flag = {.name = "biplane_traced"};
	const int at = rte_mbuf_dynfield_register(&field);
	const int bit = at < 0 ? -1 : rte_mbuf_dynflag_register(&flag);

	return (struct bp_trace_field){bit < 0 ? 0 : 1ull << bit, at};
}

struct bp_trace_worker *bp_trace_worker_create(struct bp_capture_worker *c)
{
	struct bp_trace_worker *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->capture = c;
	t->field = register_field();
	return t;
}

void bp_trace_apply(struct bp_trace_worker *t, const struct bp_capture_set *set)
{
	t->slots = 0;
	for (unsigned i = 0; i < set->n && t->field.flag != 0; i++) {
		const struct bp_capture_active *a = &set->of[i];

		if (a->kind != BP_CAPTURE_TRACE)
			continue;
		t->slots |= (uint8_t)(1u << a->slot);
		if (t->id[a->slot] == a->id)
			continue;
		t->id[a->slot] = a->id;
		t->left[a->slot] = a->frames;
	}
}

/* ---- steps ---- */

/* A step that is being written. */
struct step {
	struct bp_trace_step head;
	struct bp_trace_next next[BP_TRACE_NEXT_MAX];
	struct bp_trace_count count[BP_TRACE_COUNTS_MAX];
	struct bp_trace_alarm alarm[BP_TRACE_ALARMS_MAX];
	uint8_t bytes[BP_TRACE_BYTES_MAX];
};

static uint8_t *append(uint8_t *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

/* The generation of a mark. One of the future is of a segment that was replaced: no reader wants
 * it. */
static uint64_t generation_of(const struct bp_trace_worker *t, struct bp_trace_mark mark)
{
	const uint64_t now = t->capture->set->generation;
	const uint32_t age = (uint32_t)now - mark.generation;

	return age <= now ? now - age : 0;
}

/* Writes a step of the frame with this mark; `known` has the fields that the caller knows. */
static void write_step(struct bp_trace_worker *t, const struct step *s, struct bp_trace_mark mark,
	const struct bp_capture_record *known, const struct bp_trace_rule *rules)
{
	const struct bp_trace_step *h = &s->head;
	const uint32_t bytes = (h->n_bytes + 7u) & ~7u;
	const uint32_t n =
		(uint32_t)(sizeof(*h) + h->n_next * sizeof(s->next[0]) +
			   h->n_counts * sizeof(s->count[0]) + h->n_rules * sizeof(rules[0]) +
			   h->n_alarms * sizeof(s->alarm[0]) + bytes);
	struct bp_capture_ring *ring = &t->capture->ring;
	struct bp_capture_record *out = bp_capture_ring_reserve(ring, (uint32_t)sizeof(*out) + n);
	uint8_t *to = out->data;

	*out = *known;
	out->head = (struct bp_capture_record_head){
		(uint32_t)sizeof(*out) + n, BP_CAPTURE_RECORD_TRACE};
	out->generation = generation_of(t, mark);
	out->captured = n;
	out->slots = mark.slots;
	to = append(to, h, sizeof(*h));
	to = append(to, s->next, h->n_next * sizeof(s->next[0]));
	to = append(to, s->count, h->n_counts * sizeof(s->count[0]));
	if (rules != NULL && h->n_rules != 0)
		to = append(to, rules, h->n_rules * sizeof(rules[0]));
	to = append(to, s->alarm, h->n_alarms * sizeof(s->alarm[0]));
	append(to, s->bytes, bytes);
	bp_capture_ring_commit(ring, ring->end);
}

/* As inspection identifies the connection of the frame. */
static void set_network(const struct bp_worker *w, struct step *s, const struct rte_mbuf *m)
{
	struct bp_frame f;
	uint16_t vlan;

	if (m->port >= BP_MAX_PORTS)
		return;
	s->head.network = w->network[m->port];
	if (bp_frame_link(s->bytes, s->head.n_bytes, &f) != BP_FRAME_TCP || f.vlan_outer == 0)
		return;
	vlan = f.vlan_outer;
	f.network = s->head.network;
	bp_forget_vlan(w, m, &f);
	s->head.network = f.network;
	s->head.subinterface = f.vlan_outer != vlan;
}

/* The beginning of the frame. */
static void copy_bytes(const struct bp_trace_worker *t, struct step *s, const struct rte_mbuf *m)
{
	const uint32_t n = RTE_MIN((uint32_t)m->data_len, BP_TRACE_BYTES_MAX);

	memcpy(s->bytes, rte_pktmbuf_mtod(m, const uint8_t *), n);
	memset(s->bytes + n, 0, ((n + 7u) & ~7u) - n);
	s->head.n_bytes = (uint16_t)n;
	set_network(t->capture->worker, s, m);
}

static uint8_t port_of(uint16_t port)
{
	return (uint8_t)RTE_MIN(port, BP_MAX_PORTS);
}

void bp_trace_received(struct bp_trace_worker *t, struct rte_mbuf *m, uint16_t port, uint8_t slots,
	uint64_t time_ns)
{
	struct step s = {.head = {.event = BP_TRACE_RECEIVED}};
	struct bp_trace_mark mark = {.generation = (uint32_t)t->capture->set->generation};

	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++) {
		if (!(slots >> slot & 1) || t->left[slot] == 0)
			continue;
		t->left[slot]--;
		mark.slots |= 1u << slot;
	}
	if (mark.slots == 0)
		return;
	t->number = (t->number + 1) & ((1u << NUMBER_BITS) - 1);
	m->ol_flags |= t->field.flag;
	mark.number = t->number;
	*bp_trace_mark_of(&t->field, m) = mark;
	s.head.frame = t->number;
	copy_bytes(t, &s, m);
	write_step(t, &s, mark,
		&(struct bp_capture_record){.time_ns = time_ns,
			.length = m->pkt_len,
			.node = t->capture->current,
			.point = BP_CAPTURE_RX,
			.port = port_of(port)},
		NULL);
}

/* ---- a node ---- */

/* The state before the call of a node with a marked frame. */
struct before {
	uint16_t idx[BP_EDGE_PORT + BP_MAX_PORTS]; /* frames at the node behind each edge */
	uint64_t alarms;                           /* head of the alarm ring */
};

static unsigned edges_of(const struct rte_node *node)
{
	return RTE_MIN((unsigned)node->nb_edges, (unsigned)(BP_EDGE_PORT + BP_MAX_PORTS));
}

static void look_before(struct bp_trace_worker *t, const struct rte_node *node, struct before *b)
{
	struct bp_worker *w = t->capture->worker;

	memcpy(t->counters, w->counters->v, sizeof(t->counters));
	for (unsigned e = 0; e < edges_of(node); e++)
		b->idx[e] = node->nodes[e]->idx;
	b->alarms = w->shm->alarm_ring != NULL ? bp_ring_head(bp_shm_ring(w->shm, w->index)) : 0;
	t->n_rules = 0;
}

/* Whether an edge before this one leads to the same node. */
static bool is_repeated(const struct rte_node *node, unsigned edge)
{
	for (unsigned e = 0; e < edge; e++)
		if (node->nodes[e] == node->nodes[edge])
			return true;
	return false;
}

/* Marks what the node enqueued, and notes where. */
static void follow(struct bp_trace_worker *t, const struct rte_node *node, const struct before *b,
	struct bp_trace_mark mark, struct step *s)
{
	for (unsigned e = 0; e < edges_of(node); e++) {
		struct rte_node *to = node->nodes[e];

		if (to->idx <= b->idx[e] || is_repeated(node, e))
			continue;
		for (unsigned i = b->idx[e]; i < to->idx; i++) {
			struct rte_mbuf *m = to->objs[i];

			m->ol_flags |= t->field.flag;
			*bp_trace_mark_of(&t->field, m) = mark;
		}
		if (s->head.n_next == BP_TRACE_NEXT_MAX)
			continue;
		s->next[s->head.n_next++] = (struct bp_trace_next){
			.node = to->id < BP_CAPTURE_NODE_IDS ? t->capture->index[to->id]
							     : BP_CAPTURE_NO_NODE,
			.frames = (uint16_t)(to->idx - b->idx[e])};
	}
}

static void compare_counters(const struct bp_trace_worker *t, struct step *s)
{
	const uint64_t *now = t->capture->worker->counters->v;

	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		if (now[c] == t->counters[c] || s->head.n_counts == BP_TRACE_COUNTS_MAX)
			continue;
		s->count[s->head.n_counts++] =
			(struct bp_trace_count){c, (uint32_t)(now[c] - t->counters[c])};
	}
}

static void list_alarms(const struct bp_trace_worker *t, const struct before *b, struct step *s)
{
	const struct bp_worker *w = t->capture->worker;
	const struct bp_alarm *a;
	uint64_t cursor = b->alarms;
	uint32_t size;

	if (w->shm->alarm_ring == NULL)
		return;
	while (s->head.n_alarms < BP_TRACE_ALARMS_MAX &&
		cursor != bp_ring_head(bp_shm_ring(w->shm, w->index)) &&
		(a = bp_ring_peek(bp_shm_ring(w->shm, w->index), &cursor, &size)) != NULL)
		if (size >= BP_ALARM_HEAD)
			s->alarm[s->head.n_alarms++] = (struct bp_trace_alarm){a->id};
}

static void note_rule(void *arg, const struct bp_rule *rule, const double *value, unsigned verdict)
{
	struct bp_trace_worker *t = arg;
	struct bp_trace_rule *r = &t->rule[t->n_rules];

	if (t->n_rules == BP_TRACE_RULES_MAX)
		return;
	t->n_rules++;
	*r = (struct bp_trace_rule){.value = value != NULL ? *value : 0,
		.a = rule->raise.a,
		.b = rule->raise.b,
		.op = rule->raise.op,
		.has_value = value != NULL,
		.value_type = rule->value_type,
		.verdict = (uint8_t)verdict};
	memcpy(r->name, rule->name, RTE_MIN((size_t)rule->name_len, sizeof(r->name) - 1));
}

static void set_tracing(struct bp_trace_worker *t, bool on)
{
	struct bp_worker *w = t->capture->worker;

	w->tracing = on;
	if (bp_mqtt_worker_of(w) != NULL)
		bp_mqtt_worker_set_evaluated(bp_mqtt_worker_of(w), on ? note_rule : NULL, t);
}

/* Calls the node with one marked frame, which is at node->objs[0]. */
static uint16_t process_one(struct bp_trace_worker *t, rte_node_process_t process, uint16_t index,
	struct rte_graph *graph, struct rte_node *node)
{
	struct rte_mbuf *m = node->objs[0];
	const struct bp_trace_mark mark = *bp_trace_mark_of(&t->field, m);
	struct step s = {.head = {.frame = mark.number, .event = BP_TRACE_NODE}};
	struct bp_capture_record r = {.time_ns = bp_capture_time(t->capture),
		.length = m->pkt_len,
		.node = index,
		.port = port_of(m->port)};
	struct before b;
	uint16_t n;

	copy_bytes(t, &s, m);
	look_before(t, node, &b);
	set_tracing(t, true);
	n = process(graph, node, node->objs, 1);
	set_tracing(t, false);
	follow(t, node, &b, mark, &s);
	compare_counters(t, &s);
	list_alarms(t, &b, &s);
	s.head.n_rules = (uint8_t)t->n_rules;
	write_step(t, &s, mark, &r, t->rule);
	return n;
}

bool bp_trace_any(const struct bp_trace_worker *t, void *const *objs, uint16_t n)
{
	uint64_t flags = 0;

	for (uint16_t i = 0; i < n; i++)
		flags |= ((const struct rte_mbuf *)objs[i])->ol_flags;
	return (flags & t->field.flag) != 0;
}

/* The number of frames from `i` on that are processed together. */
static uint16_t part_at(
	const struct bp_trace_worker *t, struct rte_mbuf *const *m, uint16_t i, uint16_t n)
{
	uint16_t k = i;

	if (bp_trace_is_marked(&t->field, m[i]))
		return 1;
	while (k < n && k - i < (int)PART_MAX && !bp_trace_is_marked(&t->field, m[k]))
		k++;
	return (uint16_t)(k - i);
}

uint16_t bp_trace_process(struct bp_trace_worker *t, rte_node_process_t process, uint16_t index,
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct rte_mbuf *all[BURST_MAX];
	uint16_t total = 0, k;

	if (n > BURST_MAX)
		return process(graph, node, objs, n);
	memcpy(all, objs, n * sizeof(void *));
	for (uint16_t i = 0; i < n; i = (uint16_t)(i + k)) {
		k = part_at(t, all, i, n);
		/* the node may have exchanged its array for another's, of at least 256 places */
		memcpy(node->objs, &all[i], k * sizeof(void *));
		node->idx = k;
		total = (uint16_t)(total +
				   (bp_trace_is_marked(&t->field, all[i])
						   ? process_one(t, process, index, graph, node)
						   : process(graph, node, node->objs, k)));
	}
	return total;
}

/* ---- transmit ---- */

void bp_trace_sending(struct bp_trace_worker *t, struct rte_mbuf *const *m, unsigned n,
	struct bp_trace_sending *s)
{
	for (unsigned i = 0; i < n; i++) {
		s->mark[i] = (struct bp_trace_mark){0};
		if (!bp_trace_is_marked(&t->field, m[i]))
			continue;
		s->mark[i] = *bp_trace_mark_of(&t->field, m[i]);
		s->length[i] = m[i]->pkt_len;
		m[i]->ol_flags &= ~t->field.flag; /* the next user must not see it */
	}
}

void bp_trace_sent(struct bp_trace_worker *t, const struct bp_trace_sending *s, unsigned n,
	unsigned sent, uint16_t port, bp_counter_t reason, uint64_t time_ns)
{
	for (unsigned i = 0; i < n; i++) {
		const bool lost = i >= sent;
		struct step step = {.head = {.frame = s->mark[i].number,
					    .event = lost ? BP_TRACE_LOST : BP_TRACE_SENT}};

		if (s->mark[i].slots == 0)
			continue;
		write_step(t, &step, s->mark[i],
			&(struct bp_capture_record){.time_ns = time_ns,
				.length = s->length[i],
				.node = t->capture->current,
				.point = lost ? BP_CAPTURE_DROP : BP_CAPTURE_TX,
				.reason = (uint16_t)(lost ? reason : 0),
				.port = port_of(port)},
			NULL);
	}
}
