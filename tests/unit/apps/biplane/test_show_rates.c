/* SPDX-License-Identifier: BSD-3-Clause */
/* `show rates`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "apps/biplane/show/rates.h"
#include "show_view.h"

#define S BP_HISTORY_INTERVAL_NS
#define T0 (1000 * S) /* CLOCK_MONOTONIC of sample 1 */

static struct bp_history_sample sample;
static uint64_t started;

static int set_up_history(void **state)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;

	memset(&config, 0, sizeof(config));
	memset(&mqtt, 0, sizeof(mqtt));
	config.service[BP_SERVICE_MQTT] = &mqtt;
	config.n_workers = 2;
	config.n_ports = 2;
	config.monitoring.history_ns = 200 * S;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	atomic_store(&shm.global->dp_ports, 2);
	atomic_store(&shm.global->dp_workers, 2);
	strcpy(shm.ports[0].name, "devices");
	strcpy(shm.ports[1].name, "cloud");
	memset(&sample, 0, sizeof(sample));
	started = 1;
	source = (struct bp_show_source){.shm = &shm};
	return 0;
}

/* A sample at T0 + t, with this number of drops. */
static void append_at(uint64_t t, uint64_t drops)
{
	sample.word[BP_HISTORY_UNIX_NS] = 1000000 * S + t;
	sample.word[BP_HISTORY_MONO_NS] = T0 + t;
	sample.word[BP_HISTORY_DP_STARTED_NS] = started;
	sample.word[BP_HISTORY_DROPS] = drops;
	bp_history_append(&shm.history, &sample);
	source.mono_ns = T0 + t;
}

static json_t *rates(uint64_t since_s, uint32_t step_s)
{
	json_t *v = bp_rates_json(&shm, source.mono_ns, since_s * S, step_s);

	assert_non_null(v);
	return v;
}

static size_t points(const json_t *v)
{
	return json_array_size(json_object_get(v, "times"));
}

/* of: a port's name, or NULL */
static const json_t *series(const json_t *v, const char *name, const char *of)
{
	size_t i;
	json_t *s;

	json_array_foreach(json_object_get(v, "series"), i, s)
	{
		const char *port = json_string_value(json_object_get(s, "port"));

		if (strcmp(json_string_value(json_object_get(s, "name")), name) == 0 &&
			(of == NULL || (port && strcmp(port, of) == 0)))
			return json_object_get(s, "values");
	}
	fail_msg("no series %s", name);
	return NULL;
}

#define VALUE(v, name, of, i) json_number_value(json_array_get(series(v, name, of), i))
#define IS_NULL(v, name, of, i) json_is_null(json_array_get(series(v, name, of), i))
#define OF(v, key, i) json_array_get(json_object_get(v, key), i)

/* Samples come late and early: rates are exact all the same. */
static void rates_are_exact_for_any_interval(void **state)
{
	json_t *v;

	append_at(0, 100);
	append_at(1 * S, 150);
	append_at(2 * S + S / 4, 275);
	append_at(3 * S, 350);
	v = rates(60, 1);
	assert_int_equal(points(v), 3);
	assert_true(VALUE(v, "drops", NULL, 0) == 50);
	assert_true(VALUE(v, "drops", NULL, 1) == 100);
	assert_true(VALUE(v, "drops", NULL, 2) == 100);
	assert_true(json_real_value(OF(v, "seconds", 1)) == 1.25);
	assert_true(json_real_value(OF(v, "times", 0)) == 1000001);
	assert_number(v, "samples", 4);
	assert_number(v, "history_s", 200);
	json_decref(v);
}

/* Each point is of the same samples whenever the rates are read. */
static void intervals_begin_at_the_same_samples(void **state)
{
	json_t *v, *later;

	for (uint64_t i = 0; i < 25; i++)
		append_at(i * S, i * i);
	v = rates(60, 10); /* samples 10 and 20 */
	assert_int_equal(points(v), 1);
	assert_true(VALUE(v, "drops", NULL, 0) == (19 * 19 - 9 * 9) / 10.0);
	for (uint64_t i = 25; i < 32; i++)
		append_at(i * S, i * i);
	later = rates(60, 10);
	assert_int_equal(points(later), 2);
	assert_true(VALUE(later, "drops", NULL, 0) == VALUE(v, "drops", NULL, 0));
	json_decref(v);
	json_decref(later);
	/* only the samples of the last 15 s: 17 to 32 */
	v = rates(15, 10);
	assert_int_equal(points(v), 1);
	json_decref(v);
}

static void the_window_is_bounded_by_since(void **state)
{
	json_t *v;

	for (uint64_t i = 0; i < 50; i++)
		append_at(i * S, i);
	v = rates(10, 1);
	assert_int_equal(points(v), 10);
	json_decref(v);
	v = rates(86400, 1);
	assert_int_equal(points(v), 1); /* samples 24 and 48 */
	assert_number(v, "step_s", 24);
	json_decref(v);
	v = rates(180, 0);
	assert_number(v, "step_s", 3);
	json_decref(v);
	v = rates(1000000, 1000000);
	assert_number(v, "since_s", 86400);
	json_decref(v);
}

/* The counters begin at 0 again: no rate is known, and the next one is right. */
static void a_restart_is_visible(void **state)
{
	json_t *v;

	sample.word[BP_HISTORY_ALARMS_ACKNOWLEDGED] = 10;
	append_at(0, 1000);
	append_at(1 * S, 1001);
	started = 2;
	sample.word[BP_HISTORY_ALARMS_ACKNOWLEDGED] = 30;
	append_at(3 * S, 2000); /* more than before: the number alone shows nothing */
	append_at(4 * S, 2005);
	v = rates(60, 1);
	assert_int_equal(points(v), 3);
	assert_true(json_is_false(OF(v, "restarted", 0)));
	assert_true(json_is_true(OF(v, "restarted", 1)));
	assert_true(IS_NULL(v, "drops", NULL, 1));
	assert_true(IS_NULL(v, "rx_bytes", "cloud", 1));
	assert_true(IS_NULL(v, "busy", NULL, 1));
	/* a counter of the control plane continues */
	assert_true(VALUE(v, "alarms_acknowledged", NULL, 1) == 10);
	assert_true(VALUE(v, "drops", NULL, 2) == 5);

	char *text = text_of(&bp_show_rates, v, false);

	assert_non_null(strstr(text, "data plane restarted"));
	free(text);
}

static void missed_samples_are_visible(void **state)
{
	json_t *v;

	append_at(0, 0);
	append_at(1 * S, 10);
	append_at(5 * S, 50);
	append_at(6 * S, 60);
	v = rates(60, 1);
	assert_int_equal(json_integer_value(OF(v, "missed", 0)), 0);
	assert_int_equal(json_integer_value(OF(v, "missed", 1)), 3);
	assert_int_equal(json_integer_value(OF(v, "missed", 2)), 0);
	assert_true(VALUE(v, "drops", NULL, 1) == 10);

	char *text = text_of(&bp_show_rates, v, false);

	assert_non_null(strstr(text, "3 samples missed"));
	free(text);
}

static void ports_and_workers_have_their_own_series(void **state)
{
	json_t *v;

	append_at(0, 0);
	sample.word[bp_history_port_at(1, BP_HISTORY_RX_BYTES)] = 1250;
	sample.word[bp_history_port_at(0, BP_HISTORY_TX_PACKETS)] = 7;
	sample.word[bp_history_worker_at(&shm.history, 0, BP_HISTORY_BUSY_NS)] = S / 4;
	sample.word[bp_history_worker_at(&shm.history, 1, BP_HISTORY_BUSY_NS)] = 2 * S;
	sample.word[BP_HISTORY_CONNECTIONS] = 12;
	append_at(1 * S, 0);
	v = rates(60, 1);
	assert_true(VALUE(v, "rx_bytes", "cloud", 0) == 1250);
	assert_true(VALUE(v, "rx_bytes", "devices", 0) == 0);
	assert_true(VALUE(v, "tx_packets", "devices", 0) == 7);
	assert_true(VALUE(v, "busy", NULL, 0) == 0.25);
	assert_true(VALUE(v, "connections", NULL, 0) == 12);

	/* one in 16 walks is measured, so that the sum may exceed the time */
	char *text = json_dumps(v, 0);

	assert_non_null(strstr(text, "\"worker\": 1, \"values\": [1.0]"));
	free(text);
	text = text_of(&bp_show_rates, v, false);
	assert_non_null(strstr(text, "10k")); /* bit/s */
	assert_non_null(strstr(text, "62.5"));
	assert_null(strstr(text, "nic_dropped"));
	free(text);
	text = text_of(&bp_show_rates, rates(60, 1), true);
	assert_non_null(strstr(text, "nic_dropped"));
	free(text);
}

static void count_delays(uint64_t ns, uint32_t n)
{
	const unsigned b = bp_histogram_bucket(ns);

	sample.word[bp_history_delays_at(&shm.history) + b / 2] += (uint64_t)n << (b % 2 * 32);
}

/* Percentiles are of the alarms in the interval, not of all since the start. */
static void delays_are_those_of_the_interval(void **state)
{
	json_t *v;

	count_delays(1000, UINT32_MAX); /* the count wraps */
	append_at(0, 0);
	count_delays(1000, 98);
	count_delays(50000, 2);
	append_at(1 * S, 0);
	append_at(2 * S, 0);
	sample.word[BP_HISTORY_CP_STARTED_NS] = 1;
	count_delays(1000, 5);
	append_at(3 * S, 0);
	v = rates(60, 1);
	assert_true(VALUE(v, "alarm_delay_p50", NULL, 0) ==
		    (double)bp_histogram_upper(bp_histogram_bucket(1000)));
	assert_true(VALUE(v, "alarm_delay_p99", NULL, 0) ==
		    (double)bp_histogram_upper(bp_histogram_bucket(50000)));
	assert_true(IS_NULL(v, "alarm_delay_p50", NULL, 1));
	assert_true(IS_NULL(v, "alarm_delay_p50", NULL, 2));
	json_decref(v);
}

static void no_history_is_stated(void **state)
{
	char *text = text_of(&bp_show_rates, collect(&bp_show_rates), false);

	assert_string_equal(text, "no interval yet: fewer samples than --step needs\n");
	free(text);
	shm.history.n_rows = 0;
	text = text_of(&bp_show_rates, collect(&bp_show_rates), false);
	assert_string_equal(text, "no history: monitoring.history is off\n");
	free(text);
}

/* A reader must survive any contents: in the end, all of the numbers are JSON and text. */
static void damaged_contents_are_harmless(void **state)
{
	const uint64_t words = bp_history_capacity(201, 2, 2);
	uint64_t x = 1;

	for (unsigned round = 0; round < 60; round++) {
		for (uint64_t i = 0; i < 40; i++)
			append_at(i * S + round * 50 * S, i);
		for (unsigned n = 0; n < 500; n++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			((uint64_t *)(void *)shm.history.header)[(x >> 20) % words] =
				x >> 10 & 1 ? x : UINT64_MAX;
		}
		if (round % 4 == 0)
			*shm.history.header = UINT64_MAX - round;
		free(text_of(&bp_show_rates, rates(60, round % 5), true));
	}
}

int main(void)
{
#define HISTORY(name) cmocka_unit_test_setup_teardown(name, set_up_history, tear_down)
	const struct CMUnitTest tests[] = {
		HISTORY(rates_are_exact_for_any_interval),
		HISTORY(intervals_begin_at_the_same_samples),
		HISTORY(the_window_is_bounded_by_since),
		HISTORY(a_restart_is_visible),
		HISTORY(missed_samples_are_visible),
		HISTORY(ports_and_workers_have_their_own_series),
		HISTORY(delays_are_those_of_the_interval),
		HISTORY(no_history_is_stated),
		HISTORY(damaged_contents_are_harmless),
	};

	(void)set_up;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
