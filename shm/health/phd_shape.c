/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/health/phd_shape.h"

#include <stdio.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/layout.h"

static const struct bp_table_shape shape[BP_PHD_TABLES] = {
	[BP_PT_CONTROL] = {"phd", sizeof(struct bp_phd_control), BP_SEG_CONTROL},
	[BP_PT_TAGS] = {"phd_tags", sizeof(struct bp_phd_group), BP_SEG_CONTROL},
	[BP_PT_SESSIONS] = {"phd_sessions", sizeof(struct bp_phd_session), BP_SEG_SHARED},
	[BP_PT_LAYOUTS] = {"phd_layouts", BP_PHD_LINE, BP_SEG_CONTROL},
	[BP_PT_IDS] = {"phd_ids", BP_PHD_LINE, BP_SEG_DATA},
	[BP_PT_EVENTS] = {"phd_events", 1, BP_SEG_DATA},
	[BP_PT_EVENT_TAILS] = {"phd_event_tails", sizeof(struct bp_ring_tail), BP_SEG_CONTROL},
	[BP_PT_STATUS] = {"phd_status", sizeof(struct bp_phd_status), BP_SEG_CONTROL},
};

static bool has_sessions(const uint64_t *capacity)
{
	return capacity[BP_PT_SESSIONS] != 1;
}

static bool sizes_agree(const uint64_t *capacity, uint64_t workers)
{
	if (capacity[BP_PT_CONTROL] != 1 || capacity[BP_PT_STATUS] != 1)
		return false;
	if (!has_sessions(capacity)) {
		for (unsigned t = 0; t < BP_PHD_TABLES; t++) {
			if (capacity[t] != 1)
				return false;
		}
		return true;
	}
	return capacity[BP_PT_TAGS] > 0 && capacity[BP_PT_TAGS] <= UINT32_MAX / BP_PHD_WAYS &&
	       capacity[BP_PT_SESSIONS] == capacity[BP_PT_TAGS] * BP_PHD_WAYS &&
	       capacity[BP_PT_LAYOUTS] > 0 &&
	       capacity[BP_PT_LAYOUTS] <= BP_PHD_LAYOUTS_MAX * BP_PHD_LAYOUT_LINES &&
	       capacity[BP_PT_LAYOUTS] % BP_PHD_LAYOUT_LINES == 0 &&
	       capacity[BP_PT_IDS] == workers * BP_PHD_IDS_LINES &&
	       capacity[BP_PT_EVENTS] == workers * (BP_RING_OVERHEAD + BP_PHD_EVENTS) &&
	       capacity[BP_PT_EVENT_TAILS] == workers;
}

void bp_phd_map(struct bp_phd_tables *t, void *const address[BP_PHD_TABLES],
	const uint64_t capacity[BP_PHD_TABLES], struct bp_ring *events, uint32_t workers)
{
	const uint64_t stride = BP_RING_OVERHEAD + BP_PHD_EVENTS;
	uint8_t *const data = address[BP_PT_EVENTS];
	struct bp_ring_tail *const tails = address[BP_PT_EVENT_TAILS];

	*t = (struct bp_phd_tables){
		.control = address[BP_PT_CONTROL],
		.groups = address[BP_PT_TAGS],
		.sessions = address[BP_PT_SESSIONS],
		.layouts = address[BP_PT_LAYOUTS],
		.ids = address[BP_PT_IDS],
		.status = address[BP_PT_STATUS],
	};
	if (!has_sessions(capacity))
		return;
	t->n_groups = (uint32_t)capacity[BP_PT_TAGS];
	t->n_slots = (uint32_t)capacity[BP_PT_SESSIONS];
	t->max_sessions = (uint32_t)((uint64_t)t->n_slots * 4 / 5);
	t->max_layouts = (uint32_t)(capacity[BP_PT_LAYOUTS] / BP_PHD_LAYOUT_LINES);
	t->workers = workers;
	t->events = events;
	for (unsigned w = 0; w < workers; w++)
		bp_ring_attach(&events[w], (struct bp_ring_data *)(void *)(data + w * stride),
			&tails[w], BP_PHD_EVENTS);
}

static int map(struct bp_shm *m, void *const *address, const uint64_t *capacity, char *err,
	size_t err_size)
{
	struct bp_ring *events = bp_segment_private(m->segment, m->workers * sizeof(*events));

	if (!events) {
		snprintf(err, err_size, "no memory for the event rings of %u workers", m->workers);
		return -1;
	}
	bp_phd_map(&m->phd, address, capacity, events, m->workers);
	return 0;
}

/* A renamed, added or moved status changes the table. */
static uint64_t version(unsigned table, uint64_t layout)
{
	uint64_t h = layout;

	for (unsigned i = 0; table == BP_PT_STATUS && i < BP_PHD_S_COUNT; i++) {
		h = bp_hash_name(h, i, bp_phd_status_group_name[bp_phd_status_info[i].group]);
		h = bp_hash_name(h, i, bp_phd_status_info[i].name);
	}
	return h;
}

/* Unread events are unknown if they belong to another control part. */
static void init(struct bp_shm *m, unsigned part)
{
	for (unsigned w = 0; part == BP_SEG_CONTROL && w < m->phd.workers; w++)
		bp_ring_release_all(bp_phd_events(&m->phd, w));
}

static void ready(struct bp_shm *m)
{
	memcpy(m->phd.hash_key, m->control->hash_key, sizeof(m->phd.hash_key));
}

const struct bp_service_tables bp_tables_health = {
	.shape = shape,
	.n = BP_PHD_TABLES,
	.version = version,
	.sizes_agree = sizes_agree,
	.map = map,
	.init = init,
	.ready = ready,
};
