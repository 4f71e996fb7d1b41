/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random readings at random times, against a simple model: counters and display match the events,
 * the log does not exceed its line limit, and when all faults have ended the lines together contain
 * all events and their ends.
 */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/monitoring/fault_rig.h"

#include <stdlib.h>

#define SEEDS 60
#define LOOKS 1500
#define LIMIT_NS (2 * S) /* worker_stalls */
#define EVERY_NS (10 * S)

/* A model that records only the events. */
struct model {
	bool link_down, low, stuck;
	uint64_t link_downs, lows, stucks, missed, no_mbuf, errors, overruns;
};
static struct model model;

static bool chance(unsigned in)
{
	return rand() % in == 0;
}

/* The next readings; a burst of trouble comes and goes. */
static void change(unsigned faults)
{
	if (chance(faults))
		readings.port[0].link = readings.port[0].link == BP_FAULT_LINK_IS_UP
						? BP_FAULT_LINK_LOST
						: BP_FAULT_LINK_IS_UP;
	if (chance(faults)) {
		unsigned n = (unsigned)rand() % 1000;

		readings.port[1].missed += n;
		model.missed += n;
	}
	if (chance(2 * faults)) {
		readings.port[1].no_mbuf += 1;
		model.no_mbuf += 1;
	}
	if (chance(3 * faults)) {
		readings.port[1].errors += 3;
		model.errors += 3;
	}
	if (chance(faults))
		readings.pool[0].free = (unsigned)rand() % 100;
	if (chance(faults)) {
		readings.worker[1].overruns += 2;
		readings.worker[1].overrun_ns += 300 * MS;
		model.overruns += 2;
	}
	if (chance(faults))
		held[0] = !held[0];
}

static void note(uint64_t step)
{
	const bool down = readings.port[0].link == BP_FAULT_LINK_LOST;
	const unsigned free = readings.pool[0].free;
	const uint64_t beat = readings.worker[0].heartbeat_ns;
	const uint64_t away = now_ns - (beat > BEGIN_NS ? beat : BEGIN_NS);

	model.link_downs += down && !model.link_down;
	model.link_down = down;
	if (!model.low && free < 50) {
		model.low = true;
		model.lows++;
	} else if (model.low && free >= 63) {
		model.low = false;
	}
	if (!model.stuck && away >= LIMIT_NS && step < LIMIT_NS) {
		model.stuck = true;
		model.stucks++;
	} else if (model.stuck && away < LIMIT_NS) {
		model.stuck = false;
	}
}

static void compare(void)
{
	assert_int_equal(counters.v[BP_C_LINK_DOWN], model.link_downs);
	assert_int_equal(counters.v[BP_C_MBUFS_LOW], model.lows);
	assert_int_equal(counters.v[BP_C_WORKER_STALLS], model.stucks);
	assert_int_equal(counters.v[BP_C_NIC_MISSED], model.missed);
	assert_int_equal(counters.v[BP_C_NIC_NO_MBUF], model.no_mbuf);
	assert_int_equal(counters.v[BP_C_NIC_ERRORS], model.errors);
	assert_int_equal(shown(BP_FAULT_LINK_DOWN, "lan").active, model.link_down);
	assert_int_equal(shown(BP_FAULT_MBUFS_LOW, "mbufs-0").active, model.low);
	assert_int_equal(shown(BP_FAULT_WORKER_STUCK, "worker 0").active, model.stuck);
	assert_int_equal(shown(BP_FAULT_NIC_MISSED, "wan").total, model.missed);
	assert_int_equal(shown(BP_FAULT_WORKER_OVERRUN, "worker 1").total, model.overruns);
}

/* The events of one fault: `subject` and `fault` are fields of all of them and of no others. */
struct about {
	const char *subject, *fault;
	const char *cleared; /* how the message of its end begins */
	bool state;          /* a line counts as one, unless it has a count */
	uint64_t happened;
};

/* The field `count`; `otherwise` where there is none. */
static uint64_t count_in(const char *line, uint64_t otherwise)
{
	const char *at = strstr(line, " count=");

	return at == NULL ? otherwise : strtoull(at + strlen(" count="), NULL, 10);
}

static void check_lines(const struct about *a)
{
	static uint64_t at[LINES_MAX];
	const char *last = "";
	uint64_t sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < n_logged; i++) {
		const char *line = logged[i].text;

		if (!strstr(line, a->subject) || !strstr(line, a->fault))
			continue;
		at[n++] = logged[i].now_ns;
		last = line;
		if (strncmp(line, a->cleared, strlen(a->cleared)) != 0)
			sum += count_in(line, a->state);
	}
	if (sum != a->happened)
		fail_msg("lines about %s %s report %llu, not %llu", a->subject, a->fault,
			(unsigned long long)sum, (unsigned long long)a->happened);
	/* the last line says that the fault is over */
	if (n > 0 && strncmp(last, a->cleared, strlen(a->cleared)) != 0 &&
		!strstr(last, " link=up ") && !strstr(last, " stalled=no ") &&
		!strstr(last, " low=no "))
		fail_msg("the last line is: %s", last);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i; j < n; j++)
			assert_true(j - i + 1 <= BP_PACE_BURST + (at[j] - at[i]) / EVERY_NS);
}

static void check_all_lines(void)
{
	const struct about all[] = {
		{" port=lan ", "=link_down", "link up", true, model.link_downs},
		{" port=wan ", "=nic_missed", "the NIC drops no more", false, model.missed},
		{" port=wan ", "=nic_no_mbuf", "mbufs for all", false, model.no_mbuf},
		{" port=wan ", "=nic_errors", "the NIC reports no more", false, model.errors},
		{" pool=mbufs-0 ", "=mbufs_low", "free mbufs are above", true, model.lows},
		{" worker=1 cpu=7 ", "=poll_gaps", "no more poll gaps", false, model.overruns},
		{" worker=0 cpu=3 ", "=worker_stalls", "worker polls", true, model.stucks},
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		check_lines(&all[i]);
}

static void run(unsigned seed)
{
	unsigned faults = 1u << (1 + seed % 7);

	srand(seed);
	memset(&model, 0, sizeof(model));
	held[0] = held[1] = false;
	start(NULL);
	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t step = chance(50) ? (uint64_t)(rand() % 30) * S + 1
					   : 200 * MS + (uint64_t)rand() % (100 * MS);

		change(faults);
		check_after(step);
		note(step);
		compare();
	}
	/* quiet */
	readings.port[0].link = BP_FAULT_LINK_IS_UP;
	readings.pool[0].free = 1000;
	held[0] = false;
	pass(60 * S);
	check_all_lines();
}

static void any_readings_at_any_time(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < SEEDS; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_readings_at_any_time)};

	return cmocka_run_group_tests_name("fault_random", tests, NULL, NULL);
}
