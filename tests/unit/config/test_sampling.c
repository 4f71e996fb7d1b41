/* SPDX-License-Identifier: BSD-3-Clause */
/* Section sampling: contradictions of its entries, and reloadable settings. */
#include "config/sampling/settings.h"
#include "config_test.h"

#include <stdlib.h>

#define ENTRY(name_, match_)                                                                       \
	"  - {name: " name_ ", match: {port: a" match_ "}, one_in: 5, mirror: m}\n"

static void an_entry_is_kept(void **state)
{
	struct bp_config *c = accepted(
		PORTS3 "sampling:\n" ENTRY("s", ", source: 10.0.0.0/8, tcp_port: 1883, vlan: 7"));
	struct bp_config *back = come_back(c);
	const struct bp_sampling_rules *r = &bp_config_sampling(c)->rules;

	(void)state;
	assert_int_equal(r->n, 1);
	assert_string_equal(r->rule[0].name, "s");
	assert_int_equal(r->rule[0].one_in, 5);
	assert_int_equal(r->rule[0].mirror, 2);
	assert_int_equal(r->rule[0].match.port, 0);
	assert_int_equal(r->rule[0].match.tcp_first, 1883);
	assert_int_equal(r->rule[0].match.tcp_last, 1883);
	assert_int_equal(r->rule[0].match.vlan, 7);
	assert_int_equal(r->rule[0].match.pcp, BP_MATCH_ANY_PCP);
	assert_int_equal(r->rule[0].match.dscp, BP_MATCH_ANY_DSCP);
	assert_memory_equal(r, &bp_config_sampling(back)->rules, sizeof(*r));
	bp_config_free(back);
	bp_config_free(c);
}

static void contradictions_are_errors(void **state)
{
	(void)state;
	says(PORTS3 "sampling:\n" ENTRY("s", "") ENTRY("s", ""),
		"f.yaml:5:12: sampling[1].name: sampling[0] is named 's', too; expected a unique "
		"name\n");
	says(PORTS3 "sampling:\n" ENTRY("s", ", udp_port: 1, tcp_port: 2"),
		"f.yaml:4:55: sampling[0].match: no frame has both udp_port and tcp_port; expected "
		"one of them\n");
	says(PORTS3 "sampling:\n" ENTRY("s", ", source: 10.0.0.1, destination: \"fd00::1\""),
		"f.yaml:4:63: sampling[0].match.destination: source is an IPv4 address; expected "
		"an address of the same IP version\n");
	says(PORTS3 "sampling:\n  - {name: s, match: {port: a}, one_in: 5, mirror: a}\n",
		"f.yaml:4:52: sampling[0].mirror: it is the input port of the sampled frames; "
		"expected another port\n");
	says(PORTS3 "sampling:\n  - {name: s, match: {port: a}, one_in: 5, mirror: b}\n",
		"f.yaml:4:52: sampling[0].mirror: port 'b' is in a bridge, and its hosts would "
		"receive the frames twice; expected a port that is not in a bridge\n");
	says(PORTS3 "sampling:\n  - {name: s, match: {port: a}, one_in: 5}\n",
		"f.yaml:4:5: sampling[0] has no 'mirror'; expected the name of one of the ports\n");
}

/* Tables and node exist where the first file has an entry. */
static void entries_are_added_and_removed(void **state)
{
	struct bp_config *none = accepted(PORTS3),
			 *one = accepted(PORTS3 "sampling:\n" ENTRY("s", "")),
			 *two = accepted(PORTS3 "sampling:\n" ENTRY("s", "") ENTRY("t", ""));
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(bp_config_restart_needed(one, two, f), 0);
	assert_int_equal(bp_config_restart_needed(two, one, f), 0);
	assert_int_equal(bp_config_restart_needed(none, one, f), 1);
	assert_int_equal(bp_config_restart_needed(one, none, f), 1);
	fclose(f);
	assert_non_null(strstr(text, "sampling"));
	free(text);
	bp_config_free(none);
	bp_config_free(one);
	bp_config_free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_kept),
		cmocka_unit_test(contradictions_are_errors),
		cmocka_unit_test(entries_are_added_and_removed),
	};

	return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
