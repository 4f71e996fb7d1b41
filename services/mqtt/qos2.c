/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/mqtt_worker.h"

/*
 * The packet identifiers of QoS 2 publications whose PUBREL has not come: the receiver takes each
 * once (MQTT 5.0, 4.3.3), whether it is sent again with DUP or without. A few are a list, more a
 * map of all that there can be: 8 KiB a direction at most.
 */
struct list {
	uint16_t n;
	uint16_t id[];
};

#define MAP_BYTES (65536u / 8)
#define LIST_BYTES 128u
#define LIST_MAX ((LIST_BYTES - sizeof(struct list)) / sizeof(uint16_t))

static bool is_map(const struct bp_mqtt_worker *in, bp_carry_ref ref)
{
	return bp_carry_size(in->carry, ref) >= MAP_BYTES;
}

static struct list *list_at(const struct bp_mqtt_worker *in, bp_carry_ref ref)
{
	return (struct list *)(void *)bp_carry_data(in->carry, ref);
}

static uint32_t place(const struct list *l, uint16_t id)
{
	uint32_t i = 0;

	while (i < l->n && l->id[i] != id)
		i++;
	return i;
}

static bool has(const struct bp_mqtt_worker *in, bp_carry_ref ref, uint16_t id)
{
	if (ref == 0)
		return false;
	if (is_map(in, ref))
		return bp_carry_data(in->carry, ref)[id / 8] >> id % 8 & 1;
	return place(list_at(in, ref), id) < list_at(in, ref)->n;
}

/* A list that is full becomes a map. */
static bool to_map(struct bp_mqtt_worker *in, struct bp_flow *f, bp_carry_ref *ref)
{
	bp_carry_ref map = bp_flow_alloc(in, f, MAP_BYTES);
	const struct list *l = list_at(in, *ref);
	uint8_t *bits;

	if (map == 0)
		return false;
	bits = bp_carry_data(in->carry, map);
	memset(bits, 0, MAP_BYTES);
	for (uint32_t i = 0; i < l->n; i++)
		bits[l->id[i] / 8] |= (uint8_t)(1 << l->id[i] % 8);
	bp_flow_release(in, f, *ref);
	*ref = map;
	return true;
}

static bool add(struct bp_mqtt_worker *in, struct bp_flow *f, bp_carry_ref *ref, uint16_t id)
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
		bp_carry_data(in->carry, *ref)[id / 8] |= (uint8_t)(1 << id % 8);
	else
		list_at(in, *ref)->id[list_at(in, *ref)->n++] = id;
	return true;
}

bool bp_qos2_begin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id)
{
	if (has(in, f->qos2[dir], id)) {
		bp_tally(in, BP_C_QOS2_AGAIN);
		return false;
	}
	bp_journal_deepen(in->journal, f);
	if (!add(in, f, &f->qos2[dir], id))
		bp_tally(in, BP_C_QOS2_NO_ROOM);
	return true;
}

bool bp_qos2_end(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id)
{
	bp_carry_ref ref = f->qos2[dir];
	struct list *l;

	if (!has(in, ref, id))
		return false;
	if (is_map(in, ref)) {
		bp_carry_data(in->carry, ref)[id / 8] &= (uint8_t) ~(1 << id % 8);
		return true;
	}
	l = list_at(in, ref);
	l->id[place(l, id)] = l->id[l->n - 1];
	l->n--;
	return true;
}

void bp_qos2_forget(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_flow_release(in, f, f->qos2[dir]);
	f->qos2[dir] = 0;
}
