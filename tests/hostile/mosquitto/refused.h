/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_MOSQUITTO_REFUSED_H
#define BP_TESTS_HOSTILE_MOSQUITTO_REFUSED_H

#include "sessions.h"

/*
 * Packets that mosquitto 2.0.11 accepts, and for which later versions close the connection, each
 * from its own version on: types that only a broker sends, flags, lengths, reason codes and
 * properties that the standard does not allow, an empty response topic, $share/NAME without a
 * filter, DUP with QoS 0, and a QoS 2 publication that is sent for the third time. Inspection
 * accepts them, so that it reads on wherever a broker does.
 */

/* Offsets in s->out of the first such packets; returns their number, at most `max`. */
unsigned refused_later(const struct session *s, size_t *offset, unsigned max);

#endif
