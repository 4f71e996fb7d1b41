/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/sampling/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "services/match/match.h"

_Static_assert(BP_SAMPLING_MAX <= BP_MATCHES_MAX, "an entry for each rule");

struct bp_sampler {
	struct bp_matcher *matcher;
	uint64_t random; /* state of xorshift64*; not 0 */
	struct bp_sampling_rules rules;
	struct {
		uint32_t left; /* remaining frames of this interval */
		uint32_t pick; /* the value of `left` at which the next frame is mirrored */
	} interval[BP_SAMPLING_MAX];
};

/* Below n. */
static uint32_t random_below(struct bp_sampler *s, uint32_t n)
{
	uint64_t x = s->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	s->random = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dull >> 32) * n >> 32);
}

struct bp_sampler *bp_sampler_create(uint64_t seed)
{
	struct bp_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->random = seed | 1;
	s->matcher = bp_matcher_create();
	if (s->matcher)
		return s;
	free(s);
	return NULL;
}

void bp_sampler_free(struct bp_sampler *s)
{
	if (!s)
		return;
	bp_matcher_free(s->matcher);
	free(s);
}

static bool prefix_valid(const struct bp_prefix *p)
{
	return p->family == 0 ||
	       ((p->family == 4 || p->family == 6) && p->length <= bp_address_bits(p->family));
}

bool bp_sampling_valid(const struct bp_sampling_rules *r, const uint16_t mtu[BP_MAX_PORTS])
{
	if (r->n > BP_SAMPLING_MAX)
		return false;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct bp_sampling_rule *e = &r->rule[i];

		if (e->mirror >= BP_MAX_PORTS || mtu[e->mirror] == 0 ||
			e->match.port >= BP_MAX_PORTS || e->match.port == e->mirror ||
			e->one_in == 0 || e->one_in > BP_SAMPLING_ONE_IN_MAX ||
			!prefix_valid(&e->match.source) || !prefix_valid(&e->match.destination))
			return false;
	}
	return true;
}

void bp_sampler_set(struct bp_sampler *s, const struct bp_sampling_rules *r)
{
	bp_matcher_clear(s->matcher);
	for (uint32_t i = 0; i < r->n; i++)
		bp_matcher_add(s->matcher, &r->rule[i].match, (uint16_t)i);
	s->rules = *r;
	memset(s->interval, 0, sizeof(s->interval));
}

bool bp_sampler_uses_port(const struct bp_sampler *s, unsigned port)
{
	for (uint32_t i = 0; i < s->rules.n; i++)
		if (s->rules.rule[i].match.port == port)
			return true;
	return false;
}

int bp_sampler_frame(
	struct bp_sampler *s, const uint8_t *frame, size_t len, uint16_t port, bool *chosen)
{
	const int i = bp_matcher_find(s->matcher, frame, len, port);

	*chosen = false;
	if (i < 0)
		return -1;
	if (s->interval[i].left == 0) {
		s->interval[i].left = s->rules.rule[i].one_in;
		s->interval[i].pick = 1 + random_below(s, s->rules.rule[i].one_in);
	}
	*chosen = s->interval[i].left-- == s->interval[i].pick;
	return i;
}
