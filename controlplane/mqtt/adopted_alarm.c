/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/adopted_alarm.h"

#include <stdlib.h>
#include <string.h>

#include "biplane/alarm.h"
#include "controlplane/alarms/envelope.h"
#include "controlplane/fleet/state.h"
#include "proto/mqtt/mqtt.h"

static bool is_valid(const struct bp_alarm *a, size_t len, const char *uid)
{
	char is[BP_ALARM_UID_LEN + 1];

	if (!bp_alarm_valid(a, len) || bp_alarm_size(a) != len || a->id > INT64_MAX ||
		a->rule_len == 0 || (a->flags & BP_ALARM_F_MIRROR) != 0 ||
		!bp_mqtt_topic_valid(bp_alarm_topic(a), a->topic_len) ||
		!bp_mqtt_topic_valid(bp_alarm_to(a), a->to_len))
		return false;
	bp_alarm_uid(a, is);
	return strcmp(is, uid) == 0;
}

struct bp_alarm *bp_adopted_alarm(const void *bytes, size_t len, const char *uid)
{
	struct bp_alarm *a;

	if (len < BP_ALARM_HEAD || len > BP_FLEET_VALUE_MAX)
		return NULL;
	a = malloc(len + sizeof(a->id));
	if (a == NULL)
		return NULL;
	memcpy(a, bytes, len);
	if (!is_valid(a, len, uid)) {
		free(a);
		return NULL;
	}
	if ((a->flags & BP_ALARM_F_ORIGIN) == 0) {
		memcpy((char *)a + len, &a->id, sizeof(a->id));
		a->flags |= BP_ALARM_F_ORIGIN;
	}
	return a;
}
