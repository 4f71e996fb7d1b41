/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane completion SHELL`, and `biplane __complete`, which the scripts that it prints call. */
#include <stddef.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/dispatch.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/which.h"

static const struct bp_cli_option no_options[] = {{0, NULL, NULL, NULL}};

static const struct {
	const char *shell, *script;
} scripts[] = {
	{"bash", "_biplane() {\n"
		 "	local line\n"
		 "	COMPREPLY=()\n"
		 "	while IFS= read -r line; do\n"
		 "		case $line in\n"
		 "		:files)\n"
		 "			compopt -o filenames 2>/dev/null\n"
		 "			mapfile -t COMPREPLY < <(compgen -f -- "
		 "\"${COMP_WORDS[COMP_CWORD]}\")\n"
		 "			;;\n"
		 "		*) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
		 "		esac\n"
		 "	done < <(\"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
		 "2>/dev/null)\n"
		 "}\n"
		 "complete -F _biplane biplane\n"},
	{"zsh", "#compdef biplane\n"
		"_biplane() {\n"
		"	local line\n"
		"	local -a found\n"
		"	while IFS= read -r line; do\n"
		"		case $line in\n"
		"		:files) _files; return ;;\n"
		"		*) found+=(\"${${line//:/\\\\:}/$'\\t'/:}\") ;;\n"
		"		esac\n"
		"	done < <(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" "
		"2>/dev/null)\n"
		"	_describe biplane found\n"
		"}\n"
		"compdef _biplane biplane\n"},
	{"fish", "function __biplane_complete\n"
		 "	set -l words (commandline -opc) (commandline -ct)\n"
		 "	for line in ($words[1] __complete $words[2..-1] 2>/dev/null)\n"
		 "		if test \"$line\" = :files\n"
		 "			__fish_complete_path (commandline -ct)\n"
		 "		else\n"
		 "			echo $line\n"
		 "		end\n"
		 "	end\n"
		 "end\n"
		 "complete -c biplane -f -a '(__biplane_complete)'\n"},
};
#define N_SCRIPTS (sizeof(scripts) / sizeof(scripts[0]))

static void shells(int n, char **operands, FILE *out)
{
	(void)operands;
	for (unsigned i = 0; n == 0 && i < N_SCRIPTS; i++)
		fprintf(out, "%s\n", scripts[i].shell);
}

static int completion_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_cli cli;
	char **words;

	bp_cli_begin(&cli, command, argc, argv);
	if (bp_cli_next(&cli) == BP_CLI_STOP)
		return cli.status;
	if (bp_cli_operands(&cli, &words) != 1)
		return bp_cli_usage_error(
			command, "expected one argument, the shell: bash, zsh or fish");
	for (unsigned i = 0; i < N_SCRIPTS; i++) {
		if (strcmp(words[0], scripts[i].shell) != 0)
			continue;
		printf("# Completion of biplane's command line in %s.\n%s", words[0],
			scripts[i].script);
		return BP_EX_OK;
	}
	return bp_cli_usage_error(
		command, "unknown shell '%s'; expected bash, zsh or fish", words[0]);
}

const struct bp_cli_command bp_cmd_completion = {
	.name = "completion",
	.summary = "print the completion script of a shell",
	.synopsis = "bash|zsh|fish",
	.text = "Prints a script that completes commands, options, instances and files. The\n"
		"package installs the scripts of all three shells.",
	.example = "  source <(biplane completion bash)",
	.options = no_options,
	.main = completion_main,
	.complete = shells,
};

/* ---- candidates after the words of a command line ---- */

struct line {
	const struct bp_cli_command *command;
	const char *word; /* the last word, which is completed */
	FILE *out;
};

static void offer(const struct line *l, const char *candidate, const char *help)
{
	if (strncmp(candidate, l->word, strlen(l->word)) == 0)
		fprintf(l->out, "%s%s%s\n", candidate, help != NULL ? "\t" : "",
			help != NULL ? help : "");
}

/* The option that `text` names, or NULL. */
static const struct bp_cli_option *option_of(const struct bp_cli_command *c, const char *text)
{
	for (const struct bp_cli_option *o = c->options; o->name != NULL; o++)
		if ((text[0] == '-' && text[1] == '-' && strcmp(text + 2, o->name) == 0) ||
			(o->key < BP_CLI_LONG && text[0] == '-' && text[1] == (char)o->key &&
				text[2] == '\0'))
			return o;
	return NULL;
}

static void offer_options(const struct line *l)
{
	char text[64];

	for (const struct bp_cli_option *o = l->command->options; o->name != NULL; o++) {
		if (o->help == NULL)
			continue;
		snprintf(text, sizeof(text), "--%s", o->name);
		offer(l, text, o->help);
		if (o->key >= BP_CLI_LONG)
			continue;
		snprintf(text, sizeof(text), "-%c", o->key);
		offer(l, text, o->help);
	}
	offer(l, "--help", "print the help of this command");
	offer(l, "-h", "print the help of this command");
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void offer_value(const struct line *l, const struct bp_cli_option *o)
{
	char names[BP_INSTANCES_MAX][BP_NAME_MAX + 1];
	unsigned n;

	if (ends_with(o->arg, "FILE") || strcmp(o->arg, "DIR") == 0)
		fputs(":files\n", l->out);
	if (strcmp(o->name, "instance") != 0)
		return;
	n = bp_instances_running(names);
	for (unsigned i = 0; i < n; i++)
		offer(l, names[i], NULL);
}

/* Operands: from the command's own list, or files. */
static void offer_operands(const struct line *l, int n, char **operands)
{
	char text[16384] = "", *at = text, *end;
	FILE *f;

	if (l->command->complete == NULL) {
		fputs(":files\n", l->out);
		return;
	}
	f = fmemopen(text, sizeof(text) - 1, "w");
	if (f == NULL)
		return;
	l->command->complete(n, operands, f);
	fclose(f);
	for (; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		char *tab = memchr(at, '\t', (size_t)(end - at));

		*end = '\0';
		if (tab != NULL)
			*tab = '\0';
		offer(l, at, tab != NULL ? tab + 1 : NULL);
	}
}

/* `words`, of a command without children, `n` with the last, which is completed. */
static void complete_leaf(const struct line *l, int n, char **words)
{
	char *operands[16];
	const struct bp_cli_option *value_of = NULL;
	int given = 0;

	for (int i = 0; i + 1 < n; i++) {
		const struct bp_cli_option *o = option_of(l->command, words[i]);

		if (value_of != NULL)
			value_of = NULL;
		else if (l->command->takes_rest && strcmp(words[i], "--") == 0)
			return;
		else if (o != NULL)
			value_of = o->arg != NULL ? o : NULL;
		else if (words[i][0] != '-' && given < 16)
			operands[given++] = words[i];
	}
	if (value_of != NULL)
		offer_value(l, value_of);
	else if (l->word[0] == '-')
		offer_options(l);
	else
		offer_operands(l, given, operands);
}

static const struct bp_cli_command *child_of(const struct bp_cli_command *group, const char *word)
{
	const struct bp_cli_command *found = NULL;

	for (unsigned i = 0; group->children[i] != NULL; i++) {
		const struct bp_cli_command *c = group->children[i];

		if (strcmp(word, bp_cli_word(c)) == 0)
			return c;
		if (c->summary == NULL || strncmp(word, bp_cli_word(c), strlen(word)) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = c;
	}
	return found;
}

static int complete_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const struct bp_cli_command *c = &bp_cmd_root;
	struct line l = {.word = argc > 1 ? argv[argc - 1] : "", .out = stdout};
	int at = 1;

	(void)command;
	while (c != NULL && c->children != NULL && at + 1 < argc)
		c = child_of(c, argv[at++]);
	if (c == NULL)
		return BP_EX_OK;
	l.command = c;
	if (c->children == NULL) {
		complete_leaf(&l, argc - at, argv + at);
		return BP_EX_OK;
	}
	for (unsigned i = 0; c->children[i] != NULL; i++)
		if (c->children[i]->summary != NULL)
			offer(&l, bp_cli_word(c->children[i]), c->children[i]->summary);
	if (c == &bp_cmd_root && l.word[0] == '-') {
		offer(&l, "--help", "print the list of commands");
		offer(&l, "--version", "print the version");
	}
	return BP_EX_OK;
}

const struct bp_cli_command bp_cmd_complete = {
	.name = "__complete",
	.options = no_options,
	.main = complete_main,
};
