/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include "config/url.h"

static const char *const schemes[] = {"mqtt", "mqtts", NULL};

static void takes(const char *text, unsigned scheme, const char *host, uint16_t port)
{
	struct bp_fault fault = {0};
	struct bp_url u;
	char written[300] = "";
	FILE *f = fmemopen(written, sizeof(written), "w");

	if (!bp_url_read(text, schemes, &u, &fault))
		fail_msg("%s: %s", text, fault.what);
	assert_int_equal(u.scheme, scheme);
	assert_string_equal(u.host, host);
	assert_int_equal(u.port, port);
	assert_non_null(f);
	bp_url_write(schemes[u.scheme], u.host, u.port, f);
	fclose(f);
	assert_string_equal(written, text);
}

static void refuses(const char *text, size_t at, const char *what)
{
	struct bp_fault fault = {0};
	struct bp_url u;

	assert_false(bp_url_read(text, schemes, &u, &fault));
	assert_string_equal(fault.what, what);
	assert_int_equal(fault.at, at);
}

static void hosts_ports_and_schemes_are_read(void **state)
{
	takes("mqtt://broker.example", 0, "broker.example", 0);
	takes("mqtts://192.0.2.10:8883", 1, "192.0.2.10", 8883);
	takes("mqtt://[2001:db8::1]", 0, "2001:db8::1", 0);
	takes("mqtt://[2001:db8::1]:65535", 0, "2001:db8::1", 65535);
	takes("mqtt://b:1", 0, "b", 1);
}

static void other_texts_are_refused_at_their_byte(void **state)
{
	refuses("broker.example", 0, "'broker.example' is not a URL");
	refuses("", 0, "'' is not a URL");
	refuses("http://b", 0, "scheme 'http' is not supported here");
	refuses("mqt://b", 0, "scheme 'mqt' is not supported here");
	refuses("MQTT://b", 0, "scheme 'MQTT' is not supported here");
	refuses("mqtt://", 7, "the host is missing");
	refuses("mqtt://:1883", 7, "the host is missing");
	refuses("mqtt://[]", 8, "the host is missing");
	refuses("mqtt://[::1", 7, "']' is missing");
	refuses("mqtt://[::1]1", 12, "'1' is not a port");
	refuses("mqtt://b:", 8, "':' is not a port");
	refuses("mqtt://b:-1", 8, "':-1' is not a port");
	refuses("mqtt://b:0", 9, "'0' is not a port from 1 to 65535");
	refuses("mqtt://b:65536", 9, "'65536' is not a port from 1 to 65535");
	refuses("mqtt://b:99999999999999999999", 9,
		"'99999999999999999999' is not a port from 1 to 65535");
	refuses("mqtt://b:1883x", 9, "'1883x' is not a port from 1 to 65535");
	refuses("mqtt://::1", 7, "an IPv6 address is without its brackets");
	refuses("mqtt://fd00::1:1883", 7, "an IPv6 address is without its brackets");
	refuses("mqtt://b/topic", 8,
		"'/topic' follows the host and port, where nothing is allowed");
	refuses("mqtt://user@b", 11, "'@b' follows the host and port, where nothing is allowed");
}

static void the_longest_host_is_bounded(void **state)
{
	char text[7 + 256 + 1] = "mqtt://";

	memset(text + 7, 'a', 256);
	refuses(text, 7, "the host is longer than 255 bytes");
	text[7 + 255] = '\0';
	takes(text, 0, text + 7, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_ports_and_schemes_are_read),
		cmocka_unit_test(other_texts_are_refused_at_their_byte),
		cmocka_unit_test(the_longest_host_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
