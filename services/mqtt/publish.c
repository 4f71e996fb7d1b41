/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdio.h>

#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "proto/net/copy.h"

/*
 * One PUBLISH and the rules: topic to rules, payload to value, value to verdict, and the verdict of
 * a rule to the ring of alarms, or out as a clone.
 */

/* ---- alarms ---- */

struct piece {
	const char *text;
	uint32_t len;
};

static bool is_placeholder(const char *at, const char *end, const char *name, uint32_t len)
{
	return (size_t)(end - at) >= len && memcmp(at, name, len) == 0;
}

/*
 * Expands the rule's `to` into out[0..BP_TOPIC_MAX). Returns its length, or more than BP_TOPIC_MAX
 * when it is longer. The template was checked when the configuration was read, so what is no
 * placeholder is text.
 */
static uint32_t expand(const struct bp_rule *rule, const struct piece *topic,
	const struct piece *client, char *out)
{
	const char *at = rule->to, *end = rule->to + rule->to_len;
	uint32_t n = 0;

	while (at < end) {
		struct piece p = {at, 1};
		uint32_t step = 1;

		if (*at != '{') {
			while (at + p.len < end && at[p.len] != '{')
				p.len++;
			step = p.len;
		} else if (is_placeholder(at, end, "{topic}", 7)) {
			p = *topic;
			step = 7;
		} else if (is_placeholder(at, end, "{rule}", 6)) {
			p.text = rule->name;
			p.len = rule->name_len;
			step = 6;
		} else if (is_placeholder(at, end, "{client}", 8)) {
			p = *client;
			step = 8;
		}
		if (n + p.len > BP_TOPIC_MAX)
			return BP_TOPIC_MAX + 1;
		bp_copy(out + n, p.text, p.len);
		n += p.len;
		at += step;
	}
	return n;
}

/* "10.0.0.5:40312" or "[fd00::5]:40312", not terminated; returns its length, 0 when it won't fit.
 */
static uint32_t client_address(const struct bp_flow *f, char *out, uint32_t size)
{
	bool ip6 = f->flags & BP_FLOW_IP6;
	char address[INET6_ADDRSTRLEN], name[INET6_ADDRSTRLEN + 10];
	int n;

	if (inet_ntop(ip6 ? AF_INET6 : AF_INET, f->client_ip, address, sizeof(address)) == NULL)
		return 0;
	n = snprintf(name, sizeof(name), ip6 ? "[%s]:%u" : "%s:%u", address,
		(unsigned)(uint16_t)(f->k1 >> 16));
	if (n < 0 || (uint32_t)n > size)
		return 0;
	memcpy(out, name, (size_t)n);
	return (uint32_t)n;
}

/*
 * The client in a topic: its identifier, or its address where that is unknown. What a topic name
 * can't hold becomes '_'.
 */
static struct piece client_in_topic(
	struct bp_mqtt_worker *in, const struct bp_flow *f, char *buf, uint32_t size)
{
	struct piece p = {buf, 0};

	if (f->client_id_len == 0 || f->client_id_len > size) {
		p.len = client_address(f, buf, size);
		return p;
	}
	memcpy(buf, bp_carry_data(in->carry, f->client_id), f->client_id_len);
	p.len = f->client_id_len;
	for (uint32_t i = 0; i < p.len; i++) {
		if (buf[i] == '+' || buf[i] == '#' || buf[i] == '/')
			buf[i] = '_';
	}
	return p;
}

static void to_ring(struct bp_mqtt_worker *in, const struct bp_rule *rule, enum bp_verdict verdict,
	const struct bp_evaluated *j, const struct piece *topic, const struct piece *to)
{
	const struct bp_flow *f = j->flow;
	const struct bp_mqtt_publish *p = j->publish;
	/* an envelope is made of the fields: the payload need not cross */
	bool envelope = rule->payload == BP_PAYLOAD_ENVELOPE || j->beginning;
	uint32_t payload_len = envelope ? 0 : p->payload_len;
	uint64_t size = (uint64_t)BP_ALARM_HEAD + rule->name_len + f->client_id_len + topic->len +
			to->len + payload_len;
	struct bp_alarm *a;
	uint64_t mark;
	char *at;

	if (size > bp_ring_record_max(in->ring)) {
		bp_tally(in, BP_C_ALARM_TOO_LARGE);
		return;
	}
	/* visible once the segment was read: bp_alarms_commit() */
	a = bp_ring_reserve_behind(in->ring,
		in->alarms_end != 0 ? in->alarms_end : bp_ring_head(in->ring), (uint32_t)size,
		&mark);
	if (a == NULL) {
		bp_tally(in, BP_C_ALARM_RING_FULL);
		in->counters->v[BP_C_SEGMENT_INVALID] += bp_ring_bad_tails(in->ring);
		return;
	}
	memset(a, 0, sizeof(*a));
	/* taken only once there is room: a lost alarm leaves no hole in the numbers */
	a->id = atomic_fetch_add_explicit(in->next_alarm_id, 1, memory_order_relaxed);
	a->time_ns = in->now_ns;
	a->value = j->value;
	a->state = verdict == BP_VERDICT_RAISED ? BP_ALARM_RAISED : BP_ALARM_CLEARED;
	a->flags = (uint8_t)((envelope ? BP_ALARM_F_ENVELOPE : 0) |
			     (p->retain ? BP_ALARM_F_RETAIN : 0) |
			     (rule->action == BP_ACTION_CLONE ? BP_ALARM_F_CLONE : 0) |
			     (f->flags & BP_FLOW_IP6 ? BP_ALARM_F_IP6 : 0));
	a->qos = p->qos;
	a->client_port = (uint16_t)(f->k1 >> 16);
	memcpy(a->client_ip, f->client_ip, 16);
	a->rule_len = rule->name_len;
	a->client_id_len = f->client_id_len;
	a->topic_len = (uint16_t)topic->len;
	a->to_len = (uint16_t)to->len;
	a->payload_len = payload_len;
	at = a->text;
	memcpy(at, rule->name, rule->name_len);
	at += rule->name_len;
	if (f->client_id_len != 0)
		memcpy(at, bp_carry_data(in->carry, f->client_id), f->client_id_len);
	at += f->client_id_len;
	memcpy(at, topic->text, topic->len);
	at += topic->len;
	memcpy(at, to->text, to->len);
	at += to->len;
	memcpy(at, p->payload, payload_len);
	in->alarms_end = mark;
	bp_tally(in, BP_C_ALARM_QUEUED);
}

static void to_clone(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_evaluated *j, const struct piece *to)
{
	struct bp_clone_request r = {
		.rule = rule,
		.frame = in->frame,
		.publish = j->publish,
		.to = to->text,
		.to_len = (uint16_t)to->len,
		.version = j->flow->version,
		.seq = j->seq,
	};

	if (j->beginning)
		bp_tally(in, BP_C_CLONE_TOO_LARGE);
	else if (in->frame == NULL)
		bp_tally(in, BP_C_CLONE_NO_FRAME);
	else if (in->clone == NULL)
		bp_tally(in, BP_C_CLONE_NO_EDGE);
	else
		(void)in->clone(in->clone_arg, &r); /* counts for itself */
}

void bp_alarm_emit(struct bp_mqtt_worker *in, const struct bp_rule *rule, enum bp_verdict verdict,
	const struct bp_evaluated *j)
{
	struct bp_rule_stats *stats = &in->rule_stats[rule->slot];
	_Atomic uint64_t *told = verdict == BP_VERDICT_RAISED ? &stats->raised : &stats->cleared;
	struct piece topic = {(const char *)j->publish->topic, j->publish->topic_len};
	struct piece client = {"", 0}, to = {in->to, 0};
	char name[1024];

	bp_tally(in, verdict == BP_VERDICT_RAISED ? BP_C_ALARM_RAISED : BP_C_ALARM_CLEARED);
	atomic_store_explicit(
		told, atomic_load_explicit(told, memory_order_relaxed) + 1, memory_order_relaxed);
	if (rule->to_client)
		client = client_in_topic(in, j->flow, name, sizeof(name));
	to.len = expand(rule, &topic, &client, in->to);
	bp_work_add(
		&in->work, BP_WORK_ALARM + (topic.len + 2 * to.len + j->publish->payload_len) / 8);
	if (to.len > BP_TOPIC_MAX) {
		bp_tally(in, BP_C_ALARM_TOO_LARGE);
		return;
	}
	if (rule->action == BP_ACTION_CLONE)
		to_clone(in, rule, j, &to);
	if (rule->action == BP_ACTION_PUBLISH || in->record_clones)
		to_ring(in, rule, verdict, j, &topic, &to);
}

/* ---- rules ---- */

struct evaluation {
	struct bp_mqtt_worker *in;
	struct bp_evaluated of;
	uint64_t topic_hash;
	/* the value at the source looked at last: rules on one topic mostly share it */
	uint32_t source;
	bool has_value;
	bool missed; /* a rule found no value */
	bool cut;    /* over the budget: the rest of the rules are not evaluated */
};

static void value_at(struct evaluation *j, uint32_t source)
{
	const struct bp_mqtt_publish *p = j->of.publish;

	bp_work_add(&j->in->work, BP_WORK_VALUE + p->payload_len);
	j->source = source;
	if (j->of.beginning)
		j->has_value = bp_value_beginning(p->payload, p->payload_len,
			bp_ruleset_source(j->in->rules, source), &j->of.value);
	else
		j->has_value = bp_value_at(j->in, source, p->payload, p->payload_len, &j->of.value);
}

static const bp_counter_t loss_counter[] = {
	[BP_STATE_HOLD_EVICTED] = BP_C_STATE_EVICTED,
	[BP_STATE_RAISED_EVICTED] = BP_C_STATE_EVICTED_RAISED,
	[BP_STATE_NOT_KEPT] = BP_C_STATE_NOT_KEPT,
};

/* Whose states these are. */
static uint32_t client_of(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return (uint32_t)bp_flow_client_hash(&in->table, f) | 1;
}

static void evaluate(struct evaluation *j, uint32_t index)
{
	struct bp_mqtt_worker *in = j->in;
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, index);
	struct bp_rule_stats *stats = &in->rule_stats[rule->slot];
	enum bp_verdict verdict;

	if (j->cut)
		return;
	if (!bp_within_budget(in)) {
		j->cut = true;
		return;
	}
	bp_work_add(&in->work, BP_WORK_RULE);
	bp_tally(in, BP_C_MATCH);
	/* this worker is the row's only writer: a plain add, seen by readers as one store */
	atomic_store_explicit(&stats->matched,
		atomic_load_explicit(&stats->matched, memory_order_relaxed) + 1,
		memory_order_relaxed);
	if (j->source != rule->source)
		value_at(j, rule->source);
	if (!j->has_value) {
		j->missed = true;
		bp_tally(in, j->of.beginning ? BP_C_PUBLISH_TOO_LONG : BP_C_VALUE_MISSING);
		atomic_store_explicit(&stats->no_value,
			atomic_load_explicit(&stats->no_value, memory_order_relaxed) + 1,
			memory_order_relaxed);
		return;
	}
	if (!rule->stateful) {
		if (!bp_condition_holds(&rule->raise, j->of.value))
			return;
		verdict = BP_VERDICT_RAISED;
	} else {
		enum bp_state_loss loss;

		bp_work_add(&in->work, BP_WORK_STATE);
		verdict = bp_rule_judge_undo(in->rule_state, in->rule_state_len, rule,
			j->topic_hash, client_of(in, j->of.flow), j->of.value, in->mono_ns, &loss,
			bp_journal_undo(in->journal));
		if (__builtin_expect(loss != BP_STATE_NO_LOSS, 0))
			bp_tally(in, loss_counter[loss]);
	}
	if (verdict != BP_VERDICT_NOTHING)
		bp_alarm_emit(in, rule, verdict, &j->of);
}

/* What a topic matches, gathered; when there are more than fit, that is all that is known. */
struct matched {
	const struct bp_ruleset *rules;
	uint32_t n;
	uint32_t rule[BP_TOPIC_CACHE_RULES];
};

static void gather(uint32_t first, void *arg)
{
	struct matched *m = arg;

	for (uint32_t r = first; r != BP_RULE_NONE && m->n <= BP_TOPIC_CACHE_RULES;
		r = bp_ruleset_rule(m->rules, r)->next) {
		if (m->n < BP_TOPIC_CACHE_RULES)
			m->rule[m->n] = r;
		m->n++;
	}
}

static void match(struct bp_mqtt_worker *in, const uint8_t *topic, uint32_t len,
	bp_rule_found found, void *arg)
{
	uint32_t steps = bp_ruleset_match(in->rules, topic, len, found, arg);

	bp_work_add(&in->work, (uint64_t)steps * BP_WORK_TRIE_STEP + len / 4);
}

static void evaluate_chain(uint32_t first, void *arg)
{
	struct evaluation *j = arg;

	for (uint32_t r = first; r != BP_RULE_NONE && !j->cut;
		r = bp_ruleset_rule(j->in->rules, r)->next)
		evaluate(j, r);
}

static void evaluate_matching(struct evaluation *j)
{
	struct bp_mqtt_worker *in = j->in;
	const struct bp_mqtt_publish *p = j->of.publish;
	struct bp_topic_cache *c = &in->cache[j->topic_hash >> 1 & (BP_TOPIC_CACHE - 1)];

	if (c->hash != j->topic_hash || c->gen != in->gen) {
		struct matched m = {.rules = in->rules};

		match(in, p->topic, p->topic_len, gather, &m);
		c->hash = j->topic_hash;
		c->gen = in->gen;
		c->n = m.n;
		memcpy(c->rule, m.rule, sizeof(c->rule));
	}
	if (c->n > BP_TOPIC_CACHE_RULES) {
		match(in, p->topic, p->topic_len, evaluate_chain, j);
		return;
	}
	for (uint32_t i = 0; i < c->n; i++)
		evaluate(j, c->rule[i]);
}

/*
 * On a stream that only pushes brought back, only topics count that were published while it was
 * proven. On the other one all do; but what is new there makes nothing known meanwhile.
 */
static bool topic_counts(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint64_t hash)
{
	if (bp_topic_known(f, hash))
		return true;
	if (f->pending & BP_FLOW_PUSHED(dir)) {
		bp_tally(in, BP_C_TOPIC_UNPROVEN);
		return false;
	}
	if (!(f->pending & BP_FLOW_PUSHED_EITHER))
		f->known |= bp_topic_bits(hash);
	return true;
}

/* Which rules the topic matches, to the flow's memo. Both directions have the same one: what counts
 * in one of them alone is not remembered. */
static void look_up(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *topic, uint16_t len, uint64_t hash)
{
	struct matched m = {.rules = in->rules};

	bp_tally(in, BP_C_TOPIC_LOOKUP);
	if (topic_counts(in, f, dir, hash) && in->rules->generation != 0)
		match(in, topic, len, gather, &m);
	f->memo_rule = m.n == 0 ? BP_RULE_NONE : m.n == 1 ? m.rule[0] : BP_MEMO_MANY;
	f->memo_hash = hash;
	f->memo_gen = bp_topic_known(f, hash) ? in->gen : 0;
}

/* The hash covers the topic's length. */
static bool memo_fits(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint64_t hash)
{
	return f->memo_hash == hash && f->memo_gen == in->gen;
}

/*
 * The usual PUBLISH: a topic that this flow published before, checked then, and no version 5
 * properties. Nothing but lengths is left to check.
 */
static bool parse_known(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_publish *p, uint64_t *hash)
{
	uint32_t at = 2, id = 0;

	if (len < 2)
		return false;
	p->topic_len = bp_be16(body);
	if (p->topic_len == 0)
		return false;
	at += p->topic_len;
	if (flags & 0x06) {
		if (at + 2 > len)
			return false;
		id = bp_be16(body + at);
		if (id == 0)
			return false;
		at += 2;
	}
	if (f->version == BP_MQTT_V5) {
		if (at >= len || body[at] != 0)
			return false;
		at++;
	}
	if (at > len)
		return false;
	*hash = bp_topic_hash(in, body + 2, p->topic_len);
	if (!memo_fits(in, f, *hash))
		return false;
	p->topic = body + 2;
	p->packet_id = (uint16_t)id;
	p->payload = body + at;
	p->payload_len = len - at;
	p->qos = flags >> 1 & 3;
	p->dup = flags >> 3 & 1;
	p->retain = flags & 1;
	p->alias = 0;
	p->properties = f->version == BP_MQTT_V5 ? body + at : NULL;
	p->properties_len = 0;
	return true;
}

/* The topic and its hash, an alias resolved. False: there is nothing to evaluate, and that is
 * counted.
 */
static bool resolve(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p, uint64_t *hash)
{
	if (p->alias == 0) {
		*hash = bp_topic_hash(in, p->topic, p->topic_len);
		return true;
	}
	switch (bp_alias_use(in, f, dir, p, hash)) {
	case BP_ALIAS_OK:
		return true;
	case BP_ALIAS_UNMAPPED:
		bp_tally(in, BP_C_ALIAS_UNMAPPED);
		return false;
	case BP_ALIAS_BAD:
		bp_mqtt_opaque(in, f, dir, BP_C_OPAQUE_ALIAS);
		return false;
	}
	return false;
}

static void count_publish(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_publish *p)
{
	bp_tally(in, BP_C_MQTT_PUBLISH);
	f->publishes++;
	if (p->dup)
		bp_tally(in, BP_C_MQTT_DUP);
}

/*
 * Reads a complete PUBLISH: its fields, and the hash of its topic, of which the flow's memo says
 * afterwards what it matches. False: it is not evaluated, and that is counted.
 */
static bool read_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_head *head, struct bp_mqtt_publish *p,
	uint64_t *hash)
{
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	enum bp_mqtt_error e;

	bp_journal_deepen(in->journal, f);
	e = head == NULL ? bp_mqtt_publish(&view, f->version, flags, body, len, p)
			 : bp_mqtt_resume(&view, f->version, flags, body, len, len, head, p);
	if (e != BP_MQTT_OK) {
		bp_mqtt_opaque_error(in, f, dir, e);
		return false;
	}
	if (view.odd != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.odd);
	count_publish(in, f, p);
	bp_work_add(&in->work, (p->topic_len + p->properties_len) / 4);
	if (!resolve(in, f, dir, p, hash))
		return false;
	if (memo_fits(in, f, *hash)) {
		bp_tally(in, BP_C_TOPIC_MEMO);
		return true;
	}
	if (!bp_within_budget(in))
		return false;
	look_up(in, f, dir, p->topic, p->topic_len, *hash);
	return true;
}

void bp_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, uint32_t seq, struct bp_mqtt_head *head)
{
	struct bp_mqtt_publish p;
	struct evaluation j;

	if (!in->evaluates[dir]) {
		bp_tally(in, BP_C_MQTT_PUBLISH_OTHER);
		return;
	}
	if (parse_known(in, f, flags, body, len, &p, &j.topic_hash)) {
		bp_tally(in, BP_C_TOPIC_MEMO);
		count_publish(in, f, &p);
	} else if (!read_publish(in, f, dir, flags, body, len, head, &p, &j.topic_hash)) {
		return;
	}
	if (p.qos == 2 && !bp_qos2_begin(in, f, dir, p.packet_id))
		return;
	if (f->memo_rule == BP_RULE_NONE) {
		bp_tally(in, BP_C_MATCH_NONE);
		return;
	}
	if (p.qos != 0 && bp_ack_awaited(in, f, dir)) {
		bp_ack_wait(in, f, &p, seq, false);
		return;
	}
	j.in = in;
	j.source = UINT32_MAX;
	j.has_value = false;
	j.cut = false;
	j.of.flow = f;
	j.of.dir = dir;
	j.of.publish = &p;
	j.of.seq = seq;
	j.of.beginning = false;
	if (f->memo_rule == BP_MEMO_MANY)
		evaluate_matching(&j);
	else
		evaluate(&j, f->memo_rule);
}

void bp_publish_beginning(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, uint32_t seq, struct bp_mqtt_head *head)
{
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	struct bp_mqtt_publish p;
	struct evaluation j = {
		.in = in,
		.of = {.flow = f, .dir = dir, .publish = &p, .seq = seq, .beginning = true},
		.source = UINT32_MAX,
	};

	bp_journal_deepen(in->journal, f);
	if (bp_mqtt_resume(&view, f->version, flags, body, have, len, head, &p) != BP_MQTT_OK)
		return; /* can't be: it was right when it was kept */
	if (view.odd != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.odd);
	count_publish(in, f, &p);
	bp_tally(in, BP_C_PUBLISH_BEGINNING);
	if (!resolve(in, f, dir, &p, &j.topic_hash))
		return;
	p.payload_len = (uint32_t)(body + have - p.payload);
	if (p.qos == 2 && !bp_qos2_begin(in, f, dir, p.packet_id))
		return;
	if (p.qos != 0 && bp_ack_awaited(in, f, dir)) {
		bp_ack_wait(in, f, &p, seq, true);
		return;
	}
	evaluate_matching(&j);
	if (j.missed)
		bp_tally(in, BP_C_MQTT_PUBLISH_LOST);
}

void bp_publish_evaluate(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p, uint32_t seq, bool beginning)
{
	struct evaluation j = {
		.in = in,
		.of = {.flow = f, .dir = dir, .publish = p, .seq = seq, .beginning = beginning},
		.topic_hash = bp_topic_hash(in, p->topic, p->topic_len),
		.source = UINT32_MAX,
	};

	if (in->rules->generation != 0)
		evaluate_matching(&j);
	if (beginning && j.missed)
		bp_tally(in, BP_C_MQTT_PUBLISH_LOST);
}

enum bp_wanted bp_publish_wanted(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	uint8_t flags, const uint8_t *body, uint32_t have, uint32_t len, struct bp_mqtt_head *head)
{
	uint32_t checked = head->topic + head->properties;
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	struct bp_mqtt_publish p;
	enum bp_mqtt_error e;
	uint64_t hash;

	if (!in->evaluates[dir]) {
		bp_tally(in, BP_C_MQTT_PUBLISH_OTHER);
		return BP_WANTED_NO;
	}
	e = bp_mqtt_resume(&view, f->version, flags, body, have, len, head, &p);
	bp_work_add(&in->work, BP_WORK_PACKET + (have - checked) / 4);
	if (e == BP_MQTT_MORE)
		return BP_WANTED_MORE;
	if (e != BP_MQTT_OK) {
		bp_mqtt_opaque_error(in, f, dir, e);
		return BP_WANTED_OPAQUE;
	}
	if (!resolve(in, f, dir, &p, &hash)) {
		if (bp_stream_unread(f, dir))
			return BP_WANTED_OPAQUE;
		count_publish(in, f, &p);
		return BP_WANTED_NO;
	}
	if (!memo_fits(in, f, hash)) {
		if (!bp_within_budget(in)) {
			count_publish(in, f, &p);
			return BP_WANTED_NO;
		}
		look_up(in, f, dir, p.topic, p.topic_len, hash);
	}
	if (f->memo_rule != BP_RULE_NONE)
		return BP_WANTED_YES; /* counted when it is whole */
	if (view.odd != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.odd);
	count_publish(in, f, &p);
	bp_tally(in, BP_C_MATCH_NONE);
	return BP_WANTED_NO;
}
