/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"

/* The step between a value and the conditions of a rule with a window. */

/* Without an account, the burst path evaluates what is free for the shortest frame. */
_Static_assert(BP_WORK_PACKET + BP_WORK_RULE + BP_WORK_VALUE + BP_WORK_WINDOW +
			       BP_WINDOW_FEW * BP_WORK_WINDOW_VALUE <=
		       BP_WORK_PER_BYTE * (54 + BP_WORK_FRAMING),
	"bp_window_is_fast()");

static void charge(
	struct bp_mqtt_worker *in, const struct bp_window_spec *w, const struct bp_window_use *u)
{
	const uint64_t one =
		w->function == BP_WINDOW_PERCENTILE ? BP_WORK_WINDOW_RANK : BP_WORK_WINDOW_VALUE;
	const bool visited = !bp_window_moves(w) || u->inexact;
	const uint64_t n = bp_window_in_classes(w) ? bp_window_classes(in->windows.stride)
			   : visited               ? w->values
						   : 0;

	bp_work_add(&in->work, BP_WORK_WINDOW + n * one);
	if (w->function == BP_WINDOW_PERCENTILE)
		bp_work_add(&in->work, BP_WORK_WINDOW_RANKED);
}

static struct bp_window_origin origin_of(
	const struct bp_mqtt_worker *in, const struct bp_evaluated *of)
{
	const struct bp_flow *f = of->flow;

	return (struct bp_window_origin){.topic = of->publish->topic,
		.topic_len = of->publish->topic_len,
		.client_ip = f->client_ip,
		.client_port = (uint16_t)(f->k1 >> 16),
		.ip6 = (f->flags & BP_FLOW_IP6) != 0,
		.client_id_len = f->client_id_len,
		.client_id = f->client_id_len == 0
				     ? NULL
				     : bp_reassembly_data(in->reassembly, f->client_id)};
}

bool bp_window_step(struct bp_mqtt_worker *in, const struct bp_rule *rule, uint64_t topic_hash,
	uint32_t client, const struct bp_evaluated *of, double *result)
{
	const struct bp_window_origin origin = origin_of(in, of);
	struct bp_window_use u = {.rules = in->rules,
		.rule = rule,
		.topic_hash = topic_hash,
		.now_ns = in->mono_ns,
		.client = client,
		.origin = &origin,
		.worker = (uint16_t)in->worker,
		.undo = bp_journal_window(in->journal)};
	enum bp_window_result r;

	u.unlogged = bp_window_unlogged(in->journal->window_serial, u.worker);
	r = bp_window_add(&in->windows, &u, of->value, result);
	charge(in, &rule->window, &u);
	bp_window_note_due(in, u.due_ns);
	if (u.coarsened)
		bp_tally(in, BP_C_WINDOW_COARSENED);
	if (u.not_shown)
		bp_tally(in, BP_C_WINDOW_TOPIC_TOO_LONG);
	switch (r) {
	case BP_WINDOW_VALUE:
		if (u.evicted)
			bp_tally(in, BP_C_WINDOW_EVICTED);
		return true;
	case BP_WINDOW_NONE:
		if (u.evicted)
			bp_tally(in, BP_C_WINDOW_EVICTED);
		bp_tally(in, BP_C_WINDOW_NO_RESULT);
		return false;
	case BP_WINDOW_BUSY:
		bp_tally(in, BP_C_WINDOW_BUSY);
		return false;
	case BP_WINDOW_NOT_STORED:
		bp_tally(in, BP_C_WINDOW_NOT_STORED);
		return false;
	}
	return false;
}

/* Undoes the last of n changes in the journal. */
static void undo(struct bp_mqtt_worker *in, struct bp_journal *j, uint64_t n)
{
	in->counters->v[BP_C_WINDOW_EMPTIED] +=
		!bp_window_undo(&in->windows, &j->window[n - 1], (uint16_t)in->worker);
	bp_journal_order();
}

void bp_window_restore(struct bp_mqtt_worker *in)
{
	struct bp_journal *j = in->journal;

	if (j->window_undos > BP_JOURNAL_WINDOWS) {
		in->counters->v[BP_C_WINDOW_EMPTIED] += bp_window_empty_unlogged(
			&in->windows, bp_window_unlogged(j->window_serial, (uint16_t)in->worker));
		j->window_undos = BP_JOURNAL_WINDOWS;
	}
	for (; j->window_undos != 0; j->window_undos--)
		undo(in, j, j->window_undos);
}

void bp_window_restore_burst(struct bp_mqtt_worker *in)
{
	struct bp_journal *j = in->journal;

	if (j->burst_windows > BP_JOURNAL_NOTES)
		j->burst_windows = BP_JOURNAL_NOTES; /* it is damaged */
	for (; j->burst_windows != 0; j->burst_windows--)
		undo(in, j, j->burst_windows);
}
