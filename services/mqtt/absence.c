/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"

/*
 * Rules with `absent`. A publication records its time in the table of watched topics
 * (shm/rules/watch.h), and clears the alarm. Each worker searches its part of the table for topics
 * that are silent for too long, a bounded number of entries in one call, and raises their alarms.
 *
 * The state of an alarm is that of any other rule (shm/rules/rule_state.h), whose value is the
 * silence in seconds. So a worker that is killed repeats or undoes a raise: the journal undoes the
 * state until the alarm is in the ring, and the entry is marked as absent only after it is. A
 * publication changes the entry first and then the state, and a search changes the state first and
 * then the entry: whichever is second sees the other.
 *
 * Silence is counted only while a worker watches: from its start, from the load of the rule, and
 * from the end of a pause in which it processed no frames.
 */

#define ENTRIES_OF_CALL 4096u /* 64 KiB */
#define RAISES_OF_CALL 16u
#define RULES_OF_CALL 128u
/* A publication so soon after the one before changes nothing but the time. */
#define RECENT_PART 64u
#define RECENT_NS 500000000ull
#define PASS_MIN_NS 10000000ull
#define PASS_MAX_NS 1000000000ull
#define PAUSE_NS 1000000000ull
#define CLAIM_NS 1000000000ull
/* Workers apply new rules within this time: an entry of an unknown rule is then of an old one. */
#define FORGET_NS 10000000000ull

/* The absence rule of a slot, from the active rules. */
struct watched_rule {
	uint64_t uid, absent_ns;
	uint64_t since_ns;  /* it is known */
	uint64_t loaded_ns; /* it was new in a reload; 0: it was there at the start */
	uint32_t rule, gen;
};

struct bp_absence {
	struct bp_watch watch;
	uint64_t begin, end; /* the part of this worker */
	unsigned share, shares;
	bool whole; /* a call visits the whole part: replay, where time has no limit */
	/* the rules */
	uint32_t gen, gen_before, mapped; /* of the active rules, that many are in slot[] */
	uint64_t shortest_ns;             /* UINT64_MAX: no rule */
	/* the search */
	uint64_t called_ns, since_ns;
	uint64_t at;       /* the next entry; `end`: no pass is under way */
	uint64_t began_ns; /* the pass */
	uint64_t found_ns; /* the earliest deadline that it has seen */
	uint64_t next_ns;  /* no deadline is earlier */
	uint32_t max_rules;
	struct watched_rule slot[];
};

struct bp_absence *bp_absence_create(
	const struct bp_shm *shm, unsigned worker, uint32_t max_rules, bool whole)
{
	struct bp_absence *a = calloc(1, sizeof(*a) + (uint64_t)max_rules * sizeof(a->slot[0]));

	if (a == NULL)
		return NULL;
	a->watch = shm->watch;
	bp_absence_share(a, worker, shm->workers);
	a->whole = whole;
	a->shortest_ns = UINT64_MAX;
	a->next_ns = UINT64_MAX;
	a->max_rules = max_rules;
	return a;
}

void bp_absence_share(struct bp_absence *a, unsigned share, unsigned shares)
{
	a->share = share;
	a->shares = shares;
	a->begin = a->watch.len * share / shares;
	a->end = a->watch.len * (share + 1) / shares;
	a->at = a->end;
}

static void tally_seen(struct bp_mqtt_worker *in, enum bp_watch_seen seen)
{
	if (seen == BP_WATCH_ADDED || seen == BP_WATCH_EVICTED)
		bp_tally(in, BP_C_TOPICS_WATCHED);
	if (seen == BP_WATCH_EVICTED)
		bp_tally(in, BP_C_WATCH_EVICTED);
	if (seen == BP_WATCH_FULL)
		bp_tally(in, BP_C_WATCH_FULL);
}

/* The process begins to watch at the time of the first burst or call. */
static void begin(struct bp_mqtt_worker *in, struct bp_absence *a)
{
	if (a->since_ns == 0)
		a->since_ns = a->called_ns = a->watch.start_ns = in->mono_ns;
}

/* ---- publications ---- */

static void text_of(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_mqtt_publish *p, struct bp_watch_topic *t)
{
	memset(t, 0, sizeof(*t));
	t->client = bp_state_client(in, f);
	t->topic_len = p->topic_len;
	t->client_port = (uint16_t)(f->k1 >> 16);
	t->ip6 = (f->flags & BP_FLOW_IP6) != 0;
	memcpy(t->client_ip, f->client_ip, sizeof(t->client_ip));
	memcpy(t->topic, p->topic, p->topic_len);
	if (f->client_id_len == 0 || f->client_id_len > BP_WATCH_CLIENT_MAX)
		return;
	t->client_id_len = (uint8_t)f->client_id_len;
	memcpy(t->client_id, bp_reassembly_data(in->reassembly, f->client_id), f->client_id_len);
}

/* Evaluates the silence for the state of the rule, and emits what changed. */
static enum bp_verdict settle(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	uint64_t topic_hash, uint32_t client, double silence, struct bp_evaluated *j)
{
	const uint64_t next = bp_transition_next(in->now_ns, in->transition);
	uint64_t transition = next;
	enum bp_state_loss loss;
	enum bp_verdict verdict;

	bp_work_add(&in->work, BP_WORK_STATE);
	verdict = bp_rule_evaluate_undo(in->rule_state, in->rule_state_len, rule, topic_hash,
		client, silence, in->mono_ns, &transition, &loss,
		bp_journal_undo(in->journal, bp_rule_undos(rule)));
	bp_tally_state_loss(in, loss);
	if (verdict != BP_VERDICT_NOTHING) {
		bp_evaluated_number(in, j, verdict, transition, next);
		bp_alarm_emit(in, rule, verdict, j);
	}
	return verdict;
}

/*
 * Whether the time of the publication is all that there is to record: the topic was published a
 * moment ago, or the connection or the worker is over its budget. Then a raised alarm remains until
 * the next publication within it, and a new topic is not watched.
 */
static bool only_time(struct bp_mqtt_worker *in, const struct bp_absence *a, uint64_t key,
	const struct bp_rule *rule)
{
	const uint64_t part = rule->absent_ns / RECENT_PART;

	if (in->evaluated == NULL && bp_watch_see_recent(&a->watch, key, in->mono_ns,
					     part < RECENT_NS ? part : RECENT_NS))
		return true;
	if (bp_within_budget(in))
		return false;
	(void)bp_watch_see_recent(&a->watch, key, in->mono_ns, UINT64_MAX);
	return true;
}

void bp_absence_publication(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_evaluated *j)
{
	struct bp_absence *a = in->absence;
	const uint64_t key = bp_watch_key(rule->uid, topic_hash, rule->slot);
	struct bp_watch_topic by;
	enum bp_verdict verdict;
	uint64_t before = 0;

	if (j->publish->topic_len > BP_WATCH_TOPIC_MAX) {
		bp_tally(in, BP_C_WATCH_TOPIC_TOO_LONG);
		return;
	}
	begin(in, a);
	if (only_time(in, a, key, rule))
		return;
	bp_work_add(&in->work, BP_WORK_STATE);
	text_of(in, j->flow, j->publish, &by);
	tally_seen(in, bp_watch_see(&a->watch, key, in->mono_ns, false, &by, &before));
	j->value = before != 0 && before <= in->mono_ns ? (double)(in->mono_ns - before) / 1e9 : 0;
	verdict = settle(in, rule, topic_hash, by.client, 0, j);
	if (__builtin_expect(in->evaluated != NULL, 0))
		in->evaluated(in->evaluated_arg, rule, &j->value, verdict);
}

/* ---- the rules ---- */

/* Watches a topic without wildcards from now on; one of an unchanged rule continues. In a fleet
 * another gateway may see it. */
static void watch_literal(
	struct bp_mqtt_worker *in, struct bp_absence *a, const struct bp_rule *r, bool loaded)
{
	struct bp_watch_topic by = {.topic_len = r->filter_len};
	const uint8_t *topic = (const uint8_t *)in->rules + r->filter;
	uint64_t before;

	if (!r->literal || in->fleet != NULL || r->slot % a->shares != a->share ||
		r->filter_len > BP_WATCH_TOPIC_MAX)
		return;
	memcpy(by.topic, topic, r->filter_len);
	tally_seen(
		in, bp_watch_see(&a->watch,
			    bp_watch_key(r->uid, bp_topic_hash(in, topic, r->filter_len), r->slot),
			    in->mono_ns, !loaded, &by, &before));
}

static void begin_rules(struct bp_mqtt_worker *in, struct bp_absence *a)
{
	a->gen_before = a->gen;
	a->gen = in->gen;
	a->mapped = 0;
	a->shortest_ns = UINT64_MAX;
	a->at = a->end;
	a->next_ns = 0; /* removes what is of old rules */
}

/* Reads some of the active rules; an unchanged rule continues. */
static void read_rules(struct bp_mqtt_worker *in, struct bp_absence *a)
{
	const uint32_t *list = bp_ruleset_absent(in->rules);

	for (unsigned n = 0; (a->whole || n < RULES_OF_CALL) && a->mapped < in->rules->n_absent;
		n++) {
		const uint32_t index = list[a->mapped++];
		const struct bp_rule *r = bp_ruleset_rule(in->rules, index);
		struct watched_rule *s = &a->slot[r->slot];

		if (s->uid != r->uid || s->gen != a->gen_before) {
			s->since_ns = in->mono_ns;
			s->loaded_ns = a->gen_before != 0 ? in->mono_ns : 0;
		}
		s->uid = r->uid;
		s->absent_ns = r->absent_ns;
		s->rule = index;
		s->gen = a->gen;
		if (r->absent_ns < a->shortest_ns)
			a->shortest_ns = r->absent_ns;
		watch_literal(in, a, r, s->loaded_ns == in->mono_ns);
	}
}

/* ---- the search ---- */

/* NULL: its rule is not active. */
static const struct watched_rule *rule_of(const struct bp_absence *a, uint64_t key)
{
	const uint32_t slot = bp_watch_slot(key);

	return slot < a->max_rules && a->slot[slot].gen == a->gen ? &a->slot[slot] : NULL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When the silence began; a time of another boot is not used. */
static uint64_t silent_since(const struct bp_mqtt_worker *in, const struct bp_absence *a,
	const struct watched_rule *s, uint64_t word)
{
	const uint64_t seen = word & BP_WATCH_TIME, since = later(a->since_ns, s->since_ns);

	/* another worker may have read its clock a little later */
	return seen > in->mono_ns + CLAIM_NS ? since : later(seen, since);
}

/* A publication for an alarm, of the client that published last. */
struct absent {
	struct bp_watch_topic text;
	struct bp_flow flow;
	struct bp_mqtt_publish publish;
	struct bp_evaluated j;
	uint64_t hash;
};

/* False: the text is not that of the topic, because a worker was killed while it was written. */
static bool read_absent(struct bp_mqtt_worker *in, const struct bp_absence *a, uint64_t at,
	uint64_t key, uint64_t uid, struct absent *x)
{
	struct bp_watch_topic *t = &x->text;

	bp_watch_read(&a->watch, at, t);
	if (t->topic_len == 0 || t->topic_len > BP_WATCH_TOPIC_MAX ||
		t->client_id_len > BP_WATCH_CLIENT_MAX)
		return false;
	x->hash = bp_topic_hash(in, (const uint8_t *)t->topic, t->topic_len);
	if (bp_watch_key(uid, x->hash, bp_watch_slot(key)) != key)
		return false;
	memset(&x->flow, 0, sizeof(x->flow));
	x->flow.k1 = (uint64_t)t->client_port << 16;
	x->flow.flags = t->ip6 ? BP_FLOW_IP6 : 0;
	memcpy(x->flow.client_ip, t->client_ip, sizeof(x->flow.client_ip));
	x->flow.client_id_len = t->client_id_len;
	x->publish = (struct bp_mqtt_publish){.topic = (const uint8_t *)t->topic,
		.topic_len = t->topic_len,
		.payload = (const uint8_t *)""};
	x->j = (struct bp_evaluated){.flow = &x->flow,
		.dir = BP_TO_BROKER,
		.publish = &x->publish,
		.client_id = t->client_id};
	return true;
}

/* Evaluates a silence outside of a segment: its alarm is visible, or its state is undone. */
static void evaluate_silence(
	struct bp_mqtt_worker *in, const struct bp_rule *rule, struct absent *x, double silence)
{
	bp_journal_begin_tick(in->journal, in->ring);
	(void)settle(in, rule, x->hash, x->text.client | 1, silence, &x->j);
	bp_alarms_commit(in);
	bp_journal_end(in->journal);
}

/* Removes an entry whose text is not that of its rule: of an earlier rule in the same slot, or one
 * that a killed worker has not completed. */
static void remove_foreign(struct bp_mqtt_worker *in, const struct bp_absence *a, uint64_t at,
	uint64_t key, uint64_t word, const struct watched_rule *s)
{
	const bool earlier = (word & BP_WATCH_TIME) < s->loaded_ns;

	if (bp_watch_set(&a->watch, at, key, word, 0) && !earlier)
		bp_tally(in, BP_C_WATCH_DAMAGED);
}

static void raise(struct bp_mqtt_worker *in, struct bp_absence *a, uint64_t at, uint64_t key,
	uint64_t word, const struct watched_rule *s, uint64_t since)
{
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, s->rule);
	struct absent x;

	if (!read_absent(in, a, at, key, s->uid, &x)) {
		remove_foreign(in, a, at, key, word, s);
		return;
	}
	x.j.value = (double)(in->mono_ns - since) / 1e9;
	evaluate_silence(in, rule, &x, x.j.value);
	if (!bp_watch_set(&a->watch, at, key, word, word | BP_WATCH_ABSENT)) {
		x.j.value = 0;
		evaluate_silence(in, rule, &x, 0); /* a publication came meanwhile */
	}
}

/* Alarms that do not fit in the queue now are raised later: none is lost. */
static bool has_capacity(const struct bp_mqtt_worker *in)
{
	return bp_ring_used(in->ring) <= in->ring->capacity / 2;
}

/* Whether the last publication is from before the load of the rule, by more than workers differ in
 * it: the entry is of an earlier rule. */
static bool is_stale(const struct watched_rule *s, uint64_t word)
{
	return (word & BP_WATCH_TIME) + FORGET_NS < s->loaded_ns;
}

enum visited { VISITED, RAISED, DELAYED };

static enum visited visit(struct bp_mqtt_worker *in, struct bp_absence *a, uint64_t at)
{
	const uint64_t key = atomic_load_explicit(&a->watch.entry[at].key, memory_order_relaxed);
	const uint64_t word = atomic_load_explicit(&a->watch.entry[at].word, memory_order_relaxed);
	const struct watched_rule *s;
	uint64_t since, deadline;

	if (key == 0)
		return VISITED;
	s = rule_of(a, key);
	if (s != NULL && is_stale(s, word))
		s = NULL;
	if (s != NULL && !(word & BP_WATCH_CLAIM)) {
		if (word & BP_WATCH_ABSENT)
			return VISITED;
		since = silent_since(in, a, s, word);
		deadline = since + s->absent_ns;
	} else {
		since = word & BP_WATCH_TIME;
		deadline = since + (s != NULL ? CLAIM_NS : FORGET_NS);
		if (since > in->mono_ns + CLAIM_NS)
			deadline = in->mono_ns;
	}
	if (in->mono_ns < deadline) {
		if (deadline < a->found_ns)
			a->found_ns = deadline;
		return VISITED;
	}
	if (s == NULL || (word & BP_WATCH_CLAIM)) {
		(void)bp_watch_set(&a->watch, at, key, word, 0);
		return VISITED;
	}
	if (!has_capacity(in))
		return DELAYED;
	raise(in, a, at, key, word, s, since);
	return RAISED;
}

/* No entry that is made during the pass has an earlier deadline than this. */
static void begin_pass(struct bp_mqtt_worker *in, struct bp_absence *a)
{
	a->at = a->begin;
	a->began_ns = in->mono_ns;
	a->found_ns = a->shortest_ns == UINT64_MAX ? UINT64_MAX : in->mono_ns + a->shortest_ns;
}

static void end_pass(struct bp_absence *a)
{
	uint64_t interval = a->shortest_ns / 8;

	interval = interval < PASS_MIN_NS ? PASS_MIN_NS : interval;
	interval = interval > PASS_MAX_NS ? PASS_MAX_NS : interval;
	a->next_ns = a->whole ? a->found_ns : later(a->found_ns, a->began_ns + interval);
}

static void search(struct bp_mqtt_worker *in, struct bp_absence *a)
{
	const uint64_t left = a->end - a->at;
	const uint64_t end = a->whole || left < ENTRIES_OF_CALL ? a->end : a->at + ENTRIES_OF_CALL;
	unsigned raised = 0;

	for (; a->at < end && (a->whole || raised < RAISES_OF_CALL); a->at++) {
		const enum visited v = visit(in, a, a->at);

		if (v == DELAYED)
			break;
		raised += v == RAISED;
	}
	if (a->at == a->end)
		end_pass(a);
}

void bp_absence_tick(struct bp_mqtt_worker *in)
{
	struct bp_absence *a = in->absence;

	if (in->rules->generation == 0 || in->mono_ns == 0)
		return;
	begin(in, a);
	if (!a->whole && in->mono_ns - a->called_ns > PAUSE_NS)
		a->since_ns = in->mono_ns;
	a->called_ns = in->mono_ns;
	if (a->gen != in->gen)
		begin_rules(in, a);
	read_rules(in, a);
	if (a->mapped < in->rules->n_absent)
		return;
	if (a->at == a->end) {
		if (in->mono_ns < a->next_ns)
			return;
		begin_pass(in, a);
	}
	in->frame = NULL;
	search(in, a);
}

uint64_t bp_absence_due(const struct bp_mqtt_worker *in)
{
	const struct bp_absence *a = in->absence;

	if (in->rules->generation == 0 || a->shortest_ns == UINT64_MAX)
		return UINT64_MAX;
	return a->next_ns;
}
