/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_record.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/fleet_apply.h"
#include "services/mqtt/mqtt_worker.h"
#include "shm/hash.h"
#include "shm/mqtt/mqtt_tables.h"

/*
 * Raised and cleared states of other gateways of a fleet. The control plane offers each of them to
 * one worker, and the table of states is common to all. So when the connection of a client moves
 * here, its alarms are in the state that the other gateway left: no second raise, and the clear has
 * the number of the raise. Likewise holds in progress, in both directions: a worker reports those
 * that it changes.
 */

/*
 * The last changes of all workers, so that an offer that the control plane made before it knew of
 * them changes nothing: clears by the number of their raise, and holds by their time in the same
 * units. In each place is the number, and above it 16 bits of the hash of rule and topic. If
 * another change takes the place earlier, the offer is applied, and the control plane repeats the
 * clear. The control plane reads alarms and reports within this time; later the number does not
 * count any longer, as the clock may have been set back.
 */
#define CHANGES 4096u
#define CHANGE_NS 5000000000ull
enum kind { CLEARS, HOLDS, KINDS };
struct change {
	_Atomic uint64_t word, mono_ns;
};
struct bp_fleet_changes {
	struct change of[KINDS][CHANGES];
};

#define NUMBER (((uint64_t)1 << BP_TRANSITION_BITS) - 1)

struct bp_fleet_changes *bp_fleet_changes_open(struct bp_shm *shm)
{
	if (shm->fleet_changes == NULL)
		shm->fleet_changes =
			bp_segment_private(shm->segment, sizeof(struct bp_fleet_changes));
	return shm->fleet_changes;
}

static uint64_t hash_of(const struct bp_rule *rule, uint64_t topic_hash)
{
	return bp_mix64(rule->uid + bp_mix64(topic_hash));
}

static void remember(const struct bp_mqtt_worker *in, enum kind kind, const struct bp_rule *rule,
	uint64_t topic_hash, uint64_t number)
{
	const uint64_t h = hash_of(rule, topic_hash);
	struct change *c = &bp_fleet_changes_of(in)->of[kind][h % CHANGES];

	atomic_store_explicit(&c->mono_ns, in->mono_ns, memory_order_relaxed);
	atomic_store_explicit(&c->word, (h & ~NUMBER) | (number & NUMBER), memory_order_relaxed);
}

static bool is_outdated(const struct bp_mqtt_worker *in, enum kind kind, const struct bp_rule *rule,
	uint64_t topic_hash, uint64_t number)
{
	const uint64_t h = hash_of(rule, topic_hash);
	struct change *c = &bp_fleet_changes_of(in)->of[kind][h % CHANGES];
	const uint64_t last = atomic_load_explicit(&c->word, memory_order_relaxed);
	const uint64_t then = atomic_load_explicit(&c->mono_ns, memory_order_relaxed);

	return last != 0 && ((h ^ last) & ~NUMBER) == 0 && number <= (last & NUMBER) &&
	       in->mono_ns < then + CHANGE_NS;
}

void bp_fleet_state_cleared(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const uint8_t *topic, uint32_t topic_len, uint64_t transition)
{
	remember(in, CLEARS, rule, bp_topic_hash(in, topic, topic_len), transition);
}

/* NULL: none, or this worker has other rules than the control plane had. */
static const struct bp_rule *rule_of(const struct bp_ruleset *rules, const struct bp_state_offer *o)
{
	const struct bp_rule *r;

	if (rules->generation == 0 || o->rule >= rules->n_rules)
		return NULL;
	r = bp_ruleset_rule(rules, o->rule);
	if (r->uid != o->rule_uid || !r->stateful)
		return NULL;
	return o->state != BP_OFFER_HOLD || r->hold != BP_HOLD_NONE ? r : NULL;
}

static const bp_counter_t adopted[] = {
	[BP_OFFER_CLEARED] = BP_C_FLEET_STATE_CLEARED,
	[BP_OFFER_RAISED] = BP_C_FLEET_STATE_RAISED,
	[BP_OFFER_HOLD] = BP_C_FLEET_HOLD,
};

/* `from` as a time of clock `to`, given both clocks now; at least 1, as 0 is no hold. */
static uint64_t other_clock(uint64_t ns, uint64_t from_now, uint64_t to_now)
{
	const uint64_t age = ns < from_now ? from_now - ns : 0;

	return age < to_now ? to_now - age : 1;
}

static enum bp_state_loss adopt_state(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_state_offer *o, uint64_t topic_hash)
{
	uint64_t hold = o->hold;

	if (o->state != BP_OFFER_HOLD)
		return bp_rule_state_adopt(in->rule_state, in->rule_state_len, rule, topic_hash,
			o->state == BP_OFFER_RAISED ? BP_VERDICT_RAISED : BP_VERDICT_CLEARED,
			o->transition, in->mono_ns);
	if (rule->hold == BP_HOLD_TIME && hold != 0)
		hold = other_clock(hold, in->now_ns, in->mono_ns);
	return bp_rule_state_adopt_hold(
		in->rule_state, in->rule_state_len, rule, topic_hash, hold, in->mono_ns);
}

static void adopt(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_state_offer *o, const uint8_t *topic)
{
	const uint64_t topic_hash = bp_topic_hash(in, topic, o->topic_len);
	enum bp_state_loss loss;

	if (o->state != BP_OFFER_CLEARED &&
		is_outdated(in, o->state == BP_OFFER_HOLD ? HOLDS : CLEARS, rule, topic_hash,
			o->transition)) {
		bp_tally(in, BP_C_FLEET_STATE_OUTDATED);
		return;
	}
	loss = adopt_state(in, rule, o, topic_hash);
	bp_tally(in, loss == BP_STATE_NOT_KEPT ? BP_C_FLEET_STATE_NOT_STORED : adopted[o->state]);
	if (loss == BP_STATE_HOLD_EVICTED)
		bp_tally(in, BP_C_STATE_EVICTED);
	else if (loss == BP_STATE_RAISED_EVICTED)
		bp_tally(in, BP_C_STATE_EVICTED_RAISED);
}

/* The offer at p, whose topic follows it. False: it is not valid (counted). */
static bool read_offer(
	struct bp_mqtt_worker *in, const uint8_t *p, uint32_t n, struct bp_state_offer *o)
{
	if (n >= sizeof(*o)) {
		memcpy(o, p, sizeof(*o));
		if (o->state <= BP_OFFER_HOLD && o->topic_len != 0 &&
			o->topic_len <= BP_STATE_TOPIC_MAX && n - sizeof(*o) >= o->topic_len &&
			o->transition != 0 && o->transition >> BP_TRANSITION_BITS == 0)
			return true;
	}
	bp_tally(in, BP_C_FLEET_STATE_INVALID);
	return false;
}

void bp_fleet_state_offer(struct bp_mqtt_worker *in, const uint8_t *p, uint32_t n)
{
	struct bp_state_offer o;
	const struct bp_rule *rule;

	if (!read_offer(in, p, n, &o))
		return;
	if (n != sizeof(o) + o.topic_len) {
		bp_tally(in, BP_C_FLEET_STATE_INVALID);
		return;
	}
	rule = rule_of(in->rules, &o);
	if (rule == NULL)
		bp_tally(in, BP_C_FLEET_STATE_NO_RULE);
	else
		adopt(in, rule, &o, p + sizeof(o));
}

/* Reports leave half of the ring to requests: a device that changes holds delays no adoption. */
static struct bp_hold_report *reserve(struct bp_ring *ring, uint32_t topic_len, uint64_t *mark)
{
	const uint32_t size = (uint32_t)sizeof(struct bp_hold_report) + topic_len;

	if (bp_ring_used(ring) + size > ring->capacity / 2)
		return NULL;
	return bp_ring_reserve(ring, size, mark);
}

static struct bp_stream_place place_of(
	const struct bp_mqtt_worker *in, const struct bp_evaluated *of)
{
	/* the time of a window has passed: there is no connection */
	if (of->client_id != NULL)
		return (struct bp_stream_place){.slot = UINT32_MAX};
	return (struct bp_stream_place){.slot = (uint32_t)(of->flow - in->table.flow),
		.worker = (uint16_t)in->worker,
		.life = of->flow->life,
		.seq = of->seq,
		.dir = of->dir};
}

/* The hold has ended here, which is the newest change of it. A full ring: as a change that is not
 * reported. */
static void report_end(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_state_offer *o, const uint8_t *topic)
{
	uint64_t mark;
	struct bp_hold_report *r = reserve(bp_fleet_requests(in), o->topic_len, &mark);

	if (r == NULL) {
		bp_fleet_hold_lost(in, f);
		return;
	}
	*r = (struct bp_hold_report){.rule_uid = o->rule_uid,
		.unix_ns = in->now_ns,
		.place = {.slot = (uint32_t)(f - in->table.flow),
			.worker = (uint16_t)in->worker,
			.life = f->life,
			.seq = f->next[o->dir] - 1,
			.dir = o->dir},
		.topic_len = o->topic_len,
		.ip6 = (f->flags & BP_FLOW_IP6) != 0};
	memcpy(r->client_ip, f->client_ip, r->ip6 ? 16 : 4);
	memcpy(r + 1, topic, o->topic_len);
	bp_ring_commit(bp_fleet_requests(in), mark);
}

static void apply_hold(struct bp_mqtt_worker *in, struct bp_flow *f, struct bp_state_offer *o,
	const uint8_t *topic, bool exact)
{
	const struct bp_rule *rule = rule_of(in->rules, o);
	const uint64_t topic_hash = bp_topic_hash(in, topic, o->topic_len);
	bool outdated;

	if (rule == NULL) {
		bp_tally(in, BP_C_FLEET_STATE_NO_RULE);
		return;
	}
	/* another connection may have changed it here since, or the clocks differ; an equal number
	 * is the same change */
	outdated = is_outdated(in, HOLDS, rule, topic_hash, o->transition + 1);
	exact = exact && !outdated;
	if (!exact && (o->hold != 0 || outdated)) {
		o->hold = 0;
		bp_tally(in, BP_C_FLEET_HOLD_ENDED);
		report_end(in, f, o, topic);
	}
	remember(in, HOLDS, rule, topic_hash,
		exact ? o->transition : in->now_ns >> BP_TRANSITION_SHIFT);
	(void)adopt_state(in, rule, o, topic_hash);
}

void bp_fleet_apply_holds(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_fleet_holds *holds, const struct bp_connection_record *r,
	const enum bp_fleet_continues continues[2])
{
	struct bp_state_offer o;

	for (uint32_t at = 0; at != holds->n; at += (uint32_t)sizeof(o) + o.topic_len) {
		const uint8_t *p = holds->p + at;

		if (!read_offer(in, p, holds->n - at, &o))
			return;
		if (o.state != BP_OFFER_HOLD || o.dir > 1) {
			bp_tally(in, BP_C_FLEET_STATE_INVALID);
			return;
		}
		/* a gateway that lives may have read more than its record says */
		if (continues[o.dir] != BP_FLEET_OWN)
			apply_hold(in, f, &o, p + sizeof(o),
				continues[o.dir] == BP_FLEET_EXACT &&
					(int32_t)(r->next[o.dir] - o.seq) > 0);
	}
}

void bp_fleet_hold_changed(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_evaluated *of, uint64_t topic_hash, const struct bp_rule_undo *undo)
{
	_Static_assert(sizeof(struct bp_hold_report) > sizeof(struct bp_connection_key),
		"it is longer than a request");
	const struct bp_mqtt_publish *p = of->publish;
	struct bp_ring *ring = bp_fleet_requests(in);
	struct bp_hold_report *r;
	uint64_t hold, mark;

	if (of->combined != NULL ||
		!bp_rule_hold_changed(rule, undo, topic_hash, in->mono_ns, &hold))
		return;
	remember(in, HOLDS, rule, topic_hash, in->now_ns >> BP_TRANSITION_SHIFT);
	/* never shared: the others have no hold of it that would have to end */
	if (p->topic_len == 0 || p->topic_len > BP_STATE_TOPIC_MAX) {
		bp_tally(in, BP_C_FLEET_HOLD_TOPIC_TOO_LONG);
		return;
	}
	r = reserve(ring, p->topic_len, &mark);
	if (r == NULL) {
		bp_fleet_hold_lost(in, of->flow);
		return;
	}
	if (rule->hold == BP_HOLD_TIME && hold != 0)
		hold = other_clock(hold, in->mono_ns, in->now_ns);
	*r = (struct bp_hold_report){.rule_uid = rule->uid,
		.unix_ns = in->now_ns,
		.hold = hold,
		.place = place_of(in, of),
		.topic_len = p->topic_len,
		.ip6 = (of->flow->flags & BP_FLOW_IP6) != 0};
	memcpy(r->client_ip, of->flow->client_ip, r->ip6 ? 16 : 4);
	memcpy(r + 1, p->topic, p->topic_len);
	bp_ring_commit(ring, mark);
}
