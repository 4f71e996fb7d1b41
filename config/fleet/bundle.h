/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_FLEET_BUNDLE_H
#define BP_CONFIG_FLEET_BUNDLE_H

#include <limits.h>

#include "config/config.h"
#include "config/messages.h"
#include "config/yaml.h"

/*
 * A bundle is a mapping of settings, as in a configuration file, from the fleet. It is merged over
 * the tree of the file before any setting is read: mappings are merged, every other value, also a
 * list, is replaced. Checks, errors and the comparison of a reload see one configuration; messages
 * have the lines of the text that a value is from.
 */

/* A bundle that is read from a file. */
struct bp_bundle_file {
	char path[PATH_MAX];
	char *text;
	struct bp_bundle bundle; /* points into the members above */
};

/* Returns the path of the stored bundle of a file, from its tree; false: it has no fleet.config. */
bool bp_bundle_path(const struct bp_yaml *root, char path[PATH_MAX]);
/* The same, of a configuration that was read. */
bool bp_config_bundle_path(const struct bp_config *c, char path[PATH_MAX]);

/* Reads the bundle of the file with the tree `root`. 1: there is one; 0: there is none; -1 with an
 * error reported at the file's fleet.config. Release with bp_bundle_file_free(). */
int bp_bundle_read(
	const struct bp_yaml *root, struct bp_bundle_file *f, struct bp_messages *messages);
void bp_bundle_file_free(struct bp_bundle_file *f);

/*
 * Parses the bundle into `t` and merges it over `root`, which then has nodes of `t`: the caller
 * frees both trees together. `lines`: number of lines of the file. Errors are reported; false: the
 * bundle is not a mapping of settings that a bundle may have.
 */
bool bp_bundle_merge(struct bp_yaml *root, uint32_t lines, const struct bp_bundle *bundle,
	struct bp_yaml_tree *t, struct bp_messages *messages);

#endif
