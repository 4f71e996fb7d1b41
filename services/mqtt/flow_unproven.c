/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/flow_age.h"

/*
 * Connections that have proven nothing yet. Anybody can make them, with any source address, so they
 * share one bound, and at the bound the client that has the most gives up its oldest one: a client
 * that floods takes slots from itself (longest queue drop, as in stochastic fair queueing).
 */

/* Clients looked at in one call of expiry. */
#define CLIENTS_A_CALL 64
/* Heads of a list that were seen since they were filed and are passed over in one eviction. */
#define PASSED_OVER_MAX 4

void bp_flow_unproven_init(struct bp_flow_table *t)
{
	const struct bp_flow_list empty = {BP_NO_FLOW, BP_NO_FLOW};

	for (unsigned c = 0; c < BP_CLIENTS; c++) {
		for (unsigned i = 0; i < BP_UNPROVEN_CLASSES; i++)
			t->of_client[c][i] = empty;
	}
}

/* An IPv4 key holds the address; of IPv6, a /64 is one client, for it has all addresses in it. */
uint64_t bp_flow_client_hash(const struct bp_flow_table *t, const struct bp_flow *f)
{
	uint64_t client = f->k0 >> 32;

	if (f->flags & BP_FLOW_IP6)
		memcpy(&client, f->client_ip, sizeof(client));
	return bp_mix(client ^ t->key[1], t->key[0]);
}

uint32_t bp_flow_client(const struct bp_flow_table *t, const struct bp_flow *f)
{
	return (uint32_t)(bp_flow_client_hash(t, f) >> 32) % BP_CLIENTS;
}

static uint16_t file_of(uint32_t client, enum bp_unproven class)
{
	return (uint16_t)(BP_FILE_UNPROVEN + client * BP_UNPROVEN_CLASSES + class);
}

uint16_t bp_flow_unproven_at(const struct bp_flow_table *t, const struct bp_flow *f)
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

/* A flow is filed when it comes and only stamped when it is seen: whoever was seen later than the
 * one behind it was seen since. */
static bool out_of_order(const struct bp_flow_table *t, const struct bp_flow *f)
{
	const struct bp_flow *behind = flow_at(t, f->lru_next);

	return behind != NULL && idle_of(t, behind) > idle_of(t, f);
}

/* The longest idle of a list, as good as its order tells. */
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

struct bp_flow *bp_flow_unproven_victim(struct bp_flow_table *t)
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

/* What becomes of the head of a list. */
enum fate { STAYS, MOVES, EXPIRES };

static enum fate fate_of(const struct bp_flow_table *t, const struct bp_flow *f,
	enum bp_unproven class, enum bp_unproven *next)
{
	const uint32_t idle = idle_of(t, f);

	*next = class;
	if (class == BP_UNPROVEN_RESTING) {
		if (idle >= t->idle_ticks)
			return EXPIRES;
		if (idle >= t->opening_ticks && f->carried == 0)
			return out_of_order(t, f) ? MOVES : STAYS;
		*next = BP_UNPROVEN_MIDSTREAM;
		return MOVES;
	}
	if (idle < t->opening_ticks)
		return out_of_order(t, f) ? MOVES : STAYS;
	/*
	 * One that is picked up mid-stream may be a true one that seldom sends: what is known of
	 * its position is kept, but no memory that others need.
	 */
	if (class != BP_UNPROVEN_MIDSTREAM || f->carried != 0)
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

		if (fate == STAYS)
			break;
		(*budget)--;
		if (fate == MOVES) {
			bp_flow_file_at(t, f, file_of(client, next));
			continue;
		}
		t->counters->v[BP_C_FLOW_EXPIRED_UNPROVEN]++;
		bp_flow_remove(t, f);
		expired++;
	}
	return expired;
}

unsigned bp_flow_unproven_expire(struct bp_flow_table *t, unsigned *budget)
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
