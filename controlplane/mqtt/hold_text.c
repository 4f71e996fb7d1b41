/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/hold_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/mqtt/state_text.h"
#include "proto/mqtt/mqtt.h"
#include "shm/mqtt/mqtt_tables.h"

size_t bp_hold_text_write(const struct bp_hold_text *x, char *out)
{
	snprintf(out, BP_HOLD_TEXT_HEAD + 1,
		"p%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%08" PRIx32
		"%08" PRIx32,
		x->number, x->rule_uid, x->hold, x->gateway, x->connection, x->dir, x->seq);
	memcpy(out + BP_HOLD_TEXT_HEAD, x->topic, x->topic_len);
	return BP_HOLD_TEXT_HEAD + x->topic_len;
}

bool bp_hold_text_read(const char *text, size_t len, struct bp_hold_text *x)
{
	uint64_t *const field[] = {&x->number, &x->rule_uid, &x->hold, &x->gateway, &x->connection};
	uint64_t place;

	if (len <= BP_HOLD_TEXT_HEAD || len - BP_HOLD_TEXT_HEAD > BP_STATE_TOPIC_MAX ||
		text[0] != 'p')
		return false;
	for (unsigned i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		if (!bp_state_hex(text + 1 + 16 * i, field[i]))
			return false;
	if (!bp_state_hex(text + BP_ALARM_STATE_HEAD + 64, &place))
		return false;
	if (place >> 33 != 0)
		return false;
	x->dir = (uint32_t)(place >> 32);
	x->seq = (uint32_t)place;
	x->topic = text + BP_HOLD_TEXT_HEAD;
	x->topic_len = len - BP_HOLD_TEXT_HEAD;
	return bp_mqtt_topic_valid(x->topic, x->topic_len);
}
