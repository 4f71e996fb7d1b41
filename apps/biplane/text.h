/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TEXT_H
#define BP_APPS_BIPLANE_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "biplane/rule.h"

/* How things of the gateway are written for people. Every out is NUL terminated. */

/* RFC 3339, UTC, nanoseconds: "2026-01-31T23:59:59.123456789Z". ns: Unix time. */
#define BP_TEXT_TIME 40
void bp_text_time(uint64_t unix_ns, char out[BP_TEXT_TIME]);

/* "192.0.2.1:1883" or "[2001:db8::1]:1883"; ip holds four bytes, or sixteen with ip6. */
#define BP_TEXT_ADDRESS 64
void bp_text_address(const uint8_t *ip, bool ip6, uint16_t port, char out[BP_TEXT_ADDRESS]);

/* "02:00:00:00:00:01" */
#define BP_TEXT_MAC 18
void bp_text_mac(const uint8_t mac[6], char out[BP_TEXT_MAC]);

/* "> 80", "inside 1..2.5": as the configuration file has it. */
#define BP_TEXT_CONDITION 80
void bp_text_condition(const struct bp_condition *c, char out[BP_TEXT_CONDITION]);

/* "text", "json $.sensors[2].celsius", "binary int16 at 4, big endian" */
#define BP_TEXT_SOURCE 512
void bp_text_source(const struct bp_value_source *v, char out[BP_TEXT_SOURCE]);

/* "1 d 02:03:04" */
#define BP_TEXT_DURATION 32
void bp_text_duration(uint64_t seconds, char out[BP_TEXT_DURATION]);

/* A JSON string: "15 us", "472 ns", "-1.25 ms", "2 s", exact to four digits. */
json_t *bp_text_interval(int64_t ns);

/* Four characters or fewer and a prefix: "0", "0.25", "999", "1.23k", "45.6M". */
#define BP_TEXT_SCALED 32
void bp_text_scaled(double value, char out[BP_TEXT_SCALED]);

/* A character per value, from 0 to the largest; a blank for NAN. `utf8`: blocks, else ASCII. */
#define BP_TEXT_SPARKLINE_MAX 64u /* values */
void bp_text_sparkline(
	const double *value, unsigned n, bool utf8, char out[3 * BP_TEXT_SPARKLINE_MAX + 1]);
/* Whether the environment names a locale with UTF-8. */
bool bp_text_utf8(void);

/*
 * A JSON string of the up to `max` bytes before a NUL. Another process writes the segment, and
 * topics are external input: bytes that are not UTF-8 become U+FFFD.
 */
json_t *bp_text_json(const char *text, size_t max);

/* The name of a graph node without the prefix of our nodes in DPDK's list, "bp_"; *max: bytes of
 * the name, before and after. */
const char *bp_text_node(const char *name, size_t *max);

/* Text of others on a terminal: control characters (C0, DEL and C1 in UTF-8) are printed as \xNN.
 */
void bp_text_print_safe(const char *text, FILE *out);
/* The same in place: each byte of them becomes '?'. */
void bp_text_mask(char *text);

#endif
