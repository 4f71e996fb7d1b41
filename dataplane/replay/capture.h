/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_CAPTURE_H
#define BP_DATAPLANE_REPLAY_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reading several captures (pcap, pcapng; micro- or nanoseconds) as one, in the order of time.
 * Frames of other link types than Ethernet are given out as Ethernet's:
 * dataplane/replay/capture_link.h.
 */
struct bp_captures;

struct bp_capture_frame {
	unsigned file;       /* index in the order of opening */
	uint64_t time_ns;    /* Unix time */
	const uint8_t *data; /* valid until the next call */
	uint32_t len;        /* bytes that were captured */
	uint32_t wire_len;   /* bytes that the frame had; more than len when it was cut */
};

struct bp_captures *bp_captures_create(void);
void bp_captures_free(struct bp_captures *c);
/* Returns 0, or -1 with a sentence: not readable, not a capture, of a link type not known. */
int bp_captures_add(struct bp_captures *c, const char *path, char *err, size_t err_size);

/* The earliest frame that is left; among equal times, of the file added first. Order within a file
 * is never changed, whatever its time stamps. False at the end of all. */
bool bp_captures_next(struct bp_captures *c, struct bp_capture_frame *f);
/* Time of the frame that bp_captures_next() gives next, Unix time; 0: there is none. */
uint64_t bp_captures_time(const struct bp_captures *c);
/* Frames of this file that have no destination MAC of their own are for this one (a router's). */
void bp_captures_deliver_to(struct bp_captures *c, unsigned file, const uint8_t mac[6]);
/* Frames of the file so far that were left out: they have no counterpart in Ethernet. */
uint64_t bp_captures_skipped(const struct bp_captures *c, unsigned file);
/* Why a file ended before its end, or NULL. */
const char *bp_captures_error(const struct bp_captures *c, unsigned file);

#endif
