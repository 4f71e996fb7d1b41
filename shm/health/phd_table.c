/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/health/phd.h"

#include <string.h>

#include "proto/net/vec16.h"
#include "shm/words.h"

/* Bit i: tag i of the group is `tag`. *elsewhere: number of its sessions in other groups. */
static inline uint32_t tags_equal(const struct bp_phd_group *g, uint16_t tag, uint16_t *elsewhere)
{
	const uint64_t w0 = atomic_load_explicit(&g->tags[0], memory_order_acquire);
	const uint64_t w1 = atomic_load_explicit(&g->tags[1], memory_order_acquire);
	const uint64_t w2 = atomic_load_explicit(&g->tags[2], memory_order_acquire);
	const uint64_t w3 = atomic_load_explicit(&g->tags[3], memory_order_acquire);

	*elsewhere = (uint16_t)(w3 >> 48);
	/* from registers: two words that were just stored cannot be forwarded to one vector load */
	return bp_v16_words_equal(bp_v16_of64(w0, w1), bp_v16_of64(w2, w3), tag) & 0x7fff;
}

uint32_t bp_phd_candidate(const struct bp_phd_tables *t, uint64_t hash)
{
	const uint16_t tag = bp_phd_tag(hash);
	uint32_t group = bp_phd_group1(t, hash);
	uint16_t elsewhere;
	uint32_t hits = tags_equal(&t->groups[group], tag, &elsewhere);

	if (__builtin_expect(hits == 0, 0) && elsewhere != 0) {
		group = bp_phd_group2(t, hash);
		hits = tags_equal(&t->groups[group], tag, &elsewhere);
	}
	return group * BP_PHD_WAYS + (unsigned)__builtin_ctz(hits | 1u << (BP_PHD_WAYS - 1));
}

static bool find_in(const struct bp_phd_tables *t, uint32_t group, uint32_t hits,
	const uint8_t address[16], uint16_t port, uint8_t transport, uint32_t *slot)
{
	for (; hits != 0; hits &= hits - 1) {
		const uint32_t at = group * BP_PHD_WAYS + (unsigned)__builtin_ctz(hits);
		const struct bp_phd_session *s = &t->sessions[at];
		const uint64_t word = atomic_load_explicit(&s->word, memory_order_acquire);

		if (bp_phd_word_state(word) == BP_PHD_FREE ||
			!bp_phd_is_of(
				s, bp_load64(address), bp_load64(address + 8), port, transport))
			continue;
		*slot = at;
		return true;
	}
	return false;
}

int bp_phd_find(const struct bp_phd_tables *t, uint64_t hash, const uint8_t address[16],
	uint16_t port, uint8_t transport, uint32_t *slot)
{
	const uint16_t tag = bp_phd_tag(hash);
	uint32_t group, hits;
	uint16_t elsewhere;

	if (__builtin_expect(t->n_slots == 0, 0))
		return -1;
	group = bp_phd_group1(t, hash);
	hits = tags_equal(&t->groups[group], tag, &elsewhere);
	if (__builtin_expect(find_in(t, group, hits, address, port, transport, slot), 1))
		return 0;
	if (elsewhere == 0)
		return -1;
	group = bp_phd_group2(t, hash);
	hits = tags_equal(&t->groups[group], tag, &elsewhere);
	return find_in(t, group, hits, address, port, transport, slot) ? 0 : -1;
}

bool bp_phd_session_read(const struct bp_phd_tables *t, uint32_t slot, struct bp_phd_session *out)
{
	const struct bp_phd_session *s = &t->sessions[slot];
	const uint64_t before = atomic_load_explicit(&s->word, memory_order_acquire);
	uint64_t after;

	if (bp_phd_word_state(before) == BP_PHD_FREE)
		return false;
	bp_words_load(out, s, sizeof(*out));
	atomic_thread_fence(memory_order_acquire);
	after = atomic_load_explicit(&s->word, memory_order_relaxed);
	atomic_store_explicit(&out->word, after, memory_order_relaxed);
	return bp_phd_word_state(after) != BP_PHD_FREE &&
	       bp_phd_word_life(after) == bp_phd_word_life(before);
}

uint64_t bp_phd_settings_read(const struct bp_phd_tables *t, struct bp_phd_settings *out)
{
	const struct bp_phd_control *c = t->control;
	const uint64_t before = atomic_load_explicit(&c->settings_generation, memory_order_acquire);

	if (before == 0 || before % 2 != 0)
		return 0;
	bp_words_load(out, &c->plan, sizeof(*out));
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&c->settings_generation, memory_order_relaxed) == before
		       ? before
		       : 0;
}
