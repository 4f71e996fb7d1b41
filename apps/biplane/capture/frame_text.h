/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CAPTURE_FRAME_TEXT_H
#define BP_APPS_BIPLANE_CAPTURE_FRAME_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * One line about a frame, of its first `n` bytes: "02:00:00:00:00:01 > 02:00:00:00:00:02 vlan 5
 * 10.0.0.1:40000 > 10.0.0.2:1883 TCP SYN". Any bytes are accepted.
 */
#define BP_FRAME_TEXT 320
void bp_frame_text(const uint8_t *data, uint32_t n, char text[BP_FRAME_TEXT]);

#endif
