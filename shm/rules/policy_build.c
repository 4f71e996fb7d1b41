/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/policy_index.h"
#include "shm/rules/policy_value.h"
#include "shm/rules/rule_uid.h"

/* The policy in an image of rules: bp_policy_rule[], bp_policy_value[], the index of the rules,
 * then the texts. */

#define RULE_ROOM 768u          /* texts and index of an average rule */
#define BANK_FLAT (64u * 1024u) /* so that a few rules may have the longest texts */

#define EACH_DAY 0x7fu

uint64_t bp_policy_bank_size(uint32_t max_rules)
{
	return max_rules * (uint64_t)(sizeof(struct bp_policy_rule) + RULE_ROOM) +
	       (max_rules != 0 ? BANK_FLAT : 0);
}

static uint64_t texts_of(const struct bp_policy_rule_spec *r)
{
	return strlen(r->topic) + strlen(r->client) + strlen(r->user);
}

uint64_t bp_policy_image_size(
	const struct bp_policy_spec *spec, const struct bp_policy_draft_index *index)
{
	uint64_t n = bp_policy_index_size(index) + bp_policy_values_size(spec);

	for (uint32_t i = 0; i < spec->n_rules; i++)
		n += sizeof(struct bp_policy_rule) + texts_of(&spec->rules[i]);
	return n;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	const uint64_t key[2] = {h, h ^ 0x9e3779b97f4a7c15ull};

	return bp_hash_bytes(key, text, strlen(text));
}

static uint8_t ingress_of(const struct bp_policy_rule_spec *r)
{
	return r->has_port ? (uint8_t)(r->port + 1) : 0;
}

static uint8_t days_of(const struct bp_policy_rule_spec *r)
{
	return r->days != 0 ? r->days : EACH_DAY;
}

/* The name alone may be that of two rules in the history of a gateway. */
static uint64_t uid_of(const struct bp_policy_rule_spec *r)
{
	uint64_t h = r->packet | (uint64_t)r->action << 8 | (uint64_t)r->version << 16 |
		     (uint64_t)r->identity << 24 | (uint64_t)ingress_of(r) << 32 |
		     (uint64_t)r->qos << 40 | (uint64_t)r->retain << 48;

	h = bp_mix64(h ^ (r->has_size ? r->larger_than + 1ull : 0));
	h = bp_mix64(h ^ (r->has_packet_size ? r->packet_larger_than + 1ull : 0));
	h = bp_mix64(h ^ (r->has_keep_above ? r->keep_above + 1ull : 0));
	h = bp_mix64(h ^ (r->has_keep_below ? r->keep_below + 1ull : 0));
	if (r->has_connections)
		h = bp_mix64(h ^ r->connections);
	if (r->has_hours)
		h = bp_mix64(h ^ (r->from | (uint64_t)r->to << 16 | (uint64_t)days_of(r) << 32));
	if (r->payload != NULL)
		h = bp_mix64(h ^ bp_rule_uid(r->payload));
	if (r->has_rate) {
		h = bp_mix64(h ^ (r->rate.packets | (uint64_t)r->rate.interval_s << 32));
		h = bp_mix64(h ^ (r->rate_burst | (uint64_t)(r->rate_per + 1) << 32));
	}
	if (r->has_address) {
		const uint64_t key[2] = {h, r->address.length | (uint64_t)r->address.family << 8};

		h = bp_hash_bytes(key, r->address.bytes, sizeof(r->address.bytes));
	}
	h = hash_text(hash_text(hash_text(hash_text(h, r->name), r->topic), r->client), r->user);
	return h;
}

static uint16_t star_of(const char *pattern)
{
	const char *star = strchr(pattern, '*');

	return star != NULL ? (uint16_t)(star - pattern) : UINT16_MAX;
}

/* `d` is at offset `at` of the image, and has texts up to *end. */
static uint32_t put_text(uint32_t at, uint8_t *d, uint64_t *end, const char *text, uint16_t *len)
{
	const uint32_t offset = at + (uint32_t)*end;

	*len = (uint16_t)strlen(text);
	memcpy(d + *end, text, *len);
	*end += *len;
	return offset;
}

static uint32_t burst_of(const struct bp_policy_rule_spec *r)
{
	return r->rate_burst != 0 ? r->rate_burst : r->rate.packets;
}

static void fill(struct bp_policy_rule *r, const struct bp_policy_rule_spec *spec, uint32_t at,
	uint8_t *d, uint64_t *end)
{
	memset(r, 0, sizeof(*r));
	r->uid = uid_of(spec);
	r->packet = spec->packet;
	r->action = spec->action;
	r->version = spec->version;
	r->identity = spec->identity;
	r->port = ingress_of(spec);
	r->qos = spec->qos;
	r->retain = spec->retain;
	r->larger_than = spec->larger_than;
	r->has_address = spec->has_address;
	r->has_size = spec->has_size;
	r->has_packet_size = spec->has_packet_size;
	r->packet_larger_than = spec->packet_larger_than;
	if (spec->has_connections)
		r->connections = spec->connections;
	if (spec->has_hours) {
		r->from = spec->from;
		r->to = spec->to;
		r->days = days_of(spec);
	}
	if (spec->has_rate) {
		r->rate_per = spec->rate_per;
		r->rate_period_ns = spec->rate.interval_s * 1000000000ull / spec->rate.packets;
		r->rate_depth_ns = r->rate_period_ns * burst_of(spec);
	}
	r->has_keep_alive = spec->has_keep_alive;
	r->keep_alive_min = spec->has_keep_above ? spec->keep_above + 1 : 0;
	r->keep_alive_max = spec->has_keep_below ? spec->keep_below - 1 : BP_POLICY_KEEP_ALIVE_NONE;
	r->address = spec->address;
	r->client_star = star_of(spec->client);
	r->user_star = star_of(spec->user);
	r->topic = put_text(at, d, end, spec->topic, &r->topic_len);
	r->client = put_text(at, d, end, spec->client, &r->client_len);
	r->user = put_text(at, d, end, spec->user, &r->user_len);
	r->name_len = (uint8_t)strlen(spec->name);
	memcpy(r->name, spec->name, r->name_len);
}

/* ---- slots of statistics ---- */

struct old_slot {
	uint64_t uid;
	uint32_t slot;
};

static int by_uid(const void *x, const void *y)
{
	const struct old_slot *a = x, *b = y;

	return (a->uid > b->uid) - (a->uid < b->uid);
}

/* used[slot]: 1 of an old rule, 2 of a new one. New rules get slots that no rule used: their
 * statistics are not those of a rule that ends. There are enough of them. */
static void give_slots(struct bp_policy_rule *rules, uint32_t n, const struct old_slot *old,
	uint32_t n_old, uint8_t *used)
{
	uint32_t unused = 1;

	for (uint32_t i = 0; i < n_old; i++)
		used[old[i].slot] = 1;
	for (uint32_t i = 0; i < n && n_old != 0; i++) {
		const struct old_slot key = {.uid = rules[i].uid};
		const struct old_slot *found = bsearch(&key, old, n_old, sizeof(*old), by_uid);

		if (found != NULL && used[found->slot] != 2) {
			rules[i].slot = found->slot;
			used[found->slot] = 2;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (rules[i].slot != 0)
			continue;
		while (used[unused] != 0)
			unused++;
		rules[i].slot = unused;
		used[unused] = 2;
	}
}

static bool assign_slots(
	struct bp_policy_rule *rules, uint32_t n, uint32_t max_rules, const struct bp_ruleset *old)
{
	const uint32_t all = old != NULL ? old->n_policy : 0;
	struct old_slot *list = calloc(all + 1ull, sizeof(*list));
	uint8_t *used = calloc(bp_policy_stat_slots(max_rules), 1);
	uint32_t n_old = 0;
	bool ok;

	for (uint32_t i = 0; list != NULL && i < all; i++) {
		const struct bp_policy_rule *r = bp_policy_rule(old, i);

		if (r->slot != 0 && r->slot < bp_policy_stat_slots(max_rules) && n_old < max_rules)
			list[n_old++] = (struct old_slot){r->uid, r->slot};
	}
	if (n_old != 0)
		qsort(list, n_old, sizeof(*list), by_uid);
	ok = list != NULL && used != NULL;
	if (ok)
		give_slots(rules, n, list, n_old, used);
	free(list);
	free(used);
	return ok;
}

/* Built aside: `old` may be in the same bank. */
static uint8_t *draft(struct bp_ruleset *h, const struct bp_policy_spec *spec,
	const struct bp_policy_draft_index *index, uint32_t max_rules, const struct bp_ruleset *old)
{
	const uint64_t size = h->size - h->policy;
	uint64_t value_at = spec->n_rules * sizeof(struct bp_policy_rule);
	const uint64_t index_at = value_at + bp_policy_values_size(spec);
	uint64_t end = index_at + bp_policy_index_size(index);
	uint8_t *d = aligned_alloc(64, (size + 64) & ~63ull);
	struct bp_policy_rule *rules = (struct bp_policy_rule *)(void *)d;

	if (d == NULL)
		return NULL;
	memset(d, 0, size);
	for (uint32_t i = 0; i < spec->n_rules; i++) {
		fill(&rules[i], &spec->rules[i], h->policy, d, &end);
		if (spec->rules[i].payload == NULL)
			continue;
		rules[i].value = h->policy + (uint32_t)value_at;
		bp_policy_value_write(
			(struct bp_policy_value *)(void *)(d + value_at), spec->rules[i].payload);
		value_at += sizeof(struct bp_policy_value);
		h->n_policy_values++;
	}
	bp_policy_index_write(index, h, d, index_at, rules);
	if (assign_slots(rules, spec->n_rules, max_rules, old))
		return d;
	free(d);
	return NULL;
}

static bool refuses(const struct bp_policy_spec *spec)
{
	bool any = spec->preset > BP_POLICY_OBSERVE;

	for (uint32_t i = 0; i < spec->n_rules; i++)
		any |= spec->rules[i].action > BP_POLICY_OBSERVE;
	return any && spec->given;
}

static uint32_t closed_ports(const struct bp_policy_spec *spec)
{
	const uint32_t all = spec->fail == BP_POLICY_FAIL_CLOSED ? UINT32_MAX : 0;

	return (all & ~spec->fail_open_ports) | spec->fail_closed_ports;
}

/* Never 0. */
static uint64_t policy_uid_of(const struct bp_ruleset *h, const uint8_t *image)
{
	const struct bp_policy_rule *r =
		(const struct bp_policy_rule *)(const void *)(image + h->policy);
	/* `fail` decides about a will that is not known */
	uint64_t uid =
		bp_mix64((uint64_t)h->policy_closed_ports << 32 | (uint64_t)h->policy_fail << 16 |
			 (uint64_t)h->policy_preset << 8 | h->policy_on_reload);

	for (uint32_t i = 0; i < h->n_policy; i++)
		uid = bp_mix64(uid ^ r[i].uid) + i;
	return uid | 1ull << 63;
}

int bp_policy_image_write(struct bp_ruleset *h, uint8_t *image, const struct bp_policy_spec *spec,
	const struct bp_policy_draft_index *index, uint32_t max_rules, const struct bp_ruleset *old,
	char *err, size_t err_size)
{
	uint8_t *d;

	if (spec->n_rules > max_rules) {
		snprintf(err, err_size,
			"%u rules of the policy, but the segment was created for %u; raise "
			"mqtt.max_policy_rules and restart",
			spec->n_rules, max_rules);
		return -1;
	}
	d = draft(h, spec, index, max_rules, old);
	if (d == NULL) {
		snprintf(err, err_size, "no memory for the policy");
		return -1;
	}
	memcpy(image + h->policy, d, h->size - h->policy);
	free(d);
	h->n_policy = spec->n_rules;
	h->policy_preset = spec->preset;
	h->policy_given = spec->given;
	h->policy_fail = spec->fail;
	h->policy_closed_ports = closed_ports(spec);
	h->policy_refuses = refuses(spec);
	h->policy_fallback = spec->fallback;
	h->policy_on_reload = spec->on_reload;
	h->policy_uid = policy_uid_of(h, image);
	h->policy_quarantine_len = (uint8_t)strlen(spec->quarantine);
	memcpy(h->policy_quarantine, spec->quarantine, h->policy_quarantine_len);
	return 0;
}

/* ---- an image of another process ---- */

static bool text_inside(const struct bp_ruleset *rs, uint32_t at, uint16_t len)
{
	return at <= rs->size && len <= rs->size - at;
}

/* No sum with a time exceeds 64 bits. */
#define RATE_DEPTH_MAX (UINT64_MAX / 4)

static bool star_inside(uint16_t star, uint16_t len)
{
	return star == UINT16_MAX || star < len;
}

static bool rule_valid(const struct bp_ruleset *rs, const struct bp_policy_rule *r)
{
	return r->packet < BP_POLICY_PACKETS && r->action < BP_POLICY_ACTIONS &&
	       r->identity <= BP_POLICY_USERS && r->qos <= 3 && r->retain <= 2 &&
	       r->name_len <= BP_RULE_NAME_MAX && r->has_address <= 1 && r->has_size <= 1 &&
	       r->rate_per <= BP_POLICY_PER_TOPIC && r->rate_period_ns <= r->rate_depth_ns &&
	       r->rate_depth_ns <= RATE_DEPTH_MAX && r->has_packet_size <= 1 &&
	       r->has_keep_alive <= 1 && r->days <= EACH_DAY && bp_policy_value_valid(rs, r) &&
	       r->address.length <= 128 && r->topic_len <= BP_RULE_FILTER_MAX &&
	       text_inside(rs, r->topic, r->topic_len) &&
	       text_inside(rs, r->client, r->client_len) && text_inside(rs, r->user, r->user_len) &&
	       star_inside(r->client_star, r->client_len) && star_inside(r->user_star, r->user_len);
}

bool bp_policy_image_valid(const struct bp_ruleset *rs)
{
	if (rs->policy_preset >= BP_POLICY_ACTIONS || rs->policy_given > 1 ||
		rs->policy_refuses > 1 || rs->policy_fail > BP_POLICY_FAIL_CLOSED ||
		rs->policy_fallback > BP_POLICY_FALLBACK_PASS ||
		rs->policy_on_reload > BP_POLICY_ON_RELOAD_CLOSE ||
		rs->policy_quarantine_len > BP_POLICY_QUARANTINE_MAX)
		return false;
	if (rs->n_policy == 0)
		return rs->policy_index.n_nodes == 0 && rs->n_policy_values == 0;
	if (rs->policy % _Alignof(struct bp_policy_rule) != 0 || rs->policy > rs->size ||
		rs->n_policy > (rs->size - rs->policy) / sizeof(struct bp_policy_rule))
		return false;
	for (uint32_t i = 0; i < rs->n_policy; i++)
		if (!rule_valid(rs, bp_policy_rule(rs, i)))
			return false;
	return bp_policy_index_valid(rs);
}
