/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/show_args.h"

#include <string.h>

#include "apps/biplane/cli.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/rates.h"

/* One argument. False: *a is the error. */
struct arg {
	const char *name;
	bool (*allowed)(const struct bp_show_view *v);
	bool (*set)(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
		char *err, size_t err_size);
};

static bool always(const struct bp_show_view *v)
{
	(void)v;
	return true;
}

static bool takes_family(const struct bp_show_view *v)
{
	return v->takes_family;
}

static bool takes_prefix(const struct bp_show_view *v)
{
	return v->takes_prefix;
}

static bool takes_sessions(const struct bp_show_view *v)
{
	return v->takes_sessions;
}

static bool takes_streams(const struct bp_show_view *v)
{
	return v->takes_streams;
}

static bool takes_address(const struct bp_show_view *v)
{
	return v->takes_sessions || v->takes_streams;
}

static bool set_limit(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	(void)v;
	if (bp_cli_number(value, 1, BP_SHOW_ARGS_LIMIT_MAX, &s->limit))
		return true;
	snprintf(err, err_size, "expected a number from 1 to %u", BP_SHOW_ARGS_LIMIT_MAX);
	return false;
}

static bool set_family(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	(void)v;
	if (strcmp(value, "4") == 0 || strcmp(value, "6") == 0) {
		s->filter.family = (uint8_t)(value[0] - '0');
		return true;
	}
	snprintf(err, err_size, "expected 4 or 6");
	return false;
}

/* A prefix lists what is within it; an address is looked up. */
static bool set_prefix(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	struct bp_prefix p;
	bool has_length;

	(void)v;
	if (!bp_text_to_prefix(value, &p, &has_length)) {
		snprintf(err, err_size, "expected an address (10.1.2.3) or a prefix (10.0.0.0/8)");
		return false;
	}
	if (has_length) {
		s->filter.within = p;
	} else {
		s->address.family = p.family;
		memcpy(s->address.bytes, p.bytes, sizeof(p.bytes));
	}
	return true;
}

static bool set_system_id(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	(void)v;
	return bp_session_filter_id(&s->sessions, value, err, err_size);
}

static bool set_state(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	(void)v;
	return bp_session_filter_state(&s->sessions, value, err, err_size);
}

static bool set_type(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	(void)v;
	return bp_session_filter_type(&s->sessions, value, err, err_size);
}

static bool set_address(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	struct bp_session_filter f = {0};

	if (!bp_session_filter_address(&f, value, err, err_size))
		return false;
	*(v->takes_streams ? &s->streams.within : &s->sessions.within) = f.within;
	return true;
}

static bool set_entry(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	uint64_t number;

	(void)v;
	if (!bp_cli_number(value, 0, BP_AGG_RULES_MAX - 1, &number)) {
		snprintf(err, err_size, "expected a number from 0 to %d", BP_AGG_RULES_MAX - 1);
		return false;
	}
	s->streams.rule = (uint32_t)number;
	s->streams.has_rule = true;
	return true;
}

static bool takes_since(const struct bp_show_view *v)
{
	return v->takes_since;
}

#define DURATION_MAX_S 86400

static bool duration(const char *value, uint64_t *ns, char *err, size_t err_size)
{
	if (bp_cli_duration(value, 1, DURATION_MAX_S, ns))
		return true;
	snprintf(err, err_size, "expected a duration from 1s to 24h, such as 90s or 10m");
	return false;
}

static bool set_since(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	(void)v;
	return duration(value, &s->since_ns, err, err_size);
}

static bool set_step(struct bp_show_source *s, const struct bp_show_view *v, const char *value,
	char *err, size_t err_size)
{
	uint64_t ns;

	(void)v;
	if (!duration(value, &ns, err, err_size))
		return false;
	s->step_s = (uint32_t)(ns / 1000000000u);
	return true;
}

static const struct arg args[] = {
	{"limit", always, set_limit},
	{"family", takes_family, set_family},
	{"prefix", takes_prefix, set_prefix},
	{"system_id", takes_sessions, set_system_id},
	{"state", takes_sessions, set_state},
	{"type", takes_sessions, set_type},
	{"address", takes_address, set_address},
	{"entry", takes_streams, set_entry},
	{"since", takes_since, set_since},
	{"step", takes_since, set_step},
};
#define N_ARGS (sizeof(args) / sizeof(args[0]))

bool bp_show_args(const struct bp_http_request *q, const struct bp_show_view *view,
	struct bp_show_source *s, struct bp_http_answer *a)
{
	const char *known[N_ARGS + 1], *value;
	unsigned n = 0;
	char err[512];

	for (unsigned i = 0; i < N_ARGS; i++)
		if (args[i].allowed(view))
			known[n++] = args[i].name;
	known[n] = NULL;
	if (!bp_request_args_known(q, a, known))
		return false;
	s->limit = view->default_limit != 0 ? view->default_limit : BP_SHOW_ARGS_LIMIT;
	for (unsigned i = 0; i < N_ARGS; i++) {
		value = bp_request_arg(q, args[i].name);
		if (value == NULL || args[i].set(s, view, value, err, sizeof(err)))
			continue;
		bp_answer_error(a, 400, "%s: %s", args[i].name, err);
		return false;
	}
	if (s->step_s >
		(s->since_ns != 0 ? s->since_ns : BP_RATES_SINCE_DEFAULT_NS) / 1000000000u) {
		bp_answer_error(a, 400, "step: expected a duration of at most since=%s",
			s->since_ns != 0 ? "" : ", which is 10m by default");
		return false;
	}
	if (s->filter.family != 0 && (s->filter.within.family | s->address.family |
					     s->filter.family) != s->filter.family) {
		bp_answer_error(a, 400, "prefix: it is not of family %u", s->filter.family);
		return false;
	}
	return true;
}
