/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/nh_groups.h"

#include <stdlib.h>
#include <string.h>

#define SHARES BP_GROUP_SHARES

bool bp_nh_groups_init(struct bp_nh_groups *g, struct bp_fib *f)
{
	*g = (struct bp_nh_groups){.f = f};
	g->taken = calloc(f->max_groups, 1);
	if (g->taken && bp_reuse_init(&g->slots, f->max_groups))
		return true;
	bp_nh_groups_free(g);
	return false;
}

void bp_nh_groups_free(struct bp_nh_groups *g)
{
	free(g->taken);
	bp_reuse_free(&g->slots);
	*g = (struct bp_nh_groups){0};
}

static void count_add(struct bp_nh_groups *g, int d)
{
	g->count += (uint32_t)d;
	atomic_store_explicit(&g->f->control->groups, g->count, memory_order_relaxed);
}

/* How many shares each member gets. */
static void quotas(const struct bp_nh_members *m, uint32_t *quota)
{
	uint32_t rest[BP_HOPS_MAX], sum = 0, left = SHARES;

	for (uint32_t i = 0; i < m->n; i++)
		sum += m->weight[i];
	for (uint32_t i = 0; i < m->n; i++) {
		quota[i] = SHARES * m->weight[i] / sum;
		rest[i] = SHARES * m->weight[i] % sum;
		left -= quota[i];
	}
	for (; left > 0; left--) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < m->n; i++) {
			if (rest[i] > rest[best])
				best = i;
		}
		quota[best]++;
		rest[best] = 0;
	}
}

void bp_nh_shares(const struct bp_nh_members *m, const uint32_t *old, uint32_t *shares)
{
	uint32_t quota[BP_HOPS_MAX];
	bool open[SHARES];
	uint32_t i;

	quotas(m, quota);
	for (uint32_t s = 0; s < SHARES; s++) {
		for (i = 0; old && i < m->n; i++) {
			if (m->member[i] == old[s] && quota[i] > 0)
				break;
		}
		open[s] = !old || i == m->n;
		if (open[s])
			continue;
		shares[s] = old[s];
		quota[i]--;
	}
	i = 0;
	for (uint32_t s = 0; s < SHARES; s++) {
		if (!open[s])
			continue;
		while (quota[i] == 0)
			i++;
		shares[s] = m->member[i];
		quota[i]--;
	}
}

static void shares_load(const struct bp_nexthop_group *e, uint32_t *shares)
{
	for (uint32_t s = 0; s < SHARES; s++)
		shares[s] = atomic_load_explicit(&e->nexthop[s], memory_order_relaxed);
}

/* Members that `show` may read at the same time; it detects the change by the state word and reads
 * again. */
static void members_store(struct bp_nexthop_group *e, const struct bp_nh_members *m)
{
	__atomic_store_n(&e->n, m->n, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < m->n; i++) {
		__atomic_store_n(&e->member[i], m->member[i], __ATOMIC_RELAXED);
		__atomic_store_n(&e->weight[i], m->weight[i], __ATOMIC_RELAXED);
	}
}

static void contents_store(
	struct bp_nexthop_group *e, const struct bp_nh_members *m, const uint32_t *old)
{
	uint32_t shares[SHARES];

	bp_nh_shares(m, old, shares);
	for (uint32_t s = 0; s < SHARES; s++) {
		if (!old || shares[s] != old[s])
			atomic_store_explicit(&e->nexthop[s], shares[s], memory_order_release);
	}
	members_store(e, m);
}

bool bp_nh_group_new(
	struct bp_nh_groups *g, const struct bp_nh_members *m, uint32_t like, uint32_t *number)
{
	uint32_t old[SHARES];
	struct bp_nexthop_group *e;

	if (!bp_reuse_take(&g->slots, number))
		return false;
	e = &g->f->groups[*number];
	bp_slot_set(&e->state, BP_SLOT_WRITING);
	if (like == UINT32_MAX) {
		contents_store(e, m, NULL);
	} else {
		uint32_t shares[SHARES];

		shares_load(&g->f->groups[like], old);
		bp_nh_shares(m, old, shares);
		for (uint32_t s = 0; s < SHARES; s++)
			atomic_store_explicit(&e->nexthop[s], shares[s], memory_order_relaxed);
		members_store(e, m);
	}
	bp_slot_set(&e->state, BP_SLOT_LIVE);
	count_add(g, 1);
	return true;
}

void bp_nh_group_change(struct bp_nh_groups *g, uint32_t number, const struct bp_nh_members *m)
{
	struct bp_nexthop_group *e = &g->f->groups[number];
	uint32_t old[SHARES];

	shares_load(e, old);
	bp_slot_set(&e->state, BP_SLOT_CHANGING);
	contents_store(e, m, old);
	bp_slot_set(&e->state, BP_SLOT_LIVE);
}

void bp_nh_group_retire(struct bp_nh_groups *g, uint32_t number)
{
	bp_slot_set(&g->f->groups[number].state, BP_SLOT_RETIRED);
	bp_reuse_retire(&g->slots, number);
	count_add(g, -1);
}

void bp_nh_group_members(const struct bp_nh_groups *g, uint32_t number, struct bp_nh_members *m)
{
	const struct bp_nexthop_group *e = &g->f->groups[number];

	m->n = e->n;
	memcpy(m->member, e->member, sizeof(m->member));
	memcpy(m->weight, e->weight, sizeof(m->weight));
}

bool bp_nh_groups_settle(struct bp_nh_groups *g, struct bp_epoch *e)
{
	uint32_t number;

	while (bp_reuse_passed(&g->slots, e, &number)) {
		bp_slot_set(&g->f->groups[number].state, BP_SLOT_FREE);
		bp_reuse_give(&g->slots, number);
	}
	return g->slots.n_waiting > 0;
}

/* ---- after another writer ---- */

static bool members_read(const struct bp_nexthop_group *e,
	bool (*single)(const void *arg, uint32_t nexthop), const void *arg, struct bp_nh_members *m)
{
	if (bp_slot(atomic_load(&e->state)) != BP_SLOT_LIVE || e->n < 2 || e->n > BP_HOPS_MAX)
		return false;
	m->n = e->n;
	for (uint32_t i = 0; i < m->n; i++) {
		m->member[i] = e->member[i];
		m->weight[i] = e->weight[i];
		if (!single(arg, m->member[i]) || m->weight[i] < 1 || m->weight[i] > 256)
			return false;
	}
	return true;
}

/* The members and their number of shares after an interrupted change: the shares that workers
 * use. */
static bool members_predict(const struct bp_nexthop_group *e,
	bool (*single)(const void *arg, uint32_t nexthop), const void *arg, struct bp_nh_members *m)
{
	m->n = 0;
	for (uint32_t s = 0; s < SHARES; s++) {
		const uint32_t member = atomic_load(&e->nexthop[s]);
		uint32_t i;

		for (i = 0; i < m->n && m->member[i] != member; i++)
			;
		if (i < m->n) {
			m->weight[i]++;
		} else if (m->n < BP_HOPS_MAX && single(arg, member)) {
			m->member[m->n] = member;
			m->weight[m->n++] = 1;
		}
	}
	return m->n > 0;
}

bool bp_nh_group_load(struct bp_nh_groups *g, uint32_t number,
	bool (*single)(const void *arg, uint32_t nexthop), const void *arg, struct bp_nh_members *m,
	bool *repaired)
{
	uint32_t old[SHARES], right[SHARES];

	if (number >= g->f->max_groups || g->taken[number])
		return false;
	struct bp_nexthop_group *e = &g->f->groups[number];

	shares_load(e, old);
	if (!members_read(e, single, arg, m) && !members_predict(e, single, arg, m))
		return false;
	bp_nh_shares(m, old, right);
	*repaired = memcmp(old, right, sizeof(old)) != 0 ||
		    bp_slot(atomic_load(&e->state)) != BP_SLOT_LIVE || e->n != m->n;
	if (*repaired) {
		bp_slot_set(&e->state, BP_SLOT_CHANGING);
		contents_store(e, m, old);
		bp_slot_set(&e->state, BP_SLOT_LIVE);
	}
	g->taken[number] = 1;
	count_add(g, 1);
	return true;
}

void bp_nh_groups_reap(struct bp_nh_groups *g)
{
	for (uint32_t i = g->f->max_groups; i-- > 0;) {
		struct bp_nexthop_group *e = &g->f->groups[i];
		const enum bp_slot slot = bp_slot(atomic_load(&e->state));

		if (g->taken[i])
			continue;
		if (slot == BP_SLOT_FREE) {
			bp_reuse_give(&g->slots, i);
			continue;
		}
		bp_slot_set(&e->state, BP_SLOT_RETIRED);
		bp_reuse_retire(&g->slots, i);
	}
	memset(g->taken, 0, g->f->max_groups);
}
