/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/rules.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/lcl/settings.h"
#include "controlplane/process/clock.h"
#include "controlplane/process/peer.h"

/* How often the workers are looked at while they are waited for. */
static const struct timeval poll_every = {0, 1000};
/* The new set is in force at once; the answer waits so long for every worker to have taken it. */
#define SEEN_WAIT_NS 2000000000ull

enum phase { IDLE, WAIT_BANK_FREE, WAIT_SEEN };

struct bp_rules {
	struct bp_shm *shm;
	struct event *timer;
	enum phase phase;
	/* built aside; not yet in the segment. NULL: that in force says the same */
	struct bp_ruleset *image;
	const struct bp_config *config; /* the caller's, until `done`: of the other services */
	uint64_t deadline_ns;           /* monotonic; 0: none */
	bp_rules_done done;
	void *arg;
	struct bp_rules_result result;
};

static uint64_t active(const struct bp_rules *r)
{
	return atomic_load_explicit(&r->shm->control->rules_active, memory_order_acquire);
}

/* A worker that still walks the graph with other rules than those in force, or -1. */
static int worker_behind(const struct bp_rules *r)
{
	uint64_t want = active(r);

	if (!bp_dataplane_alive(r->shm->global))
		return -1;
	/* Pairs with the worker's fence between noting what it read and using it. */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned w = 0; w < r->shm->workers; w++) {
		uint64_t seen =
			atomic_load_explicit(&r->shm->global->rules_seen[w], memory_order_acquire);

		if (seen != UINT64_MAX && seen != want)
			return (int)w;
	}
	return bp_transform_behind(r->shm);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The rules' identities, sorted; NULL without memory or rules. */
static uint64_t *sorted_uids(const struct bp_ruleset *rs)
{
	uint64_t *uid = rs->n_rules == 0 ? NULL : calloc(rs->n_rules, sizeof(*uid));

	if (uid == NULL)
		return NULL;
	for (uint32_t i = 0; i < rs->n_rules; i++)
		uid[i] = bp_ruleset_rule(rs, i)->uid;
	qsort(uid, rs->n_rules, sizeof(*uid), by_value);
	return uid;
}

/* How many rules the two sets share. */
static uint32_t count_common(const struct bp_ruleset *a, const struct bp_ruleset *b)
{
	uint64_t *x = sorted_uids(a), *y = sorted_uids(b);
	uint32_t n = 0;

	for (uint32_t i = 0, k = 0; x != NULL && y != NULL && i < a->n_rules && k < b->n_rules;) {
		if (x[i] == y[k]) {
			n++;
			i++;
			k++;
		} else if (x[i] < y[k]) {
			i++;
		} else {
			k++;
		}
	}
	free(x);
	free(y);
	return n;
}

static bool same_clone(const struct bp_clone_target *a, const struct bp_clone_target *b)
{
	if (!a->enabled || !b->enabled)
		return a->enabled == b->enabled;
	return a->has_ip4 == b->has_ip4 && a->has_ip6 == b->has_ip6 && a->port == b->port &&
	       memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 &&
	       (!a->has_ip4 || memcmp(a->ip4, b->ip4, sizeof(a->ip4)) == 0) &&
	       (!a->has_ip6 || memcmp(a->ip6, b->ip6, sizeof(a->ip6)) == 0) &&
	       a->tcp_port == b->tcp_port;
}

static void finish(struct bp_rules *r)
{
	struct bp_rules_result result = r->result;
	bp_rules_done done = r->done;

	event_del(r->timer);
	free(r->image);
	r->image = NULL;
	r->phase = IDLE;
	r->done = NULL;
	done(r->arg, &result);
}

/*
 * What is the same is written, too: a worker that was restarted began with the file as it was then,
 * which may say something else. The others compare, and go on with their streams and flows. Returns
 * whether it is not the same.
 */
static bool publish(struct bp_seqlock *lock, const void *rules, size_t n)
{
	const bool same = bp_seqlock_equals(lock, rules, n);

	bp_seqlock_write(lock, rules, n);
	return !same;
}

static void put_plans_in_force(struct bp_rules *r)
{
	const struct bp_config *c = r->config;
	const struct bp_shm *shm = r->shm;

	if (shm->agg.plan != NULL)
		r->result.aggregation = publish(&shm->agg.plan->lock, &c->agg, sizeof(c->agg));
	if (shm->lcl.plan != NULL)
		r->result.lcl = publish(&shm->lcl.plan->lock, &bp_config_lcl(c)->rules,
			sizeof(bp_config_lcl(c)->rules));
}

void bp_rules_tell_again(struct bp_rules *r)
{
	if (r->shm->agg.plan != NULL)
		bp_seqlock_republish(&r->shm->agg.plan->lock);
	if (r->shm->lcl.plan != NULL)
		bp_seqlock_republish(&r->shm->lcl.plan->lock);
}

/* The bank is free: the image goes there and is in force with the store. */
static void put_image_in_force(struct bp_rules *r)
{
	struct bp_shm *shm = r->shm;
	uint64_t bank = (active(r) & 1) ^ 1;

	memcpy(shm->rules + bank * shm->rules_bank_size, r->image, r->image->size);
	put_plans_in_force(r);
	atomic_store_explicit(&shm->control->rules_active, r->image->generation << 1 | bank,
		memory_order_release);
	r->result.generation = r->image->generation;
}

/*
 * Both banks are free. Those of transformation are written now and not aside, so that no matrix
 * that is set meanwhile is missed; and first, since they alone can still be refused. False: they
 * were, and nothing has changed.
 */
static bool put_in_force(struct bp_rules *r)
{
	if (bp_transform_put(r->shm, r->config, &r->result.transform, r->result.error,
		    sizeof(r->result.error)) != 0)
		return false;
	if (r->image != NULL)
		put_image_in_force(r);
	else
		put_plans_in_force(r);
	r->result.ok = true;
	r->phase = WAIT_SEEN;
	r->deadline_ns = bp_mono_ns() + SEEN_WAIT_NS;
	return true;
}

/* Goes as far as the workers allow. */
static void step(struct bp_rules *r)
{
	int behind = worker_behind(r);
	bool late = r->deadline_ns != 0 && bp_mono_ns() >= r->deadline_ns;

	if (r->phase == WAIT_BANK_FREE && behind < 0) {
		if (!put_in_force(r)) {
			finish(r);
			return;
		}
		behind = worker_behind(r);
		late = false;
	}
	if (r->phase == WAIT_SEEN && (behind < 0 || late)) {
		finish(r);
		return;
	}
	if (r->phase == WAIT_BANK_FREE && late) {
		snprintf(r->result.error, sizeof(r->result.error),
			"worker %d still uses the rules before those in force and does not take "
			"new ones; look at the data plane, then reload again",
			behind);
		finish(r);
		return;
	}
	event_add(r->timer, &poll_every);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	step(arg);
}

struct bp_rules *bp_rules_new(struct event_base *base, struct bp_shm *shm)
{
	struct bp_rules *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->shm = shm;
	r->timer = evtimer_new(base, on_timer, r);
	if (r->timer == NULL) {
		free(r);
		return NULL;
	}
	return r;
}

void bp_rules_free(struct bp_rules *r)
{
	if (r == NULL)
		return;
	event_free(r->timer);
	free(r->image);
	free(r);
}

/* The next set's generation. It differs from all that running workers may use: their rules outlive
 * a control-plane part that was recreated. */
static uint64_t next_generation(const struct bp_rules *r, const struct bp_ruleset *old)
{
	uint64_t last = old->generation;

	for (unsigned w = 0; w < r->shm->workers && bp_dataplane_alive(r->shm->global); w++) {
		const uint64_t seen =
			atomic_load_explicit(&r->shm->global->rules_seen[w], memory_order_relaxed);

		if (seen != UINT64_MAX && seen >> 1 > last)
			last = seen >> 1;
	}
	return last + 1;
}

static int build(struct bp_rules *r, const struct bp_config_mqtt *mqtt,
	const struct bp_ruleset *old, char *err, size_t err_size)
{
	uint64_t size = (r->shm->rules_bank_size + 63) & ~63ull;
	int rc;

	r->image = aligned_alloc(64, size);
	if (r->image == NULL) {
		snprintf(err, err_size, "no memory for %" PRIu64 " bytes of rules", size);
		return -1;
	}
	memset(r->image, 0, size);
	rc = bp_ruleset_build(r->image, r->shm->rules_bank_size, mqtt->rules, mqtt->n_rules,
		r->shm->max_rules, &mqtt->clone, old, next_generation(r, old), bp_unix_ns(), err,
		err_size);
	if (rc == 0)
		return 0;
	free(r->image);
	r->image = NULL;
	return -1;
}

bool bp_rules_busy(const struct bp_rules *r)
{
	return r->phase != IDLE;
}

int bp_rules_apply(struct bp_rules *r, const struct bp_config *c, bool keep_same, uint64_t wait_ns,
	bp_rules_done done, void *arg, char *err, size_t err_size)
{
	const struct bp_config_mqtt *mqtt = &c->mqtt;
	const struct bp_ruleset *old = bp_shm_rules(r->shm, active(r));

	if (r->phase != IDLE) {
		snprintf(err, err_size,
			"another set of rules is being put in force; try again in a moment");
		return -1;
	}
	if (build(r, mqtt, old, err, err_size) != 0)
		return -1;
	memset(&r->result, 0, sizeof(r->result));
	r->config = c;
	r->done = done;
	r->arg = arg;
	r->result.generation = old->generation;
	r->result.rules = r->image->n_rules;
	r->result.unchanged = count_common(old, r->image);
	if (keep_same && old->generation != 0 && old->n_rules == r->image->n_rules &&
		r->result.unchanged == old->n_rules && same_clone(&old->clone, &r->image->clone)) {
		free(r->image);
		r->image = NULL;
	}
	if (r->image == NULL && r->shm->transform.head == NULL) {
		put_in_force(r);
		finish(r);
		return 0;
	}
	r->phase = WAIT_BANK_FREE;
	r->deadline_ns = wait_ns == 0 ? 0 : bp_mono_ns() + wait_ns;
	step(r);
	return 0;
}
