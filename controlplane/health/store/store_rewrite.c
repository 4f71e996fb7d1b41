/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/store/store_internal.h"

/* Writing all anew: after rows were lost, or into a file that is new. */

#define TURN_MS 20
#define TURN_CONFIGS 32u
#define TURN_PAIRS 512u

static void again_later(struct bp_phd_store *s)
{
	const struct timeval in = {.tv_usec = TURN_MS * 1000};

	evtimer_add(s->turn, &in);
}

void bp_phd_store_lacks(struct bp_phd_store *s, bool wipe)
{
	s->lacks = true;
	s->wipe = s->wipe || wipe;
	if (bp_phd_store_is_loaded(s))
		again_later(s);
}

/* Rows that were lost before are not lost again by the attempt to write them. */
static bool has_room(const struct bp_phd_store *s)
{
	struct bp_phd_store_news n;

	bp_phd_store_writer_state(s->writer, &n);
	return !n.failed && n.queued < BP_PHD_STORE_QUEUE / 2 &&
	       n.octets < BP_PHD_STORE_QUEUE_OCTETS / 2;
}

static bool begin(struct bp_phd_store *s)
{
	if (s->wipe &&
		!bp_phd_store_write(s, &(struct bp_phd_store_row){.kind = BP_PHD_STORE_WIPE}))
		return false;
	s->lacks = false; /* until a row is lost again */
	s->wipe = false;
	s->rewriting = true;
	s->next_config = 0;
	s->left = bp_phd_known_count(s->known);
	bp_phd_known_walk(s->known);
	return true;
}

/* True: all of them are queued. */
static bool write_configs(struct bp_phd_store *s)
{
	const struct bp_phd_known_config *c;

	for (unsigned n = 0; n < TURN_CONFIGS; n++, s->next_config++) {
		c = bp_phd_known_config(s->known, s->next_config);
		if (c == NULL)
			return true;
		if (c->report != NULL)
			bp_phd_store_write_config(s, s->next_config);
	}
	return false;
}

/* From the oldest on. Those that are used meanwhile are written by that. */
static bool write_pairs(struct bp_phd_store *s)
{
	uint32_t i;

	for (unsigned n = 0; n < TURN_PAIRS; n++) {
		if (s->left == 0)
			return true;
		s->left--;
		i = bp_phd_known_step(s->known);
		if (i == BP_PHD_KNOWN_NONE)
			return true;
		bp_phd_store_write_pair(s, i);
	}
	return false;
}

void bp_phd_store_rewrite_turn(int fd, short what, void *arg)
{
	struct bp_phd_store *s = arg;

	(void)fd;
	(void)what;
	if (!has_room(s) || (!s->rewriting && !begin(s)) || !write_configs(s) || !write_pairs(s)) {
		again_later(s);
		return;
	}
	s->rewriting = false;
	if (s->lacks)
		again_later(s);
	else
		s->ops->again(s->arg);
}
