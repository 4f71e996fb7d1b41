/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/inspect.h"

#include <stdio.h>
#include <stdlib.h>

#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/fast_four.h"

/* What generation 0 stands for: no rules at all. */
static const struct bp_ruleset no_rules;

struct bp_mqtt_worker *bp_mqtt_worker_create(const struct bp_mqtt_options *o, struct bp_shm *shm,
	unsigned worker, bool record_clones, char *err, size_t err_size)
{
	struct bp_mqtt_worker *in = aligned_alloc(64, (sizeof(*in) + 63) / 64 * 64);
	const struct bp_flow_bounds bounds = bp_flow_bounds(o);
	const uint64_t bytes = bp_flow_table_bytes(bounds);
	uint64_t arena;

	if (in == NULL) {
		snprintf(err, err_size, "no memory for inspection");
		return NULL;
	}
	memset(in, 0, sizeof(*in));
	if (bytes * (worker + 1) > shm->flows_len) {
		snprintf(err, err_size, "the segment has no flow table for worker %u", worker);
		free(in);
		return NULL;
	}
	in->counters = &shm->counters[worker];
	in->rule_stats = &shm->rule_stats[(uint64_t)worker * shm->max_rules];
	in->rule_state = shm->rule_state;
	in->rule_state_len = shm->rule_state_len;
	in->ring = bp_shm_ring(shm, worker);
	in->next_alarm_id = &shm->shared->next_alarm_id;
	in->topic_key[0] = shm->global->hash_key[0];
	in->topic_key[1] = shm->global->hash_key[1];
	in->n_ports = o->n_ports;
	memcpy(in->port, o->ports, sizeof(in->port));
	in->n_brokers = o->n_brokers;
	memcpy(in->brokers, o->brokers, sizeof(in->brokers));
	memcpy(in->judged, o->evaluates, sizeof(in->judged));
	in->record_clones = record_clones;
	in->mosquitto = o->mosquitto;
	in->acknowledged = o->acknowledged;
	/* not: QoS 2, or DUP, which is counted; nor QoS 1 that waits */
	in->fast_first = in->acknowledged ? 0xfe : 0xfc;
	in->carry_per_flow = o->carry_per_flow;
	in->carry_unproven = o->carry_unproven / o->workers;
	in->reorder_bytes = o->reorder_bytes;
	in->max_aliases = o->max_topic_aliases;
	in->resync_pushes = o->resync_pushes;
	bp_work_init(&in->work, o->work_budget, o->worker_budget);
	in->min_ttl = o->min_ttl;
	arena = shm->reassembly_len / shm->workers;
	in->journal = (struct bp_journal *)(void *)(shm->reassembly + worker * arena);
	arena -= BP_JOURNAL_BYTES;
	in->carry = bp_carry_create(
		(uint8_t *)in->journal + BP_JOURNAL_BYTES, arena, o->carry_per_flow);
	in->cache = calloc(BP_TOPIC_CACHE, sizeof(*in->cache));
	in->layouts = bp_layouts_create();
	in->four = calloc(1, sizeof(*in->four));
	in->to = malloc(BP_TOPIC_MAX);
	in->delayed = bp_delayed_create(bounds.proven);
	in->table_stride = bytes;
	in->worker = worker;
	in->workers = shm->workers;
	if (in->carry == NULL || in->cache == NULL || in->layouts == NULL || in->four == NULL ||
		in->to == NULL || in->delayed == NULL) {
		snprintf(err, err_size,
			"no memory for inspection, or mqtt.carry_total is too large: %llu bytes "
			"a worker; lower it",
			(unsigned long long)arena);
		bp_mqtt_worker_free(in);
		return NULL;
	}
	bp_flow_table_attach(&in->table, shm->flows + (uint64_t)worker * bytes, bounds,
		shm->global->hash_key, o->idle_ns, o->handshake_ns);
	in->table.counters = in->counters;
	in->table.release = bp_flow_release_all;
	in->table.release_arg = in;
	in->rules = &no_rules;
	in->gen = 1;
	in->not_adopted = bp_adopt(in, o, worker);
	return in;
}

void bp_mqtt_worker_free(struct bp_mqtt_worker *in)
{
	if (in == NULL)
		return;
	bp_carry_destroy(in->carry);
	free(in->cache);
	bp_layouts_free(in->layouts);
	free(in->four);
	free(in->to);
	free(in->delayed);
	free(in);
}

void bp_mqtt_worker_set_clone(struct bp_mqtt_worker *in, bp_clone_fn fn, void *arg)
{
	in->clone = fn;
	in->clone_arg = arg;
}

void bp_mqtt_worker_set_is_forwarded(struct bp_mqtt_worker *in, bp_is_forwarded_fn fn, void *arg)
{
	in->is_forwarded = fn;
	in->is_forwarded_arg = arg;
}

void bp_mqtt_worker_begin(struct bp_mqtt_worker *in, const struct bp_ruleset *rules,
	uint64_t now_ns, uint64_t mono_ns)
{
	in->rules = rules;
	in->gen = (uint32_t)(rules->generation & 0x7fffffff) + 1;
	in->now_ns = now_ns;
	in->mono_ns = mono_ns;
	in->now_ticks = bp_ticks(mono_ns);
	in->table.now = in->now_ticks;
	bp_work_time(&in->work, mono_ns);
	in->table.header->now = in->now_ticks;
}

bool bp_mqtt_worker_inspects(
	const struct bp_mqtt_worker *in, uint16_t sport, uint16_t dport, bool *to_broker)
{
	for (uint32_t i = 0; i < in->n_ports; i++) {
		if (dport == in->port[i]) {
			*to_broker = true;
			return true;
		}
		if (sport == in->port[i]) {
			*to_broker = false;
			return true;
		}
	}
	return false;
}

/*
 * Client first, broker second, in both directions. The second word holds the ports and both VLAN
 * identifiers; bit 63..56 tell IPv6 from IPv4.
 */
void bp_inspect_hash(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	const uint8_t *src = f->data + f->l3 + (f->ip6 ? 8 : 12);
	const uint32_t width = f->ip6 ? 16 : 4;
	const uint8_t *client = src + (f->to_broker ? 0 : width);
	const uint8_t *broker = src + (f->to_broker ? width : 0);
	uint64_t cport = f->to_broker ? f->sport : f->dport;
	uint64_t bport = f->to_broker ? f->dport : f->sport;

	l->k1 = (uint64_t)f->ip6 << 56 | (uint64_t)f->vlan_inner << 44 |
		(uint64_t)f->vlan_outer << 32 | cport << 16 | bport;
	l->k0 = f->ip6 ? bp_flow_k0_ip6(&in->table, client, broker)
		       : bp_flow_k0_ip4(client, broker);
	if (__builtin_expect(f->tunnel != 0, 0))
		l->k0 ^= bp_flow_k0_tunnel(&in->table, f->tunnel);
	l->hash = bp_flow_hash(&in->table, l->k0, l->k1);
	__builtin_prefetch(&in->table.group[bp_flow_group1(&in->table, l->hash)]);
}

void bp_inspect_probe(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	l->flow = bp_flow_candidate(&in->table, l->hash);
	__builtin_prefetch(l->flow, 1);
	if (f->ip6)
		__builtin_prefetch((const uint8_t *)l->flow + 64);
}

static struct bp_flow *find(
	struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	const uint8_t *src;

	if (!f->ip6)
		return bp_flow_find(&in->table, l->hash, l->k0, l->k1, NULL, NULL);
	src = f->data + f->l3 + 8;
	return f->to_broker ? bp_flow_find(&in->table, l->hash, l->k0, l->k1, src, src + 16)
			    : bp_flow_find(&in->table, l->hash, l->k0, l->k1, src + 16, src);
}

/* Whether nothing of a direction that is judged is read: given up, or searched. */
static bool is_unread(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return !(f->flags & BP_FLOW_CLOSED) && ((in->judged[0] && bp_stream_unread(f, 0)) ||
						       (in->judged[1] && bp_stream_unread(f, 1)));
}

/* After a segment: the flow is filed by what it has proven, and it is noted when it ceases to be
 * read, or is read again. */
static void settle(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t before)
{
	if (__builtin_expect(is_unread(in, f) != ((f->proof & BP_FLOW_UNREAD) != 0), 0)) {
		f->proof ^= BP_FLOW_UNREAD;
		f->unread_since = in->now_ticks;
	}
	if (__builtin_expect(((f->proof ^ before) & BP_FLOW_PROOFS) == 0, 1) ||
		(f->flags & BP_FLOW_CLOSED))
		return;
	bp_flow_file(&in->table, f, f->proof & BP_FLOW_PROVEN ? BP_LIST_PROVEN : BP_LIST_UNPROVEN);
}

/* Whether the end with the inspected port is one of mqtt.brokers. */
static bool is_broker(const struct bp_mqtt_worker *in, const struct bp_frame *f)
{
	const uint32_t width = f->ip6 ? 16 : 4;
	const uint8_t *src = f->data + f->l3 + (f->ip6 ? 8 : 12);
	struct bp_address a = {.family = f->ip6 ? 6 : 4};

	memcpy(a.bytes, src + (f->to_broker ? width : 0), width);
	for (uint32_t i = 0; i < in->n_brokers; i++)
		if (bp_prefix_contains(&in->brokers[i], &a))
			return true;
	return false;
}

/*
 * Whether a segment may prove its connection. Its peer never receives a segment that the gateway
 * does not forward, or that arrives on the port of the peer itself. Without this check a single
 * host could send both ends' segments and prove a connection that does not exist. `flow`: NULL
 * before the connection's first segment.
 */
static bool may_prove(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_flow *flow)
{
	if (in->n_brokers != 0 && !is_broker(in, f)) {
		bp_tally(in, BP_C_SEG_OTHER_BROKER);
		return false;
	}
	if (f->port == 0)
		return true;
	if (f->routed) {
		if (in->is_forwarded == NULL || in->is_forwarded(in->is_forwarded_arg, f))
			return true;
		bp_tally(in, BP_C_SEG_NOT_FORWARDED);
		return false;
	}
	if (flow == NULL)
		return true;
	if (f->to_broker) {
		/* the latest port: an earlier forged segment blocks nothing */
		flow->client_port = f->port;
	} else if (flow->client_port == f->port) {
		bp_tally(in, BP_C_SEG_SAME_PORT);
		return false;
	}
	return true;
}

void bp_inspect_segment(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	struct bp_flow *flow = l->flow;
	uint8_t before;

	bp_tally(in, BP_C_SEG_INSPECTED);
	if (f->data[f->l3 + (f->ip6 ? 7 : 8)] < in->min_ttl) {
		bp_tally(in, BP_C_SEG_LOW_TTL);
		return;
	}
	in->frame = f;
	bp_work_begin(&in->work, l->hash, f->payload + f->payload_len);
	/* the candidate may be another flow with the same tag, or gone since it was probed */
	if (flow->k0 != l->k0 || flow->k1 != l->k1 || f->ip6 || flow->proof == 0)
		flow = find(in, f, l);
	if (__builtin_expect(flow == NULL || !(flow->proof & BP_FLOW_PROVEN), 0) &&
		!may_prove(in, f, flow)) {
		bp_work_end(&in->work);
		return;
	}
	if (flow == NULL) {
		flow = bp_stream_first(in, f, l);
		if (flow != NULL) {
			flow->client_port = f->to_broker ? f->port : 0;
			settle(in, flow, BP_FLOW_IN_TABLE);
		}
	} else {
		before = flow->proof;
		bp_stream_segment(in, flow, f);
		settle(in, flow, before);
	}
	bp_alarms_commit(in); /* of wills of evicted connections */
	bp_work_end(&in->work);
}

void bp_inspect_one(struct bp_mqtt_worker *in, const struct bp_frame *f)
{
	struct bp_lookup l;

	bp_inspect_hash(in, f, &l);
	bp_inspect_probe(in, f, &l);
	bp_inspect_segment(in, f, &l);
}

/* A walk's share of expiry: small against a burst, enough for any rate of new connections. */
#define EXPIRE_BUDGET 64

void bp_mqtt_worker_tick(struct bp_mqtt_worker *in, uint64_t mono_ns)
{
	bp_flow_expire(&in->table, mono_ns, EXPIRE_BUDGET);
	bp_delayed_expire(in, mono_ns, EXPIRE_BUDGET);
	bp_alarms_commit(in); /* of wills */
}

void bp_mqtt_worker_end_delays(struct bp_mqtt_worker *in)
{
	bp_delayed_expire(in, UINT64_MAX, UINT32_MAX);
	bp_alarms_commit(in);
}

uint32_t bp_mqtt_worker_flows(const struct bp_mqtt_worker *in)
{
	return in->table.count;
}

uint64_t bp_mqtt_worker_work(const struct bp_mqtt_worker *in)
{
	return in->work.total;
}

const char *bp_mqtt_worker_not_adopted(const struct bp_mqtt_worker *in)
{
	return in->not_adopted;
}

uint64_t bp_mqtt_worker_carried(const struct bp_mqtt_worker *in)
{
	return bp_carry_used(in->carry);
}
