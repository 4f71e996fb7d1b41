/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config/fleet/bundle.h"
#include "config/defaults.h"
#include "config/mqtt/settings.h"
#include "config/schema.h"

/* A bundle replaces settings of the file; its errors name its own lines. */

#define FILE_TEXT                                                                                  \
	"version: 1\n"                                                                             \
	"ports: [{name: a, device: x}, {name: b, device: y}]\n"                                    \
	"bridges: [{name: h, ports: [a, b]}]\n"                                                    \
	"mqtt:\n  max_rules: 50\n"                                                                 \
	"  publisher: {broker: \"mqtt://192.0.2.1\", keep_alive: 20s}\n"                           \
	"  rules:\n    - {name: old, topic: t, raise: {above: 1}}\n"

static struct outcome parse_with(const char *bundle)
{
	const struct bp_bundle b = {"b.yaml", bundle, strlen(bundle)};
	struct outcome o = {0};
	size_t size;
	FILE *f = open_memstream(&o.errors, &size);

	assert_non_null(f);
	o.config = bp_config_parse_with("f.yaml", FILE_TEXT, sizeof(FILE_TEXT) - 1, &b, f);
	fclose(f);
	return o;
}

static void refused(const char *bundle, const char *errors)
{
	struct outcome o = parse_with(bundle);

	assert_null(o.config);
	assert_string_equal(o.errors, errors);
	end(&o);
}

static void mappings_are_merged_and_lists_replaced(void **state)
{
	struct outcome o = parse_with("mqtt:\n  publisher: {keep_alive: 40s}\n  rules:\n"
				      "    - {name: n1, topic: t, raise: {above: 2}}\n"
				      "    - {name: n2, topic: u, raise: {above: 3}}\n"
				      "sampling: []\n");
	const struct bp_config_mqtt *m;

	if (o.config == NULL)
		fail_msg("%s", o.errors);
	m = bp_config_mqtt(o.config);
	assert_int_equal(m->n_rules, 2);
	assert_string_equal(m->rules[0].name, "n1");
	assert_int_equal(m->max_rules, 50);
	assert_int_equal(m->publisher.keep_alive_s, 40);
	assert_string_equal(m->publisher.broker.host, "192.0.2.1");
	end(&o);
}

static void empty_bundle_changes_nothing(void **state)
{
	struct outcome o = parse_with("# nothing\n");

	assert_non_null(o.config);
	assert_string_equal(bp_config_mqtt(o.config)->rules[0].name, "old");
	end(&o);
}

static void errors_name_the_line_of_the_bundle(void **state)
{
	refused("mqtt:\n  max_rules: 0\n  rules:\n    - {name: x, topic: t, raise: {above: y}}\n",
		"b.yaml:2:14: mqtt.max_rules: 0 is too small; expected a whole number from 1 to "
		"131072\n"
		"b.yaml:4:42: mqtt.rules[0].raise.above: 'y' is not a finite decimal number; "
		"expected a finite decimal number\n");
	refused("mqtt:\n  rules:\n    - {name: x, topic: t, raise: {above: 1}}\n"
		"    - {name: x, topic: t, raise: {above: 1}}\n",
		"b.yaml:4:14: rule 'x' is named twice; expected a unique name "
		"(the other is on line 3)\n");
	refused("mqtt: {rules: [\n",
		"b.yaml:2:1: not valid YAML: flow sequence without a closing bracket; expected "
		"YAML 1.2 (text with { } [ ] , # & * ! | > or ': ' in it belongs in quotes)\n");
	refused("[a]\n",
		"b.yaml:1:1: the bundle is not a mapping; expected settings, such as mqtt:\n");
	refused("mqtt: {max_rules: 1, max_rules: 2}\n",
		"b.yaml:1:22: 'max_rules' is given twice; expected it once\n");
}

static void settings_of_one_gateway_are_refused(void **state)
{
	static const char *const local[] = {
		"name", "runtime", "ports", "bridges", "monitoring", "log", "fleet"};
	char text[64], errors[256];

	for (unsigned i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		snprintf(text, sizeof(text), "%s: {}\n", local[i]);
		snprintf(errors, sizeof(errors),
			"b.yaml:1:1: '%s' belongs to one gateway; expected a bundle without it, "
			"and the setting in the file of the gateway\n",
			local[i]);
		refused(text, errors);
	}
}

static void sections_are_bounded(void **state)
{
	char text[1024] = "mqtt: {";
	struct outcome o;

	for (unsigned i = 0; i < 56; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "k%u: 1, ", i);
	strcat(text, "}\n");
	o = parse_with(text);
	assert_null(o.config);
	assert_non_null(strstr(o.errors, "56 settings in one section; expected at most 48"));
	end(&o);
}

/* ---- the stored bundle ---- */

static char dir[64], file[96], stored[96];

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/biplane-bundle.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/f.yaml", dir);
	snprintf(stored, sizeof(stored), "%s/gw1.yaml", dir);
	return 0;
}

static int remove_dir(void **state)
{
	unlink(file);
	unlink(stored);
	return rmdir(dir);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void write_config(const char *fleet)
{
	char text[1024];

	snprintf(text, sizeof(text),
		FILE_TEXT "name: gw1\nfleet: {name: f, config: {server: "
			  "\"etcd://h:1\", keys: [/k]%s%s}}\n",
		fleet, fleet[0] != '\0' ? dir : "");
	write_text(file, text);
}

static struct outcome load(void)
{
	struct outcome o = {0};
	size_t size;
	FILE *f = open_memstream(&o.errors, &size);

	o.config = bp_config_load(file, f);
	fclose(f);
	return o;
}

static void stored_bundle_is_read_with_the_file(void **state)
{
	char path[PATH_MAX];
	struct outcome o;

	write_config(", directory: ");
	o = load();
	assert_non_null(o.config);
	assert_string_equal(bp_config_mqtt(o.config)->rules[0].name, "old");
	assert_true(bp_config_bundle_path(o.config, path));
	assert_string_equal(path, stored);
	end(&o);

	write_text(stored, "mqtt: {rules: [{name: fleet, topic: t, raise: {above: 1}}]}\n");
	o = load();
	assert_non_null(o.config);
	assert_string_equal(bp_config_mqtt(o.config)->rules[0].name, "fleet");
	end(&o);

	write_text(stored, "mqtt: {rulez: []}\n");
	o = load();
	assert_null(o.config);
	assert_non_null(strstr(o.errors, "/gw1.yaml:1:8: unknown setting 'rulez'"));
	end(&o);
}

static void unreadable_bundle_is_an_error(void **state)
{
	struct outcome o;

	write_config(", directory: ");
	assert_int_equal(unlink(stored), 0);
	assert_int_equal(mkfifo(stored, 0600), 0);
	o = load();
	assert_null(o.config);
	assert_non_null(strstr(o.errors, "cannot be read: Invalid argument"));
	end(&o);
	assert_int_equal(unlink(stored), 0);
	write_text(stored, "");
	assert_int_equal(truncate(stored, BP_BUNDLE_MAX + 1), 0);
	o = load();
	assert_null(o.config);
	assert_non_null(strstr(o.errors, "cannot be read: File too large"));
	end(&o);
}

static void note(const struct bp_config_default *d, void *arg)
{
	if (strcmp(d->path, "mqtt.min_ttl") == 0)
		*(bool *)arg = true;
}

static void settings_of_the_bundle_are_no_defaults(void **state)
{
	struct outcome o;
	char *text;
	bool seen = false;
	size_t len;

	write_config(", directory: ");
	write_text(stored, "mqtt: {min_ttl: 3}\n");
	o = load();
	assert_non_null(o.config);
	text = bp_config_read_file(file, &len, stderr);
	assert_int_equal(bp_config_defaults(o.config, text, len, note, &seen), 0);
	assert_false(seen);
	free(text);
	end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_are_merged_and_lists_replaced),
		cmocka_unit_test(empty_bundle_changes_nothing),
		cmocka_unit_test(errors_name_the_line_of_the_bundle),
		cmocka_unit_test(settings_of_one_gateway_are_refused),
		cmocka_unit_test(sections_are_bounded),
		cmocka_unit_test(stored_bundle_is_read_with_the_file),
		cmocka_unit_test(unreadable_bundle_is_an_error),
		cmocka_unit_test(settings_of_the_bundle_are_no_defaults),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
