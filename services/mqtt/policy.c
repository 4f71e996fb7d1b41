/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/policy_cache.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/suback.h"
#include "shm/hash.h"
#include "shm/rules/policy.h"

/*
 * The policy, for packets of clients. Its decision is about packets that were read, so about none
 * of a connection that is not inspected. What it refuses, enforce.c does not forward.
 */

#define MINUTE_NS (60 * 1000000000ull)

/* Computed once a minute, and when the clock was set: then the difference is another one. */
static void set_time(struct bp_mqtt_worker *in, struct bp_policy_packet_view *v)
{
	if (in->policy_day == 0 || in->now_ns - in->minute_began_ns >= MINUTE_NS) {
		bp_policy_set_time(v, in->now_ns);
		in->minute_began_ns = in->now_ns / MINUTE_NS * MINUTE_NS;
		in->policy_day = v->day;
		in->policy_minute = v->minute;
	}
	v->day = in->policy_day;
	v->minute = in->policy_minute;
}

/* What bp_policy_cache_key() reads. */
static inline void set_client(
	struct bp_policy_packet_view *v, const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	v->version = f->version;
	v->port = f->client_port;
	v->ip6 = (f->flags & BP_FLOW_IP6) != 0;
	v->known = bp_mqtt_is_identified(in, f);
	v->address = f->client_ip;
	v->client = v->user = NULL;
	v->client_len = v->user_len = 0;
	/* of a search: it may be that of bytes that were no CONNECT */
	if (!(f->flags & BP_FLOW_CONNECT))
		return;
	v->client_len = f->client_id_len;
	if (f->client_id_len != 0)
		v->client = bp_reassembly_data(in->reassembly, f->client_id);
	v->user = bp_mqtt_user(in, f, &v->user_len);
}

/* Written where it is used: a copy would wait for the stores of its small members. */
static void view_init(struct bp_policy_packet_view *v, struct bp_mqtt_worker *in,
	const struct bp_flow *f, enum bp_policy_packet packet)
{
	memset(v, 0, sizeof(*v));
	v->packet = (uint8_t)packet;
	set_client(v, in, f);
	v->keep_alive = BP_POLICY_KEEP_ALIVE_UNKNOWN;
	v->rates = in->policy_rates;
	v->hash_key = in->topic_key;
	v->mono_ns = in->mono_ns;
	set_time(in, v);
}

static void add(_Atomic uint64_t *n)
{
	/* this worker is the only writer */
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

void bp_policy_report_undecided(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_policy_packet_view *v, uint32_t rule, enum bp_event_policy_cause cause)
{
	const bool closes = in->enforced != NULL && bp_enforce_fails_closed(in, f);
	const struct bp_policy_decision d = {
		.action = closes ? BP_POLICY_CLOSE : BP_POLICY_UNDECIDED, .rule = rule};
	struct bp_policy_packet_view unknown;

	if (f->has_alias_max & BP_FLOW_REPORTED(cause))
		return;
	f->has_alias_max |= BP_FLOW_REPORTED(cause);
	if (v == NULL)
		view_init(&unknown, in, f, BP_POLICY_ANY);
	bp_event_policy(in, f, v != NULL ? v : &unknown, &d, cause);
}

static struct bp_policy_stats *stats_of(const struct bp_mqtt_worker *in, uint32_t slot)
{
	return &in->policy_stats[slot < in->policy_slots ? slot : 0];
}

/* Counts a packet that is not just allowed, and reports it. */
static void report(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v, const struct bp_policy_decision *d)
{
	bp_tally(in, d->action == BP_POLICY_OBSERVE ? BP_C_POLICY_OBSERVED : BP_C_POLICY_REFUSED);
	atomic_store_explicit(&stats_of(in, d->slot)->matched_ns, in->now_ns, memory_order_relaxed);
	bp_event_policy(in, f, v, d, BP_EVENT_POLICY_PACKET);
}

static void count(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_policy_packet_view *v, struct bp_policy_decision *d)
{
	struct bp_policy_stats *s = stats_of(in, d->slot);

	if (d->action == BP_POLICY_UNDECIDED) {
		bp_tally(in, BP_C_POLICY_UNDECIDED);
		add(&s->undecided);
		bp_policy_report_undecided(in, f, v, d->rule, BP_EVENT_POLICY_UNDECIDED);
		bp_enforce_undecided(in, f);
		return;
	}
	add(&s->matched);
	if (d->action == BP_POLICY_ALLOW)
		return;
	d->action = bp_blank_action(in, f, v, d->action);
	report(in, f, v, d);
	if (d->action == BP_POLICY_CLOSE)
		bp_enforce_refuse(in, f);
	if (d->action == BP_POLICY_BLANK)
		bp_blank_topic(in, f, v);
}

/* From the cache, or by a search. `topic`: the hash of that of a publication; 0: other packets.
 * Returns its entry in the cache; NULL: there is none. */
static struct bp_policy_cached *look_up(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v, uint64_t topic, struct bp_policy_decision *d)
{
	struct bp_policy_cached *set, *cached;
	uint64_t key;

	if (topic == 0) {
		bp_policy_decide(in->rules, v, d);
		return NULL;
	}
	set = bp_policy_cache_set(in->policy_cache, f, topic);
	key = bp_policy_cache_key(in->topic_key, in->gen, v, topic);
	cached = bp_policy_cache_get(set, key);
	if (cached != NULL) {
		*d = (struct bp_policy_decision){.action = (uint8_t)cached->action,
			.fixed = true,
			.rule = (uint32_t)cached->rule,
			.slot = (uint32_t)cached->slot,
			.steps = BP_WORK_POLICY_CACHED};
		return cached;
	}
	bp_policy_decide(in->rules, v, d);
	if (!d->fixed)
		return NULL;
	if (d->action == BP_POLICY_BLANK)
		in->blanks_gen = in->gen;
	return bp_policy_cache_put(in->policy_cache, set, key, d);
}

/* False: the connection is over its budget. `topic` and *cached: of look_up(). */
static bool decide_publish(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_policy_packet_view *v, uint64_t topic, struct bp_policy_decision *d,
	struct bp_policy_cached **cached)
{
	if (!bp_work_may(&in->work)) {
		bp_tally(in, BP_C_POLICY_NOT_EVALUATED);
		bp_policy_report_undecided(in, f, v, UINT32_MAX, BP_EVENT_POLICY_NOT_EVALUATED);
		bp_enforce_undecided(in, f);
		return false;
	}
	*cached = look_up(in, f, v, topic, d);
	bp_work_add(&in->work, d->steps);
	in->counters->v[BP_C_POLICY_BUCKET_EVICTED] += d->buckets_evicted;
	in->counters->v[BP_C_POLICY_VALUE_MISSING] += d->values_missing;
	if (d->action != BP_POLICY_NEEDS_PAYLOAD)
		count(in, f, v, d);
	return true;
}

static bool decide(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_policy_packet_view *v, struct bp_policy_decision *d)
{
	struct bp_policy_cached *none;

	return decide_publish(in, f, v, 0, d, &none);
}

const struct bp_policy_cached *bp_policy_recall(
	struct bp_mqtt_worker *in, const struct bp_flow *f, uint64_t topic)
{
	struct bp_policy_packet_view v;

	/* in a fleet, topics are known by another hash: bp_topic_known_bits() */
	if (!bp_policy_is_given(in) || in->fleet != NULL || (bp_topic_bits(topic) & ~f->known) != 0)
		return NULL;
	set_client(&v, in, f);
	return bp_policy_cache_get(bp_policy_cache_set(in->policy_cache, f, topic),
		bp_policy_cache_key(in->topic_key, in->gen, &v, topic));
}

void bp_policy_count_allowed(struct bp_mqtt_worker *in, uint32_t slot)
{
	add(&stats_of(in, slot)->matched);
}

void bp_policy_prefetch(const struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b)
{
	uint64_t decides = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct bp_flow *f = b->l[i].flow;

		if (b->p[i].body == 0 || f->memo_hash == b->p[i].topic_hash)
			continue;
		decides |= (uint64_t)1 << i;
		__builtin_prefetch(f->client_ip);
		__builtin_prefetch(&f->session);
		__builtin_prefetch(bp_policy_cache_set(in->policy_cache, f, b->p[i].topic_hash));
	}
	for (; decides != 0; decides &= decides - 1) {
		const struct bp_flow *f = b->l[__builtin_ctzll(decides)].flow;

		__builtin_prefetch(bp_reassembly_data(in->reassembly, f->client_id));
	}
}

static void publish_view_init(struct bp_policy_packet_view *v, struct bp_mqtt_worker *in,
	const struct bp_flow *f, const struct bp_mqtt_publish *p, bool whole)
{
	view_init(v, in, f, BP_POLICY_PUBLISH);
	v->topic = p->topic;
	v->topic_len = p->topic_len;
	v->qos = p->qos;
	v->retain = p->retain;
	v->size = p->payload_len;
	v->payload = whole ? p->payload : NULL;
	v->payload_later = !whole;
	v->packet_size = p->packet_len;
}

void bp_policy_count_blanked(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_cached *cached, const struct bp_mqtt_publish *p)
{
	const struct bp_policy_decision d = {.action = BP_POLICY_BLANK,
		.fixed = true,
		.rule = (uint32_t)cached->rule,
		.slot = (uint32_t)cached->slot};
	struct bp_policy_packet_view v;

	publish_view_init(&v, in, f, p, true);
	add(&stats_of(in, d.slot)->matched);
	report(in, f, &v, &d);
	bp_tally(in, BP_C_POLICY_BLANKED);
}

static enum bp_policy_next next_of(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_mqtt_publish *p, uint64_t topic, bool whole,
	struct bp_policy_cached **cached)
{
	struct bp_policy_packet_view v;
	struct bp_policy_decision d;

	publish_view_init(&v, in, f, p, whole);
	if (!decide_publish(in, f, &v, topic, &d, cached))
		return BP_POLICY_DECIDE_EACH;
	if (d.action == BP_POLICY_BLANK)
		return BP_POLICY_BLANKED;
	return d.action == BP_POLICY_NEEDS_PAYLOAD      ? BP_POLICY_WAIT
	       : d.action == BP_POLICY_ALLOW && d.fixed ? BP_POLICY_ALL_ALLOWED
							: BP_POLICY_DECIDE_EACH;
}

enum bp_policy_next bp_policy_publish(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_mqtt_publish *p, uint64_t topic, bool whole,
	struct bp_policy_cached **cached)
{
	const bool filed = p->alias != 0 && bp_alias_is_filed(in, f, p);
	enum bp_policy_next next = BP_POLICY_ALL_ALLOWED;

	if (in->enforced != NULL) {
		in->enforced->filed = filed;
		in->enforced->passed = false;
	}
	if (bp_policy_is_given(in))
		next = next_of(in, f, p, topic, whole, cached);
	if ((next != BP_POLICY_BLANKED && !filed) || next == BP_POLICY_WAIT ||
		bp_enforce_refused(in))
		return next;
	if (next == BP_POLICY_BLANKED || bp_blank_filed(in, f, p->retain))
		bp_tally(in, BP_C_POLICY_BLANKED);
	bp_alias_file(in, f, p);
	return BP_POLICY_BLANKED;
}

/* ---- connections ---- */

static uint64_t address_key(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return bp_hash_bytes(in->topic_key, f->client_ip, f->flags & BP_FLOW_IP6 ? 8 : 4);
}

static void count_connection(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (bp_policy_connections_add(in->policy_connections, address_key(in, f)))
		f->has_alias_max |= BP_FLOW_COUNTED;
}

/* Nothing is read before the handshake (segment.c), so that the address is that of the client. */
void bp_policy_count(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (!(f->has_alias_max & BP_FLOW_COUNTED))
		count_connection(in, f);
}

void bp_policy_uncount(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_policy_connections_remove(in->policy_connections, address_key(in, f));
	f->has_alias_max &= (uint8_t)~BP_FLOW_COUNTED;
}

void bp_policy_recount(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	f->has_alias_max &= (uint8_t)~BP_FLOW_COUNTED;
	if (!(f->flags & BP_FLOW_CLOSED))
		count_connection(in, f);
}

/* 0: not known. */
static uint32_t connections_of(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return f->has_alias_max & BP_FLOW_COUNTED
		       ? bp_policy_connections_count(in->policy_connections, address_key(in, f))
		       : 0;
}

static void as_will(struct bp_policy_packet_view *v, const struct bp_mqtt_will *w)
{
	v->packet = BP_POLICY_WILL;
	v->packet_size = 0;
	v->topic = w->topic;
	v->topic_len = w->topic_len;
	v->qos = w->qos;
	v->retain = w->retain;
	v->size = w->payload_len;
	v->payload = w->payload;
}

void bp_policy_connect(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c)
{
	struct bp_policy_packet_view v;
	struct bp_policy_decision d;

	if (!bp_policy_is_given(in))
		return;
	view_init(&v, in, f, BP_POLICY_CONNECT);
	/* those of the packet, whether there was memory for them or not */
	v.known = true;
	v.client = c->client_id_len != 0 ? c->client_id : NULL;
	v.client_len = c->client_id_len;
	v.user = c->user;
	v.user_len = c->user_len;
	v.keep_alive = c->keep_alive != 0 ? c->keep_alive : BP_POLICY_KEEP_ALIVE_NONE;
	v.packet_size = c->packet_len;
	v.connections = connections_of(in, f);
	if (!decide(in, f, &v, &d) || bp_enforce_refused(in) || c->will.topic == NULL)
		return;
	as_will(&v, &c->will);
	(void)decide(in, f, &v, &d);
}

void bp_policy_connected(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	struct bp_policy_packet_view v;
	struct bp_policy_decision d;

	if (!bp_policy_is_given(in))
		return;
	view_init(&v, in, f, BP_POLICY_CONNECT);
	(void)decide(in, f, &v, &d);
	if (f->resync[BP_TO_BROKER].will)
		bp_policy_unread(in, f, BP_TO_BROKER);
}

static bool refuses_earlier(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v, bool *undecided)
{
	struct bp_policy_decision d;
	struct bp_policy_stats *s;

	bp_policy_decide(in->rules, v, &d);
	bp_work_add(&in->work, d.steps);
	*undecided |= d.action == BP_POLICY_UNDECIDED;
	if (d.action != BP_POLICY_CLOSE && d.action != BP_POLICY_BLANK)
		return false;
	s = &in->policy_stats[d.slot < in->policy_slots ? d.slot : 0];
	add(&s->matched);
	atomic_store_explicit(&s->matched_ns, in->now_ns, memory_order_relaxed);
	d.action = BP_POLICY_CLOSE;
	bp_event_policy(in, f, v, &d, BP_EVENT_POLICY_RELOAD);
	return true;
}

/* What was known of an earlier packet. */
static void earlier_view_init(struct bp_policy_packet_view *v, struct bp_mqtt_worker *in,
	const struct bp_flow *f, enum bp_policy_packet packet)
{
	view_init(v, in, f, packet);
	v->earlier = true;
	v->rates = NULL;
	v->day = 0;
}

/* Whether it may refuse a will of which nothing is kept. */
static bool may_refuse_will(struct bp_mqtt_worker *in, struct bp_policy_packet_view *v)
{
	uint32_t steps;
	bool may;

	v->packet = BP_POLICY_WILL;
	may = bp_policy_may_refuse_will(in->rules, v, &steps);
	bp_work_add(&in->work, steps);
	return may;
}

bool bp_policy_refuses_will(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	struct bp_policy_packet_view v;
	struct bp_policy_decision d;
	struct bp_mqtt_will will;
	const enum bp_will kept = bp_will_kept(in, f, &will);

	if (kept == BP_WILL_NONE || !bp_policy_is_given(in))
		return false;
	earlier_view_init(&v, in, f, BP_POLICY_WILL);
	if (kept == BP_WILL_UNKNOWN)
		return bp_enforce_fails_closed(in, f) && may_refuse_will(in, &v);
	as_will(&v, &will);
	bp_policy_decide(in->rules, &v, &d);
	bp_work_add(&in->work, d.steps);
	return d.action == BP_POLICY_CLOSE || d.action == BP_POLICY_BLANK;
}

bool bp_policy_refuses_kept_will(struct bp_mqtt_worker *in, const struct bp_flow *f, bool count)
{
	struct bp_policy_packet_view v;
	struct bp_policy_decision d;
	struct bp_mqtt_will will;
	bool undecided = false;

	if (!bp_policy_is_given(in) || bp_will_kept(in, f, &will) != BP_WILL_KEPT)
		return false;
	earlier_view_init(&v, in, f, BP_POLICY_WILL);
	as_will(&v, &will);
	if (count)
		return refuses_earlier(in, f, &v, &undecided);
	bp_policy_decide(in->rules, &v, &d);
	bp_work_add(&in->work, d.steps);
	return d.action == BP_POLICY_CLOSE || d.action == BP_POLICY_BLANK;
}

bool bp_policy_refuses_connection(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bool undecided = false;
	struct bp_policy_packet_view v;
	struct bp_mqtt_will will;
	enum bp_will kept;

	earlier_view_init(&v, in, f, BP_POLICY_CONNECT);
	if (refuses_earlier(in, f, &v, &undecided))
		return true;
	kept = bp_will_kept(in, f, &will);
	if (kept == BP_WILL_KEPT) {
		as_will(&v, &will);
		if (refuses_earlier(in, f, &v, &undecided))
			return true;
	} else if (kept == BP_WILL_UNKNOWN && may_refuse_will(in, &v)) {
		bp_policy_report_undecided(in, f, &v, UINT32_MAX, BP_EVENT_POLICY_NOT_EVALUATED);
		if (bp_enforce_fails_closed(in, f)) {
			bp_tally(in, BP_C_POLICY_FAILED_CLOSED);
			return true;
		}
		undecided = true;
	}
	if (undecided)
		bp_tally(in, BP_C_POLICY_RELOAD_UNDECIDED);
	return false;
}

void bp_policy_unread(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	if (dir != BP_TO_BROKER || !bp_policy_is_given(in))
		return;
	bp_tally(in, BP_C_POLICY_NOT_EVALUATED);
	bp_policy_report_undecided(in, f, NULL, UINT32_MAX, BP_EVENT_POLICY_NOT_EVALUATED);
	bp_enforce_undecided(in, f);
}

/* The filter of a shared subscription (MQTT 5.0, 4.8.2): $share/GROUP/FILTER. */
static void skip_share(struct bp_policy_packet_view *v)
{
	static const char share[] = "$share/";
	const uint32_t n = sizeof(share) - 1;
	const uint8_t *slash;

	if (v->topic_len <= n || memcmp(v->topic, share, n) != 0)
		return;
	slash = memchr(v->topic + n, '/', v->topic_len - n);
	if (slash == NULL)
		return;
	v->topic_len -= (uint32_t)(slash + 1 - v->topic);
	v->topic = slash + 1;
}

void bp_policy_subscribe(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *body, uint32_t len)
{
	struct bp_policy_packet_view v;
	struct bp_policy_decision d;
	struct bp_mqtt_view view = bp_view(in, f, BP_TO_BROKER);
	struct bp_mqtt_filters filters;
	uint64_t refused = 0;
	uint32_t i = 0;

	if (!bp_policy_is_given(in))
		return;
	view_init(&v, in, f, BP_POLICY_SUBSCRIBE);
	v.packet_size = len;
	bp_mqtt_filters(&filters, &view, f->version, body, len);
	for (; bp_mqtt_next_filter(&filters, &v.topic, &v.topic_len, &v.qos); i++) {
		skip_share(&v);
		if (!decide(in, f, &v, &d) || bp_enforce_refused(in))
			break;
		if (d.action != BP_POLICY_BLANK)
			continue;
		bp_tally(in, BP_C_POLICY_BLANKED);
		if (i < BP_SUBACK_FILTERS_MAX)
			refused |= (uint64_t)1 << i;
		else
			bp_tally(in, BP_C_POLICY_SUBACK_UNCHANGED);
	}
	if (in->enforced != NULL)
		bp_suback_await(in, f, bp_be16(body), refused);
}
