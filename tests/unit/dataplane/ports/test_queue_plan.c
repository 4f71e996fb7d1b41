/* SPDX-License-Identifier: BSD-3-Clause */
/* Which worker polls and sends on which queue, and which CPU runs it: without any hardware. */
#include "config/lcl/settings.h"
#include "config/mqtt/settings.h"
#include "tests/unit/dataplane/test.h"
#include "dataplane/process/cpus.h"
#include "dataplane/ports/drivers.h"
#include "dataplane/process/eal.h"
#include "dataplane/ports/queue_plan.h"

#include <string.h>
#include <unistd.h>

#define RSS 0x7u

/* The NIC that most have: many queues, RSS. */
static const struct bp_port_caps nic = {
	.spread = BP_SPREAD_RSS, .max_rx = 16, .max_tx = 16, .rss = RSS, .reta_size = 128};

static struct bp_config two_ports(unsigned workers)
{
	struct bp_config c = {.n_workers = workers, .n_ports = 2, .n_bridges = 1};

	strcpy(c.port[0].name, "a");
	strcpy(c.port[1].name, "b");
	c.bridge[0].n = 2;
	c.bridge[0].port[1] = 1;
	return c;
}

static struct bp_port_caps fanout(uint16_t qpairs)
{
	return (struct bp_port_caps){
		.spread = BP_SPREAD_FANOUT, .max_rx = qpairs, .max_tx = qpairs, .all_queues = true};
}

/* Invariants of every plan: each queue is polled by an existing worker, and each worker of a bridge
 * has a queue of its own on each of its ports. */
static void check(const struct bp_config *c, const struct bp_queue_plan *plan)
{
	for (unsigned p = 0; p < c->n_ports; p++) {
		const struct bp_port_queues *q = &plan->port[p];
		uint64_t used = 0;

		assert_in_range(q->n_rx, 1, BP_MAX_QUEUES);
		assert_true(q->n_tx >= 1);
		for (unsigned i = 0; i < q->n_rx; i++)
			assert_true(q->rx_worker[i] < plan->n_workers);
		for (unsigned w = 0; w < BP_MAX_WORKERS; w++) {
			if (q->tx_queue[w] == UINT16_MAX)
				continue;
			assert_true(q->tx_queue[w] < q->n_tx);
			assert_false(used >> q->tx_queue[w] & 1);
			used |= 1ull << q->tx_queue[w];
		}
	}
	for (unsigned b = 0; b < c->n_bridges; b++)
		for (unsigned i = 0; i < c->bridge[b].n; i++)
			for (unsigned k = 0; k < c->bridge[b].n; k++) {
				uint64_t w = bp_queue_plan_workers(plan, c->bridge[b].port[i]);

				for (unsigned n = 0; n < 64; n++)
					if (w >> n & 1)
						assert_int_not_equal(
							plan->port[c->bridge[b].port[k]]
								.tx_queue[n],
							UINT16_MAX);
			}
}

static void one_worker_polls_all(void **state)
{
	struct bp_config c = two_ports(1);
	struct bp_port_caps caps[] = {nic, nic};
	struct bp_queue_plan plan;

	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_int_equal(plan.port[0].n_rx, 1);
	assert_int_equal(plan.port[0].n_tx, 1);
	assert_int_equal(plan.port[0].rss, 0);
	assert_false(plan.bridge[0].spread);
	assert_string_equal(plan.bridge[0].why, "");
}

static void rss_spreads(void **state)
{
	struct bp_config c = two_ports(4);
	struct bp_port_caps caps[] = {nic, nic};
	struct bp_queue_plan plan;

	caps[1].rss = 0x5;
	caps[1].reta_size = 512;
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_true(plan.bridge[0].spread);
	for (unsigned p = 0; p < 2; p++) {
		assert_int_equal(plan.port[p].n_rx, 4);
		assert_int_equal(plan.port[p].n_tx, 4);
		/* the same hash leads to the same worker on both: the same types, the same table */
		assert_int_equal(plan.port[p].rss, 0x5);
		assert_int_equal(plan.port[p].reta_base, 128);
		for (unsigned q = 0; q < 4; q++)
			assert_int_equal(plan.port[p].rx_worker[q], q);
	}
}

/* The hash of either direction must reach one worker, whatever the sizes of the tables. */
static void directions_meet(void **state)
{
	for (unsigned workers = 2; workers <= 7; workers++) {
		struct bp_config c = two_ports(workers);
		struct bp_port_caps caps[] = {nic, nic};
		struct bp_queue_plan plan;

		caps[1].reta_size = 512;
		bp_queue_plan_make(&c, caps, &plan);
		for (uint32_t hash = 0; hash < 5000; hash++) {
			unsigned worker[2];

			for (unsigned p = 0; p < 2; p++) {
				const struct bp_port_queues *q = &plan.port[p];
				unsigned entry = hash % caps[p].reta_size;

				worker[p] = q->rx_worker[entry % q->reta_base % q->n_rx];
			}
			assert_int_equal(worker[0], worker[1]);
		}
	}
}

static void fanout_spreads(void **state)
{
	struct bp_config c = two_ports(2);
	struct bp_port_caps caps[] = {fanout(2), fanout(2)};
	struct bp_queue_plan plan;

	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_true(plan.bridge[0].spread);
	assert_int_equal(bp_queue_plan_workers(&plan, 0), 3);
	/* more queues than workers: all are polled */
	caps[0] = caps[1] = fanout(5);
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_true(plan.bridge[0].spread);
	assert_int_equal(plan.port[0].n_rx, 5);
	for (unsigned q = 0; q < 5; q++)
		assert_int_equal(plan.port[0].rx_worker[q], plan.port[1].rx_worker[q]);
}

static void expect_whole(
	const struct bp_config *c, const struct bp_port_caps *caps, const char *why)
{
	struct bp_queue_plan plan;

	bp_queue_plan_make(c, caps, &plan);
	check(c, &plan);
	assert_false(plan.bridge[0].spread);
	assert_non_null(strstr(plan.bridge[0].why, why));
	assert_int_equal(bp_queue_plan_workers(&plan, 0), bp_queue_plan_workers(&plan, 1));
	for (unsigned p = 0; p < 2; p++)
		if (caps[p].all_queues)
			assert_int_equal(plan.port[p].n_rx, caps[p].max_rx);
}

static void one_worker_serves_all_where_queues_do_not_suffice(void **state)
{
	struct bp_config c = two_ports(2);
	struct bp_config_mqtt mqtt = {.enabled = true};
	struct bp_port_caps none = {.max_rx = 4, .max_tx = 4};
	struct bp_port_caps narrow = nic, few_tx = nic, other = nic;

	c.service[BP_SERVICE_MQTT] = &mqtt;
	narrow.max_rx = 1;
	few_tx.max_tx = 1;
	other.rss = 0x8;
	expect_whole(&c, (struct bp_port_caps[]){nic, none}, "b cannot distribute");
	expect_whole(&c, (struct bp_port_caps[]){narrow, nic}, "a has 1 receive queue");
	expect_whole(&c, (struct bp_port_caps[]){nic, few_tx}, "b has 1 transmit queue");
	expect_whole(&c, (struct bp_port_caps[]){nic, fanout(2)}, "different ways");
	expect_whole(&c, (struct bp_port_caps[]){fanout(2), fanout(3)}, "different ways");
	expect_whole(&c, (struct bp_port_caps[]){fanout(1), fanout(2)}, "qpairs=N");
	expect_whole(&c, (struct bp_port_caps[]){nic, other}, "no packet type in common");
}

/* A driver without a symmetric hash, whose peer has four queues. */
static const struct bp_port_caps flows = {
	.spread = BP_SPREAD_FLOWS, .max_rx = 16, .max_tx = 16, .wanted = 4};

/* Only inspection needs both directions of a connection at one worker. */
static void without_inspection_any_queues_suffice(void **state)
{
	struct bp_config c = two_ports(4);
	struct bp_config_mqtt mqtt = {.enabled = true};
	struct bp_port_caps caps[][2] = {
		{flows, flows}, {flows, nic}, {nic, fanout(4)}, {fanout(4), fanout(5)}, {nic, nic}};
	struct bp_queue_plan plan;

	caps[4][1].rss = 0x8; /* no packet type in common */
	for (unsigned i = 0; i < 5; i++) {
		bp_queue_plan_make(&c, caps[i], &plan);
		check(&c, &plan);
		assert_true(plan.bridge[0].spread);
		for (unsigned p = 0; p < 2; p++) {
			assert_int_equal(bp_queue_plan_workers(&plan, p), 0xf);
			assert_int_equal(plan.port[p].rss, caps[i][p].rss);
		}
	}
	c.service[BP_SERVICE_MQTT] = &mqtt;
	for (unsigned i = 0; i < 5; i++) {
		bp_queue_plan_make(&c, caps[i], &plan);
		check(&c, &plan);
		assert_false(plan.bridge[0].spread);
	}
	expect_whole(&c, caps[0], "a cannot distribute connections by a symmetric hash");
}

/* The peer may have fewer queues than the driver: frames to the others would be lost. */
static void queues_of_a_peer_are_configured(void **state)
{
	struct bp_config c = two_ports(4);
	struct bp_port_caps unknown = flows, few = flows, device = flows;
	struct bp_port_caps none = {.max_rx = 4, .max_tx = 4};
	struct bp_queue_plan plan;

	unknown.wanted = 0;
	few.wanted = 3;
	device.wanted = 0;
	device.all_queues = true; /* its arguments say how many */
	device.max_rx = 4;
	expect_whole(&c, (struct bp_port_caps[]){unknown, flows}, "a has no rx_queues: 4");
	expect_whole(&c, (struct bp_port_caps[]){flows, few}, "b has no rx_queues: 4");
	expect_whole(
		&c, (struct bp_port_caps[]){flows, none}, "b cannot distribute flows over receive");
	bp_queue_plan_make(&c, (struct bp_port_caps[]){device, flows}, &plan);
	assert_true(plan.bridge[0].spread);
}

/* As many of either kind, also on an LCL port, on which one worker sends. */
static void queues_in_pairs(void **state)
{
	struct bp_config c = two_ports(4);
	struct bp_config_lcl lcl = {.n_ports = 1, .port = {{.port = 1}}};
	struct bp_port_caps caps[] = {flows, flows};
	struct bp_queue_plan plan;

	c.service[BP_SERVICE_LCL] = &lcl;
	caps[0].queue_pairs = caps[1].queue_pairs = true;
	bp_queue_plan_make(&c, caps, &plan);
	for (unsigned p = 0; p < 2; p++) {
		assert_int_equal(plan.port[p].n_rx, 4);
		assert_int_equal(plan.port[p].n_tx, 4);
	}
	assert_int_equal(plan.port[1].tx_queue[0], 0);
	assert_int_equal(plan.port[1].tx_queue[1], UINT16_MAX);
	caps[0].wanted = caps[1].wanted = 0; /* one worker, and one queue of either */
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_int_equal(plan.port[0].n_rx, 1);
	assert_int_equal(plan.port[0].n_tx, 1);
}

static void wanted_queues(void **state)
{
	struct bp_config c = two_ports(2);
	struct bp_port_caps caps[] = {nic, nic};
	struct bp_queue_plan plan;

	caps[0].wanted = caps[1].wanted = 1;
	expect_whole(&c, caps, "1 receive queue(s) for 2 workers");
	caps[0].wanted = caps[1].wanted = 6;
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_true(plan.bridge[0].spread);
	assert_int_equal(plan.port[0].n_rx, 6);
	assert_int_equal(plan.port[0].rx_worker[5], 1);
}

static void bridges_alternate(void **state)
{
	struct bp_config c = {.n_workers = 2, .n_ports = 7, .n_bridges = 3};
	struct bp_port_caps caps[7] = {{0}};
	struct bp_queue_plan plan;

	for (unsigned p = 0; p < 7; p++)
		caps[p] = (struct bp_port_caps){.max_rx = 1, .max_tx = 4};
	for (unsigned b = 0; b < 3; b++) {
		c.bridge[b].n = 2;
		c.bridge[b].port[0] = (uint8_t)(2 * b);
		c.bridge[b].port[1] = (uint8_t)(2 * b + 1);
	}
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_int_equal(plan.bridge[0].worker, 0);
	assert_int_equal(plan.bridge[1].worker, 1);
	assert_int_equal(plan.bridge[2].worker, 0);
	/* a port of no bridge routes: its own worker polls it and sends on it */
	assert_int_equal(plan.router.worker, 1);
	assert_int_equal(plan.port[6].rx_worker[0], 1);
	assert_int_equal(plan.port[6].tx_queue[0], UINT16_MAX);
	assert_int_equal(plan.port[6].tx_queue[1], 0);
}

/* The edge port is in no bridge: every worker that may clone needs a queue there. */
static void mirroring_needs_queues(void **state)
{
	struct bp_config c = two_ports(3);
	struct bp_port_caps caps[] = {nic, nic, {.max_rx = 1, .max_tx = 3}};
	struct bp_config_mqtt mqtt = {.enabled = true, .mirror = {.enabled = true, .port = 2}};
	struct bp_queue_plan plan;

	c.n_ports = 3;
	strcpy(c.port[2].name, "edge");
	c.service[BP_SERVICE_MQTT] = &mqtt;
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_true(plan.bridge[0].spread);
	for (unsigned w = 0; w < 3; w++)
		assert_int_equal(plan.port[2].tx_queue[w], w);
	caps[2].max_tx = 2;
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_false(plan.bridge[0].spread);
	assert_non_null(strstr(plan.bridge[0].why, "port edge, on which several would send"));
	assert_int_equal(plan.port[2].tx_queue[plan.bridge[0].worker], 0);
	/* a target that is not used costs nothing */
	mqtt.mirror.enabled = false;
	bp_queue_plan_make(&c, caps, &plan);
	assert_true(plan.bridge[0].spread);
}

/* One worker sends on an LCL port, for frames from any worker: one TX queue is enough for any
 * number of workers.
 */
static void an_lcl_port_has_an_owner(void **state)
{
	struct bp_config c = two_ports(4);
	struct bp_port_caps caps[] = {nic, nic};
	struct bp_config_lcl lcl = {.n_ports = 1, .port[0].port = 1};
	struct bp_queue_plan plan;

	c.service[BP_SERVICE_LCL] = &lcl;
	for (unsigned narrow = 0; narrow < 2; narrow++) {
		unsigned owner, senders = 0;

		caps[1].max_tx = narrow ? 1 : 16;
		bp_queue_plan_make(&c, caps, &plan);
		owner = bp_queue_plan_owner(&plan, 1);
		assert_true(plan.bridge[0].spread);
		assert_int_equal(bp_queue_plan_workers(&plan, 1), 0xf);
		assert_true(bp_queue_plan_workers(&plan, 1) >> owner & 1);
		for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
			senders += plan.port[1].tx_queue[w] != UINT16_MAX;
		assert_int_equal(senders, 1);
		assert_int_equal(plan.port[1].tx_queue[owner], 0);
		assert_int_equal(plan.port[1].n_tx, 1);
		/* all workers send on the other port */
		for (unsigned w = 0; w < 4; w++)
			assert_int_equal(plan.port[0].tx_queue[w], w);
	}
}

static void sixty_four_workers(void **state)
{
	struct bp_config c = two_ports(64);
	struct bp_port_caps caps[] = {nic, nic};
	struct bp_queue_plan plan;

	caps[0].max_rx = caps[0].max_tx = caps[1].max_rx = caps[1].max_tx = 64;
	bp_queue_plan_make(&c, caps, &plan);
	check(&c, &plan);
	assert_true(plan.bridge[0].spread);
	assert_int_equal(bp_queue_plan_workers(&plan, 1), UINT64_MAX);
}

static cpu_set_t cpus(const unsigned *list, unsigned n)
{
	cpu_set_t s;

	CPU_ZERO(&s);
	for (unsigned i = 0; i < n; i++)
		CPU_SET(list[i], &s);
	return s;
}

static void expect_lcores(
	const struct bp_config *c, const cpu_set_t *allowed, const char *want, bool shared)
{
	struct bp_cpus out;
	char err[256] = "", text[256];

	assert_int_equal(bp_cpus_choose(c, allowed, &out, err, sizeof(err)), 0);
	bp_cpus_lcores(&out, text, sizeof(text));
	assert_string_equal(text, want);
	assert_int_equal(out.shared, shared);
}

static void cpus_are_chosen(void **state)
{
	cpu_set_t few = cpus((unsigned[]){0, 1}, 2), odd = cpus((unsigned[]){3, 5, 7, 9}, 4),
		  one = cpus((unsigned[]){6}, 1);
	struct bp_config c = {.n_workers = 1};
	struct bp_cpus out;
	char err[256] = "";

	expect_lcores(&c, &few, "0@0,1@1", false);
	c.n_workers = 2; /* the second shares with main, which sleeps */
	expect_lcores(&c, &few, "0@0,1@1,2@0", true);
	c.n_workers = 3;
	expect_lcores(&c, &odd, "0@3,1@5,2@7,3@9", false);
	c.n_workers = 1;
	expect_lcores(&c, &one, "0@6,1@6", true);
	c.workers_listed = true;
	c.n_workers = 2;
	c.worker_core[0] = 3;
	c.worker_core[1] = 9;
	expect_lcores(&c, &odd, "0@5,1@3,2@9", false);
	c.worker_core[1] = 4;
	assert_int_equal(bp_cpus_choose(&c, &odd, &out, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "core 4"));
}

static bool floating(const struct bp_config *c)
{
	cpu_set_t few = cpus((unsigned[]){0, 1}, 2);
	struct bp_cpus out;
	char err[256] = "";

	assert_int_equal(bp_cpus_choose(c, &few, &out, err, sizeof(err)), 0);
	if (out.floating)
		assert_true(CPU_EQUAL(&out.allowed, &few));
	return out.floating;
}

static void workers_that_sleep_may_use_each_cpu(void **state)
{
	struct bp_config c = {.n_workers = 1, .poll_mode = BP_POLL_BUSY};

	if (access("/sys/devices/system/node/node1", F_OK) == 0)
		skip();
	assert_false(floating(&c));
	c.poll_mode = BP_POLL_ADAPTIVE;
	assert_true(floating(&c));
	c.workers_listed = true;
	assert_false(floating(&c));
}

/* Looking for isolated CPUs leaves the process where it was, and takes none away. */
static void cpus_that_are_allowed(void **state)
{
	cpu_set_t before, after, allowed, isolated, both;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(bp_cpus_allowed(false, &allowed), 0);
	assert_true(CPU_EQUAL(&allowed, &before));
	assert_int_equal(bp_cpus_allowed(true, &isolated), 0);
	CPU_AND(&both, &isolated, &before);
	assert_true(CPU_EQUAL(&both, &before));
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&after, &before));
}

static bool has_arg(const struct bp_eal_args *a, const char *arg)
{
	for (int i = 0; i < a->argc; i++)
		if (strcmp(a->argv[i], arg) == 0)
			return true;
	return false;
}

static void eal_arguments(void **state)
{
	struct bp_config c = two_ports(1);
	struct bp_eal e = {.huge = true, .cpus = {.n_workers = 1, .worker_cpu = {1}}};
	char *extra[] = {"--log-level=lib.eal:debug"}, *many[BP_EAL_ARGS_MAX] = {0}, err[256] = "";
	struct bp_eal_args a;

	strcpy(c.name, "plant");
	c.memory_mb = 333;
	assert_int_equal(bp_eal_build_args(&c, &e, 1, extra, &a, err, sizeof(err)), 0);
	assert_true(has_arg(&a, "--lcores=0@0,1@1"));
	assert_true(has_arg(&a, "--file-prefix=biplane-plant"));
	assert_true(has_arg(&a, "--no-pci"));
	assert_false(has_arg(&a, "--no-huge"));
	assert_string_equal(a.argv[a.argc - 1], extra[0]); /* the user's last word */
	assert_null(a.argv[a.argc]);
	/* pages that a killed data plane held must not be missing to the next one */
	assert_true(has_arg(&a, "--huge-unlink=always"));
	extra[0] = "--no-huge"; /* EAL refuses the two together */
	assert_int_equal(bp_eal_build_args(&c, &e, 1, extra, &a, err, sizeof(err)), 0);
	assert_false(has_arg(&a, "--huge-unlink=always"));
	e.huge = false;
	e.pci = true;
	assert_int_equal(bp_eal_build_args(&c, &e, 0, NULL, &a, err, sizeof(err)), 0);
	assert_true(has_arg(&a, "--no-huge"));
	assert_false(has_arg(&a, "--huge-unlink=always"));
	assert_true(has_arg(&a, "333"));
	assert_false(has_arg(&a, "--no-pci"));
	assert_true(has_arg(&a, "0000:00:00.0"));
	assert_int_equal(
		bp_eal_build_args(&c, &e, BP_EAL_ARGS_MAX, many, &a, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "arguments after --"));
}

static void hugepages_are_required(void **state)
{
	struct bp_config c = two_ports(1);
	struct bp_eal e;
	char err[256] = "";

	/* more than any machine has */
	c.hugepages = BP_HUGEPAGES_REQUIRE;
	assert_int_equal(bp_eal_choose(&c, 1ull << 60, &e, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "sysctl vm.nr_hugepages="));
	c.hugepages = BP_HUGEPAGES_AUTO;
	assert_int_equal(bp_eal_choose(&c, 1ull << 60, &e, err, sizeof(err)), 0);
	assert_false(e.huge);
	assert_non_null(strstr(e.warning, "sysctl vm.nr_hugepages="));
	c.hugepages = BP_HUGEPAGES_NEVER;
	assert_int_equal(bp_eal_choose(&c, 0, &e, err, sizeof(err)), 0);
	assert_false(e.huge);
	assert_string_equal(e.warning, "");
}

static void more_memory_than_available(void **state)
{
	struct bp_config c = two_ports(1);
	struct bp_eal e;
	char err[256] = "";

	c.hugepages = BP_HUGEPAGES_NEVER;
	c.memory_mb = UINT32_MAX; /* 4 PiB */
	assert_int_equal(bp_eal_choose(&c, 0, &e, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "runtime.memory asks for 4294967295 MiB"));
	assert_non_null(strstr(err, "lower it"));
	/* with hugepages that setting is not used */
	c.hugepages = BP_HUGEPAGES_AUTO;
	if (bp_eal_huge_free() > 0 && geteuid() == 0)
		assert_int_equal(bp_eal_choose(&c, 0, &e, err, sizeof(err)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_worker_polls_all),
		cmocka_unit_test(rss_spreads),
		cmocka_unit_test(directions_meet),
		cmocka_unit_test(fanout_spreads),
		cmocka_unit_test(one_worker_serves_all_where_queues_do_not_suffice),
		cmocka_unit_test(without_inspection_any_queues_suffice),
		cmocka_unit_test(queues_of_a_peer_are_configured),
		cmocka_unit_test(queues_in_pairs),
		cmocka_unit_test(wanted_queues),
		cmocka_unit_test(bridges_alternate),
		cmocka_unit_test(mirroring_needs_queues),
		cmocka_unit_test(an_lcl_port_has_an_owner),
		cmocka_unit_test(sixty_four_workers),
		cmocka_unit_test(cpus_are_chosen),
		cmocka_unit_test(workers_that_sleep_may_use_each_cpu),
		cmocka_unit_test(cpus_that_are_allowed),
		cmocka_unit_test(eal_arguments),
		cmocka_unit_test(hugepages_are_required),
		cmocka_unit_test(more_memory_than_available),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
