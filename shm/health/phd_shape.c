/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/health/phd_shape.h"

/* A token has 23 bits for a slot (services/health/token.h), a word 16 for a layout. */
#define SESSIONS_MAX (1u << 22)
#define LAYOUTS_MAX 4096u

/* What is large is counted in lines, so that one element of it is next to nothing. */
#define LINE 64
#define LAYOUT_LINES (BP_PHD_LAYOUT_SIZE / LINE)
#define IDS_LINES (sizeof(struct bp_phd_ids) / LINE)

const struct bp_table_shape bp_phd_shape[BP_PHD_TABLES] = {
	[BP_PT_CONTROL] = {"phd", sizeof(struct bp_phd_control), BP_SEG_CONTROL},
	[BP_PT_TAGS] = {"phd_tags", sizeof(struct bp_phd_group), BP_SEG_CONTROL},
	[BP_PT_SESSIONS] = {"phd_sessions", sizeof(struct bp_phd_session), BP_SEG_SHARED},
	[BP_PT_LAYOUTS] = {"phd_layouts", LINE, BP_SEG_CONTROL},
	[BP_PT_IDS] = {"phd_ids", LINE, BP_SEG_DATA},
	[BP_PT_EVENTS] = {"phd_events", 1, BP_SEG_DATA},
	[BP_PT_EVENT_TAILS] = {"phd_event_tails", sizeof(struct bp_ring_tail), BP_SEG_CONTROL},
	[BP_PT_STATUS] = {"phd_status", sizeof(struct bp_phd_status), BP_SEG_CONTROL},
};

static uint64_t bounded(uint32_t n, uint32_t most)
{
	return n == 0 ? 1 : n < most ? n : most;
}

void bp_phd_capacities(const struct bp_config *c, uint64_t capacity[BP_PHD_TABLES])
{
	const uint64_t workers = c->n_workers > 0 ? c->n_workers : 1;
	uint64_t groups;

	for (unsigned t = 0; t < BP_PHD_TABLES; t++)
		capacity[t] = 1;
	if (!c->phd.enabled)
		return;
	/* four of five slots, so that hardly ever both groups of a session are full */
	groups = (bounded(c->phd.sessions, SESSIONS_MAX) * 5 / 4 + BP_PHD_WAYS) / BP_PHD_WAYS;
	capacity[BP_PT_TAGS] = groups;
	capacity[BP_PT_SESSIONS] = groups * BP_PHD_WAYS;
	capacity[BP_PT_LAYOUTS] = bounded(c->phd.layouts, LAYOUTS_MAX) * LAYOUT_LINES;
	capacity[BP_PT_IDS] = workers * IDS_LINES;
	capacity[BP_PT_EVENTS] = workers * (BP_RING_OVERHEAD + BP_PHD_EVENTS);
	capacity[BP_PT_EVENT_TAILS] = workers;
}

static bool has_sessions(const uint64_t capacity[BP_PHD_TABLES])
{
	return capacity[BP_PT_SESSIONS] != 1;
}

bool bp_phd_sizes_agree(const uint64_t capacity[BP_PHD_TABLES], uint64_t workers)
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
	       capacity[BP_PT_LAYOUTS] <= LAYOUTS_MAX * LAYOUT_LINES &&
	       capacity[BP_PT_LAYOUTS] % LAYOUT_LINES == 0 &&
	       capacity[BP_PT_IDS] == workers * IDS_LINES &&
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
	t->max_layouts = (uint32_t)(capacity[BP_PT_LAYOUTS] / LAYOUT_LINES);
	t->workers = workers;
	t->events = events;
	for (unsigned w = 0; w < workers; w++)
		bp_ring_attach(&events[w], (struct bp_ring_data *)(void *)(data + w * stride),
			&tails[w], BP_PHD_EVENTS);
}
