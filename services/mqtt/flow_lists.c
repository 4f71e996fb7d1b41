/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow.h"

/*
 * Which flow is evicted first. A packet only stamps its flow's `seen`; the lists are put right when
 * the oldest is looked for, so that traffic writes no list. All times in ticks of 2^20 ns.
 */

/* A closed connection is kept for this time: late retransmissions must not be mistaken for a new
 * one. */
#define CLOSED_NS (10ull * 1000 * 1000 * 1000)
/* Maximum number of flows that a new flow checks to evict one: each may be a cache miss. */
#define LOOK_MAX 64u
/* Number of random flows that it checks for one of a client with far more flows than others: if
 * one client has half of the table, 32 samples miss it with a probability of 2^-32. */
#define SAMPLES 32u
/* Connections that are no reason to evict those of a client first. */
#define CLIENT_FEW 16u
/* Clients looked at in one call of expiry. */
#define CLIENTS_A_CALL 64
/* Heads of a list that were seen since they were filed and are passed over in one eviction. */
#define PASSED_OVER_MAX 4

static uint32_t ticks_up(uint64_t ns)
{
	uint64_t ticks = (ns >> 20) + 1;

	return ticks > INT32_MAX ? INT32_MAX : (uint32_t)ticks;
}

void bp_flow_lists_init(struct bp_flow_table *t, uint64_t idle_ns, uint64_t opening_ns)
{
	const struct bp_flow_list empty = {BP_NO_FLOW, BP_NO_FLOW};

	t->idle_ticks = ticks_up(idle_ns);
	t->opening_ticks = ticks_up(opening_ns);
	t->closed_ticks = ticks_up(CLOSED_NS);
	/* one rotation of the wheel must exceed the idle timeout: half of it covers the timeout */
	t->wheel_shift = 0;
	while (((uint64_t)(BP_WHEEL / 2) << t->wheel_shift) < t->idle_ticks)
		t->wheel_shift++;
	t->closed_list = empty;
	for (unsigned i = 0; i < BP_WHEEL; i++)
		t->wheel[i] = empty;
	for (unsigned c = 0; c < BP_CLIENTS; c++) {
		for (unsigned i = 0; i < BP_UNPROVEN_CLASSES; i++)
			t->of_client[c][i] = empty;
	}
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

static void report_removal(const struct bp_flow_table *t, const struct bp_flow *f, unsigned reason)
{
	if (t->removed != NULL)
		t->removed(t->release_arg, f, reason);
}

void bp_flow_evict(struct bp_flow_table *t, struct bp_flow *f)
{
	report_removal(t, f, BP_EVENT_END_EVICTED);
	if (bp_flow_is_unproven(f))
		t->counters->v[BP_C_CONN_EVICTED_UNESTABLISHED]++;
	else if (is_proven(f))
		t->counters->v[BP_C_CONN_EVICTED]++;
	bp_flow_remove(t, f);
}

/* ---- unproven connections ---- */

/*
 * Unproven connections. Any host can create them, with any source address, so they share one limit;
 * at the limit the client with the most such connections loses its oldest one: a client that floods
 * takes slots from itself (longest queue drop, as in stochastic fair queueing).
 */

uint32_t bp_flow_client(const struct bp_flow_table *t, const struct bp_flow *f)
{
	return (uint32_t)(bp_flow_client_hash(t, f) >> 32) % BP_CLIENTS;
}

static uint16_t file_of(uint32_t client, enum bp_unproven class)
{
	return (uint16_t)(BP_FILE_UNPROVEN + client * BP_UNPROVEN_CLASSES + class);
}

/* The list of an unproven flow, by its state. */
static uint16_t unproven_at(const struct bp_flow_table *t, const struct bp_flow *f)
{
	enum bp_unproven class = BP_UNPROVEN_OPENING;

	if (f->proof & BP_FLOW_HANDSHAKE)
		class = BP_UNPROVEN_ANSWERED;
	else if (f->flags & BP_FLOW_MIDWAY)
		class = BP_UNPROVEN_MIDSTREAM;
	return file_of(bp_flow_client(t, f), class);
}

void bp_flow_carries(struct bp_flow_table *t, struct bp_flow *f, int64_t bytes)
{
	const uint32_t client = bp_flow_client(t, f);

	f->carried += (uint32_t)bytes;
	t->client_bytes[client] += (uint64_t)bytes;
	if (!bp_flow_is_unproven(f))
		return;
	t->unproven_bytes += (uint64_t)bytes;
	t->client_unproven_bytes[client] += (uint64_t)bytes;
}

static struct bp_flow *flow_at(const struct bp_flow_table *t, uint32_t i)
{
	return i == BP_NO_FLOW ? NULL : &t->flow[i];
}

static uint32_t idle_of(const struct bp_flow_table *t, const struct bp_flow *f)
{
	return t->now - f->seen;
}

/* A flow is filed when it is created and only gets a timestamp with each segment: a flow with a
 * later timestamp than the next one in the list was seen since. */
static bool out_of_order(const struct bp_flow_table *t, const struct bp_flow *f)
{
	const struct bp_flow *behind = flow_at(t, f->lru_next);

	return behind != NULL && idle_of(t, behind) > idle_of(t, f);
}

/* The longest idle flow of a list, as far as its order is exact. */
static struct bp_flow *oldest_in(struct bp_flow_table *t, uint32_t client, enum bp_unproven class)
{
	const struct bp_flow_list *l = &t->of_client[client][class];
	struct bp_flow *f = flow_at(t, l->head);

	for (unsigned i = 0; i < PASSED_OVER_MAX && f != NULL && out_of_order(t, f); i++) {
		bp_flow_file_at(t, f, f->list);
		f = flow_at(t, l->head);
	}
	return f;
}

/* The flow that a client gives up first. */
static struct bp_flow *oldest_of(struct bp_flow_table *t, uint32_t client)
{
	struct bp_flow *oldest = NULL;

	for (unsigned i = 0; i < BP_UNPROVEN_ANSWERED; i++) {
		struct bp_flow *f = oldest_in(t, client, i);

		if (f != NULL && (oldest == NULL || idle_of(t, f) > idle_of(t, oldest)))
			oldest = f;
	}
	return oldest != NULL ? oldest : oldest_in(t, client, BP_UNPROVEN_ANSWERED);
}

/* The oldest flow of the client with the most flows; NULL: there is no unproven flow. */
static struct bp_flow *unproven_victim(struct bp_flow_table *t)
{
	uint32_t most = 0;

	for (uint32_t c = 1; c < BP_CLIENTS; c++) {
		if (t->client_unproven[c] > t->client_unproven[most])
			most = c;
	}
	return oldest_of(t, most);
}

bool bp_flow_evict_holder(struct bp_flow_table *t, const struct bp_flow *keep)
{
	struct bp_flow *f;
	uint32_t most = 0;

	for (uint32_t c = 1; c < BP_CLIENTS; c++) {
		if (t->client_unproven_bytes[c] > t->client_unproven_bytes[most])
			most = c;
	}
	f = oldest_of(t, most);
	if (f == keep)
		f = flow_at(t, f->lru_next);
	if (f == NULL)
		return false;
	bp_flow_evict(t, f);
	return true;
}

/*
 * A flow that was picked up mid-stream may be a legitimate one that rarely sends: its position is
 * kept, but no memory that others need. One that is not inspected, such as TLS, is kept with its
 * reason and its names, so that it is not taken for one that was picked up mid-stream.
 */
static bool may_rest(const struct bp_flow *f, enum bp_unproven class)
{
	if (f->stream[BP_TO_BROKER] == BP_STREAM_NOT_INSPECTED)
		return f->carried <= BP_TLS_KEPT_MAX;
	return class != BP_UNPROVEN_OPENING && class != BP_UNPROVEN_ANSWERED && f->carried == 0;
}

/* The action for the head of a list. */
enum fate { KEEP, MOVES, EXPIRES };

static enum fate fate_of(const struct bp_flow_table *t, const struct bp_flow *f,
	enum bp_unproven class, enum bp_unproven *next)
{
	const uint32_t idle = idle_of(t, f);

	*next = class;
	if (class == BP_UNPROVEN_RESTING) {
		if (idle >= t->idle_ticks)
			return EXPIRES;
		if (idle >= t->opening_ticks && may_rest(f, class))
			return out_of_order(t, f) ? MOVES : KEEP;
		*next = BP_UNPROVEN_MIDSTREAM;
		return MOVES;
	}
	if (idle < t->opening_ticks)
		return out_of_order(t, f) ? MOVES : KEEP;
	if (!may_rest(f, class))
		return EXPIRES;
	*next = BP_UNPROVEN_RESTING;
	return MOVES;
}

static unsigned expire_list(
	struct bp_flow_table *t, uint32_t client, enum bp_unproven class, unsigned *budget)
{
	const struct bp_flow_list *l = &t->of_client[client][class];
	unsigned expired = 0;

	while (l->head != BP_NO_FLOW && *budget != 0) {
		struct bp_flow *f = &t->flow[l->head];
		enum bp_unproven next;
		const enum fate fate = fate_of(t, f, class, &next);

		if (fate == KEEP)
			break;
		(*budget)--;
		if (fate == MOVES) {
			bp_flow_file_at(t, f, file_of(client, next));
			continue;
		}
		t->counters->v[BP_C_CONN_EXPIRED_UNESTABLISHED]++;
		bp_flow_remove(t, f);
		expired++;
	}
	return expired;
}

/* Checks a part of the clients. *budget is decremented; returns the number of expired flows. */
static unsigned expire_unproven(struct bp_flow_table *t, unsigned *budget)
{
	unsigned expired = 0;

	for (unsigned i = 0; i < CLIENTS_A_CALL && t->unproven != 0 && *budget != 0; i++) {
		const uint32_t client = t->expire_client;

		if (t->client_unproven[client] != 0) {
			for (unsigned class = 0; class < BP_UNPROVEN_CLASSES; class ++)
				expired += expire_list(t, client, class, budget);
		}
		if (*budget != 0)
			t->expire_client = (client + 1) % BP_CLIENTS;
	}
	return expired;
}

/* ---- proven connections, and all lists together ---- */

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
		at = unproven_at(t, f);
	bp_flow_file_at(t, f, at);
}

/*
 * The head of the oldest list whose flows were not seen since they were filed. A flow that was seen
 * moves to the list of its timestamp: the traffic since then pays for each move. List numbers count
 * up to `mask` and wrap, as the ticks do; all are compared by their distance before the current
 * time.
 *
 * NULL if there is none, or after `budget` moves; *least_seen is then the moved flow with the
 * oldest timestamp.
 */
static struct bp_flow *oldest_idle(
	struct bp_flow_table *t, unsigned *budget, struct bp_flow **least_seen)
{
	uint32_t now = t->now >> t->wheel_shift, mask = UINT32_MAX >> t->wheel_shift;

	/* no check for more than one rotation: all lists are in the past, the oldest is the next
	 * one */
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
		/* filed more than one rotation ago, and seen since, but before the current list */
		if (ago > ((now - t->wheel_at) & mask))
			t->wheel_at = slot;
	}
}

/*
 * The longest idle of some proven flows, chosen at random with the key of the table, whose client
 * has the most of them; NULL: it does not have far more than the client of `idle`.
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
		bp_flow_evict(t, unproven_victim(t));
	}
}

/* The oldest closed flow, if its time has expired. */
static bool expire_closed(struct bp_flow_table *t)
{
	struct bp_flow *f;

	if (t->closed_list.head == BP_NO_FLOW)
		return false;
	f = &t->flow[t->closed_list.head];
	if ((uint32_t)(t->now - f->seen) < t->closed_ticks) {
		/* adopted flows are unordered: move it to the end, since it would block the list */
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
	expired += expire_unproven(t, &budget);
	while (budget != 0) {
		struct bp_flow *f = oldest_idle(t, &budget, NULL);

		if (f == NULL || (uint32_t)(t->now - f->seen) < t->idle_ticks)
			break;
		t->counters->v[BP_C_CONN_EXPIRED]++;
		report_removal(t, f, BP_EVENT_END_EXPIRED);
		bp_flow_remove(t, f);
		expired++;
		if (budget != 0)
			budget--;
	}
	return expired;
}
