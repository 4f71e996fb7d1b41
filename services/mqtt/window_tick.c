/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"

/*
 * Windows whose time passes without a value: a tumbling window ends, and the values of a sliding
 * one leave it. Each worker searches its part of the table for windows that are due, a bounded
 * number in one call. The alarm is that of the client that published last.
 */

#define CELLS_OF_CALL 512u
#define RESULTS_OF_CALL 16u
#define PASS_MIN_NS 10000000ull
#define PASS_MAX_NS 1000000000ull

struct bp_window_search {
	uint64_t begin, end; /* the part of this worker */
	uint64_t at;         /* the next cell; `end`: no pass is under way */
	uint64_t next_ns;    /* begin of the next pass */
	bool whole;          /* a call visits the whole part: replay, where time has no limit */
	uint64_t due_ns;     /* with `whole`: no window is due earlier; UINT64_MAX: none */
};

void bp_window_share(struct bp_window_search *s, const struct bp_window_table *t, unsigned share,
	unsigned shares)
{
	s->begin = t->buckets * share / shares * BP_WINDOW_WAYS;
	s->end = t->buckets * (share + 1) / shares * BP_WINDOW_WAYS;
	s->at = s->end;
}

struct bp_window_search *bp_window_search_create(
	const struct bp_window_table *t, unsigned worker, unsigned workers, bool whole)
{
	struct bp_window_search *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	bp_window_share(s, t, worker, workers);
	s->whole = whole;
	s->due_ns = whole ? 0 : UINT64_MAX;
	return s;
}

/* The result, as if the last publication on the topic came now. */
static void evaluate(struct bp_mqtt_worker *in, const struct bp_window_expired *x)
{
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, x->rule);
	const struct bp_watch_topic *t = &x->text;
	struct bp_flow flow = {.k1 = (uint64_t)t->client_port << 16,
		.flags = t->ip6 ? BP_FLOW_IP6 : 0,
		.client_id_len = t->client_id_len};
	const struct bp_mqtt_publish publish = {.topic = (const uint8_t *)t->topic,
		.topic_len = t->topic_len,
		.payload = (const uint8_t *)""};
	struct bp_evaluated j = {.flow = &flow,
		.dir = BP_TO_BROKER,
		.publish = &publish,
		.client_id = t->client_id,
		.value = x->result};

	memcpy(flow.client_ip, t->client_ip, sizeof(flow.client_ip));
	bp_tally(in, BP_C_WINDOW_EXPIRED);
	bp_window_result_apply(
		in, rule, &j, bp_topic_hash(in, publish.topic, t->topic_len), t->client);
}

/* A killed process leaves either the unchanged window, or its alarm. */
static bool visit(struct bp_mqtt_worker *in, uint64_t cell)
{
	struct bp_window_expired x;
	const uint64_t due = bp_window_due(&in->windows, cell);
	struct bp_window_use u;
	bool has;

	if (due == 0 || due > in->mono_ns)
		return false;
	bp_journal_begin_tick(in->journal, in->ring);
	u = (struct bp_window_use){.rules = in->rules,
		.now_ns = in->mono_ns,
		.worker = (uint16_t)in->worker,
		.undo = bp_journal_window(in->journal)};
	has = bp_window_expire(&in->windows, &u, cell, &x);
	if (has)
		evaluate(in, &x);
	bp_alarms_commit(in);
	bp_journal_end(in->journal);
	return has;
}

/* Time has no limit here: all that is due, and when the next one is. */
static void search_all(struct bp_mqtt_worker *in, struct bp_window_search *s)
{
	if (in->mono_ns < s->due_ns)
		return;
	s->due_ns = UINT64_MAX;
	for (uint64_t cell = s->begin; cell < s->end; cell++) {
		uint64_t due;

		(void)visit(in, cell);
		due = bp_window_due(&in->windows, cell);
		if (due != 0 && due < s->due_ns)
			s->due_ns = due;
	}
}

static void search(struct bp_mqtt_worker *in, struct bp_window_search *s, uint64_t interval)
{
	unsigned results = 0;

	if (s->at == s->end) {
		if (in->mono_ns < s->next_ns)
			return;
		s->at = s->begin;
		s->next_ns = in->mono_ns + (interval < PASS_MIN_NS          ? PASS_MIN_NS
						   : interval > PASS_MAX_NS ? PASS_MAX_NS
									    : interval);
	}
	/* alarms that do not fit in the queue now are raised later */
	for (unsigned n = 0; s->at < s->end && n < CELLS_OF_CALL && results < RESULTS_OF_CALL &&
			     bp_ring_used(in->ring) <= in->ring->capacity / 2;
		n++)
		results += visit(in, s->at++);
}

void bp_window_tick(struct bp_mqtt_worker *in)
{
	const uint64_t pane_ns = in->rules->generation != 0 ? in->rules->window_pane_ns : 0;

	if (pane_ns == 0 || in->mono_ns == 0)
		return;
	in->frame = NULL;
	if (in->window_search->whole)
		search_all(in, in->window_search);
	else
		search(in, in->window_search, pane_ns / 2);
}

void bp_window_note_due(struct bp_mqtt_worker *in, uint64_t due_ns)
{
	struct bp_window_search *s = in->window_search;

	if (s->whole && due_ns != 0 && due_ns < s->due_ns)
		s->due_ns = due_ns;
}

uint64_t bp_window_timer(const struct bp_mqtt_worker *in)
{
	const struct bp_window_search *s = in->window_search;

	return s->whole && in->rules->generation != 0 && in->rules->window_pane_ns != 0
		       ? s->due_ns
		       : UINT64_MAX;
}
