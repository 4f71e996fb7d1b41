/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SEGMENT_FILE_H
#define BP_SHM_SEGMENT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/segment.h"

/* Location of a segment's file, its lock, and its creation. For shm/segment.c only. */

#define BP_SEG_FALLBACK_DIR "/dev/shm"

/* The two directories in which each part of a segment may be. */
struct bp_seg_place {
	char huge[BP_SEG_PARTS][PATH_MAX]; /* "" when there is no usable hugetlbfs */
	char plain[BP_SEG_PARTS][PATH_MAX];
	/* where a damaged one is kept, and where by a process that may not write there */
	char damaged[BP_SEG_PARTS][PATH_MAX], damaged_control[BP_SEG_PARTS][PATH_MAX];
	char lock[PATH_MAX];
};
/* Returns 0, or -1 with a sentence (name not usable, path too long). */
int bp_seg_place(struct bp_seg_place *p, const char *name, const char *hugepage_dir,
	const char *fallback_dir, char *err, size_t err_size);

/* Takes the lock; wait: whether it waits for another process that has it. Returns its descriptor,
 * or -1 with a sentence in err. */
int bp_seg_lock(const char *path, bool wait, char *err, size_t err_size);
void bp_seg_unlock(int fd);

/*
 * Creates path.tmp with at least `size` bytes of allocated memory, and maps it.
 * bp_seg_file_publish() makes the file visible. Returns 0; -1 with a sentence.
 */
struct bp_seg_file {
	int fd;
	void *base;
	uint64_t size; /* rounded up to the page size of the file system */
	bool huge;
};
int bp_seg_file_make(
	struct bp_seg_file *f, const char *path, uint64_t size, char *err, size_t err_size);
/* Lets the control plane's user read the part, and write it unless it is the data plane's, where
 * that is another user: see shm/plane_dirs.h. `lock`: the path of the segment's lock. Returns 0; -1
 * with a sentence. */
int bp_seg_share(
	const struct bp_seg_file *f, unsigned part, const char *lock, char *err, size_t err_size);
int bp_seg_file_publish(const char *path, char *err, size_t err_size);
void bp_seg_file_discard(struct bp_seg_file *f, const char *path);

/*
 * Opens what exists. Returns 1 with f->fd and f->size set (not mapped yet), 0 when there is no such
 * file, -1 with a sentence.
 */
int bp_seg_file_open(
	struct bp_seg_file *f, const char *path, bool writable, char *err, size_t err_size);
/* Gives an open file the memory of a part of `size` bytes, if it has less. Returns 0; -1 with a
 * sentence. */
int bp_seg_file_grow(
	struct bp_seg_file *f, const char *path, uint64_t size, char *err, size_t err_size);
/* Bytes to map for `size` bytes of an open file; 0 when that overflows. */
uint64_t bp_seg_file_round(int fd, uint64_t size);

#endif
