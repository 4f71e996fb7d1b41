/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/mqtt_worker.h"

/*
 * Bytes in sequence that may not be read yet, in their order: a ring of blocks of which the flow
 * knows the last. They are read when the proof comes that they wait for, or thrown away with the
 * connection. They share reorder_bytes with the segments ahead of the stream.
 */
struct waiting {
	bp_carry_ref next;
	uint32_t seq;      /* of the first byte */
	uint32_t from, to; /* of the bytes in data */
	uint8_t data[];
};

static struct waiting *waiting_at(const struct bp_mqtt_worker *in, bp_carry_ref ref)
{
	return (struct waiting *)(void *)bp_carry_data(in->carry, ref);
}

static void link_block(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, bp_carry_ref ref, bool in_front)
{
	bp_carry_ref *last = &f->waiting[dir];
	struct waiting *w = waiting_at(in, ref);

	if (*last == 0) {
		w->next = ref;
		*last = ref;
		return;
	}
	w->next = waiting_at(in, *last)->next;
	waiting_at(in, *last)->next = ref;
	if (!in_front)
		*last = ref;
}

static bp_carry_ref take_first(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	struct waiting *last = waiting_at(in, f->waiting[dir]);
	bp_carry_ref ref = last->next;

	last->next = waiting_at(in, ref)->next;
	if (ref == f->waiting[dir])
		f->waiting[dir] = 0;
	return ref;
}

static void give_back(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, bp_carry_ref ref)
{
	f->held_bytes[dir] -= (uint32_t)bp_carry_size(in->carry, ref);
	bp_flow_release(in, f, ref);
}

void bp_wait_cut(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t keep)
{
	bp_carry_ref all = f->waiting[dir], ref;

	if (all == 0)
		return;
	ref = waiting_at(in, all)->next;
	f->waiting[dir] = 0;
	for (bool more = true; more;) {
		struct waiting *w = waiting_at(in, ref);
		bp_carry_ref next = w->next;
		uint32_t n = w->to - w->from;

		more = ref != all;
		if (n > keep) {
			in->counters->v[BP_C_WAIT_DROPPED] += n - keep;
			w->to -= n - keep;
			n = keep;
		}
		keep -= n;
		if (n != 0)
			link_block(in, f, dir, ref, false);
		else
			give_back(in, f, dir, ref);
		ref = next;
	}
}

/* Continues the last block as far as it has room; returns how much it took. */
static uint32_t add_to(
	const struct bp_mqtt_worker *in, bp_carry_ref ref, const uint8_t *p, uint32_t n)
{
	struct waiting *w = waiting_at(in, ref);
	uint32_t room = (uint32_t)bp_carry_size(in->carry, ref) - (uint32_t)sizeof(*w) - w->to;

	if (n > room)
		n = room;
	memcpy(w->data + w->to, p, n);
	w->to += n;
	return n;
}

static bool add_block(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n)
{
	uint64_t need = sizeof(struct waiting) + (uint64_t)n, room = need;
	uint64_t left = in->reorder_bytes - f->held_bytes[dir];
	bp_carry_ref ref = 0;
	struct waiting *w;

	if (f->waiting[dir] != 0)
		room = 2 * bp_carry_size(in->carry, f->waiting[dir]);
	if (room > in->reorder_bytes / 8)
		room = in->reorder_bytes / 8;
	if (room > left || room < need)
		room = need;
	if (need > left || bp_carry_used(in->carry) > bp_carry_capacity(in->carry) / 2 ||
		!bp_flow_grow(in, f, &ref, 0, need, room))
		return false;
	if (bp_carry_size(in->carry, ref) > left) {
		bp_flow_release(in, f, ref);
		return false;
	}
	f->held_bytes[dir] += (uint32_t)bp_carry_size(in->carry, ref);
	w = waiting_at(in, ref);
	w->seq = seq;
	w->from = w->to = 0;
	(void)add_to(in, ref, p, n);
	link_block(in, f, dir, ref, false);
	return true;
}

void bp_wait_add(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n)
{
	uint32_t have = f->waiting[dir] != 0 ? add_to(in, f->waiting[dir], p, n) : 0;

	if (have == n || add_block(in, f, dir, seq + have, p + have, n - have))
		return;
	/* without these bytes the position is lost, and with it all that waits */
	bp_tally(in, BP_C_WAIT_FULL);
	bp_seek_enter(in, f, dir, f->next[dir]);
}

void bp_wait_search(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_carry_ref all = f->waiting[dir], ref;

	if (all == 0) {
		bp_seek_enter(in, f, dir, f->next[dir]);
		return;
	}
	f->waiting[dir] = 0;
	ref = waiting_at(in, all)->next;
	bp_seek_enter(in, f, dir, waiting_at(in, ref)->seq + waiting_at(in, ref)->from);
	for (bool more = true; more;) {
		const struct waiting *w = waiting_at(in, ref);
		bp_carry_ref next = w->next;

		more = ref != all;
		bp_work_allow(&in->work, w->to - w->from);
		if (f->stream[dir] == BP_STREAM_SEEK)
			bp_seek_segment(in, f, dir, w->data + w->from, w->to - w->from,
				w->seq + w->from, f->next[!dir]);
		give_back(in, f, dir, ref);
		ref = next;
	}
}

void bp_wait_drain(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	while (f->waiting[dir] != 0 && bp_stream_may_read(f, dir)) {
		bp_carry_ref ref = take_first(in, f, dir);
		struct waiting *w = waiting_at(in, ref);

		bp_work_allow(&in->work, w->to - w->from);
		w->from += bp_mqtt_read(
			in, f, dir, w->data + w->from, w->to - w->from, w->seq + w->from);
		if (w->from < w->to && bp_stream_tracked(f, dir))
			link_block(in, f, dir, ref, true);
		else
			give_back(in, f, dir, ref);
	}
}
