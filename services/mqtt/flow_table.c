/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow.h"

#include <string.h>

#include "services/mqtt/inspect.h"

/* Four fifths full at the configured limits: then a full pair of groups is rare. */
static uint32_t groups_for(struct bp_flow_bounds bounds)
{
	uint64_t slots = ((uint64_t)bounds.proven + bounds.unproven) * 5 / 4;

	return (uint32_t)(slots / BP_FLOW_WAYS + 2);
}

static uint64_t flows_offset(uint32_t groups)
{
	uint64_t tags =
		sizeof(struct bp_flow_header) + (uint64_t)groups * sizeof(struct bp_flow_group);

	return (tags + 255) & ~(uint64_t)255;
}

static uint64_t flows_end(uint32_t groups)
{
	return flows_offset(groups) + (uint64_t)groups * BP_FLOW_WAYS * sizeof(struct bp_flow);
}

const char *bp_flow_network_name(
	const struct bp_flow_header *h, const struct bp_flow *f, char out[BP_NAME_MAX + 1])
{
	const uint8_t network = bp_flow_network(f);

	if (network >= BP_NETWORKS)
		return NULL;
	memcpy(out, h->network[network], BP_NAME_MAX);
	out[BP_NAME_MAX] = '\0';
	return network == 0 || out[0] != '\0' ? out : NULL;
}

/* Sessions that are noted: at least two for each proven connection. */
static uint32_t sessions_for(struct bp_flow_bounds bounds)
{
	uint32_t n = 16;

	while (n < 2 * (uint64_t)bounds.proven)
		n *= 2;
	return n;
}

struct bp_flow_bounds bp_flow_bounds(const struct bp_mqtt_options *o)
{
	return (struct bp_flow_bounds){
		.proven = (o->max_proven + o->workers - 1) / o->workers,
		.unproven = (o->max_unproven + o->workers - 1) / o->workers,
	};
}

uint64_t bp_flow_table_bytes(struct bp_flow_bounds bounds)
{
	return flows_end(groups_for(bounds)) + sessions_for(bounds) * sizeof(uint64_t);
}

uint64_t bp_mqtt_flow_table_bytes(const struct bp_mqtt_options *o)
{
	return bp_flow_table_bytes(bp_flow_bounds(o));
}

void bp_flow_table_attach(struct bp_flow_table *t, void *memory, struct bp_flow_bounds bounds,
	const uint64_t key[2], uint64_t idle_ns, uint64_t opening_ns)
{
	struct bp_flow_header *h = memory;

	memset(t, 0, sizeof(*t));
	t->header = h;
	t->groups = groups_for(bounds);
	t->capacity = bounds.proven;
	t->max_unproven = bounds.unproven;
	t->group = (struct bp_flow_group *)(void *)(h + 1);
	t->flow = (struct bp_flow *)(void *)((uint8_t *)memory + flows_offset(t->groups));
	t->session = (uint64_t *)(void *)((uint8_t *)memory + flows_end(t->groups));
	t->sessions = sessions_for(bounds);
	t->key[0] = key[0] | 1;
	t->key[1] = key[1] | 1;
	bp_flow_lists_init(t, idle_ns, opening_ns);
}

void bp_flow_table_clear(struct bp_flow_table *t)
{
	struct bp_flow_header *h = t->header;
	uint16_t life = 0;

	h->magic = 0; /* readers keep away while it is laid out */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memset(t->group, 0, (size_t)t->groups * sizeof(*t->group));
	for (uint64_t i = 0; i < (uint64_t)t->groups * BP_FLOW_WAYS; i++) {
		life = t->flow[i].life;
		memset(&t->flow[i], 0, sizeof(t->flow[i]));
		t->flow[i].life = (uint16_t)(life + 1);
	}
	memset(t->session, 0, t->sessions * sizeof(*t->session));
	h->groups = t->groups;
	h->capacity = t->capacity;
	h->flows_offset = flows_offset(t->groups);
	__atomic_store_n(&h->magic, BP_FLOW_MAGIC, __ATOMIC_RELEASE);
}

void bp_flow_table_init(struct bp_flow_table *t, void *memory, struct bp_flow_bounds bounds,
	const uint64_t key[2], uint64_t idle_ns, uint64_t opening_ns)
{
	bp_flow_table_attach(t, memory, bounds, key, idle_ns, opening_ns);
	bp_flow_table_clear(t);
}

static struct bp_flow *find_in(const struct bp_flow_table *t, uint32_t g, uint16_t tag, uint64_t k0,
	uint64_t k1, const uint8_t *client_ip6, const uint8_t *broker_ip6)
{
	uint32_t hits = bp_flow_tags_equal(&t->group[g], tag);

	while (hits != 0) {
		struct bp_flow *f =
			&t->flow[(uint64_t)g * BP_FLOW_WAYS + (unsigned)__builtin_ctz(hits)];

		if (f->k0 == k0 && f->k1 == k1 &&
			(client_ip6 == NULL || (memcmp(f->client_ip, client_ip6, 16) == 0 &&
						       memcmp(f->broker_ip, broker_ip6, 16) == 0)))
			return f;
		hits &= hits - 1;
	}
	return NULL;
}

struct bp_flow *bp_flow_find(const struct bp_flow_table *t, uint64_t hash, uint64_t k0, uint64_t k1,
	const uint8_t *client_ip6, const uint8_t *broker_ip6)
{
	uint32_t g = bp_flow_group1(t, hash);
	struct bp_flow *f = find_in(t, g, bp_flow_tag(hash), k0, k1, client_ip6, broker_ip6);

	if (f != NULL || t->group[g].elsewhere == 0)
		return f;
	return find_in(
		t, bp_flow_group2(t, hash), bp_flow_tag(hash), k0, k1, client_ip6, broker_ip6);
}

/* A group's overflow count stays right because the first group can be computed from the key. */
void bp_flow_remove(struct bp_flow_table *t, struct bp_flow *f)
{
	uint64_t at = (uint64_t)(f - t->flow);
	uint64_t hash = bp_flow_hash(t, f->k0, f->k1);
	uint32_t g = (uint32_t)(at / BP_FLOW_WAYS);
	uint32_t first = bp_flow_group1(t, hash);
	uint16_t life;

	if (t->release != NULL)
		t->release(t->release_arg, f);
	bp_flow_unfile(t, f);
	if (g != first)
		t->group[first].elsewhere--;
	t->group[g].tag[at % BP_FLOW_WAYS] = 0;
	t->in_network[bp_flow_network(f)]--;
	life = (uint16_t)(f->life + 1);
	memset(f, 0, sizeof(*f));
	__atomic_store_n(&f->life, life, __ATOMIC_RELEASE);
	t->count--;
}

/* Flow i of the 30 in both groups. */
static struct bp_flow *of_pair(const struct bp_flow_table *t, uint32_t g1, uint32_t g2, unsigned i)
{
	uint64_t g = i < BP_FLOW_WAYS ? g1 : g2;

	return &t->flow[g * BP_FLOW_WAYS + i % BP_FLOW_WAYS];
}

/*
 * The longest idle flow in both groups, in the order of bp_flow_add(). NULL: all are proven, and an
 * unproven one must not replace them.
 */
static struct bp_flow *pair_victim(
	const struct bp_flow_table *t, uint32_t g1, uint32_t g2, unsigned list)
{
	struct bp_flow *victim = NULL;
	uint64_t most = 0;

	for (unsigned i = 0; i < 2 * BP_FLOW_WAYS; i++) {
		struct bp_flow *f = of_pair(t, g1, g2, i);
		uint64_t idle = (uint64_t)(uint32_t)(t->now - f->seen) + 1;

		if (f->proof == 0)
			continue;
		if (f->flags & BP_FLOW_CLOSED)
			idle += (uint64_t)3 << 32;
		else if (bp_flow_is_unproven(f))
			idle += (uint64_t)(bp_flow_is_answered(f) ? 1 : 2) << 32;
		else if (list != BP_LIST_PROVEN)
			continue;
		if (idle > most) {
			most = idle;
			victim = f;
		}
	}
	return victim;
}

static int free_way(const struct bp_flow_group *g)
{
	uint32_t m = bp_flow_tags_equal(g, 0);

	return m == 0 ? -1 : __builtin_ctz(m);
}

static void move(struct bp_flow_table *t, struct bp_flow *from, uint32_t g, int way)
{
	uint64_t at = (uint64_t)(from - t->flow);
	uint64_t hash = bp_flow_hash(t, from->k0, from->k1);
	struct bp_flow *to = &t->flow[(uint64_t)g * BP_FLOW_WAYS + (unsigned)way];
	uint16_t life = (uint16_t)(to->life + 1);

	*to = *from;
	to->life = life;
	bp_flow_moved(t, to);
	if (g == bp_flow_group1(t, hash))
		t->group[g].elsewhere--;
	else
		t->group[bp_flow_group1(t, hash)].elsewhere++;
	t->group[g].tag[way] = bp_flow_tag(hash);
	t->group[at / BP_FLOW_WAYS].tag[at % BP_FLOW_WAYS] = 0;
	life = (uint16_t)(from->life + 1);
	memset(from, 0, sizeof(*from));
	__atomic_store_n(&from->life, life, __ATOMIC_RELEASE);
}

/*
 * Moves one flow of two full groups to its other group: without this, one flow in a hundred would
 * be evicted because of its neighbors before the table holds the configured number.
 */
static void make_room(struct bp_flow_table *t, uint32_t g1, uint32_t g2)
{
	for (unsigned i = 0; i < 2 * BP_FLOW_WAYS; i++) {
		struct bp_flow *f = of_pair(t, g1, g2, i);
		uint64_t hash = bp_flow_hash(t, f->k0, f->k1);
		uint32_t g = i < BP_FLOW_WAYS ? g1 : g2, other = bp_flow_group1(t, hash);
		int way;

		if (other == g)
			other = bp_flow_group2(t, hash);
		way = other == g ? -1 : free_way(&t->group[other]);
		if (way >= 0) {
			move(t, f, other, way);
			return;
		}
	}
}

/* A free way in the first group, or else in the second: its group in *g. -1: both are full. */
static int free_way_of(const struct bp_flow_table *t, uint32_t g1, uint32_t g2, uint32_t *g)
{
	int way = free_way(&t->group[g1]);

	*g = g1;
	if (way >= 0)
		return way;
	*g = g2;
	return free_way(&t->group[g2]);
}

static bool evict_of_pair(struct bp_flow_table *t, uint32_t g1, uint32_t g2, unsigned list)
{
	struct bp_flow *victim = pair_victim(t, g1, g2, list);

	if (victim == NULL) {
		t->counters->v[BP_C_CONN_TABLE_FULL]++;
		return false;
	}
	bp_flow_evict(t, victim);
	return true;
}

struct bp_flow *bp_flow_add(struct bp_flow_table *t, const struct bp_flow_new *n)
{
	const uint32_t g1 = bp_flow_group1(t, n->hash), g2 = bp_flow_group2(t, n->hash);
	uint32_t g;
	struct bp_flow *f;
	uint16_t life;
	int way;

	if (t->proven == 0) /* every list is empty: the oldest is now's */
		t->wheel_at = t->now >> t->wheel_shift;
	bp_flow_evict_at_bound(t, n->list);
	/* proven and unproven flows are within their limits: the others are closed */
	if (t->count >= t->capacity + t->max_unproven)
		bp_flow_evict(t, &t->flow[t->closed_list.head]);
	way = free_way_of(t, g1, g2, &g);
	if (way < 0) {
		make_room(t, g1, g2);
		way = free_way_of(t, g1, g2, &g);
	}
	if (way < 0) {
		if (!evict_of_pair(t, g1, g2, n->list))
			return NULL;
		way = free_way_of(t, g1, g2, &g);
	}
	f = &t->flow[(uint64_t)g * BP_FLOW_WAYS + (unsigned)way];
	life = f->life;
	memset(f, 0, sizeof(*f));
	f->k0 = n->k0;
	f->k1 = n->k1;
	f->seen = t->now;
	f->life = (uint16_t)(life + 1);
	f->proof = BP_FLOW_IN_TABLE;
	f->flags = n->flags;
	if (n->flags & BP_FLOW_IP6) {
		memcpy(f->client_ip, n->client_ip6, 16);
		memcpy(f->broker_ip, n->broker_ip6, 16);
	}
	if (g != g1)
		t->group[g1].elsewhere++;
	t->group[g].tag[way] = bp_flow_tag(n->hash);
	t->count++;
	t->in_network[bp_flow_network(f)]++;
	f->list = UINT16_MAX;
	bp_flow_file(t, f, n->list);
	return f;
}
