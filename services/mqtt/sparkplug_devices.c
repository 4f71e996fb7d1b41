/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/sparkplug.h"
#include "shm/hash.h"
#include "shm/rules/sparkplug_state.h"

/*
 * The devices of a node that a rule observes. An NDEATH does not name them, but it is the death of
 * all of them. A device has two entries in the table of aliases: by its number in the node, with
 * the hash of its topic, and by that hash, with its number. Its name is in the table of names, at
 * the index of the former.
 */

void bp_sparkplug_store(struct bp_mqtt_worker *in, const struct bp_evaluated *j, uint64_t key,
	uint64_t value, uint32_t data)
{
	const uint32_t client = bp_state_client(in, j->flow);
	const enum bp_state_loss loss = bp_sparkplug_state_store(
		in->sparkplug, in->sparkplug_len, key, client, value, data, in->mono_ns);

	bp_work_add(&in->work, BP_WORK_STATE);
	if (loss == BP_STATE_NOT_KEPT)
		bp_tally(in, BP_C_SPARKPLUG_NOT_STORED);
	else if (loss != BP_STATE_NO_LOSS)
		bp_tally(in, BP_C_SPARKPLUG_EVICTED);
}

static uint64_t number_key(uint64_t node_key, uint32_t i)
{
	return bp_mix64(node_key + bp_mix64(i + 1));
}

static uint64_t device_key(uint64_t data_hash)
{
	return bp_mix64(data_hash ^ 0x9e3779b97f4a7c15ull);
}

static bool find(struct bp_mqtt_worker *in, uint64_t key, struct bp_sparkplug_view *v)
{
	return bp_sparkplug_state_find(in->sparkplug, in->sparkplug_len, key, v);
}

/* Whether the device has a number of its node. */
static bool is_listed(struct bp_mqtt_worker *in, const struct bp_sparkplug_message *m,
	uint32_t devices, uint64_t data_hash)
{
	struct bp_sparkplug_view by_hash, by_number;

	return find(in, device_key(data_hash), &by_hash) && by_hash.value < devices &&
	       find(in, number_key(m->node_key, (uint32_t)by_hash.value), &by_number) &&
	       by_number.value == data_hash;
}

/* Other workers may change the node meanwhile. */
#define ATTEMPTS 64u

/* Takes a number of the node for the device; two workers take two. False: the device has one, or
 * there is none, which is counted. */
static bool take_number(struct bp_mqtt_worker *in, const struct bp_sparkplug_message *m,
	uint64_t data_hash, uint32_t *n)
{
	struct bp_sparkplug_view node;

	for (unsigned i = 0; i < ATTEMPTS && find(in, m->node_key, &node); i++) {
		*n = node.data & BP_SPARKPLUG_DEVICES;
		if (is_listed(in, m, *n, data_hash))
			return false;
		if (*n == BP_SPARKPLUG_DEVICES)
			break;
		if (bp_sparkplug_state_change(&node, node.value, node.data + 1))
			return true;
	}
	bp_tally(in, BP_C_SPARKPLUG_NOT_STORED);
	return false;
}

void bp_sparkplug_list_device(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	const struct bp_sparkplug_message *m, uint64_t data_hash)
{
	struct bp_sparkplug_view v;
	struct bp_sparkplug_device *name;
	uint32_t n;

	if (m->topic.device_len > BP_SPARKPLUG_DEVICE_MAX) {
		bp_tally(in, BP_C_SPARKPLUG_NOT_STORED);
		return;
	}
	if (!take_number(in, m, data_hash, &n))
		return;
	bp_sparkplug_store(in, j, number_key(m->node_key, n), data_hash, 0);
	if (!find(in, number_key(m->node_key, n), &v))
		return;
	name = &v.entry->device;
	memcpy(name->name, m->topic.device, m->topic.device_len);
	__atomic_store_n(&name->len, (uint8_t)m->topic.device_len, __ATOMIC_RELEASE);
	/* last: without it the device is not listed, and a worker that is restarted lists it when
	 * it reads the birth again */
	bp_sparkplug_store(in, j, device_key(data_hash), n, 0);
}

bool bp_sparkplug_listed_device(struct bp_mqtt_worker *in, const struct bp_sparkplug_message *m,
	uint32_t i, struct bp_sparkplug_device *name, struct bp_sparkplug_message *out)
{
	struct bp_sparkplug_view v, by_hash;
	uint32_t len;

	bp_work_add(&in->work, BP_WORK_STATE);
	if (!find(in, number_key(m->node_key, i), &v))
		return false;
	/* a copy: another worker may give the entry to another device */
	memcpy(name, &v.entry->device, sizeof(*name));
	if (name->len == 0 || name->len > BP_SPARKPLUG_DEVICE_MAX)
		return false;
	/* it may be damaged: spBv1.0/GROUP/DDATA/NODE/DEVICE has to fit */
	if (m->topic.group_len + m->topic.node_len + sizeof("spBv1.0//DDATA//") + name->len >
		BP_TOPIC_MAX)
		return false;
	*out = *m;
	out->topic.type = BP_SPARKPLUG_DDEATH;
	out->topic.device = (const uint8_t *)name->name;
	out->topic.device_len = name->len;
	len = bp_sparkplug_data_topic(&out->topic, in->data_topic);
	/* a device has one number that counts, if two workers have read its birth */
	return bp_topic_hash(in, (const uint8_t *)in->data_topic, len) == v.value &&
	       find(in, device_key(v.value), &by_hash) && by_hash.value == i;
}
