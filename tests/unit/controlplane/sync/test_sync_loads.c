/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "controlplane/sync/sync_internal.h"
#include "tests/unit/controlplane/sync/sync_rig.h"

/* Loads with concurrent events: loss, new requests, and restarts of the load. */

static void many_routes(unsigned n, const char *verb)
{
	FILE *f = sync_rig_batch();

	for (unsigned i = 0; i < n; i++)
		fprintf(f, "route %s 172.%u.%u.%u/32 via 10.0.0.2\n", verb, 16 + (i >> 16),
			i >> 8 & 255, i & 255);
	assert_int_equal(pclose(f), 0);
}

/* The kernel removes all IPv4 routes of an interface with its last address, and says nothing. */
static void the_last_address_goes(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	sync_rig_ip("address add 10.0.7.1/24 dev lan");
	sync_rig_ip("route add 10.75.0.0/16 via 10.0.0.2 dev lan onlink");
	sync_rig_ip("route add 10.76.0.0/16 dev lan");
	RUN_UNTIL(r, rig_type(r, "10.75.0.0/16") >= 0 && rig_type(r, "10.76.0.0/16") >= 0);
	sync_rig_ip("address delete 10.0.0.1/24 dev lan");
	RUN_UNTIL(r, rig_type(r, "10.0.0.0/24") < 0 && sync_rig_synced(r));
	assert_true(rig_type(r, "10.75.0.0/16") >= 0);
	sync_rig_ip("address delete 10.0.7.1/24 dev lan");
	RUN_UNTIL(r, rig_type(r, "10.75.0.0/16") < 0 && rig_type(r, "10.76.0.0/16") < 0);
	RUN_UNTIL(r, sync_rig_synced(r));
	assert_true(rig_same_as_kernel(r));
}

/* A request during a load is executed after it. */
static void wanted_while_loading(void **state)
{
	struct sync_rig *r = *state;
	uint64_t before;

	sync_rig_start(r);
	before = atomic_load(&r->control->cp_sync_resyncs);
	bp_sync_load(r->sync);
	assert_true(r->sync->phase == SYNC_DRAINING || r->sync->phase == SYNC_LOADING);
	bp_sync_reconfigure(r->sync, &r->config);
	RUN_UNTIL(r, atomic_load(&r->control->cp_sync_resyncs) >= before + 2);
	RUN_UNTIL(r, sync_rig_synced(r));
	assert_true(rig_same_as_kernel(r));
}

/* The last load ended long before this one began, in terms of the time since the machine started.
 */
static void wanted_while_publishing_after_a_pause(void **state)
{
	struct sync_rig *r = *state;
	uint64_t before;

	sync_rig_start(r);
	RUN_UNTIL(r, sync_rig_synced(r));
	before = atomic_load(&r->control->cp_sync_resyncs);
	r->sync->ended_ns /= 8;
	r->sync->begun_ns = r->sync->ended_ns - 1;
	bp_sync_load(r->sync);
	RUN_UNTIL(r, r->sync->phase == SYNC_PUBLISHING);
	bp_sync_resync_soon(r->sync, "test");
	RUN_UNTIL(r, atomic_load(&r->control->cp_sync_resyncs) >= before + 2);
	RUN_UNTIL(r, sync_rig_synced(r));
}

/* Without a part that failed and is to be tried again. */
static void until_synced(struct sync_rig *r)
{
	while (!sync_rig_synced(r)) {
		assert_false(r->sync->wanted);
		event_base_loop(r->base, EVLOOP_ONCE);
	}
}

/* The kernel gives a socket one dump at a time: the next one begins when what is left of the one
 * that was given up has been read. */
static void begun_again_amid_a_dump(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	many_routes(20000, "add");
	RUN_UNTIL(r, rig_type(r, "172.16.78.31/32") >= 0 && sync_rig_synced(r));
	bp_sync_load(r->sync);
	RUN_UNTIL(r, r->sync->phase == SYNC_LOADING && r->sync->load.what == BP_DUMP_ROUTES4);
	bp_sync_load(r->sync);
	until_synced(r);
	assert_true(rig_same_as_kernel(r));
}

/* That events were lost is noticed at the end of a part of the dump: all begins again, with the
 * first part. */
static void lost_between_two_dumps(void **state)
{
	struct sync_rig *r = *state;
	uint64_t overruns;

	r->config.netlink.receive_buffer = 16384;
	sync_rig_start(r);
	overruns = atomic_load(&r->control->cp_sync_overruns);
	bp_sync_load(r->sync);
	assert_int_equal(r->sync->phase, SYNC_LOADING);
	many_routes(500, "add");
	bp_sync_on_dumps(r->sync->dumps.fd, EV_READ, r->sync);
	assert_true(atomic_load(&r->control->cp_sync_overruns) > overruns);
	until_synced(r);
	assert_int_equal(rig_type(r, "172.16.1.243/32"), BP_ROUTE_UNICAST);
	assert_true(rig_same_as_kernel(r));
}

#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, sync_rig_setup, sync_rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(the_last_address_goes),
		RIG_TEST(wanted_while_loading),
		RIG_TEST(wanted_while_publishing_after_a_pause),
		RIG_TEST(begun_again_amid_a_dump),
		RIG_TEST(lost_between_two_dumps),
	};

	if (!sync_rig_namespace())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
