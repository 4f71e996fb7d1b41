/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_UTF8_H
#define BP_PROTO_PAYLOAD_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether [s, s + len) is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing
 * above U+10FFFF) without U+0000, as MQTT requires for its strings (MQTT 5.0, section 1.5.4). ASCII
 * is checked 16 bytes at a time.
 */
bool bp_utf8_valid_mqtt(const uint8_t *s, size_t len);
/* The same with U+0000 allowed: JSON text. */
bool bp_utf8_valid(const uint8_t *s, size_t len);

/*
 * The character at s[0..len), len >= 1: its length (1..4), 0 if it is malformed, or -1 if it is
 * well-formed so far and continues past `len`.
 */
int bp_utf8_char(const uint8_t *s, size_t len);

/*
 * Whether the well-formed character at `s` is a control character or a noncharacter, which a string
 * of MQTT should not have (1.5.4).
 */
bool bp_utf8_is_control(const uint8_t *s);
/* Whether the well-formed [s, s + len) has one. */
bool bp_utf8_has_control(const uint8_t *s, size_t len);

#endif
