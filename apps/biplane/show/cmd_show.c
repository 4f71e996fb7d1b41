/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/show/rates.h"
#include "apps/biplane/show/service.h"
#include "apps/biplane/show/show_diff.h"
#include "apps/biplane/pager.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/which.h"
#include "controlplane/process/peer.h"

enum {
	OPT_JSON = BP_CLI_LONG,
	OPT_WATCH,
	OPT_ALL,
	OPT_DIFF,
	OPT_VRF,
	OPT_STATE,
	OPT_TYPE,
	OPT_ADDRESS,
	OPT_RULE,
	OPT_OPENMETRICS,
	OPT_SINCE,
	OPT_STEP,
};

static const struct bp_cli_option options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{OPT_JSON, "json", NULL, "JSON instead of tables"},
	{OPT_WATCH, "watch", "SECONDS", "repeat every SECONDS (1 to 86400)"},
	{'n', "limit", "N",
		"alarms: the latest N (20); not-inspected: N clients per reason (5); connections, "
		"sessions, aggregates (streams), transform (sources), lcl (flows): the first N "
		"(100); neighbors, routes: the first N (all); 0: all"},
	{OPT_ALL, "all", NULL, "drops, health: also print rows with count 0"},
	{'4', "ipv4", NULL, "routes, neighbors: only IPv4"},
	{'6', "ipv6", NULL, "routes, neighbors: only IPv6"},
	{OPT_DIFF, "diff", NULL,
		"interfaces, neighbors, routes: differences from the kernel; exit status 1 "
		"if there are any"},
	{OPT_VRF, "vrf", "NAME",
		"routes: only of this VRF, or main; with an address, the lookup in this VRF "
		"(main)"},
	{OPT_STATE, "state", "STATE",
		"sessions: only in this state: configuring, operating or releasing"},
	{OPT_TYPE, "type", "TYPE", "sessions: only with this specialization, a name or a code"},
	{OPT_ADDRESS, "address", "PREFIX",
		"only addresses in PREFIX: sessions (devices), aggregates (destinations), "
		"transform (sources)"},
	{OPT_RULE, "entry", "N", "aggregates, transform: only this entry, from 0"},
	{OPT_OPENMETRICS, "openmetrics", NULL,
		"metrics: OpenMetrics 1.0 instead of Prometheus text"},
	{OPT_SINCE, "since", "DURATION", "rates: the last 1s to 24h, such as 10m (10m)"},
	{OPT_STEP, "step", "DURATION",
		"rates: length of an interval, whole seconds (a sixtieth of --since)"},
	{0, NULL, NULL, NULL},
};

struct show {
	const struct bp_cli_command *command;
	const char *path, *name, *what, *which, *vrf;
	bool json, all, diff, limit_given, openmetrics;
	uint64_t limit, watch, since_ns, step_ns;
	struct bp_fib_filter filter;
	struct bp_address address;
	struct bp_session_filter sessions; /* with --address, whatever the view */
	struct bp_stream_filter streams;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int fail(const char *what, int status)
{
	fprintf(stderr, "biplane show: %s\n", what);
	return status;
}

/* JSON in one line when it comes again and again, so that a reader can take
 * line by line. */
static void print_json(const struct show *o, const json_t *view)
{
	bp_print_json(view, o->watch > 0, stdout);
}

static void warn_when_dead(const struct bp_shm *m, const char *name)
{
	if (!bp_dataplane_alive(m->global))
		fprintf(stderr,
			"biplane show: the data plane of '%s' is not running; these are its last "
			"values\n",
			name);
}

/* What the view says, in the form that was asked for. */
static int print_view(const struct show *o, const struct bp_show_view *view,
	const struct bp_show_source *source, char *err, size_t err_size)
{
	json_t *json;

	if (view->write)
		return view->write(source, o->json, o->watch > 0, stdout, err, err_size)
			       ? fail(err, BP_EX_SOFTWARE)
			       : BP_EX_OK;
	json = view->collect(source, err, err_size);
	if (!json)
		return fail(err, BP_EX_SOFTWARE);
	if (o->json)
		print_json(o, json);
	else
		view->print(json, o->all, stdout);
	json_decref(json);
	return BP_EX_OK;
}

static int look(
	const struct show *o, const struct bp_show_view *view, const struct bp_config_instance *id)
{
	struct bp_instance_view v;
	char err[PATH_MAX + 512] = "not enough memory";

	if (bp_instance_view_open(&v, id, err, sizeof(err)))
		return fail(err, BP_EX_UNAVAILABLE);

	struct bp_show_source source = {
		.shm = &v.shm,
		.instance = id,
		.unix_ns = clock_ns(CLOCK_REALTIME),
		.mono_ns = clock_ns(CLOCK_MONOTONIC),
		.limit = o->limit_given ? o->limit : view->default_limit,
		.filter = o->filter,
		.vrf = o->vrf,
		.address = o->address,
		.sessions = o->sessions,
		.streams = o->streams,
		.openmetrics = o->openmetrics,
		.since_ns = o->since_ns,
		.step_s = (uint32_t)(o->step_ns / 1000000000u),
	};
	int status = o->diff ? bp_show_diff(view, &source, id, o->json)
			     : print_view(o, view, &source, err, sizeof(err));

	if (status == BP_EX_OK && !o->json && !o->diff)
		warn_when_dead(&v.shm, id->name);
	bp_instance_view_close(&v);
	return status;
}

static int look_or_watch(
	const struct show *o, const struct bp_show_view *view, const struct bp_config_instance *id)
{
	for (;;) {
		if (o->watch && !o->json && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);

		int status = look(o, view, id);

		if (status || !o->watch)
			return status;
		if (!o->json)
			putchar('\n');
		if (fflush(stdout))
			return BP_EX_IOERR;
		sleep((unsigned)o->watch);
	}
}

#define VIEWS_MAX 64u

/* Objects of releases before 1.0, and what shows the same. */
static const char *object_renamed(const char *what)
{
	static const struct {
		const char *was, *is;
	} renamed[] = {
		{"config", "config show"},
		{"flows", "show connections"},
		{"neighbours", "show neighbors"},
		{"planes", "status"},
		{"trouble", "show health"},
		{"unread", "show not-inspected"},
	};

	for (unsigned i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (strcmp(what, renamed[i].was) == 0)
			return renamed[i].is;
	return NULL;
}

static void report_unknown_object(const struct show *o, const char *const *names, unsigned n)
{
	const char *is = object_renamed(o->what), *guess = bp_cli_suggest(o->what, names, n);

	if (is != NULL)
		bp_cli_usage_error(o->command, "unknown object '%s'; use '%s'", o->what, is);
	else
		bp_cli_usage_error(o->command, "unknown object '%s'%s%s%s", o->what,
			guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
}

/* The view that the word or an abbreviation of it selects; NULL with an error. */
static const struct bp_show_view *find_view(const struct show *o)
{
	const struct bp_show_view *v, *found = NULL;
	const char *names[VIEWS_MAX];
	char candidates[512] = "";
	unsigned n = 0, matches = 0;
	size_t len = 0;

	for (unsigned at = 0; n < VIEWS_MAX && (v = bp_show_next(&at)) != NULL;) {
		names[n++] = v->name;
		if (strcmp(o->what, v->name) == 0)
			return v;
		if (o->what[0] == '\0' || strncmp(o->what, v->name, strlen(o->what)) != 0)
			continue;
		found = v;
		len += (size_t)snprintf(candidates + len, sizeof(candidates) - len, "%s%s",
			matches++ > 0 ? ", " : "", v->name);
	}
	if (matches == 1)
		return found;
	if (matches > 1)
		bp_cli_usage_error(o->command, "'%s' is ambiguous: %s", o->what, candidates);
	else
		report_unknown_object(o, names, n);
	return NULL;
}

/* "10.1.2.3" is looked up; "10.0.0.0/8" and what is within are listed. */
static int take_prefix(struct show *o)
{
	struct bp_prefix p;
	bool has_length;

	if (!bp_text_to_prefix(o->which, &p, &has_length))
		return bp_cli_usage_error(o->command,
			"'%s': an address (10.1.2.3) or a prefix (10.0.0.0/8) was expected",
			o->which);
	if (o->filter.family && o->filter.family != p.family)
		return bp_cli_usage_error(
			o->command, "'%s' is not of IPv%d", o->which, (int)o->filter.family);
	if (has_length) {
		o->filter.within = p;
		return BP_EX_OK;
	}
	if (o->diff)
		return bp_cli_usage_error(o->command,
			"--diff compares whole prefixes: give %s/%u, or leave it out", o->which,
			(unsigned)p.length);
	o->address.family = p.family;
	memcpy(o->address.bytes, p.bytes, sizeof(p.bytes));
	return BP_EX_OK;
}

/* --state, --type or --address; 0, or an exit status. */
static int take_filter(struct show *o, int key, const char *value)
{
	char err[2048];
	bool taken;

	if (key == OPT_STATE)
		taken = bp_session_filter_state(&o->sessions, value, err, sizeof(err));
	else if (key == OPT_TYPE)
		taken = bp_session_filter_type(&o->sessions, value, err, sizeof(err));
	else
		taken = bp_session_filter_address(&o->sessions, value, err, sizeof(err));
	return taken ? 0 : bp_cli_usage_error(o->command, "%s", err);
}

/* The word behind the view's. */
static int take_which(struct show *o, const struct bp_show_view *view)
{
	char err[256];

	if (view->takes_sessions)
		return bp_session_filter_id(&o->sessions, o->which, err, sizeof(err))
			       ? BP_EX_OK
			       : bp_cli_usage_error(o->command, "%s", err);
	if (view->takes_prefix)
		return take_prefix(o);
	return bp_cli_usage_error(o->command, "unexpected argument '%s'", o->which);
}

/* Whether the options fit the view. */
static int check_view(struct show *o, const struct bp_show_view *view)
{
	if (o->diff && !view->diff)
		return bp_cli_usage_error(o->command,
			"--diff is for interfaces, neighbors and routes, not for %s", o->what);
	if (o->diff && o->watch)
		return bp_cli_usage_error(o->command, "--diff and --watch exclude each other");
	if (o->filter.family && !view->takes_family)
		return bp_cli_usage_error(o->command, "-%d is for neighbors and routes, not for %s",
			(int)o->filter.family, o->what);
	if (o->vrf && (!view->takes_vrf || o->diff))
		return bp_cli_usage_error(o->command, "--vrf is for routes%s, not for %s",
			view->takes_vrf ? " without --diff" : "",
			view->takes_vrf ? "--diff" : o->what);
	if (o->streams.has_rule && !view->takes_streams)
		return bp_cli_usage_error(
			o->command, "--entry is for aggregates and transform, not for %s", o->what);
	if (o->openmetrics && !view->takes_format)
		return bp_cli_usage_error(
			o->command, "--openmetrics is for metrics, not for %s", o->what);
	if (o->openmetrics && o->json)
		return bp_cli_usage_error(
			o->command, "--openmetrics and --json exclude each other");
	if ((o->since_ns || o->step_ns) && !view->takes_since)
		return bp_cli_usage_error(
			o->command, "--since and --step are for rates, not for %s", o->what);
	if (o->step_ns > (o->since_ns ? o->since_ns : BP_RATES_SINCE_DEFAULT_NS))
		return bp_cli_usage_error(o->command, "--step is longer than --since%s",
			o->since_ns ? "" : ", which is 10m by default");
	if (view->takes_streams) {
		o->streams.within = o->sessions.within;
		o->sessions.within.family = 0;
	}
	if (bp_session_filter_any(&o->sessions) && !view->takes_sessions)
		return bp_cli_usage_error(o->command,
			"--state, --type and --address are for sessions, not for %s (--address "
			"for aggregates and transform, too)",
			o->what);
	return o->which ? take_which(o, view) : BP_EX_OK;
}

static int show(struct show *o)
{
	const struct bp_show_view *view;
	struct bp_config_instance id;
	int status;

	view = find_view(o);
	if (!view)
		return BP_EX_USAGE;
	status = check_view(o, view);
	if (status)
		return status;
	status = bp_which_instance(o->command, o->path, o->name, &id);
	if (status)
		return status;
	if (!o->watch)
		bp_pager_begin();
	return look_or_watch(o, view, &id);
}

/* --since or --step; 0, or an exit status. */
static int take_duration(struct show *o, const char *name, const char *value, uint64_t *ns)
{
	return bp_cli_duration(value, 1, 86400, ns)
		       ? 0
		       : bp_cli_usage_error(o->command,
				 "--%s %s: a duration from 1s to 24h was expected, such as 90s or "
				 "10m",
				 name, value);
}

/* Takes one option; 0, or an exit status. */
static int take_option(struct show *o, int key, const char *value)
{
	uint64_t number;

	switch (key) {
	case 'c':
		o->path = value;
		return 0;
	case 'i':
		o->name = value;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_ALL:
		o->all = true;
		return 0;
	case OPT_DIFF:
		o->diff = true;
		return 0;
	case OPT_VRF:
		o->vrf = value;
		return 0;
	case OPT_OPENMETRICS:
		o->openmetrics = true;
		return 0;
	case OPT_STATE:
	case OPT_TYPE:
	case OPT_ADDRESS:
		return take_filter(o, key, value);
	case OPT_RULE:
		if (bp_cli_number(value, 0, BP_AGG_RULES_MAX - 1, &number)) {
			o->streams.rule = (uint32_t)number;
			o->streams.has_rule = true;
			return 0;
		}
		return bp_cli_usage_error(o->command,
			"--entry %s: a number from 0 to %d was expected: an entry of "
			"aggregation.encapsulate",
			value, BP_AGG_RULES_MAX - 1);
	case '4':
	case '6':
		if (o->filter.family && o->filter.family != key - '0')
			return bp_cli_usage_error(o->command,
				"-4 and -6 exclude each other; without them both are "
				"shown");
		o->filter.family = (uint8_t)(key - '0');
		return 0;
	case OPT_SINCE:
		return take_duration(o, "since", value, &o->since_ns);
	case OPT_STEP:
		return take_duration(o, "step", value, &o->step_ns);
	case OPT_WATCH:
		if (bp_cli_number(value, 1, 86400, &o->watch))
			return 0;
		return bp_cli_usage_error(o->command,
			"--watch %s: a number of seconds from 1 to 86400 was expected", value);
	default:
		o->limit_given = true;
		if (bp_cli_number(value, 0, UINT32_MAX, &o->limit))
			return 0;
		return bp_cli_usage_error(
			o->command, "-n %s: a number from 0 (all) was expected", value);
	}
}

/* ---- --help, from the views ---- */

static char synopsis[1024], text[8192];

/* A view's line, broken before column 80. */
static void write_view(FILE *out, const char *name, const char *summary)
{
	unsigned column = 16;

	fprintf(out, "  %-13s", name);
	for (const char *word = summary; *word != '\0';) {
		const unsigned len = (unsigned)strcspn(word, " ");

		if (column + 1 + len > 79) {
			fprintf(out, "\n%16s", "");
			column = 16;
		} else {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)len, word);
		column += len;
		word += len + (word[len] == ' ');
	}
	fputc('\n', out);
}

static void write_help(void)
{
	const struct bp_show_view *v;
	FILE *names = fmemopen(synopsis, sizeof(synopsis), "w");
	FILE *out = fmemopen(text, sizeof(text), "w");

	if (names && out) {
		fputs("Prints the state of a running instance from its shared memory; this does "
		      "not\n"
		      "slow the instance down. Objects:\n",
			out);
		for (unsigned at = 0; (v = bp_show_next(&at)) != NULL;) {
			fprintf(names, "%s%s", at > 1 ? "|" : "", v->name);
			write_view(out, v->name, v->summary);
		}
		fputs(" [OPTION]...", names);
		fputs("With -c FILE, only the settings name and runtime of FILE must be valid.",
			out);
	}
	if (names)
		fclose(names);
	if (out)
		fclose(out);
}

/* The names of the views, with commas. */
static const char *objects(void)
{
	static char list[1024];
	const struct bp_show_view *v;
	size_t len = 0;

	for (unsigned at = 0; len < sizeof(list) && (v = bp_show_next(&at)) != NULL;)
		len += (size_t)snprintf(
			list + len, sizeof(list) - len, "%s%s", at > 1 ? ", " : "", v->name);
	return list;
}

static void complete(int n, char **operands, FILE *out)
{
	const struct bp_show_view *v;

	for (unsigned at = 0; n == 0 && (v = bp_show_next(&at)) != NULL;)
		fprintf(out, "%s\t%s\n", v->name, v->summary);
}

static int show_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct show o = {.command = command};
	struct bp_cli cli;
	char **words;
	int key;

	write_help();
	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		int status = key == BP_CLI_STOP ? cli.status : take_option(&o, key, cli.value);

		if (key == BP_CLI_STOP || status)
			return status;
	}
	if (bp_cli_operands(&cli, &words) == 0)
		return bp_cli_usage_error(command, "missing object, one of: %s", objects());
	if (bp_cli_operands(&cli, &words) > 2)
		return bp_cli_usage_error(command, "unexpected argument '%s'", words[2]);
	if (bp_cli_operands(&cli, &words) > 1)
		o.which = words[1];
	o.what = words[0];
	return show(&o);
}

const struct bp_cli_command bp_cmd_show = {
	.name = "show",
	.summary = "print the state of a running instance",
	.synopsis = synopsis,
	.text = text,
	.example = "  biplane show drops -i plant\n"
		   "  biplane show sessions --state operating --address 10.1.0.0/16 -n 0\n"
		   "  biplane show aggregates --address 10.1.0.0/16 --watch 1\n"
		   "  biplane show rates --since 1h --step 5m\n"
		   "  biplane show routes --diff && echo same\n"
		   "  biplane show alarms -n 100 --json | jq '.alarms[] | select(.rule == "
		   "\"overheat\")'",
	.options = options,
	.main = show_main,
	.complete = complete,
};
