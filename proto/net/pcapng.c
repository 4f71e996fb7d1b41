/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/net/pcapng.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK_INTERFACE = 1, BLOCK_STATISTICS = 5, BLOCK_PACKET = 6 };
#define BLOCK_SECTION 0x0a0d0d0au
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define LINKTYPE_ETHERNET 1u

/* Option codes; each block type has its own. */
enum { OPT_END, OPT_COMMENT };
enum { SHB_HARDWARE = 2, SHB_OS, SHB_USERAPPL };
enum { IF_NAME = 2, IF_DESCRIPTION, IF_SPEED = 8, IF_TSRESOL, IF_FILTER = 11 };
enum { EPB_FLAGS = 2 };
enum { ISB_IFRECV = 4, ISB_IFDROP };
#define NANOSECONDS 9 /* if_tsresol: 10^-9 */
#define FILTER_TEXT 0 /* if_filter: a string as for libpcap */

/* A block that is being written. */
struct block {
	uint8_t *out;
	size_t size, n;
	bool full;
};

static void put(struct block *b, const void *bytes, size_t n)
{
	if (b->full || n > b->size - b->n) {
		b->full = true;
		return;
	}
	if (n != 0)
		memcpy(b->out + b->n, bytes, n);
	b->n += n;
}

static void put16(struct block *b, uint16_t v)
{
	put(b, &v, sizeof(v));
}

static void put32(struct block *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void pad(struct block *b)
{
	static const uint8_t zero[4];

	put(b, zero, -b->n & 3);
}

static struct block begin(uint8_t *out, size_t size, uint32_t type)
{
	struct block b = {.out = out, .size = size};

	put32(&b, type);
	put32(&b, 0); /* the length, which end() writes */
	return b;
}

static void option(struct block *b, uint16_t code, const void *value, size_t len)
{
	put16(b, code);
	put16(b, (uint16_t)len);
	put(b, value, len);
	pad(b);
}

/* At most BP_PCAPNG_TEXT_MAX bytes, cut between characters of UTF-8. */
static size_t text_length(const char *text)
{
	size_t n = strnlen(text, BP_PCAPNG_TEXT_MAX + 1);

	if (n <= BP_PCAPNG_TEXT_MAX)
		return n;
	n = BP_PCAPNG_TEXT_MAX;
	while (n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void text(struct block *b, uint16_t code, const char *value)
{
	if (value != NULL && value[0] != '\0')
		option(b, code, value, text_length(value));
}

static size_t end(struct block *b)
{
	const uint32_t total = (uint32_t)b->n + 4;

	put32(b, total);
	if (b->full)
		return 0;
	memcpy(b->out + 4, &total, sizeof(total));
	return b->n;
}

size_t bp_pcapng_section(
	uint8_t *out, size_t size, const char *hardware, const char *os, const char *application)
{
	const uint64_t unknown_length = UINT64_MAX;
	struct block b = begin(out, size, BLOCK_SECTION);

	put32(&b, BYTE_ORDER_MAGIC);
	put16(&b, 1); /* version 1.0 */
	put16(&b, 0);
	put(&b, &unknown_length, sizeof(unknown_length));
	text(&b, SHB_HARDWARE, hardware);
	text(&b, SHB_OS, os);
	text(&b, SHB_USERAPPL, application);
	option(&b, OPT_END, NULL, 0);
	return end(&b);
}

static void filter_option(struct block *b, const char *filter)
{
	uint8_t value[1 + BP_PCAPNG_TEXT_MAX] = {FILTER_TEXT};
	const size_t n = filter != NULL ? text_length(filter) : 0;

	if (n == 0)
		return;
	memcpy(value + 1, filter, n);
	option(b, IF_FILTER, value, 1 + n);
}

size_t bp_pcapng_interface(uint8_t *out, size_t size, const char *name, const char *description,
	uint64_t speed_bps, uint32_t snap_length, const char *filter)
{
	const uint8_t resolution = NANOSECONDS;
	struct block b = begin(out, size, BLOCK_INTERFACE);

	put16(&b, LINKTYPE_ETHERNET);
	put16(&b, 0);
	put32(&b, snap_length);
	text(&b, IF_NAME, name);
	text(&b, IF_DESCRIPTION, description);
	if (speed_bps != 0)
		option(&b, IF_SPEED, &speed_bps, sizeof(speed_bps));
	option(&b, IF_TSRESOL, &resolution, sizeof(resolution));
	filter_option(&b, filter);
	option(&b, OPT_END, NULL, 0);
	return end(&b);
}

static void put_time(struct block *b, uint64_t time_ns)
{
	put32(b, (uint32_t)(time_ns >> 32));
	put32(b, (uint32_t)time_ns);
}

size_t bp_pcapng_packet(uint8_t *out, size_t size, const struct bp_pcapng_packet *p)
{
	struct block b = begin(out, size, BLOCK_PACKET);

	put32(&b, p->interface);
	put_time(&b, p->time_ns);
	put32(&b, p->captured);
	put32(&b, p->length);
	put(&b, p->data, p->captured);
	pad(&b);
	text(&b, OPT_COMMENT, p->comment);
	if (p->direction != BP_PCAPNG_UNKNOWN)
		option(&b, EPB_FLAGS, &p->direction, sizeof(p->direction));
	option(&b, OPT_END, NULL, 0);
	return end(&b);
}

size_t bp_pcapng_statistics(uint8_t *out, size_t size, uint32_t interface, uint64_t time_ns,
	uint64_t received, uint64_t dropped)
{
	struct block b = begin(out, size, BLOCK_STATISTICS);

	put32(&b, interface);
	put_time(&b, time_ns);
	option(&b, ISB_IFRECV, &received, sizeof(received));
	option(&b, ISB_IFDROP, &dropped, sizeof(dropped));
	option(&b, OPT_END, NULL, 0);
	return end(&b);
}
