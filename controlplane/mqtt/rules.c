/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/rules.h"

#include "config/mqtt/settings.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "shm/hash.h"
#include "shm/rules/policy.h"

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Returns the sorted unique ids of the rules; NULL without memory or rules. */
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

/* Returns the number of rules that both sets contain. */
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

static bool same_mirror(const struct bp_mirror_target *a, const struct bp_mirror_target *b)
{
	if (!a->enabled || !b->enabled)
		return a->enabled == b->enabled;
	return a->has_ip4 == b->has_ip4 && a->has_ip6 == b->has_ip6 && a->port == b->port &&
	       memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 &&
	       (!a->has_ip4 || memcmp(a->ip4, b->ip4, sizeof(a->ip4)) == 0) &&
	       (!a->has_ip6 || memcmp(a->ip6, b->ip6, sizeof(a->ip6)) == 0) &&
	       a->tcp_port == b->tcp_port;
}

/* The severities of the rules: no part of their uids. The order of the rules does not count. */
static uint64_t sum_severities(const struct bp_ruleset *rs)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rs->n_rules; i++) {
		const struct bp_rule *r = bp_ruleset_rule(rs, i);

		sum += bp_mix64(r->uid ^ bp_mix64(r->severity));
	}
	return sum;
}

/* The order of its rules counts. */
static bool same_policy(const struct bp_ruleset *a, const struct bp_ruleset *b)
{
	return a->policy_given == b->policy_given && a->policy_uid == b->policy_uid &&
	       a->policy_fail == b->policy_fail &&
	       a->policy_closed_ports == b->policy_closed_ports &&
	       a->policy_fallback == b->policy_fallback &&
	       memcmp(a->policy_quarantine, b->policy_quarantine, sizeof(a->policy_quarantine)) ==
		       0;
}

static int build(struct bp_rules *r, const struct bp_config_mqtt *mqtt,
	const struct bp_ruleset *old, char *err, size_t err_size)
{
	uint64_t size = (r->shm->rules.bank_size + 63) & ~63ull;
	struct bp_ruleset_input input = {.specs = mqtt->rules,
		.n = mqtt->n_rules,
		.max_rules = r->shm->max_rules,
		.clone = &mqtt->mirror,
		.policy = &mqtt->policy,
		.max_policy_rules = r->shm->max_policy_rules,
		.old = old,
		.now_ns = bp_unix_ns()};
	int rc;

	r->image = aligned_alloc(64, size);
	if (r->image == NULL) {
		snprintf(err, err_size, "no memory for %" PRIu64 " bytes of rules", size);
		return -1;
	}
	memset(r->image, 0, size);
	r->next = bp_generation_next(&r->shm->rules);
	input.generation = r->next >> 1;
	rc = bp_ruleset_compile(r->image, r->shm->rules.bank_size, &input, err, err_size);
	if (rc == 0)
		return 0;
	free(r->image);
	r->image = NULL;
	return -1;
}

int bp_rules_prepare(struct bp_rules *r, const struct bp_config_mqtt *mqtt, bool keep_same,
	char *err, size_t err_size)
{
	const struct bp_ruleset *old = bp_shm_rules(r->shm, bp_generation_active(&r->shm->rules));

	bp_rules_discard(r);
	if (build(r, mqtt, old, err, err_size) != 0)
		return -1;
	r->generation = old->generation;
	r->rules = r->image->n_rules;
	r->unchanged = count_common(old, r->image);
	if (keep_same && old->generation != 0 && old->n_rules == r->image->n_rules &&
		r->unchanged == old->n_rules && sum_severities(old) == sum_severities(r->image) &&
		same_mirror(&old->clone, &r->image->clone) && same_policy(old, r->image))
		bp_rules_discard(r);
	return 0;
}

void bp_rules_publish(struct bp_rules *r)
{
	if (r->image == NULL)
		return;
	bp_generation_fill(&r->shm->rules, r->next, r->image, r->image->size);
	bp_generation_publish(&r->shm->rules, r->next);
	r->generation = r->image->generation;
	bp_rules_discard(r);
}

void bp_rules_discard(struct bp_rules *r)
{
	free(r->image);
	r->image = NULL;
}
