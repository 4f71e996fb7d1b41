/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_MONITORING_FAULT_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_MONITORING_FAULT_RIG_H

/* The watch over two ports, a pool and two workers, with any readings at any time, and the lines
 * that it wrote. */
#include "tests/unit/dataplane/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/monitoring/fault_monitor.h"

#define MS 1000000ull
#define S 1000000000ull
#define BEGIN_NS (1000 * S)
#define BEGIN_UNIX_NS (1700000000 * S)
#define LINES_MAX 4096

/* As the log has it: the message and the fields. */
static inline void event_text(const struct bp_fault_event *e, char *out, size_t size)
{
	size_t len = (size_t)snprintf(out, size, "%s", e->message);

	for (const struct bp_log_field *f = e->field; f->key != NULL; f++)
		if (f->value != NULL)
			len += (size_t)snprintf(out + len, size - len, " %s=%s", f->key, f->value);
		else
			len += (size_t)snprintf(
				out + len, size - len, " %s=%" PRIu64, f->key, f->number);
}

struct logged {
	uint64_t now_ns;
	enum bp_log_level level;
	char text[1024]; /* as in the log: message and fields */
};

static struct bp_fault_monitor watch;
static struct bp_fault_samples readings;
static struct bp_counters counters;
static struct bp_fault_row rows[BP_FAULT_ROWS_MAX];
static uint64_t now_ns;
static struct logged logged[LINES_MAX];
static unsigned n_logged, n_read;

static inline void take_event(void *arg, const struct bp_fault_event *event)
{
	(void)arg;
	assert_true(n_logged < LINES_MAX);
	logged[n_logged] = (struct logged){.now_ns = now_ns, .level = event->level};
	event_text(event, logged[n_logged].text, sizeof(logged[n_logged].text));
	n_logged++;
}

static inline void start_with(const struct bp_config_monitoring *settings)
{
	const struct bp_fault_subjects who = {.n_ports = 2,
		.n_pools = 1,
		.n_workers = 2,
		.port = {"lan", "wan"},
		.pool = {"mbufs-0"},
		.worker_cpu = {3, 7}};

	memset(&counters, 0, sizeof(counters));
	memset(rows, 0, sizeof(rows));
	memset(&readings, 0, sizeof(readings));
	readings.n_ports = 2;
	readings.n_pools = 1;
	readings.n_workers = 2;
	readings.pool[0].free = readings.pool[0].size = 1000;
	readings.worker[0].runs = readings.worker[1].runs = true;
	now_ns = BEGIN_NS;
	n_logged = n_read = 0;
	watch.sink.counters = &counters;
	watch.rows = rows;
	watch.sink.log = take_event;
	watch.sink.arg = NULL;
	bp_fault_monitor_init(&watch, settings, &who, &readings, now_ns);
}

static inline int start(void **state)
{
	static const struct bp_config_monitoring defaults = {.link_up_delay_ns = 10 * S,
		.mbuf_low_percent = 5,
		.poll_gap_warning_ns = 100 * MS,
		.worker_stall_timeout_ns = 2 * S,
		.log_interval_ns = 10 * S};

	(void)state;
	start_with(&defaults);
	return 0;
}

/* So much later, with the workers at work unless they are `held`. */
static bool held[2];
static inline void check_after(uint64_t ns)
{
	now_ns += ns;
	for (unsigned i = 0; i < 2; i++)
		if (!held[i])
			readings.worker[i].heartbeat_ns = now_ns - 1000;
	bp_fault_monitor_check(&watch, &readings, now_ns, BEGIN_UNIX_NS + now_ns - BEGIN_NS);
}

/* The same readings, four times a second. */
static inline void pass(uint64_t ns)
{
	for (uint64_t i = 0; i < ns; i += 250 * MS)
		check_after(250 * MS);
}

/* The next event has this message, or how it begins, and then these fields. */
static inline void assert_event(enum bp_log_level level, const char *text, const char *fields)
{
	const char *t;

	if (n_read == n_logged)
		fail_msg("no line; expected: %s", text);
	t = logged[n_read].text;
	if (strncmp(t, text, strlen(text)) != 0 || strstr(t + strlen(text), fields) == NULL)
		fail_msg("'%s'\nis not: %s ... %s", t, text, fields);
	assert_int_equal(logged[n_read].level, level);
	n_read++;
}

static inline void assert_no_more_events(void)
{
	if (n_read != n_logged)
		fail_msg("unexpected event: %s", logged[n_read].text);
}

/* The row as a reader of the segment has it. */
static inline struct bp_fault_record shown(enum bp_fault_kind kind, const char *subject)
{
	struct bp_fault_record t;

	for (unsigned i = 0; i < BP_FAULT_ROWS_MAX; i++)
		if (bp_fault_read(&rows[i], &t) && t.kind == kind &&
			strcmp(t.subject, subject) == 0)
			return t;
	fail_msg("no row for %s of %s", bp_fault_info[kind].name, subject);
	return (struct bp_fault_record){0};
}

#endif
