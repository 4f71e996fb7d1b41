/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_CAPTURE_H
#define BP_DATAPLANE_REPLAY_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads several captures (pcap, pcapng; micro- or nanoseconds) as one, in the order of time. Frames
 * of other link types than Ethernet are returned as Ethernet frames:
 * dataplane/replay/capture_link.h.
 */
struct bp_captures;

struct bp_capture_frame {
	unsigned file;       /* index in the order of opening */
	uint64_t time_ns;    /* Unix time */
	const uint8_t *data; /* valid until the next call */
	uint32_t len;        /* captured bytes */
	/* original length, bytes; larger than len if the frame was truncated */
	uint32_t wire_len;
};

struct bp_captures *bp_captures_create(void);
void bp_captures_free(struct bp_captures *c);
/*
 * Returns 0, or -1 with a message in `err`: not readable, not a capture, or an unsupported link
 * type.
 */
int bp_captures_add(struct bp_captures *c, const char *path, char *err, size_t err_size);

/*
 * Returns the earliest remaining frame; for equal times, that of the file added first. The order
 * within a file is kept, regardless of its timestamps. False: no frame remains.
 */
bool bp_captures_next(struct bp_captures *c, struct bp_capture_frame *f);
/* Unix time of the frame that bp_captures_next() returns next, ns; 0: there is none. */
uint64_t bp_captures_time(const struct bp_captures *c);
/*
 * Sets the destination MAC of frames of this file that have none of their own (that of a router).
 */
void bp_captures_deliver_to(struct bp_captures *c, unsigned file, const uint8_t mac[6]);
/* Number of frames of the file so far that were skipped: they have no equivalent in Ethernet. */
uint64_t bp_captures_skipped(const struct bp_captures *c, unsigned file);
/* The reason why a file ended early, or NULL. */
const char *bp_captures_error(const struct bp_captures *c, unsigned file);

#endif
