/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's command. It runs here what reads the segment or asks a plane, with few libraries: the
 * dynamic linker takes ten times as long for those of the planes as such a command needs. All
 * else, also --help, errors and completion, is the work of biplaned, which has every command.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/output.h"

static const struct bp_cli_command *const here[] = {
	&bp_cmd_clean,
	&bp_cmd_config_diff,
	&bp_cmd_config_schema,
	&bp_cmd_config_show,
	&bp_cmd_explain,
	&bp_cmd_fleet_ready,
	&bp_cmd_matrix_clear,
	&bp_cmd_matrix_list,
	&bp_cmd_matrix_set,
	&bp_cmd_reload,
	&bp_cmd_session_disconnect,
	&bp_cmd_show,
	&bp_cmd_status,
	&bp_cmd_tail,
	&bp_cmd_top,
};

/* The number of words of `name` if argv begins with them, else 0. */
static int words_of(const char *name, int argc, char **argv)
{
	int n = 0;

	for (;;) {
		const size_t len = strcspn(name, " ");

		if (n >= argc || strlen(argv[n]) != len || strncmp(name, argv[n], len) != 0)
			return 0;
		n++;
		if (name[len] == '\0')
			return n;
		name += len + 1;
	}
}

/* biplaned is in the folder of this program in a build, and in ../lib/biplane in an installation.
 */
static int run_biplaned(char **argv)
{
	static const char *const places[] = {"biplaned", "../lib/biplane/biplaned"};
	char self[PATH_MAX], path[PATH_MAX + 32];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0) {
		fprintf(stderr, "biplane: /proc/self/exe: %s\n", strerror(errno));
		return BP_EX_OSERR;
	}
	self[len] = '\0';
	dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		execv(path, argv);
		if (errno != ENOENT)
			break;
	}
	fprintf(stderr, "biplane: %s: %s; install biplane again\n", path, strerror(errno));
	return BP_EX_OSERR;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
		const int n = words_of(here[i]->name, argc - 1, argv + 1);

		if (n != 0)
			return bp_output_end(here[i]->main(here[i], argc - n, argv + n));
	}
	return run_biplaned(argv);
}
