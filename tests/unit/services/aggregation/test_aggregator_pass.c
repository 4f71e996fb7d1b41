/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/aggregator_rig.h"

/* Bypassing messages: forwarded, dropped, and their order relative to aggregated ones. */

static int set_up(void **state)
{
	begin_with(16, 2048);
	add_rule("10.1.0.0", 24)->messages = 200;
	add_rule("fd00:1:0:0:0:0:0:0", 64)->messages = 200;
	rules_are_set();
	return 0;
}

static struct udp of_family(unsigned family)
{
	struct udp u = from_sender(1);

	if (family == 6) {
		u.family = 6;
		address_of("fd00:0:0:0:0:0:0:5", u.src);
		address_of("fd00:1:0:0:0:0:0:9", u.dst);
	}
	return u;
}

/* A message waits; then this frame arrives, and bypasses for that reason. `flushes`: the waiting
 * message leaves first. */
static void expect_bytes_pass(
	const uint8_t *frame, unsigned len, unsigned frame_len, uint8_t reason, bool flushes)
{
	const bool six = frame[12] == 0x86;
	const struct udp u = of_family(six ? 6 : 4);
	const unsigned left_before = n_left;
	const uint64_t passed = stats[six].passed, orders = flushed(six, BP_AGG_FLUSH_ORDER);

	assert_int_equal(give(&u), BP_AGG_TAKEN);
	assert_int_equal(n_left, left_before);
	assert_int_equal(give_bytes(frame, len, frame_len), BP_AGG_PASS);
	assert_int_equal(why, reason);
	assert_int_equal(by_rule, six);
	assert_int_equal(stats[six].passed, passed + 1);
	assert_int_equal(n_left, left_before + flushes);
	assert_int_equal(flushed(six, BP_AGG_FLUSH_ORDER), orders + flushes);
	if (flushes) {
		assert_int_equal(left[n_left - 1].n, 1);
		expect_message(&left[n_left - 1], 0, &u);
	} else {
		bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	}
}

static void expect_pass(const struct udp *u, uint8_t reason, bool flushes)
{
	uint8_t frame[FRAME_MOST];
	const unsigned len = udp_write(u, frame);

	expect_bytes_pass(frame, len, len, reason, flushes);
}

static void too_long(void **state)
{
	for (unsigned family = 4; family <= 6; family += 2) {
		struct udp u = of_family(family);

		/* as configured, to the byte */
		u.len = 1024;
		assert_int_equal(give(&u), BP_AGG_TAKEN);
		bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
		u.len = 1025;
		expect_pass(&u, BP_AGG_PASS_LENGTH, true);
	}
	/* than fits into an aggregate, around the length where it is an byte longer */
	for (unsigned mtu = 28; mtu < 28 + 16 + 22 + 300; mtu++) {
		struct udp u = of_family(4);
		unsigned longest = 0;

		rules.aggregate[0].mtu = (uint16_t)mtu;
		n_left = 0;
		rules_are_set();
		n_left = 0;
		u.len = 0;
		if (bp_agg_full_alone(4, 0) > mtu - 28) {
			assert_int_equal(give(&u), BP_AGG_PASS);
			assert_int_equal(why, BP_AGG_PASS_LENGTH);
			continue;
		}
		while (bp_agg_full_alone(4, longest + 1) <= mtu - 28)
			longest++;
		u.len = (uint16_t)longest;
		assert_int_equal(give(&u), BP_AGG_TAKEN);
		bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
		assert_int_equal(left[0].len, 14 + 28 + bp_agg_full_alone(4, longest));
		assert_true(left[0].len - 14 <= mtu);
		u.len++;
		assert_int_equal(give(&u), BP_AGG_PASS);
		assert_int_equal(why, BP_AGG_PASS_LENGTH);
	}
}

static void wrong_checksum_bypasses(void **state)
{
	uint8_t frame[FRAME_MOST];

	for (unsigned family = 4; family <= 6; family += 2) {
		struct udp u = of_family(family);
		const unsigned ip = 14, payload = ip + (family == 4 ? 28 : 48);
		unsigned len = udp_write(&u, frame);

		/* every bit of the UDP datagram, but for the port that chooses the rule and the
		 * length, which is a matter of shape */
		for (unsigned bit = 8 * (payload - 8); bit < 8 * len; bit++) {
			if (bit / 8 >= payload - 6 && bit / 8 < payload - 2)
				continue;
			frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
			expect_bytes_pass(frame, len, len, BP_AGG_PASS_CHECKSUM, false);
			frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		/* none at all */
		u.no_checksum = true;
		if (family == 4) {
			assert_int_equal(give(&u), BP_AGG_TAKEN);
			bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
			expect_message(&left[n_left - 1], 0, &u);
		} else {
			expect_pass(&u, BP_AGG_PASS_CHECKSUM, false);
		}
	}
	/* the IPv4 header's */
	for (unsigned at = 0; at < 20; at++) {
		const struct udp u = of_family(4);
		const unsigned len = udp_write(&u, frame);

		frame[14 + at] ^= 1;
		/* version and header length, fragment offset, protocol: no datagram; the
		 * destination: not of this rule's */
		if (at == 0 || at == 6 || at == 7 || at == 9 || (at >= 16 && at < 19))
			assert_int_equal(give_bytes(frame, len, len), BP_AGG_OTHER);
		else
			expect_bytes_pass(frame, len, len, BP_AGG_PASS_CHECKSUM, false);
	}
}

/* The Total Length of an IPv4 header without tags, and the checksum that goes with it. */
static void set_total(uint8_t *frame, unsigned total)
{
	put(frame + 16, 2, total);
	put(frame + 24, 2, 0);
	put(frame + 24, 2, ~plain_sum(frame + 14, 20, 0) & 0xffff);
}

static void unsuitable_frames_bypass(void **state)
{
	uint8_t frame[FRAME_MOST];
	struct udp u = of_family(4);
	unsigned len = udp_write(&u, frame);

	/* the padding of a short frame is not part of it */
	memset(frame + len, 0x77, 14);
	assert_int_equal(give_bytes(frame, len + 14, len + 14), BP_AGG_TAKEN);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	expect_message(&left[0], 0, &u);
	assert_int_equal(stats[0].message_bytes, len + 14);

	/* the frame ends before the packet does, or has several segments */
	expect_bytes_pass(frame, len - 1, len - 1, BP_AGG_PASS_SHAPE, true);
	expect_bytes_pass(frame, len - 4, len, BP_AGG_PASS_SHAPE, true);
	expect_bytes_pass(frame, len, len + 1, BP_AGG_PASS_SHAPE, true);
	/* UDP's header is not all there: no one can say whose it is */
	for (unsigned n = 0; n < 42; n++)
		assert_int_equal(give_bytes(frame, n, n), BP_AGG_OTHER);

	/* UDP and IP of different lengths: more, less, less than a header */
	for (unsigned i = 0; i < 4; i++) {
		static const uint16_t lengths[] = {13, 11, 7, 0};

		put(frame + 38, 2, lengths[i]);
		expect_bytes_pass(frame, len, len, BP_AGG_PASS_SHAPE, true);
	}
	/* also where the UDP checksum is right for the length that UDP says */
	for (unsigned more = 1; more < 5; more++) {
		len = udp_write(&u, frame);
		memset(frame + len, 0, more);
		set_total(frame, len - 14 + more);
		expect_bytes_pass(frame, len + more, len + more, BP_AGG_PASS_SHAPE, true);
		set_total(frame, len - 14 - more);
		expect_bytes_pass(frame, len, len, BP_AGG_PASS_SHAPE, true);
	}
	/* and where both say the same, but less than a header */
	for (unsigned n = 0; n < 8; n++) {
		len = udp_write(&u, frame);
		put(frame + 38, 2, n);
		set_total(frame, 20 + n);
		expect_bytes_pass(frame, len, len, BP_AGG_PASS_SHAPE, true);
	}
	u = of_family(6);
	len = udp_write(&u, frame);
	put(frame + 18, 2, 7);
	put(frame + 58, 2, 7);
	expect_bytes_pass(frame, len, len, BP_AGG_PASS_SHAPE, true);

	/* IPv4 options: the same datagram behind a header of 24 bytes */
	u = of_family(4);
	len = udp_write(&u, frame);
	memmove(frame + 38, frame + 34, len - 34);
	memset(frame + 34, 1, 4);
	frame[14] = 0x46;
	put(frame + 16, 2, len - 14 + 4);
	put(frame + 24, 2, 0);
	put(frame + 24, 2, ~plain_sum(frame + 14, 24, 0) & 0xffff);
	expect_bytes_pass(frame, len + 4, len + 4, BP_AGG_PASS_SHAPE, true);
	frame[35] ^= 4;
	expect_bytes_pass(frame, len + 4, len + 4, BP_AGG_PASS_CHECKSUM, false);
}

static void other_protocols_bypass(void **state)
{
	uint8_t frame[FRAME_MOST];
	const struct udp four = of_family(4), six = of_family(6);
	struct udp u;
	unsigned len;

	for (unsigned i = 0; i < 5; i++) {
		len = udp_write(&four, frame);
		if (i == 0)
			put(frame + 20, 2, 0x0001); /* the last fragment of some */
		else if (i == 1)
			put(frame + 20, 2, 0x2001); /* one in the middle */
		else if (i == 2)
			frame[23] = 6; /* TCP */
		else if (i == 3)
			frame[0] = 0x01; /* a group of stations */
		else
			put(frame + 12, 2, 0x0806);
		put(frame + 24, 2, 0);
		put(frame + 24, 2, ~plain_sum(frame + 14, 20, 0) & 0xffff);
		assert_int_equal(give_bytes(frame, len, len), BP_AGG_OTHER);
	}
	/* IPv6 with an extension header */
	len = udp_write(&six, frame);
	frame[20] = 60;
	assert_int_equal(give_bytes(frame, len, len), BP_AGG_OTHER);
	/* three tags */
	u = four;
	u.n_tags = 8;
	memcpy(u.tags, "\x81\x00\x00\x01\x81\x00\x00\x02", 8);
	len = udp_write(&u, frame);
	memmove(frame + 24, frame + 20, len - 20);
	assert_int_equal(give_bytes(frame, len + 4, len + 4), BP_AGG_OTHER);
	/* other destinations */
	u = four;
	u.dport = 5554;
	assert_int_equal(give(&u), BP_AGG_OTHER);
	u.dport = 5556;
	assert_int_equal(give(&u), BP_AGG_OTHER);
	u = four;
	u.dst[2] = 1;
	assert_int_equal(give(&u), BP_AGG_OTHER);
	/* the same first bytes in the other family */
	u = six;
	memcpy(u.dst, four.dst, 4);
	assert_int_equal(give(&u), BP_AGG_OTHER);
	assert_int_equal(stats[0].passed + stats[1].passed, 0);
	assert_int_equal(n_left, 0);
}

/* The first fragment of a datagram passes behind what waits, also with the other Don't Fragment:
 * hosts clear it in what they fragment. */
static void fragments_bypass_in_order(void **state)
{
	uint8_t frame[FRAME_MOST];
	struct udp u = of_family(4);
	unsigned len;

	for (unsigned dont = 0; dont < 2; dont++) {
		len = udp_write(&u, frame);
		put(frame + 20, 2, dont ? 0x6000 : 0x2000);
		put(frame + 24, 2, 0);
		put(frame + 24, 2, ~plain_sum(frame + 14, 20, 0) & 0xffff);
		expect_bytes_pass(frame, len, len, BP_AGG_PASS_SHAPE, true);
		/* both that are waiting; and of another DSCP nothing leaves */
		n_left = 0;
		assert_int_equal(give(&u), BP_AGG_TAKEN);
		u.dont_fragment = true;
		assert_int_equal(give(&u), BP_AGG_TAKEN);
		u.dont_fragment = false;
		u.tos = 0x20;
		assert_int_equal(give(&u), BP_AGG_TAKEN);
		u.tos = of_family(4).tos;
		assert_int_equal(give_bytes(frame, len, len), BP_AGG_PASS);
		assert_int_equal(n_left, 2);
		bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
		assert_int_equal(n_left, 3);
		n_left = 0;
	}
	/* a host that reassembles the fragments would create a payload that looks like an aggregate
	 */
	put(frame + 42, 2, 0xfda6);
	assert_int_equal(give_bytes(frame, len, len), BP_AGG_AMBIGUOUS_PAYLOAD);
	put(frame + 42, 2, 0);
	/* a damaged header is no one's */
	frame[24] ^= 1;
	expect_bytes_pass(frame, len, len, BP_AGG_PASS_CHECKSUM, false);

	u = of_family(6);
	len = udp_write(&u, frame);
	memmove(frame + 62, frame + 54, len - 54);
	len += 8;
	put(frame + 18, 2, len - 54);
	frame[20] = 44;
	memcpy(frame + 54, "\x11\0\0\1\1\2\3\4", 8);
	expect_bytes_pass(frame, len, len, BP_AGG_PASS_SHAPE, true);
	n_left = 0;
	/* a later one, one of something else, and one whose UDP header is not all there */
	put(frame + 56, 2, 8 | 1);
	assert_int_equal(give_bytes(frame, len, len), BP_AGG_OTHER);
	put(frame + 56, 2, 1);
	frame[54] = 6;
	assert_int_equal(give_bytes(frame, len, len), BP_AGG_OTHER);
	frame[54] = 17;
	for (unsigned n = 54; n < 70; n++)
		assert_int_equal(give_bytes(frame, n, n), BP_AGG_OTHER);
	assert_int_equal(n_left, 0);
}

static uint8_t verdict_routed(const struct udp *u, bool is_routed, uint64_t mac)
{
	uint8_t frame[FRAME_MOST];
	const unsigned len = udp_write(u, frame);
	struct bp_agg_input in = {
		.frame = frame, .len = len, .frame_len = len, .routed = is_routed, .mac = mac};

	bp_aggregator_take(a, &in, 1, now, wall);
	why = in.pass;
	return in.verdict;
}

/* A port that routes takes what is for its own MAC address, whatever was taken before. */
static void routed_port_takes_its_own_mac_only(void **state)
{
	const uint64_t mine = 0x010000000002; /* 02:00:00:00:00:01 */

	for (unsigned family = 4; family <= 6; family += 2) {
		struct udp u = of_family(family);

		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(verdict_routed(&u, true, mine), BP_AGG_TAKEN);
			for (unsigned bit = 0; bit < 48; bit++)
				assert_int_equal(
					verdict_routed(&u, true, mine ^ 1ull << bit), BP_AGG_OTHER);
			/* the bytes after the address in the 64-bit word are ignored */
			assert_int_equal(verdict_routed(&u, true, mine | 1ull << 48), BP_AGG_TAKEN);
			assert_int_equal(verdict_routed(&u, false, 0), BP_AGG_TAKEN);
		}
		u.macs[5] = 2;
		assert_int_equal(verdict_routed(&u, true, mine), BP_AGG_OTHER);
		assert_int_equal(verdict_routed(&u, false, mine), BP_AGG_TAKEN);
		assert_int_equal(verdict_routed(&u, true, mine), BP_AGG_OTHER);
		if (family == 4)
			continue;
		/* packets that may not be routed are left to the router */
		address_of("fe80:0:0:0:0:0:0:5", u.src);
		u.macs[5] = 1;
		assert_int_equal(verdict_routed(&u, true, mine), BP_AGG_PASS);
		assert_int_equal(why, BP_AGG_PASS_SENDER);
		assert_int_equal(verdict_routed(&u, false, 0), BP_AGG_TAKEN);
	}
}

static void invalid_senders_bypass(void **state)
{
	static const char *const bad[] = {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1",
		"240.0.0.1", "255.255.255.255", "0:0:0:0:0:0:0:0", "0:0:0:0:0:0:0:1",
		"0:0:0:0:0:ffff:a00:1", "ff02:0:0:0:0:0:0:1"};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct udp u = of_family(strchr(bad[i], ':') != NULL ? 6 : 4);

		address_of(bad[i], u.src);
		expect_pass(&u, BP_AGG_PASS_SENDER, true);
	}
	for (unsigned family = 4; family <= 6; family += 2) {
		struct udp u = of_family(family);

		u.sport = 0;
		expect_pass(&u, BP_AGG_PASS_SENDER, true);
		u = of_family(family);
		u.hops = 0;
		expect_pass(&u, BP_AGG_PASS_SENDER, true);
		u.hops = 1;
		assert_int_equal(give(&u), BP_AGG_TAKEN);
	}
}

static void give_senders(unsigned rule, const char *const prefix[], const unsigned length[])
{
	struct bp_agg_rule *r = &rules.aggregate[rule];

	for (r->n_senders = 0; prefix[r->n_senders] != NULL; r->n_senders++) {
		const char *text = prefix[r->n_senders];
		struct bp_address address = {.family = strchr(text, ':') != NULL ? 6 : 4};

		address_of(text, address.bytes);
		r->senders[r->n_senders] = bp_prefix_of(address, length[r->n_senders]);
	}
	n_left = 0;
	rules_are_set();
}

static void expect_from(const char *source, bool in)
{
	struct udp u = of_family(strchr(source, ':') != NULL ? 6 : 4);
	const unsigned before = n_left;

	address_of(source, u.src);
	if (!in) {
		expect_pass(&u, BP_AGG_PASS_SENDER, true);
		return;
	}
	/* one that starts a stream, and one equal to the previous one */
	assert_int_equal(give(&u), BP_AGG_TAKEN);
	assert_int_equal(give(&u), BP_AGG_TAKEN);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_int_equal(n_left, before + 1);
	assert_int_equal(left[before].n, 2);
}

/* Prefixes that end within each byte, and sources on both sides of their limits. The waiting
 * messages in expect_pass() are from 10.0.0.1 and fd00::5. */
static void senders_given(void **state)
{
	static const char *const of_4[] = {
		"10.0.0.0", "172.16.0.0", "192.0.2.128", "198.51.100.7", "64.0.0.0", NULL};
	static const unsigned lengths_4[] = {24, 12, 25, 32, 3};
	static const char *const of_6[] = {"fd00:0:0:0:0:0:0:0", "fd01:0:0:0:8000:0:0:0",
		"fd02:0:0:0:0:0:0:7", "2000:0:0:0:0:0:0:0", NULL};
	static const unsigned lengths_6[] = {64, 65, 128, 5};
	static const char *const in[] = {"10.0.0.0", "10.0.0.255", "172.16.0.0", "172.31.255.255",
		"192.0.2.128", "192.0.2.255", "198.51.100.7", "64.0.0.0", "95.255.255.255",
		"fd00:0:0:0:ffff:ffff:ffff:ffff", "fd00:0:0:0:0:0:0:1", "fd01:0:0:0:8000:0:0:0",
		"fd01:0:0:0:ffff:ffff:ffff:ffff", "fd02:0:0:0:0:0:0:7", "2000:0:0:0:0:0:0:0",
		"27ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"};
	static const char *const outside[] = {"9.255.255.255", "10.0.1.0", "172.15.255.255",
		"172.32.0.0", "192.0.2.127", "192.0.3.128", "198.51.100.6", "198.51.100.8",
		"63.255.255.255", "96.0.0.0", "1.0.0.10", "fcff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"fd00:0:0:1:0:0:0:0", "fd01:0:0:0:7fff:ffff:ffff:ffff", "fd01:0:0:1:8000:0:0:0",
		"fd02:0:0:0:0:0:0:6", "fd02:0:0:0:0:0:0:8",
		"1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2800:0:0:0:0:0:0:0"};

	give_senders(0, of_4, lengths_4);
	give_senders(1, of_6, lengths_6);
	for (unsigned i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		expect_from(in[i], true);
	for (unsigned i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		expect_from(outside[i], false);
	/* an invalid sender address is not allowed by a prefix that contains it */
	expect_from("224.0.0.1", false);
	give_senders(0, (const char *const[]){"0.0.0.0", NULL}, (const unsigned[]){0});
	expect_from("9.255.255.255", true);
	expect_from("127.0.0.1", false);
	/* none given: all are taken again */
	give_senders(0, (const char *const[]){NULL}, NULL);
	give_senders(1, (const char *const[]){NULL}, NULL);
	for (unsigned i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		expect_from(outside[i], true);
}

/* As many as there may be: the last one counts. Of the other family alone: no one. */
static void senders_to_the_bound(void **state)
{
	struct bp_agg_rule *r = &rules.aggregate[0];
	struct udp u = of_family(4);

	r->n_senders = BP_AGG_SENDERS_MAX;
	for (unsigned i = 0; i < BP_AGG_SENDERS_MAX; i++) {
		const struct bp_address address = {
			.bytes = {10, 0, 0, (uint8_t)(16 - i)}, .family = 4};

		r->senders[i] = bp_prefix_of(address, 32);
	}
	rules_are_set();
	for (unsigned i = 0; i < 256; i++) {
		u.src[3] = (uint8_t)i;
		assert_int_equal(give(&u), i >= 1 && i <= 16 ? BP_AGG_TAKEN : BP_AGG_PASS);
	}
	assert_int_equal(stats[0].passed, 256 - 16);
	for (unsigned i = 0; i < BP_AGG_SENDERS_MAX; i++)
		r->senders[i].family = 6;
	rules_are_set();
	for (unsigned i = 0; i < 256; i++) {
		u.src[3] = (uint8_t)i;
		assert_int_equal(give(&u), BP_AGG_PASS);
		assert_int_equal(why, BP_AGG_PASS_SENDER);
	}
}

/* Messages from other senders are forwarded, also in format lin2018, except those that the far end
 * would decapsulate. */
static void senders_and_formats(void **state)
{
	static const char *const of_4[] = {"10.0.0.0", NULL};
	static const unsigned length[] = {24};
	struct udp u = from_sender(1);

	give_senders(0, of_4, length);
	put(u.payload, 2, 0xfda6);
	assert_int_equal(give(&u), BP_AGG_TAKEN);
	u.src[2] = 1;
	assert_int_equal(give(&u), BP_AGG_AMBIGUOUS_PAYLOAD);
	assert_int_equal(why, BP_AGG_PASS_SENDER);
	assert_int_equal(n_left, 0);
	assert_int_equal(stats[0].passed, 1);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	rules.aggregate[0].format = BP_AGG_FORMAT_LIN2018;
	give_senders(0, of_4, length);
	u = from_sender(1);
	u.len = 22;
	u.payload[0] = 0xfa;
	for (unsigned i = 0; i < 4; i++) {
		u.src[2] = i & 1;
		assert_int_equal(give(&u), u.src[2] == 0 ? BP_AGG_TAKEN : BP_AGG_PASS);
		if (u.src[2] != 0)
			assert_int_equal(why, BP_AGG_PASS_SENDER);
		assert_int_equal(n_left, (i + 1) / 2);
	}
}

static void unsuitable_message_of_lin2018_bypasses(void **state)
{
	struct udp u = from_sender(1);

	rules.aggregate[0].format = BP_AGG_FORMAT_LIN2018;
	rules_are_set();
	u.len = 22;
	for (unsigned i = 0; i < 4; i++) {
		u.payload[0] = i == 1 ? 0xfc : 0xfa;
		u.len = i == 2 ? 21 : i == 3 ? 23 : 22;
		assert_int_equal(give(&u), i == 0 ? BP_AGG_TAKEN : BP_AGG_PASS);
		if (i != 0)
			assert_int_equal(why, BP_AGG_PASS_FORMAT);
		assert_int_equal(n_left, i > 0);
	}
	/* fda6 means nothing in this format */
	put(u.payload, 2, 0xfda6);
	u.len = 22;
	assert_int_equal(give(&u), BP_AGG_PASS);
}

/* A payload that begins like an aggregate is aggregated or dropped, and never forwarded. */
static void ambiguous_payloads(void **state)
{
	uint8_t frame[FRAME_MOST];
	struct udp u = from_sender(1);
	unsigned len;

	put(u.payload, 2, 0xfda6);
	assert_int_equal(give(&u), BP_AGG_TAKEN);
	u.len = 2;
	assert_int_equal(give(&u), BP_AGG_TAKEN);
	u.len = 1025;
	assert_int_equal(give(&u), BP_AGG_AMBIGUOUS_PAYLOAD);
	assert_int_equal(why, BP_AGG_PASS_LENGTH);
	u.len = 4;
	u.sport = 0;
	assert_int_equal(give(&u), BP_AGG_AMBIGUOUS_PAYLOAD);
	assert_int_equal(why, BP_AGG_PASS_SENDER);
	u.sport = 1;
	len = udp_write(&u, frame);
	assert_int_equal(give_bytes(frame, len, len + 1), BP_AGG_AMBIGUOUS_PAYLOAD);
	frame[len - 1] ^= 1;
	assert_int_equal(give_bytes(frame, len, len), BP_AGG_AMBIGUOUS_PAYLOAD);
	assert_int_equal(why, BP_AGG_PASS_CHECKSUM);
	/* it reaches no host: no message must leave before it */
	assert_int_equal(n_left, 0);
	assert_int_equal(stats[0].passed, 4);
	/* one byte is no beginning; bytes that fill the frame are none of the message */
	u.len = 1;
	u.sport = 0;
	len = udp_write(&u, frame);
	frame[len] = 0xa6;
	assert_int_equal(give_bytes(frame, len + 10, len + 10), BP_AGG_PASS);
	/* no buffer */
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	buffers_most = 0;
	u.len = 4;
	u.sport = 5;
	assert_int_equal(give(&u), BP_AGG_AMBIGUOUS_PAYLOAD);
	assert_int_equal(why, BP_AGG_PASS_NO_BUFFER);
	u.payload[0] = 0;
	assert_int_equal(give(&u), BP_AGG_PASS);
	assert_int_equal(why, BP_AGG_PASS_NO_BUFFER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(too_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_checksum_bypasses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unsuitable_frames_bypass, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_protocols_bypass, set_up, tear_down),
		cmocka_unit_test_setup_teardown(fragments_bypass_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			routed_port_takes_its_own_mac_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(invalid_senders_bypass, set_up, tear_down),
		cmocka_unit_test_setup_teardown(senders_given, set_up, tear_down),
		cmocka_unit_test_setup_teardown(senders_to_the_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(senders_and_formats, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			unsuitable_message_of_lin2018_bypasses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ambiguous_payloads, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("aggregator_pass", tests, NULL, NULL);
}
