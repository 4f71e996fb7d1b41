/* SPDX-License-Identifier: BSD-3-Clause */
/* The file that health_devices.allow_file names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/health/settings.h"

static char dir[64], file[128], err[1024];
static struct bp_config_phd config;
static struct bp_config_phd_ids ids;

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/biplane-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/allowed", dir);
	memset(&config, 0, sizeof(config));
	config.enabled = true;
	snprintf(config.allow_file, sizeof(config.allow_file), "%s", file);
	err[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(dir);
}

static void write_file(const char *text, unsigned times)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	for (unsigned i = 0; i < times; i++)
		assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void refused_because(const char *why)
{
	assert_int_equal(bp_config_phd_allow_check(&config, err, sizeof(err)), -1);
	assert_int_equal(bp_config_phd_allow_load(&config, &ids, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "health_devices.allow_file: "));
	assert_non_null(strstr(err, config.allow_file));
	assert_non_null(strstr(err, why));
	assert_true(ids.n == 0 && ids.id == NULL);
}

static void its_ids_are_listed(void **state)
{
	static const uint8_t listed[8] = {0, 0x22, 9, 0x22, 0x58, 1, 0, 7};
	static const uint8_t other[8] = {0, 0x22, 9, 0x22, 0x58, 1, 0, 8};

	(void)state;
	write_file("# ward 3\n0022092258010007 # bed 1\n\n00220922580100ff\n", 1);
	assert_int_equal(bp_config_phd_allow_check(&config, err, sizeof(err)), 0);
	assert_int_equal(bp_config_phd_allow_load(&config, &ids, err, sizeof(err)), 0);
	assert_int_equal(ids.n, 2);
	assert_true(bp_config_phd_listed(&ids, listed));
	assert_false(bp_config_phd_listed(&ids, other));
	free(ids.id);
	write_file("", 1); /* no one is named, and that is no error */
	assert_int_equal(bp_config_phd_allow_load(&config, &ids, err, sizeof(err)), 0);
	assert_int_equal(ids.n, 0);
}

static void what_is_broken_is_refused(void **state)
{
	(void)state;
	refused_because("No such file");
	write_file("0022092258010007\n002209225801000\n", 1);
	refused_because("allowed:2: not a system-id");
	write_file("0022092258010007\n", BP_PHD_ALLOW_MAX + 1);
	refused_because("allowed:65537: ");
	write_file("# a comment of 32 characters ....\n", (4u << 20) / 32);
	refused_because("4 MiB");
	snprintf(config.allow_file, sizeof(config.allow_file), "%s", dir);
	refused_because("Is a directory");
}

static void without_one_nothing_is_read(void **state)
{
	(void)state;
	config.enabled = false;
	assert_int_equal(bp_config_phd_allow_check(&config, err, sizeof(err)), 0);
	config.enabled = true;
	config.allow_file[0] = '\0';
	assert_int_equal(bp_config_phd_allow_load(&config, &ids, err, sizeof(err)), 0);
	assert_true(ids.n == 0 && ids.id == NULL);
}

/* A file alone restricts, as a list does: otherwise a missing list would allow all devices. */
static void either_restricts(void **state)
{
	(void)state;
	assert_true(bp_config_phd_restricted(&config));
	config.allow_file[0] = '\0';
	assert_false(bp_config_phd_restricted(&config));
	config.has_allow = true;
	assert_true(bp_config_phd_restricted(&config));
}

static void who_is_in_either_may(void **state)
{
	static uint8_t in_list[8] = {0, 0x22, 9, 0x22, 0x58, 1, 0, 6};
	static const uint8_t in_file[8] = {0, 0x22, 9, 0x22, 0x58, 1, 0, 7};
	static const uint8_t other[8] = {0, 0x22, 9, 0x22, 0x58, 1, 0, 8};

	(void)state;
	write_file("0022092258010007\n", 1);
	assert_int_equal(bp_config_phd_allow_load(&config, &ids, err, sizeof(err)), 0);
	assert_true(bp_config_phd_allowed(&config, &ids, in_file));
	assert_false(bp_config_phd_allowed(&config, &ids, in_list));
	config.has_allow = true;
	config.allow = (struct bp_config_phd_ids){.id = &in_list, .n = 1};
	assert_true(bp_config_phd_allowed(&config, &ids, in_file));
	assert_true(bp_config_phd_allowed(&config, &ids, in_list));
	assert_false(bp_config_phd_allowed(&config, &ids, other));
	free(ids.id);
	ids = (struct bp_config_phd_ids){0};
	config.has_allow = false;
	config.allow = (struct bp_config_phd_ids){0};
	config.allow_file[0] = '\0';
	assert_true(bp_config_phd_allowed(&config, &ids, other));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(its_ids_are_listed),
		CASE(what_is_broken_is_refused),
		CASE(without_one_nothing_is_read),
		CASE(either_restricts),
		CASE(who_is_in_either_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
