/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_ADOPTED_ALARM_H
#define BP_CONTROLPLANE_MQTT_ADOPTED_ALARM_H

#include <stddef.h>

struct bp_alarm;

/*
 * Reads the record of an alarm of another gateway, which is untrusted. The result has the id of
 * that gateway as its origin, so that its uid remains the same with another id. NULL: it is not
 * valid, it is not the alarm with this uid, or without memory. Free it with free().
 */
struct bp_alarm *bp_adopted_alarm(const void *bytes, size_t len, const char *uid);

#endif
