/* SPDX-License-Identifier: BSD-3-Clause */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/cli.h"
#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/monitor/event_stream.h"
#include "apps/biplane/monitor/monitor.h"
#include "apps/biplane/monitor/request.h"
#include "apps/biplane/monitor/segment_watch.h"
#include "apps/biplane/monitor/show_args.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/show/service.h"
#include "apps/biplane/show/status_view.h"

/* The resources of /api/v1/: the JSON of the commands. */

/*
 * An answer that took longer than this is expensive: the next ones are refused for BUSY_SHARE times
 * as long, so that clients cannot use more than a quarter of a CPU with them.
 */
#define EXPENSIVE_NS 50000000ull
#define BUSY_SHARE 3u
#define DROPS_INTERVAL_NS 10000000000ull /* of events of type drops */

struct view_writer {
	const struct bp_show_view *view;
	const struct bp_show_source *source;
	const char *instance; /* of the status; NULL for the others */
	char err[256];
};

/* As cmd_status.c: the name of the instance is the first member. */
static json_t *with_instance(json_t *view, const char *instance)
{
	json_t *all = view != NULL ? json_pack("{ss}", "instance", instance) : NULL;

	if (all != NULL && json_object_update(all, view) != 0) {
		json_decref(all);
		all = NULL;
	}
	json_decref(view);
	return all;
}

static bool write_view(void *arg, FILE *out)
{
	struct view_writer *w = arg;
	json_t *json;

	if (w->view->write != NULL)
		return w->view->write(w->source, true, true, out, w->err, sizeof(w->err)) == 0;
	json = w->view->collect(w->source, w->err, sizeof(w->err));
	if (w->instance != NULL)
		json = with_instance(json, w->instance);
	return bp_print_json_new(json, true, out) == 0;
}

static struct bp_show_source source_of(const struct bp_monitor *m)
{
	return (struct bp_show_source){.shm = bp_monitor_shm(m),
		.instance = &m->instance,
		.unix_ns = bp_monitor_unix_ns(),
		.mono_ns = bp_monitor_mono_ns()};
}

/* Whether the last answers took too much time: *a is the error then. */
static bool is_busy(const struct bp_monitor *m, struct bp_http_answer *a)
{
	if (bp_monitor_mono_ns() >= m->busy_until_ns)
		return false;
	bp_monitor_counters.throttled++;
	bp_answer_error(a, 503,
		"the last answers took much CPU time: try again in a moment, with a lower limit=");
	a->retry_after_s = 1;
	return true;
}

/* Of an answer that began then. */
static void set_busy(struct bp_monitor *m, uint64_t begin_ns)
{
	const uint64_t end_ns = bp_monitor_mono_ns();

	if (end_ns - begin_ns > EXPENSIVE_NS)
		m->busy_until_ns = end_ns + BUSY_SHARE * (end_ns - begin_ns);
}

/* Whether there is a segment, and time for an answer. */
static bool can_look(struct bp_monitor *m, struct bp_http_answer *a)
{
	if (bp_monitor_shm(m) != NULL)
		return !is_busy(m, a);
	bp_answer_error(a, 503, "instance '%s' is not running", m->instance.name);
	a->retry_after_s = 1;
	return false;
}

static void look(struct bp_monitor *m, struct view_writer *w, struct bp_http_answer *a)
{
	const uint64_t begin = bp_monitor_mono_ns();

	bp_answer_written(a, BP_CONTENT_JSON, write_view, w);
	set_busy(m, begin);
}

/* The views and what they show. */
static void answer_views(const struct bp_http_request *q, struct bp_http_answer *a)
{
	static const char *const none[] = {NULL};
	json_t *list = json_array(), *object;
	const struct bp_show_view *v;

	if (!bp_request_args_known(q, a, none)) {
		json_decref(list);
		return;
	}
	for (unsigned at = 0; (v = bp_show_next(&at)) != NULL;)
		json_array_append_new(
			list, json_pack("{ss ss}", "name", v->name, "summary", v->summary));
	object = json_pack("{si so}", "schema_version", BP_JSON_SCHEMA_VERSION, "views", list);
	*a = (struct bp_http_answer){.status = 200, .content_type = BP_CONTENT_JSON};
	a->body = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (a->body == NULL)
		bp_answer_error(a, 500, "not enough memory");
	else
		a->len = strlen(a->body);
}

static void answer_show(struct bp_monitor *m, const struct bp_http_request *q, const char *rest,
	struct bp_http_answer *a)
{
	const struct bp_show_view *view = rest[0] == '/' ? bp_show_find(rest + 1) : NULL;
	struct bp_show_source source = source_of(m);
	struct view_writer w = {.view = view, .source = &source};

	if (rest[0] == '\0')
		answer_views(q, a);
	else if (view == NULL)
		bp_answer_error(a, 404, "there is no such view; /api/v1/show lists them");
	else if (bp_show_args(q, view, &source, a) && can_look(m, a))
		look(m, &w, a);
}

/* The same as /api/v1/show/rates. */
static void answer_rates(struct bp_monitor *m, const struct bp_http_request *q, const char *rest,
	struct bp_http_answer *a)
{
	if (rest[0] != '\0')
		bp_answer_error(a, 404, "there is no such resource");
	else
		answer_show(m, q, "/rates", a);
}

static void answer_status(struct bp_monitor *m, const struct bp_http_request *q, const char *rest,
	struct bp_http_answer *a)
{
	static const char *const none[] = {NULL};
	const struct bp_show_source source = source_of(m);
	struct view_writer w = {
		.view = &bp_status_view, .source = &source, .instance = m->instance.name};

	if (rest[0] != '\0')
		bp_answer_error(a, 404, "there is no such resource");
	else if (bp_request_args_known(q, a, none) && can_look(m, a))
		look(m, &w, a);
}

/*
 * The monitor cannot ask the control plane: its socket is for users that may change the gateway. It
 * reads the file when the control plane has, and compares the hash of the result.
 */
static void answer_config(struct bp_monitor *m, const struct bp_http_request *q, const char *rest,
	struct bp_http_answer *a)
{
	static const char *const none[] = {NULL};
	const struct bp_shm *shm = bp_monitor_shm(m);

	bp_config_watch(m); /* there may have been a reload just now */
	if (rest[0] != '\0') {
		bp_answer_error(a, 404, "there is no such resource");
	} else if (!bp_request_args_known(q, a, none)) {
		return;
	} else if (shm == NULL || m->text.json == NULL ||
		   atomic_load_explicit(&shm->control->cp_config_hash, memory_order_relaxed) !=
			   m->text.hash) {
		bp_answer_error(a, 503,
			"the file is not the running configuration: it was changed after it was "
			"loaded, or the control plane does not run; use biplane config show");
		a->retry_after_s = 1;
	} else {
		*a = (struct bp_http_answer){.status = 200,
			.content_type = BP_CONTENT_JSON,
			.body = strdup(m->text.json)};
		a->len = a->body != NULL ? strlen(a->body) : 0;
		if (a->body == NULL)
			bp_answer_error(a, 500, "not enough memory");
	}
}

/* The arguments: types=alarm,fault and backlog=N. */
static bool event_options(const struct bp_http_request *q, struct bp_event_reader_options *o,
	struct bp_http_answer *a)
{
	static const char *const known[] = {"types", "backlog", NULL};
	const char *types = bp_request_arg(q, "types"), *backlog = bp_request_arg(q, "backlog");
	char err[512];

	*o = (struct bp_event_reader_options){
		.types = BP_EVENTS_ALL, .drops_interval_ns = DROPS_INTERVAL_NS};
	if (!bp_request_args_known(q, a, known))
		return false;
	if (types != NULL && bp_event_types_parse(types, &o->types, err, sizeof(err)) != 0) {
		bp_answer_error(a, 400, "types: %s", err);
		return false;
	}
	if (backlog == NULL || bp_cli_number(backlog, 0, BP_EVENT_STREAM_BACKLOG_MAX, &o->backlog))
		return true;
	bp_answer_error(
		a, 400, "backlog: expected a number from 0 to %u", BP_EVENT_STREAM_BACKLOG_MAX);
	return false;
}

/* Opens the segment, and reads each slot of each ring to find the newest record: with many workers
 * and long rings that is expensive. */
static void open_events(
	struct bp_monitor *m, const struct bp_event_reader_options *o, struct bp_http_answer *a)
{
	const uint64_t begin = bp_monitor_mono_ns();

	a->events = bp_event_reader_new(&m->instance, o);
	set_busy(m, begin);
	if (a->events == NULL)
		bp_answer_error(a, 500, "not enough memory");
}

static void answer_events(struct bp_monitor *m, const struct bp_http_request *q, const char *rest,
	struct bp_http_answer *a)
{
	const unsigned half = m->config->monitoring.max_connections / 2;
	const unsigned max = half < BP_EVENT_STREAMS_MAX ? half : BP_EVENT_STREAMS_MAX;
	struct bp_event_reader_options o;

	if (rest[0] != '\0') {
		bp_answer_error(a, 404, "there is no such resource");
	} else if (!event_options(q, &o, a)) {
		return;
	} else if (bp_monitor_counters.event_streams >= max) {
		bp_monitor_counters.throttled++;
		bp_answer_error(a, 503, "%u clients read events already", max);
		a->retry_after_s = 10;
	} else if (!is_busy(m, a)) {
		*a = (struct bp_http_answer){.status = 200, .content_type = "text/event-stream"};
		if (strcmp(q->method, "HEAD") == 0)
			a->fixed = "";
		else
			open_events(m, &o, a);
	}
}

const struct bp_api_resource bp_api_resources[] = {
	{"show", answer_show},
	{"rates", answer_rates},
	{"status", answer_status},
	{"config", answer_config},
	{"events", answer_events},
	{NULL, NULL},
};
