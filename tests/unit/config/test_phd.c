/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/health/settings.h"
#include "config_test.h"

/* Section phd. */

#define ROUTED "ports: [{name: a, device: x, routed: {addresses: 10.0.0.1/24}}]\n"
#define PHD ROUTED "phd:\n"
#define CSE "  cse: {address: 10.1.0.20}\n"

static struct bp_address address4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct bp_address){.bytes = {a, b, c, d}, .family = 4};
}

/* What has to be said is little. */
static void defaults(void **state)
{
	struct bp_config *c = accepted(PHD CSE);
	const struct bp_config_phd *p = bp_config_phd(c);
	const struct bp_address cse = address4(10, 1, 0, 20);

	assert_true(p->enabled);
	assert_true(p->listen_udp == 6024 && p->listen_tcp == 6024);
	assert_true(c->punt.listen_udp == 6024 && c->punt.listen_tcp == 6024);
	assert_true(p->sessions == 65536 && p->layouts == 1024);
	assert_false(p->has_system_id);
	assert_int_equal(p->confirm, BP_PHD_CONFIRM_STORED);
	assert_int_equal(p->instances, BP_PHD_INSTANCES_OBJECT);
	assert_true(!p->has_allow && p->allow.n == 0);
	assert_string_equal(p->allow_file, "");
	assert_int_equal(p->limits.per_address, 1024);
	assert_int_equal(p->limits.associations, 20000);
	assert_int_equal(p->limits.strays, 1000);
	assert_int_equal(p->limits.pending, 4096);
	assert_int_equal(p->idle_ns, 0);
	assert_int_equal(p->timeouts.config_ns, 10000000000);
	assert_int_equal(p->timeouts.service_ns, 3000000000);
	assert_int_equal(p->timeouts.release_ns, 3000000000);
	assert_string_equal(p->store_path, "/var/lib/biplane/phd.db");
	assert_memory_equal(p->cse.address.bytes, cse.bytes, 16);
	assert_int_equal(p->cse.address.family, 4);
	assert_true(p->cse.coap == 5683 && p->cse.http == 0);
	assert_int_equal(p->cse.provision, BP_PHD_BINDING_COAP);
	assert_string_equal(p->cse.originator, "Cbiplane");
	assert_string_equal(p->cse.path, "cse-in/{system_id}/{object}");
	assert_int_equal(p->cse.release, BP_PHD_RELEASE_4);
	assert_int_equal(p->cse.message, BP_PHD_MESSAGE_CON);
	assert_true(p->cse.source_ports[0] == 20000 && p->cse.source_ports[1] == 29999);
	assert_int_equal(p->cse.max_body, 1024);
	assert_true(p->cse.name_instances);
	assert_int_equal(p->cse.keep, 0);
	assert_int_equal(p->cse.outstanding, 8);
	assert_int_equal(p->cse.retry_max_ns, 60000000000);
	bp_config_free(c);
	c = accepted(ROUTED);
	assert_false(bp_config_phd(c)->enabled);
	assert_true(c->punt.listen_udp == 0 && c->punt.listen_tcp == 0);
	bp_config_free(c);
}

#define FULL                                                                                       \
	PHD "  listen: {udp: 7000, tcp: 0}\n  sessions: 1048576\n  layouts: 16\n"                  \
	    "  system_id: 00aBcDeF01020304\n  confirm: forwarded\n  instances: report\n"           \
	    "  allow: [\"ff00000000000001\", '0022093412345678', 0000000000000001]\n"              \
	    "  allow_file: /a b\n"                                                                 \
	    "  limits: {per_address: 1, associations: 7, strays: 0, pending: 16}\n  idle: 1m\n"    \
	    "  timeouts: {config: 1s, service: 100ms, release: 1h}\n  store: {path: /s}\n"         \
	    "  cse: {address: \"2001:db8::9\", coap: 1, http: 2, provision: coap, originator: "    \
	    "\"C{system_id}\", path: \"in-name/x-{system_id}/{type}/{object}.v\", release: 2a, "   \
	    "message: non, source_ports: 1024-1024, max_body: 64, name_instances: false, keep: "   \
	    "9, "                                                                                  \
	    "outstanding: 256, retry_max: 1s}\n"

static void everything_is_read(void **state)
{
	static const uint8_t own[8] = {0, 0xab, 0xcd, 0xef, 1, 2, 3, 4};
	static const uint8_t ids[3][8] = {
		{[7] = 1}, {0, 0x22, 0x09, 0x34, 0x12, 0x34, 0x56, 0x78}, {0xff, [7] = 1}};
	static const uint8_t other[8] = {[7] = 2};
	struct bp_config *c = accepted(FULL);
	const struct bp_config_phd *p = bp_config_phd(c);

	assert_true(p->listen_udp == 7000 && p->listen_tcp == 0);
	assert_true(c->punt.listen_udp == 7000 && c->punt.listen_tcp == 0);
	assert_true(p->sessions == 1048576 && p->layouts == 16);
	assert_true(p->has_system_id);
	assert_memory_equal(p->system_id, own, 8);
	assert_int_equal(p->confirm, BP_PHD_CONFIRM_FORWARDED);
	assert_int_equal(p->instances, BP_PHD_INSTANCES_REPORT);
	assert_true(p->has_allow && p->allow.n == 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_memory_equal(p->allow.id[i], ids[i], 8); /* ascending */
		assert_true(bp_config_phd_listed(&p->allow, ids[i]));
	}
	assert_false(bp_config_phd_listed(&p->allow, other));
	assert_string_equal(p->allow_file, "/a b");
	assert_true(p->limits.per_address == 1 && p->limits.associations == 7);
	assert_true(p->limits.strays == 0 && p->limits.pending == 16);
	assert_int_equal(p->idle_ns, 60000000000);
	assert_int_equal(p->timeouts.config_ns, 1000000000);
	assert_int_equal(p->timeouts.service_ns, 100000000);
	assert_int_equal(p->timeouts.release_ns, 3600000000000);
	assert_string_equal(p->store_path, "/s");
	assert_int_equal(p->cse.address.family, 6);
	assert_true(p->cse.coap == 1 && p->cse.http == 2);
	assert_int_equal(p->cse.provision, BP_PHD_BINDING_COAP);
	assert_string_equal(p->cse.originator, "C{system_id}");
	assert_string_equal(p->cse.path, "in-name/x-{system_id}/{type}/{object}.v");
	assert_int_equal(p->cse.release, BP_PHD_RELEASE_2A);
	assert_int_equal(p->cse.message, BP_PHD_MESSAGE_NON);
	assert_true(p->cse.source_ports[0] == 1024 && p->cse.source_ports[1] == 1024);
	assert_true(p->cse.max_body == 64 && !p->cse.name_instances && p->cse.keep == 9);
	assert_true(p->cse.outstanding == 256 && p->cse.retry_max_ns == 1000000000);
	bp_config_free(c);
}

/* What is dumped means the same, and is dumped the same. */
static void dumps_come_back(void **state)
{
	static const char *const texts[] = {FULL, PHD CSE, PHD "  allow: []\n" CSE,
		PHD "  cse: {address: 10.1.0.20, http: 80}\n"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bp_config *a = accepted(texts[i]), *b = come_back(a);

		assert_int_equal(bp_config_phd(b)->has_allow, bp_config_phd(a)->has_allow);
		assert_int_equal(bp_config_phd(b)->cse.provision, bp_config_phd(a)->cse.provision);
		bp_config_free(a);
		bp_config_free(b);
	}
	{
		struct bp_config *c = accepted(PHD "  cse: {address: 10.1.0.20, http: 80}\n");

		assert_int_equal(bp_config_phd(c)->cse.provision, BP_PHD_BINDING_HTTP);
		bp_config_free(c);
	}
}

#define ID_LIST                                                                                    \
	"a list of at most 65536 different system-ids, each of 16 hexadecimal digits in quotes\n"
#define AN_ID                                                                                      \
	"a system-id (EUI-64) of 16 hexadecimal digits, not all 0, such as \"0022093412345678\"\n"

static void system_ids(void **state)
{
	says(PHD "  system_id: 00220934123456\n" CSE,
		"f.yaml:3:14: phd.system_id: '00220934123456' is no system-id; expected " AN_ID);
	says(PHD "  system_id: \"00220934123456789a\"\n" CSE,
		"f.yaml:3:14: phd.system_id: '00220934123456789a' is no system-id; "
		"expected " AN_ID);
	says(PHD "  system_id: 002209341234567g\n" CSE,
		"f.yaml:3:14: phd.system_id: '002209341234567g' is no system-id; expected " AN_ID);
	says(PHD "  system_id: \"0000000000000000\"\n" CSE,
		"f.yaml:3:14: phd.system_id: '0000000000000000' is no system-id; expected " AN_ID);
	says(PHD "  allow: 0022093412345678\n" CSE,
		"f.yaml:3:10: phd.allow: this is not a list; expected " ID_LIST);
	says(PHD "  allow: [0022093412345678, ~, [], x, 0022093412345678]\n" CSE,
		"f.yaml:3:29: phd.allow: this is no system-id; expected " ID_LIST
		"f.yaml:3:32: phd.allow: this is no system-id; expected " ID_LIST
		"f.yaml:3:36: phd.allow: 'x' is no system-id; expected " ID_LIST
		"f.yaml:3:39: phd.allow: 0022093412345678 is given twice (line 3); "
		"expected " ID_LIST);
}

#define A_PATH                                                                                     \
	"a path of 3 to 200 bytes of at least three segments, the CSE's name, the AE and "         \
	"containers, of letters, digits, '-', '.', '_', '~' and the placeholders {system_id}, "    \
	"{type} and, in containers, {object}\n"
#define AN_ORIGINATOR                                                                              \
	"a text of 2 to 64 bytes that begins with C or S, of letters, digits, '-', '.', '_', '~' " \
	"and the placeholder {system_id}\n"

static void path_is(const char *path, const char *column, const char *fault)
{
	char text[600], messages[800];

	snprintf(
		text, sizeof(text), PHD "  cse:\n    address: 10.1.0.20\n    path: \"%s\"\n", path);
	snprintf(messages, sizeof(messages), "f.yaml:5:%s: phd.cse.path: %s; expected " A_PATH,
		column, fault != NULL ? fault : "");
	says(text, fault == NULL ? "" : messages);
}

static void paths(void **state)
{
	char longest[300] = "a/b/{system_id}";

	path_is("cse-in/ae/{system_id}-cnt", "", NULL);
	path_is("cse-in/{type}-{system_id}/{object}/x{object}~_.", "", NULL);
	memset(longest + 15, 'c', 185);
	path_is(longest, "", NULL);
	longest[200] = 'c';
	path_is(longest, "11", "the text is 201 bytes long");
	path_is("cse-in/{system_id}", "11",
		"there is no container in it, which would be the third segment");
	path_is("{system_id}/ae/c", "11", "the CSE's name, the first segment, has a placeholder");
	path_is("cse-in/{object}/c", "19",
		"the AE, the second segment, can't be another for each object");
	path_is("cse-in//c", "19", "a segment is empty");
	path_is("/cse-in/ae/c", "11", "a segment is empty");
	path_is("cse-in/ae/", "22", "a segment is empty");
	path_is("cse-in/ae/{objekt}", "22", "'{objekt}' is no placeholder");
	path_is("cse-in/ae/{object", "22", "'{object' is no placeholder");
	path_is("cse-in/ae/o}", "23", "'}' can't stand in it");
	path_is("cse-in/ae/a b", "23", "' ' can't stand in it");
	path_is("cse-in/ae/%41", "22", "'%' can't stand in it");
	says(PHD "  cse: {address: 10.1.0.20, originator: \"C/x\"}\n",
		"f.yaml:3:43: phd.cse.originator: '/' can't stand in it; expected " AN_ORIGINATOR);
	says(PHD "  cse: {address: 10.1.0.20, originator: \"C{type}\"}\n",
		"f.yaml:3:41: phd.cse.originator: an originator is the same for all that a device "
		"measures; expected " AN_ORIGINATOR);
	says(PHD "  cse: {address: 10.1.0.20, originator: \"\"}\n",
		"f.yaml:3:41: phd.cse.originator: the text is 0 bytes long; "
		"expected " AN_ORIGINATOR);
	says(PHD "  cse: {address: 10.1.0.20, originator: biplane}\n",
		"f.yaml:3:41: phd.cse.originator: it is no AE's identifier, which begins with 'C' "
		"or 'S' and goes on; expected " AN_ORIGINATOR);
}

/* Who may register which AE at a CSE, and whose an instance is. */
static void names_that_can_not_work(void **state)
{
	static const char *const works[] = {"path: \"cse-in/ward/{system_id}/{object}\"",
		"path: \"cse-in/{type}/{system_id}-{object}\"",
		"path: \"cse-in/x{system_id}/{object}\", originator: \"Cx{system_id}\"",
		"originator: \"S{system_id}\""};
	char text[600];

	for (unsigned i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		snprintf(text, sizeof(text), PHD "  cse: {address: 10.1.0.20, %s}\n", works[i]);
		bp_config_free(accepted(text));
	}
	says(PHD "  cse: {address: 10.1.0.20, path: \"cse-in/{type}/{object}\"}\n",
		"f.yaml:3:35: phd.cse.path: it has no {system_id}, so that devices would share "
		"containers and nobody could tell whose an instance is; expected {system_id} in "
		"the AE or in a container, such as cse-in/ward/{system_id}/{object}\n");
	says(PHD "  cse: {address: 10.1.0.20, path: \"cse-in/ward/{system_id}\", originator: "
		 "\"C{system_id}\"}\n",
		"f.yaml:3:35: phd.cse.path: its AE, the second segment, has no {system_id} and "
		"phd.cse.originator has it, so that the device that comes first would register "
		"the AE and all others be refused; expected {system_id} in that segment, or an "
		"originator without it\n");
	/* What is wrong already is said once. */
	says(PHD "  cse: {address: 10.1.0.20, path: \"a/b/c\", originator: C}\n",
		"f.yaml:3:56: phd.cse.originator: the text is 1 bytes long; "
		"expected " AN_ORIGINATOR);
}

#define A_RANGE "a range of ports from 1024 to 65535, such as 20000-29999\n"

static void source_ports(void **state)
{
	says(PHD "  cse: {address: 10.1.0.20, source_ports: 20000}\n",
		"f.yaml:3:43: phd.cse.source_ports: '20000' is no range of ports; "
		"expected " A_RANGE);
	says(PHD "  cse: {address: 10.1.0.20, source_ports: -20000}\n",
		"f.yaml:3:43: phd.cse.source_ports: '-20000' is no range of ports; "
		"expected " A_RANGE);
	says(PHD "  cse: {address: 10.1.0.20, source_ports: 1023-2000}\n",
		"f.yaml:3:43: phd.cse.source_ports: 1023 is too small; expected " A_RANGE);
	says(PHD "  cse: {address: 10.1.0.20, source_ports: 2000-65536}\n",
		"f.yaml:3:43: phd.cse.source_ports: 65536 is too large; expected " A_RANGE);
	says(PHD "  cse: {address: 10.1.0.20, source_ports: 2001-2000}\n",
		"f.yaml:3:43: phd.cse.source_ports: 2001-2000 ends before it begins; "
		"expected " A_RANGE);
	says(PHD "  cse: {address: 10.1.0.20, source_ports: 6000-7000}\n",
		"f.yaml:3:43: phd.cse.source_ports: port 6024 is phd.listen.udp; expected a range "
		"without it\n");
	says("workers: 3\n" PHD "  cse: {address: 10.1.0.20, source_ports: 2000-2001}\n",
		"f.yaml:4:43: phd.cse.source_ports: there are 3 workers for 2 ports; expected at "
		"least one port for each\n");
	says(PHD "  cse: {address: 10.1.0.20, source_ports: 60999-61000}\n",
		"f.yaml:3:43: warning: phd.cse.source_ports: the kernel may give ports 32768-60999 "
		"to sockets of its own choice, whose answers biplane would take; expected a range "
		"outside, or another one in net.ipv4.ip_local_port_range\n");
}

static void what_contradicts_is_refused(void **state)
{
	says(ROUTED "phd: {sessions: 16}\n",
		"f.yaml:2:6: phd has no 'cse'; expected a mapping of settings\n");
	says(PHD "  cse: {http: 80}\n",
		"f.yaml:3:8: phd.cse has no 'address'; expected a unicast IPv4 or IPv6 address "
		"such as 192.0.2.10 or 2001:db8::10\n");
	says(PHD "  listen: {udp: 0, tcp: 0}\n" CSE,
		"f.yaml:3:11: phd.listen: udp and tcp are both off; expected a port for one of "
		"them\n");
	bp_config_free(accepted(PHD "  listen: {udp: 0}\n" CSE));
	says(PHD "  cse: {address: 10.1.0.20, provision: http}\n",
		"f.yaml:3:40: phd.cse.provision: http is wanted and there is no phd.cse.http; "
		"expected its port with it, or coap\n");
	says(PHD "  cse: {address: 10.1.0.20, provision: mqtt}\n",
		"f.yaml:3:40: phd.cse.provision: 'mqtt' is no choice; expected coap or http\n");
	says(PHD "  cse: {address: 10.1.0.20, release: 6}\n",
		"f.yaml:3:38: phd.cse.release: '6' is no choice; expected 1, 2, 2a, 3, 4 or 5\n");
	says(PHD "  cse: {address: 10.1.0.20, http: 0}\n",
		"f.yaml:3:35: phd.cse.http: 0 is too small; expected a whole number from 1 to "
		"65535\n");
	says(PHD "  idle: 59s\n" CSE,
		"f.yaml:3:9: phd.idle: 59s is too small; expected a duration from 1m to 3650d, or "
		"0\n");
	says(PHD "  timeouts: {service: 0}\n" CSE,
		"f.yaml:3:23: phd.timeouts.service: '0' has no unit; expected a duration from "
		"100ms to 1h\n");
	says(PHD "  sessions: 15\n" CSE,
		"f.yaml:3:13: phd.sessions: 15 is too small; expected a whole number from 16 to "
		"4194304\n");
}

/* Devices must have an address to send to. */
static void something_must_route(void **state)
{
	says(BRIDGED "phd:\n" CSE,
		"f.yaml:4:3: phd: every port is in a bridge and no bridge has a host, so that "
		"devices have no address to send to; expected a port that is in no bridge, or a "
		"bridge's host\n");
	bp_config_free(accepted(ROLELESS
		"bridges: [{name: h, ports: [a, b], host_interface: {addresses: 10.0.0.1/24}}]\n"
		"phd:\n" CSE));
	/* an error in the bridge has its own message, and is the only one */
	says(ROLELESS "bridges: [{name: bridge0, ports: [a, c]}]\nphd:\n" CSE,
		"f.yaml:2:38: bridges[0].ports: there is no port 'c'; expected a list of two or "
		"more "
		"names of ports, such as [devices, cloud], with each port in one bridge only\n");
}

static void a_reload_takes_over_what_can_change(void **state)
{
	needs(ROUTED, PHD CSE, "phd: changing it needs a restart\n");
	needs(PHD CSE,
		PHD "  confirm: forwarded\n  allow: [0022093412345678]\n  allow_file: /x\n"
		    "  limits: {per_address: 1, associations: 1, strays: 1}\n  idle: 1h\n"
		    "  timeouts: {config: 1s, service: 1s, release: 1s}\n" CSE,
		"");
	needs(PHD CSE,
		PHD "  listen: {udp: 1}\n  sessions: 16\n  system_id: 0022093412345678\n"
		    "  instances: report\n  limits: {pending: 17}\n  store: {path: /x}\n"
		    "  cse: {address: 10.1.0.21, source_ports: 2000-3000}\n",
		"phd.listen.udp: changing it needs a restart\n"
		"phd.sessions: changing it needs a restart\n"
		"phd.system_id: changing it needs a restart\n"
		"phd.instances: changing it needs a restart\n"
		"phd.limits.pending: changing it needs a restart\n"
		"phd.store.path: changing it needs a restart\n"
		"phd.cse.address: changing it needs a restart\n"
		"phd.cse.source_ports: changing it needs a restart\n");
}

/* The file of phd.allow_file. */
static uint32_t ids_of(const char *text, uint32_t max, struct bp_config_phd_ids *ids)
{
	const size_t len = strlen(text);
	char *exact = malloc(len + (len == 0)); /* what is read beside it shows */
	uint32_t line;

	assert_non_null(exact);
	memcpy(exact, text, len);
	line = bp_config_phd_ids_parse(exact, len, max, ids);
	free(exact);
	return line;
}

static void ids_in_a_file(void **state)
{
	static const uint8_t low[8] = {[7] = 1}, high[8] = {0xff, [7] = 0xff};
	struct bp_config_phd_ids ids;

	assert_int_equal(ids_of("", 1, &ids), 0);
	assert_int_equal(ids.n, 0);
	assert_false(bp_config_phd_listed(&ids, low));
	assert_int_equal(ids_of("# none\n\n \t\r\n#", 0, &ids), 0);
	assert_int_equal(ids.n, 0);
	free(ids.id);
	assert_int_equal(ids_of("ff000000000000FF # the last\r\n\n  0000000000000001", 2, &ids), 0);
	assert_int_equal(ids.n, 2);
	assert_true(bp_config_phd_listed(&ids, low) && bp_config_phd_listed(&ids, high));
	assert_memory_equal(ids.id[0], low, 8);
	free(ids.id);
	assert_int_equal(ids_of("0000000000000001\n0000000000000002\n", 1, &ids), 2);
	assert_true(ids.n == 0 && ids.id == NULL);
	assert_int_equal(ids_of("\n\n0000000000000001 0000000000000002\n", 9, &ids), 3);
	assert_int_equal(ids_of("000000000000001\n", 9, &ids), 1);
	assert_int_equal(ids_of("00000000000000010\n", 9, &ids), 1);
	{
		char many[17 * 1000 + 1];

		for (unsigned i = 0; i < 1000; i++)
			snprintf(many + 17 * i, 18, "%016x\n", (i * 7919) % 1000 + 1);
		assert_int_equal(ids_of(many, 1000, &ids), 0);
		assert_int_equal(ids.n, 1000);
		for (unsigned i = 0; i < 1002; i++) {
			const uint8_t id[8] = {[6] = (uint8_t)(i >> 8), [7] = (uint8_t)i};

			assert_int_equal(bp_config_phd_listed(&ids, id), i > 0 && i <= 1000);
		}
		free(ids.id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(dumps_come_back),
		cmocka_unit_test(system_ids),
		cmocka_unit_test(paths),
		cmocka_unit_test(names_that_can_not_work),
		cmocka_unit_test(source_ports),
		cmocka_unit_test(what_contradicts_is_refused),
		cmocka_unit_test(something_must_route),
		cmocka_unit_test(a_reload_takes_over_what_can_change),
		cmocka_unit_test(ids_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
