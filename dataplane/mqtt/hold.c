/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/inspector.h"

/*
 * Segments that arrived ahead of the stream. The frame itself is long gone to its receiver; a copy
 * of its payload waits in the arena until the bytes before it come, or can never come.
 *
 * Blocks in the order of their sequence numbers, in a ring: the flow knows the last one, behind
 * which nearly every segment goes, and its `next` is the first. Segments that continue a block are
 * added to it, so that there are few blocks but where there are holes, and what a block takes of
 * reorder_bytes is the memory it takes: a sender of one-byte segments gets no longer list.
 */
struct held {
	bp_carry_ref next;
	uint32_t seq;
	uint32_t len;
	uint8_t data[];
};

/*
 * Blocks that are looked at for the place of a segment which is not the last. A sender that leaves
 * more holes than that has its own reading to lose, not the others' time.
 */
#define LOOK_MAX 64

static struct held *held_at(const struct bp_inspector *in, bp_carry_ref ref)
{
	return (struct held *)(void *)bp_carry_data(in->carry, ref);
}

static struct held *first(const struct bp_inspector *in, const struct bp_flow *f, unsigned dir)
{
	return held_at(in, held_at(in, f->held[dir])->next);
}

static void pop(struct bp_inspector *in, struct bp_flow *f, unsigned dir)
{
	struct held *last = held_at(in, f->held[dir]);
	bp_carry_ref ref = last->next;

	f->held_bytes[dir] -= (uint32_t)bp_carry_size(in->carry, ref);
	if (ref == f->held[dir]) {
		f->held[dir] = 0;
		f->pending &= (uint8_t)~BP_FLOW_HELD(dir);
	} else {
		last->next = held_at(in, ref)->next;
	}
	bp_flow_release(in, f, ref);
}

void bp_hold_release(struct bp_inspector *in, struct bp_flow *f, unsigned dir)
{
	while (f->held[dir] != 0)
		pop(in, f, dir);
}

/* *before: the last block that begins no later than `seq`; 0: none does. False: too far to look. */
static bool find_before(const struct bp_inspector *in, const struct bp_flow *f, unsigned dir,
	uint32_t seq, bp_carry_ref *before)
{
	bp_carry_ref at;

	*before = f->held[dir];
	if (*before == 0 || (int32_t)(held_at(in, *before)->seq - seq) <= 0)
		return true;
	*before = 0;
	at = held_at(in, f->held[dir])->next;
	for (unsigned i = 0; i < LOOK_MAX; i++) {
		if ((int32_t)(held_at(in, at)->seq - seq) > 0)
			return true;
		*before = at;
		at = held_at(in, at)->next;
	}
	return false;
}

/* What of p[0..n), at `seq`, continues the block and finds room in it; returns how much is in it
 * now. */
static uint32_t add_to(
	const struct bp_inspector *in, bp_carry_ref ref, uint32_t seq, const uint8_t *p, uint32_t n)
{
	uint32_t room = (uint32_t)bp_carry_size(in->carry, ref) - (uint32_t)sizeof(struct held);
	struct held *h = held_at(in, ref);
	uint32_t at = seq - h->seq, more;

	if (at > h->len)
		return 0;
	if (h->len - at >= n)
		return n;
	more = n - (h->len - at);
	if (more > room - h->len)
		more = room - h->len;
	memcpy(h->data + h->len, p + (h->len - at), more);
	h->len += more;
	return h->len - at;
}

/*
 * A block behind `before` (0: the first). One that continues another is taken larger than what is
 * at hand, for what will follow, as long as it is a small part of what there may be.
 */
static bool add_block(struct bp_inspector *in, struct bp_flow *f, unsigned dir, bp_carry_ref before,
	bool continues, uint32_t seq, const uint8_t *p, uint32_t n)
{
	uint64_t need = sizeof(struct held) + (uint64_t)n, room = need;
	uint64_t left = in->reorder_bytes - f->held_bytes[dir];
	bp_carry_ref ref = 0;
	struct held *h;

	if (need > left) {
		bp_tally(in, BP_C_SEG_REORDER_FULL);
		return false;
	}
	if (continues)
		room = 2 * bp_carry_size(in->carry, before);
	if (room > in->reorder_bytes / 8)
		room = in->reorder_bytes / 8;
	if (room > left || room < need)
		room = need;
	/* counted when it fails; the peer's acknowledgement will show the gap */
	if (!bp_flow_grow(in, f, &ref, 0, need, room))
		return false;
	if (bp_carry_size(in->carry, ref) > left) {
		bp_flow_release(in, f, ref);
		bp_tally(in, BP_C_SEG_REORDER_FULL);
		return false;
	}
	h = held_at(in, ref);
	h->seq = seq;
	h->len = n;
	memcpy(h->data, p, n);
	if (f->held[dir] == 0) {
		h->next = ref;
	} else {
		struct held *b = held_at(in, before != 0 ? before : f->held[dir]);

		h->next = b->next;
		b->next = ref;
	}
	if (before == f->held[dir])
		f->held[dir] = ref;
	f->held_bytes[dir] += (uint32_t)bp_carry_size(in->carry, ref);
	f->pending |= BP_FLOW_HELD(dir);
	return true;
}

void bp_hold_add(struct bp_inspector *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n)
{
	bp_carry_ref before;
	uint32_t have = 0, old = 0;
	bool continues = false;

	/* of the true stream hardly anything comes so far ahead: a stranger's would wait for ever
	 */
	if (seq + n - f->next[dir] > in->reorder_bytes || !find_before(in, f, dir, seq, &before)) {
		bp_tally(in, BP_C_SEG_REORDER_FULL);
		return;
	}
	if (before != 0) {
		old = held_at(in, before)->len;
		continues = seq - held_at(in, before)->seq <= old;
		have = add_to(in, before, seq, p, n);
	}
	if (have == n) {
		bp_tally(in, held_at(in, before)->len == old ? BP_C_SEG_DUPLICATE
							     : BP_C_SEG_OUT_OF_ORDER);
		return;
	}
	/* cut packets of those in step need room too, and lose more for want of it */
	if (bp_carry_used(in->carry) > bp_carry_capacity(in->carry) / 2) {
		bp_tally(in, BP_C_SEG_REORDER_TOTAL);
		return;
	}
	if (add_block(in, f, dir, before, continues, seq + have, p + have, n - have))
		bp_tally(in, BP_C_SEG_OUT_OF_ORDER);
}

void bp_hold_drain(struct bp_inspector *in, struct bp_flow *f, unsigned dir)
{
	while (f->held[dir] != 0) {
		const struct held *h = first(in, f, dir);
		uint32_t old = f->next[dir] - h->seq;

		if (f->stream[dir] == BP_STREAM_OPAQUE) {
			bp_hold_release(in, f, dir);
			return;
		}
		if ((int32_t)old < 0)
			return;
		if (old < h->len) {
			uint32_t at = f->next[dir];

			f->next[dir] = h->seq + h->len;
			bp_work_allow(&in->work, h->len - old);
			bp_mqtt_read(in, f, dir, h->data + old, h->len - old, at);
		}
		/* reading may have given the connection up, and everything it held with it */
		if (f->held[dir] != 0)
			pop(in, f, dir);
	}
}

void bp_hold_gap_lost(struct bp_inspector *in, struct bp_flow *f, unsigned dir, uint32_t ack)
{
	while (f->stream[dir] != BP_STREAM_OPAQUE && f->stream[dir] != BP_STREAM_SEEK &&
		(int32_t)(ack - f->next[dir]) > 0) {
		uint32_t end = ack;
		uint32_t gap;
		bool known;

		if (f->held[dir] != 0 && (int32_t)(end - first(in, f, dir)->seq) > 0)
			end = first(in, f, dir)->seq;
		/* a FIN that was acknowledged is no lost byte */
		if (f->held[dir] == 0 && (f->pending & BP_FLOW_FINWAIT(dir)) &&
			end == f->fin_seq[dir] + 1)
			end--;
		gap = end - f->next[dir];
		if (gap == 0)
			return;
		in->counters->v[BP_C_GAP_LOST] += gap;
		known = bp_mqtt_read_gap(in, f, dir, gap);
		if (known) {
			f->next[dir] = end;
			bp_tally(in, BP_C_GAP_IN_PACKET);
			bp_hold_drain(in, f, dir);
		} else {
			/* the receiver has all before `ack`: what is new begins there */
			bp_hold_release(in, f, dir);
			bp_seek_enter(in, f, dir, ack);
		}
	}
}
