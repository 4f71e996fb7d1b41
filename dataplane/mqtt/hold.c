/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/inspector.h"

/*
 * Segments that arrived ahead of the stream. The frame itself is long gone to its receiver; a copy
 * of its payload waits in the arena until the bytes before it come, or can never come.
 */
struct held {
	bp_carry_ref next;
	uint32_t seq;
	uint32_t len;
	uint8_t data[];
};

/*
 * What a segment takes of reorder_bytes: its share of memory, or a sender of one-byte segments
 * could make the list as long as it likes.
 */
static uint32_t charge(uint32_t len)
{
	return (len + (uint32_t)sizeof(struct held) + 127) & ~127u;
}

static struct held *held_at(const struct bp_inspector *in, bp_carry_ref ref)
{
	return (struct held *)(void *)bp_carry_data(in->carry, ref);
}

static void pop(struct bp_inspector *in, struct bp_flow *f, unsigned dir)
{
	bp_carry_ref ref = f->held[dir];
	struct held *h = held_at(in, ref);

	f->held[dir] = h->next;
	f->held_bytes[dir] -= charge(h->len);
	bp_flow_release(in, f, ref);
	if (f->held[dir] == 0)
		f->pending &= (uint8_t)~BP_FLOW_HELD(dir);
}

void bp_hold_release(struct bp_inspector *in, struct bp_flow *f, unsigned dir)
{
	while (f->held[dir] != 0)
		pop(in, f, dir);
}

void bp_hold_add(struct bp_inspector *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n)
{
	bp_carry_ref ref, at, before = 0;
	struct held *h;

	for (at = f->held[dir]; at != 0; at = held_at(in, at)->next) {
		h = held_at(in, at);
		if ((int32_t)(h->seq - seq) > 0)
			break;
		if (seq - h->seq + n <= h->len) {
			bp_tally(in, BP_C_SEG_DUPLICATE);
			return;
		}
		before = at;
	}
	if (f->held_bytes[dir] + (uint64_t)charge(n) > in->reorder_bytes) {
		bp_tally(in, BP_C_SEG_REORDER_FULL);
		return;
	}
	ref = bp_flow_alloc(in, f, sizeof(struct held) + n);
	if (ref == 0)
		return; /* counted; the peer's acknowledgement will show the gap */
	bp_tally(in, BP_C_SEG_OUT_OF_ORDER);
	h = held_at(in, ref);
	h->seq = seq;
	h->len = n;
	h->next = at;
	memcpy(h->data, p, n);
	if (before == 0)
		f->held[dir] = ref;
	else
		held_at(in, before)->next = ref;
	f->held_bytes[dir] += charge(n);
	f->pending |= BP_FLOW_HELD(dir);
}

void bp_hold_drain(struct bp_inspector *in, struct bp_flow *f, unsigned dir)
{
	while (f->held[dir] != 0) {
		struct held *h = held_at(in, f->held[dir]);
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

		if (f->held[dir] != 0 && (int32_t)(end - held_at(in, f->held[dir])->seq) > 0)
			end = held_at(in, f->held[dir])->seq;
		/* a FIN that was acknowledged is no lost byte */
		if (f->held[dir] == 0 && (f->pending & BP_FLOW_FINWAIT(dir)) &&
			end == f->fin_seq[dir] + 1)
			end--;
		gap = end - f->next[dir];
		if (gap == 0)
			return;
		in->counters->v[BP_C_GAP_LOST] += gap;
		known = bp_mqtt_read_gap(in, f, dir, gap);
		f->next[dir] = end;
		if (known) {
			bp_tally(in, BP_C_GAP_IN_PACKET);
			bp_hold_drain(in, f, dir);
		} else {
			bp_hold_release(in, f, dir);
			bp_seek_enter(in, f, dir, end);
		}
	}
}
