/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_SEGMENT_RIG_H
#define BP_TESTS_UNIT_SHM_SEGMENT_RIG_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/segment.h"
#include "tests/unit/shm/test.h"

/* Segments in a directory of their own. */

static const struct bp_seg_spec specs[] = {
	{"numbers", sizeof(uint64_t), 1000, 1, BP_SEG_DATA},
	{"bytes", 1, 77, 3, BP_SEG_DATA},
	{"wide", 256, 40, 1, BP_SEG_DATA},
};
#define N_SPECS 3u

static char dir[64];
static char path[PATH_MAX];
static char err[1024];

static inline int make_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/biplane-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/biplane-t.seg", dir);
	err[0] = '\0';
	return 0;
}

static inline int remove_dir(void **state)
{
	bp_segment_unlink("t", NULL, dir);
	return rmdir(dir);
}

static inline struct bp_segment *open_as(bool owner)
{
	err[0] = '\0';
	return bp_segment_open("t", NULL, dir, specs, N_SPECS, owner, err, sizeof(err));
}

static inline struct bp_segment *attach(void)
{
	err[0] = '\0';
	return bp_segment_attach("t", NULL, dir, err, sizeof(err));
}

/* Opens, and complains with what was said if that fails. */
static inline struct bp_segment *must(struct bp_segment *s)
{
	if (!s)
		fail_msg("%s", err);
	return s;
}

/* A refusal comes with a sentence that has `word` in it. */
static inline void refused(struct bp_segment *s, const char *word)
{
	assert_null(s);
	assert_true(strlen(err) > 10);
	if (!strstr(err, word))
		fail_msg("\"%s\" does not say \"%s\"", err, word);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

#endif
