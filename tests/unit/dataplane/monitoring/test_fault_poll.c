/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that the monitoring of the data plane reads from ports, pools and workers. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"

#include <string.h>

#include "dataplane/ports/link.h"
#include "dataplane/monitoring/fault_poll.h"

#define WIRE                                                                                       \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"

static struct rig rig;
static struct bp_port ports[BP_MAX_PORTS];
static struct bp_pools pools;
static struct bp_workers workers;
static struct bp_cpus cpus;
static struct bp_fault_sources sources;
static struct bp_fault_samples now;

static int begin(void **state)
{
	(void)state;
	rig_start(&rig, WIRE, false, false);
	bp_link_reset();
	memset(ports, 0, sizeof(ports));
	/* of the second of two nodes */
	pools = (struct bp_pools){.pool[1] = rig.pool, .mbufs[1] = RIG_MBUFS, .n = 1};
	workers = (struct bp_workers){.n = 1, .worker[0] = rig.worker};
	cpus = (struct bp_cpus){.worker_cpu[0] = 5};
	sources = (struct bp_fault_sources){rig.config, &rig.shm, ports, &pools, &workers, &cpus};
	return 0;
}

static int end(void **state)
{
	(void)state;
	bp_link_reset();
	rig_stop(&rig);
	return 0;
}

static void take(void)
{
	bp_fault_samples_read(&sources, &now);
}

static void figures_are_those_of_the_drivers(void **state)
{
	(void)state;
	rig.shm.ports[1].hw_imissed = 11;
	rig.shm.ports[1].hw_rx_nombuf = 22;
	rig.shm.ports[1].hw_ierrors = 33;
	rig.shm.ports[1].hw_oerrors = 44;
	take();
	assert_int_equal(now.n_ports, 2);
	assert_int_equal(now.port[1].missed, 11);
	assert_int_equal(now.port[1].no_mbuf, 22);
	assert_int_equal(now.port[1].errors, 33);
	assert_int_equal(now.port[0].missed + now.port[0].no_mbuf + now.port[0].errors, 0);
}

static void link_down_is_trusted_by_driver(void **state)
{
	(void)state;
	rig.shm.ports[0].link_up = 1;
	take();
	assert_int_equal(now.port[0].link, BP_FAULT_LINK_IS_UP);
	/* a virtual device that never said that it is up may never do */
	assert_int_equal(now.port[1].link, BP_FAULT_LINK_IS_UP);
	ports[1].pci = true;
	take();
	assert_int_equal(now.port[1].link, BP_FAULT_LINK_NOT_YET);
	atomic_store(&bp_link[0], BP_LINK_DOWN);
	atomic_store(&bp_link[1], BP_LINK_UNCERTAIN);
	take();
	assert_int_equal(now.port[0].link, BP_FAULT_LINK_LOST);
	assert_int_equal(now.port[1].link, BP_FAULT_LINK_LOST);
}

static void queued_buffers_are_not_free(void **state)
{
	struct rte_mbuf *m[10];
	uint32_t before;

	(void)state;
	take();
	assert_int_equal(now.n_pools, 1);
	assert_int_equal(now.pool[0].size, RIG_MBUFS);
	before = now.pool[0].free;
	assert_int_equal(before, rig.in_pool);
	assert_int_equal(rte_pktmbuf_alloc_bulk(rig.pool, m, 10), 0);
	take();
	assert_int_equal(now.pool[0].free, before - 10);
	rte_pktmbuf_free_bulk(m, 10);
	take();
	assert_int_equal(now.pool[0].free, before);
}

static void worker_reports_its_poll_gap(void **state)
{
	struct rte_graph *graph = rig.worker->graph;

	(void)state;
	rig.worker->mono_ns = 1000;
	rig.worker->counters->v[BP_C_POLL_GAPS] = 3;
	rig.worker->away.overrun_ns = 500;
	rig.worker->away.longest_ns = 400;
	take();
	assert_int_equal(now.n_workers, 1);
	assert_true(now.worker[0].runs);
	assert_int_equal(now.worker[0].heartbeat_ns, 1000);
	assert_int_equal(now.worker[0].overruns, 3);
	assert_int_equal(now.worker[0].overrun_ns, 500);
	assert_int_equal(now.worker[0].longest_ns, 400);
	rig.worker->graph = NULL; /* more workers than queues */
	take();
	assert_false(now.worker[0].runs);
	rig.worker->graph = graph;
}

/* From its first look on the segment says whose rows they are. */
static void faults_are_in_the_segment(void **state)
{
	static struct bp_fault_monitor watch;
	static const char *const subject[] = {"a", "a", "a", "a", "b", "b", "b", "b"};
	struct bp_fault_record t;
	unsigned n = 0;

	(void)state;
	rig.config->monitoring.log_interval_ns = 1000000000;
	bp_fault_monitor_start(&watch, &sources, 5000);
	rig.worker->mono_ns = 6000;
	rig.shm.ports[1].hw_imissed = 9;
	bp_fault_monitor_poll(&watch, &sources, 6000, 1700000000000000000);
	for (; n < rig.shm.fault_rows && bp_fault_read(&rig.shm.faults[n], &t); n++) {
		if (n < 8)
			assert_string_equal(t.subject, subject[n]);
		else if (n == 8)
			assert_string_equal(t.subject, rig.pool->name);
		else
			assert_string_equal(t.subject, "worker 0");
		assert_int_equal(t.total, t.kind == BP_FAULT_NIC_MISSED && n >= 4 ? 9 : 0);
	}
	assert_int_equal(n, 8 + 1 + 3);
	assert_int_equal(bp_shm_counter(&rig.shm, BP_C_NIC_MISSED), 9);
	/* counters of the main thread are in a row of their own */
	assert_int_equal(
		bp_shm_counters_main(&rig.shm, BP_COUNTER_ROW_MAIN)->v[BP_C_NIC_MISSED], 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(figures_are_those_of_the_drivers, begin, end),
		cmocka_unit_test_setup_teardown(link_down_is_trusted_by_driver, begin, end),
		cmocka_unit_test_setup_teardown(queued_buffers_are_not_free, begin, end),
		cmocka_unit_test_setup_teardown(worker_reports_its_poll_gap, begin, end),
		cmocka_unit_test_setup_teardown(faults_are_in_the_segment, begin, end),
	};

	return cmocka_run_group_tests_name("fault_poll", tests, NULL, NULL);
}
