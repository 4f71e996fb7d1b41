/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include <glob.h>

#include "config/defaults.h"
#include "config/schema.h"

/* The settings that a file does not give, with their values. */

#define RULE(name, more)                                                                           \
	"    - {name: " name ", topic: t, value: text, raise: {above: 1}, action: publish, "       \
	"payload: envelope" more "}\n"
static void print(const struct bp_config_default *d, void *arg)
{
	fprintf(arg, "%s: %s%s%s\n", d->path, d->value, d->main ? " main" : "",
		d->in_section ? " in_section" : "");
}

static char *defaults_of(const char *text)
{
	struct bp_config *c = accepted(text);
	char *list;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	assert_non_null(f);
	assert_int_equal(bp_config_defaults(c, text, strlen(text), print, f), 0);
	fclose(f);
	bp_config_free(c);
	return list;
}

/* Asserts that each line of `lines` is in the list, or is not. */
static void assert_lists(const char *text, bool listed, const char *const *lines)
{
	char *list = defaults_of(text);

	for (; *lines != NULL; lines++) {
		const char *at = strstr(list, *lines);

		while (at != NULL && at != list && at[-1] != '\n')
			at = strstr(at + 1, *lines);
		if ((at != NULL) != listed)
			fail_msg("'%s' is %s in:\n%s", *lines, listed ? "not" : "wrongly", list);
	}
	free(list);
}
#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void settings_outside_lists(void **state)
{
	(void)state;
	assert_lists(BRIDGED "poll_mode: adaptive\nmqtt: {max_connections: 1024}\n", true,
		LINES("workers: 1 main\n", "runtime.hugepages: auto main\n", "mbufs: auto\n",
			"mqtt.directions: to_broker main in_section\n",
			"mqtt.spool.max_age: 7d main in_section\n",
			"mqtt.max_unestablished: 257 in_section\n",
			"routing.max_ipv4_routes: 1048576 main\n"));
	assert_lists(BRIDGED "poll_mode: adaptive\nmqtt: {max_connections: 1024}\n", false,
		LINES("poll_mode", "mqtt.max_connections", "mqtt.publisher", "mqtt.rules",
			"ports: ", "bridges: "));
	/* a default that is written out is given; an empty section gives nothing */
	assert_lists(BRIDGED "workers: 1\nmqtt:\n", false, LINES("workers"));
	assert_lists(BRIDGED "workers: 1\nmqtt:\n", true,
		LINES("mqtt.directions: to_broker main in_section\n"));
	assert_lists(BRIDGED, false, LINES("mqtt."));
}

static void settings_of_elements(void **state)
{
	static const char text[] =
		EDGE "  rules:\n" RULE("a", ", hold: 3 samples") RULE("b", ", repeat: on_change");

	(void)state;
	assert_lists(text, true,
		LINES("mqtt.rules[a].repeat: every main in_section\n",
			"mqtt.rules[b].hold: off main in_section\n",
			"mqtt.rules[a].publish.topic: \"alarm/{topic}\" main in_section\n",
			"ports[a].rx_queues: auto in_section\n"));
	assert_lists(text, false,
		LINES("mqtt.rules[a].hold", "mqtt.rules[b].repeat", "mqtt.rules[a].raise",
			"mqtt.rules[a].clear", "mqtt.rules[a].value"));
}

#define READINGS                                                                                   \
	"ports: [{name: a, device: x, routed: {}}]\n"                                              \
	"transform:\n  entries:\n    - {port: a, udp_port: 1"

static void settings_below_a_mapping_that_is_stored_as_a_value(void **state)
{
	(void)state;
	assert_lists(READINGS "}\n", true,
		LINES("transform.entries[0].layout: kunze2021 main in_section\n"));
	assert_lists(READINGS
		", layout: {byte_order: little, from_x: {offset: 0, type: float32}, from_y: "
		"{offset: 4, type: float32}, from_z: {offset: 8, type: float32}, x: {offset: 12, "
		"type: fixed32}, y: {offset: 16, type: float32}, z: {offset: 20, type: "
		"float32}}}\n",
		true,
		LINES("transform.entries[0].layout.angle_unit: radians in_section\n",
			"transform.entries[0].layout.x.fraction: 25 in_section\n"));
	assert_lists(EDGE "  rules:\n    - {name: a, topic: t, raise: {above: 1}, value: {binary: "
			  "{type: uint8}}}\n",
		true, LINES("mqtt.rules[a].value.binary.offset: 0 in_section\n"));
}

/* A file that gives all settings has no defaults: the dump of any file. */
static void a_dump_has_no_defaults(void **state)
{
	glob_t files;

	(void)state;
	assert_int_equal(glob(EXAMPLES "/*.yaml", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct bp_config *c = bp_config_load(files.gl_pathv[i], stderr);
		char *text, *list;

		assert_non_null(c);
		text = dump(c);
		list = defaults_of(text);
		if (list[0] != '\0')
			fail_msg("%s:\n%s", files.gl_pathv[i], list);
		bp_config_free(c);
		free(text);
		free(list);
	}
	globfree(&files);
}

static void text_that_is_not_yaml_is_an_error(void **state)
{
	struct bp_config *c = accepted(BRIDGED);
	char *list;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	(void)state;
	assert_int_equal(bp_config_defaults(c, "{", 1, print, f), -1);
	fclose(f);
	assert_string_equal(list, "");
	free(list);
	bp_config_free(c);
}

/* A main setting of a list is printed once for all elements: its default is a constant. */
static void main_settings_have_a_default(void **state)
{
	const struct bp_setting *s = NULL;
	unsigned n = 0;

	(void)state;
	while ((s = bp_schema_next(s)) != NULL) {
		if ((s->flags & BP_MAIN) == 0)
			continue;
		n++;
		assert_false(s->flags & BP_REQUIRED);
		assert_true(s->list == NULL && s->type != &bp_type_section);
		if (strchr(s->path, '[') != NULL && (s->preset == NULL || s->preset_text != NULL))
			fail_msg("%s", s->path);
	}
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_outside_lists),
		cmocka_unit_test(settings_of_elements),
		cmocka_unit_test(settings_below_a_mapping_that_is_stored_as_a_value),
		cmocka_unit_test(a_dump_has_no_defaults),
		cmocka_unit_test(text_that_is_not_yaml_is_an_error),
		cmocka_unit_test(main_settings_have_a_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
