/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"
#include "services/mqtt/suback.h"

/*
 * Packets that cross a segment boundary. Only packets that a rule may need are carried to the next
 * segment; the others are skipped by their length.
 */

/* A carried packet. Its head is checked only once, independent of the number of segments. */
struct carried {
	struct bp_mqtt_head head;
	uint8_t packet[];
};

static struct carried *carried(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return (struct carried *)(void *)bp_reassembly_data(in->reassembly, f->reassembly[dir]);
}

void bp_cut_drop(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_flow_release(in, f, f->reassembly[dir]);
	f->reassembly[dir] = 0;
	f->reassembly_len[dir] = f->reassembly_need[dir] = 0;
	f->reassembly_decided[dir] = 0;
}

/* From here on the packet's bytes are counted and not inspected. */
static void skip(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t bytes)
{
	bp_cut_drop(in, f, dir);
	f->skip[dir] = bytes;
	f->stream[dir] = bytes == 0 ? BP_STREAM_BOUNDARY : BP_STREAM_SKIP;
}

/* The policy waits for the payload of a PUBLISH, which will not be whole. */
static void unread_payload(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	if (f->reassembly_decided[dir] == BP_REASSEMBLY_POLICY)
		bp_policy_unread(in, f, dir);
}

/* Handles the loss of a packet that cannot be read completely, for the packets after it. */
static void lose(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type, bool head_known)
{
	/* accepted or not: the following data of the client is searched for a proof */
	if (type == BP_MQTT_CONNACK) {
		f->flags |= BP_FLOW_CONNACK;
		if (!(f->proof & BP_FLOW_PROVEN))
			bp_wait_search(in, f, BP_TO_BROKER);
	}
	if (type == BP_MQTT_PUBREL)
		bp_qos2_discard(in, f, dir);
	if (dir == BP_FROM_BROKER && (type == BP_MQTT_PUBACK || type == BP_MQTT_PUBREC))
		bp_ack_release(in, f);
	if (type == BP_MQTT_SUBSCRIBE || (type == BP_MQTT_PUBLISH && !head_known))
		bp_policy_unread(in, f, dir);
	unread_payload(in, f, dir);
	if (type != BP_MQTT_PUBLISH)
		return;
	bp_tally(in, BP_C_MQTT_PUBLISH_INCOMPLETE);
	/* it may have changed an alias: the known mappings are unreliable */
	if (!head_known && f->version == BP_MQTT_V5)
		bp_alias_discard(in, f, dir);
}

/* Ensures that the carry buffer holds at least `bytes` of a packet, preferably `room`. */
static bool reserve(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint64_t bytes, uint64_t room)
{
	const uint64_t before = sizeof(struct carried);

	if (f->reassembly[dir] != 0 &&
		bp_reassembly_size(in->reassembly, f->reassembly[dir]) >= before + bytes)
		return true;
	return bp_flow_grow(in, f, &f->reassembly[dir], (uint32_t)before + f->reassembly_len[dir],
		before + bytes, before + room);
}

/* Starts carrying p[0..n) of a packet; `head` is the checked part of its head. */
static bool reassemble_first(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_head *head, const uint8_t *p, uint32_t n)
{
	struct carried *c;

	if (!reserve(in, f, dir, n, n))
		return false;
	c = carried(in, f, dir);
	c->head = *head;
	memcpy(c->packet, p, n);
	return true;
}

/*
 * An incomplete fixed header is stored in the flow: this needs no memory that might be unavailable,
 * and without it the position would be lost.
 */
static uint8_t *header_at(struct bp_flow *f, unsigned dir)
{
	return (uint8_t *)&f->skip[dir]; /* at most four bytes, or it would be complete */
}

/* The end of a PUBLISH whose beginning alone was kept. `seq`: its end. */
static void beginning(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq)
{
	uint32_t need = f->reassembly_need[dir], have = f->reassembly_len[dir];
	struct carried *c = carried(in, f, dir);
	struct bp_mqtt_fixed fixed;

	f->stream[dir] = BP_STREAM_BOUNDARY;
	bp_tally(in, BP_C_MQTT_PACKETS);
	if (bp_packet_fixed(in, f, dir, c->packet, have, &fixed) == BP_MQTT_OK)
		bp_publish_beginning(in, f, dir, fixed.flags, c->packet + fixed.header_len,
			have - fixed.header_len, fixed.remaining, seq - need, &c->head);
	bp_cut_drop(in, f, dir);
}

/* No memory for the packet; `have` of `total` bytes were received. */
static void no_room(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type,
	uint32_t total, uint32_t have)
{
	if (type == BP_MQTT_PUBLISH &&
		(f->reassembly_decided[dir] == BP_REASSEMBLY_WHOLE ||
			f->reassembly_decided[dir] == BP_REASSEMBLY_POLICY) &&
		f->reassembly[dir] != 0 && have < total) {
		unread_payload(in, f, dir);
		f->reassembly_decided[dir] = BP_REASSEMBLY_BEGINNING;
		f->skip[dir] = total - have;
		return;
	}
	if (type == BP_MQTT_CONNECT) {
		/* there will be no version to read the rest with */
		bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_CONNECT);
		return;
	}
	lose(in, f, dir, type, f->reassembly_decided[dir]);
	skip(in, f, dir, total - have);
}

/*
 * Decides on the packet whose beginning [p, p + have) is available and whose length is in `fixed`:
 * true if it is carried. Otherwise the rest of it is skipped, or inspection of the stream stops.
 * `head`: the checked part of the head of a PUBLISH.
 */
static bool worth_reassembly(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *p, uint32_t have,
	struct bp_mqtt_head *head)
{
	uint32_t total = fixed->header_len + fixed->remaining;
	enum bp_publish_decision wanted = BP_PUBLISH_EVALUATE;
	bp_counter_t why;

	/* the effect of a second CONNECT on the will depends on the complete packet */
	if (!bp_packet_in_order(in, f, dir, fixed->type, &why) &&
		!(fixed->type == BP_MQTT_CONNECT && f->will != 0)) {
		bp_packet_out_of_order(in, f, dir, fixed->type, why);
		return false;
	}
	if (fixed->type == BP_MQTT_PUBLISH) {
		wanted = bp_publish_decide(in, f, dir, fixed->flags, p + fixed->header_len,
			have - fixed->header_len, fixed->remaining, head);
		if (wanted == BP_PUBLISH_NOT_INSPECTED)
			return false;
		if (wanted == BP_PUBLISH_EVALUATE)
			f->reassembly_decided[dir] = BP_REASSEMBLY_WHOLE;
		else if (wanted == BP_PUBLISH_WAIT)
			f->reassembly_decided[dir] = BP_REASSEMBLY_POLICY;
	}
	if (wanted == BP_PUBLISH_SKIP) {
		bp_tally(in, BP_C_MQTT_PACKETS);
		skip(in, f, dir, total - have);
		return false;
	}
	/* the beginning of a PUBLISH that is too long is still useful */
	if (wanted == BP_PUBLISH_EVALUATE && fixed->type != BP_MQTT_PUBLISH &&
		total + sizeof(struct carried) > in->reassembly_per_flow) {
		bp_tally(in, BP_C_REASSEMBLY_LIMIT_CONNECTION);
		no_room(in, f, dir, fixed->type, total, have);
		return false;
	}
	return true;
}

/* Starts carrying a packet with [p, p + n) as its first part. */
void bp_cut_begin(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n)
{
	struct bp_mqtt_head head = {0};
	struct bp_mqtt_fixed fixed;
	uint32_t total;

	bp_journal_deepen(in->journal, f);
	f->reassembly_decided[dir] = 0;
	f->reassembly_need[dir] = 0;
	if (bp_packet_fixed(in, f, dir, p, n, &fixed) != BP_MQTT_OK) {
		memcpy(header_at(f, dir), p, n);
		f->reassembly_len[dir] = n;
		f->stream[dir] = BP_STREAM_REASSEMBLE;
		return;
	}
	total = fixed.header_len + fixed.remaining;
	bp_enforce_packet(in, p, n, in->packet_seq);
	if (!worth_reassembly(in, f, dir, &fixed, p, n, &head))
		return;
	if (!reassemble_first(in, f, dir, &head, p, n)) {
		no_room(in, f, dir, fixed.type, total, n);
		return;
	}
	bp_suback_passes(in, f, dir, p, n, 0, in->packet_seq);
	f->reassembly_len[dir] = n;
	f->reassembly_need[dir] = total;
	f->stream[dir] = BP_STREAM_REASSEMBLE;
}

/* Reads the fixed header byte by byte until the packet length is known. Returns the number of
 * bytes read. */
static uint32_t reassemble_header(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	uint8_t header[BP_MQTT_FIXED_MAX];
	uint32_t have = f->reassembly_len[dir];
	struct bp_mqtt_fixed fixed;
	enum bp_mqtt_error e = BP_MQTT_MORE;
	struct bp_mqtt_head head = {0};
	uint32_t taken = 0;

	memcpy(header, header_at(f, dir), have);
	while (taken < n && e == BP_MQTT_MORE) {
		header[have++] = p[taken++];
		e = bp_packet_fixed(in, f, dir, header, have, &fixed);
	}
	f->reassembly_len[dir] = have;
	if (e == BP_MQTT_MORE) {
		memcpy(header_at(f, dir), header, have);
		return taken;
	}
	if (e != BP_MQTT_OK) {
		bp_mqtt_stop_on_error(in, f, dir, e);
		return taken;
	}
	if (fixed.remaining == 0) {
		skip(in, f, dir, 0);
		bp_packet_read(in, f, dir, &fixed, header + have, seq + taken - have, NULL);
		return taken;
	}
	bp_enforce_packet(in, header, have, seq + taken - have);
	if (!worth_reassembly(in, f, dir, &fixed, header, have, &head))
		return taken;
	if (!reassemble_first(in, f, dir, &head, header, have)) {
		no_room(in, f, dir, fixed.type, have + fixed.remaining, have);
		return taken;
	}
	f->reassembly_need[dir] = have + fixed.remaining;
	return taken;
}

/* Reads more of a packet of known length. Returns the number of bytes read. */
static uint32_t reassemble_body(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	uint32_t need = f->reassembly_need[dir], have = f->reassembly_len[dir];
	uint32_t take = need - have < n ? need - have : n;
	struct bp_mqtt_fixed fixed;
	uint64_t room = have + take;
	struct carried *c;

	if (f->reassembly_decided[dir] == BP_REASSEMBLY_BEGINNING) {
		take = f->skip[dir] < n ? f->skip[dir] : n;
		f->skip[dir] -= take;
		if (f->skip[dir] == 0)
			beginning(in, f, dir, seq + take);
		return take;
	}
	/* doubling, so that a packet of many segments is copied a bounded number of times */
	if (room < need && room < (uint64_t)have * 2)
		room = (uint64_t)have * 2 < need ? (uint64_t)have * 2 : need;
	if (!reserve(in, f, dir, have + take, room)) {
		no_room(in, f, dir, carried(in, f, dir)->packet[0] >> 4, need, have + take);
		return take;
	}
	c = carried(in, f, dir);
	memcpy(c->packet + have, p, take);
	bp_work_add(&in->work, take / 16);
	bp_suback_passes(in, f, dir, c->packet, have + take, have, seq);
	have += take;
	f->reassembly_len[dir] = have;
	if (bp_packet_fixed(in, f, dir, c->packet, have, &fixed) != BP_MQTT_OK)
		return take; /* cannot happen: it was valid when it was first read */
	if (have == need) {
		f->stream[dir] = BP_STREAM_BOUNDARY;
		bp_work_allow(
			&in->work, need < BP_WORK_COMPLETED_MAX ? need : BP_WORK_COMPLETED_MAX);
		bp_packet_read(in, f, dir, &fixed, c->packet + fixed.header_len, seq + take - need,
			&c->head);
		bp_cut_drop(in, f, dir);
	} else if (fixed.type == BP_MQTT_PUBLISH && !f->reassembly_decided[dir]) {
		bp_enforce_packet(in, c->packet, have, seq + take - have);
		worth_reassembly(in, f, dir, &fixed, c->packet, have, &c->head);
	}
	return take;
}

uint32_t bp_cut_continue(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	return f->reassembly_need[dir] == 0 ? reassemble_header(in, f, dir, p, n, seq)
					    : reassemble_body(in, f, dir, p, n, seq);
}

uint8_t bp_cut_type(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	const uint8_t *p =
		f->reassembly_need[dir] == 0 ? header_at(f, dir) : carried(in, f, dir)->packet;

	return p[0] >> 4;
}

bool bp_cut_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	const uint32_t need = f->reassembly_need[dir], have = f->reassembly_len[dir];
	struct bp_mqtt_fixed fixed;
	struct carried *c;

	if (need == 0)
		return f->reassembly[dir] == 0 && have >= 1 && have < BP_MQTT_FIXED_MAX &&
		       bp_packet_fixed(in, f, dir, header_at(f, dir), have, &fixed) == BP_MQTT_MORE;
	if (f->reassembly_decided[dir] == BP_REASSEMBLY_BEGINNING &&
		(have >= need || f->skip[dir] == 0 || f->skip[dir] > need - have))
		return false;
	if (have >= need || !bp_adopt_block(in, f, f->reassembly[dir], sizeof(*c) + (uint64_t)have))
		return false;
	/* the checked part of the head may exceed the data: the check restarts */
	c = carried(in, f, dir);
	c->head = (struct bp_mqtt_head){0};
	if (bp_packet_fixed(in, f, dir, c->packet, have, &fixed) == BP_MQTT_OK &&
		fixed.header_len + fixed.remaining == need)
		return true;
	bp_adopt_undo(in, f, f->reassembly[dir]);
	return false;
}

bool bp_cut_gap(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t gap)
{
	uint32_t rest;

	switch (f->stream[dir]) {
	case BP_STREAM_ENDED:
		return true;
	case BP_STREAM_SKIP:
		rest = f->skip[dir];
		break;
	case BP_STREAM_REASSEMBLE:
		if (f->reassembly_need[dir] == 0)
			return false;
		rest = f->reassembly_need[dir] - f->reassembly_len[dir];
		if (f->reassembly_decided[dir] == BP_REASSEMBLY_BEGINNING)
			rest = f->skip[dir];
		break;
	default:
		return false;
	}
	if (gap > rest)
		return false;
	if (f->stream[dir] == BP_STREAM_REASSEMBLE &&
		f->reassembly_decided[dir] == BP_REASSEMBLY_BEGINNING) {
		f->skip[dir] -= gap;
		if (f->skip[dir] == 0)
			beginning(in, f, dir, f->next[dir] + gap);
		return true;
	}
	if (f->stream[dir] == BP_STREAM_REASSEMBLE) {
		uint8_t type = bp_cut_type(in, f, dir);

		if (type == BP_MQTT_CONNECT)
			return false; /* without its CONNECT the version is unknown */
		lose(in, f, dir, type, f->reassembly_decided[dir]);
	}
	skip(in, f, dir, rest - gap);
	return true;
}
