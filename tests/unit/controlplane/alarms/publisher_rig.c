/* SPDX-License-Identifier: BSD-3-Clause */
#include "publisher_rig.h"

#include <event2/event.h>
#include <stdlib.h>

#include "controlplane/process/ring_events.h"

int rig_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	test_dir_make(f->dir, sizeof(f->dir));
	test_broker_make(&f->broker, f->dir, "");
	test_broker_start(&f->broker);
	f->subscriber = test_subscriber_start(&f->broker);
	test_config(&f->config, &f->mqtt, f->dir, f->broker.port, 2, 1 << 20);
	*state = f;
	return 0;
}

void rig_stop_publisher(struct fixture *f)
{
	bp_ring_events_free(f->rings);
	bp_publisher_free(f->publisher);
	f->rings = NULL;
}

int rig_teardown(void **state)
{
	struct fixture *f = *state;

	rig_stop_publisher(f);
	if (f->base != NULL)
		event_base_free(f->base);
	if (f->shm.segment != NULL)
		test_shm_free(&f->shm);
	test_subscriber_stop(f->subscriber);
	test_broker_stop(&f->broker);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

void rig_start_publisher(struct fixture *f)
{
	char err[256] = "";

	f->rings = bp_ring_events_new(f->base, &f->shm.control->cp_sleeps, NULL, NULL);
	f->publisher = bp_publisher_new(f->base, &f->shm, f->rings, &f->mqtt, err, sizeof(err));
	if (f->publisher == NULL)
		fail_msg("no publisher: %s", err);
}

void rig_start(struct fixture *f)
{
	test_shm_make(&f->shm, &f->config);
	f->base = event_base_new();
	rig_start_publisher(f);
}

void rig_put(struct fixture *f, unsigned worker, uint64_t id)
{
	struct bp_alarm *a = test_alarm_number(id, "alarm/x", 0);

	RUN_UNTIL(f, test_ring_put(bp_shm_ring(&f->shm, worker), a));
	free(a);
}
