/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "daemon/log_line.h"

static void test_levels(void **state)
{
	static const struct {
		const char *line;
		int level;
	} lines[] = {
		{"warning: port a: its interface is down\n", BP_LINE_WARNING},
		{"biplane dataplane: warning: a tap serves instead\n", BP_LINE_WARNING},
		{"biplane dataplane: this can't be\n", BP_LINE_ERROR},
		{"controlplane: info: 3 rules in force\n", BP_LINE_INFO},
		{"controlplane: error: x\n", BP_LINE_ERROR},
		{"controlplane: warning: x\n", BP_LINE_WARNING},
		{"libbpf: elf: skipping\n", BP_LINE_WARNING},
		/* not the name of who says it */
		{"libxdp says 3: info: x\n", BP_LINE_WARNING},
		{"info: ", BP_LINE_INFO},
		{"info:", BP_LINE_WARNING},
		{"", BP_LINE_WARNING},
		{":", BP_LINE_WARNING},
		{"biplane ", BP_LINE_ERROR},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(
			bp_line_level(lines[i].line, strlen(lines[i].line)), lines[i].level);
	/* only what belongs to the line is looked at */
	assert_int_equal(bp_line_level("info: x", 4), BP_LINE_WARNING);
	assert_int_equal(bp_line_level("controlplane: info: x", 15), BP_LINE_WARNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
