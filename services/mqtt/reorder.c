/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/stream.h"

/*
 * Segments that arrived ahead of the stream. The frame itself was forwarded; a copy of its payload
 * waits in the arena until the missing bytes arrive, or can no longer arrive.
 *
 * Blocks are nodes of a treap, a binary tree in the order of their sequence numbers that is a heap
 * by a random priority: the position of a segment is found in O(log n) steps, for any number of
 * gaps. Priorities depend on the secret key of the segment, so an attacker cannot unbalance the
 * tree. A segment that begins at the end of a block is appended to it, so that the number of blocks
 * is that of the gaps. A block is charged to reorder_buffer with its allocated memory.
 *
 * Duplicate bytes are handled as in Linux (tcp_data_queue_ofo): a segment inside a block is
 * dropped, blocks inside a segment are replaced by it, and if two overlap, the one that begins
 * first has priority.
 */
struct out_of_order {
	bp_reassembly_ref left, right;
	uint32_t priority;
	uint32_t seq;
	uint32_t len;
	uint8_t data[];
};

static struct out_of_order *out_of_order_at(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return (struct out_of_order *)(void *)bp_reassembly_data(in->reassembly, ref);
}

static uint32_t room_of(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return (uint32_t)bp_reassembly_size(in->reassembly, ref) -
	       (uint32_t)sizeof(struct out_of_order);
}

static bool begins_by(const struct out_of_order *h, uint32_t seq)
{
	return (int32_t)(h->seq - seq) <= 0;
}

static const struct out_of_order *first_out_of_order(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	const struct out_of_order *h = out_of_order_at(in, f->out_of_order[dir]);

	while (h->left != 0)
		h = out_of_order_at(in, h->left);
	return h;
}

uint32_t bp_hold_first(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return first_out_of_order(in, f, dir)->seq;
}

/* Removes the first block from the tree. The caller releases it by release(). */
static bp_reassembly_ref take_first_out_of_order(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_reassembly_ref *link = &f->out_of_order[dir], ref;

	while (out_of_order_at(in, *link)->left != 0)
		link = &out_of_order_at(in, *link)->left;
	ref = *link;
	*link = out_of_order_at(in, ref)->right;
	f->out_of_order_bytes[dir] -= (uint32_t)bp_reassembly_size(in->reassembly, ref);
	if (f->out_of_order[dir] == 0)
		f->pending &= (uint8_t)~BP_FLOW_HELD(dir);
	return ref;
}

void bp_hold_release(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	while (f->out_of_order[dir] != 0)
		bp_flow_release(in, f, take_first_out_of_order(in, f, dir));
}

/* The last block that begins no later than `seq`; 0: none does. */
static bp_reassembly_ref find_before(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir, uint32_t seq)
{
	bp_reassembly_ref at = f->out_of_order[dir], before = 0;

	while (at != 0) {
		const struct out_of_order *h = out_of_order_at(in, at);

		if (begins_by(h, seq)) {
			before = at;
			at = h->right;
		} else {
			at = h->left;
		}
	}
	return before;
}

/* Splits the subtree `at` in two: blocks that begin at or before `seq`, and later ones. */
static void split(const struct bp_mqtt_worker *in, bp_reassembly_ref at, uint32_t seq,
	bp_reassembly_ref *by, bp_reassembly_ref *later)
{
	while (at != 0) {
		struct out_of_order *h = out_of_order_at(in, at);

		if (begins_by(h, seq)) {
			*by = at;
			by = &h->right;
			at = h->right;
		} else {
			*later = at;
			later = &h->left;
			at = h->left;
		}
	}
	*by = *later = 0;
}

static void insert(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, bp_reassembly_ref ref)
{
	bp_reassembly_ref *link = &f->out_of_order[dir];
	struct out_of_order *h = out_of_order_at(in, ref);

	h->priority = (uint32_t)bp_mix(
		h->seq ^ in->table.key[0], (uint64_t)ref ^ in->table.key[1] ^ in->mono_ns);
	while (*link != 0 && out_of_order_at(in, *link)->priority >= h->priority) {
		struct out_of_order *above = out_of_order_at(in, *link);

		link = begins_by(above, h->seq) ? &above->right : &above->left;
	}
	split(in, *link, h->seq, &h->left, &h->right);
	*link = ref;
	f->out_of_order_bytes[dir] += (uint32_t)bp_reassembly_size(in->reassembly, ref);
	f->pending |= BP_FLOW_HELD(dir);
}

/* Appends the part of p[0..n) that fits to a block that ends where it begins; returns its
 * length. */
static uint32_t append(
	const struct bp_mqtt_worker *in, bp_reassembly_ref ref, const uint8_t *p, uint32_t n)
{
	struct out_of_order *h = out_of_order_at(in, ref);
	const uint32_t room = room_of(in, ref) - h->len, more = n < room ? n : room;

	memcpy(h->data + h->len, p, more);
	h->len += more;
	return more;
}

/* The link to the first block that begins after `seq`; NULL: there is none. */
static bp_reassembly_ref *first_after(
	const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq)
{
	bp_reassembly_ref *link = &f->out_of_order[dir], *found = NULL;

	while (*link != 0) {
		struct out_of_order *h = out_of_order_at(in, *link);

		if (begins_by(h, seq)) {
			link = &h->right;
		} else {
			found = link;
			link = &h->left;
		}
	}
	return found;
}

/* Joins two subtrees; all blocks of `a` are first. */
static bp_reassembly_ref join(
	const struct bp_mqtt_worker *in, bp_reassembly_ref a, bp_reassembly_ref b)
{
	bp_reassembly_ref root = 0, *link = &root;

	while (a != 0 && b != 0) {
		struct out_of_order *first = out_of_order_at(in, a),
				    *second = out_of_order_at(in, b);

		if (first->priority >= second->priority) {
			*link = a;
			link = &first->right;
			a = first->right;
		} else {
			*link = b;
			link = &second->left;
			b = second->left;
		}
	}
	*link = a != 0 ? a : b;
	return root;
}

/* Removes blocks after `seq` that end at or before `end`: a segment that covers them replaces
 * them. */
static void drop_covered(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq, uint32_t end)
{
	bp_reassembly_ref *link;

	while ((link = first_after(in, f, dir, seq)) != NULL) {
		const bp_reassembly_ref ref = *link;
		const struct out_of_order *h = out_of_order_at(in, ref);

		if ((int32_t)(h->seq + h->len - end) > 0)
			return;
		*link = join(in, h->left, h->right);
		f->out_of_order_bytes[dir] -= (uint32_t)bp_reassembly_size(in->reassembly, ref);
		bp_flow_release(in, f, ref);
	}
}

/*
 * A new block. A block that continues `before` (0: none) is allocated larger than the data, for
 * following segments, as long as it is a small part of the limit.
 */
static bool add_out_of_order(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	bp_reassembly_ref before, uint32_t seq, const uint8_t *p, uint32_t n)
{
	uint64_t need = sizeof(struct out_of_order) + (uint64_t)n, room = need;
	uint64_t left = in->reorder_bytes - f->out_of_order_bytes[dir];
	bp_reassembly_ref ref = 0;
	struct out_of_order *h;

	if (need > left) {
		bp_tally(in, BP_C_SEG_REORDER_FULL);
		bp_fleet_wait_no_longer(f);
		return false;
	}
	if (before != 0)
		room = 2 * bp_reassembly_size(in->reassembly, before);
	if (room > in->reorder_bytes / 8)
		room = in->reorder_bytes / 8;
	if (room > left || room < need)
		room = need;
	/* counted when it fails; the peer's acknowledgement will show the gap */
	if (!bp_flow_grow(in, f, &ref, 0, need, room))
		return false;
	if (bp_reassembly_size(in->reassembly, ref) > left) {
		bp_flow_release(in, f, ref);
		bp_tally(in, BP_C_SEG_REORDER_FULL);
		return false;
	}
	h = out_of_order_at(in, ref);
	h->seq = seq;
	h->len = n;
	memcpy(h->data, p, n);
	insert(in, f, dir, ref);
	return true;
}

void bp_hold_add(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n)
{
	bp_reassembly_ref before;
	uint32_t have = 0;
	bool continues = false;

	/* legitimate data hardly ever arrives so far ahead: forged data would wait forever */
	if (seq + n - f->next[dir] > in->reorder_bytes) {
		bp_tally(in, BP_C_SEG_REORDER_FULL);
		bp_fleet_wait_no_longer(f);
		return;
	}
	before = find_before(in, f, dir, seq);
	if (before != 0) {
		const struct out_of_order *h = out_of_order_at(in, before);
		const uint32_t at = seq - h->seq;

		if (at <= h->len && h->len - at >= n) {
			bp_tally(in, BP_C_SEG_DUPLICATE);
			return;
		}
		continues = at == h->len;
		if (continues)
			have = append(in, before, p, n);
	}
	if (have == n) {
		bp_tally(in, BP_C_SEG_OUT_OF_ORDER);
		return;
	}
	/* cut packets of in-sequence streams also need memory, and a failure costs them more */
	if (bp_reassembly_used(in->reassembly) > bp_reassembly_capacity(in->reassembly) / 2) {
		bp_tally(in, BP_C_SEG_REORDER_TOTAL);
		return;
	}
	if (!continues)
		drop_covered(in, f, dir, seq - 1, seq + n);
	if (add_out_of_order(in, f, dir, continues ? before : 0, seq + have, p + have, n - have))
		bp_tally(in, BP_C_SEG_OUT_OF_ORDER);
}

void bp_hold_drain(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	while (f->out_of_order[dir] != 0) {
		uint32_t old = f->next[dir] - first_out_of_order(in, f, dir)->seq;
		bp_reassembly_ref ref;

		if (f->stream[dir] == BP_STREAM_NOT_INSPECTED) {
			bp_hold_release(in, f, dir);
			return;
		}
		if ((int32_t)old < 0)
			return;
		/* reading may close the connection and release all of its blocks, but not this
		 * one */
		ref = take_first_out_of_order(in, f, dir);
		if (old < out_of_order_at(in, ref)->len) {
			const struct out_of_order *h = out_of_order_at(in, ref);

			bp_work_allow(&in->work, h->len - old);
			bp_stream_deliver(in, f, dir, h->data + old, h->len - old);
		}
		bp_flow_release(in, f, ref);
	}
}

void bp_hold_gap_lost(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t ack)
{
	while (f->stream[dir] != BP_STREAM_NOT_INSPECTED && f->stream[dir] != BP_STREAM_RESYNC &&
		(int32_t)(ack - f->next[dir]) > 0) {
		uint32_t end = ack;
		uint32_t gap;
		bool known;

		if (f->out_of_order[dir] != 0 &&
			(int32_t)(end - first_out_of_order(in, f, dir)->seq) > 0)
			end = first_out_of_order(in, f, dir)->seq;
		/* an acknowledged FIN is not a lost byte */
		if (f->out_of_order[dir] == 0 && (f->pending & BP_FLOW_FINWAIT(dir)) &&
			end == f->fin_seq[dir] + 1)
			end--;
		gap = end - f->next[dir];
		if (gap == 0)
			return;
		in->counters->v[BP_C_GAP_LOST] += gap;
		/* the waiting data is before the gap, and unread: then the position is unknown */
		known = f->waiting[dir] == 0 &&
			(f->proof & BP_FLOW_WEBSOCKET ? bp_websocket_gap(in, f, dir, gap)
						      : bp_cut_gap(in, f, dir, gap));
		if (known) {
			f->next[dir] = end;
			bp_tally(in, BP_C_GAP_IN_PACKET);
			bp_hold_drain(in, f, dir);
		} else {
			/* the receiver has all data before `ack`: new data begins there */
			bp_hold_release(in, f, dir);
			bp_resync_enter(in, f, dir, ack);
		}
	}
}
