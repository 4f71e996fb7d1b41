/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/dispatch.h"
#include "apps/biplane/exit_status.h"

static const struct bp_cli_option help_option = {'h', "help", NULL, "print this help and exit"};

void bp_cli_begin(struct bp_cli *c, const struct bp_cli_command *command, int argc, char **argv)
{
	memset(c, 0, sizeof(*c));
	c->command = command;
	c->argc = argc;
	c->argv = argv;
	for (int i = 1; command->takes_rest && i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		c->argc = i;
		c->rest = argv + i + 1;
		c->rest_argc = argc - i - 1;
		break;
	}
	snprintf(c->title, sizeof(c->title), "biplane %s", command->name);
	/* getopt prefixes its messages with argv[0]; 0 resets it */
	argv[0] = c->title;
	optind = 0;
}

static unsigned add_option(const struct bp_cli_option *o, struct option *longs, char *shorts)
{
	size_t end = strlen(shorts);

	*longs = (struct option){o->name, o->arg ? required_argument : no_argument, NULL, o->key};
	if (o->key < BP_CLI_LONG) {
		shorts[end++] = (char)o->key;
		if (o->arg)
			shorts[end++] = ':';
		shorts[end] = 0;
	}
	return 1;
}

int bp_cli_next(struct bp_cli *c)
{
	struct option longs[BP_CLI_OPTIONS_MAX + 2] = {0};
	char shorts[2 * BP_CLI_OPTIONS_MAX + 4] = "";
	unsigned n = 0;

	for (const struct bp_cli_option *o = c->command->options; o->name; o++) {
		if (n == BP_CLI_OPTIONS_MAX)
			abort(); /* a table of ours, not input */
		n += add_option(o, &longs[n], shorts);
	}
	add_option(&help_option, &longs[n], shorts);

	int key = getopt_long(c->argc, c->argv, shorts, longs, NULL);

	c->value = optarg;
	if (key == 'h') {
		bp_cli_help(c->command, stdout);
		c->status = BP_EX_OK;
		return BP_CLI_STOP;
	}
	if (key == '?') {
		fprintf(stderr, "See 'biplane %s --help'.\n", c->command->name);
		c->status = BP_EX_USAGE;
		return BP_CLI_STOP;
	}
	return key == -1 ? BP_CLI_END : key;
}

int bp_cli_operands(const struct bp_cli *c, char ***operands)
{
	*operands = c->argv + optind;
	return c->argc - optind;
}

int bp_cli_usage_error(const struct bp_cli_command *command, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "biplane %s: ", command->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\nSee 'biplane %s --help'.\n", command->name);
	return BP_EX_USAGE;
}

int bp_cli_fail(const struct bp_cli_command *command, int status, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "biplane %s: ", command->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

int bp_cli_no_operands(const struct bp_cli *c)
{
	char **word;

	if (bp_cli_operands(c, &word) == 0)
		return 0;
	return bp_cli_usage_error(c->command, "unexpected argument '%s'%s", word[0],
		c->command->takes_rest ? "; EAL options go after --" : "");
}

int bp_cli_just_config(const struct bp_cli *c, const char *path)
{
	if (bp_cli_no_operands(c))
		return BP_EX_USAGE;
	return path ? 0
		    : bp_cli_usage_error(
			      c->command, "missing option -c FILE: the configuration file");
}

bool bp_cli_read_config(
	const struct bp_cli_command *command, int argc, char **argv, const char **path, int *status)
{
	struct bp_cli cli;
	int key;

	*path = NULL;
	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		*status = cli.status;
		if (key == BP_CLI_STOP)
			return false;
		*path = cli.value;
	}
	*status = bp_cli_just_config(&cli, *path);
	return *status == 0;
}

static void print_option(const struct bp_cli_option *o, FILE *out)
{
	char left[64];
	int n = 0;

	if (!o->help)
		return;
	if (o->key < BP_CLI_LONG)
		n = snprintf(left, sizeof(left), "-%c, ", o->key);
	snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", o->name, o->arg ? " " : "",
		o->arg ? o->arg : "");
	fprintf(out, "  %-26s %s\n", left, o->help);
}

static void print_summary(const struct bp_cli_command *command, void *out)
{
	fprintf(out, "  %-24s %s\n", command->name, command->summary);
}

static void help_group(const struct bp_cli_command *group, FILE *out)
{
	const bool root = group->name[0] == '\0';

	fprintf(out, "Usage: biplane %s%sCOMMAND [OPTION]...\n\n%s\n\nCommands:\n", group->name,
		root ? "" : " ", group->text);
	bp_cli_each(group, print_summary, out);
	fputs("\nOptions:\n", out);
	print_option(&help_option, out);
	if (root)
		fputs("  -V, --version              print the version and exit\n", out);
	fputs("\nA word of a command may be abbreviated as long as it is unambiguous.\n"
	      "'biplane help COMMAND' explains a command; the manual is biplane(1), the\n"
	      "configuration file is described in biplane.yaml(5).\n",
		out);
	fprintf(out, "\nExample:\n%s\n", group->example);
}

void bp_cli_help(const struct bp_cli_command *command, FILE *out)
{
	if (command->children != NULL) {
		help_group(command, out);
		return;
	}
	fprintf(out, "Usage: biplane %s %s\n\n%s\n\nOptions:\n", command->name, command->synopsis,
		command->text);
	for (const struct bp_cli_option *o = command->options; o->name; o++)
		print_option(o, out);
	print_option(&help_option, out);
	fprintf(out, "\nExample:\n%s\n", command->example);
}

bool bp_cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	/* strtoull accepts blanks and a minus sign, which converts -1 to a huge number */
	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*value = v;
	return true;
}

bool bp_cli_duration(const char *text, uint64_t min_s, uint64_t max_s, uint64_t *ns)
{
	static const struct {
		const char *suffix;
		uint64_t seconds;
	} unit[] = {{"s", 1}, {"m", 60}, {"h", 3600}};
	const size_t digits = strspn(text, "0123456789");
	char number[8];
	uint64_t v;

	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (unsigned i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		if (strcmp(text + digits, unit[i].suffix) != 0)
			continue;
		v = strtoull(number, NULL, 10) * unit[i].seconds;
		*ns = v * 1000000000u;
		return v >= min_s && v <= max_s;
	}
	return false;
}

bool bp_cli_split(const char *word, const char **name, const char **value)
{
	char *equals = (char *)strchr(word, '='); /* a word of argv, which may be changed */

	if (equals == NULL || equals == word || equals[1] == '\0')
		return false;
	*equals = '\0';
	*name = word;
	*value = equals + 1;
	return true;
}
