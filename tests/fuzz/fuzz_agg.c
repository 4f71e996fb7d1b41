/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"
#include "proto/net/crc32c.h"

/*
 * The first byte chooses: any bytes as a packet of either format, where in every second case the
 * checksum of `full` is made right, since the fuzzer would not find one; or messages that are made
 * of the bytes, appended, and read again.
 */
static struct bp_agg_message got[BP_AGG_FULL_MOST], again[BP_AGG_FULL_MOST];

static void kunze2021(const uint8_t *p, size_t len)
{
	struct bp_agg_lin2018 m;
	uint8_t *copy;

	if (bp_agg_lin2018_read(p, len, BP_AGG_FULL_MOST, &m) != BP_AGG_LIN2018_OK)
		return;
	HOLDS(m.count >= 1 && m.count <= BP_AGG_FULL_MOST);
	HOLDS(m.messages == p + BP_AGG_LIN2018_HEADER);
	HOLDS(BP_AGG_LIN2018_LEN(m.count) == len);
	copy = malloc(len);
	if (copy == NULL)
		abort();
	bp_agg_lin2018_put_header(copy, m.type);
	for (unsigned i = 0; i < m.count; i++)
		bp_agg_lin2018_put(copy, i, m.messages + (size_t)i * BP_AGG_LIN2018_MESSAGE_LEN);
	HOLDS(copy[0] == p[0]);
	HOLDS(memcmp(copy + BP_AGG_LIN2018_HEADER, p + BP_AGG_LIN2018_HEADER,
		      len - BP_AGG_LIN2018_HEADER) == 0);
	free(copy);
}

static void seal(uint8_t *p, size_t len)
{
	uint32_t crc;

	if (len < BP_AGG_FULL_HEADER || len - BP_AGG_FULL_HEADER < bp_be16(p + 4))
		return;
	crc = bp_crc32c_portable(BP_CRC32C_INIT, p, 12);
	bp_put_be32(p + 12, ~bp_crc32c_portable(crc, p + BP_AGG_FULL_HEADER, bp_be16(p + 4)));
}

/* An accepted aggregate is inside the buffer, complete, and the same after encoding it again. */
static void full(const uint8_t *p, size_t len, unsigned family)
{
	struct bp_agg_full head, head2;
	struct bp_agg_full_writer w;
	uint8_t *block, *written;
	size_t at, len2;

	if (bp_agg_full_read(p, len, family, &head, got, BP_AGG_FULL_MOST) != BP_AGG_FULL_OK)
		return;
	HOLDS(head.count >= 1);
	at = got[0].offset;
	HOLDS(at > BP_AGG_FULL_HEADER && at <= len);
	block = malloc(BP_AGG_FULL_FRONT6(BP_AGG_FULL_MOST) + len);
	if (block == NULL)
		abort();
	bp_agg_full_begin(&w, block, BP_AGG_FULL_FRONT6(BP_AGG_FULL_MOST), (uint16_t)len, family,
		BP_AGG_FULL_MOST);
	for (unsigned i = 0; i < head.count; i++) {
		HOLDS(got[i].offset == at);
		at += got[i].len;
		HOLDS(at <= len);
		/* the shortest form is never longer than what came */
		HOLDS(bp_agg_full_append(&w, &got[i].from, p + got[i].offset, got[i].len));
	}
	HOLDS(at == len);
	written = bp_agg_full_end(&w, head.stream, head.sequence, &len2);
	HOLDS(written != NULL && len2 <= len);
	HOLDS(bp_agg_full_read(written, len2, family, &head2, again, head.count) == BP_AGG_FULL_OK);
	HOLDS(head2.count == head.count && head2.stream == head.stream);
	HOLDS(head2.sequence == head.sequence);
	for (unsigned i = 0; i < head.count; i++) {
		HOLDS(memcmp(&got[i].from.addr, &again[i].from.addr, 16) == 0);
		HOLDS(got[i].from.port == again[i].from.port);
		HOLDS(got[i].from.hops == again[i].from.hops && got[i].len == again[i].len);
		HOLDS(memcmp(p + got[i].offset, written + again[i].offset, got[i].len) == 0);
	}
	free(block);
}

/* Limits from the first six bytes, and then messages: how many bytes of the sender are new,
 * those, the length, and the payload from anywhere. */
static void write_full(const uint8_t *p, size_t len, unsigned family)
{
	const unsigned bytes = family == 4 ? 4 : 16;
	struct bp_agg_sender sent[BP_AGG_FULL_MOST], s = {0};
	uint16_t lens[BP_AGG_FULL_MOST];
	const uint8_t *end = p + len, *payload = p;
	struct bp_agg_full_writer w;
	struct bp_agg_full head;
	unsigned front, size, n = 0;
	uint8_t *block, *written;
	size_t len2;

	if (len < 6)
		return;
	front = BP_AGG_FULL_HEADER + bp_be16(p) % 6000;
	size = bp_be16(p + 2) % 10000;
	block = malloc(front + size);
	if (block == NULL)
		abort();
	bp_agg_full_begin(&w, block, (uint16_t)front, (uint16_t)size, family, p[4]);
	for (p += 6; end - p >= 24;) {
		const unsigned new = *p % (bytes + 1), cost_before = bp_agg_full_len(&w);
		unsigned longer, cost;

		memcpy(s.addr + bytes - new, p + 1, new);
		p += 1 + new;
		s.port = *p & 1 ? bp_be16(p + 1) : s.port;
		s.hops = *p & 2 ? p[3] : s.hops;
		longer = *p & 4 ? p[4] : 16;
		longer = longer < len ? longer : (unsigned)len;
		p += 5;
		cost = bp_agg_full_cost(&w, &s, longer);
		if (!bp_agg_full_append(&w, &s, payload, longer)) {
			HOLDS(bp_agg_full_len(&w) == cost_before);
			continue;
		}
		HOLDS(bp_agg_full_len(&w) == cost_before + cost && cost_before + cost <= size);
		sent[n] = s;
		lens[n++] = (uint16_t)longer;
	}
	written = bp_agg_full_end(&w, 7, 8, &len2);
	HOLDS((written != NULL) == (n != 0));
	if (n != 0) {
		HOLDS(written >= block && written + len2 <= block + front + size);
		HOLDS(bp_agg_full_read(written, len2, family, &head, got, n) == BP_AGG_FULL_OK);
		HOLDS(head.count == n);
	}
	for (unsigned i = 0; i < n; i++) {
		HOLDS(memcmp(sent[i].addr, got[i].from.addr, 16) == 0);
		HOLDS(sent[i].port == got[i].from.port && sent[i].hops == got[i].from.hops);
		HOLDS(got[i].len == lens[i]);
		HOLDS(memcmp(written + got[i].offset, payload, lens[i]) == 0);
	}
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned family = size != 0 && (data[0] & 1) ? 6 : 4;
	uint8_t *p;

	if (size == 0)
		return 0;
	p = exact_copy(data + 1, size - 1);
	switch (data[0] >> 1 & 3) {
	case 0:
		kunze2021(p, size - 1);
		full(p, size - 1, family);
		break;
	case 1:
	case 2:
		seal(p, size - 1);
		full(p, size - 1, family);
		break;
	default:
		write_full(p, size - 1, family);
	}
	free(p);
	return 0;
}
