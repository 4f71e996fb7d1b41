/* SPDX-License-Identifier: BSD-3-Clause */
/* The packet totals as the data plane and replay print them, over a segment with known contents.
 */
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "tests/unit/dataplane/test.h"

#include <stdlib.h>
#include <string.h>

#include "config/segment.h"
#include "dataplane/process/stats.h"

static struct bp_config config;
static struct bp_shm shm;
static struct bp_totals totals;

static int set_up(void **state)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	char err[256];

	(void)state;
	memset(&config, 0, sizeof(config));
	config.n_workers = 2;
	config.n_ports = 2;
	snprintf(config.port[0].name, sizeof(config.port[0].name), "lan");
	snprintf(config.port[1].name, sizeof(config.port[1].name), "wan");

	struct bp_segment *s =
		bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));

	return s && bp_shm_map(&shm, s, err, sizeof(err)) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	bp_segment_close(shm.segment);
	return 0;
}

static void count_frames(unsigned worker, unsigned port, uint64_t rx, uint64_t tx)
{
	struct bp_port_stats *s = &shm.port_stats[worker * BP_MAX_PORTS + port];

	atomic_store(&s->rx_packets, rx);
	atomic_store(&s->tx_packets, tx);
}

static bool printed(const char *what)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool found;

	bp_totals_print(&config, &totals, out);
	fclose(out);
	found = strstr(text, what) != NULL;
	free(text);
	return found;
}

/* Each counter group on its side of the balance, from any worker; informational groups are on
 * neither. */
static void every_outcome_is_in_its_group(void **state)
{
	(void)state;
	count_frames(0, 0, 100, 20);
	count_frames(1, 1, 7, 63);
	shm.counters[0].v[BP_C_FLOOD_COPY] = 1;
	shm.counters[1].v[BP_C_FROM_KERNEL] = 4;
	shm.counters[0].v[BP_C_DROP_RUNT] = 9;
	shm.counters[0].v[BP_C_PUNTED_ROUTING] = 11;
	shm.counters[2].v[BP_C_PUNTED_OTHER] = 9; /* the exception thread */
	shm.counters[0].v[BP_C_PHD_MANAGER_FRAME] = 6;
	shm.counters[1].v[BP_C_CSE_ACKED] = 4;
	shm.counters[0].v[BP_C_PHD_MANAGER_RECEIVED] = 2;
	shm.counters[1].v[BP_C_PUNT_TTL_EXPIRED] = 1000;
	shm.counters[1].v[BP_C_CSE_STORED] = 1000;
	shm.counters[1].v[BP_C_FORWARDED_IP4] = 1000;
	bp_totals_read(&shm, 2, &totals);
	assert_int_equal(totals.rx, 107);
	assert_int_equal(totals.originated, 11);
	assert_int_equal(totals.terminated, 6);
	assert_int_equal(totals.tx, 83);
	assert_int_equal(totals.drops, 9);
	assert_int_equal(totals.punted, 20);
	assert_true(bp_totals_exact(&totals));
	assert_true(printed("  sum: rx 107 + originated 11 = tx 83 + drops 9 + punted 20 + "
			    "terminated 6: exact\n"));

	shm.counters[0].v[BP_C_PUNTED_LOCAL] = 1;
	bp_totals_read(&shm, 2, &totals);
	assert_false(bp_totals_exact(&totals));
	assert_true(printed("punted 21 + terminated 6: NOT exact\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_outcome_is_in_its_group, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
