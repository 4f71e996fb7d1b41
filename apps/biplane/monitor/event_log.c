/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/event_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/events/event_json.h"
#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/monitor/event_sink.h"
#include "daemon/log.h"

/* How often an output that failed is tried. */
#define RETRY_NS 1000000000ull
/* The monitor starts after the planes: their start is an event, too. */
#define BEFORE_START_NS 10000000000ull
/* No event is longer: texts of a record and of an alarm are bounded, each byte of them escaped. */
#define LINE_MAX_BYTES 8192u

enum { TOO_LONG, NO_MEMORY, REASONS };
static const char *const reason_names[REASONS] = {
	[TOO_LONG] = "too_long", [NO_MEMORY] = "no_memory"};

struct bp_event_log {
	struct bp_event_sink sink;
	char name[BP_NAME_MAX + 1]; /* of the instance */
	struct bp_event_reader *reader;
	uint64_t retry_ns; /* monotonic */
	bool failed;       /* logged */
	/* events that are lost, of which no event says it yet */
	uint64_t unreported[REASONS];
	struct bp_event_log_counts counts;
	size_t len;
	char buffer[BP_EVENT_LOG_BUFFER];
};

static const char *target(const struct bp_event_log *l)
{
	return l->sink.to.kind == BP_EVENT_LOG_JOURNAL ? "journal" : l->sink.to.path;
}

/* A failure is logged once, and its end. */
static void set_failed(struct bp_event_log *l, bool failed, int why)
{
	if (failed && !l->failed)
		bp_log_event(BP_LOG_ERROR, BP_LOG_FIELDS(BP_LOG_STR("output", target(l))),
			"event log cannot be written: %s; events wait in memory",
			why == ENOTSUP ? "not a regular file"
			: why == ELOOP
				? "the file is a symbolic link; name the file that it leads to"
				: strerror(why));
	else if (!failed && l->failed)
		bp_log_event(BP_LOG_INFO, BP_LOG_FIELDS(BP_LOG_STR("output", target(l))),
			"event log is written again");
	l->failed = failed;
	l->counts.failures += failed;
}

static bool open_sink(struct bp_event_log *l)
{
	if (bp_event_sink_open(&l->sink) == 0)
		return true;
	set_failed(l, true, errno);
	return false;
}

/* ---- reading ---- */

static bool add_line(struct bp_event_log *l, const json_t *event)
{
	char *line = bp_event_line(event);
	const size_t n = line != NULL ? strlen(line) : 0;

	if (n == 0 || n + 1 > BP_EVENT_LOG_BUFFER - l->len) {
		free(line);
		return false;
	}
	memcpy(l->buffer + l->len, line, n);
	l->buffer[l->len + n] = '\n';
	l->len += n + 1;
	free(line);
	return true;
}

static void lose(struct bp_event_log *l, unsigned reason)
{
	l->unreported[reason]++;
	l->counts.lost++;
}

/* An event of those that were lost here. */
static void report_lost(struct bp_event_log *l, unsigned reason, uint64_t unix_ns)
{
	const struct bp_event_json x = {.instance = l->name};
	json_t *event;

	if (l->unreported[reason] == 0)
		return;
	event = bp_event_json_head(&x, BP_EVENT_LOST, unix_ns - BP_EVENT_HOLD_NS);
	json_object_set_new(event, "lost",
		json_pack("{ss sI ss}", "reason", reason_names[reason], "events",
			(json_int_t)l->unreported[reason], "source", "event log"));
	if (json_object_get(event, "lost") != NULL && add_line(l, event))
		l->unreported[reason] = 0;
	json_decref(event);
}

/* As many events as fit: the others wait in the segment. */
static void read_events(struct bp_event_log *l, uint64_t unix_ns)
{
	while (l->len + LINE_MAX_BYTES <= BP_EVENT_LOG_BUFFER) {
		json_t *event = bp_event_reader_next(l->reader, unix_ns, NULL);

		if (event == NULL)
			return;
		if (!add_line(l, event)) /* there is space: LINE_MAX_BYTES */
			lose(l, NO_MEMORY);
		json_decref(event);
	}
}

/* ---- writing ---- */

static uint64_t count_lines(const char *p, size_t n)
{
	const char *end = p + n;
	uint64_t lines = 0;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		lines++;
		p++;
	}
	return lines;
}

static void drop_front(struct bp_event_log *l, size_t n)
{
	l->len -= n;
	memmove(l->buffer, l->buffer + n, l->len);
}

/* Writes the buffer; false: the rest has to wait. */
static bool write_some(struct bp_event_log *l)
{
	size_t n;

	switch (bp_event_sink_write(&l->sink, l->buffer, l->len, &n)) {
	case BP_EVENT_SINK_WRITTEN:
		l->counts.events += count_lines(l->buffer, n);
		l->counts.bytes += n;
		drop_front(l, n);
		set_failed(l, false, 0);
		return true;
	case BP_EVENT_SINK_TOO_LONG:
		lose(l, TOO_LONG);
		drop_front(l, (size_t)((char *)memchr(l->buffer, '\n', l->len) + 1 - l->buffer));
		return true;
	case BP_EVENT_SINK_FAILED:
		set_failed(l, true, errno);
		return false;
	case BP_EVENT_SINK_BUSY:
		break;
	}
	return false;
}

static void write_events(struct bp_event_log *l, uint64_t mono_ns)
{
	if (l->len == 0 || (l->retry_ns != 0 && mono_ns < l->retry_ns))
		return;
	l->retry_ns = 0;
	if (l->sink.fd < 0 && !open_sink(l)) {
		l->retry_ns = mono_ns + RETRY_NS;
		return;
	}
	while (l->len != 0)
		if (!write_some(l)) {
			l->retry_ns = l->failed ? mono_ns + RETRY_NS : 0;
			return;
		}
}

void bp_event_log_tick(struct bp_event_log *l, uint64_t unix_ns, uint64_t mono_ns)
{
	for (unsigned reason = 0; reason < REASONS; reason++)
		report_lost(l, reason, unix_ns);
	read_events(l, unix_ns);
	write_events(l, mono_ns);
}

/* ---- begin and end ---- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static struct bp_event_log *new_log(const char *name, const struct bp_config_event_log *c)
{
	struct bp_event_log *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->sink = (struct bp_event_sink){.to = *c, .fd = -1};
	(void)open_sink(l);
	return l;
}

struct bp_event_log *bp_event_log_new(
	const struct bp_config_instance *id, const struct bp_config_event_log *c)
{
	struct bp_event_reader_options o = {.types = BP_EVENTS_ALL,
		.backlog = UINT64_MAX,
		.drops_interval_ns = BP_EVENT_LOG_DROPS_INTERVAL_NS};
	struct bp_event_log *l = c->kind != BP_EVENT_LOG_OFF ? new_log(id->name, c) : NULL;

	if (l == NULL)
		return NULL;
	if (c->kind == BP_EVENT_LOG_FILE)
		o.since_ns = bp_event_sink_last(&l->sink);
	else
		o.since_ns = clock_ns(CLOCK_REALTIME) - BEFORE_START_NS;
	l->reader = bp_event_reader_new(id, &o);
	if (l->reader != NULL)
		return l;
	bp_event_sink_close(&l->sink);
	free(l);
	return NULL;
}

struct bp_event_log *bp_event_log_of(
	const char *name, struct bp_event_reader *reader, const struct bp_config_event_log *c)
{
	struct bp_event_log *l = new_log(name, c);

	if (l != NULL)
		l->reader = reader;
	return l;
}

void bp_event_log_reopen(struct bp_event_log *l)
{
	bp_event_sink_close(&l->sink);
	(void)open_sink(l);
	l->retry_ns = 0;
}

void bp_event_log_free(struct bp_event_log *l)
{
	if (l == NULL)
		return;
	/* events that wait for older ones of others do not wait any more */
	bp_event_log_tick(l, clock_ns(CLOCK_REALTIME) + BP_EVENT_HOLD_NS, UINT64_MAX);
	bp_event_reader_free(l->reader);
	bp_event_sink_close(&l->sink);
	free(l);
}

struct bp_event_log_counts bp_event_log_counts(const struct bp_event_log *l)
{
	struct bp_event_log_counts c = l->counts;

	c.lost += bp_event_reader_lost(l->reader);
	c.buffered = l->len;
	c.open = l->sink.fd >= 0 && !l->failed;
	return c;
}
