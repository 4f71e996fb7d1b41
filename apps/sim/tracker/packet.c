/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/tracker/packet.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#define ONE 33554432.0 /* 2^25 */

static void put32(uint8_t *to, double value)
{
	const uint32_t word = htobe32((uint32_t)(int64_t)floor(value * ONE));

	memcpy(to, &word, sizeof(word));
}

static void put64(uint8_t *to, uint64_t value)
{
	const uint64_t word = htobe64(value);

	memcpy(to, &word, sizeof(word));
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t word;

	memcpy(&word, from, sizeof(word));
	return be32toh(word);
}

static double get_signed(const uint8_t *from)
{
	return (int32_t)get32(from) / ONE;
}

static uint64_t get64(const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return be64toh(word);
}

unsigned tracker_packet_write(const struct tracker_sample *r, bool timed, uint8_t *to)
{
	const unsigned header = timed ? TRACKER_HEADER : 0;

	memset(to, 0, header + TRACKER_PACKET);
	to += header;
	put32(to, r->radius);
	put32(to + 4, r->phi);
	put32(to + 8, r->theta);
	put64(to + 24, r->sent_ns);
	put64(to + 32, r->number);
	return header + TRACKER_PACKET;
}

bool tracker_packet_read(const uint8_t *from, unsigned len, bool timed, struct tracker_sample *r)
{
	const unsigned header = timed ? TRACKER_HEADER : 0;

	if (len < header + TRACKER_PACKET)
		return false;
	from += header;
	r->radius = get_signed(from);
	r->phi = get32(from + 4) / ONE;
	r->theta = get32(from + 8) / ONE;
	r->x = get_signed(from + 12);
	r->y = get_signed(from + 16);
	r->z = get_signed(from + 20);
	r->sent_ns = get64(from + 24);
	r->number = get64(from + 32);
	return true;
}
