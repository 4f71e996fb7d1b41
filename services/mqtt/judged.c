/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/judged.h"

#include "proto/net/copy.h"
#include "services/mqtt/burst.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/single_publish.h"
#include "services/mqtt/suback.h"

/* The bytes [base, end) of the stream, at data[start]. A killed process may have appended more than
 * up to the position of the flow: they are then appended again. */
struct judged {
	uint64_t base_start; /* base in the lower half: both change at once */
	uint32_t end;
	uint32_t began;       /* the first byte that was judged */
	uint32_t had_earlier; /* 0, or enum doubt: the broker may not have all bytes before that */
	bp_reassembly_ref subacks;
	uint8_t data[];
};

#define BURST_BYTES_MAX (BP_MQTT_BURST * 65536u)

enum doubt {
	DOUBTFUL = 1,
	ASKED,   /* by a segment without payload */
	LACKING, /* it has answered that it has not */
};

#define FIRST_ROOM 228u

/* `begin`: of the arena. */
static inline struct judged *block_of(uint8_t *begin, const struct bp_flow *f)
{
	return (struct judged *)(void *)(begin + bp_reassembly_offset(f->judged));
}

static struct judged *at(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return block_of(bp_reassembly_begin(in->reassembly), f);
}

static uint32_t room_of(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return (uint32_t)bp_reassembly_size(in->reassembly, f->judged) -
	       (uint32_t)sizeof(struct judged);
}

static uint32_t base_of(const struct judged *j)
{
	return (uint32_t)j->base_start;
}

static uint32_t start_of(const struct judged *j)
{
	return (uint32_t)(j->base_start >> 32);
}

static void set(struct judged *j, uint32_t base, uint32_t start)
{
	*(volatile uint64_t *)&j->base_start = (uint64_t)start << 32 | base;
}

uint32_t bp_judged_end(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return at(in, f)->end;
}

typedef bp_reassembly_ref block_alloc(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes);

/* Another block, with what is in this one. */
static bool move(
	struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t held, uint32_t n, block_alloc *alloc)
{
	const uint32_t need = (uint32_t)sizeof(struct judged) + held + n;
	const bp_reassembly_ref old = f->judged;
	const struct judged *from = at(in, f);
	bp_reassembly_ref ref;
	struct judged *to;

	ref = alloc(in, f, 2 * (uint64_t)need);
	if (ref == 0)
		ref = alloc(in, f, need);
	if (ref == 0)
		return false;
	to = (struct judged *)(void *)bp_reassembly_data(in->reassembly, ref);
	set(to, base_of(from), 0);
	to->end = from->end;
	to->began = from->began;
	to->had_earlier = from->had_earlier;
	to->subacks = from->subacks;
	memcpy(to->data, from->data + start_of(from), held);
	bp_work_add(&in->work, held / 16);
	f->judged = ref;
	bp_flow_release(in, f, old);
	return true;
}

/* The first block; `position`: of the next byte. */
static bool begin(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t position, uint32_t n)
{
	const uint64_t room = n > FIRST_ROOM ? n : FIRST_ROOM;
	const bp_reassembly_ref ref = bp_flow_alloc(in, f, sizeof(struct judged) + room);
	struct judged *j;

	if (ref == 0)
		return false;
	f->judged = ref;
	f->has_alias_max |= BP_FLOW_JUDGED;
	j = at(in, f);
	j->end = j->began = position;
	j->subacks = 0;
	set(j, position, 0);
	if (f->proof & BP_FLOW_WEBSOCKET)
		bp_websocket_judged_from(f, position);
	j->had_earlier = (f->flags & BP_FLOW_MIDWAY) || position != f->syn_seq + 1 ? DOUBTFUL : 0;
	return true;
}

/* Behind what there is. */
static bool extend(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t n, block_alloc *alloc)
{
	struct judged *j = at(in, f);
	const uint32_t held = j->end - base_of(j);

	if (n <= room_of(in, f) - start_of(j) - held)
		return true;
	if (held == 0 && n <= room_of(in, f)) {
		set(j, base_of(j), 0);
		return true;
	}
	return move(in, f, held, n, alloc);
}

static bool reserve(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t position, uint32_t n)
{
	return bp_judged_any(f) ? extend(in, f, n, bp_flow_alloc) : begin(in, f, position, n);
}

bool bp_judged_can_keep(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t end)
{
	uint32_t pending; /* not appended yet */

	if (!bp_judged_any(f))
		return true; /* bp_judged_follow() begins */
	pending = end - at(in, f)->end;
	return pending <= BURST_BYTES_MAX && extend(in, f, pending, bp_flow_alloc_spare);
}

bool bp_judged_reserve(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t n)
{
	return reserve(in, f, f->next[BP_TO_BROKER], n);
}

void bp_judged_prefetch(const struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b)
{
	const uint8_t *begin = bp_reassembly_begin(in->reassembly);

	/* into the second-level cache */
	for (uint32_t i = 0; i < b->n; i++)
		__builtin_prefetch(begin + bp_reassembly_offset(b->l[i].flow->judged), 1, 2);
}

/* The segment of frame i, which the burst path has read. False: no room, and the stream is back at
 * its beginning; so is that of later segments. */
static __attribute__((noinline)) bool follow(
	struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t i)
{
	const uint32_t seq = bp_be32(b->frame[i] + BP_SINGLE_L4 + 4), n = b->p[i].len;
	struct bp_flow *f = b->l[i].flow;

	if ((int32_t)(f->next[BP_TO_BROKER] - seq) <= 0)
		return false; /* an earlier one found no room */
	if (bp_judged_any(f) && (int32_t)(at(in, f)->end - seq) > 0)
		bp_judged_release(in, f); /* of another policy */
	if ((!bp_judged_any(f) || at(in, f)->end == seq) && !(b->without_room >> i & 1) &&
		reserve(in, f, seq, n)) {
		bp_judged_add(in, f, b->frame[i] + b->p[i].end - n, n);
		return true;
	}
	f->next[BP_TO_BROKER] = bp_judged_any(f) ? at(in, f)->end : seq;
	return false;
}

/* Whether the bytes are the next ones, and there is room, behind `used` bytes. */
static inline bool fits(
	const struct bp_flow *f, const struct judged *j, uint32_t seq, uint32_t n, uint64_t *used)
{
	const uint64_t room = bp_reassembly_room(f->judged) - sizeof(*j);

	*used = (uint64_t)start_of(j) + (j->end - base_of(j));
	return j->end == seq && *used + n <= room;
}

bool bp_judged_fits(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t seq, uint32_t n)
{
	uint64_t used;

	return bp_judged_any(f) && fits(f, at(in, f), seq, n, &used);
}

uint64_t bp_judged_follow(
	struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t from, uint32_t to)
{
	uint8_t *begin = bp_reassembly_begin(in->reassembly);
	uint64_t without_room = 0;

	for (uint32_t i = from; i < to; i++) {
		const uint32_t seq = bp_be32(b->frame[i] + BP_SINGLE_L4 + 4), n = b->p[i].len;
		const struct bp_flow *f = b->l[i].flow;
		struct judged *j = block_of(begin, f);
		uint64_t used;

		if (__builtin_expect(!bp_judged_any(f) || !fits(f, j, seq, n, &used), 0)) {
			without_room |= (uint64_t)!follow(in, b, i) << i;
			continue;
		}
		bp_copy(j->data + used, b->frame[i] + b->p[i].end - n, n);
		bp_journal_order(); /* before they count */
		j->end = seq + n;
	}
	return without_room;
}

void bp_judged_add(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p, uint32_t n)
{
	struct judged *j = at(in, f);
	const uint32_t used = start_of(j) + (j->end - base_of(j));

	/* there is room: it was reserved */
	if (used > room_of(in, f) || n > room_of(in, f) - used) {
		bp_judged_release(in, f);
		return;
	}
	memcpy(j->data + used, p, n);
	j->end += n;
}

uint32_t bp_judged_first(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return base_of(at(in, f));
}

uint32_t bp_judged_whole_headers(struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t end)
{
	const struct judged *j = at(in, f);
	const uint32_t n = end - base_of(j);

	if (!(f->proof & BP_FLOW_WEBSOCKET) || n >= j->end - base_of(j))
		return end;
	return base_of(j) + bp_websocket_whole_headers(in, f, j->data + start_of(j), base_of(j), n);
}

bool bp_judged_doubts(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return at(in, f)->had_earlier != 0;
}

void bp_judged_ask(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	at(in, f)->had_earlier = ASKED;
}

bool bp_judged_is_lacking(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return at(in, f)->had_earlier == LACKING;
}

bool bp_judged_restore(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t seq,
	uint8_t *p, uint32_t n)
{
	const struct judged *j = at(in, f);
	const uint32_t from = seq - base_of(j), held = j->end - base_of(j);
	const uint8_t *kept = j->data + start_of(j) + from;

	if (from > held || n > held - from || memcmp(p, kept, n) == 0)
		return false;
	memcpy(p, kept, n);
	return true;
}

void bp_judged_acknowledge(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t ack)
{
	struct judged *j;
	uint32_t more;

	j = at(in, f);
	more = ack - base_of(j);
	/* of a FIN one more, and nothing that was not forwarded */
	if (more > j->end - base_of(j)) {
		if (j->had_earlier == ASKED && (int32_t)more < 0)
			j->had_earlier = LACKING;
		return;
	}
	if (__builtin_expect(f->proof & BP_FLOW_WEBSOCKET, 0))
		bp_websocket_acknowledged(in, f, j->data + start_of(j), base_of(j), more, j->end);
	/* in the same few lines of memory, if the broker keeps up */
	set(j, ack, ack == j->end ? 0 : start_of(j) + more);
	j->had_earlier = 0;
}

bp_reassembly_ref *bp_judged_subacks(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return &at(in, f)->subacks;
}

void bp_judged_release(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (!bp_judged_any(f))
		return;
	if (bp_suback_any(in, f))
		bp_suback_release(in, f);
	bp_flow_release(in, f, f->judged);
	f->judged = 0;
	f->has_alias_max &= (uint8_t)~BP_FLOW_JUDGED;
}

static bool adopt(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	uint32_t end, next = f->next[BP_TO_BROKER];
	struct judged *j;

	if ((f->marks & BP_MARK_URGENT(BP_TO_BROKER)) ||
		!bp_adopt_block(in, f, f->judged, sizeof(*j)))
		return false;
	j = at(in, f);
	end = j->end;
	/* the process ended between a burst and its record: its frames were not forwarded */
	if ((int32_t)(end - next) < 0 && f->stream[BP_TO_BROKER] == BP_STREAM_BOUNDARY &&
		next - end <= BURST_BYTES_MAX)
		next = end;
	if (start_of(j) <= room_of(in, f) && next - base_of(j) <= room_of(in, f) - start_of(j) &&
		(int32_t)(end - next) >= 0) {
		j->end = f->next[BP_TO_BROKER] = next;
		bp_suback_adopt(in, f);
		return true;
	}
	bp_adopt_undo(in, f, f->judged);
	return false;
}

void bp_judged_adopt(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (bp_judged_any(f) && !adopt(in, f))
		f->has_alias_max &= (uint8_t)~BP_FLOW_JUDGED;
}
