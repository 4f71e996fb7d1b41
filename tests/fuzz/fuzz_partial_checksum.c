/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of a local sender (a virtual machine) that may have left their checksum to the network
 * card: whatever a frame is, and wherever it is cut into buffers, what is completed is right, and
 * nothing else in it changes.
 *
 * The first two bytes say where the frame is cut, the third whether the sum of the pseudo-header
 * is written where it belongs; the rest is the frame.
 */
#include "tests/fuzz/fuzz.h"

#include "dataplane/ports/partial_checksum.h"

#define BUFFERS 3u

/* A segment, by this file's own arithmetic. */
struct segment {
	size_t at, len, field;
	uint32_t pseudo; /* not folded */
};

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* Of words in network order; the last one is filled up with 0 (RFC 1071). */
static uint32_t sum16(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t folded(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static bool segment_of(const uint8_t *ip, size_t n, uint32_t type, struct segment *s)
{
	uint8_t protocol;

	if (type == 0x0800 && n >= 20 && ip[0] >> 4 == 4) {
		s->at = (size_t)(ip[0] & 0xf) * 4;
		if (s->at < 20 || be16(ip + 2) < s->at || be16(ip + 2) > n ||
			(be16(ip + 6) & 0x3fff) != 0)
			return false;
		s->len = be16(ip + 2) - s->at;
		protocol = ip[9];
		s->pseudo = sum16(ip + 12, 8, protocol + (uint32_t)s->len);
	} else if (type == 0x86dd && n >= 40 && ip[0] >> 4 == 6) {
		s->at = 40;
		s->len = be16(ip + 4);
		if (s->len > n - 40)
			return false;
		protocol = ip[6];
		s->pseudo = sum16(ip + 8, 32, protocol + (uint32_t)s->len);
	} else {
		return false;
	}
	s->field = s->at + (protocol == 6 ? 16 : 6);
	return (protocol == 6 && s->len >= 20) || (protocol == 17 && s->len >= 8);
}

/* With up to two VLAN tags, without extension headers. */
static bool find(const uint8_t *f, size_t n, struct segment *s)
{
	size_t at = 14;

	if (n < at)
		return false;
	for (unsigned tags = 0;
		tags < 2 && (be16(f + at - 2) == 0x8100 || be16(f + at - 2) == 0x88a8); tags++) {
		at += 4;
		if (n < at)
			return false;
	}
	if (!segment_of(f + at, n - at, be16(f + at - 2), s))
		return false;
	s->at += at;
	s->field += at;
	return true;
}

/* The frame in blocks of the very sizes, so that AddressSanitizer sees a byte read too many. */
static unsigned cut(
	struct rte_mbuf m[BUFFERS], const uint8_t *f, size_t n, size_t first, size_t second)
{
	const size_t end[BUFFERS] = {first, first + second, n};
	unsigned used = 0;
	size_t at = 0;

	memset(m, 0, BUFFERS * sizeof(*m));
	for (unsigned i = 0; i < BUFFERS; i++) {
		const size_t to = end[i] < n && i + 1 < BUFFERS ? end[i] : n;

		if (to <= at && i != 0)
			continue;
		m[used].buf_addr = exact_copy(f + at, to - at);
		m[used].buf_len = m[used].data_len = (uint16_t)(to - at);
		if (used != 0)
			m[used - 1].next = &m[used];
		at = to;
		used++;
	}
	m[0].pkt_len = (uint32_t)n;
	m[0].nb_segs = (uint16_t)used;
	return used;
}

static void join(struct rte_mbuf m[BUFFERS], unsigned used, uint8_t *out)
{
	for (unsigned i = 0; i < used; i++) {
		memcpy(out, m[i].buf_addr, m[i].data_len);
		out += m[i].data_len;
		free(m[i].buf_addr);
	}
}

static void evaluate(const uint8_t *before, const uint8_t *after, size_t n, bool changed)
{
	struct segment s;
	size_t differ = 0;

	for (size_t i = 0; i < n; i++)
		differ += before[i] != after[i];
	HOLDS(differ <= (changed ? 2 : 0));
	if (!find(before, n, &s))
		return;
	/* completed if and only if the sum of the pseudo-header was there */
	HOLDS(changed == (be16(before + s.field) == folded(s.pseudo)));
	if (changed)
		HOLDS(folded(sum16(after + s.at, s.len, s.pseudo)) == 0xffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rte_mbuf m[BUFFERS];
	uint8_t *frame, *after;
	enum bp_partial left;
	struct segment s;
	unsigned used;
	size_t n;
	bool changed;

	if (size < 4 || size > 4096)
		return 0;
	n = size - 3;
	frame = exact_copy(data + 3, n);
	after = exact_copy(frame, n);
	if ((data[2] & 1) && find(frame, n, &s)) {
		const uint16_t sum = folded(s.pseudo);

		frame[s.field] = (uint8_t)(sum >> 8);
		frame[s.field + 1] = (uint8_t)sum;
	}
	used = cut(m, frame, n, data[0] ? data[0] : n, data[1]);
	changed = bp_partial_checksum_complete(m);
	join(m, used, after);
	evaluate(frame, after, n, changed);

	used = cut(m, frame, n, data[0] ? data[0] : n, data[1]);
	left = bp_partial_checksum_leave(m);
	HOLDS((left == BP_PARTIAL_NONE) == !changed);
	if (left == BP_PARTIAL_LEFT) /* the offsets given to a device are in the first buffer */
		HOLDS((size_t)m[0].l2_len + m[0].l3_len + 8 <= m[0].data_len);
	join(m, used, after);
	if (left == BP_PARTIAL_COMPLETED)
		evaluate(frame, after, n, true);
	else /* a device finds it as it came */
		HOLDS(memcmp(frame, after, n) == 0);
	free(frame);
	free(after);
	return 0;
}
