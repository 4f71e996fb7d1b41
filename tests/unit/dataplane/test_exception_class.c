/* SPDX-License-Identifier: BSD-3-Clause */
/* Which class of the exception path a frame for this machine belongs to. */
#include "tests/unit/dataplane/test.h"

#include <string.h>

#include "dataplane/exception_class.h"
#include "proto/ip.h"

static const struct bp_config_exception config = {.n_phd_ports = 1, .phd_ports = {6024}};

static enum bp_exception_class class4(uint8_t protocol, uint8_t ttl, uint16_t sport, uint16_t dport)
{
	uint8_t f[64] = {[12] = 0x08, [14] = 0x45, [14 + 8] = ttl, [14 + 9] = protocol};

	bp_put_be16(f + 34, sport);
	bp_put_be16(f + 36, dport);
	assert_false(bp_exception_is_nd(f, sizeof(f)));
	return bp_exception_classify(&config, f, sizeof(f), true);
}

static enum bp_exception_class class6(uint8_t protocol, uint8_t hops, uint8_t type)
{
	uint8_t f[64] = {[12] = 0x86,
		[13] = 0xdd,
		[14] = 0x60,
		[14 + 6] = protocol,
		[14 + 7] = hops,
		[54] = type};

	return bp_exception_classify(&config, f, sizeof(f), true);
}

static void routing_protocols(void **state)
{
	assert_int_equal(class4(89, 1, 0, 0), BP_EX_ROUTING);
	assert_int_equal(class4(89, 64, 0, 0), BP_EX_ROUTING); /* a virtual link */
	assert_int_equal(class4(6, 64, 40000, 179), BP_EX_ROUTING);
	assert_int_equal(class4(6, 64, 179, 40000), BP_EX_ROUTING);
	assert_int_equal(class4(17, 1, 520, 520), BP_EX_ROUTING);
	assert_int_equal(class4(17, 255, 49152, 3784), BP_EX_ROUTING);
	assert_int_equal(class4(17, 254, 49152, 3785), BP_EX_ROUTING);
	assert_int_equal(class4(17, 64, 49152, 4784), BP_EX_ROUTING);
	assert_int_equal(class4(2, 1, 0, 0), BP_EX_ROUTING);
	assert_int_equal(class4(112, 255, 0, 0), BP_EX_ROUTING);
	for (uint8_t type = 133; type <= 137; type++)
		assert_int_equal(class6(58, 255, type), BP_EX_ROUTING);
	assert_int_equal(class6(58, 1, 130), BP_EX_ROUTING);
	assert_int_equal(class6(58, 1, 143), BP_EX_ROUTING);
	assert_int_equal(class4(17, 64, 40000, 6024), BP_EX_PHD);
}

/* What looks like it, but is not: the class would be filled with it from anywhere. */
static void what_looks_like_them(void **state)
{
	assert_int_equal(class4(17, 64, 40000, 179), BP_EX_LOCAL); /* BGP is TCP */
	assert_int_equal(class4(6, 64, 40000, 520), BP_EX_LOCAL);  /* RIP is UDP */
	assert_int_equal(class4(6, 255, 40000, 3784), BP_EX_LOCAL);
	assert_int_equal(class4(17, 64, 49152, 3784), BP_EX_LOCAL); /* came through a router */
	assert_int_equal(class4(17, 64, 49152, 3785), BP_EX_LOCAL);
	assert_int_equal(class4(2, 64, 0, 0), BP_EX_LOCAL);
	assert_int_equal(class4(112, 64, 0, 0), BP_EX_LOCAL);
	assert_int_equal(class4(58, 255, 0x8700, 0), BP_EX_LOCAL); /* ICMPv6 in IPv4 */
	assert_int_equal(class6(58, 254, 135), BP_EX_LOCAL);
	assert_int_equal(class6(58, 64, 143), BP_EX_LOCAL);
	assert_int_equal(class6(58, 255, 128), BP_EX_LOCAL); /* an echo request */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routing_protocols),
		cmocka_unit_test(what_looks_like_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
