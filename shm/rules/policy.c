/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/rules/policy_index.h"
#include "shm/rules/policy_value.h"

/* Work, in units of about a nanosecond. */
#define STEP_RULE 4u
#define STEP_TEXT 4u   /* bytes of a filter that are read in one */
#define STEP_BYTES 16u /* bytes that are compared in one */
#define STEP_RATE 20u
#define STEP_VALUE 20u /* and 1 for each byte of the payload */
#define STEP_ELEMENT 50u
#define STEPS_OF_VALUES_MAX 1000000u /* then no further value is read in a decision */

/* ---- topics ---- */

/* The levels of a packet's topic, so that they are found once for all rules. */
#define LEVELS_MAX (BP_RULE_FILTER_MAX + 2u) /* the filter of a rule has fewer */
struct topic {
	const struct bp_policy_packet_view *packet;
	uint32_t steps; /* of comparisons, in units of work */
	uint32_t n;
	struct bp_policy_level level[LEVELS_MAX];
};

static const uint8_t *end_of_level(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *slash = p == end ? NULL : memchr(p, '/', (size_t)(end - p));

	return slash != NULL ? slash : end;
}

static void split(struct topic *t, const struct bp_policy_packet_view *p)
{
	const uint8_t *at = p->topic, *end = p->topic + p->topic_len;

	for (t->n = 0; t->n < LEVELS_MAX;) {
		const uint8_t *slash = end_of_level(at, end);

		t->level[t->n++] = (struct bp_policy_level){at, (uint32_t)(slash - at)};
		if (slash == end)
			return;
		at = slash + 1;
	}
}

static bool is_char(const struct bp_policy_level *l, char c)
{
	return l->n == 1 && l->p[0] == (uint8_t)c;
}

static bool is_text(const struct bp_policy_level *l, const char *text)
{
	return l->n == strlen(text) && memcmp(l->p, text, l->n) == 0;
}

/* The text of the packet for a placeholder; NULL: the level is none. */
struct placeholder {
	const uint8_t *p;
	uint32_t n;
	bool is, unknown; /* unknown: the CONNECT of the client was not read */
};
static struct placeholder placeholder_of(
	const struct bp_policy_level *l, const struct bp_policy_packet_view *p)
{
	struct placeholder h = {.is = false};

	if (l->n == 0 || l->p[0] != '{')
		return h;
	if (is_text(l, BP_POLICY_CLIENT_LEVEL))
		h = (struct placeholder){p->client, p->client_len, true, false};
	else if (is_text(l, BP_POLICY_USER_LEVEL))
		h = (struct placeholder){p->user, p->user_len, true, false};
	h.unknown = h.is && h.p == NULL && !p->known;
	return h;
}

/* Of first levels: a wildcard does not match one that begins with $. */
static bool hides(const struct bp_policy_level *wild, const struct bp_policy_level *text)
{
	return (is_char(wild, '+') || is_char(wild, '#')) && text->n != 0 && text->p[0] == '$';
}

/* Whether the filter `rest` is # alone: then it matches the parent level, too. */
static bool is_hash(const uint8_t *rest, const uint8_t *end)
{
	return end - rest == 1 && *rest == '#';
}

/* One level of both: 1: the filter matches all that follows; 0: compare the next one; -1: no. */
static int compare(struct bp_policy_level a, const struct bp_policy_level *b, bool first,
	enum bp_policy_relation relation, struct topic *t)
{
	const bool wild = relation != BP_POLICY_MATCHES; /* the topic may have wildcards */
	const struct placeholder h = placeholder_of(&a, t->packet);

	if (first && (hides(&a, b) || (relation == BP_POLICY_OVERLAPS && hides(b, &a))))
		return -1;
	if (is_char(&a, '#'))
		return 1;
	if (wild && is_char(b, '#'))
		return relation == BP_POLICY_OVERLAPS ? 1 : -1;
	/* any text may be that of an unknown client, but none */
	if (is_char(&a, '+') || h.unknown)
		return h.unknown && b->n == 0 ? -1 : 0;
	if (h.is)
		a = (struct bp_policy_level){h.p, h.n};
	if (a.p == NULL || (h.is && a.n == 0))
		return -1;
	t->steps += a.n / STEP_BYTES;
	if (wild && is_char(b, '+'))
		return relation == BP_POLICY_OVERLAPS ? 0 : -1;
	return a.n == b->n && memcmp(a.p, b->p, a.n) == 0 ? 0 : -1;
}

/* Whether a filter that begins with this level is +/#, which is the same as #. */
static bool is_all(const struct bp_policy_level *first, const uint8_t *slash, const uint8_t *end)
{
	return is_char(first, '+') && slash != end && is_hash(slash + 1, end);
}

static bool filter_is(struct topic *t, const uint8_t *filter, uint32_t filter_len,
	enum bp_policy_relation relation)
{
	const uint8_t *at = filter, *end = filter + filter_len;

	for (uint32_t i = 0; i < t->n; i++) {
		const uint8_t *slash = end_of_level(at, end);
		const struct bp_policy_level a = {at, (uint32_t)(slash - at)};
		const int r = compare(a, &t->level[i], i == 0, relation, t);

		if (i == 0 && is_all(&a, slash, end) && is_char(&t->level[0], '#'))
			return relation != BP_POLICY_MATCHES;
		if (r != 0)
			return r > 0;
		if (i + 1 == t->n) /* the rest of the filter */
			return slash == end || is_hash(slash + 1, end);
		if (slash == end) /* the rest of the topic */
			return relation == BP_POLICY_OVERLAPS && i + 2 == t->n &&
			       is_char(&t->level[i + 1], '#');
		at = slash + 1;
	}
	return false;
}

bool bp_policy_topic_is(const uint8_t *filter, uint32_t filter_len,
	enum bp_policy_relation relation, const struct bp_policy_packet_view *p)
{
	struct topic t;

	t.packet = p;
	t.steps = 0;
	split(&t, p);
	return filter_is(&t, filter, filter_len, relation);
}

bool bp_policy_pattern_is(
	const uint8_t *pattern, uint16_t len, uint16_t star, const uint8_t *text, uint32_t text_len)
{
	uint16_t behind;

	if (star == UINT16_MAX)
		return len == text_len && memcmp(pattern, text, len) == 0;
	behind = (uint16_t)(len - star - 1);
	return text_len >= (uint32_t)star + behind && memcmp(pattern, text, star) == 0 &&
	       memcmp(pattern + star + 1, text + text_len - behind, behind) == 0;
}

/* ---- a rule ---- */

enum met { NO, YES, UNKNOWN };

static const uint8_t *text_at(const struct bp_ruleset *rs, uint32_t offset)
{
	return (const uint8_t *)rs + offset;
}

static bool has_topic(uint8_t packet)
{
	return packet != BP_POLICY_CONNECT;
}

static bool is_message(uint8_t packet)
{
	return packet == BP_POLICY_PUBLISH || packet == BP_POLICY_WILL;
}

static bool address_is(const struct bp_policy_rule *r, const struct bp_policy_packet_view *p)
{
	struct bp_address a = {.family = p->ip6 ? 6 : 4};

	if (!r->has_address)
		return true;
	memcpy(a.bytes, p->address, p->ip6 ? 16 : 4);
	return bp_prefix_contains(&r->address, &a);
}

static enum met client_is(const struct bp_ruleset *rs, const struct bp_policy_rule *r,
	const struct bp_policy_packet_view *p)
{
	if (r->client_len == 0)
		return YES;
	if (!p->known && p->client == NULL)
		return UNKNOWN;
	return p->client != NULL && bp_policy_pattern_is(text_at(rs, r->client), r->client_len,
					    r->client_star, p->client, p->client_len)
		       ? YES
		       : NO;
}

static enum met user_is(const struct bp_ruleset *rs, const struct bp_policy_rule *r,
	const struct bp_policy_packet_view *p)
{
	if (r->identity == BP_POLICY_EVERYBODY && r->user_len == 0)
		return YES;
	if (!p->known && p->user == NULL)
		return UNKNOWN;
	if (r->identity != BP_POLICY_EVERYBODY &&
		(p->user == NULL) != (r->identity == BP_POLICY_ANONYMOUS))
		return NO;
	if (r->user_len == 0)
		return YES;
	return p->user != NULL && bp_policy_pattern_is(text_at(rs, r->user), r->user_len,
					  r->user_star, p->user, p->user_len)
		       ? YES
		       : NO;
}

/* Of the placeholders of a filter: NO: the client has not the text of one; UNKNOWN: that of one is
 * not known. */
static enum met placeholders_are(
	const uint8_t *filter, uint32_t n, const struct bp_policy_packet_view *p)
{
	const uint8_t *end = filter + n, *slash;
	enum met met = YES;

	if (memchr(filter, '{', n) == NULL)
		return YES;
	for (const uint8_t *at = filter;; at = slash + 1) {
		struct placeholder h;
		struct bp_policy_level l;

		slash = end_of_level(at, end);
		l = (struct bp_policy_level){at, (uint32_t)(slash - at)};
		h = placeholder_of(&l, p);
		if (h.unknown)
			met = UNKNOWN;
		else if (h.is && h.n == 0)
			return NO;
		if (slash == end)
			return met;
	}
}

/* An allowed subscription is one whose topics are all allowed; any of them may be one that is
 * not. */
static enum met topic_is(
	const struct bp_ruleset *rs, const struct bp_policy_rule *r, struct topic *t)
{
	const struct bp_policy_packet_view *p = t->packet;
	const uint8_t *filter = text_at(rs, r->topic);
	enum bp_policy_relation relation = BP_POLICY_MATCHES;
	enum met placeholders;

	if (r->topic_len == 0)
		return YES;
	if (!has_topic(p->packet))
		return NO;
	placeholders = placeholders_are(filter, r->topic_len, p);
	if (placeholders == NO)
		return NO;
	if (p->packet == BP_POLICY_SUBSCRIBE)
		relation = r->action == BP_POLICY_ALLOW ? BP_POLICY_COVERS : BP_POLICY_OVERLAPS;
	return filter_is(t, filter, r->topic_len, relation) ? placeholders : NO;
}

static enum met keep_alive_is(const struct bp_policy_rule *r, const struct bp_policy_packet_view *p)
{
	if (!r->has_keep_alive)
		return YES;
	if (p->packet != BP_POLICY_CONNECT)
		return NO;
	if (p->keep_alive == BP_POLICY_KEEP_ALIVE_UNKNOWN)
		return UNKNOWN;
	return p->keep_alive >= r->keep_alive_min && p->keep_alive <= r->keep_alive_max ? YES : NO;
}

static enum met connections_are(
	const struct bp_policy_rule *r, const struct bp_policy_packet_view *p)
{
	if (r->connections == 0)
		return YES;
	if (p->packet != BP_POLICY_CONNECT)
		return NO;
	return p->connections == 0 ? UNKNOWN : p->connections > r->connections ? YES : NO;
}

/* Both conditions: an unknown one leaves open whether the rule applies. */
static enum met both(enum met a, enum met b)
{
	return a == NO || b == NO ? NO : a == UNKNOWN || b == UNKNOWN ? UNKNOWN : YES;
}

static bool of_topics(const struct bp_policy_rule *r)
{
	return r->rate_period_ns != 0 && r->rate_per == BP_POLICY_PER_TOPIC;
}

/* What is the same for all packets of a type on a connection. */
static enum met is_of_client(const struct bp_ruleset *rs, const struct bp_policy_rule *r,
	const struct bp_policy_packet_view *p)
{
	enum met met;

	if ((r->packet != BP_POLICY_ANY && r->packet != p->packet) ||
		(r->version != 0 && p->version != 0 && r->version != p->version) ||
		(of_topics(r) && !has_topic(p->packet)) ||
		(r->port != 0 && p->port != 0 && r->port != p->port) || !address_is(r, p))
		return NO;
	met = (r->port != 0 && p->port == 0) || (r->version != 0 && p->version == 0) ? UNKNOWN
										     : YES;
	met = both(met, keep_alive_is(r, p));
	if (met != NO)
		met = both(met, connections_are(r, p));
	if (met != NO)
		met = both(met, client_is(rs, r, p));
	return met == NO ? NO : both(met, user_is(rs, r, p));
}

/* And with the topic. */
static enum met is_of_connection(
	const struct bp_ruleset *rs, const struct bp_policy_rule *r, struct topic *t)
{
	const enum met met = is_of_client(rs, r, t->packet);

	return met == NO ? NO : both(met, topic_is(rs, r, t));
}

static bool varies(const struct bp_policy_rule *r)
{
	return r->qos != 0 || r->retain != 0 || r->has_size || r->has_packet_size ||
	       r->rate_period_ns != 0 || r->value != 0 || r->days != 0;
}

static bool has_message(const struct bp_policy_rule *r)
{
	return r->qos != 0 || r->retain != 0 || r->has_size || r->value != 0;
}

static enum met packet_size_is(
	const struct bp_policy_rule *r, const struct bp_policy_packet_view *p)
{
	if (!r->has_packet_size)
		return YES;
	if (p->packet == BP_POLICY_WILL)
		return NO;
	return p->packet_size == 0 ? UNKNOWN : p->packet_size > r->packet_larger_than ? YES : NO;
}

static enum met hours_are(const struct bp_policy_rule *r, const struct bp_policy_packet_view *p)
{
	/* bit 0 is Sunday, too: the day before Monday */
	const unsigned days = (unsigned)r->days << 1 | r->days >> 6;
	bool today, since_yesterday;

	if (r->days == 0)
		return YES;
	if (p->day == 0)
		return UNKNOWN;
	today = days >> p->day & 1;
	since_yesterday = days >> (p->day - 1) & 1;
	if (r->from < r->to)
		return today && p->minute >= r->from && p->minute < r->to ? YES : NO;
	return (today && p->minute >= r->from) || (since_yesterday && p->minute < r->to) ? YES : NO;
}

/* What may differ between two of them. */
static enum met is_of_packet(const struct bp_policy_rule *r, const struct bp_policy_packet_view *p)
{
	if (has_message(r) && (!is_message(p->packet) || (r->qos != 0 && r->qos != p->qos + 1) ||
				      (r->retain != 0 && r->retain != p->retain + 1) ||
				      (r->has_size && p->size <= r->larger_than)))
		return NO;
	return both(packet_size_is(r, p), hours_are(r, p));
}

/* Whether the packet of `t` has all that the rule gives, without value and rate. Clears *fixed if
 * this may differ for the next one of its type and topic on the connection. */
static enum met matches(
	const struct bp_ruleset *rs, const struct bp_policy_rule *r, struct topic *t, bool *fixed)
{
	const enum met met = is_of_connection(rs, r, t);

	if (met == NO)
		return NO;
	if (varies(r))
		*fixed = false;
	return both(met, is_of_packet(r, t->packet));
}

/*
 * The rate of a rule, whose other conditions are met: to be called for each packet once, in the
 * order of the rules, and for no rule after the one that decides, because it counts the packet.
 */
static enum met rate_is(const struct bp_policy_rule *r, const struct bp_policy_packet_view *p,
	struct bp_policy_decision *d)
{
	bool evicted, exceeded;

	if (r->rate_period_ns == 0)
		return YES;
	if (p->rates == NULL)
		return UNKNOWN;
	exceeded = bp_policy_rate_exceeded(p->rates, bp_policy_rate_key(r, p), r->rate_period_ns,
		r->rate_depth_ns, p->mono_ns, &evicted);
	d->steps += STEP_RATE;
	d->buckets_evicted += evicted;
	return exceeded ? YES : NO;
}

/* The value of a rule whose other conditions are met, without the rate. */
static enum met value_is(const struct bp_ruleset *rs, const struct bp_policy_rule *r,
	const struct bp_policy_packet_view *p, struct bp_policy_decision *d)
{
	uint32_t elements;
	bool has, meets;

	if (r->value == 0)
		return YES;
	if (p->payload == NULL || d->steps > STEPS_OF_VALUES_MAX)
		return UNKNOWN;
	meets = bp_policy_value_meets(rs, r, p->payload, p->size, &has, &elements);
	d->steps += STEP_VALUE + p->size + elements * STEP_ELEMENT;
	d->values_missing += !has;
	return meets ? YES : NO;
}

/* Whether a rule with a value may decide. A rule with a rate before it may or may not: to find out,
 * it would count the packet. */
static bool needs_payload(
	const struct bp_ruleset *rs, struct topic *t, struct bp_policy_decision *d)
{
	struct bp_policy_find find;
	bool needs = false, fixed;
	uint32_t i;

	bp_policy_find_begin(&find, rs, t->packet, t->level, t->n);
	while ((i = bp_policy_find_next(&find)) != BP_RULE_NONE) {
		const struct bp_policy_rule *r = bp_policy_rule(rs, i);
		const enum met met = matches(rs, r, t, &fixed);

		d->steps += STEP_RULE + r->topic_len / STEP_TEXT;
		needs = met != NO && r->value != 0;
		if (needs || (met != NO && r->rate_period_ns == 0))
			break;
	}
	d->steps += find.steps;
	return needs;
}

static bool refuses(uint8_t action)
{
	return action == BP_POLICY_CLOSE || action == BP_POLICY_BLANK;
}

bool bp_policy_may_refuse_will(
	const struct bp_ruleset *rs, const struct bp_policy_packet_view *p, uint32_t *steps)
{
	*steps = rs->n_policy * STEP_RULE;
	for (uint32_t i = 0; i < rs->n_policy; i++) {
		const struct bp_policy_rule *r = bp_policy_rule(rs, i);
		const enum met met = is_of_client(rs, r, p);

		if (met != NO && refuses(r->action))
			return true;
		if (met == YES && r->topic_len == 0 && !varies(r)) /* all others are its */
			return false;
	}
	return refuses(rs->policy_preset);
}

/* Of an earlier packet: rules that may match it have left the decision to the later ones. `may`:
 * bit 0: one of them does not refuse it; bit 1: one does. */
static void settle_earlier(struct bp_policy_decision *d, unsigned may)
{
	if ((may | 1u << refuses(d->action)) == 3)
		d->action = BP_POLICY_UNDECIDED;
}

void bp_policy_decide(const struct bp_ruleset *rs, const struct bp_policy_packet_view *p,
	struct bp_policy_decision *d)
{
	struct bp_policy_find find;
	struct topic t;
	unsigned may = 0;
	uint32_t i;

	t.packet = p;
	t.n = t.steps = 0;
	*d = (struct bp_policy_decision){
		.action = rs->policy_preset, .rule = rs->n_policy, .fixed = true};
	if (has_topic(p->packet)) {
		split(&t, p);
		d->steps = p->topic_len / STEP_BYTES;
	}
	if (p->payload_later && rs->n_policy_values != 0 && needs_payload(rs, &t, d)) {
		d->action = BP_POLICY_NEEDS_PAYLOAD;
		d->fixed = false;
		d->steps += t.steps;
		return;
	}
	bp_policy_find_begin(&find, rs, p, t.level, t.n);
	while ((i = bp_policy_find_next(&find)) != BP_RULE_NONE) {
		const struct bp_policy_rule *r = bp_policy_rule(rs, i);
		enum met met = matches(rs, r, &t, &d->fixed);

		d->steps += STEP_RULE + r->topic_len / STEP_TEXT;
		if (met != NO)
			met = both(met, value_is(rs, r, p, d));
		/* of a packet that may not be one of the rule's, the rate counts nothing */
		if (met == YES)
			met = rate_is(r, p, d);
		if (met == NO)
			continue;
		if (met == UNKNOWN && p->earlier) {
			may |= 1u << refuses(r->action);
			continue;
		}
		d->rule = i;
		d->slot = r->slot;
		d->action = met == UNKNOWN ? BP_POLICY_UNDECIDED : r->action;
		break;
	}
	settle_earlier(d, may);
	d->steps += find.steps + t.steps;
}
