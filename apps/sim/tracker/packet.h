/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACKER_SIM_PACKET_H
#define TRACKER_SIM_PACKET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The packet of Kunze et al. (2021): 40 bytes, big-endian, numbers with 25 fractional bits;
 * `timed`: after a header of 17 bytes for time stamps of the hops. Implemented independently, since
 * the verifier must not link gateway code.
 */
#define TRACKER_PACKET 40u
#define TRACKER_HEADER 17u
#define TRACKER_PACKET_MOST (TRACKER_PACKET + TRACKER_HEADER)

struct tracker_sample {
	double radius, phi, theta; /* metres, radians */
	double x, y, z;            /* as received; 0 when sent */
	uint64_t sent_ns;          /* in the field of the start time stamp */
	uint64_t number; /* of the tracker's readings, from 0: in the field of the end time stamp */
};

/* Rounds down, as the paper's senders do. Returns the bytes written. */
unsigned tracker_packet_write(const struct tracker_sample *r, bool timed, uint8_t *to);
/* False: it is shorter. */
bool tracker_packet_read(const uint8_t *from, unsigned len, bool timed, struct tracker_sample *r);

#endif
