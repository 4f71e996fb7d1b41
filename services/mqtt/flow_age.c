/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/flow_age.h"

/* A closed connection is kept so long: late retransmissions must not look like a new one. */
#define CLOSED_NS (10ull * 1000 * 1000 * 1000)
/* Flows that a new one looks at, at most, for the one that it evicts: each may be a cache miss. */
#define LOOK_MAX 64u
/* Flows that it looks at by chance, for one of a client that has far more than others: where one
 * client has half of the table, 32 miss it once in 2^32 times. */
#define SAMPLES 32u
/* Connections that are no reason to evict those of a client first. */
#define CLIENT_FEW 16u

static uint32_t ticks_up(uint64_t ns)
{
	uint64_t ticks = (ns >> 20) + 1;

	return ticks > INT32_MAX ? INT32_MAX : (uint32_t)ticks;
}

void bp_flow_age_init(struct bp_flow_table *t, uint64_t idle_ns, uint64_t opening_ns)
{
	const struct bp_flow_list empty = {BP_NO_FLOW, BP_NO_FLOW};

	t->idle_ticks = ticks_up(idle_ns);
	t->opening_ticks = ticks_up(opening_ns);
	t->closed_ticks = ticks_up(CLOSED_NS);
	/* the wheel must turn slower than a flow may idle: half of it covers the timeout */
	t->wheel_shift = 0;
	while (((uint64_t)(BP_WHEEL / 2) << t->wheel_shift) < t->idle_ticks)
		t->wheel_shift++;
	t->closed_list = empty;
	for (unsigned i = 0; i < BP_WHEEL; i++)
		t->wheel[i] = empty;
	bp_flow_unproven_init(t);
}

static struct bp_flow_list *list_at(struct bp_flow_table *t, uint16_t at)
{
	if (at == BP_FILE_CLOSED)
		return &t->closed_list;
	if (at < BP_FILE_UNPROVEN)
		return &t->wheel[at - BP_FILE_WHEEL];
	return &t->of_client[(at - BP_FILE_UNPROVEN) / BP_UNPROVEN_CLASSES]
			    [(at - BP_FILE_UNPROVEN) % BP_UNPROVEN_CLASSES];
}

static bool is_proven(const struct bp_flow *f)
{
	return f->list != BP_FILE_CLOSED && f->list < BP_FILE_UNPROVEN;
}

bool bp_flow_is_unproven(const struct bp_flow *f)
{
	return f->list >= BP_FILE_UNPROVEN && f->list != BP_FILE_NONE;
}

bool bp_flow_is_answered(const struct bp_flow *f)
{
	return bp_flow_is_unproven(f) &&
	       (f->list - BP_FILE_UNPROVEN) % BP_UNPROVEN_CLASSES == BP_UNPROVEN_ANSWERED;
}

/* The flow joins the list that it says, or leaves it. */
static void count(struct bp_flow_table *t, const struct bp_flow *f, bool joins)
{
	const uint32_t one = joins ? 1 : UINT32_MAX;
	const uint64_t bytes = joins ? f->carried : -(uint64_t)f->carried;
	uint32_t client;

	if (is_proven(f)) {
		t->proven += one;
		t->client_proven[bp_flow_client(t, f)] += one;
	}
	if (!bp_flow_is_unproven(f))
		return;
	client = (uint32_t)(f->list - BP_FILE_UNPROVEN) / BP_UNPROVEN_CLASSES;
	t->unproven += one;
	t->unproven_bytes += bytes;
	t->client_unproven[client] += one;
	t->client_unproven_bytes[client] += bytes;
}

void bp_flow_unfile(struct bp_flow_table *t, struct bp_flow *f)
{
	struct bp_flow_list *l;

	if (f->list == BP_FILE_NONE)
		return;
	l = list_at(t, f->list);
	if (f->lru_prev == BP_NO_FLOW)
		l->head = f->lru_next;
	else
		t->flow[f->lru_prev].lru_next = f->lru_next;
	if (f->lru_next == BP_NO_FLOW)
		l->tail = f->lru_prev;
	else
		t->flow[f->lru_next].lru_prev = f->lru_prev;
	count(t, f, false);
	f->list = BP_FILE_NONE;
}

void bp_flow_moved(struct bp_flow_table *t, const struct bp_flow *f)
{
	uint32_t i = (uint32_t)(f - t->flow);
	struct bp_flow_list *l = list_at(t, f->list);

	if (f->lru_prev == BP_NO_FLOW)
		l->head = i;
	else
		t->flow[f->lru_prev].lru_next = i;
	if (f->lru_next == BP_NO_FLOW)
		l->tail = i;
	else
		t->flow[f->lru_next].lru_prev = i;
}

void bp_flow_file_at(struct bp_flow_table *t, struct bp_flow *f, uint16_t at)
{
	uint32_t i = (uint32_t)(f - t->flow);
	struct bp_flow_list *l = list_at(t, at);

	bp_flow_unfile(t, f);
	f->list = at;
	f->lru_next = BP_NO_FLOW;
	f->lru_prev = l->tail;
	if (l->tail == BP_NO_FLOW)
		l->head = i;
	else
		t->flow[l->tail].lru_next = i;
	l->tail = i;
	count(t, f, true);
}

static uint16_t wheel_at(const struct bp_flow_table *t, const struct bp_flow *f)
{
	return (uint16_t)(BP_FILE_WHEEL + ((f->seen >> t->wheel_shift) % BP_WHEEL));
}

void bp_flow_file(struct bp_flow_table *t, struct bp_flow *f, unsigned list)
{
	uint16_t at = BP_FILE_CLOSED;

	bp_flow_unfile(t, f);
	bp_flow_evict_at_bound(t, list);
	if (list == BP_LIST_PROVEN)
		at = wheel_at(t, f);
	else if (list == BP_LIST_UNPROVEN)
		at = bp_flow_unproven_at(t, f);
	bp_flow_file_at(t, f, at);
}

/*
 * The head of the oldest list whose flows were not seen since they were filed. A flow that was seen
 * moves to the list of that time: each move is paid for by the traffic since. List numbers count up
 * to `mask` and begin again, as the ticks do; all are compared by how long before now they are.
 *
 * NULL when there is none, or after `budget` moves; *least_seen is then the flow among those moved
 * that was not seen for the longest time.
 */
static struct bp_flow *oldest_idle(
	struct bp_flow_table *t, unsigned *budget, struct bp_flow **least_seen)
{
	uint32_t now = t->now >> t->wheel_shift, mask = UINT32_MAX >> t->wheel_shift;

	/* nobody looked for more than a turn: all lists are behind, the oldest is the next one */
	if (((now - t->wheel_at) & mask) >= BP_WHEEL)
		t->wheel_at = (now - (BP_WHEEL - 1)) & mask;
	for (;;) {
		uint32_t head = t->wheel[t->wheel_at % BP_WHEEL].head, slot, ago;
		struct bp_flow *f;

		if (head == BP_NO_FLOW) {
			if (t->wheel_at == now)
				return NULL;
			t->wheel_at = (t->wheel_at + 1) & mask;
			continue;
		}
		f = &t->flow[head];
		slot = f->seen >> t->wheel_shift;
		ago = (now - slot) & mask;
		if (slot % BP_WHEEL == t->wheel_at % BP_WHEEL || ago >= BP_WHEEL)
			return f;
		if (*budget == 0)
			return NULL;
		(*budget)--;
		bp_flow_file_at(t, f, wheel_at(t, f));
		if (least_seen != NULL &&
			(*least_seen == NULL || t->now - f->seen > t->now - (*least_seen)->seen))
			*least_seen = f;
		/* filed more than a turn ago, and seen since, but before the list being looked at
		 */
		if (ago > ((now - t->wheel_at) & mask))
			t->wheel_at = slot;
	}
}

void bp_flow_evict(struct bp_flow_table *t, struct bp_flow *f)
{
	if (bp_flow_is_unproven(f))
		t->counters->v[BP_C_FLOW_EVICTED_UNPROVEN]++;
	else if (is_proven(f))
		t->counters->v[BP_C_FLOW_EVICTED]++;
	bp_flow_remove(t, f);
}

/*
 * The longest idle of some proven flows, chosen by chance under the table's key, whose client has
 * the most of them; NULL: it does not have far more than the client of `idle`.
 */
static struct bp_flow *of_largest_client(struct bp_flow_table *t, const struct bp_flow *idle)
{
	const uint64_t slots = (uint64_t)t->groups * BP_FLOW_WAYS;
	uint32_t most = 2 * t->client_proven[bp_flow_client(t, idle)] + CLIENT_FEW;
	struct bp_flow *victim = NULL;

	for (unsigned i = 0; i < SAMPLES; i++) {
		const uint64_t random = bp_mix(++t->sampled ^ t->key[0], t->key[1] ^ t->now) >> 32;
		struct bp_flow *f = &t->flow[(random * slots) >> 32];
		uint32_t has;

		if (!(f->proof & BP_FLOW_PROVEN) || !is_proven(f))
			continue;
		has = t->client_proven[bp_flow_client(t, f)];
		if (has < most || (has == most && victim != NULL &&
					  t->now - f->seen <= t->now - victim->seen))
			continue;
		most = has;
		victim = f;
	}
	return victim;
}

void bp_flow_evict_at_bound(struct bp_flow_table *t, unsigned list)
{
	unsigned budget = LOOK_MAX;
	struct bp_flow *idle, *other = NULL;

	if (list == BP_LIST_PROVEN && t->proven >= t->capacity) {
		idle = oldest_idle(t, &budget, &other);
		if (idle == NULL)
			idle = other;
		other = of_largest_client(t, idle);
		bp_flow_evict(t, other != NULL ? other : idle);
	} else if (list == BP_LIST_UNPROVEN && t->unproven >= t->max_unproven) {
		bp_flow_evict(t, bp_flow_unproven_victim(t));
	}
}

/* The oldest of those that are closed, once it is over its time. */
static bool expire_closed(struct bp_flow_table *t)
{
	struct bp_flow *f;

	if (t->closed_list.head == BP_NO_FLOW)
		return false;
	f = &t->flow[t->closed_list.head];
	if ((uint32_t)(t->now - f->seen) < t->closed_ticks) {
		/* adopted flows are in no order: behind the others, or the list would stop at it */
		if (f->lru_next != BP_NO_FLOW)
			bp_flow_file_at(t, f, BP_FILE_CLOSED);
		return false;
	}
	bp_flow_remove(t, f);
	return true;
}

unsigned bp_flow_expire(struct bp_flow_table *t, uint64_t mono_ns, unsigned budget)
{
	unsigned expired = 0;

	t->now = bp_ticks(mono_ns);
	while (budget != 0 && expire_closed(t)) {
		expired++;
		budget--;
	}
	expired += bp_flow_unproven_expire(t, &budget);
	while (budget != 0) {
		struct bp_flow *f = oldest_idle(t, &budget, NULL);

		if (f == NULL || (uint32_t)(t->now - f->seen) < t->idle_ticks)
			break;
		t->counters->v[BP_C_FLOW_EXPIRED]++;
		bp_flow_remove(t, f);
		expired++;
		if (budget != 0)
			budget--;
	}
	return expired;
}
