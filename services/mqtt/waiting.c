/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/stream.h"

/*
 * Bytes in sequence that may not be read yet, in their order: a ring of blocks; the flow refers to
 * the last one. They are read when the awaited proof arrives, or discarded with the connection.
 * They share reorder_buffer with the segments ahead of the stream.
 */
struct waiting {
	bp_reassembly_ref next;
	uint32_t seq;      /* of the first byte */
	uint32_t from, to; /* of the bytes in data */
	uint8_t data[];
};

static struct waiting *waiting_at(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return (struct waiting *)(void *)bp_reassembly_data(in->reassembly, ref);
}

static void link_block(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	bp_reassembly_ref ref, bool in_front)
{
	bp_reassembly_ref *last = &f->waiting[dir];
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

static bp_reassembly_ref take_first_waiting(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	struct waiting *last = waiting_at(in, f->waiting[dir]);
	bp_reassembly_ref ref = last->next;

	last->next = waiting_at(in, ref)->next;
	if (ref == f->waiting[dir])
		f->waiting[dir] = 0;
	return ref;
}

static void give_back(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, bp_reassembly_ref ref)
{
	f->out_of_order_bytes[dir] -= (uint32_t)bp_reassembly_size(in->reassembly, ref);
	bp_flow_release(in, f, ref);
}

void bp_wait_cut(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t keep)
{
	bp_reassembly_ref all = f->waiting[dir], ref;

	if (all == 0)
		return;
	ref = waiting_at(in, all)->next;
	f->waiting[dir] = 0;
	for (bool more = true; more;) {
		struct waiting *w = waiting_at(in, ref);
		bp_reassembly_ref next = w->next;
		uint32_t n = w->to - w->from;

		more = ref != all;
		if (n > keep) {
			in->counters->v[BP_C_UNESTABLISHED_BYTES_DISCARDED] += n - keep;
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

/* Extends the last block up to its capacity; returns the number of bytes appended. */
static uint32_t append_waiting(
	const struct bp_mqtt_worker *in, bp_reassembly_ref ref, const uint8_t *p, uint32_t n)
{
	struct waiting *w = waiting_at(in, ref);
	uint32_t room =
		(uint32_t)bp_reassembly_size(in->reassembly, ref) - (uint32_t)sizeof(*w) - w->to;

	if (n > room)
		n = room;
	memcpy(w->data + w->to, p, n);
	w->to += n;
	return n;
}

static bool add_waiting(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n)
{
	uint64_t need = sizeof(struct waiting) + (uint64_t)n, room = need;
	uint64_t left = in->reorder_bytes - f->out_of_order_bytes[dir];
	bp_reassembly_ref ref = 0;
	struct waiting *w;

	if (f->waiting[dir] != 0)
		room = 2 * bp_reassembly_size(in->reassembly, f->waiting[dir]);
	if (room > in->reorder_bytes / 8)
		room = in->reorder_bytes / 8;
	if (room > left || room < need)
		room = need;
	if (need > left ||
		bp_reassembly_used(in->reassembly) > bp_reassembly_capacity(in->reassembly) / 2 ||
		!bp_flow_grow(in, f, &ref, 0, need, room))
		return false;
	if (bp_reassembly_size(in->reassembly, ref) > left) {
		bp_flow_release(in, f, ref);
		return false;
	}
	f->out_of_order_bytes[dir] += (uint32_t)bp_reassembly_size(in->reassembly, ref);
	w = waiting_at(in, ref);
	w->seq = seq;
	w->from = w->to = 0;
	(void)append_waiting(in, ref, p, n);
	link_block(in, f, dir, ref, false);
	return true;
}

void bp_wait_add(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n)
{
	const struct waiting *last = f->waiting[dir] != 0 ? waiting_at(in, f->waiting[dir]) : NULL;
	/* not after an urgent byte, which was left out: the block's bytes have successive numbers
	 */
	uint32_t have = last != NULL && last->seq + last->to == seq
				? append_waiting(in, f->waiting[dir], p, n)
				: 0;

	if (have == n || add_waiting(in, f, dir, seq + have, p + have, n - have))
		return;
	/* after a pause: it is read without the answer of the fleet, as without a fleet */
	if (bp_fleet_is_unconfirmed(f)) {
		bp_tally(in, BP_C_FLEET_BUFFER_FULL);
		bp_fleet_confirm_no_longer(f);
		bp_wait_drain(in, f, dir);
		if (f->waiting[dir] == 0 && bp_stream_may_read(f, dir))
			have += bp_stream_read(in, f, dir, p + have, n - have, seq + have);
		if (have == n || !bp_stream_tracked(f, dir) ||
			add_waiting(in, f, dir, seq + have, p + have, n - have))
			return;
	}
	/* without these bytes the position is lost, and with it all that waits */
	bp_tally(in, BP_C_UNESTABLISHED_BUFFER_FULL);
	bp_resync_enter(in, f, dir, f->next[dir]);
}

/* Sequence number of the first waiting byte; `all`: the last of the pieces. */
static uint32_t first_waiting(const struct bp_mqtt_worker *in, bp_reassembly_ref all)
{
	const struct waiting *w = waiting_at(in, waiting_at(in, all)->next);

	return w->seq + w->from;
}

void bp_wait_search_begin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	const bp_reassembly_ref all = f->waiting[dir];

	f->waiting[dir] = 0;
	bp_resync_enter(in, f, dir, all == 0 ? f->next[dir] : first_waiting(in, all));
	f->waiting[dir] = all;
}

void bp_wait_search_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_reassembly_ref all = f->waiting[dir], ref;

	if (all == 0)
		return;
	f->waiting[dir] = 0;
	ref = waiting_at(in, all)->next;
	for (bool more = true; more;) {
		const struct waiting *w = waiting_at(in, ref);
		bp_reassembly_ref next = w->next;

		more = ref != all;
		bp_work_allow(&in->work, w->to - w->from);
		if (f->stream[dir] == BP_STREAM_RESYNC)
			bp_resync_segment(in, f, dir, w->data + w->from, w->to - w->from,
				w->seq + w->from, f->next[!dir]);
		give_back(in, f, dir, ref);
		ref = next;
	}
}

void bp_wait_search(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_wait_search_begin(in, f, dir);
	bp_wait_search_read(in, f, dir);
}

uint32_t bp_wait_first(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return f->waiting[dir] == 0 ? f->next[dir] : first_waiting(in, f->waiting[dir]);
}

void bp_wait_move(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t next)
{
	bp_reassembly_ref all = f->waiting[dir], ref;
	bool more = all != 0;

	f->waiting[dir] = 0;
	if ((int32_t)(f->top[dir] - f->next[dir]) < 0)
		f->top[dir] = f->next[dir];
	f->next[dir] = next;
	for (ref = more ? waiting_at(in, all)->next : 0; more;) {
		struct waiting *w = waiting_at(in, ref);
		const bp_reassembly_ref after = w->next;
		const int32_t old = (int32_t)(next - (w->seq + w->from));

		more = ref != all;
		if (old > 0)
			w->from +=
				(uint32_t)old < w->to - w->from ? (uint32_t)old : w->to - w->from;
		if (w->from < w->to && w->seq + w->from == f->next[dir]) {
			f->next[dir] += w->to - w->from;
			link_block(in, f, dir, ref, false);
		} else {
			if (w->from < w->to)
				bp_hold_add(in, f, dir, w->seq + w->from, w->data + w->from,
					w->to - w->from);
			give_back(in, f, dir, ref);
		}
		ref = after;
	}
}

void bp_wait_drain(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	/* of a connection that the policy ends, nothing more is read: it would wait for ever */
	while (f->waiting[dir] != 0 && bp_stream_may_read(f, dir) && !bp_enforce_refused(in)) {
		bp_reassembly_ref ref = take_first_waiting(in, f, dir);
		struct waiting *w = waiting_at(in, ref);

		bp_work_allow(&in->work, w->to - w->from);
		w->from += bp_stream_read(
			in, f, dir, w->data + w->from, w->to - w->from, w->seq + w->from);
		if (w->from < w->to && bp_stream_tracked(f, dir))
			link_block(in, f, dir, ref, true);
		else
			give_back(in, f, dir, ref);
	}
}
