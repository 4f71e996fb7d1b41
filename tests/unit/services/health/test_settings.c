/* SPDX-License-Identifier: BSD-3-Clause */
/* From the file's section to the plan in the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "config/health/settings.h"
#include "services/health/settings.h"
#include "proto/health/onem2m.h"

#define FILE_OF(phd, cse) FILE_AT(phd, "", cse)
#define FILE_AT(phd, port, cse)                                                                    \
	"ports: [{name: a, device: x, routed: {addresses: 10.1.0.1/24}}]\nhealth_devices:\n" phd   \
	"  cse: {coap: \"coap://10.1.0.20" port "\"" cse "}\n"

static struct bp_phd_settings plan_of(const char *text, const struct bp_address *source)
{
	struct bp_config *c = bp_config_parse("f", text, strlen(text), stderr);
	struct bp_phd_settings p;

	assert_non_null(c);
	bp_phd_settings_init(&p, bp_config_phd(c), source);
	bp_config_free(c);
	return p;
}

static const struct bp_address source = {.bytes = {10, 1, 0, 1}, .family = 4};

static void values_of_the_file(void **state)
{
	static const uint8_t cse[16] = {[10] = 0xff, 0xff, 10, 1, 0, 20};
	static const uint8_t own[16] = {[10] = 0xff, 0xff, 10, 1, 0, 1};
	struct bp_phd_settings p = plan_of(FILE_OF("", ""), &source);

	assert_memory_equal(p.cse, cse, 16);
	assert_memory_equal(p.source, own, 16);
	assert_int_equal(p.cse_port, 5683);
	assert_int_equal(p.listen_udp, 6024);
	assert_true(p.ports_first == 20000 && p.ports_last == 29999);
	assert_int_equal(p.family, 4);
	assert_int_equal(p.release, BP_M2M_R4);
	assert_int_equal(p.confirm, BP_PHD_CONFIRM_STORED);
	assert_true(p.con == 1 && p.named == 1 && p.per_report == 0);
	assert_true(p.max_message > 1024 && p.max_message < 1472);

	p = plan_of(FILE_AT("  listen: {udp_port: 7}\n  ack: forwarded\n  content_instance_per: "
			    "report\n",
			    ":9",
			    ", release: 2a, confirmable: false, name_instances: false, "
			    "source_ports: 2000-2001, max_body_size: 64"),
		&source);
	assert_int_equal(p.cse_port, 9);
	assert_int_equal(p.listen_udp, 7);
	assert_true(p.ports_first == 2000 && p.ports_last == 2001);
	assert_int_equal(p.release, BP_M2M_R2A);
	assert_int_equal(p.confirm, BP_PHD_CONFIRM_FORWARDED);
	assert_true(p.con == 0 && p.named == 0 && p.per_report == 1);
}

static void cse_with_ipv6_address(void **state)
{
	static const uint8_t cse[16] = {0xfd, [15] = 9};
	const struct bp_address from = {.bytes = {0xfd, [15] = 1}, .family = 6};
	const char *text = "ports: [{name: a, device: x, routed: {addresses: \"fd00::1/64\"}}]\n"
			   "health_devices: {cse: {coap: \"coap://[fd00::9]\"}}\n";
	const struct bp_phd_settings p = plan_of(text, &from);

	assert_int_equal(p.family, 6);
	assert_memory_equal(p.cse, cse, 16);
	assert_memory_equal(p.source, from.bytes, 16);
}

/* It says whether layouts are rendered equally, and nothing else. */
static void the_hash(void **state)
{
	static const char *const same[] = {FILE_OF("  listen: {udp_port: 7}\n", ""),
		FILE_OF("  ack: forwarded\n", ""), FILE_AT("", ":77", ", max_instances: 7"),
		FILE_OF("", ", source_ports: 2000-2001")};
	static const char *const others[] = {FILE_OF("  content_instance_per: report\n", ""),
		FILE_OF("", ", path: \"cse-in/{system_id}/x\""), FILE_OF("", ", originator: Cx"),
		FILE_OF("", ", release: 2"), FILE_OF("", ", name_instances: false")};
	const uint64_t hash = plan_of(FILE_OF("", ""), &source).hash;

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(plan_of(same[i], &source).hash, hash);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_not_equal(plan_of(others[i], &source).hash, hash);
}

static void own_system_id(void **state)
{
	static const uint8_t mac[6] = {2, 0x11, 0x22, 0x33, 0x44, 0x55};
	static const uint8_t eui[8] = {2, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55};
	struct bp_config_phd c = {.system_id = {1, 2, 3, 4, 5, 6, 7, 8}};
	uint8_t id[8];

	bp_phd_own_system_id(id, &c, mac);
	assert_memory_equal(id, eui, 8);
	c.has_system_id = true;
	bp_phd_own_system_id(id, &c, mac);
	assert_memory_equal(id, c.system_id, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_the_file),
		cmocka_unit_test(cse_with_ipv6_address),
		cmocka_unit_test(the_hash),
		cmocka_unit_test(own_system_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
