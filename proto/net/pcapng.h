/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_PCAPNG_H
#define BP_PROTO_NET_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

/*
 * Blocks of a capture file (pcapng, draft-ietf-opsawg-pcapng), in the byte order of this machine.
 * Each function writes one block and returns its bytes, a multiple of 4; 0: `size` is too small.
 * Strings are UTF-8; NULL: without the option.
 */
#define BP_PCAPNG_BLOCK_MAX(captured) ((captured) + 1024u)
#define BP_PCAPNG_TEXT_MAX 255u /* longer strings are cut */

/* Section header block: begins a file. */
size_t bp_pcapng_section(
	uint8_t *out, size_t size, const char *hardware, const char *os, const char *application);

/* Interface description block, for Ethernet, with times in nanoseconds. The first of a file has
 * number 0. speed_bps 0: unknown. */
size_t bp_pcapng_interface(uint8_t *out, size_t size, const char *name, const char *description,
	uint64_t speed_bps, uint32_t snap_length, const char *filter);

/* epb_flags: directions. */
enum { BP_PCAPNG_UNKNOWN, BP_PCAPNG_INBOUND, BP_PCAPNG_OUTBOUND };

struct bp_pcapng_packet {
	uint32_t interface;
	uint32_t captured, length; /* bytes in the file, and of the frame */
	uint64_t time_ns;          /* Unix time */
	uint32_t direction;
	const uint8_t *data;
	const char *comment;
};
/* Enhanced packet block. */
size_t bp_pcapng_packet(uint8_t *out, size_t size, const struct bp_pcapng_packet *p);

/* Interface statistics block; frames received by the capture and lost by it. */
size_t bp_pcapng_statistics(uint8_t *out, size_t size, uint32_t interface, uint64_t time_ns,
	uint64_t received, uint64_t dropped);

#endif
