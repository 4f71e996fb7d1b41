/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"

#include <stdio.h>
#include <string.h>

#include "dataplane/process/facts.h"
#include "dataplane/workers/pools.h"

static struct bp_config *parse(const char *text)
{
	struct bp_config *c = bp_config_parse("t.yaml", text, strlen(text), stderr);

	assert_non_null(c);
	return c;
}

static void of_dpdk_alone(void **state)
{
	struct bp_dataplane_facts f;

	bp_dataplane_facts(NULL, &f);
	assert_int_equal(strncmp(f.dpdk, "DPDK ", 5), 0);
	assert_int_equal(f.memory, 0);
	assert_int_equal(f.n_workers, 0);
	assert_string_equal(f.port[0].pci, "");
}

static void of_a_configuration(void **state)
{
	struct bp_config *c = parse(
		"name: t\nworkers: [1000, 7]\nports:\n"
		"  - {name: a, device: \"3b:00.1,x=y\", routed: {host_interface: {backend: off}}}\n"
		"  - {name: b, device: \"net_af_packet0,iface=eth9\", routed: {host_interface: "
		"{backend: off}}}\n"
		"  - {name: c, device: net_null0, routed: {host_interface: {backend: off}}}\n");
	struct bp_dataplane_facts f;

	bp_dataplane_facts(c, &f);
	assert_string_equal(f.port[0].pci, "0000:3b:00.1");
	assert_string_equal(f.port[0].interface, "");
	assert_string_equal(f.port[1].pci, "");
	assert_string_equal(f.port[1].interface, "eth9");
	assert_string_equal(f.port[2].pci, "");
	assert_string_equal(f.port[2].interface, "");
	/* as listed, whether or not this machine has them */
	assert_int_equal(f.n_workers, 2);
	assert_int_equal(f.worker_cpu[0], 1000);
	assert_int_equal(f.worker_cpu[1], 7);
	/* and the segment */
	assert_true(f.memory > bp_pools_estimate(c));
	bp_config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_dpdk_alone),
		cmocka_unit_test(of_a_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
