/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_WAIT_FOR_H
#define BP_TESTS_UNIT_APPS_BIPLANE_WAIT_FOR_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Waits until `condition` holds; gives up, and fails, only after a time that no loaded machine
 * takes. Looks often, since most conditions hold within milliseconds.
 */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		unsigned left_ = 60000;                                                            \
                                                                                                   \
		while (!(condition)) {                                                             \
			if (left_-- == 0)                                                          \
				fail_msg("never came true: %s", #condition);                       \
			usleep(1000);                                                              \
		}                                                                                  \
	} while (0)

/* The number in a file, 0 while there is none or it is not complete (no newline yet). */
static inline long number_in(const char *dir, const char *name)
{
	char path[512], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return 0;

	bool whole = fgets(text, sizeof(text), f) != NULL;

	fclose(f);
	for (char *p = text; whole && *p; p++)
		if (*p == '\n')
			return strtol(text, NULL, 10);
	return 0;
}

#endif
