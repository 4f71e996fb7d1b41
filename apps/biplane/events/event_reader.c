/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/events/event_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/biplane/events/event_drops.h"
#include "apps/biplane/events/event_json.h"
#include "apps/biplane/events/event_source.h"
#include "apps/biplane/show/instance_view.h"

/* How often the reader looks for a new segment, and at what the supervisor counts. */
#define CHECK_NS 1000000000ull
/* An event that is further in the future has a damaged time, or the clock was set: it does not
 * wait. */
#define FUTURE_NS 1000000000ull
/* Records that one call may reject. */
#define REJECT_MAX 1024u

struct bp_event_reader {
	struct bp_config_instance id;
	struct bp_event_reader_options options;
	struct bp_instance_view view;
	const struct bp_shm *shm; /* NULL: not attached */
	bool given;               /* shm is the caller's */
	bool attached_before;
	bool replaced; /* what is left in the old segment is read first */
	struct stat file[BP_SEG_PARTS];
	struct bp_event_source source[BP_EVENT_SOURCES_MAX];
	unsigned n_sources;
	uint64_t checked_ns;
	uint32_t restarts[BP_EVENT_PLANES], hung[BP_EVENT_PLANES]; /* as reported */
	struct bp_event_drops drops;
	uint64_t lost;
	uint64_t damaged; /* of all sources, not reported yet */
	char err[1024];
};

/* ---- names ---- */

static const char *const type_names[BP_EVENT_TYPES] = {
	[BP_EVENT_CONNECTION] = "connection",
	[BP_EVENT_SESSION] = "session",
	[BP_EVENT_FAULT] = "fault",
	[BP_EVENT_CONFIG] = "config",
	[BP_EVENT_PLANE] = "plane",
	[BP_EVENT_POLICY] = "policy",
	[BP_EVENT_ALARM] = "alarm",
	[BP_EVENT_DROPS] = "drops",
	[BP_EVENT_LOST] = "lost",
};

const char *bp_event_type_name(unsigned type)
{
	return type < BP_EVENT_TYPES ? type_names[type] : NULL;
}

static unsigned type_of_name(const char *name, size_t n)
{
	for (unsigned t = 1; t < BP_EVENT_TYPES; t++)
		if (strlen(type_names[t]) == n && memcmp(type_names[t], name, n) == 0)
			return t;
	return BP_EVENT_NONE;
}

int bp_event_types_parse(const char *list, unsigned *types, char *err, size_t err_size)
{
	*types = 0;
	for (const char *p = list;; p++) {
		const size_t n = strcspn(p, ",");
		const unsigned type = type_of_name(p, n);

		if (type == BP_EVENT_NONE) {
			snprintf(err, err_size,
				"'%.*s' is not a type of events; expected alarm, config, "
				"connection, drops, fault, lost, plane, policy or session",
				n < 32 ? (int)n : 32, p);
			return -1;
		}
		*types |= BP_EVENT_BIT(type);
		p += n;
		if (*p == '\0')
			return 0;
	}
}

/* ---- attaching to the segment ---- */

static void read_supervisor(struct bp_event_reader *r)
{
	const struct bp_shm_shared *s = r->shm->shared;

	r->restarts[BP_EVENT_DATAPLANE] = atomic_load(&s->run_dp_restarts);
	r->restarts[BP_EVENT_CONTROLPLANE] = atomic_load(&s->run_cp_restarts);
	r->hung[BP_EVENT_DATAPLANE] = atomic_load(&s->run_dp_hung);
	r->hung[BP_EVENT_CONTROLPLANE] = atomic_load(&s->run_cp_hung);
}

static void stat_parts(const struct bp_event_reader *r, struct stat *file)
{
	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		if (stat(bp_segment_part_path(r->view.segment, p), &file[p]) != 0)
			memset(&file[p], 0, sizeof(file[p]));
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static void detach(struct bp_event_reader *r)
{
	if (r->shm != NULL && !r->given)
		bp_instance_view_close(&r->view);
	r->shm = NULL;
}

/* A new part has only events that were not read; in one that stayed, reading continues. */
static void open_sources(struct bp_event_reader *r, const struct stat *before)
{
	struct bp_event_source *opened = r->source;
	const unsigned n_before = r->n_sources;
	struct bp_event_source *old = NULL;

	if (r->attached_before)
		old = malloc(sizeof(r->source));
	if (old != NULL)
		memcpy(old, r->source, sizeof(r->source));
	r->n_sources = bp_event_sources_open(opened, r->shm,
		r->attached_before ? UINT64_MAX : r->options.backlog,
		r->attached_before ? 0 : r->options.since_ns);
	for (unsigned i = 0; old != NULL && r->n_sources == n_before && i < n_before; i++) {
		if (!is_same_file(&before[old[i].part], &r->file[old[i].part]) ||
			old[i].cursor.n != opened[i].cursor.n)
			continue;
		old[i].cursor.slots = opened[i].cursor.slots;
		opened[i] = old[i];
	}
	free(old);
	r->damaged = 0;
	for (unsigned i = 0; i < r->n_sources; i++)
		r->damaged += r->source[i].damaged;
}

static void attach(struct bp_event_reader *r)
{
	struct stat before[BP_SEG_PARTS];

	if (bp_instance_view_open(&r->view, &r->id, r->err, sizeof(r->err)) != 0) {
		/* the next instance is new to this reader */
		if (r->n_sources == 0)
			r->attached_before = true;
		return;
	}
	r->shm = &r->view.shm;
	memcpy(before, r->file, sizeof(before));
	stat_parts(r, r->file);
	open_sources(r, before);
	if (!r->attached_before || !is_same_file(&before[BP_SEG_SHARED], &r->file[BP_SEG_SHARED]))
		read_supervisor(r);
	if (!is_same_file(&before[BP_SEG_DATA], &r->file[BP_SEG_DATA]))
		r->drops.begun = false;
	r->attached_before = true;
}

/* Whether another segment is there, or none. */
static bool is_replaced(const struct bp_event_reader *r)
{
	struct stat now[BP_SEG_PARTS];

	stat_parts(r, now);
	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		if (!is_same_file(&now[p], &r->file[p]))
			return true;
	return false;
}

static void check_segment(struct bp_event_reader *r)
{
	if (r->given)
		return;
	if (r->shm == NULL)
		attach(r);
	else
		r->replaced = is_replaced(r);
}

/* ---- events of the reader itself ---- */

static json_t *own_event(const struct bp_event_reader *r, unsigned type, json_t *o, uint64_t now_ns)
{
	const struct bp_event_json x = {r->id.name, r->shm};
	json_t *event = bp_event_json_head(&x, type, now_ns - BP_EVENT_HOLD_NS);

	json_object_set_new(event, bp_event_type_name(type), o);
	return event;
}

static json_t *new_lost_event(const struct bp_event_reader *r, unsigned source, const char *reason,
	json_t *events, uint64_t now_ns)
{
	char name[BP_EVENT_SOURCE_NAME];

	bp_event_source_name(source, r->n_sources - BP_EVENT_SOURCES_OTHER, name);
	return own_event(r, BP_EVENT_LOST,
		json_pack("{ss so ss}", "reason", reason, "events", events, "source", name),
		now_ns);
}

/* Before the next record of a source: how many were lost between. */
static json_t *lost_event(struct bp_event_reader *r, uint64_t now_ns)
{
	for (unsigned i = 0; i < r->n_sources; i++) {
		struct bp_event_source *s = &r->source[i];
		const uint64_t lost = s->lost;

		if (lost != 0) {
			s->lost = 0;
			r->lost += lost;
			return new_lost_event(
				r, i, "overwritten", json_integer((json_int_t)lost), now_ns);
		}
		if (s->gap) {
			s->gap = false;
			r->lost++; /* one or more */
			return new_lost_event(r, i, "overwritten", json_null(), now_ns);
		}
		/* a ring that was replaced says nothing of the events that it had */
		if (s->reset) {
			s->reset = false;
			return new_lost_event(r, i, "recreated", json_null(), now_ns);
		}
	}
	return NULL;
}

static json_t *damaged_event(struct bp_event_reader *r, uint64_t now_ns)
{
	for (unsigned i = 0; i < r->n_sources; i++) {
		const uint64_t n = r->source[i].damaged;

		if (n == 0)
			continue;
		r->source[i].damaged = 0;
		r->damaged -= n;
		r->lost += n;
		return new_lost_event(r, i, "damaged", json_integer((json_int_t)n), now_ns);
	}
	return NULL;
}

static json_t *restart_event(struct bp_event_reader *r, uint64_t now_ns)
{
	static const char *const name[] = {"dataplane", "controlplane"};
	const uint32_t restarts[] = {atomic_load(&r->shm->shared->run_dp_restarts),
		atomic_load(&r->shm->shared->run_cp_restarts)};
	const uint32_t hung[] = {atomic_load(&r->shm->shared->run_dp_hung),
		atomic_load(&r->shm->shared->run_cp_hung)};

	for (unsigned p = 0; p < BP_EVENT_PLANES; p++) {
		const bool was_hung = hung[p] != r->hung[p], more = restarts[p] != r->restarts[p];

		r->restarts[p] = restarts[p];
		r->hung[p] = hung[p];
		if (more && (r->options.types & BP_EVENT_BIT(BP_EVENT_PLANE)))
			return own_event(r, BP_EVENT_PLANE,
				json_pack("{ss ss sb}", "state", "restarted", "name", name[p],
					"hung", was_hung),
				now_ns);
	}
	return NULL;
}

static json_t *drops_event(struct bp_event_reader *r, uint64_t now_ns)
{
	json_t *o = NULL;

	if (r->options.drops_interval_ns != 0 && (r->options.types & BP_EVENT_BIT(BP_EVENT_DROPS)))
		o = bp_event_drops(&r->drops, r->shm, r->options.drops_interval_ns, now_ns);
	return o == NULL ? NULL : own_event(r, BP_EVENT_DROPS, o, now_ns);
}

/* ---- merging ---- */

static bool is_due(uint64_t time_ns, uint64_t now_ns)
{
	return time_ns + BP_EVENT_HOLD_NS <= now_ns || time_ns > now_ns + FUTURE_NS;
}

/* A record that does not wait is first: until it is read, it delays all later ones of its source.
 */
static uint64_t order(const struct bp_event_source *s, uint64_t now_ns)
{
	const uint64_t time_ns = bp_event_source_time(s);

	return time_ns > now_ns + FUTURE_NS ? 0 : time_ns;
}

/* The source with the oldest record; NULL: none is due. */
static struct bp_event_source *oldest(struct bp_event_reader *r, uint64_t now_ns)
{
	struct bp_event_source *found = NULL;

	for (unsigned i = 0; i < r->n_sources; i++) {
		struct bp_event_source *s = &r->source[i];

		if (s->has && (found == NULL || order(s, now_ns) < order(found, now_ns)))
			found = s;
	}
	return found != NULL && is_due(bp_event_source_time(found), now_ns) ? found : NULL;
}

/* The next record as an event, or what was lost before it. */
static json_t *record(struct bp_event_reader *r, uint64_t now_ns, unsigned *type)
{
	const struct bp_event_json x = {r->id.name, r->shm};

	for (unsigned i = 0; i < REJECT_MAX; i++) {
		struct bp_event_source *s;
		json_t *event;

		for (unsigned k = 0; k < r->n_sources; k++)
			bp_event_source_fill(&r->source[k], r->options.types);
		*type = BP_EVENT_LOST;
		event = lost_event(r, now_ns);
		if (event != NULL)
			return event;
		s = oldest(r, now_ns);
		if (s == NULL)
			break;
		event = s->alarms ? bp_event_json_alarm(&x, &s->is.alarm)
				  : bp_event_json(&x, &s->is.event);
		if (event == NULL) {
			s->has = false;
			s->damaged++;
			r->damaged++;
			continue;
		}
		if (r->damaged != 0) { /* reported first */
			json_decref(event);
			break;
		}
		s->has = false;
		*type = s->alarms ? (unsigned)BP_EVENT_ALARM : s->is.event.type;
		return event;
	}
	return r->damaged != 0 ? damaged_event(r, now_ns) : NULL;
}

static json_t *next(struct bp_event_reader *r, uint64_t unix_ns, unsigned *type)
{
	json_t *event;

	if (r->shm == NULL)
		return NULL;
	*type = BP_EVENT_PLANE;
	event = restart_event(r, unix_ns);
	if (event == NULL)
		event = record(r, unix_ns, type);
	if (event == NULL) {
		*type = BP_EVENT_DROPS;
		event = drops_event(r, unix_ns);
	}
	return event;
}

json_t *bp_event_reader_next(struct bp_event_reader *r, uint64_t unix_ns, unsigned *type)
{
	unsigned ignored;
	json_t *event;

	type = type != NULL ? type : &ignored;
	if (unix_ns < r->checked_ns || unix_ns - r->checked_ns >= CHECK_NS) {
		r->checked_ns = unix_ns;
		check_segment(r);
	}
	event = next(r, r->replaced ? unix_ns + BP_EVENT_HOLD_NS : unix_ns, type);
	if (event != NULL || !r->replaced)
		return event;
	r->replaced = false;
	detach(r);
	attach(r);
	return next(r, unix_ns, type);
}

/* ---- begin and end ---- */

struct bp_event_reader *bp_event_reader_new(
	const struct bp_config_instance *id, const struct bp_event_reader_options *o)
{
	struct bp_event_reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->id = *id;
	r->options = *o;
	attach(r);
	return r;
}

struct bp_event_reader *bp_event_reader_of(
	const char *name, const struct bp_shm *shm, const struct bp_event_reader_options *o)
{
	struct bp_event_reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	snprintf(r->id.name, sizeof(r->id.name), "%s", name);
	r->options = *o;
	r->given = true;
	r->shm = shm;
	r->n_sources = bp_event_sources_open(r->source, shm, o->backlog, o->since_ns);
	read_supervisor(r);
	return r;
}

void bp_event_reader_free(struct bp_event_reader *r)
{
	if (r == NULL)
		return;
	detach(r);
	free(r);
}

uint64_t bp_event_reader_lost(const struct bp_event_reader *r)
{
	return r->lost;
}

bool bp_event_reader_attached(const struct bp_event_reader *r, const char **why)
{
	if (r->shm == NULL && why != NULL)
		*why = r->err;
	return r->shm != NULL;
}
