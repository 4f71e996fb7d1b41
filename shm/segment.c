/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/segment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shm/segment_damage.h"
#include "shm/segment_file.h"
#include "shm/segment_part.h"

#define HUGE_PAGE (2ull << 20)

static struct bp_segment *segment_new(char *err, size_t err_size)
{
	struct bp_segment *s = calloc(1, sizeof(*s));

	if (!s) {
		snprintf(err, err_size, "no memory for a segment's description");
		return NULL;
	}
	s->hold = -1;
	return s;
}

static void note_file(struct part *out, const struct bp_seg_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) != 0)
		return;
	out->device = st.st_dev;
	out->inode = st.st_ino;
}

static int part_map(struct part *out, const struct bp_seg_file *f, const char *path, bool writable,
	bool populate, char *err, size_t err_size)
{
	const uint64_t size = bp_seg_file_round(f->fd, out->header.size);
	void *base = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0),
		MAP_SHARED | (populate ? MAP_POPULATE : 0), f->fd, 0);

	if (base == MAP_FAILED) {
		snprintf(err, err_size, "cannot map %llu bytes of segment %s: %s",
			(unsigned long long)size, path, strerror(errno));
		return -1;
	}
	note_file(out, f);
	out->base = base;
	out->mapped = size;
	out->huge = f->huge;
	out->writable = writable;
	snprintf(out->path, sizeof(out->path), "%s", path);
	return 0;
}

/* Opens one file. Returns 1; 0 if it does not exist; -1 with an error message and its state in
 * *verdict. want NULL: any tables. */
static int open_existing(struct part *out, unsigned part, const char *path,
	const struct header *want, bool writable, enum bp_seg_verdict *verdict, char *err,
	size_t err_size)
{
	struct bp_seg_file f;
	int rc = bp_seg_file_open(&f, path, writable, err, err_size);

	*verdict = BP_SEG_NOT_BIPLANE;
	if (rc <= 0)
		return rc;
	*verdict = bp_seg_header_read(&out->header, &f, part, path, err, err_size);
	if (*verdict == BP_SEG_FITS && want &&
		bp_seg_tables_compare(&out->header, want, path, err, err_size) != 0)
		*verdict = BP_SEG_DIFFERS;
	if (*verdict == BP_SEG_FITS && part_map(out, &f, path, writable, want, err, err_size) != 0)
		*verdict = BP_SEG_NOT_BIPLANE;
	close(f.fd);
	return *verdict == BP_SEG_FITS ? 1 : -1;
}

/* Creates the complete file under a temporary name, then renames it to `path`. */
static int create(struct part *out, const char *path, const char *lock, const struct header *want,
	char *err, size_t err_size)
{
	struct bp_seg_file f;

	if (bp_seg_file_make(&f, path, want->size, err, err_size) != 0)
		return -1;
	memcpy(f.base, want, sizeof(*want));
	if (bp_seg_share(&f, want->part, lock, err, err_size) != 0 ||
		bp_seg_file_publish(path, err, err_size) != 0) {
		bp_seg_file_discard(&f, path);
		return -1;
	}
	note_file(out, &f);
	close(f.fd);
	out->base = f.base;
	out->mapped = f.size;
	out->huge = f.huge;
	out->fresh = true;
	memcpy(&out->header, want, sizeof(*want));
	snprintf(out->path, sizeof(out->path), "%s", path);
	return 0;
}

/* On hugepages if there are enough, otherwise in the plain directory. A former file with the name
 * is removed. */
static int create_somewhere(struct part *out, const struct bp_seg_place *p,
	const struct header *want, char *err, size_t err_size)
{
	const char *huge = p->huge[want->part], *plain = p->plain[want->part];
	int rc;

	if (huge[0]) {
		rc = create(out, huge, p->lock, want, err, err_size);

		/* an old unmapped segment may hold the missing pages */
		if (rc != 0 && unlink(huge) == 0)
			rc = create(out, huge, p->lock, want, err, err_size);
		if (rc == 0) {
			unlink(plain);
			return 0;
		}
	}
	rc = create(out, plain, p->lock, want, err, err_size);
	/* and so may a damaged one in quarantine */
	if (rc != 0 && out->aside[0] && unlink(out->aside) == 0) {
		out->aside[0] = '\0';
		rc = create(out, plain, p->lock, want, err, err_size);
	}
	return rc;
}

/* Rights of this process to a file that is not as expected. */
struct rights {
	bool writable; /* it writes the part */
	bool owner;    /* may replace the file */
	bool mend; /* may initialise the part again in the file, which another process has mapped
		    */
};

/* Initialises the part again in the existing file, as in a new one. */
static int make_in_place(struct part *out, const struct bp_seg_place *p, const char *path,
	const struct header *want, char *err, size_t err_size)
{
	struct bp_seg_file f;
	int rc;

	if (bp_seg_file_open(&f, path, true, err, err_size) <= 0)
		return -1;
	bp_seg_quarantine_copy(p, want->part, f.fd, out->aside);
	memcpy(&out->header, want, sizeof(*want));
	rc = bp_seg_file_grow(&f, path, want->size, err, err_size);
	if (rc == 0)
		rc = part_map(out, &f, path, true, true, err, err_size);
	close(f.fd);
	if (rc != 0)
		return -1;
	memset(out->base + 1, 0, out->mapped - sizeof(*want));
	memcpy(out->base, want, sizeof(*want));
	out->fresh = true;
	out->change = BP_SEG_QUARANTINED;
	return 0;
}

static int replace(struct part *out, const struct bp_seg_place *p, const char *path,
	const struct header *want, enum bp_seg_verdict verdict, char *err, size_t err_size)
{
	out->change = verdict == BP_SEG_DAMAGED ? BP_SEG_QUARANTINED : BP_SEG_REPLACED;
	if (verdict == BP_SEG_DAMAGED)
		bp_seg_quarantine(p, want->part, path, out->aside);
	return create_somewhere(out, p, want, err, err_size);
}

static int open_locked(struct part *out, const struct bp_seg_place *p, const struct header *want,
	const struct rights *r, char *err, size_t err_size)
{
	const char *paths[2] = {p->huge[want->part], p->plain[want->part]};
	char hint[64 + sizeof(p->plain[0])];
	enum bp_seg_verdict verdict;

	out->writable = r->writable;
	for (unsigned i = 0; i < 2; i++) {
		int rc;

		if (paths[i][0] == '\0')
			continue;
		rc = open_existing(
			out, want->part, paths[i], want, r->writable, &verdict, err, err_size);
		if (rc > 0)
			return 0;
		if (rc == 0)
			continue;
		snprintf(out->why, sizeof(out->why), "%s", err);
		if (verdict == BP_SEG_DAMAGED && r->mend)
			return make_in_place(out, p, paths[i], want, err, err_size);
		if (verdict != BP_SEG_NOT_BIPLANE && r->owner)
			return replace(out, p, paths[i], want, verdict, err, err_size);
		if (verdict != BP_SEG_NOT_BIPLANE) {
			snprintf(hint, sizeof(hint),
				"; restart the data plane, which replaces it, or remove %s",
				paths[i]);
			strncat(err, hint, err_size - strlen(err) - 1);
		}
		return -1;
	}
	out->change = BP_SEG_MADE;
	return create_somewhere(out, p, want, err, err_size);
}

static bool writes(unsigned how, unsigned part)
{
	return !(part == BP_SEG_DATA && (how & BP_SEG_READ_DATA)) &&
	       !(part == BP_SEG_CONTROL && (how & BP_SEG_READ_CONTROL));
}

/* While a data plane runs on the segment, no other process replaces a file of it. The part that
 * only the control plane writes may be initialised again in place, if all tables have the offsets
 * that the data plane uses. */
static struct rights rights_of(
	const struct bp_segment *s, const struct header *want, unsigned how, bool in_use)
{
	const struct part *data = &s->part[BP_SEG_DATA];
	struct rights r = {.writable = writes(how, want->part)};

	in_use = in_use && !writes(how, BP_SEG_DATA);
	r.owner = (how & BP_SEG_OWNER) && !in_use;
	r.mend = in_use && want->part == BP_SEG_CONTROL && r.writable && data->base &&
		 data->header.layout == want->layout;
	return r;
}

/* The part of the data plane may be older than the others, if only those have new tables. */
static void note_layout(struct part *data, const struct header *want)
{
	if (!data->base || !data->writable || data->header.layout == want->layout)
		return;
	data->header.layout = want->layout;
	data->base->layout = want->layout;
}

static int open_parts(struct bp_segment *s, const struct header *want, unsigned how, bool in_use,
	char *err, size_t err_size)
{
	for (unsigned p = 0; p < BP_SEG_PARTS; p++) {
		const struct rights r = rights_of(s, &want[p], how, in_use);

		if (want[p].size != 0 &&
			open_locked(&s->part[p], &s->place, &want[p], &r, err, err_size) != 0)
			return -1;
	}
	note_layout(&s->part[BP_SEG_DATA], &want[BP_SEG_DATA]);
	return 0;
}

struct bp_segment *bp_segment_open(const char *name, const char *hugepage_dir,
	const char *fallback_dir, const struct bp_seg_spec *specs, unsigned n_specs, unsigned how,
	char *err, size_t err_size)
{
	struct header want[BP_SEG_PARTS];
	struct bp_segment *s;
	int lock, rc;

	if (bp_seg_headers_fill(want, specs, n_specs, err, err_size) != 0)
		return NULL;
	s = segment_new(err, err_size);
	if (!s)
		return NULL;
	s->no_wait = (how & BP_SEG_NO_WAIT) != 0;
	rc = bp_seg_place(&s->place, name, hugepage_dir, fallback_dir, err, err_size);
	lock = rc == 0 ? bp_seg_lock(s->place.lock, !s->no_wait, err, err_size) : -1;
	if (lock < 0) {
		free(s);
		return NULL;
	}
	rc = open_parts(s, want, how, bp_seg_in_use(&s->place), err, err_size);
	if (rc == 0 && (how & BP_SEG_HOLD))
		s->hold = bp_seg_hold(s->part[BP_SEG_DATA].path);
	bp_seg_unlock(lock);
	if (rc == 0)
		return s;
	bp_segment_close(s);
	return NULL;
}

/* Returns 1; 0 if it does not exist; -1 with an error message. */
static int attach_part(
	struct part *out, unsigned part, const struct bp_seg_place *p, char *err, size_t err_size)
{
	enum bp_seg_verdict verdict;
	int rc = 0;

	if (p->huge[part][0])
		rc = open_existing(out, part, p->huge[part], NULL, false, &verdict, err, err_size);
	if (rc == 0)
		rc = open_existing(out, part, p->plain[part], NULL, false, &verdict, err, err_size);
	return rc;
}

struct bp_segment *bp_segment_attach(const char *name, const char *hugepage_dir,
	const char *fallback_dir, char *err, size_t err_size)
{
	struct bp_seg_place p;
	struct bp_segment *s;
	int rc = 1;

	if (bp_seg_place(&p, name, hugepage_dir, fallback_dir, err, err_size) != 0)
		return NULL;
	s = segment_new(err, err_size);
	if (!s)
		return NULL;
	snprintf(s->place.lock, sizeof(s->place.lock), "%s", p.lock);
	for (unsigned i = 0; i < BP_SEG_PARTS && rc >= 0; i++) {
		rc = attach_part(&s->part[i], i, &p, err, err_size);
		if (rc == 0 && i == BP_SEG_DATA) {
			snprintf(err, err_size, "no segment %s%s%s; is biplane %s running?",
				p.huge[i][0] ? p.huge[i] : p.plain[i], p.huge[i][0] ? " or " : "",
				p.huge[i][0] ? p.plain[i] : "", name);
			rc = -1;
		}
	}
	if (rc >= 0)
		return s;
	bp_segment_close(s);
	return NULL;
}

static int part_anonymous(struct part *p, const struct header *want, char *err, size_t err_size)
{
	void *base;

	/* aligned to huge pages, so that the kernel can use them: fewer TLB misses */
	p->mapped = (want->size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	base = mmap(NULL, p->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED) {
		snprintf(err, err_size, "no memory for a segment of %llu bytes: %s",
			(unsigned long long)p->mapped, strerror(errno));
		return -1;
	}
	madvise(base, p->mapped, MADV_HUGEPAGE);
	memcpy(&p->header, want, sizeof(*want));
	memcpy(base, want, sizeof(*want));
	p->base = base;
	p->fresh = p->writable = true;
	return 0;
}

struct bp_segment *bp_segment_anonymous(
	const struct bp_seg_spec *specs, unsigned n_specs, char *err, size_t err_size)
{
	struct header want[BP_SEG_PARTS];
	struct bp_segment *s;

	if (bp_seg_headers_fill(want, specs, n_specs, err, err_size) != 0)
		return NULL;
	s = segment_new(err, err_size);
	for (unsigned p = 0; s && p < BP_SEG_PARTS; p++) {
		if (want[p].size == 0 || part_anonymous(&s->part[p], &want[p], err, err_size) == 0)
			continue;
		bp_segment_close(s);
		return NULL;
	}
	return s;
}

void bp_segment_close(struct bp_segment *s)
{
	if (!s)
		return;
	for (unsigned p = 0; p < BP_SEG_PARTS; p++) {
		if (s->part[p].base)
			munmap(s->part[p].base, s->part[p].mapped);
	}
	if (s->hold >= 0)
		close(s->hold);
	while (s->memory) {
		struct private *next = s->memory->next;

		free(s->memory);
		s->memory = next;
	}
	free(s);
}

void *bp_segment_private(struct bp_segment *s, size_t size)
{
	const size_t bytes = sizeof(struct private) + (size + 63) / 64 * 64;
	struct private *p = aligned_alloc(_Alignof(struct private), bytes);

	if (!p)
		return NULL;
	memset(p, 0, bytes);
	p->next = s->memory;
	s->memory = p;
	return p + 1;
}

/* Adds to *removed; returns 0 or an errno other than ENOENT. */
static int unlink_one(const char *path, unsigned *removed)
{
	if (path[0] == '\0')
		return 0;
	if (unlink(path) != 0)
		return errno == ENOENT ? 0 : errno;
	(*removed)++;
	return 0;
}

int bp_segment_unlink(const char *name, const char *hugepage_dir, const char *fallback_dir)
{
	struct bp_seg_place p;
	struct bp_seg_file none = {.fd = -1};
	char err[PATH_MAX + 256];
	unsigned removed = 0;
	int lock, e = 0;

	errno = EINVAL;
	if (bp_seg_place(&p, name, hugepage_dir, fallback_dir, err, sizeof(err)) != 0)
		return -1;
	lock = bp_seg_lock(p.lock, true, err, sizeof(err));
	if (lock < 0)
		return -1;
	for (unsigned i = 0; i < BP_SEG_PARTS; i++) {
		int huge, plain;

		/* partially initialised by a killed process */
		if (p.huge[i][0])
			bp_seg_file_discard(&none, p.huge[i]);
		bp_seg_file_discard(&none, p.plain[i]);
		huge = unlink_one(p.huge[i], &removed);
		plain = unlink_one(p.plain[i], &removed);
		unlink(p.damaged[i]);
		unlink(p.damaged_control[i]);
		e = e ? e : huge ? huge : plain;
	}
	unlink(p.lock);
	bp_seg_unlock(lock);
	errno = e ? e : ENOENT;
	return removed && e == 0 ? 0 : -1;
}

static bool is_initialised(const struct part *p)
{
	return atomic_load_explicit(&p->base->initialised, memory_order_acquire) != 0;
}

/* A part that this process initialised and must not write. */
static int give_up_writing(struct part *p, char *err, size_t err_size)
{
	if (!p->fresh || p->writable || mprotect(p->base, p->mapped, PROT_READ) == 0)
		return 0;
	snprintf(err, err_size, "cannot make segment %s read-only: %s", p->path, strerror(errno));
	return -1;
}

/* Waits at most 3 s: the writer needs microseconds. */
static void wait_initialised(const struct part *p)
{
	const struct timespec pause = {0, 1000000};

	for (unsigned ms = 0; ms < 3000 && !is_initialised(p); ms++)
		nanosleep(&pause, NULL);
}

static bool writes_none(const struct bp_segment *s)
{
	for (unsigned p = 0; p < BP_SEG_PARTS; p++) {
		if (s->part[p].base && s->part[p].writable)
			return false;
	}
	return true;
}

int bp_segment_initialise(struct bp_segment *s, unsigned part, void (*init)(void *arg), void *arg,
	char *err, size_t err_size)
{
	struct part *p = &s->part[part];
	int lock = -1;

	if (p->base == NULL || is_initialised(p))
		return p->base == NULL ? 0 : give_up_writing(p, err, err_size);
	if (!p->writable && !p->fresh) {
		/* Its writer is about to store the hash key. If the writer died there, the memory
		 * is all zero, which is harmless to a plane. */
		if (!s->no_wait && !writes_none(s)) {
			wait_initialised(p);
			return 0;
		}
		snprintf(err, err_size, "segment %s is being created; try again", p->path);
		return -1;
	}
	if (p->path[0]) {
		lock = bp_seg_lock(s->place.lock, !s->no_wait, err, err_size);
		if (lock < 0)
			return -1;
	}
	if (!is_initialised(p)) {
		init(arg);
		atomic_store_explicit(&p->base->initialised, 1, memory_order_release);
	}
	if (lock >= 0)
		bp_seg_unlock(lock);
	return give_up_writing(p, err, err_size);
}

static void *part_table(const struct part *p, const char *name, uint64_t element_size,
	uint64_t version, uint64_t *capacity)
{
	for (unsigned i = 0; p->base && i < p->header.n_tables; i++) {
		const struct bp_seg_table *t = &p->header.table[i];

		if (strcmp(t->name, name) != 0)
			continue;
		if (t->element_size != element_size || t->version != version)
			return NULL;
		if (capacity)
			*capacity = t->capacity;
		return (uint8_t *)p->base + t->offset;
	}
	return NULL;
}

void *bp_segment_table(struct bp_segment *s, const char *name, uint64_t element_size,
	uint64_t version, uint64_t *capacity)
{
	void *found = NULL;

	for (unsigned p = 0; p < BP_SEG_PARTS && !found; p++)
		found = part_table(&s->part[p], name, element_size, version, capacity);
	return found;
}

bool bp_segment_fresh(const struct bp_segment *s)
{
	bool fresh = false;

	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		fresh = fresh || s->part[p].fresh;
	return fresh;
}

bool bp_segment_huge(const struct bp_segment *s)
{
	bool huge = true;

	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		huge = huge && (s->part[p].base == NULL || s->part[p].huge);
	return huge;
}

const char *bp_segment_path(const struct bp_segment *s)
{
	return s->part[BP_SEG_DATA].path;
}

const char *bp_segment_part_path(const struct bp_segment *s, unsigned part)
{
	return s->part[part].path;
}

uint64_t bp_segment_size(const struct bp_segment *s)
{
	uint64_t size = 0;

	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		size += s->part[p].mapped;
	return size;
}
