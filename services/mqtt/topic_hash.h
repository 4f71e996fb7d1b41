/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_TOPIC_HASH_H
#define BP_SERVICES_MQTT_TOPIC_HASH_H

#include <stdint.h>
#include <string.h>

#include "services/mqtt/flow.h"

/* The hash of a topic name under hash_key of struct bp_shm_global: bp_topic_hash() of a worker. */
static inline uint64_t bp_topic_hash_by(const uint64_t key[2], const uint8_t *p, uint32_t n)
{
	/* the length by a secret factor: added as it is, it is undone by text that differs in the
	 * same bit, as plant/10/level and plant/100/level do */
	uint64_t h = key[0] + n * key[1], a, b;
	uint32_t left = n;

	while (left > 16) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h = bp_mix(a ^ key[1], b ^ h);
		p += 16;
		left -= 16;
	}
	if (left >= 8) {
		memcpy(&a, p, 8);
		memcpy(&b, p + left - 8, 8);
	} else if (left >= 4) {
		uint32_t x, y;

		memcpy(&x, p, 4);
		memcpy(&y, p + left - 4, 4);
		a = x;
		b = y;
	} else if (left != 0) {
		a = (uint64_t)p[0] << 16 | (uint64_t)p[left >> 1] << 8 | p[left - 1];
		b = 0;
	} else {
		a = b = 0;
	}
	return bp_mix(a ^ key[1], b ^ h) | 1;
}

#endif
