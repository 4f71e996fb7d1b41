/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_BOTH_PATHS_H
#define BP_TESTS_UNIT_SERVICES_MQTT_BOTH_PATHS_H

#include "rig.h"

/* Two workers that are given the same frames: one reads each by the general path, the other by
 * bursts, as the nodes do. */
extern struct rig general, burst;

/* `rules`: n of them, or NULL; `trust`: checksums are not checked. */
void open_both(const struct bp_rule_spec *rules, uint32_t n, bool trust);
void close_both(void);
void both(const uint8_t *frame, size_t n);
void connect_both(struct peer *c, uint8_t version);
/* That counters and alarms are equal; the arguments are for the message. */
void same(const char *what, uint64_t seed, unsigned step);
/* That alarms are equal. Returns how many there were. */
size_t same_alarms(void);
/* That flow tables and what is remembered of rules are equal to the byte. */
void same_tables(void);

#endif
