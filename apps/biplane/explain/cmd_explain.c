/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/explain/explain.h"
#include "apps/biplane/explain/filter_match.h"
#include "apps/biplane/pager.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/which.h"

enum { OPT_JSON = BP_CLI_LONG };

#define LIMIT_DEFAULT 5

static const struct bp_cli_option options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{OPT_JSON, "json", NULL, "one JSON object"},
	{'n', "limit", "N", "the first N connections and rules that do not match (5); 0: all"},
	{0, NULL, NULL, NULL},
};

struct command {
	const struct bp_cli_command *command;
	const char *path, *name, *kind, *subject;
	uint64_t limit;
	bool json;
	struct bp_endpoint end[2];
	unsigned n_ends;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static json_t *explain(const struct command *c, const struct bp_explain *e)
{
	if (c->kind[0] == 't')
		return bp_explain_topic(e, c->subject);
	if (c->n_ends != 0)
		return bp_explain_connection(e, c->subject, c->end, c->n_ends);
	return bp_explain_client(e, c->subject);
}

static int print(const struct command *c, const struct bp_explain *e)
{
	json_t *explanation = explain(c, e);

	if (explanation == NULL) {
		fputs("biplane explain: not enough memory\n", stderr);
		return BP_EX_SOFTWARE;
	}
	if (c->json)
		bp_print_json(explanation, false, stdout);
	else
		bp_explain_print(explanation, stdout);
	json_decref(explanation);
	return BP_EX_OK;
}

static int run(const struct command *c, const struct bp_config_instance *id)
{
	struct bp_instance_view v;
	struct bp_explain e;
	char err[PATH_MAX + 512] = "not enough memory";
	int status;

	if (bp_instance_view_open(&v, id, err, sizeof(err)) != 0) {
		fprintf(stderr, "biplane explain: %s\n", err);
		return BP_EX_UNAVAILABLE;
	}
	if (bp_explain_open(&e, &v.shm, clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_MONOTONIC), err,
		    sizeof(err)) != 0) {
		fprintf(stderr, "biplane explain: %s\n", err);
		bp_instance_view_close(&v);
		return BP_EX_SOFTWARE;
	}
	e.limit = c->limit;
	bp_pager_begin();
	status = print(c, &e);
	bp_explain_close(&e);
	bp_instance_view_close(&v);
	return status;
}

static const char *const kinds[] = {"connection", "topic", "client"};

/* The kind by its name or an abbreviation, and the subject; 0, or an exit status. */
static int take_operands(struct command *c, int n, char **words)
{
	const char *error, *guess;

	if (n < 2)
		return bp_cli_usage_error(c->command,
			"expected connection ADDRESS:PORT, topic TOPIC or client CLIENT-ID");
	if (n > 2)
		return bp_cli_usage_error(c->command, "unexpected argument '%s'", words[2]);
	for (unsigned i = 0; i < 3 && c->kind == NULL; i++)
		if (strcmp(words[0], kinds[i]) == 0 ||
			(strlen(words[0]) >= 2 &&
				strncmp(words[0], kinds[i], strlen(words[0])) == 0))
			c->kind = kinds[i];
	if (c->kind == NULL) {
		guess = bp_cli_suggest(words[0], kinds, 3);
		return bp_cli_usage_error(c->command, "unknown object '%s'%s%s%s", words[0],
			guess ? "; did you mean '" : "; expected connection, topic or client",
			guess ? guess : "", guess ? "'?" : "");
	}
	c->subject = words[1];
	error = strcmp(c->kind, "topic") == 0 ? bp_topic_error(c->subject) : NULL;
	if (error != NULL)
		return bp_cli_usage_error(
			c->command, "'%s' is not a topic name: %s", c->subject, error);
	if (strcmp(c->kind, "connection") == 0) {
		c->n_ends = bp_explain_endpoints(c->subject, c->end);
		if (c->n_ends == 0)
			return bp_cli_usage_error(c->command,
				"'%s': ADDRESS:PORT or ADDRESS:PORT-ADDRESS:PORT was expected, "
				"such as 10.0.0.5:40312 or [fd00::5]:40312",
				c->subject);
	}
	return BP_EX_OK;
}

static void complete(int n, char **operands, FILE *out)
{
	(void)operands;
	for (unsigned i = 0; n == 0 && i < 3; i++)
		fprintf(out, "%s\n", kinds[i]);
}

static int explain_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct command c = {.command = command, .limit = LIMIT_DEFAULT};
	struct bp_config_instance id;
	struct bp_cli cli;
	char **words;
	int key, n, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == 'c')
			c.path = cli.value;
		else if (key == 'i')
			c.name = cli.value;
		else if (key == OPT_JSON)
			c.json = true;
		else if (key != 'n')
			return cli.status;
		else if (!bp_cli_number(cli.value, 0, UINT32_MAX, &c.limit))
			return bp_cli_usage_error(
				command, "-n %s: a number from 0 (all) was expected", cli.value);
	}
	n = bp_cli_operands(&cli, &words);
	status = take_operands(&c, n, words);
	if (status == BP_EX_OK)
		status = bp_which_instance(command, c.path, c.name, &id);
	return status == BP_EX_OK ? run(&c, &id) : status;
}

const struct bp_cli_command bp_cmd_explain = {
	.name = "explain",
	.summary = "why an alarm would or would not be raised now, and what the policy decides",
	.synopsis = "connection ADDRESS:PORT[-ADDRESS:PORT] | topic TOPIC | client CLIENT-ID "
		    "[OPTION]...",
	.text = "Prints a list of checks with ok, no or info and the reason: data plane, rules,\n"
		"publisher; for a topic the rules that match, with their condition, hold and\n"
		"state, and why the most similar others do not; for a connection or a client\n"
		"whether it is tracked, where it arrives, whether it is inspected and why not,\n"
		"and the rules of its last topic; and what the MQTT policy decides. Reads only\n"
		"the shared memory of the instance.",
	.example = "  biplane explain topic plant/oven/temperature\n"
		   "  biplane explain connection 10.0.0.5:40312\n"
		   "  biplane explain client oven-7 --json | jq -r .verdict",
	.options = options,
	.main = explain_main,
	.complete = complete,
};
