/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config/schema.h"

/* The exact text and position of messages: error, expected value, line and column. */

/* An unknown setting of the file: the message lists the known ones. */
static void says_unknown(const char *line, const char *shown)
{
	const struct bp_setting *s = NULL;
	char text[256], wanted[1024];
	int n = snprintf(wanted, sizeof(wanted),
		"f.yaml:2:1: unknown setting '%s' in the file; expected one of:", shown);

	while ((s = bp_schema_child(NULL, s)) != NULL)
		n += snprintf(wanted + n, sizeof(wanted) - (size_t)n, "%s%s",
			strcmp(s->path, "version") == 0 ? " " : ", ", s->path);
	snprintf(wanted + n, sizeof(wanted) - (size_t)n, "\n");
	snprintf(text, sizeof(text), PORTS "%s", line);
	says(text, wanted);
}

#define CONDITION                                                                                  \
	"; expected a mapping of one comparison, such as {above: 80} or {inside: [1, 5]}, or its " \
	"short form in quotes: >, >=, <, <=, == or != and a number, inside A..B or outside "       \
	"A..B\n"

static void unknown_names_get_a_suggestion(void **state)
{
	says(PORTS "workrs: 1\n",
		"f.yaml:2:1: unknown setting 'workrs'; did you mean 'workers'?\n");
	says("ports:\n  - {name: a, device: x, rx_queus: 1}\n",
		"f.yaml:2:26: unknown setting 'rx_queus'; did you mean 'rx_queues'?\n");
	says("ports:\n  - {name: a, device: x, Rx-Descriptors: 64}\n",
		"f.yaml:2:26: unknown setting 'Rx-Descriptors'; did you mean 'rx_descriptors'?\n");
	says(ROLELESS "bridges: [{name: h, ports: [a, b], fdb_agin_time: 1s}]\n",
		"f.yaml:2:36: unknown setting 'fdb_agin_time'; did you mean 'fdb_aging_time'?\n");
	says(PORTS "runtime: {gpu: 1}\n", "f.yaml:2:11: unknown setting 'gpu' in runtime; expected "
					  "one of: directory, hugepages, "
					  "memory, cpu_latency_limit, watchdog\n");
	says_unknown("\"\\e[31m\": 1\n", "\\x1b[31m");
	says_unknown("<<: {name: a}\n", "<<");
}

static void routed_bridges_have_no_other_network(void **state)
{
	says(ROLELESS "bridges: [{name: h, ports: [a, b], network: x, host_interface: {}}]\n",
		"f.yaml:2:45: bridges[0].network: 'x' is given for a bridge with host_interface, "
		"which the kernel routes to and from; expected main, or a bridge without "
		"host_interface\n");
	bp_config_free(accepted(ROLELESS
		"bridges: [{name: h, ports: [a, b], network: main, host_interface: {}}]\n"));
}

/* Its network would be that of the routed ports, which nobody asked for. */
static void no_bridge_joins_routed_ports_by_its_name(void **state)
{
#define THREE                                                                                      \
	"ports: [{name: a, device: \"net_null0\"}, {name: b, device: \"net_null1\"}, {name: c, "   \
	"device: \"net_null2\", routed: {}}]\n"
	says(THREE "bridges: [{name: main, ports: [a, b]}]\n",
		"f.yaml:2:18: bridges[0].name: 'main' is the network of routed ports; expected "
		"another name, or a network, such as network: line-1 or network: main\n");
	bp_config_free(accepted(THREE "bridges: [{name: main, ports: [a, b], network: main}]\n"));
	bp_config_free(accepted(THREE "bridges: [{name: main, ports: [a, b], network: x}]\n"));
	bp_config_free(accepted(ROLELESS "bridges: [{name: main, ports: [a, b]}]\n"));
}

/* A file says which version it has; the message comes with those of its old names. */
static void files_have_a_version(void **state)
{
	static const char text[] = BRIDGED "idle: sleep\n";
	char *messages;
	size_t size;
	FILE *f = open_memstream(&messages, &size);

	assert_non_null(f);
	assert_null(bp_config_parse_file("f.yaml", text, sizeof(text) - 1, f));
	fclose(f);
	assert_string_equal(messages,
		"f.yaml:1:1: the file has no 'version'; expected version: 1, the version of this "
		"file's format\n"
		"f.yaml:3:1: unknown setting 'idle' in the file; expected poll_mode: busy or "
		"adaptive, its name in version 1\n");
	free(messages);
}

#define BEYOND                                                                                     \
	"; set monitoring.tls_certificate, monitoring.tls_key and monitoring.token_file, or "      \
	"listen on 127.0.0.1 or a Unix socket\n"

static void monitor_beyond_loopback_needs_tls_and_a_token(void **state)
{
	says(PORTS "monitoring: {listen: \"10.0.0.1:80\"}\n",
		"f.yaml:2:22: monitoring.listen: '10.0.0.1:80' is an address beyond loopback, and "
		"there is no TLS and no token" BEYOND);
	says(PORTS "monitoring: {listen: \"[::]:80\", token_file: t}\n",
		"f.yaml:2:22: monitoring.listen: '[::]:80' is an address beyond loopback, and "
		"there "
		"is no TLS" BEYOND);
	says(PORTS "monitoring: {listen: \"0.0.0.0:80\", tls_certificate: c, tls_key: k}\n",
		"f.yaml:2:22: monitoring.listen: '0.0.0.0:80' is an address beyond loopback, and "
		"there is no token" BEYOND);
	says(PORTS "monitoring: {listen: \"127.0.0.1:80\", tls_key: k}\n",
		"f.yaml:2:38: monitoring.tls_key: there is no tls_certificate; expected both "
		"tls_certificate and tls_key\n");
}

static void the_state_of_a_fleet_is_checked(void **state)
{
	says(PORTS "name: g\nfleet: {state: {}}\n",
		"f.yaml:3:8: fleet has no 'name'; expected a name of at most 31 letters, digits, "
		"'_', '-' and '.', the first not '-' or '.'\n"
		"f.yaml:3:16: fleet.state has no 'server'; expected redis://ADDRESS[:PORT][/DB] or "
		"redis-sentinel://ADDRESS[:PORT],...[/DB]#MASTER, or rediss and rediss-sentinel "
		"for "
		"TLS\n");
	says(PORTS
		"name: g\nfleet: {name: f, state: {server: \"redis://10.0.0.1\", username: u, tls: "
		"{cert: c}}}\n",
		"f.yaml:3:54: fleet.state.username: there is no password_file; expected "
		"password_file with username\n"
		"f.yaml:3:67: fleet.state.tls: the URL of the server is without TLS; expected "
		"rediss:// or rediss-sentinel://, or no tls\n"
		"f.yaml:3:73: fleet.state.tls.cert: there is no key; expected both cert and key, "
		"or "
		"neither\n");
	says(PORTS "name: g\nfleet: {name: f, state: {server: \"redis://10.0.0.1\", password_file: "
		   "p}}\n",
		"f.yaml:3:54: warning: fleet.state.password_file: the password is sent without "
		"TLS, "
		"readable on the network; expected a server with rediss://\n");
	says(PORTS "fleet: {name: f, state: {server: \"redis://10.0.0.1\"}}\n",
		"f.yaml:2:18: fleet.state: the gateway has no 'name'; expected a name that no "
		"other gateway of the fleet has\n");
	says(PORTS "fleet: {name: f, config: {server: \"etcd://h:1\", keys: [/k]}}\n",
		"f.yaml:2:18: fleet.config: the gateway has no 'name'; expected a name that no "
		"other gateway of the fleet has\n");
	/* given, it may be the default */
	says(PORTS "name: biplane\nfleet: {name: f, state: {server: \"redis://10.0.0.1\"}}\n", "");
}

static void old_names_get_the_new_one(void **state)
{
	says(PORTS "idle: sleep\n", "f.yaml:2:1: unknown setting 'idle' in the file; expected "
				    "poll_mode: busy or adaptive, its name in version 1\n");
	says(PORTS "trouble: {log_every: 1s}\n",
		"f.yaml:2:1: unknown setting 'trouble' in the file; expected monitoring, its name "
		"in version 1\n");
	says(PORTS "monitoring: {worker_stuck: 1s}\n",
		"f.yaml:2:14: unknown setting 'worker_stuck' in monitoring; expected "
		"monitoring.worker_stall_timeout, its name in version 1\n");
	says(BRIDGED "mqtt: {checksum: trust, flows: 5}\n",
		"f.yaml:3:8: unknown setting 'checksum' in mqtt; expected mqtt.verify_checksums: "
		"true or false, its name in version 1\n"
		"f.yaml:3:25: unknown setting 'flows' in mqtt; expected mqtt.max_connections, its "
		"name in version 1\n");
	says("ports: [{name: a, device: x, kernel: off, queues: 1}]\n",
		"f.yaml:1:30: unknown setting 'kernel' in ports[0]; expected "
		"ports[].routed.host_interface.backend, its name in version 1\n"
		"f.yaml:1:43: unknown setting 'queues' in ports[0]; expected ports[].rx_queues, "
		"its name in version 1\n");
	/* An old name makes neither rules that seem to have no destination */
	says(BRIDGED "mqtt: {edge: {}, rules: [{name: r, topic: t, raise: {above: 1}}]}\n",
		"f.yaml:3:8: unknown setting 'edge' in mqtt; expected mqtt.publisher, its name in "
		"version 1\n");
	says(BRIDGED "mqtt: {clone: {}, rules: [{name: r, topic: t, raise: {above: 1}, action: "
		     "mirror}]}\n",
		"f.yaml:3:8: unknown setting 'clone' in mqtt; expected mqtt.mirror, its name in "
		"version 1\n");
	/* nor ports that seem to have no role. */
	says(ROLELESS "bridge: [[a, b]]\n", "f.yaml:2:1: unknown setting 'bridge' in the file; "
					    "expected bridges, its name in version 1\n");
}

/* Every new name that an error promises is one of the schema, and no old name is. */
static void new_names_exist(void **state)
{
	for (const struct bp_renamed *r = bp_renamed; r->was != NULL; r++) {
		const size_t len = strcspn(r->is, ": ");
		const struct bp_setting *s = NULL;
		bool found = false;

		while ((s = bp_schema_next(s)) != NULL) {
			assert_string_not_equal(s->path, r->was);
			found |= strlen(s->path) == len && strncmp(s->path, r->is, len) == 0;
		}
		if (!found)
			fail_msg("%s: '%s' is no setting", r->was, r->is);
	}
}

static void names_are_given_once(void **state)
{
	says(PORTS "name: a\n\"name\": b\n",
		"f.yaml:3:1: 'name' is given twice; expected it once (the first is on line 2)\n");
	says(PORTS "ports: [{name: c, device: z}]\n",
		"f.yaml:2:1: 'ports' is given twice; expected it once (the first is on line 1)\n");
	says(BRIDGED "mqtt: {max_connections: 1, directions: both, max_connections: 2}\n",
		"f.yaml:3:46: 'max_connections' is given twice; expected it once (the first is on "
		"line 3)\n");
}

static void required_settings_are_missed(void **state)
{
	says("name: a\n",
		"f.yaml:1:1: the file has no 'ports'; expected a list of 1 to 32 mappings\n");
	says("ports: []\n",
		"f.yaml:1:8: ports: 0 are given; expected a list of 1 to 32 mappings\n");
	says("ports:\n", "f.yaml:1:1: ports: 0 are given; expected a list of 1 to 32 mappings\n");
	says("ports: [{name: a}, {device: x}, ~]\n",
		"f.yaml:1:9: ports[0] has no 'device'; expected a text of 1 to 511 bytes without "
		"control characters\n"
		"f.yaml:1:20: ports[1] has no 'name'; expected a name of at most 31 letters, "
		"digits, '_', '-' and '.', the first not '-' or '.'\n"
		"f.yaml:1:33: ports[2] has no 'name'; expected a name of at most 31 letters, "
		"digits, '_', '-' and '.', the first not '-' or '.'\n"
		"f.yaml:1:33: ports[2] has no 'device'; expected a text of 1 to 511 bytes without "
		"control characters\n");
	says(BRIDGED "mqtt:\n  publisher:\n",
		"f.yaml:4:3: mqtt.publisher has no 'broker'; expected mqtt://HOST[:PORT], or "
		"mqtts://HOST[:PORT] for TLS\n");
}

static void wrong_shapes_are_named(void **state)
{
	says("[a, b]\n", "f.yaml:1:1: the file: found a list; expected a mapping of settings\n");
	says("ports\n", "f.yaml:1:1: the file: found a single value; expected a mapping of "
			"settings\n");
	says("ports: {name: a}\n",
		"f.yaml:1:8: ports: found a mapping; expected a list of 1 to 32 mappings\n");
	says("ports: [a]\n", "f.yaml:1:9: ports[0]: found a single value; expected a mapping "
			     "of settings\n");
	says(PORTS "poll_mode: [spin]\n",
		"f.yaml:2:12: poll_mode: found a list; expected busy or adaptive\n");
	says(PORTS "poll_mode:\n",
		"f.yaml:2:1: poll_mode: no value is given (text that begins with # needs "
		"quotes); expected "
		"busy or adaptive\n");
	says(PORTS "runtime: 5\n", "f.yaml:2:10: runtime: found a single value; expected a "
				   "mapping of settings\n");
}

static void values_are_explained(void **state)
{
	says(PORTS "workers: 65\n", "f.yaml:2:10: workers: 65 is too large; expected a number of "
				    "workers from 1 to 64, or a "
				    "list of as many different cores from 0 to 1023\n");
	says(ROLELESS "bridges: [{name: h, ports: [a, b], fdb_aging_time: 5 fortnights}]\n",
		"f.yaml:2:54: bridges[0].fdb_aging_time: 'fortnights' is not a known unit; "
		"expected a "
		"duration "
		"from 1s "
		"to 1000000s\n");
	says(ROLELESS "bridges: [{name: h, ports: [a, b], fdb_aging_time: \"5 \xc3\xa4\"}]\n",
		"f.yaml:2:55: bridges[0].fdb_aging_time: '\xc3\xa4' is not a known unit; expected "
		"a "
		"duration "
		"from 1s to "
		"1000000s\n");
	says(PORTS "runtime: {hugepages: maybe}\n",
		"f.yaml:2:22: runtime.hugepages: 'maybe' is not a valid choice; expected auto, "
		"require or never\n");
	says(ROLELESS "bridges: [{name: bridge0, ports: [a, cloud]}]\n",
		"f.yaml:2:38: bridges[0].ports: there is no port 'cloud'; expected a list of two "
		"or more "
		"names of ports, such as [devices, cloud], with each port in one bridge only\n");
}

/* The column points into a scalar that is written without escapes. */
static void columns_lead_into_texts(void **state)
{
	static const char rest[] = "; expected a topic of at most 255 bytes, in quotes, with the "
				   "placeholders {topic}, {rule}, {client}, and the names in "
				   "braces of a combination\n";
	char wanted[512];

	says(EDGE "  rules:\n    - {name: r, topic: plant/a+/b, raise: \"> 1\"}\n",
		"f.yaml:6:31: mqtt.rules[0].topic: 'plant/a+/b' is not a topic filter; expected an "
		"MQTT topic filter of at most 1023 bytes, in which + is a whole level and # the "
		"last\n");
	snprintf(wanted, sizeof(wanted),
		"f.yaml:6:63: mqtt.rules[0].publish.topic: '{topc}' is not a placeholder%s", rest);
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", publish: {topic: "
		  "\"a/\xc3\xa4/{topc}\"}}\n",
		wanted);
	/* An escape breaks the correspondence: the place is the text's. */
	snprintf(wanted, sizeof(wanted),
		"f.yaml:6:58: mqtt.rules[0].publish.topic: '{topc}' is not a placeholder%s", rest);
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", publish: {topic: "
		  "\"a/\\u00e4/{topc}\"}}\n",
		wanted);
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"inside 1..b\"}\n",
		"f.yaml:6:45: mqtt.rules[0].raise: 'b' is not a finite decimal number" CONDITION);
}

#define UNQUOTED(place, text)                                                                      \
	"f.yaml:" place ": " text " is not in quotes; conditions must be quoted; expected \"" text \
	"\", or a mapping such as {above: 80}\n"

/* YAML takes > for the header of a folded text; without quotes it hides no other error. */
static void conditions_without_quotes_are_named(void **state)
{
	says(EDGE "  rules:\n    - name: r\n      topic: a+\n      raise: > 80\n"
		  "      clear:  >= -.5 # high\n      hold: 3\npol_mode: busy\n",
		"f.yaml:7:15: mqtt.rules[0].topic: 'a+' is not a topic filter; expected an MQTT "
		"topic filter of at most 1023 bytes, in which + is a whole level and # the "
		"last\n" UNQUOTED("8:14", "> 80") UNQUOTED("9:15",
			">= -.5") "f.yaml:10:13: mqtt.rules[0].hold: 3 has no unit; write 3 "
				  "samples or 3s; expected 3 samples (1 to 1000000), a duration "
				  "from 1ms to 365d, or off\n"
				  "f.yaml:11:1: unknown setting 'pol_mode'; did you mean "
				  "'poll_mode'?\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: >80, clear: > 7}\n",
		UNQUOTED("6:34", ">80") UNQUOTED("6:46", "> 7"));
	/* Values that are valid YAML but no number. */
	says(EDGE "  rules:\n    - name: r\n      topic: t\n      raise: >\n        80\n",
		"f.yaml:8:7: mqtt.rules[0].raise: the text begins with | or >; conditions must be "
		"quoted" CONDITION);
	says(EDGE "  rules:\n    - name: r\n      topic: t\n      raise: >8\n      clear: > 7\n",
		"f.yaml:8:7: mqtt.rules[0].raise: the text begins with | or >; conditions must be "
		"quoted" CONDITION UNQUOTED("9:14", "> 7"));
	/* In other places it is text. */
	says(EDGE "  rules:\n    # raise: > 80\n    - {name: r, topic: \"a, raise: > 80\", raise: "
		  "{above: 1}}\n",
		"");
}

static void every_error_is_reported_in_file_order(void **state)
{
	says("mqtt: {max_connections: 0, publisher: {broker: \"mqtt://h\"}, rules: [{name: r}, "
	     "{topic: t, raise: \"> "
	     "1\"}]}\n"
	     "workers: 0\npol_mode: busy\nports: [{name: a, device: x}]\nbridges: [{name: h, "
	     "ports: [a]}]\n",
		"f.yaml:1:25: mqtt.max_connections: 0 is too small; expected a whole number from 1 "
		"to "
		"16777216\n"
		"f.yaml:1:69: mqtt.rules[0] has no 'topic'; expected an MQTT topic filter of at "
		"most 1023 bytes, in which + is a whole level and # the last\n"
		"f.yaml:1:69: mqtt.rules[0] has no 'raise'; expected raise, absent, all or any\n"
		"f.yaml:1:80: mqtt.rules[1] has no 'name'; expected a name of at most 63 letters, "
		"digits, '_', '-' and '.', the first not '-' or '.'\n"
		"f.yaml:2:10: workers: 0 is too small; expected a number of workers from 1 to 64, "
		"or a list "
		"of as many different cores from 0 to 1023\n"
		"f.yaml:3:1: unknown setting 'pol_mode'; did you mean 'poll_mode'?\n"
		"f.yaml:5:28: bridges[0].ports: a bridge has 1 port; expected a list of two or "
		"more "
		"names of ports, such as [devices, cloud], with each port in one bridge only\n");
}

static void settings_must_agree(void **state)
{
	says("ports: [{name: a, device: x, routed: {}}, {name: a, device: x, routed: {}}]\n",
		"f.yaml:1:50: ports[1].name: port 'a' is named twice; expected a unique name\n"
		"f.yaml:1:61: ports[1].device: port 'a' has the same device; expected a different "
		"device\n");
	says(BRIDGED "mqtt:\n  reassembly_total: 128KiB\n",
		"f.yaml:4:21: mqtt.reassembly_per_connection: 262144 bytes exceed what each worker "
		"has; expected at most mqtt.reassembly_total / workers, 131072 bytes\n");
	says(BRIDGED "workers: 4\nmqtt: {reassembly_total: 1020KiB}\n",
		"f.yaml:4:26: mqtt.reassembly_per_connection: 262144 bytes exceed what each worker "
		"has; expected at most mqtt.reassembly_total / workers, 261120 bytes\n");
	says(BRIDGED "mqtt:\n  reassembly_unestablished: 1MiB\n  reassembly_total: 512KiB\n",
		"f.yaml:4:29: mqtt.reassembly_unestablished: 1048576 bytes exceed the memory of "
		"all connections; expected at most mqtt.reassembly_total, 524288 bytes\n");
	says(BRIDGED "mqtt:\n  publisher: {broker: \"mqtt://h\", password_file: p}\n",
		"f.yaml:4:35: mqtt.publisher.password_file: there is no username; expected "
		"username with password_file\n");
	says(BRIDGED "mqtt:\n  publisher: {broker: \"mqtt://h\", tls: {}}\n",
		"f.yaml:4:35: mqtt.publisher.tls: the broker's URL begins with mqtt://, which is "
		"without TLS; expected mqtts://, or no tls\n");
	says(BRIDGED "mqtt:\n  publisher: {broker: \"mqtts://h\", tls: {ca: c, key: k}}\n",
		"f.yaml:4:49: mqtt.publisher.tls.key: there is no cert; expected both cert and "
		"key, or neither\n");
	says(BRIDGED "mqtt:\n  publisher: {broker: \"mqtts://h\", tls: {cert: k}}\n",
		"f.yaml:4:42: mqtt.publisher.tls.cert: there is no key; expected both cert and "
		"key, or neither\n");
	says(BRIDGED "mqtt:\n  publisher: {broker: \"mqtts://h\"}\n", "");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafka://h\", password_file: p}\n",
		"f.yaml:4:33: mqtt.kafka.password_file: there is no username; expected both "
		"username and password_file, or neither\n");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafka://h\", username: u}\n",
		"f.yaml:4:33: mqtt.kafka.username: there is no password_file; expected both "
		"username and password_file, or neither\n");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafka://h\", sasl_mechanism: plain}\n",
		"f.yaml:4:33: mqtt.kafka.sasl_mechanism: there is no username; expected username "
		"and password_file, or no sasl_mechanism\n");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafka://h\", tls: {}}\n",
		"f.yaml:4:33: mqtt.kafka.tls: the brokers' URL begins with kafka://, which is "
		"without TLS; expected kafkas://, or no tls\n");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafkas://h\", tls: {cert: k}}\n",
		"f.yaml:4:40: mqtt.kafka.tls.cert: there is no key; expected both cert and key, "
		"or neither\n");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafkas://h\"}\n", "");
	says(BRIDGED "mqtt:\n  mirror: {port: a, mac: \"02:00:00:00:00:01\"}\n",
		"f.yaml:4:11: mqtt.mirror has no destination address; expected ipv4_address, "
		"ipv6_address or both\n");
}

/* A password that others can read, in its file or on the network. */
static void readable_secrets_are_warned_of(void **state)
{
	char path[] = "/tmp/biplane-secret-XXXXXX", text[512], wanted[512];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0640), 0);
	snprintf(text, sizeof(text),
		BRIDGED "mqtt:\n  publisher:\n    broker: mqtts://h\n    username: u\n"
			"    password_file: %s\n    tls: {cert: /c, key: %s}\n",
		path, path);
	says(text, "");
	assert_int_equal(fchmod(fd, 0644), 0);
	snprintf(wanted, sizeof(wanted),
		"f.yaml:7:20: warning: mqtt.publisher.password_file: file %s is accessible to "
		"every user (mode 644); expected mode 640\n"
		"f.yaml:8:26: warning: mqtt.publisher.tls.key: file %s is accessible to every "
		"user (mode 644); expected mode 640\n",
		path, path);
	says(text, wanted);
	close(fd);
	unlink(path);
	says(BRIDGED "mqtt:\n  publisher: {broker: \"mqtt://h\", username: u, password_file: p}\n",
		"f.yaml:4:48: warning: mqtt.publisher.password_file: the password is sent without "
		"TLS, readable on the network; expected a broker with mqtts://\n");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafka://h\", username: u, password_file: p, "
		     "sasl_mechanism: plain}\n",
		"f.yaml:4:33: warning: mqtt.kafka.sasl_mechanism: plain sends the password without "
		"TLS, readable on the network; expected brokers with kafkas://, or "
		"scram-sha-512\n");
}

static void rules_must_agree(void **state)
{
	says(BRIDGED "mqtt:\n  rules:\n    - {name: hot, topic: t, raise: \"> 1\"}\n"
		     "    - {name: wet, topic: t, raise: \"> 1\", action: mirror}\n",
		"f.yaml:5:7: rule 'hot': action publish has no destination; expected section "
		"mqtt.publisher in this file\n"
		"f.yaml:6:51: rule 'wet': action mirror has no destination; expected section "
		"mqtt.mirror in this file\n");
	says(EDGE "  rules:\n    - {name: hot, topic: t, raise: \"> 1\", publish: "
		  "{destination: both}}\n",
		"f.yaml:6:7: rule 'hot': action publish has no destination; expected section "
		"mqtt.kafka in this file\n");
	says(BRIDGED "mqtt:\n  kafka: {brokers: \"kafka://h\"}\n  rules:\n    - {name: hot, topic: "
		     "t, raise: \"> 1\", publish: {destination: kafka}}\n",
		"");
	/* A rule that has no name is called by its place. */
	says(BRIDGED "mqtt:\n  rules:\n    - {topic: t, raise: \"> 1\"}\n",
		"f.yaml:5:7: mqtt.rules[0] has no 'name'; expected a name of at most 63 letters, "
		"digits, '_', '-' and '.', the first not '-' or '.'\n"
		"f.yaml:5:7: mqtt.rules[0]: action publish has no destination; expected section "
		"mqtt.publisher in this file\n");
	says(EDGE "  rules:\n    - {name: hot, topic: t, raise: \"> 1\"}\n"
		  "    - {name: wet, topic: t, raise: \"> 1\"}\n    - {name: hot, topic: t, raise: "
		  "\"> 1\"}\n",
		"f.yaml:8:14: rule 'hot' is named twice; expected a unique name "
		"(the other "
		"is on line 6)\n");
	says(EDGE "  max_rules: 1\n  rules:\n    - {name: hot, topic: t, raise: \"> 1\"}\n"
		  "    - {name: wet, topic: t, raise: \"> 1\"}\n",
		"f.yaml:7:5: mqtt.rules: 2 rules are given; expected at most 1 (mqtt.max_rules)\n");
	says(EDGE
		"  max_alarm_states: 1\n  rules:\n    - {name: a, topic: t, raise: \"> 1\", clear: "
		"\"< 1\"}\n    - {name: b, topic: t, raise: \"> 1\"}\n    - {name: c, topic: "
		"t, raise: \"> 1\", hold: 2 samples}\n",
		"f.yaml:5:21: mqtt.max_alarm_states: 2 rules have clear, hold, absent, "
		"repeat: on_change, deadband or quiet, and each needs a state per topic; expected "
		"at least 2\n");
	says(EDGE "  max_rules: 2\n  rules:\n    - name: r\n      any: [{topic: x, condition: \"> "
		  "1\"}, "
		  "{topic: y, condition: \"> 1\"}]\n",
		"f.yaml:7:5: mqtt.rules: 3 rules are given; expected at most 2 (mqtt.max_rules)\n");
	says(EDGE "  rules:\n    - name: r\n      topic: t\n      raise: \"> 1\"\n      all:\n"
		  "        - {topic: \"a/{c}\", condition: \"> 1\"}\n",
		"f.yaml:7:7: mqtt.rules[0].topic: the rule has all, whose parts replace it; "
		"expected only one of them\n"
		"f.yaml:8:7: mqtt.rules[0].raise: the rule has all, whose parts replace it; "
		"expected only one of them\n");
	says(EDGE "  rules:\n    - name: r\n      all:\n"
		  "        - {topic: \"a/{c}\", condition: \"> 1\"}\n"
		  "        - not: {topic: \"a/{d}\", condition: \"> 1\"}\n",
		"f.yaml:9:24: mqtt.rules[0].all: 'a/{c}' and 'a/{d}' have different names in "
		"braces; expected the same names in all parts\n");
	says(EDGE "  rules:\n    - name: r\n      any: [{topic: \"a/{c}\", raise: \"> 1\"}]\n",
		"f.yaml:7:13: mqtt.rules[0].any[0] has no 'condition'; expected a mapping of one "
		"comparison, such as {above: 80} or {inside: [1, 5]}, or its short form in quotes: "
		">, >=, <, <=, == or != and a number, inside A..B or outside A..B\n"
		"f.yaml:7:30: unknown setting 'raise' in mqtt.rules[0].any[0]; expected one of: "
		"topic, value, condition, window, max_age\n");
	says(EDGE "  rules:\n    - name: r\n      all: [{topic: \"a/{c}\", condition: \"> 1\"}]\n"
		  "      publish: {topic: \"{c}/{d}\"}\n",
		"f.yaml:8:29: mqtt.rules[0].publish.topic: '{d}' is not a placeholder; expected a "
		"topic of at most 255 bytes, in quotes, with the placeholders {topic}, {rule}, "
		"{client}, and the names in braces of a combination\n");
	says(EDGE "  max_windows: 1\n  rules:\n    - {name: a, topic: t, raise: \"> 1\", window: "
		  "{values: 2, function: sum}}\n    - {name: b, topic: t, raise: \"> 1\", window: "
		  "{values: 2, function: min}}\n",
		"f.yaml:5:16: mqtt.max_windows: 2 rules have a window, and each needs one per "
		"topic; expected at least 2\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", window: {function: sum, "
		  "values: 2, time: 1s}}\n",
		"f.yaml:6:76: mqtt.rules[0].window.time: the window has values; expected only one "
		"of them\n");
	says(EDGE "  max_window_values: 280\n  rules:\n    - {name: s, topic: t, raise: \"> 1\", "
		  "window: {function: percentile, percentile: 5, time: 1s}}\n",
		"f.yaml:4:3: mqtt.rules: the window of rule 's' is a percentile over time; "
		"expected mqtt.max_window_values: 296 or more\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", window: {function: sum, "
		  "percentile: 5}}\n",
		"f.yaml:6:49: mqtt.rules[0].window has no size; expected values or time, such as "
		"{values: 16, function: mean}\n"
		"f.yaml:6:65: mqtt.rules[0].window.percentile: the function is not percentile; "
		"expected function: percentile, or no percentile\n");
	says(CLONE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", action: mirror, payload: "
		   "envelope}\n",
		"f.yaml:6:66: mqtt.rules[0].payload: action mirror sends the device's own payload; "
		"expected "
		"original, or action publish\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", repeat: on_change, "
		  "deadband: 2}\n",
		"f.yaml:6:70: mqtt.rules[0].deadband: repeat: on_change sends no further alarm "
		"while one is raised; expected repeat: every, or no deadband\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", payload: original, "
		  "annotations: {a: b}}\n",
		"f.yaml:6:73: warning: mqtt.rules[0].annotations: only the envelope contains them; "
		"expected payload: envelope, or no annotations\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", value: {json: $.a, binary: "
		  "{}}}\n",
		"f.yaml:6:48: mqtt.rules[0].value: both json and binary are given; expected text, "
		"sparkplug_online, {json: PATH}, {cbor: PATH}, {msgpack: PATH}, {binary: {offset: "
		"N, type: TYPE, byte_order: big or little}}, {sparkplug: METRIC} or {type: TYPE}\n"
		"f.yaml:6:68: mqtt.rules[0].value.binary has no 'type'; expected int8, int16, "
		"int32, int64, uint8, uint16, uint32, uint64, float32 or float64\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, raise: \"> 1\", value: {json: $.a, death: "
		  "0}}\n",
		"f.yaml:6:48: mqtt.rules[0].value: death is given without sparkplug; expected "
		"text, sparkplug_online, {json: PATH}, {cbor: PATH}, {msgpack: PATH}, {binary: "
		"{offset: N, type: TYPE, "
		"byte_order: big or little}}, {sparkplug: METRIC} or {type: TYPE}\n");
}

static void metrics_have_types(void **state)
{
	(void)state;
	bp_config_free(accepted(EDGE "  rules:\n"
				     "    - {name: r, topic: \"#\", value: {sparkplug: t, type: "
				     "string}, raise: {one_of: "
				     "[open, ajar]}, clear: {equals: closed}}\n"
				     "    - {name: s, topic: \"#\", value: {sparkplug: t, member: "
				     "\"v[0]\", type: boolean}, "
				     "raise: {equals: true}}\n"));
	says(EDGE
		"  rules:\n    - {name: r, topic: \"#\", raise: {equals: open}, value: {sparkplug: "
		"t, type: string, death: 0}}\n",
		"f.yaml:6:95: mqtt.rules[0].value.death: the value at a death is a number; "
		"expected "
		"type number, or no death\n");
}

/* A rule on a metric whose filter matches no topic of data. */
static void sparkplug_topics_are_checked(void **state)
{
	static const char *const good[] = {"\"#\"", "spBv1.0/#", "+/+/+/+", "+/+/+/+/+",
		"spBv1.0/g/DDATA/n/d", "spBv1.0/g/+/n/#", "spBv1.0/g/NDATA/n"};
	static const char *const bad[] = {"t", "plant/#", "spBv1.0/g/NBIRTH/n",
		"spBv1.0/g/DDEATH/#", "spBv1.0/g/+", "+/+/+/+/+/+"};
	char text[1024], message[1024];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text),
			EDGE "  rules:\n    - {name: r, topic: %s, raise: \"> 1\", value: "
			     "{sparkplug: t}}\n",
			good[i]);
		bp_config_free(accepted(text));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
			EDGE "  rules:\n    - {name: r, topic: %s, raise: \"> 1\", value: "
			     "sparkplug_online}\n",
			bad[i]);
		snprintf(message, sizeof(message),
			"f.yaml:6:24: mqtt.rules[0].topic: the filter matches no data message of "
			"Sparkplug B; expected a filter such as spBv1.0/GROUP/+/NODE/#, whose "
			"third level is +, NDATA or DDATA (births and deaths are read without "
			"it)\n");
		says(text, message);
	}
	bp_config_free(accepted(EDGE "  rules:\n    - {name: r, all: [{topic: "
				     "\"spBv1.0/g/DDATA/{node}/{device}\", condition: \"> 1\", "
				     "value: {sparkplug: t}}]}\n"));
	says(EDGE "  rules:\n    - {name: r, all: [{topic: \"plant/{cell}/t\", condition: \"> 1\", "
		  "value: {sparkplug: t}}]}\n",
		"f.yaml:6:31: mqtt.rules[0].all[0].topic: the filter matches no data message of "
		"Sparkplug B; expected a filter such as spBv1.0/GROUP/+/NODE/#, whose third level "
		"is +, NDATA or DDATA (births and deaths are read without it)\n");
}

/* A condition pair with a value that raises and clears gets a warning with an example; others get
 * none. */
static void overlap_is_warned_of(void **state)
{
	static const struct {
		const char *raise, *clear, *at; /* NULL: none */
	} cases[] = {
		{"> 80", "< 75", NULL},
		{"> 80", "<= 80", NULL},
		{">= 80", "<= 80", "80"},
		{"> 80", "< 90", "85"},
		{"> 80", "> 70", "81"},
		{"< 5", "< 4", "3"},
		{"== 5", "!= 5", NULL},
		{"== 5", "== 5", "5"},
		{"!= 5", "inside 4..6", "4.5"},
		{"inside 1..3", "outside 1..3", NULL},
		{"inside 1..3", "outside 1..2", "3"},
		{"outside 1..3", "outside 0..4", "-1"},
		{"outside 1..3", "inside 1..3", NULL},
		{"outside 1..3", "inside 1..3.5", "3.25"},
		{"> 80", "< 80.00000000000003", "80.00000000000001"},
		{">= 1e308", "> -1e308", "1e308"},
		{"!= 0", "> 1e308", "1.0000000000000002e308"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512], wanted[512] = "";

		snprintf(text, sizeof(text),
			EDGE "  rules:\n    - {name: r, topic: t, raise: \"%s\",\n       clear: "
			     "\"%s\"}\n",
			cases[i].raise, cases[i].clear);
		if (cases[i].at != NULL)
			snprintf(wanted, sizeof(wanted),
				"f.yaml:7:15: warning: mqtt.rules[0].clear: %s would both raise "
				"and clear this "
				"alarm; expected conditions that no value meets together\n",
				cases[i].at);
		says(text, wanted);
		bp_config_free(accepted(text));
	}
}

static void mqtt_without_traffic_is_warned_of(void **state)
{
	static const char off[] = "ports: [{name: a, device: x, routed: {host_interface: {backend: "
				  "off}}}]\nmqtt: {max_connections: 5}\n";

	says(off,
		"f.yaml:2:7: warning: mqtt: no traffic passes that could be inspected, as there is "
		"no bridge and no route; expected bridges: [{name: line-1, ports: [devices, "
		"cloud]}], or routed ports with addresses\n");
	bp_config_free(accepted(off));
	says(PORTS "mqtt: {max_connections: 5}\n", "");
	says(BRIDGED "mqtt: {max_connections: 5}\n", "");
	says("ports: [{name: a, device: x, routed: {addresses: 10.0.0.1/24, host_interface: "
	     "{backend: off}}}]\nmqtt: "
	     "{max_connections: 5}\n",
		"");
}

#define HINT                                                                                       \
	"; expected YAML 1.2 (text with { } [ ] , # & * ! | > or ': ' in it belongs in quotes)\n"

static void yaml_errors_have_a_position(void **state)
{
	says(PORTS "name: [a\n",
		"f.yaml:3:1: not valid YAML: flow sequence without a closing bracket" HINT);
	says(PORTS "mqtt:\n  to: {to: a/{topic}}\n",
		"f.yaml:3:14: not valid YAML: missing comma in flow mapping" HINT);
	says("\tname: a\n",
		"f.yaml:1:1: not valid YAML: invalid tab as indendation in a mapping" HINT);
	says("name: \"a\n",
		"f.yaml:1:8: not valid YAML: double-quoted scalar without closing quote" HINT);
}

static void yaml_that_hides_values_is_refused(void **state)
{
	says("name: &n a\nports: *n\n", "f.yaml:1:7: a YAML anchor is not supported; expected the "
					"value alone, written out in each "
					"place\n"
					"f.yaml:2:8: a YAML alias is not supported; expected the "
					"value itself, written out (or in "
					"quotes, if it begins with *)\n");
	says(PORTS "name: !!str a\n", "f.yaml:2:7: a YAML tag is not supported; expected a plain "
				      "value, or quotes around one that "
				      "begins with !\n");
	says(EDGE "  rules:\n    - name: r\n      topic: t\n      raise: != 5\n",
		"f.yaml:8:14: != begins a YAML tag here; conditions must be quoted; expected \"!= "
		"NUMBER\", or {not_equals: NUMBER}\n");
	says("%TAG ! x\n---\n" PORTS, "f.yaml:1:1: a YAML directive is not supported; expected no "
				      "line that begins with %\n");
	says(PORTS "name: !<%41> b\n", "f.yaml:2:7: a YAML tag is not supported; expected no word "
				       "that begins with ! and has a %\n");
	says(PORTS "name: 'a\n  b'\n", "f.yaml:2:7: a text in single quotes continues on the next "
				       "line; expected it on one line, or in "
				       "double quotes\n");
	says(PORTS "? [a]\n: 1\n", "f.yaml:2:3: the name of a setting is a list or mapping; "
				   "expected a name and a colon\n");
	says(PORTS "---\nname: a\n",
		"f.yaml:2:1: a second YAML document begins; expected one document in the file\n");
	says("", "f.yaml:1:1: the file is empty; expected a mapping of settings with at least "
		 "'ports'\n");
	says("# only a comment\n", "f.yaml:1:1: the file is empty; expected a mapping of settings "
				   "with at least 'ports'\n");
}

static void non_text_bytes_are_rejected(void **state)
{
	static const char nul[] = PORTS "name: a\0b\n";
	struct outcome o = parse_bytes(nul, sizeof(nul) - 1);

	assert_string_equal(
		o.errors, "f.yaml:2:8: byte 0x00 is not valid here; expected UTF-8 text\n");
	end(&o);
	says(PORTS "# \xc3\xa4\xc3\xa4 \xff\n",
		"f.yaml:2:6: byte 0xff is not valid here; expected UTF-8 text\n");
	says(PORTS "# \xe2\x82", "f.yaml:2:3: byte 0xe2 is not valid here; expected UTF-8 text\n");
	says(PORTS "# \xed\xa0\x80\n",
		"f.yaml:2:3: byte 0xed is not valid here; expected UTF-8 text\n");
	bp_config_free(accepted("\xef\xbb\xbf" PORTS));
}

static void unreadable_files_are_reported(void **state)
{
	char *errors = NULL;
	size_t size;
	FILE *f = open_memstream(&errors, &size);

	assert_null(bp_config_load("/nonexistent/f.yaml", f));
	assert_null(bp_config_load("/", f));
	fclose(f);
	assert_string_equal(errors,
		"/nonexistent/f.yaml:1:1: cannot be opened: No such file or directory; expected a "
		"readable "
		"configuration file\n"
		"/:1:1: cannot be read: Is a directory; expected a readable configuration file\n");
	free(errors);
}

static void files_are_read_completely(void **state)
{
	char path[] = "/tmp/biplane-config-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w"), *errors = tmpfile();
	struct bp_config *c;

	assert_non_null(f);
	/* More than one read, and the end matters. */
	for (int i = 0; i < 5000; i++)
		fputs("# a comment that fills the file up to more than a buffer\n", f);
	fputs("version: 1\n" PORTS "name: last\n", f);
	fclose(f);
	c = bp_config_load(path, errors);
	unlink(path);
	assert_non_null(c);
	assert_string_equal(c->name, "last");
	assert_int_equal(ftell(errors), 0);
	fclose(errors);
	bp_config_free(c);
}

/* A rule with absent evaluates no value. */
static void absence_excludes_values(void **state)
{
	says(EDGE "  rules:\n    - {name: r, topic: t, absent: 30s, value: text, raise: \"> 1\", "
		  "hold: 2s, "
		  "repeat: every}\n",
		"f.yaml:6:40: mqtt.rules[0].value: the rule has absent (line 6), which evaluates "
		"no "
		"value; expected absent without value, or a second rule\n"
		"f.yaml:6:53: mqtt.rules[0].raise: the rule has absent (line 6), which evaluates "
		"no "
		"value; expected absent without raise, or a second rule\n"
		"f.yaml:6:67: mqtt.rules[0].hold: the rule has absent (line 6), which evaluates no "
		"value; expected absent without hold, or a second rule\n"
		"f.yaml:6:77: mqtt.rules[0].repeat: the rule has absent (line 6), which evaluates "
		"no "
		"value; expected absent without repeat, or a second rule\n");
	says(EDGE "  rules:\n    - {name: r, topic: t, absent: 30s, payload: original}\n",
		"f.yaml:6:49: mqtt.rules[0].payload: there is no payload when a topic is silent; "
		"expected envelope\n");
	says(CLONE "  rules:\n    - {name: r, topic: t, absent: 30s, action: mirror}\n",
		"f.yaml:6:48: mqtt.rules[0].action: there is no frame to mirror when a topic is "
		"silent; expected publish\n");
	says(EDGE "  rules:\n    - name: r\n      absent: 30s\n      topic: "
		  "t2345678901234567890123456789012345678901234567890123456789012345678901234567890"
		  "12345678901234567890123456789012345678901234567890123456789012345678901234567890"
		  "1234567890123456789012345\n",
		"f.yaml:8:14: mqtt.rules[0].topic: it has 185 bytes; expected at most 184 for a "
		"rule "
		"with absent\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absence_excludes_values),
		cmocka_unit_test(unknown_names_get_a_suggestion),
		cmocka_unit_test(routed_bridges_have_no_other_network),
		cmocka_unit_test(no_bridge_joins_routed_ports_by_its_name),
		cmocka_unit_test(files_have_a_version),
		cmocka_unit_test(monitor_beyond_loopback_needs_tls_and_a_token),
		cmocka_unit_test(the_state_of_a_fleet_is_checked),
		cmocka_unit_test(old_names_get_the_new_one),
		cmocka_unit_test(new_names_exist),
		cmocka_unit_test(names_are_given_once),
		cmocka_unit_test(required_settings_are_missed),
		cmocka_unit_test(wrong_shapes_are_named),
		cmocka_unit_test(values_are_explained),
		cmocka_unit_test(columns_lead_into_texts),
		cmocka_unit_test(conditions_without_quotes_are_named),
		cmocka_unit_test(every_error_is_reported_in_file_order),
		cmocka_unit_test(settings_must_agree),
		cmocka_unit_test(readable_secrets_are_warned_of),
		cmocka_unit_test(rules_must_agree),
		cmocka_unit_test(metrics_have_types),
		cmocka_unit_test(sparkplug_topics_are_checked),
		cmocka_unit_test(overlap_is_warned_of),
		cmocka_unit_test(mqtt_without_traffic_is_warned_of),
		cmocka_unit_test(yaml_errors_have_a_position),
		cmocka_unit_test(yaml_that_hides_values_is_refused),
		cmocka_unit_test(non_text_bytes_are_rejected),
		cmocka_unit_test(unreadable_files_are_reported),
		cmocka_unit_test(files_are_read_completely),
	};

	return cmocka_run_group_tests_name("config errors", tests, NULL, NULL);
}
