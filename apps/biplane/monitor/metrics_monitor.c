/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor itself: counters of this process, which other processes do not have. */
#include "apps/biplane/monitor/counters.h"
#include "apps/biplane/metrics/metric.h"

struct bp_monitor_counters bp_monitor_counters;

static bool is_monitor(void)
{
	return bp_monitor_counters.started_unix_s != 0;
}

static void read_counter(struct bp_metrics *m, const struct bp_metric *row)
{
	if (is_monitor())
		bp_metric_count(m, BP_NO_LABELS, bp_metric_load(&bp_monitor_counters, row->at));
}

static void read_event_log(struct bp_metrics *m, const struct bp_metric *row)
{
	if (bp_monitor_counters.writes_events)
		bp_metric_count(m, BP_NO_LABELS, bp_metric_load(&bp_monitor_counters, row->at));
}

static void read_event_log_open(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	if (bp_monitor_counters.writes_events)
		bp_metric_count(m, BP_NO_LABELS, bp_monitor_counters.event_log.open);
}

static void read_seconds(struct bp_metrics *m, const struct bp_metric *row)
{
	if (is_monitor())
		bp_metric_seconds(m, BP_NO_LABELS, bp_metric_load(&bp_monitor_counters, row->at));
}

static void read_refused(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct {
		const char *reason;
		size_t at;
	} reasons[] = {
		{"busy", offsetof(struct bp_monitor_counters, refused)},
		{"evicted", offsetof(struct bp_monitor_counters, evicted)},
		{"deadline", offsetof(struct bp_monitor_counters, timed_out)},
		{"incomplete", offsetof(struct bp_monitor_counters, incomplete)},
		{"not_read", offsetof(struct bp_monitor_counters, aborted)},
	};

	(void)row;
	for (size_t i = 0; is_monitor() && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		bp_metric_count(m, BP_LABELS({"reason", reasons[i].reason}),
			bp_metric_load(&bp_monitor_counters, reasons[i].at));
}

static void read_errors(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct {
		const char *reason;
		size_t at;
	} reasons[] = {
		{"client", offsetof(struct bp_monitor_counters, requests_4xx)},
		{"server", offsetof(struct bp_monitor_counters, requests_5xx)},
	};

	(void)row;
	for (size_t i = 0; is_monitor() && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		bp_metric_count(m, BP_LABELS({"reason", reasons[i].reason}),
			bp_metric_load(&bp_monitor_counters, reasons[i].at));
}

#define ROW(name_, type_, unit_, labels_, member, reader, help_)                                   \
	{                                                                                          \
		.name = "monitor_" name_, .type = type_, .unit = unit_, .labels = labels_,         \
		.help = help_, .read = reader, .at = offsetof(struct bp_monitor_counters, member), \
		.without_segment = true                                                            \
	}
#define COUNTER(name_, member, help_)                                                              \
	ROW(name_, BP_METRIC_COUNTER, NULL, "", member, read_counter, help_)
#define GAUGE(name_, unit_, member, help_)                                                         \
	ROW(name_, BP_METRIC_GAUGE, unit_, "", member, read_counter, help_)
#define EVENT_LOG(name_, type_, unit_, member, help_)                                              \
	ROW(name_, type_, unit_, "", event_log.member, read_event_log, help_)
static const struct bp_metric monitor[] = {
	GAUGE("start_time_seconds", "seconds", started_unix_s,
		"Unix time of the start of the monitor"),
	GAUGE("connections", NULL, connections, "Open HTTP connections"),
	GAUGE("event_streams", NULL, event_streams, "Open streams of /api/v1/events"),
	GAUGE("answer_bytes", "bytes", answer_bytes, "Memory of answers that are not sent yet"),
	COUNTER("connections_accepted", accepted, "HTTP connections accepted"),
	ROW("connections_closed", BP_METRIC_COUNTER, NULL, "reason", refused, read_refused,
		"HTTP connections closed by the monitor or without a request, by reason"),
	COUNTER("requests", requests, "HTTP requests answered"),
	ROW("request_errors", BP_METRIC_COUNTER, NULL, "reason", requests_4xx, read_errors,
		"HTTP requests answered with an error of the client or of the server"),
	COUNTER("requests_unauthorized", unauthorized, "HTTP requests without a valid token"),
	COUNTER("requests_throttled", throttled,
		"HTTP requests refused to limit CPU time and memory"),
	COUNTER("events_lost", events_lost, "Events that slow streams did not receive"),
	COUNTER("segment_opened", segment_opened, "Times that the shared segment was opened"),
	ROW("answer_seconds", BP_METRIC_COUNTER, "seconds", "", answer_ns, read_seconds,
		"Time spent on answers"),
	EVENT_LOG("event_log_events", BP_METRIC_COUNTER, NULL, events,
		"Events written to log.events"),
	EVENT_LOG("event_log_bytes", BP_METRIC_COUNTER, "bytes", bytes,
		"Bytes written to log.events"),
	EVENT_LOG("event_log_lost", BP_METRIC_COUNTER, NULL, lost,
		"Events not written to log.events: overwritten in the segment, or too long"),
	EVENT_LOG("event_log_failures", BP_METRIC_COUNTER, NULL, failures,
		"Failed attempts to open or write log.events"),
	EVENT_LOG("event_log_buffered_bytes", BP_METRIC_GAUGE, "bytes", buffered,
		"Events that wait until log.events can be written"),
	ROW("event_log_open", BP_METRIC_GAUGE, NULL, "", event_log.open, read_event_log_open,
		"Whether log.events can be written"),
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_monitor[] = {
	{"Monitor", monitor},
	{NULL, NULL},
};
