/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SEGMENT_PART_H
#define BP_SHM_SEGMENT_PART_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shm/segment.h"
#include "shm/segment_file.h"

/* A segment's files and a process's mapping of them. For shm/segment*.c alone. */

/* The header at the beginning of each file. Constant once the file has its name, except
 * `initialised`, and `layout` of the data plane's part. */
struct header {
	uint64_t magic;
	uint32_t abi;
	uint32_t n_tables;
	uint64_t size; /* bytes from the start to the end of the last table */
	_Atomic uint32_t initialised;
	uint32_t part;   /* BP_SEG_DATA ... */
	uint64_t layout; /* hash of the tables of all parts, as the last writer of this one needs
			  * them */
	uint32_t pad[6];
	struct bp_seg_table table[BP_SEG_TABLES_MAX];
};
_Static_assert(sizeof(struct header) == 64 + 64 * BP_SEG_TABLES_MAX, "header has holes");

/* The headers of the parts for `specs`: the same specs give the same offsets. A part without tables
 * has size 0. Returns 0, or -1 with a sentence. */
int bp_seg_headers_fill(struct header h[BP_SEG_PARTS], const struct bp_seg_spec *specs, unsigned n,
	char *err, size_t err_size);

/* Verdict on a file that has a part's name. */
enum bp_seg_verdict {
	BP_SEG_FITS,
	BP_SEG_DIFFERS,     /* whole, but another configuration's or program's */
	BP_SEG_DAMAGED,     /* no segment */
	BP_SEG_NOT_BIPLANE, /* cannot be opened or mapped: not replaced */
};
/* Reads and checks the file's header. With a sentence unless it matches. */
enum bp_seg_verdict bp_seg_header_read(struct header *h, const struct bp_seg_file *f, unsigned part,
	const char *path, char *err, size_t err_size);
/* Returns 0 when the tables agree with `want`, or -1 with a sentence that names the first
 * difference. */
int bp_seg_tables_compare(const struct header *have, const struct header *want, const char *path,
	char *err, size_t err_size);

struct part {
	struct header *base; /* NULL: there is no such part */
	uint64_t mapped;     /* bytes */
	bool fresh, huge;
	bool writable; /* may this process write it; a fresh one it may until it is initialised */
	dev_t device;  /* of the mapped file */
	ino_t inode;
	char path[PATH_MAX];
	/* a checked copy: later changes in the file have no effect */
	struct header header;
	/* what opening it did */
	enum bp_seg_change change;
	char why[512];
	char aside[PATH_MAX]; /* where a damaged file is now; "": it was not kept */
};

/* In front of memory that belongs to a mapping. */
struct private
{
	struct private *next;
}
__attribute__((aligned(64)));

struct bp_segment {
	struct part part[BP_SEG_PARTS];
	struct bp_seg_place place;
	int hold;     /* descriptor of the data plane's part with a lock on it, or -1 */
	bool no_wait; /* BP_SEG_NO_WAIT */
	struct private *memory;
};

#endif
