/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_ALARMS_FAKE_LINK_H
#define BP_TESTS_HOSTILE_ALARMS_FAKE_LINK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * In place of the link to the edge broker, one that a test directs: it goes up and down, the broker
 * takes what was sent, in order, when the test says so, and acknowledges it then or never. What it
 * has not taken when the link goes down is lost.
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
