/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_ALARMS_FAKE_LINK_H
#define BP_TESTS_HOSTILE_ALARMS_FAKE_LINK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A fake link to the edge broker, controlled by the test: it goes up and down; the broker receives
 * the sent alarms in order when the test requests it, and acknowledges them then or never. Alarms
 * that it has not received when the link goes down are lost.
 */
void fake_link_up(void);
void fake_link_down(void);
bool fake_link_is_up(void);
/* The broker takes up to n of what was sent. */
void fake_link_take(unsigned n);
/* Acknowledges up to n of what it took, oldest first. */
void fake_link_acknowledge(unsigned n);
/* The newest n of it, and not those before. */
void fake_link_acknowledge_newest(unsigned n);

/* Called for what the broker takes: topic and payload. */
extern void (*fake_link_taken)(const char *topic, const char *payload);

#endif
