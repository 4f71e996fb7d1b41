/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DISPATCH_H
#define BP_APPS_BIPLANE_DISPATCH_H

#include "apps/biplane/cli.h"

/* The command tree: the children of a group are found by their last word, or by an unambiguous
 * abbreviation of it. */

/* The word that selects the command in its group: "check" of "config check". */
const char *bp_cli_word(const struct bp_cli_command *command);

/* The child that `word` selects, or NULL, with an error on stderr that names the candidates. */
const struct bp_cli_command *bp_cli_child(const struct bp_cli_command *group, const char *word);

/* Walks from `root` along the words of argv (argv[0] is the program), and runs the command that
 * they select. Returns its exit status. */
int bp_cli_dispatch(const struct bp_cli_command *root, int argc, char **argv);

/* Calls visit() for each command of the tree that is not a group, in the order of the tables. */
void bp_cli_each(const struct bp_cli_command *group,
	void (*visit)(const struct bp_cli_command *command, void *arg), void *arg);

#endif
