/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples that the main thread takes of a segment with known contents. */
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/dataplane/test.h"

#include <string.h>

#include "config/segment.h"
#include "dataplane/process/history.h"

#define S BP_HISTORY_INTERVAL_NS

static struct bp_config config;
static struct bp_shm shm;
static struct bp_history_sampler sampler;
static struct bp_history_sample got;

static int set_up(void **state)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;
	char err[256];

	(void)state;
	memset(&config, 0, sizeof(config));
	config.n_workers = 2;
	config.n_ports = 2;
	config.monitoring.history_ns = 60 * S;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	return s && bp_shm_map(&shm, s, err, sizeof(err)) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	bp_segment_close(shm.segment);
	return 0;
}

static void a_sample_has_the_sums_of_all_workers(void **state)
{
	struct bp_port_stats *p = &shm.port_stats[1], *q = &shm.port_stats[BP_MAX_PORTS + 1];
	struct bp_histogram *h = &shm.alarm_latency->stage[BP_ALARM_TOTAL];

	(void)state;
	assert_int_equal(shm.history.n_rows, 61);
	atomic_store(&p->rx_packets, 10);
	atomic_store(&q->rx_packets, 5);
	atomic_store(&q->tx_bytes, 640);
	atomic_store(&q->tx_dropped, 3);
	shm.ports[1].hw_imissed = 4;
	shm.ports[1].hw_rx_nombuf = 2;
	shm.counters[0].v[BP_C_DROP_TX_FULL] = 1;
	shm.counters[3].v[BP_C_DROP_TX_DOWN] = 6; /* of the main thread */
	shm.counters[0].v[BP_C_MQTT_PUBLISH] = 20;
	shm.counters[1].v[BP_C_ALARM_RAISED] = 8;
	shm.counters[1].v[BP_C_ALARM_QUEUE_FULL] = 1;
	shm.counters[0].v[BP_C_ALARM_TOO_LARGE] = 1;
	shm.counters[1].v[BP_C_WORKER_BUSY_NS] = 77;
	atomic_store(&shm.control->publisher[BP_TO_MQTT].acked, 9);
	atomic_store(&shm.control->publisher[BP_TO_KAFKA].acked, 2);
	atomic_store(&shm.control->publisher[BP_TO_MQTT].spool_rows, 11);
	atomic_store(&shm.global->dp_started_ns, 100);
	atomic_store(&shm.control->cp_started_ns, 200);
	bp_histogram_add(h, 300);
	bp_histogram_add(h, 300);

	bp_history_sampler_init(&sampler, &shm, 2, 1000);
	bp_history_sampler_poll(&sampler, 1000, 5000);
	assert_true(bp_history_read(&shm.history, 1, &got, shm.history.words));
	assert_true(got.word[BP_HISTORY_MONO_NS] == 1000 && got.word[BP_HISTORY_UNIX_NS] == 5000);
	assert_true(got.word[BP_HISTORY_DP_STARTED_NS] == 100);
	assert_true(got.word[BP_HISTORY_CP_STARTED_NS] == 200);
	assert_true(got.word[BP_HISTORY_DROPS] == 7);
	assert_true(got.word[BP_HISTORY_PUBLISHES] == 20);
	assert_true(got.word[BP_HISTORY_ALARMS_RAISED] == 8);
	assert_true(got.word[BP_HISTORY_ALARMS_LOST] == 2);
	assert_true(got.word[BP_HISTORY_ALARMS_ACKNOWLEDGED] == 11);
	assert_true(got.word[BP_HISTORY_SPOOL_ROWS] == 11);
	assert_true(got.word[bp_history_port_at(0, BP_HISTORY_RX_PACKETS)] == 0);
	assert_true(got.word[bp_history_port_at(1, BP_HISTORY_RX_PACKETS)] == 15);
	assert_true(got.word[bp_history_port_at(1, BP_HISTORY_TX_BYTES)] == 640);
	assert_true(got.word[bp_history_port_at(1, BP_HISTORY_TX_DROPPED)] == 3);
	assert_true(got.word[bp_history_port_at(1, BP_HISTORY_NIC_DROPPED)] == 6);
	assert_true(got.word[bp_history_worker_at(&shm.history, 1, BP_HISTORY_BUSY_NS)] == 77);
	assert_int_equal(bp_history_delay(&shm.history, &got, bp_histogram_bucket(300)), 2);
	assert_int_equal(bp_history_delay(&shm.history, &got, bp_histogram_bucket(300) + 1), 0);
}

static uint64_t samples(void)
{
	return bp_history_newest(&shm.history);
}

/* A sample a second, whatever the times of the calls; none is made up for a missed second. */
static void a_stalled_thread_misses_samples(void **state)
{
	(void)state;
	bp_history_sampler_init(&sampler, &shm, 2, 0);
	for (uint64_t t = 0; t <= 10 * S; t += S / 20)
		bp_history_sampler_poll(&sampler, t, t);
	assert_int_equal(samples(), 11);
	bp_history_sampler_poll(&sampler, 14 * S + S / 2, 0);
	assert_int_equal(samples(), 12);
	bp_history_sampler_poll(&sampler, 15 * S, 0);
	assert_int_equal(samples(), 12);
	bp_history_sampler_poll(&sampler, 15 * S + S / 2, 0);
	assert_int_equal(samples(), 13);
	assert_true(bp_history_read(&shm.history, 12, &got, 3));
	assert_true(got.word[BP_HISTORY_MONO_NS] == 14 * S + S / 2);
}

/* A restarted data plane continues the numbers. */
static void samples_survive_a_restart(void **state)
{
	(void)state;
	bp_history_sampler_init(&sampler, &shm, 2, 0);
	bp_history_sampler_poll(&sampler, 0, 0);
	bp_history_sampler_take(&sampler, 1, 0);
	bp_history_sampler_init(&sampler, &shm, 2, 10 * S);
	bp_history_sampler_poll(&sampler, 10 * S, 0);
	assert_int_equal(samples(), 3);
	assert_true(bp_history_read(&shm.history, 1, &got, 3));
}

static void without_history_nothing_is_written(void **state)
{
	struct bp_history none = shm.history;

	(void)state;
	none.n_rows = 0;
	shm.history = none;
	bp_history_sampler_init(&sampler, &shm, 2, 0);
	bp_history_sampler_poll(&sampler, 0, 0);
	bp_history_sampler_take(&sampler, 1, 0);
	assert_true(*shm.history.header == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_sample_has_the_sums_of_all_workers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stalled_thread_misses_samples, set_up, tear_down),
		cmocka_unit_test_setup_teardown(samples_survive_a_restart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_history_nothing_is_written, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
