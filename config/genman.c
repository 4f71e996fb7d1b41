/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

/*
 * Writes biplane.yaml(5): the text of the page comes from a template, the settings from the schema,
 * the examples from the files that the tests read. Placeholder lines of the template:
 *
 *     @settings@
 *     @example FILE@      FILE is relative to the template's folder
 *
 * With --markdown, writes the settings in Markdown into PAGE, between its two markers.
 */
#define BEGIN "<!-- settings: begin -->\n"
#define END "<!-- settings: end -->\n"

static int copy_example(const char *folder, const char *name)
{
	char path[1024], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "r");
	if (f == NULL) {
		fprintf(stderr, "%s: cannot be opened: %s\n", path, strerror(errno));
		return -1;
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "# SPDX", 6) == 0)
			continue;
		if (line[0] == '.' || line[0] == '\'')
			fputs("\\&", stdout);
		for (const char *p = line; *p != '\0'; p++)
			fputs(*p == '\\'     ? "\\e"
				: *p == '-'  ? "\\-"
				: *p == '\'' ? "\\(aq"
					     : (char[]){*p, 0},
				stdout);
	}
	fclose(f);
	return 0;
}

static int expand(FILE *template, const char *folder)
{
	char line[1024], name[512];
	int ret = 0;

	while (ret == 0 && fgets(line, sizeof(line), template) != NULL) {
		if (strcmp(line, "@settings@\n") == 0)
			bp_config_man(stdout);
		else if (sscanf(line, "@example %511[^@]@", name) == 1)
			ret = copy_example(folder, name);
		else
			fputs(line, stdout);
	}
	return ret;
}

static int replace_settings(const char *name)
{
	char line[4096];
	bool copies = true, found = false;
	FILE *f = fopen(name, "r");

	if (f == NULL) {
		fprintf(stderr, "%s: cannot be opened: %s\n", name, strerror(errno));
		return 1;
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strcmp(line, END) == 0)
			copies = true;
		if (copies)
			fputs(line, stdout);
		if (strcmp(line, BEGIN) == 0) {
			copies = false;
			found = true;
			bp_config_markdown(stdout);
		}
	}
	fclose(f);
	if (!found || !copies)
		fprintf(stderr, "%s: expected the markers %s and %s", name, BEGIN, END);
	return found && copies && fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	char folder[1024];
	char *slash;
	FILE *f;
	int ret;

	if (argc == 3 && strcmp(argv[1], "--markdown") == 0)
		return replace_settings(argv[2]);
	if (argc != 2 || strlen(argv[1]) >= sizeof(folder)) {
		fprintf(stderr, "usage: genman TEMPLATE > MANUAL\n"
				"       genman --markdown PAGE > NEW-PAGE\n");
		return 2;
	}
	f = fopen(argv[1], "r");
	if (f == NULL) {
		fprintf(stderr, "%s: cannot be opened: %s\n", argv[1], strerror(errno));
		return 1;
	}
	strcpy(folder, argv[1]);
	slash = strrchr(folder, '/');
	strcpy(slash != NULL ? slash : folder, slash != NULL ? "" : ".");
	ret = expand(f, folder);
	fclose(f);
	return ret == 0 && fflush(stdout) == 0 ? 0 : 1;
}
