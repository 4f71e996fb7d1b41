/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SEGMENT_H
#define BP_SHM_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>

/*
 * The segment that the planes share: three files in hugetlbfs (shared-memory files without
 * hugepages), mapped at any address by any number of processes. Each file has a header, a directory
 * of named tables and the tables; offsets only, no pointers. It outlives the processes.
 *
 * Each file is written by one plane, so neither plane can damage the other's data: a process maps
 * the parts that it does not write read-only. The data that both planes write is in a part of its
 * own, and neither plane uses an index or a length in it without a bound.
 */

#define BP_SEG_MAGIC 0x3130454e414c5042ull /* "BPLANE01", little endian */
#define BP_SEG_CONDEMNED                                                                           \
	0x30454e414c504221ull /* in place of the other: see bp_segment_condemn()                   \
			       */
#define BP_SEG_ABI 16u
#define BP_SEG_TABLES_MAX 96
#define BP_SEG_TABLE_NAME 32

/* Parts: by owner of their tables. */
enum { BP_SEG_DATA, BP_SEG_CONTROL, BP_SEG_SHARED, BP_SEG_PARTS };

struct bp_seg_table {
	char name[BP_SEG_TABLE_NAME];
	uint64_t offset; /* from the segment's start, 128-byte aligned */
	uint64_t element_size;
	uint64_t capacity; /* elements */
	uint64_t version;  /* of the element's layout */
};

/* Specification of a table; given by the process that creates the segment. */
struct bp_seg_spec {
	const char *name;
	uint64_t element_size, capacity, version;
	unsigned part; /* BP_SEG_DATA ... */
};

/* How a process opens a segment. */
#define BP_SEG_OWNER 1u        /* replaces parts that do not match */
#define BP_SEG_READ_DATA 2u    /* does not write the data plane's part */
#define BP_SEG_READ_CONTROL 4u /* does not write the control plane's part */
#define BP_SEG_HOLD 8u         /* runs on it until it is closed: see bp_segment_in_use() */
#define BP_SEG_NO_WAIT 16u     /* fails if another process has the lock, or initialises a part */

struct bp_segment; /* a process's mapping */

/* Result of bp_segment_open() for a part's file. */
enum bp_seg_change {
	BP_SEG_KEPT,
	BP_SEG_MADE,        /* there was none */
	BP_SEG_REPLACED,    /* by one with the tables of this configuration and program */
	BP_SEG_QUARANTINED, /* it was damaged, was quarantined, and was recreated */
};

/*
 * Opens the segment `name` and creates the parts that do not exist. `specs`: its tables. An
 * existing part with another magic, ABI version or any different spec is replaced by a new one when
 * `how` has BP_SEG_OWNER (old mappings stay valid for their processes), else rejected. Creation is
 * atomic: no process sees an incomplete header. If hugepage_dir is NULL, not usable or has too few
 * free pages, the file is created in fallback_dir (NULL: /dev/shm). All its memory is allocated on
 * return, so no later access can fail. Returns NULL with a sentence in err. A part without tables
 * has no file.
 *
 * The files are DIR/biplane-NAME.seg, .seg-control and .seg-shared, searched in hugepage_dir first.
 * A lock on fallback_dir/biplane-NAME.lock serialises creation, replacement and removal.
 *
 * A part that this call created is writable until bp_segment_initialise(), whatever `how` is.
 *
 * A damaged file (no header of a segment, truncated, impossible tables) is quarantined before it is
 * replaced: renamed to fallback_dir/FILE.damaged, which replaces the previous one, or copied there
 * from hugepages, which are then free again; it is not kept without enough space there. While a
 * data plane runs on the segment (BP_SEG_HOLD), only a process that writes the data plane's part
 * replaces files. The damaged part of a control plane is then recreated within the file that the
 * data plane has mapped, and a copy is quarantined; that does not need BP_SEG_OWNER.
 */
struct bp_segment *bp_segment_open(const char *name, const char *hugepage_dir,
	const char *fallback_dir, const struct bp_seg_spec *specs, unsigned n_specs, unsigned how,
	char *err, size_t err_size);
/* Returns the result for a part; *why: the sentence about the previous file ("" for BP_SEG_KEPT and
 * BP_SEG_MADE); *aside: where a damaged one is now ("": it was not kept). */
enum bp_seg_change bp_segment_change(
	const struct bp_segment *s, unsigned part, const char **why, const char **aside);
/* How many parts are BP_SEG_QUARANTINED. */
unsigned bp_segment_quarantined(const struct bp_segment *s);
/* Whether a process has the segment of this name open with BP_SEG_HOLD. */
bool bp_segment_in_use(const char *name, const char *hugepage_dir, const char *fallback_dir);
/*
 * Of a part that this process writes: writes its file's header again from the checked copy when
 * something has overwritten it. Returns whether it had to. Reads 4 KiB.
 */
bool bp_segment_restore(struct bp_segment *s, unsigned part);
/* Whether another process has removed or replaced a file of it since it was opened. */
bool bp_segment_replaced(const struct bp_segment *s);
/* Marks a part that this process writes as damaged, for the next process that opens it. */
void bp_segment_condemn(struct bp_segment *s, unsigned part);
/* Opens an existing segment with any tables; for `biplane show`. Read-only. */
struct bp_segment *bp_segment_attach(const char *name, const char *hugepage_dir,
	const char *fallback_dir, char *err, size_t err_size);
/* Private anonymous memory with the same layout: replay, tests, benchmarks. Its path is "". */
struct bp_segment *bp_segment_anonymous(
	const struct bp_seg_spec *specs, unsigned n_specs, char *err, size_t err_size);
void bp_segment_close(struct bp_segment *s); /* unmaps; the file stays */
/* Zeroed memory of this process, aligned to cache lines, valid until the segment is closed. NULL:
 * no memory. */
void *bp_segment_private(struct bp_segment *s, size_t size);
/* Removes the files, and damaged ones that were set aside. Returns 0, or -1 with errno (ENOENT:
 * there was none). */
int bp_segment_unlink(const char *name, const char *hugepage_dir, const char *fallback_dir);

/*
 * Runs init(arg) once in a part's life: the first process that may write the part runs it, under
 * the segment's lock, and no call of the others returns before it has completed. (A process that
 * dies in init has not completed it.) Returns 0, or -1 with a sentence, also when `s` writes no
 * part and init has not run yet. A part that the process does not write is read-only afterwards.
 */
int bp_segment_initialise(struct bp_segment *s, unsigned part, void (*init)(void *arg), void *arg,
	char *err, size_t err_size);

/* NULL when there is no such table or its element size or version differ. */
void *bp_segment_table(struct bp_segment *s, const char *name, uint64_t element_size,
	uint64_t version, uint64_t *capacity);
/* Whether the opener created a part of it; whether all of it is on hugepages; the path of its data
 * plane's part; the total size, bytes. */
bool bp_segment_fresh(const struct bp_segment *s);
bool bp_segment_huge(const struct bp_segment *s);
const char *bp_segment_path(const struct bp_segment *s);
uint64_t bp_segment_size(const struct bp_segment *s);
/* "" when there is no such part, or the segment is anonymous. */
const char *bp_segment_part_path(const struct bp_segment *s, unsigned part);

/* The first mounted hugetlbfs, or NULL. Static storage. */
const char *bp_hugepage_dir(void);

#endif
