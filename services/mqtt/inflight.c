/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/peek.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"
#include "proto/net/copy.h"

/* Publications in flight that wait for their acknowledgement, and packet identifiers of QoS 2. */

/*
 * Publications of QoS 1 and 2 that are evaluated when the broker acknowledges them: PUBACK or
 * PUBREC with success (MQTT 5.0, 4.3). Until then a copy waits in reassembly memory, in a digital
 * search tree by QoS and packet identifier: at depth n all keys of a subtree share their first n
 * bits, so a path is at most as long as a key has bits, for any choice of identifiers. If a client
 * reuses an identifier before the acknowledgement, the copy is appended to the existing node: a
 * broker acknowledges each in order of arrival.
 */
#define KEY_BITS 17

struct unacked {
	bp_reassembly_ref child[2]; /* by the next bit of the key */
	bp_reassembly_ref next;     /* the next one with this key; 0: none */
	bp_reassembly_ref last;     /* the last one with this key; of the node in the tree */
	uint32_t key;
	uint32_t seq;
	uint32_t properties_len, payload_len;
	uint16_t topic_len;
	uint16_t alias;
	bool dup, retain;
	bool beginning; /* no more of the payload was kept */
	uint8_t text[]; /* topic, properties, payload */
};

static struct unacked *at(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return (struct unacked *)(void *)bp_reassembly_data(in->reassembly, ref);
}

/* The link to the node with the key, or its insertion point. */
static bp_reassembly_ref *find(const struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t key)
{
	bp_reassembly_ref *link = &f->unacked;

	for (unsigned bit = KEY_BITS; bit != 0 && *link != 0 && at(in, *link)->key != key; bit--)
		link = &at(in, *link)->child[key >> (bit - 1) & 1];
	return link;
}

/* Removes the oldest entry of the node from the tree. */
static bp_reassembly_ref take(const struct bp_mqtt_worker *in, bp_reassembly_ref *link)
{
	const bp_reassembly_ref ref = *link;
	const struct unacked *u = at(in, ref);
	bp_reassembly_ref *leaf = link, heir = u->next;

	if (heir != 0) {
		at(in, heir)->last = u->last;
	} else {
		/* any leaf below it can replace it */
		while (at(in, *leaf)->child[0] != 0 || at(in, *leaf)->child[1] != 0)
			leaf = &at(in, *leaf)->child[at(in, *leaf)->child[0] == 0];
		if (leaf != link)
			heir = *leaf;
		*leaf = 0;
	}
	if (heir != 0)
		memcpy(at(in, heir)->child, u->child, sizeof(u->child));
	*link = heir;
	return ref;
}

static void release(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref)
{
	f->out_of_order_bytes[BP_TO_BROKER] -= (uint32_t)bp_reassembly_size(in->reassembly, ref);
	bp_flow_release(in, f, ref);
}

void bp_ack_release(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	while (f->unacked != 0) {
		bp_tally(in, BP_C_ACK_MISSING);
		release(in, f, take(in, &f->unacked));
	}
}

static bp_reassembly_ref alloc(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes)
{
	const uint64_t left = in->reorder_bytes - f->out_of_order_bytes[BP_TO_BROKER];
	bp_reassembly_ref ref;

	if (bytes > left ||
		bp_reassembly_used(in->reassembly) > bp_reassembly_capacity(in->reassembly) / 2)
		return 0;
	ref = bp_flow_alloc(in, f, bytes);
	if (ref != 0 && bp_reassembly_size(in->reassembly, ref) > left) {
		bp_flow_release(in, f, ref);
		return 0;
	}
	if (ref != 0)
		f->out_of_order_bytes[BP_TO_BROKER] +=
			(uint32_t)bp_reassembly_size(in->reassembly, ref);
	return ref;
}

void bp_ack_wait(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_publish *p,
	uint32_t seq, bool beginning)
{
	const uint32_t text = p->topic_len + p->properties_len;
	const uint32_t key = p->packet_id | (uint32_t)(p->qos == 2) << 16;
	bp_reassembly_ref ref, *link;
	struct unacked *u;

	bp_journal_deepen(in->journal, f);
	if (!bp_stream_tracked(f, BP_FROM_BROKER)) {
		bp_tally(in, BP_C_ACK_MISSING);
		return;
	}
	ref = alloc(in, f, sizeof(*u) + (uint64_t)text + p->payload_len);
	if (ref == 0) {
		bp_tally(in, BP_C_ACK_NO_MEMORY);
		return;
	}
	bp_tally(in, BP_C_ACK_AWAITED);
	u = at(in, ref);
	*u = (struct unacked){.last = ref,
		.key = key,
		.seq = seq,
		.properties_len = p->properties_len,
		.payload_len = p->payload_len,
		.topic_len = p->topic_len,
		.alias = p->alias,
		.dup = p->dup,
		.retain = p->retain,
		.beginning = beginning};
	bp_copy(u->text, p->topic, p->topic_len);
	bp_copy(u->text + p->topic_len, p->properties, p->properties_len);
	bp_copy(u->text + text, p->payload, p->payload_len);
	bp_work_add(&in->work, (text + p->payload_len) / 16);
	link = find(in, f, key);
	if (*link == 0) {
		*link = ref;
	} else {
		at(in, at(in, *link)->last)->next = ref;
		at(in, *link)->last = ref;
	}
}

static void evaluate(struct bp_mqtt_worker *in, struct bp_flow *f, const struct unacked *u)
{
	const uint8_t *properties = u->text + u->topic_len;
	struct bp_mqtt_publish p = {
		.topic = u->text,
		.topic_len = u->topic_len,
		.properties = f->version == BP_MQTT_V5 ? properties : NULL,
		.properties_len = u->properties_len,
		.payload = properties + u->properties_len,
		.payload_len = u->payload_len,
		.packet_id = (uint16_t)u->key,
		.alias = u->alias,
		.qos = u->key >> 16 != 0 ? 2 : 1,
		.dup = u->dup,
		.retain = u->retain,
	};

	bp_work_allow(&in->work,
		u->payload_len < BP_WORK_COMPLETED_MAX ? u->payload_len : BP_WORK_COMPLETED_MAX);
	bp_publish_evaluate(in, f, BP_TO_BROKER, &p, u->seq, u->beginning);
}

void bp_on_ack(struct bp_mqtt_worker *in, struct bp_flow *f, bool pubrec, uint16_t id, bool refused,
	bool sent)
{
	bp_reassembly_ref *link = find(in, f, id | (uint32_t)pubrec << 16), ref;

	if (*link != 0) {
		ref = take(in, link);
		if (refused)
			bp_tally(in, BP_C_PUBLISH_REFUSED);
		else
			evaluate(in, f, at(in, ref));
		release(in, f, ref);
	} else if (refused && sent) {
		bp_tally(in, BP_C_PUBLISH_REFUSED);
		bp_tally(in, BP_C_PUBLISH_REFUSED_LATE);
		if (!in->acknowledged)
			bp_flow_mark(f, BP_MARK_REJECTED);
	}
}

/*
 * The packet identifiers of QoS 2 publications without a PUBREL yet: the receiver accepts each once
 * (MQTT 5.0, 4.3.3), whether it is sent again with DUP or without. A few are stored as a list, more
 * as a bitmap of all identifiers: at most 8 KiB per direction.
 */
struct list {
	uint16_t n;
	uint16_t id[];
};

#define MAP_BYTES (65536u / 8)
#define LIST_BYTES 128u
#define LIST_MAX ((LIST_BYTES - sizeof(struct list)) / sizeof(uint16_t))

static bool is_map(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return bp_reassembly_size(in->reassembly, ref) >= MAP_BYTES;
}

static struct list *list_at(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return (struct list *)(void *)bp_reassembly_data(in->reassembly, ref);
}

static uint32_t place(const struct list *l, uint16_t id)
{
	uint32_t i = 0;

	while (i < l->n && l->id[i] != id)
		i++;
	return i;
}

static bool has(const struct bp_mqtt_worker *in, bp_reassembly_ref ref, uint16_t id)
{
	if (ref == 0)
		return false;
	if (is_map(in, ref))
		return bp_reassembly_data(in->reassembly, ref)[id / 8] >> id % 8 & 1;
	return place(list_at(in, ref), id) < list_at(in, ref)->n;
}

/* Converts a full list to a bitmap. */
static bool to_map(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref *ref)
{
	bp_reassembly_ref map = bp_flow_alloc(in, f, MAP_BYTES);
	const struct list *l = list_at(in, *ref);
	uint8_t *bits;

	if (map == 0)
		return false;
	bits = bp_reassembly_data(in->reassembly, map);
	memset(bits, 0, MAP_BYTES);
	for (uint32_t i = 0; i < l->n; i++)
		bits[l->id[i] / 8] |= (uint8_t)(1 << l->id[i] % 8);
	bp_flow_release(in, f, *ref);
	*ref = map;
	return true;
}

static bool add(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref *ref, uint16_t id)
{
	if (*ref == 0) {
		*ref = bp_flow_alloc(in, f, LIST_BYTES);
		if (*ref == 0)
			return false;
		list_at(in, *ref)->n = 0;
	}
	if (!is_map(in, *ref) && list_at(in, *ref)->n >= LIST_MAX && !to_map(in, f, ref))
		return false;
	if (is_map(in, *ref))
		bp_reassembly_data(in->reassembly, *ref)[id / 8] |= (uint8_t)(1 << id % 8);
	else
		list_at(in, *ref)->id[list_at(in, *ref)->n++] = id;
	return true;
}

/* In ascending order. */
static uint16_t list_sorted(const struct list *l, uint16_t *id)
{
	uint16_t n = 0;

	for (uint16_t i = 0; i < l->n && i < LIST_MAX; i++) {
		uint16_t at = n++;

		for (; at != 0 && id[at - 1] > l->id[i]; at--)
			id[at] = id[at - 1];
		id[at] = l->id[i];
	}
	return n;
}

uint16_t bp_qos2_peek(const struct bp_arena *a, const struct bp_flow *f, unsigned dir, uint16_t *id)
{
	uint8_t block[MAP_BYTES] __attribute__((aligned(8)));
	const uint64_t size =
		bp_reassembly_peek(a->memory, a->bytes, f->qos2[dir], block, sizeof(block));
	uint16_t n = 0;

	_Static_assert(LIST_MAX <= BP_RECORD_QOS2_MAX, "a list fits in a record");
	if (size == LIST_BYTES)
		return list_sorted((const struct list *)(const void *)block, id);
	for (uint32_t i = 1; size == MAP_BYTES && i < 65536 && n < BP_RECORD_QOS2_MAX; i++)
		if (block[i / 8] >> i % 8 & 1)
			id[n++] = (uint16_t)i;
	return n;
}

bool bp_qos2_begin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id)
{
	if (has(in, f->qos2[dir], id)) {
		bp_tally(in, BP_C_QOS2_DUPLICATE);
		return false;
	}
	bp_journal_deepen(in->journal, f);
	if (!add(in, f, &f->qos2[dir], id))
		bp_tally(in, BP_C_QOS2_IDS_FULL);
	return true;
}

bool bp_qos2_end(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id)
{
	bp_reassembly_ref ref = f->qos2[dir];
	struct list *l;

	if (!has(in, ref, id))
		return false;
	if (is_map(in, ref)) {
		bp_reassembly_data(in->reassembly, ref)[id / 8] &= (uint8_t) ~(1 << id % 8);
		return true;
	}
	l = list_at(in, ref);
	l->id[place(l, id)] = l->id[l->n - 1];
	l->n--;
	return true;
}

void bp_qos2_discard(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_flow_release(in, f, f->qos2[dir]);
	f->qos2[dir] = 0;
}
