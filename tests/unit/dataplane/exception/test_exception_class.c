/* SPDX-License-Identifier: BSD-3-Clause */
/* Which class of the exception path a frame for this machine belongs to. */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"

#include <string.h>

#include "dataplane/exception/exception_class.h"
#include "proto/net/ip.h"

static const struct bp_config_punt config = {.n_health_device_ports = 1,
	.health_device_ports = {6024},
	.listen_udp = 7024,
	.listen_tcp = 7025};

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

/* Similar packets of other kinds: any host could fill the class with them. */
static void similar_packets(void **state)
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

/* The first 8 bytes of a segment or datagram to a port, in IPv6. */
static enum bp_exception_class port6(uint8_t protocol, uint16_t dport)
{
	uint8_t f[64] = {[12] = 0x86, [13] = 0xdd, [14] = 0x60, [14 + 6] = protocol, [14 + 7] = 64};

	bp_put_be16(f + 54, 40000);
	bp_put_be16(f + 56, dport);
	return bp_exception_classify(&config, f, sizeof(f), true);
}

/* Ports that section health_devices listens on are of its class, each for its own protocol; those
 * that punt.health_device_ports has are, for both. */
static void health_devices(void **state)
{
	static const struct {
		uint8_t protocol;
		uint16_t port;
		enum bp_exception_class class;
	} cases[] = {
		{17, 7024, BP_EX_PHD},
		{6, 7025, BP_EX_PHD},
		{17, 6024, BP_EX_PHD},
		{6, 6024, BP_EX_PHD},
		{6, 7024, BP_EX_LOCAL},
		{17, 7025, BP_EX_LOCAL},
		{17, 7023, BP_EX_LOCAL},
		{6, 0, BP_EX_LOCAL},
		{17, 0, BP_EX_LOCAL},
	};
	static const struct bp_config_punt off = {
		.n_health_device_ports = 1, .health_device_ports = {6024}};
	uint8_t f[64] = {[12] = 0x08, [14] = 0x45, [14 + 8] = 64, [14 + 9] = 17};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			class4(cases[i].protocol, 64, 40000, cases[i].port), cases[i].class);
		assert_int_equal(port6(cases[i].protocol, cases[i].port), cases[i].class);
	}
	/* packets from there are not from devices */
	assert_int_equal(class4(17, 64, 7024, 40000), BP_EX_LOCAL);
	/* without the section no port 0 is */
	assert_int_equal(bp_exception_classify(&off, f, sizeof(f), true), BP_EX_LOCAL);
	/* nor what is for other machines */
	bp_put_be16(f + 36, 7024);
	assert_int_equal(bp_exception_classify(&config, f, sizeof(f), false), BP_EX_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routing_protocols),
		cmocka_unit_test(similar_packets),
		cmocka_unit_test(health_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
