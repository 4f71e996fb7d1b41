/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/health/settings.h"
#include "config_test.h"

/* Section health_devices. */

#define ROUTED "ports: [{name: a, device: x, routed: {addresses: 10.0.0.1/24}}]\n"
#define PHD ROUTED "health_devices:\n"
#define CSE "  cse: {coap: \"coap://10.1.0.20\"}\n"

static struct bp_address address4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct bp_address){.bytes = {a, b, c, d}, .family = 4};
}

/* A minimal section. */
static void defaults_of_the_section(void **state)
{
	struct bp_config *c = accepted(PHD CSE);
	const struct bp_config_phd *p = bp_config_phd(c);
	const struct bp_address cse = address4(10, 1, 0, 20);

	assert_true(p->enabled);
	assert_true(p->listen_udp_port == 6024 && p->listen_tcp_port == 6024);
	assert_true(c->punt.listen_udp == 6024 && c->punt.listen_tcp == 6024);
	assert_true(p->max_sessions == 65536 && p->max_configurations == 1024);
	assert_false(p->has_system_id);
	assert_int_equal(p->ack, BP_PHD_CONFIRM_STORED);
	assert_int_equal(p->content_instance_per, BP_PHD_INSTANCES_OBJECT);
	assert_true(!p->has_allow && p->allow.n == 0);
	assert_string_equal(p->allow_file, "");
	assert_int_equal(p->limits.sessions_per_address, 1024);
	assert_int_equal(p->limits.association_rate, 20000);
	assert_int_equal(p->limits.unknown_report_rate, 1000);
	assert_int_equal(p->limits.max_pending_reports, 4096);
	assert_int_equal(p->idle_timeout_ns, 0);
	assert_int_equal(p->timeouts.config_ns, 10000000000);
	assert_int_equal(p->timeouts.service_ns, 3000000000);
	assert_int_equal(p->timeouts.release_ns, 3000000000);
	assert_string_equal(p->store_path, "/var/lib/biplane/biplane.health.db");
	assert_memory_equal(p->cse.coap_address.bytes, cse.bytes, 16);
	assert_int_equal(p->cse.coap_address.family, 4);
	assert_true(p->cse.coap_port == 5683 && p->cse.http_port == 0);
	assert_int_equal(p->cse.provision, BP_PHD_BINDING_COAP);
	assert_string_equal(p->cse.originator, "Cbiplane");
	assert_string_equal(p->cse.path, "cse-in/{system_id}/{object}");
	assert_int_equal(p->cse.release, BP_PHD_RELEASE_4);
	assert_true(p->cse.confirmable);
	assert_true(p->cse.source_ports[0] == 20000 && p->cse.source_ports[1] == 29999);
	assert_int_equal(p->cse.max_body_size, 1024);
	assert_true(p->cse.name_instances);
	assert_int_equal(p->cse.max_instances, 0);
	assert_int_equal(p->cse.max_inflight, 8);
	assert_int_equal(p->cse.max_retry_interval_ns, 60000000000);
	bp_config_free(c);
	c = accepted(ROUTED);
	assert_false(bp_config_phd(c)->enabled);
	assert_true(c->punt.listen_udp == 0 && c->punt.listen_tcp == 0);
	bp_config_free(c);
}

#define FULL                                                                                       \
	PHD "  listen: {udp_port: 7000, tcp_port: off}\n  max_sessions: 1048576\n  "               \
	    "max_configurations: 16\n"                                                             \
	    "  system_id: 00aBcDeF01020304\n  ack: forwarded\n  content_instance_per: report\n"    \
	    "  allow: [\"ff00000000000001\", '0022093412345678', 0000000000000001]\n"              \
	    "  allow_file: /a b\n"                                                                 \
	    "  limits: {sessions_per_address: 1, association_rate: 7, unknown_report_rate: 0, "    \
	    "max_pending_reports: 16}\n  idle_timeout: 1m\n"                                       \
	    "  timeouts: {config: 1s, service: 100ms, release: 1h}\n  store: {path: /s}\n"         \
	    "  cse: {coap: \"coap://[2001:db8::9]:1\", http: \"http://[2001:db8::8]:2\", "         \
	    "provision: coap, originator: "                                                        \
	    "\"C{system_id}\", path: \"in-name/x-{system_id}/{type}/{object}.v\", release: 2a, "   \
	    "confirmable: false, source_ports: 1024-1024, max_body_size: 64, name_instances: "     \
	    "false, max_instances: 9, "                                                            \
	    "max_inflight: 256, max_retry_interval: 1s}\n"

static void all_sections_are_read(void **state)
{
	static const uint8_t own[8] = {0, 0xab, 0xcd, 0xef, 1, 2, 3, 4};
	static const uint8_t ids[3][8] = {
		{[7] = 1}, {0, 0x22, 0x09, 0x34, 0x12, 0x34, 0x56, 0x78}, {0xff, [7] = 1}};
	static const uint8_t other[8] = {[7] = 2};
	struct bp_config *c = accepted(FULL);
	const struct bp_config_phd *p = bp_config_phd(c);

	assert_true(p->listen_udp_port == 7000 && p->listen_tcp_port == 0);
	assert_true(c->punt.listen_udp == 7000 && c->punt.listen_tcp == 0);
	assert_true(p->max_sessions == 1048576 && p->max_configurations == 16);
	assert_true(p->has_system_id);
	assert_memory_equal(p->system_id, own, 8);
	assert_int_equal(p->ack, BP_PHD_CONFIRM_FORWARDED);
	assert_int_equal(p->content_instance_per, BP_PHD_INSTANCES_REPORT);
	assert_true(p->has_allow && p->allow.n == 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_memory_equal(p->allow.id[i], ids[i], 8); /* ascending */
		assert_true(bp_config_phd_listed(&p->allow, ids[i]));
	}
	assert_false(bp_config_phd_listed(&p->allow, other));
	assert_string_equal(p->allow_file, "/a b");
	assert_true(p->limits.sessions_per_address == 1 && p->limits.association_rate == 7);
	assert_true(p->limits.unknown_report_rate == 0 && p->limits.max_pending_reports == 16);
	assert_int_equal(p->idle_timeout_ns, 60000000000);
	assert_int_equal(p->timeouts.config_ns, 1000000000);
	assert_int_equal(p->timeouts.service_ns, 100000000);
	assert_int_equal(p->timeouts.release_ns, 3600000000000);
	assert_string_equal(p->store_path, "/s");
	assert_int_equal(p->cse.coap_address.family, 6);
	assert_true(p->cse.http_address.family == 6 && p->cse.http_address.bytes[15] == 8);
	assert_true(p->cse.coap_port == 1 && p->cse.http_port == 2);
	assert_int_equal(p->cse.provision, BP_PHD_BINDING_COAP);
	assert_string_equal(p->cse.originator, "C{system_id}");
	assert_string_equal(p->cse.path, "in-name/x-{system_id}/{type}/{object}.v");
	assert_int_equal(p->cse.release, BP_PHD_RELEASE_2A);
	assert_false(p->cse.confirmable);
	assert_true(p->cse.source_ports[0] == 1024 && p->cse.source_ports[1] == 1024);
	assert_true(
		p->cse.max_body_size == 64 && !p->cse.name_instances && p->cse.max_instances == 9);
	assert_true(p->cse.max_inflight == 256 && p->cse.max_retry_interval_ns == 1000000000);
	bp_config_free(c);
}

/* A dump that is read again gives the same configuration, and the same dump. */
static void dumps_come_back(void **state)
{
	static const char *const texts[] = {FULL, PHD CSE, PHD "  allow: []\n" CSE,
		PHD "  cse: {coap: \"coap://10.1.0.20\", http: \"http://10.1.0.20\"}\n"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bp_config *a = accepted(texts[i]), *b = come_back(a);

		assert_int_equal(bp_config_phd(b)->has_allow, bp_config_phd(a)->has_allow);
		assert_int_equal(bp_config_phd(b)->cse.provision, bp_config_phd(a)->cse.provision);
		bp_config_free(a);
		bp_config_free(b);
	}
	{
		struct bp_config *c = accepted(
			PHD "  cse: {coap: \"coap://10.1.0.20\", http: \"http://10.1.0.20\"}\n");

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
		"f.yaml:3:14: health_devices.system_id: '00220934123456' is not a system-id; "
		"expected " AN_ID);
	says(PHD "  system_id: \"00220934123456789a\"\n" CSE,
		"f.yaml:3:14: health_devices.system_id: '00220934123456789a' is not a system-id; "
		"expected " AN_ID);
	says(PHD "  system_id: 002209341234567g\n" CSE,
		"f.yaml:3:14: health_devices.system_id: '002209341234567g' is not a system-id; "
		"expected " AN_ID);
	says(PHD "  system_id: \"0000000000000000\"\n" CSE,
		"f.yaml:3:14: health_devices.system_id: '0000000000000000' is not a system-id; "
		"expected " AN_ID);
	says(PHD "  allow: 0022093412345678\n" CSE,
		"f.yaml:3:10: health_devices.allow: this is not a list; expected " ID_LIST);
	says(PHD "  allow: [0022093412345678, ~, [], x, 0022093412345678]\n" CSE,
		"f.yaml:3:29: health_devices.allow: this is not a system-id; expected " ID_LIST
		"f.yaml:3:32: health_devices.allow: this is not a system-id; expected " ID_LIST
		"f.yaml:3:36: health_devices.allow: 'x' is not a system-id; expected " ID_LIST
		"f.yaml:3:39: health_devices.allow: 0022093412345678 is given twice (line 3); "
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

	snprintf(text, sizeof(text), PHD "  cse:\n    coap: coap://10.1.0.20\n    path: \"%s\"\n",
		path);
	snprintf(messages, sizeof(messages),
		"f.yaml:5:%s: health_devices.cse.path: %s; expected " A_PATH, column,
		fault != NULL ? fault : "");
	says(text, fault == NULL ? "" : messages);
}

static void paths_are_validated(void **state)
{
	char longest[300] = "a/b/{system_id}";

	path_is("cse-in/ae/{system_id}-cnt", "", NULL);
	path_is("cse-in/{type}-{system_id}/{object}/x{object}~_.", "", NULL);
	memset(longest + 15, 'c', 185);
	path_is(longest, "", NULL);
	longest[200] = 'c';
	path_is(longest, "11", "the text is 201 bytes long");
	path_is("cse-in/{system_id}", "11", "the container, the third segment, is missing");
	path_is("{system_id}/ae/c", "11",
		"a placeholder is not allowed in the CSE's name, the first segment");
	path_is("cse-in/{object}/c", "19", "{object} is not allowed in the AE, the second segment");
	path_is("cse-in//c", "19", "a segment is empty");
	path_is("/cse-in/ae/c", "11", "a segment is empty");
	path_is("cse-in/ae/", "22", "a segment is empty");
	path_is("cse-in/ae/{objekt}", "22", "'{objekt}' is not a placeholder");
	path_is("cse-in/ae/{object", "22", "'{object' is not a placeholder");
	path_is("cse-in/ae/o}", "23", "'}' is not allowed");
	path_is("cse-in/ae/a b", "23", "' ' is not allowed");
	path_is("cse-in/ae/%41", "22", "'%' is not allowed");
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", originator: \"C/x\"}\n",
		"f.yaml:3:49: health_devices.cse.originator: '/' is not allowed; "
		"expected " AN_ORIGINATOR);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", originator: \"C{type}\"}\n",
		"f.yaml:3:47: health_devices.cse.originator: {type} and {object} are not allowed "
		"in an originator; expected " AN_ORIGINATOR);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", originator: \"\"}\n",
		"f.yaml:3:47: health_devices.cse.originator: the text is 0 bytes long; "
		"expected " AN_ORIGINATOR);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", originator: biplane}\n",
		"f.yaml:3:47: health_devices.cse.originator: the text is not an AE-ID, which "
		"begins with 'C' or 'S'; expected " AN_ORIGINATOR);
}

/* The originator that registers each AE at a CSE, and that of an instance. */
static void invalid_names_are_rejected(void **state)
{
	static const char *const works[] = {"path: \"cse-in/ward/{system_id}/{object}\"",
		"path: \"cse-in/{type}/{system_id}-{object}\"",
		"path: \"cse-in/x{system_id}/{object}\", originator: \"Cx{system_id}\"",
		"originator: \"S{system_id}\""};
	char text[600];

	for (unsigned i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		snprintf(text, sizeof(text), PHD "  cse: {coap: \"coap://10.1.0.20\", %s}\n",
			works[i]);
		bp_config_free(accepted(text));
	}
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", path: \"cse-in/{type}/{object}\"}\n",
		"f.yaml:3:41: health_devices.cse.path: {system_id} is missing, so devices would "
		"share containers; expected {system_id} in the AE or in a container, such as "
		"cse-in/ward/{system_id}/{object}\n");
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", path: \"cse-in/ward/{system_id}\", "
		 "originator: "
		 "\"C{system_id}\"}\n",
		"f.yaml:3:41: health_devices.cse.path: the AE, the second segment, has no "
		"{system_id} and cse.originator has it, so only the first device could register "
		"the AE; expected {system_id} in that segment, or an originator without it\n");
	/* An error is reported only once. */
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", path: \"a/b/c\", originator: C}\n",
		"f.yaml:3:62: health_devices.cse.originator: the text is 1 bytes long; "
		"expected " AN_ORIGINATOR);
}

#define A_RANGE "a range of ports from 1024 to 65535, such as 20000-29999\n"

static void source_ports(void **state)
{
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: 20000}\n",
		"f.yaml:3:49: health_devices.cse.source_ports: '20000' is not a range of ports; "
		"expected " A_RANGE);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: -20000}\n",
		"f.yaml:3:49: health_devices.cse.source_ports: '-20000' is not a range of ports; "
		"expected " A_RANGE);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: 1023-2000}\n",
		"f.yaml:3:49: health_devices.cse.source_ports: 1023 is too small; "
		"expected " A_RANGE);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: 2000-65536}\n",
		"f.yaml:3:49: health_devices.cse.source_ports: 65536 is too large; "
		"expected " A_RANGE);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: 2001-2000}\n",
		"f.yaml:3:49: health_devices.cse.source_ports: 2001-2000 ends before it begins; "
		"expected " A_RANGE);
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: 6000-7000}\n",
		"f.yaml:3:49: health_devices.cse.source_ports: port 6024 is "
		"health_devices.listen.udp_port; expected a range without it\n");
	says("workers: 3\n" PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: 2000-2001}\n",
		"f.yaml:4:49: health_devices.cse.source_ports: 3 workers share 2 ports; expected "
		"at least one port for each worker\n");
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", source_ports: 60999-61000}\n",
		"f.yaml:3:49: warning: health_devices.cse.source_ports: the kernel uses ports "
		"32768-60999 as ephemeral ports, and biplane would receive the answers to its "
		"sockets; expected a range outside, or a different net.ipv4.ip_local_port_range\n");
}

static void contradictions_are_rejected(void **state)
{
	says(ROUTED "health_devices: {max_sessions: 16}\n",
		"f.yaml:2:17: health_devices has no 'cse'; expected a mapping of settings\n");
	says(PHD "  cse: {http: \"http://10.1.0.20\"}\n",
		"f.yaml:3:8: health_devices.cse has no 'coap'; expected coap://ADDRESS[:PORT], "
		"such as coap://192.0.2.20:5683 or coap://[2001:db8::20]\n");
	says(PHD "  listen: {udp_port: off, tcp_port: off}\n" CSE,
		"f.yaml:3:11: health_devices.listen: udp_port and tcp_port are both off; expected "
		"a port for at least one\n");
	bp_config_free(accepted(PHD "  listen: {udp_port: off}\n" CSE));
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", provision: http}\n",
		"f.yaml:3:46: health_devices.cse.provision: http needs health_devices.cse.http, "
		"which is missing; expected it, such as http://192.0.2.20:8080, or coap\n");
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", provision: mqtt}\n",
		"f.yaml:3:46: health_devices.cse.provision: 'mqtt' is not a valid choice; expected "
		"coap or "
		"http\n");
	says(PHD "  cse: {coap: \"coap://10.1.0.20\", release: 6}\n",
		"f.yaml:3:44: health_devices.cse.release: '6' is not a valid choice; expected 1, "
		"2, 2a, 3, "
		"4 or 5\n");
	says(PHD "  idle_timeout: 59s\n" CSE,
		"f.yaml:3:17: health_devices.idle_timeout: 59s is too small; expected a duration "
		"from 1m to 3650d, or off\n");
	says(PHD "  timeouts: {service: 0}\n" CSE,
		"f.yaml:3:23: health_devices.timeouts.service: '0' has no unit; expected a "
		"duration from 100ms to 1h\n");
	says(PHD "  max_sessions: 15\n" CSE, "f.yaml:3:17: health_devices.max_sessions: 15 is too "
					     "small; expected a whole number from 16 to 4194304\n");
}

/* Devices must have an address to send to. */
static void something_must_route(void **state)
{
	says(BRIDGED "health_devices:\n" CSE,
		"f.yaml:4:3: health_devices: there is no routed port and no bridge with a host "
		"interface, so devices have no address to connect to; expected one\n");
	bp_config_free(accepted(ROLELESS
		"bridges: [{name: h, ports: [a, b], host_interface: {addresses: 10.0.0.1/24}}]\n"
		"health_devices:\n" CSE));
	/* an error in the bridge has its own message, and is the only one */
	says(ROLELESS "bridges: [{name: bridge0, ports: [a, c]}]\nhealth_devices:\n" CSE,
		"f.yaml:2:38: bridges[0].ports: there is no port 'c'; expected a list of two or "
		"more "
		"names of ports, such as [devices, cloud], with each port in one bridge only\n");
}

static void names_before_version_1(void **state)
{
	says(ROUTED "phd: {}\n", "f.yaml:2:1: unknown setting 'phd' in the file; expected "
				 "health_devices, its name in version 1\n");
	says(PHD "  listen: {udp: 1, tcp: 1}\n  sessions: 16\n  layouts: 16\n  confirm: stored\n  "
		 "instances: object\n  idle: 0\n  limits: {per_address: 1, associations: 1, "
		 "strays: 1, pending: 16}\n" CSE,

		"f.yaml:3:12: unknown setting 'udp' in health_devices.listen; expected "
		"health_devices.listen.udp_port, its name in version 1\n"
		"f.yaml:3:20: unknown setting 'tcp' in health_devices.listen; expected "
		"health_devices.listen.tcp_port, its name in version 1\n"
		"f.yaml:4:3: unknown setting 'sessions' in health_devices; expected "
		"health_devices.max_sessions, its name in version 1\n"
		"f.yaml:5:3: unknown setting 'layouts' in health_devices; expected "
		"health_devices.max_configurations, its name in version 1\n"
		"f.yaml:6:3: unknown setting 'confirm' in health_devices; expected "
		"health_devices.ack, its name in version 1\n"
		"f.yaml:7:3: unknown setting 'instances' in health_devices; expected "
		"health_devices.content_instance_per, its name in version 1\n"
		"f.yaml:8:3: unknown setting 'idle' in health_devices; expected "
		"health_devices.idle_timeout, its name in version 1\n"
		"f.yaml:9:12: unknown setting 'per_address' in health_devices.limits; expected "
		"health_devices.limits.sessions_per_address, its name in version 1\n"
		"f.yaml:9:28: unknown setting 'associations' in health_devices.limits; expected "
		"health_devices.limits.association_rate, its name in version 1\n"
		"f.yaml:9:45: unknown setting 'strays' in health_devices.limits; expected "
		"health_devices.limits.unknown_report_rate, its name in version 1\n"
		"f.yaml:9:56: unknown setting 'pending' in health_devices.limits; expected "
		"health_devices.limits.max_pending_reports, its name in version 1\n");
	says(PHD "  cse: {address: 10.1.0.20, coap: 5683, http: 8080, message: con, max_body: 64, "
		 "keep: 1, outstanding: 1, retry_max: 1s}\n",

		"f.yaml:3:9: unknown setting 'address' in health_devices.cse; expected "
		"health_devices.cse.coap: coap://ADDRESS[:PORT], its name in version 1\n"
		"f.yaml:3:35: health_devices.cse.coap: '5683' is not a URL; expected "
		"coap://ADDRESS[:PORT], such as coap://192.0.2.20:5683 or coap://[2001:db8::20]\n"
		"f.yaml:3:47: health_devices.cse.http: '8080' is not a URL; expected "
		"http://ADDRESS[:PORT], such as http://192.0.2.20:8080 or http://[2001:db8::20]\n"
		"f.yaml:3:53: unknown setting 'message' in health_devices.cse; expected "
		"health_devices.cse.confirmable: true or false, its name in version 1\n"
		"f.yaml:3:67: unknown setting 'max_body' in health_devices.cse; expected "
		"health_devices.cse.max_body_size, its name in version 1\n"
		"f.yaml:3:81: unknown setting 'keep' in health_devices.cse; expected "
		"health_devices.cse.max_instances, its name in version 1\n"
		"f.yaml:3:90: unknown setting 'outstanding' in health_devices.cse; expected "
		"health_devices.cse.max_inflight, its name in version 1\n"
		"f.yaml:3:106: unknown setting 'retry_max' in health_devices.cse; expected "
		"health_devices.cse.max_retry_interval, its name in version 1\n");
}

static void reload_applies_reloadable_settings(void **state)
{
	needs(ROUTED, PHD CSE, "health_devices: changing it needs a restart\n");
	needs(PHD CSE,
		PHD "  ack: forwarded\n  allow: [0022093412345678]\n  allow_file: /x\n"
		    "  limits: {sessions_per_address: 1, association_rate: 1, unknown_report_rate: "
		    "1}\n  idle_timeout: 1h\n"
		    "  timeouts: {config: 1s, service: 1s, release: 1s}\n" CSE,
		"");
	needs(PHD CSE,
		PHD "  listen: {udp_port: 1}\n  max_sessions: 16\n  system_id: 0022093412345678\n"
		    "  content_instance_per: report\n  limits: {max_pending_reports: 17}\n  store: "
		    "{path: /x}\n"
		    "  cse: {coap: \"coap://10.1.0.21\", source_ports: 2000-3000}\n",
		"health_devices.listen.udp_port: changing it needs a restart\n"
		"health_devices.max_sessions: changing it needs a restart\n"
		"health_devices.system_id: changing it needs a restart\n"
		"health_devices.content_instance_per: changing it needs a restart\n"
		"health_devices.limits.max_pending_reports: changing it needs a restart\n"
		"health_devices.store.path: changing it needs a restart\n"
		"health_devices.cse.coap: changing it needs a restart\n"
		"health_devices.cse.source_ports: changing it needs a restart\n");
}

/* The file of allow_file. */
static uint32_t ids_of(const char *text, uint32_t max, struct bp_config_phd_ids *ids)
{
	const size_t len = strlen(text);
	char *exact = malloc(len + (len == 0)); /* data after it would be found */
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
		cmocka_unit_test(defaults_of_the_section),
		cmocka_unit_test(all_sections_are_read),
		cmocka_unit_test(dumps_come_back),
		cmocka_unit_test(system_ids),
		cmocka_unit_test(paths_are_validated),
		cmocka_unit_test(invalid_names_are_rejected),
		cmocka_unit_test(source_ports),
		cmocka_unit_test(contradictions_are_rejected),
		cmocka_unit_test(something_must_route),
		cmocka_unit_test(names_before_version_1),
		cmocka_unit_test(reload_applies_reloadable_settings),
		cmocka_unit_test(ids_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
