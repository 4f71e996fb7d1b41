/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/dispatch.h"

#include <string.h>

#include "apps/biplane/exit_status.h"

#define CHILDREN_MAX 32u

/* Commands and options of releases before 1.0, and their replacements. */
static const struct {
	const char *was, *is;
} renamed[] = {
	{"check", "config check"},
	{"matrix", "transform matrix"},
	{"privileges", "capabilities"},
	{"sessions", "session disconnect"},
};

const char *bp_cli_word(const struct bp_cli_command *command)
{
	const char *blank = strrchr(command->name, ' ');

	return blank != NULL ? blank + 1 : command->name;
}

/* "biplane" of the root, "biplane config" of a group. */
static void print_title(const struct bp_cli_command *group, FILE *out)
{
	fprintf(out, "biplane%s%s", group->name[0] != '\0' ? " " : "", group->name);
}

static int print_help_hint(const struct bp_cli_command *group)
{
	fputs("See '", stderr);
	print_title(group, stderr);
	fputs(" --help'.\n", stderr);
	return BP_EX_USAGE;
}

static const char *renamed_to(const struct bp_cli_command *group, const char *word)
{
	for (unsigned i = 0; group->name[0] == '\0' && i < sizeof(renamed) / sizeof(renamed[0]);
		i++)
		if (strcmp(word, renamed[i].was) == 0)
			return renamed[i].is;
	return NULL;
}

static void report_unknown(const struct bp_cli_command *group, const char *word)
{
	const char *names[CHILDREN_MAX], *guess = NULL, *is = renamed_to(group, word);
	unsigned n = 0;

	for (; n < CHILDREN_MAX && group->children[n] != NULL; n++)
		names[n] = bp_cli_word(group->children[n]);
	guess = bp_cli_suggest(word, names, n);
	print_title(group, stderr);
	fprintf(stderr, ": unknown %s '%s'", word[0] == '-' ? "option" : "command", word);
	if (is != NULL)
		fprintf(stderr, "; use '%s'", is);
	else if (guess != NULL)
		fprintf(stderr, "; did you mean '%s'?", guess);
	fputc('\n', stderr);
}

static void report_ambiguous(
	const struct bp_cli_command *group, const char *word, const struct bp_cli_command *first)
{
	print_title(group, stderr);
	fprintf(stderr, ": '%s' is ambiguous: %s", word, bp_cli_word(first));
	for (unsigned i = 0; group->children[i] != NULL; i++)
		if (group->children[i] != first && group->children[i]->summary != NULL &&
			strncmp(word, bp_cli_word(group->children[i]), strlen(word)) == 0)
			fprintf(stderr, ", %s", bp_cli_word(group->children[i]));
	fputc('\n', stderr);
}

const struct bp_cli_command *bp_cli_child(const struct bp_cli_command *group, const char *word)
{
	const struct bp_cli_command *found = NULL;
	unsigned matches = 0;

	for (unsigned i = 0; group->children[i] != NULL; i++) {
		const struct bp_cli_command *c = group->children[i];

		if (strcmp(word, bp_cli_word(c)) == 0)
			return c;
		/* hidden commands have no abbreviation */
		if (word[0] == '\0' || c->summary == NULL ||
			strncmp(word, bp_cli_word(c), strlen(word)) != 0)
			continue;
		found = matches++ == 0 ? c : found;
	}
	if (matches == 0)
		report_unknown(group, word);
	else if (matches > 1)
		report_ambiguous(group, word, found);
	return matches == 1 ? found : NULL;
}

int bp_cli_dispatch(const struct bp_cli_command *root, int argc, char **argv)
{
	const struct bp_cli_command *c = root;

	while (c->children != NULL) {
		const struct bp_cli_command *child;

		if (argc < 2) {
			bp_cli_help(c, stderr);
			return BP_EX_USAGE;
		}
		if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
			bp_cli_help(c, stdout);
			return BP_EX_OK;
		}
		if (c == root && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
			argv[1] = "version";
		child = bp_cli_child(c, argv[1]);
		if (child == NULL)
			return print_help_hint(c);
		c = child;
		argc--;
		argv++;
	}
	return c->main(c, argc, argv);
}

void bp_cli_each(const struct bp_cli_command *group,
	void (*visit)(const struct bp_cli_command *command, void *arg), void *arg)
{
	for (unsigned i = 0; group->children[i] != NULL; i++) {
		if (group->children[i]->children != NULL)
			bp_cli_each(group->children[i], visit, arg);
		else if (group->children[i]->summary != NULL)
			visit(group->children[i], arg);
	}
}
