/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/policy_cache.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"

/* One PUBLISH: its fields, the decision of the policy, and the rules of its topic. */

/*
 * On a stream that was resynchronised only by pushes, only topics are valid that were published
 * while it was proven. On the other stream all topics are valid, but new ones do not become known
 * in this state.
 */
static bool topic_counts(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint64_t bits)
{
	if ((bits & ~f->known) == 0)
		return true;
	if (f->pending & BP_FLOW_PUSHED(dir)) {
		bp_tally(in, BP_C_TOPIC_UNCONFIRMED);
		return false;
	}
	if (!(f->pending & BP_FLOW_PUSHED_EITHER))
		f->known |= bits;
	return true;
}

/* The same, kept with the decision of the policy, if that is. */
static uint32_t memo_of(struct bp_mqtt_worker *in, const uint8_t *topic, uint16_t len,
	struct bp_policy_cached *cached)
{
	uint32_t rule = cached != NULL ? bp_policy_cached_memo(cached) : BP_MEMO_UNKNOWN;

	if (rule == BP_MEMO_UNKNOWN) {
		rule = bp_rules_memo(in, topic, len);
		if (cached != NULL)
			bp_policy_cached_set_memo(cached, rule);
	}
	return rule;
}

/*
 * Writes the rules that the topic matches to the flow's memo. Both directions share the memo, so a
 * topic that is valid in only one of them is not stored. Neither is one whose publications the
 * policy decides about one by one. PAYLOAD_DECIDED: it has, about this one.
 */
enum payload { PAYLOAD_BEGINS, PAYLOAD_WHOLE, PAYLOAD_DECIDED };
static enum bp_policy_next look_up(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p, uint64_t hash, enum payload payload)
{
	const uint8_t *topic = p->topic;
	const uint16_t len = p->topic_len;
	const uint64_t bits = bp_topic_known_bits(in, topic, len, hash);
	struct bp_policy_cached *cached = NULL;
	enum bp_policy_next next = BP_POLICY_DECIDE_EACH;
	bool counts;

	bp_tally(in, BP_C_TOPIC_LOOKUP);
	counts = topic_counts(in, f, dir, bits);
	if (dir == BP_FROM_BROKER)
		next = bp_policy_is_given(in) ? BP_POLICY_DECIDE_EACH : BP_POLICY_ALL_ALLOWED;
	else if (!counts)
		bp_policy_unread(in, f, dir);
	else if (payload != PAYLOAD_DECIDED)
		next = bp_policy_publish(in, f, p, hash, payload == PAYLOAD_WHOLE, &cached);
	if (next == BP_POLICY_BLANKED)
		return next;
	f->memo_rule = counts && in->rules->generation != 0 ? memo_of(in, topic, len, cached)
							    : BP_RULE_NONE;
	f->memo_hash = hash;
	f->memo_gen = next == BP_POLICY_ALL_ALLOWED && (bits & ~f->known) == 0 ? in->gen : 0;
	return next;
}

/* Of an alias that has another topic at the broker. */
static bool is_filed(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p)
{
	return p->alias != 0 && dir == BP_TO_BROKER && bp_alias_is_filed(in, f, p);
}

/* The broker knows its identifier, for publications that are sent again. */
static void note_blanked(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_mqtt_publish *p)
{
	if (p->qos == 2)
		(void)bp_qos2_begin(in, f, dir, p->packet_id);
}

/* The hash covers the topic's length. */
static bool memo_matches(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint64_t hash)
{
	return f->memo_hash == hash && f->memo_gen == in->gen;
}

/*
 * Fast path for a PUBLISH on a topic that this flow published before, which was checked then,
 * without version 5 properties. Only lengths remain to be checked.
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
	if (!memo_matches(in, f, *hash))
		return false;
	p->topic = body + 2;
	p->packet_id = (uint16_t)id;
	p->payload = body + at;
	p->payload_len = len - at;
	p->packet_len = len;
	p->qos = flags >> 1 & 3;
	p->dup = flags >> 3 & 1;
	p->retain = flags & 1;
	p->alias = 0;
	p->properties = f->version == BP_MQTT_V5 ? body + at : NULL;
	p->properties_len = 0;
	return true;
}

/* The topic and its hash, with the alias resolved. False: there is nothing to evaluate, which is
 * counted. */
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
		bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_ALIAS);
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
 * Reads a complete PUBLISH: its fields, and the hash of its topic, whose matches are then in the
 * memo of the flow. False: it is not evaluated, which is counted.
 */
static bool read_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_head *head, struct bp_mqtt_publish *p,
	uint64_t *hash)
{
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	enum bp_mqtt_error e;
	enum bp_policy_next next;

	bp_journal_deepen(in->journal, f);
	e = head == NULL ? bp_mqtt_publish(&view, f->version, flags, body, len, p)
			 : bp_mqtt_resume(&view, f->version, flags, body, len, len, head, p);
	if (e != BP_MQTT_OK) {
		bp_mqtt_stop_on_error(in, f, dir, e);
		return false;
	}
	if (view.violations != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.violations);
	count_publish(in, f, p);
	bp_work_add(&in->work, (p->topic_len + p->properties_len) / 4);
	if (!resolve(in, f, dir, p, hash)) {
		bp_policy_unread(in, f, dir);
		return false;
	}
	if (memo_matches(in, f, *hash) && !is_filed(in, f, dir, p)) {
		bp_tally(in, BP_C_TOPIC_CACHE_HIT);
		return true;
	}
	if (!bp_within_budget(in)) {
		bp_policy_unread(in, f, dir);
		return false;
	}
	/* the head of a packet that was cut may have been complete before */
	next = look_up(in, f, dir, p, *hash,
		head != NULL && f->reassembly_decided[dir] == BP_REASSEMBLY_WHOLE ? PAYLOAD_DECIDED
										  : PAYLOAD_WHOLE);
	if (next == BP_POLICY_BLANKED) {
		note_blanked(in, f, dir, p);
		return false;
	}
	return !bp_enforce_refused(in);
}

void bp_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, uint32_t seq, struct bp_mqtt_head *head)
{
	struct bp_mqtt_publish p;
	struct bp_evaluated of;
	uint64_t hash;

	if (!in->evaluates[dir]) {
		bp_tally(in, BP_C_MQTT_PUBLISH_OTHER_DIRECTION);
		return;
	}
	if (parse_known(in, f, flags, body, len, &p, &hash)) {
		bp_tally(in, BP_C_TOPIC_CACHE_HIT);
		count_publish(in, f, &p);
	} else if (!read_publish(in, f, dir, flags, body, len, head, &p, &hash)) {
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
	of.flow = f;
	of.dir = dir;
	of.publish = &p;
	of.seq = seq;
	of.beginning = false;
	of.client_id = NULL;
	of.combined = NULL;
	of.type = BP_VALUE_NUMBER;
	(void)bp_rules_evaluate(in, &of, hash, f->memo_rule);
}

void bp_publish_beginning(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, uint32_t seq, struct bp_mqtt_head *head)
{
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	struct bp_mqtt_publish p;
	struct bp_evaluated of = {
		.flow = f, .dir = dir, .publish = &p, .seq = seq, .beginning = true};
	uint64_t hash;

	bp_journal_deepen(in->journal, f);
	if (bp_mqtt_resume(&view, f->version, flags, body, have, len, head, &p) != BP_MQTT_OK)
		return; /* cannot happen: it was valid when it was kept */
	if (view.violations != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.violations);
	count_publish(in, f, &p);
	bp_tally(in, BP_C_PUBLISH_TRUNCATED);
	if (!resolve(in, f, dir, &p, &hash))
		return;
	p.payload_len = (uint32_t)(body + have - p.payload);
	if (p.qos == 2 && !bp_qos2_begin(in, f, dir, p.packet_id))
		return;
	if (p.qos != 0 && bp_ack_awaited(in, f, dir)) {
		bp_ack_wait(in, f, &p, seq, true);
		return;
	}
	if (!bp_rules_evaluate(in, &of, hash, BP_MEMO_MULTIPLE))
		bp_tally(in, BP_C_MQTT_PUBLISH_INCOMPLETE);
}

void bp_publish_evaluate(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p, uint32_t seq, bool beginning)
{
	struct bp_evaluated of = {
		.flow = f, .dir = dir, .publish = p, .seq = seq, .beginning = beginning};

	if (in->rules->generation == 0)
		return;
	if (!bp_rules_evaluate(
		    in, &of, bp_topic_hash(in, p->topic, p->topic_len), BP_MEMO_MULTIPLE) &&
		beginning)
		bp_tally(in, BP_C_MQTT_PUBLISH_INCOMPLETE);
}

enum bp_publish_decision bp_publish_decide(struct bp_mqtt_worker *in, struct bp_flow *f,
	unsigned dir, uint8_t flags, const uint8_t *body, uint32_t have, uint32_t len,
	struct bp_mqtt_head *head)
{
	uint32_t checked = head->topic + head->properties;
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	struct bp_mqtt_publish p;
	enum bp_mqtt_error e;
	enum bp_policy_next next = BP_POLICY_DECIDE_EACH;
	uint64_t hash;

	if (!in->evaluates[dir]) {
		bp_tally(in, BP_C_MQTT_PUBLISH_OTHER_DIRECTION);
		return BP_PUBLISH_SKIP;
	}
	e = bp_mqtt_resume(&view, f->version, flags, body, have, len, head, &p);
	bp_work_add(&in->work, BP_WORK_PACKET + (have - checked) / 4);
	if (e == BP_MQTT_MORE)
		return BP_PUBLISH_NEED_MORE;
	if (e != BP_MQTT_OK) {
		bp_mqtt_stop_on_error(in, f, dir, e);
		return BP_PUBLISH_NOT_INSPECTED;
	}
	if (!resolve(in, f, dir, &p, &hash)) {
		bp_policy_unread(in, f, dir);
		if (bp_stream_unread(f, dir) || bp_enforce_refused(in))
			return BP_PUBLISH_NOT_INSPECTED;
		count_publish(in, f, &p);
		return BP_PUBLISH_SKIP;
	}
	if (!memo_matches(in, f, hash) || is_filed(in, f, dir, &p)) {
		if (!bp_within_budget(in)) {
			bp_policy_unread(in, f, dir);
			count_publish(in, f, &p);
			return bp_enforce_refused(in) ? BP_PUBLISH_NOT_INSPECTED : BP_PUBLISH_SKIP;
		}
		next = look_up(in, f, dir, &p, hash, PAYLOAD_BEGINS);
		if (next == BP_POLICY_WAIT)
			return BP_PUBLISH_WAIT;
		if (bp_enforce_refused(in))
			return BP_PUBLISH_NOT_INSPECTED;
	}
	if (next != BP_POLICY_BLANKED && f->memo_rule != BP_RULE_NONE)
		return BP_PUBLISH_EVALUATE; /* counted when it is whole */
	if (view.violations != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.violations);
	count_publish(in, f, &p);
	if (next == BP_POLICY_BLANKED)
		note_blanked(in, f, dir, &p);
	else
		bp_tally(in, BP_C_MATCH_NONE);
	return BP_PUBLISH_SKIP;
}
