/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_AGGREGATION_DISAGG_FRAMES_H
#define BP_TESTS_UNIT_SERVICES_AGGREGATION_DISAGG_FRAMES_H

#include "tests/unit/services/aggregation/disagg_rig.h"

#include "proto/net/crc32c.h"

/* One aggregate after another, for rig's rules, and what becomes of it. */
static struct udp u; /* the datagram that the test is about */
static uint8_t frame[FRAME_MOST];
static unsigned len;

static inline void write_it(void)
{
	len = udp_write(&u, frame);
}

/* An aggregate of format full with three messages of two senders. */
static inline void make_full(unsigned family)
{
	static struct udp m[3];
	const struct udp *list[] = {&m[0], &m[1], &m[2]};
	const char *one = family == 4 ? "10.0.0.17" : "fd00:0:0:0:0:0:0:17";

	u = carrier(BP_AGG_FORMAT_FULL, family);
	m[0] = message_in(&u, one, 40017, 64, "21.5 C", 6);
	m[1] = message_in(&u, one, 40018, 64, "on", 2);
	m[2] = message_in(&u, family == 4 ? "10.0.0.200" : "fd00:0:0:0:a:b:c:d", 5000, 63,
		"19.0 degrees", 12);
	pack(&u, list, 3, 0x5eed, 41);
	write_it();
}

static inline void make_paper(unsigned family, unsigned n)
{
	u = carrier(BP_AGG_FORMAT_LIN2018, family);
	u.payload[0] = 0xfc;
	u.len = (uint16_t)(6 + 16 * n);
	write_it();
}

static inline void expect(enum bp_disagg_verdict want)
{
	assert_int_equal(evaluate(frame, len), want);
}

static inline void expect_refused(enum bp_disagg_rejection want)
{
	const unsigned count = (unsigned)stats[0].refused + (unsigned)stats[1].refused +
			       (unsigned)stats[2].refused + (unsigned)stats[3].refused;

	why = BP_DISAGG_REFUSALS;
	expect(BP_DISAGG_REJECTED);
	assert_int_equal(why, want);
	assert_true(rule < 4);
	assert_int_equal(stats[0].refused + stats[1].refused + stats[2].refused + stats[3].refused,
		count + 1);
}

/* The directory's checksum, after a test has changed what it covers. */
static inline void seal(void)
{
	uint8_t *p = u.payload;
	const uint32_t crc = bp_crc32c_portable(BP_CRC32C_INIT, p, 12);

	put(p + 12, 4, ~bp_crc32c_portable(crc, p + 16, get(p + 4, 2)));
	write_it();
}

/* One sender among others is enough to refuse all. */
static inline void with_sender(unsigned family, const char *address, unsigned port, unsigned hops,
	unsigned among, unsigned at)
{
	static struct udp m[8];
	const struct udp *list[8];

	u = carrier(BP_AGG_FORMAT_FULL, family);
	for (unsigned i = 0; i < among; i++) {
		m[i] = message_in(
			&u, family == 4 ? "10.0.0.17" : "fd00:0:0:0:0:0:0:17", 7, 64, "x", 1);
		list[i] = &m[i];
	}
	m[at] = message_in(&u, address, (uint16_t)port, (uint8_t)hops, "y", 1);
	pack(&u, list, among, 1, 1);
	write_it();
}

#endif
