/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

/* Which instance a file means, whatever else is wrong with it. */

struct told {
	struct bp_config_instance i;
	char *errors;
	int ret;
};

static struct told tell(const char *text)
{
	struct told t = {0};
	size_t size;
	FILE *f = open_memstream(&t.errors, &size);

	assert_non_null(f);
	t.ret = bp_config_parse_instance("f.yaml", text, strlen(text), &t.i, f);
	assert_int_equal(fclose(f), 0);
	return t;
}

static void is(const char *text, int ret, const char *name, const char *dir, bool no_hugepages)
{
	struct told t = tell(text);

	if (t.ret != ret)
		print_error("%s\n%s\n", text, t.errors);
	assert_int_equal(t.ret, ret);
	assert_string_equal(t.errors, "");
	assert_string_equal(t.i.name, name);
	assert_string_equal(t.i.runtime_dir, dir);
	assert_int_equal(t.i.no_hugepages, no_hugepages);
	free(t.errors);
}

/* Refused, with all that the file has got wrong. */
static void is_refused(const char *text)
{
	struct told t = tell(text);
	struct outcome o = parse(text);

	assert_null(o.config);
	assert_int_equal(t.ret, -1);
	assert_string_equal(t.errors, o.errors);
	assert_true(strlen(t.errors) > 10);
	free(t.errors);
	end(&o);
}

#define RUN "/run/biplane"
#define NAMED "name: plant\nruntime: {directory: /d, hugepages: never}\n"

static void of_a_right_file(void **state)
{
	is(PORTS, 0, "biplane", RUN, false);
	is(PORTS NAMED, 0, "plant", "/d", true);
	/* warnings are not printed */
	is(NAMED PORTS "mqtt:\n  publisher: {broker: \"mqtt://h\"}\n", 0, "plant", "/d", true);
}

static void errors_in_other_sections_are_ignored(void **state)
{
	is("workers: none\n", 1, "biplane", RUN, false);
	is(NAMED, 1, "plant", "/d", true); /* no ports */
	is("surplus: 1\nports: 7\n" NAMED, 1, "plant", "/d", true);
	is(NAMED "mqtt:\n  rules: [{name: a, topic: \"x#\", raise: hot}]\n", 1, "plant", "/d",
		true);
	is("name: plant\nruntime:\n  memory: much\n  directory: /d\n  swap: 1\n", 1, "plant", "/d",
		false);
	is("name: plant\nruntime:\n", 1, "plant", RUN, false);
	/* the first of two, as the message about them has it */
	is(NAMED "name: other\n", 1, "plant", "/d", true);
	/* where to look is known without it */
	is("name: plant\nruntime: {hugepages: sometimes}\n", 1, "plant", RUN, false);
}

static void invalid_yaml_after_the_name_is_ignored(void **state)
{
	is(NAMED PORTS "bridges: [{name: b, ports: [a, b]\nmqtt: {}\n", 1, "plant", "/d", true);
	is(NAMED "mqtt:\n\t- tab\n", 1, "plant", "/d", true);
	is("name: plant\nports: [\n", 1, "plant", RUN, false);
	/* before it, it does: the default name would be another instance's */
	is_refused("ports: [{name: a, device: x]\n" NAMED);
	is_refused("ports: [\nname: plant\n");
	is_refused("name: \"plant\n");
}

static void ambiguous_layout_is_rejected(void **state)
{
	is_refused("");
	is_refused("[a, b]\n");
	is_refused("plant\n");
	is_refused("\xff\xfe");
	is_refused(PORTS "name: a/b\n");
	is_refused(PORTS "name:\n");
	is_refused(PORTS "name: [plant]\n");
	is_refused(PORTS "name: !!str plant\n");
	is_refused(PORTS "nmae: plant\n"); /* not the default: a slip of the pen */
	is_refused(PORTS "Name: plant\n");
	is_refused(PORTS "name: plant\nrun-time: {directory: /d}\n");
	is_refused(PORTS "name: plant\nruntime: /d\n");
	is_refused(PORTS "name: plant\nruntime: {directory: }\n");
	is_refused(PORTS "name: plant\nruntime: {directry: /d}\n");
	is_refused(PORTS "name: plant\nruntime: {directory: [/d]}\n");
}

static void of_a_file(void **state)
{
	struct bp_config_instance i;
	char *said = NULL;
	size_t size;
	FILE *f = open_memstream(&said, &size);

	assert_int_equal(bp_config_load_instance("/nowhere/x.yaml", &i, f), -1);
	fclose(f);
	assert_string_equal(said,
		"/nowhere/x.yaml:1:1: cannot be opened: No such file or directory; expected a "
		"readable configuration file\n");
	free(said);
	assert_int_equal(bp_config_load_instance(EXAMPLES "/lab-veth.yaml", &i, stderr), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_right_file),
		cmocka_unit_test(errors_in_other_sections_are_ignored),
		cmocka_unit_test(invalid_yaml_after_the_name_is_ignored),
		cmocka_unit_test(ambiguous_layout_is_rejected),
		cmocka_unit_test(of_a_file),
	};

	return cmocka_run_group_tests_name("config instance", tests, NULL, NULL);
}
