/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/events/plane_events.h"

static void plane_event(struct bp_event_ring *r, enum bp_event_plane action,
	enum bp_event_plane_name plane, uint64_t pid, uint8_t flags, uint64_t unix_ns)
{
	const struct bp_event e = {.time_ns = unix_ns,
		.type = BP_EVENT_PLANE,
		.action = (uint8_t)action,
		.flags = flags,
		.number = {plane, pid}};

	bp_event_write(r, &e);
}

void bp_plane_event_started(struct bp_event_ring *r, enum bp_event_plane_name plane, uint64_t pid,
	bool crashed, uint64_t unix_ns)
{
	plane_event(
		r, BP_EVENT_PLANE_STARTED, plane, pid, crashed ? BP_EVENT_F_CRASHED : 0, unix_ns);
}

void bp_plane_event_stopped(
	struct bp_event_ring *r, enum bp_event_plane_name plane, uint64_t pid, uint64_t unix_ns)
{
	plane_event(r, BP_EVENT_PLANE_STOPPED, plane, pid, 0, unix_ns);
}

void bp_config_event(struct bp_event_ring *r, enum bp_event_config action, uint64_t generation,
	const char *error, uint64_t unix_ns)
{
	struct bp_event e = {.time_ns = unix_ns,
		.type = BP_EVENT_CONFIG,
		.action = (uint8_t)action,
		.number = {generation}};

	if (error != NULL)
		bp_event_text(&e, 0, error, strlen(error));
	bp_event_write(r, &e);
}

void bp_rollout_event(struct bp_event_ring *r, enum bp_event_config action, uint64_t serial,
	uint64_t version, const char *error, uint64_t unix_ns)
{
	struct bp_event e = {.time_ns = unix_ns,
		.type = BP_EVENT_CONFIG,
		.action = (uint8_t)action,
		.number = {serial, version}};

	bp_event_text(&e, 0, error, strlen(error));
	bp_event_write(r, &e);
}
