/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any readings at any time, against a simple model: what is counted and shown is what happened, the
 * log has no more lines than it may, and once it is quiet its lines together have told of all that
 * happened, and that it is over.
 */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/monitoring/trouble_rig.h"

#include <stdlib.h>

#define SEEDS 60
#define LOOKS 1500
#define LIMIT_NS (2 * S) /* worker_stalls */
#define EVERY_NS (10 * S)

/* What happened, by one who keeps no more than that. */
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

/* What lines are about: `with` is in all of them and in no others. */
struct about {
	const char *subject, *with;
	const char *began, *more, *over; /* what stands before the number, "" where it is 1 */
	bool state;
	uint64_t happened;
};

/* The number behind `before`. */
static uint64_t number_after(const char *line, const char *before)
{
	const char *at = strstr(line, before);

	assert_non_null(at);
	return strtoull(at + strlen(before), NULL, 10);
}

static void check_lines(const struct about *a)
{
	static uint64_t at[LINES_MAX];
	const char *last = "";
	uint64_t sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < n_told; i++) {
		const char *line = told[i].text;

		if (strncmp(line, a->subject, strlen(a->subject)) != 0 || !strstr(line, a->with))
			continue;
		at[n++] = told[i].now_ns;
		last = line;
		if (strstr(line, a->over))
			continue;
		if (strstr(line, " more "))
			sum += number_after(line, a->more);
		else
			sum += a->state ? 1 : number_after(line, a->began);
	}
	if (sum != a->happened)
		fail_msg("lines about %s %s tell of %llu, not of %llu", a->subject, a->with,
			(unsigned long long)sum, (unsigned long long)a->happened);
	/* the last that was said of it is that it is over */
	if (n > 0 && !strstr(last, a->over) && !strstr(last, " is up now") &&
		!strstr(last, " runs now") && !strstr(last, " not low now"))
		fail_msg("the last line is: %s", last);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i; j < n; j++)
			assert_true(j - i + 1 <= BP_PACE_BURST + (at[j] - at[i]) / EVERY_NS);
}

static void check_all_lines(void)
{
	const struct about all[] = {
		{"port lan: ", "link", "", "link went down ", "link up again", true,
			model.link_downs},
		{"port wan: ", "(imissed)", "port wan: ", "port wan: ", "no more frames", false,
			model.missed},
		{"port wan: ", "(rx_nombuf)", "for frames, ", "for frames, ",
			"packet buffers for all frames", false, model.no_mbuf},
		{"port wan: ", "(ierrors)", "port wan: ", "port wan: ", "no more frames", false,
			model.errors},
		{"pool mbufs-0: ", "packet buffers", "", "fell below 5 % ", "are no longer low",
			true, model.lows},
		{"worker 1 on CPU 7: ", "", "away from its queues ", "away from its queues ",
			"overran ", false, model.overruns},
		{"worker 0 on CPU 3: ", "", "", "stuck ", "back at its queues", true, model.stucks},
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
		look_after(step);
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

	return cmocka_run_group_tests_name("trouble_random", tests, NULL, NULL);
}
