/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames: offsets of TCP, invalid headers, and checksums. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "mqtt_peer.h"
#include "proto/net/frame.h"

static uint8_t scratch[PEER_FRAME_MAX];

/* Parses from memory of exactly `contiguous` bytes, so that one byte further is seen. */
static enum bp_frame_kind parse(
	const uint8_t *p, size_t contiguous, size_t len, struct bp_frame *f, uint8_t **memory)
{
	*memory = malloc(contiguous != 0 ? contiguous : 1);
	memcpy(*memory, p, contiguous);
	return bp_frame_parse(*memory, (uint32_t)contiguous, (uint32_t)len, f);
}

static void some_peer(struct peer *c, bool ip6, unsigned n_vlan)
{
	peer_init(c, ip6, 7, 1, 2);
	c->n_vlan = n_vlan;
	c->vlan[0] = 0xe000 | 100; /* with a priority, which is not the identifier */
	c->vlan[1] = 200;
}

static void fields_are_parsed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct peer c;
		struct bp_frame f;
		uint8_t *m;
		size_t n;

		some_peer(&c, i & 1, i / 2);
		n = peer_frame(
			&c, CLIENT, TH_ACK | TH_PSH, 0x89abcdef, 0xfedcba98, "hello", 5, scratch);
		memset(scratch + n, 0xee, 10); /* Ethernet padding is no payload */
		memset(&f, 0xff, sizeof(f));
		assert_int_equal(parse(scratch, n + 10, n + 10, &f, &m), BP_FRAME_TCP);
		assert_int_equal(f.ip6, i & 1);
		assert_int_equal(f.l3, 14 + 4 * (i / 2));
		assert_int_equal(f.l4, peer_l4(&c));
		assert_int_equal(f.payload, peer_l4(&c) + 20);
		assert_int_equal(f.payload_len, 5);
		assert_int_equal(f.seq, 0x89abcdef);
		assert_int_equal(f.ack, 0xfedcba98);
		assert_int_equal(f.sport, c.client_port);
		assert_int_equal(f.dport, 1883);
		assert_int_equal(f.tcp_flags, TH_ACK | TH_PSH);
		assert_int_equal(f.vlan_outer, i / 2 >= 1 ? 100 : 0);
		assert_int_equal(f.vlan_inner, i / 2 >= 2 ? 200 : 0);
		assert_int_equal(f.n_more, 0);
		assert_memory_equal(f.data + f.payload, "hello", 5);
		assert_true(bp_frame_checksum_ok(&f));
		free(m);
	}
}

/* Every frame truncated at every length, by the capture (contiguous) or completely. */
static void truncated_frames_are_not_read(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct peer c;
		size_t n;

		some_peer(&c, i & 1, i / 2);
		n = peer_frame(&c, CLIENT, TH_ACK, 1, 2, "0123456789", 10, scratch);
		for (size_t cut = 0; cut < n; cut++) {
			struct bp_frame f;
			uint8_t *m;
			enum bp_frame_kind kind = parse(scratch, cut, cut, &f, &m);

			assert_int_not_equal(kind, BP_FRAME_TCP);
			free(m);
			kind = parse(scratch, cut, n, &f, &m);
			if (kind == BP_FRAME_TCP) {
				assert_true(cut >= peer_l4(&c) + 20);
				assert_true(f.payload <= f.contiguous);
				assert_int_equal(f.payload_len, 10);
			} else {
				assert_true(cut < peer_l4(&c) + 20);
			}
			free(m);
		}
	}
}

static enum bp_frame_kind changed(const struct peer *c, size_t at, uint8_t value)
{
	struct bp_frame f;
	uint8_t *m;
	size_t n = peer_frame(c, CLIENT, TH_ACK, 1, 2, "0123456789", 10, scratch);
	enum bp_frame_kind kind;

	scratch[at] = value;
	kind = parse(scratch, n, n, &f, &m);
	free(m);
	return kind;
}

static void inconsistent_ip4_lengths(void **state)
{
	struct peer c;

	(void)state;
	some_peer(&c, false, 0);
	assert_int_equal(changed(&c, 14, 0x45), BP_FRAME_TCP);
	assert_int_equal(changed(&c, 14, 0x55), BP_FRAME_BAD); /* version */
	assert_int_equal(changed(&c, 14, 0x44), BP_FRAME_BAD); /* header shorter than it can be */
	assert_int_equal(changed(&c, 14, 0x4f), BP_FRAME_BAD); /* header longer than the datagram */
	assert_int_equal(changed(&c, 17, 51), BP_FRAME_BAD);   /* longer than the frame */
	assert_int_equal(changed(&c, 16, 0xff), BP_FRAME_BAD);
	assert_int_equal(changed(&c, 17, 39), BP_FRAME_BAD); /* no room for a TCP header */
	assert_int_equal(changed(&c, 17, 0), BP_FRAME_BAD);
	assert_int_equal(changed(&c, 23, 17), BP_FRAME_OTHER);      /* UDP */
	assert_int_equal(changed(&c, 20, 0x20), BP_FRAME_FRAGMENT); /* more fragments */
	assert_int_equal(changed(&c, 21, 1), BP_FRAME_FRAGMENT);    /* an offset */
	assert_int_equal(changed(&c, 20, 0x40), BP_FRAME_TCP);      /* do not fragment */
	assert_int_equal(changed(&c, 46, 0x40), BP_FRAME_BAD);      /* TCP header of 16 bytes */
	assert_int_equal(changed(&c, 46, 0x70), BP_FRAME_TCP);      /* of 28 */
	assert_int_equal(changed(&c, 46, 0x80), BP_FRAME_BAD);      /* of 32, but 30 are there */
	assert_int_equal(changed(&c, 12, 0x08), BP_FRAME_TCP);
	assert_int_equal(changed(&c, 13, 0x06), BP_FRAME_OTHER); /* ARP */
}

static void inconsistent_ip6_lengths(void **state)
{
	struct peer c;

	(void)state;
	some_peer(&c, true, 0);
	assert_int_equal(changed(&c, 14, 0x40), BP_FRAME_BAD);
	assert_int_equal(changed(&c, 19, 31), BP_FRAME_BAD);
	assert_int_equal(changed(&c, 18, 0xff), BP_FRAME_BAD);
	assert_int_equal(changed(&c, 19, 19), BP_FRAME_BAD);
	assert_int_equal(changed(&c, 20, 17), BP_FRAME_OTHER);
	assert_int_equal(changed(&c, 20, 59), BP_FRAME_OTHER);
	/* the TCP header taken for an extension header: its lengths lead nowhere */
	assert_int_not_equal(changed(&c, 20, 0), BP_FRAME_TCP);
	assert_int_not_equal(changed(&c, 20, 43), BP_FRAME_TCP);
	assert_int_not_equal(changed(&c, 20, 60), BP_FRAME_TCP);
	assert_int_not_equal(changed(&c, 20, 44), BP_FRAME_TCP);
}

/* Puts extension headers before the TCP header of a frame; returns its new length. */
static size_t with_extensions(
	const struct peer *c, const uint8_t *types, unsigned n_types, uint8_t frag_lo)
{
	size_t n = peer_frame(c, CLIENT, TH_ACK, 1, 2, "payload", 7, scratch), l4 = peer_l4(c);
	unsigned length;

	memmove(scratch + l4 + 8 * n_types, scratch + l4, n - l4);
	for (unsigned i = 0; i < n_types; i++) {
		uint8_t *e = scratch + l4 + (size_t)8 * i;

		memset(e, 0, 8);
		e[0] = i + 1 < n_types ? types[i + 1] : 6;
		if (types[i] == 44)
			e[3] = frag_lo;
	}
	scratch[l4 - 40 + 6] = n_types != 0 ? types[0] : 6;
	length = 27 + 8 * n_types;
	scratch[l4 - 40 + 4] = (uint8_t)(length >> 8);
	scratch[l4 - 40 + 5] = (uint8_t)length;
	return n + (size_t)8 * n_types;
}

static void extension_headers(void **state)
{
	static const uint8_t all[] = {0, 43, 60, 44};
	static const uint8_t many[9] = {60, 60, 60, 60, 60, 60, 60, 60, 60};
	struct peer c;
	struct bp_frame f;
	uint8_t *m;
	size_t n;

	(void)state;
	some_peer(&c, true, 1);
	n = with_extensions(&c, all, 4, 0);
	assert_int_equal(parse(scratch, n, n, &f, &m), BP_FRAME_TCP);
	assert_int_equal(f.l4, peer_l4(&c) + 32);
	assert_int_equal(f.payload_len, 7);
	assert_memory_equal(f.data + f.payload, "payload", 7);
	assert_true(bp_frame_checksum_ok(&f)); /* the pseudo-header has TCP's own length */
	free(m);
	for (size_t cut = 0; cut < n; cut++) {
		assert_int_not_equal(parse(scratch, cut, cut, &f, &m), BP_FRAME_TCP);
		free(m);
	}
	n = with_extensions(&c, all, 4, 1); /* more fragments follow */
	assert_int_equal(parse(scratch, n, n, &f, &m), BP_FRAME_FRAGMENT);
	free(m);
	n = with_extensions(&c, all, 4, 8); /* an offset */
	assert_int_equal(parse(scratch, n, n, &f, &m), BP_FRAME_FRAGMENT);
	free(m);
	n = with_extensions(&c, many, 8, 0);
	assert_int_equal(parse(scratch, n, n, &f, &m), BP_FRAME_TCP);
	free(m);
	n = with_extensions(&c, many, 9, 0);
	assert_int_equal(parse(scratch, n, n, &f, &m), BP_FRAME_BAD);
	free(m);
	n = with_extensions(&c, many, 3, 0);
	scratch[peer_l4(&c) + 1] = 255; /* an extension header of 2 KiB */
	assert_int_equal(parse(scratch, n, n, &f, &m), BP_FRAME_BAD);
	free(m);
}

/* Only fragments of datagrams that may carry TCP are BP_FRAME_FRAGMENT. */
static void fragments_by_protocol(void **state)
{
	static const uint8_t all[] = {0, 44};
	static const struct {
		uint8_t next;
		enum bp_frame_kind kind;
	} rows[] = {{6, BP_FRAME_FRAGMENT}, {17, BP_FRAME_OTHER}, {58, BP_FRAME_OTHER},
		{59, BP_FRAME_OTHER}, {0, BP_FRAME_FRAGMENT}, {43, BP_FRAME_FRAGMENT},
		{44, BP_FRAME_FRAGMENT}, {51, BP_FRAME_FRAGMENT}, {60, BP_FRAME_FRAGMENT},
		{4, BP_FRAME_UNREAD}, {41, BP_FRAME_UNREAD}, {47, BP_FRAME_UNREAD},
		{50, BP_FRAME_UNREAD}};
	struct peer c;

	(void)state;
	some_peer(&c, true, 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* the first one, one in the middle, and the last one */
		static const uint8_t lows[] = {1, 9, 8};

		for (unsigned k = 0; k < 3; k++) {
			const uint8_t low = lows[k];
			struct bp_frame f;
			uint8_t *m;
			size_t n = with_extensions(&c, all, 2, low);

			scratch[peer_l4(&c) + 8] = rows[i].next;
			assert_int_equal(parse(scratch, n, n, &f, &m), rows[i].kind);
			if (rows[i].kind == BP_FRAME_FRAGMENT) {
				assert_int_equal(f.is_first, low == 1);
				assert_int_equal(f.has_ports, low == 1 && rows[i].next == 6);
			}
			if (rows[i].kind == BP_FRAME_UNREAD)
				assert_int_equal(f.unread, BP_UNREAD_TUNNEL);
			free(m);
		}
	}
}

/* Receivers strip tags with identifier 0: they are none for the identity of a connection. */
static void priority_tags(void **state)
{
	static const struct {
		uint16_t tag[3], outer, inner, third;
	} rows[] = {{{5}, 5, 0, 0}, {{0, 5}, 5, 0, 0}, {{5, 0}, 5, 0, 0}, {{0, 0, 5}, 5, 0, 0},
		{{0, 5, 6}, 5, 6, 0}, {{5, 0, 6}, 5, 6, 0}, {{5, 6, 0}, 5, 6, 0},
		{{5, 6, 7}, 5, 6, 7}, {{0}, 0, 0, 0}, {{0, 0}, 0, 0, 0}, {{0, 0, 0}, 0, 0, 0}};
	struct peer c;

	(void)state;
	peer_init(&c, false, 7, 1, 2);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t n = peer_frame(&c, CLIENT, TH_ACK, 1, 2, "x", 1, scratch);
		struct bp_frame f;
		uint8_t *m;

		memmove(scratch + 24, scratch + 12, n - 12);
		for (unsigned k = 0; k < 3; k++) {
			bp_put_be16(scratch + 12 + 4 * k, BP_ETHER_VLAN);
			bp_put_be16(scratch + 14 + 4 * k, 0xe000 | rows[i].tag[k]);
		}
		assert_int_equal(parse(scratch, n + 12, n + 12, &f, &m), BP_FRAME_TCP);
		assert_int_equal(f.vlan_outer, rows[i].outer);
		assert_int_equal(f.vlan_inner, rows[i].inner);
		assert_int_equal(f.tunnel, (uint32_t)rows[i].third << 16);
		assert_int_equal(f.l2, 26);
		free(m);
	}
}

static void vlan_depth(void **state)
{
	struct peer c;
	struct bp_frame f;
	uint8_t *m;
	size_t n;

	(void)state;
	some_peer(&c, false, 2);
	n = peer_frame(&c, CLIENT, TH_ACK, 1, 2, "x", 1, scratch);
	memmove(scratch + 16, scratch + 12, n - 12); /* a third tag */
	assert_int_equal(parse(scratch, n + 4, n + 4, &f, &m), BP_FRAME_TCP);
	assert_int_equal(f.l2, 26);
	assert_int_equal(f.tunnel, 200u << 16);
	free(m);
	memmove(scratch + 20, scratch + 16, n - 12); /* a fourth */
	assert_int_equal(parse(scratch, n + 8, n + 8, &f, &m), BP_FRAME_UNREAD);
	assert_int_equal(f.unread, BP_UNREAD_VLAN);
	free(m);
	n = peer_frame(&c, CLIENT, TH_ACK, 1, 2, "x", 1, scratch);
	scratch[12] = 0x91; /* QinQ before it had a standard */
	scratch[13] = 0x00;
	assert_int_equal(parse(scratch, n, n, &f, &m), BP_FRAME_TCP);
	assert_int_equal(f.vlan_outer, 100);
	free(m);
}

/* RFC 1071 by the letter. */
static bool checksum_by_the_letter(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* Every single bit that is flipped anywhere behind the Ethernet header is seen, where it must be.
 */
static void every_bit_counts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct peer c;
		size_t n, l3;

		some_peer(&c, i, i);
		n = peer_frame(&c, CLIENT, TH_ACK, 1, 2, "odd", 3, scratch);
		l3 = peer_l4(&c) - (i ? 40 : 20);
		for (size_t bit = l3 * 8; bit < n * 8; bit++) {
			struct bp_frame f;
			uint8_t *m;
			/* IPv6 has no sum over its traffic class, flow label and hop limit */
			bool covered = !i || bit >= (l3 + 8) * 8;

			scratch[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (parse(scratch, n, n, &f, &m) == BP_FRAME_TCP && covered)
				assert_false(bp_frame_checksum_ok(&f));
			free(m);
			scratch[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

/* Any length, any cut into pieces, odd ones and empty ones: the same answer as by the letter. */
static void checksum_in_pieces(void **state)
{
	uint64_t s = 12345;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		uint32_t len = test_below(&s, round % 10 == 0 ? 9000 : 80), at;
		struct bp_piece piece[16];
		struct bp_frame f;
		struct peer c;
		uint8_t *m, payload[9000];
		size_t n;
		bool wrong = test_below(&s, 2);

		some_peer(&c, round & 1, round % 3);
		for (uint32_t i = 0; i < len; i++)
			payload[i] = test_below(&s, 3) ? (uint8_t)test_random(&s) : 0xff;
		n = peer_frame(
			&c, CLIENT, TH_ACK, (uint32_t)test_random(&s), 2, payload, len, scratch);
		if (wrong)
			scratch[peer_l4(&c) + test_below(&s, 20 + len)] ^= 0x10;
		if (bp_frame_parse(scratch, (uint32_t)n, (uint32_t)n, &f) != BP_FRAME_TCP)
			continue;
		assert_int_equal(bp_frame_checksum_ok(&f), !wrong);
		{
			uint8_t pseudo[8] = {0, 6, 0, 0};
			const uint8_t *ip = scratch + f.l3;
			uint32_t tcp = (uint32_t)(n - f.l4), sum = 0;

			pseudo[2] = (uint8_t)(tcp >> 8);
			pseudo[3] = (uint8_t)tcp;
			for (unsigned i = 0; i < 4; i += 2)
				sum += (uint32_t)(pseudo[i] << 8 | pseudo[i + 1]);
			for (unsigned i = 0; i < (f.ip6 ? 32u : 8u); i += 2)
				sum += (uint32_t)(ip[(f.ip6 ? 8 : 12) + i] << 8 |
						  ip[(f.ip6 ? 8 : 12) + i + 1]);
			assert_int_equal(checksum_by_the_letter(scratch + f.l4, tcp, sum), !wrong);
		}
		/* the same in a chain of buffers */
		f.contiguous = f.payload + test_below(&s, len + 1);
		m = malloc(f.contiguous);
		memcpy(m, scratch, f.contiguous);
		f.data = m;
		f.more = piece;
		at = f.contiguous;
		for (f.n_more = 0; at < n && f.n_more < 16; f.n_more++) {
			uint32_t take = f.n_more == 15 ? (uint32_t)n - at
						       : test_below(&s, (uint32_t)n - at + 1);

			piece[f.n_more].data = scratch + at;
			piece[f.n_more].len = take;
			at += take;
		}
		if (at == n)
			assert_int_equal(bp_frame_checksum_ok(&f), !wrong);
		free(m);
	}
}

/* Random bytes and randomly damaged frames: any result, but no read out of bounds. */
static void random_frames_are_read_within_bounds(void **state)
{
	uint64_t s = 99;

	(void)state;
	for (unsigned round = 0; round < 60000; round++) {
		struct bp_frame f;
		struct peer c;
		uint8_t *m;
		size_t n, cut;

		some_peer(&c, round & 1, round % 3);
		n = peer_frame(&c, round % 2, TH_ACK, 1, 2, "0123456789", 10, scratch);
		for (unsigned i = test_below(&s, 6); i != 0; i--)
			scratch[12 + test_below(&s, (uint32_t)n - 12)] = (uint8_t)test_random(&s);
		cut = test_below(&s, 4) ? n : test_below(&s, (uint32_t)n + 1);
		if (parse(scratch, cut, n, &f, &m) == BP_FRAME_TCP) {
			assert_true(f.payload <= f.contiguous);
			assert_true(f.payload + f.payload_len <= n);
			(void)bp_frame_checksum_ok(&f);
		}
		free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_parsed),
		cmocka_unit_test(truncated_frames_are_not_read),
		cmocka_unit_test(inconsistent_ip4_lengths),
		cmocka_unit_test(inconsistent_ip6_lengths),
		cmocka_unit_test(extension_headers),
		cmocka_unit_test(fragments_by_protocol),
		cmocka_unit_test(priority_tags),
		cmocka_unit_test(vlan_depth),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(checksum_in_pieces),
		cmocka_unit_test(random_frames_are_read_within_bounds),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
