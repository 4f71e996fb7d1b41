/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/segment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shm/segment_file.h"

#define TABLE_ALIGN 128u /* no element asks for more */
#define SEGMENT_MAX (1ull << 46)
#define HUGE_PAGE (2ull << 20)

/* At the file's start. Fixed once the file has its name, but for `initialised`. */
struct header {
	uint64_t magic;
	uint32_t abi;
	uint32_t n_tables;
	uint64_t size; /* bytes from the start to the end of the last table */
	_Atomic uint32_t initialised;
	uint32_t pad[9];
	struct bp_seg_table table[BP_SEG_TABLES_MAX];
};
_Static_assert(sizeof(struct header) == 64 + 64 * BP_SEG_TABLES_MAX, "header has holes");

struct bp_segment {
	struct header *base;
	uint64_t mapped; /* bytes */
	bool fresh, huge, writable;
	char path[PATH_MAX];
	char lock[PATH_MAX];
	/* a copy that was checked: what others do to the file's can't mislead us */
	struct header header;
};

/* Where the table behind one that ends there begins. */
static uint64_t table_end(uint64_t end)
{
	return (end + TABLE_ALIGN - 1) & ~(uint64_t)(TABLE_ALIGN - 1);
}

/* The header for `specs`: the same specs give the same offsets. Returns 0, or -1 with a sentence.
 */
static int header_fill(
	struct header *h, const struct bp_seg_spec *specs, unsigned n, char *err, size_t err_size)
{
	uint64_t end = table_end(sizeof(*h));

	memset(h, 0, sizeof(*h));
	h->magic = BP_SEG_MAGIC;
	h->abi = BP_SEG_ABI;
	h->n_tables = n;
	if (n > BP_SEG_TABLES_MAX) {
		snprintf(err, err_size, "%u tables asked for, a segment takes %u", n,
			BP_SEG_TABLES_MAX);
		return -1;
	}
	for (unsigned i = 0; i < n; i++) {
		struct bp_seg_table *t = &h->table[i];
		const size_t len = strlen(specs[i].name);
		uint64_t bytes;

		if (len == 0 || len >= BP_SEG_TABLE_NAME) {
			snprintf(err, err_size, "table name \"%s\" must have 1 to %u bytes",
				specs[i].name, BP_SEG_TABLE_NAME - 1);
			return -1;
		}
		for (unsigned k = 0; k < i; k++) {
			if (strcmp(h->table[k].name, specs[i].name) == 0) {
				snprintf(err, err_size, "table %s is asked for twice",
					specs[i].name);
				return -1;
			}
		}
		memcpy(t->name, specs[i].name, len);
		t->offset = end;
		t->element_size = specs[i].element_size;
		t->capacity = specs[i].capacity;
		t->version = specs[i].version;
		if (t->element_size == 0 || t->capacity == 0 ||
			__builtin_mul_overflow(t->element_size, t->capacity, &bytes) ||
			bytes > SEGMENT_MAX - end) {
			snprintf(err, err_size,
				"table %s of %llu elements of %llu bytes is empty or too large",
				t->name, (unsigned long long)t->capacity,
				(unsigned long long)t->element_size);
			return -1;
		}
		end = table_end(end + bytes);
	}
	h->size = end;
	return 0;
}

/* Whether every table lies in the segment, one behind the other. */
static bool directory_valid(const struct header *h)
{
	uint64_t end = sizeof(*h);

	for (unsigned i = 0; i < h->n_tables; i++) {
		const struct bp_seg_table *t = &h->table[i];
		uint64_t bytes;

		if (t->name[0] == '\0' || !memchr(t->name, '\0', sizeof(t->name)))
			return false;
		if (t->offset < end || t->offset % TABLE_ALIGN || t->offset > h->size)
			return false;
		if (t->element_size == 0 || t->capacity == 0 ||
			__builtin_mul_overflow(t->element_size, t->capacity, &bytes) ||
			bytes > h->size - t->offset)
			return false;
		end = t->offset + bytes;
	}
	return true;
}

/* Reads the file's header and checks all of it. Returns 0, or -1 with a sentence. */
static int header_read(
	struct header *h, const struct bp_seg_file *f, const char *path, char *err, size_t err_size)
{
	ssize_t n;

	do
		n = pread(f->fd, h, sizeof(*h), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*h))
		snprintf(err, err_size,
			"segment %s is cut short: %zd bytes, its header alone has %zu", path,
			n < 0 ? 0 : n, sizeof(*h));
	else if (h->magic != BP_SEG_MAGIC)
		snprintf(err, err_size, "%s is not a segment of biplane: wrong magic number", path);
	else if (h->abi != BP_SEG_ABI)
		snprintf(err, err_size,
			"segment %s has ABI version %u, this program needs %u: two versions of "
			"biplane meet",
			path, h->abi, BP_SEG_ABI);
	else if (h->size < sizeof(*h) || h->size > f->size)
		snprintf(err, err_size, "segment %s is cut short: %llu bytes, its header says %llu",
			path, (unsigned long long)f->size, (unsigned long long)h->size);
	else if (h->n_tables > BP_SEG_TABLES_MAX || !directory_valid(h))
		snprintf(err, err_size, "segment %s has a damaged table directory", path);
	else
		return 0;
	return -1;
}

/* Returns 0 when the tables are those that `want` has, or -1 with a sentence that names the first
 * that is not. */
static int tables_compare(const struct header *have, const struct header *want, const char *path,
	char *err, size_t err_size)
{
	for (unsigned i = 0; i < want->n_tables; i++) {
		const struct bp_seg_table *a = &have->table[i], *b = &want->table[i];

		if (i >= have->n_tables || strcmp(a->name, b->name) != 0) {
			snprintf(err, err_size, "segment %s has no table %s at place %u", path,
				b->name, i);
			return -1;
		}
		if (a->element_size != b->element_size || a->capacity != b->capacity ||
			a->version != b->version || a->offset != b->offset) {
			snprintf(err, err_size,
				"table %s of segment %s has %llu elements of %llu bytes (layout "
				"%llx), "
				"this configuration and program need %llu of %llu (layout %llx)",
				b->name, path, (unsigned long long)a->capacity,
				(unsigned long long)a->element_size, (unsigned long long)a->version,
				(unsigned long long)b->capacity,
				(unsigned long long)b->element_size,
				(unsigned long long)b->version);
			return -1;
		}
	}
	if (have->n_tables != want->n_tables) {
		snprintf(err, err_size, "segment %s has %u tables, this program needs %u", path,
			have->n_tables, want->n_tables);
		return -1;
	}
	return 0;
}

static struct bp_segment *segment_new(char *err, size_t err_size)
{
	struct bp_segment *s = calloc(1, sizeof(*s));

	if (!s)
		snprintf(err, err_size, "no memory for a segment's description");
	return s;
}

/* Opens one file. Returns 1 with *out, 0 when there is none, -1 with a sentence (*bad: the file can
 * be read but is not what it must be, so its owner may replace it). want NULL: any tables. */
static int open_existing(struct bp_segment **out, const char *path, const char *lock,
	const struct header *want, bool *bad, char *err, size_t err_size)
{
	const bool writable = want != NULL;
	struct bp_segment *s;
	struct bp_seg_file f;
	void *base;
	int rc = bp_seg_file_open(&f, path, writable, err, err_size);

	*bad = false;
	if (rc <= 0)
		return rc;
	s = segment_new(err, err_size);
	if (!s)
		goto fail;
	if (header_read(&s->header, &f, path, err, err_size) != 0 ||
		(want && tables_compare(&s->header, want, path, err, err_size) != 0)) {
		*bad = true;
		goto fail;
	}
	s->mapped = bp_seg_file_round(f.fd, s->header.size);
	base = mmap(NULL, s->mapped, PROT_READ | (writable ? PROT_WRITE : 0),
		MAP_SHARED | (writable ? MAP_POPULATE : 0), f.fd, 0);
	if (base == MAP_FAILED) {
		snprintf(err, err_size, "can't map %llu bytes of segment %s: %s",
			(unsigned long long)s->mapped, path, strerror(errno));
		goto fail;
	}
	close(f.fd);
	s->base = base;
	s->huge = f.huge;
	s->writable = writable;
	snprintf(s->path, sizeof(s->path), "%s", path);
	snprintf(s->lock, sizeof(s->lock), "%s", lock);
	*out = s;
	return 1;
fail:
	free(s);
	close(f.fd);
	return -1;
}

/* Makes the file at `path` whole under another name, then gives it its own. */
static struct bp_segment *create(
	const char *path, const char *lock, const struct header *want, char *err, size_t err_size)
{
	struct bp_segment *s = segment_new(err, err_size);
	struct bp_seg_file f;

	if (!s)
		return NULL;
	if (bp_seg_file_make(&f, path, want->size, err, err_size) != 0) {
		free(s);
		return NULL;
	}
	memcpy(f.base, want, sizeof(*want));
	if (bp_seg_share(&f, lock, err, err_size) != 0 ||
		bp_seg_file_publish(path, err, err_size) != 0) {
		bp_seg_file_discard(&f, path);
		free(s);
		return NULL;
	}
	close(f.fd);
	s->base = f.base;
	s->mapped = f.size;
	s->huge = f.huge;
	s->fresh = s->writable = true;
	memcpy(&s->header, want, sizeof(*want));
	snprintf(s->path, sizeof(s->path), "%s", path);
	snprintf(s->lock, sizeof(s->lock), "%s", lock);
	return s;
}

/* On hugepages if there are enough, else beside them. What was there under the name is gone then.
 */
static struct bp_segment *create_somewhere(
	const struct bp_seg_place *p, const struct header *want, char *err, size_t err_size)
{
	struct bp_segment *s;

	if (p->huge[0]) {
		s = create(p->huge, p->lock, want, err, err_size);
		/* an old segment that nobody maps may hold the very pages that are lacking */
		if (!s && unlink(p->huge) == 0)
			s = create(p->huge, p->lock, want, err, err_size);
		if (s) {
			unlink(p->plain);
			return s;
		}
	}
	return create(p->plain, p->lock, want, err, err_size);
}

static struct bp_segment *open_locked(const struct bp_seg_place *p, const struct header *want,
	bool owner, char *err, size_t err_size)
{
	const char *paths[2] = {p->huge, p->plain};
	struct bp_segment *s = NULL;
	char hint[64 + sizeof(p->plain)];
	bool bad;

	for (unsigned i = 0; i < 2; i++) {
		int rc;

		if (paths[i][0] == '\0')
			continue;
		rc = open_existing(&s, paths[i], p->lock, want, &bad, err, err_size);
		if (rc > 0)
			return s;
		if (rc == 0)
			continue;
		if (bad && owner)
			break;
		if (bad) {
			snprintf(hint, sizeof(hint),
				"; restart the data plane, which replaces it, or remove %s",
				paths[i]);
			strncat(err, hint, err_size - strlen(err) - 1);
		}
		return NULL;
	}
	return create_somewhere(p, want, err, err_size);
}

struct bp_segment *bp_segment_open(const char *name, const char *hugepage_dir,
	const char *fallback_dir, const struct bp_seg_spec *specs, unsigned n_specs, bool owner,
	char *err, size_t err_size)
{
	struct bp_seg_place place;
	struct bp_segment *s;
	struct header want;
	int lock;

	if (header_fill(&want, specs, n_specs, err, err_size) != 0 ||
		bp_seg_place(&place, name, hugepage_dir, fallback_dir, err, err_size) != 0)
		return NULL;
	lock = bp_seg_lock(place.lock, err, err_size);
	if (lock < 0)
		return NULL;
	s = open_locked(&place, &want, owner, err, err_size);
	bp_seg_unlock(lock);
	return s;
}

struct bp_segment *bp_segment_attach(const char *name, const char *hugepage_dir,
	const char *fallback_dir, char *err, size_t err_size)
{
	struct bp_seg_place p;
	struct bp_segment *s = NULL;
	int rc = 0;
	bool bad;

	if (bp_seg_place(&p, name, hugepage_dir, fallback_dir, err, err_size) != 0)
		return NULL;
	if (p.huge[0])
		rc = open_existing(&s, p.huge, p.lock, NULL, &bad, err, err_size);
	if (rc == 0)
		rc = open_existing(&s, p.plain, p.lock, NULL, &bad, err, err_size);
	if (rc == 0)
		snprintf(err, err_size, "there is no segment %s%s%s; is biplane %s running?",
			p.huge[0] ? p.huge : p.plain, p.huge[0] ? " or " : "",
			p.huge[0] ? p.plain : "", name);
	return rc > 0 ? s : NULL;
}

struct bp_segment *bp_segment_anonymous(
	const struct bp_seg_spec *specs, unsigned n_specs, char *err, size_t err_size)
{
	struct bp_segment *s = segment_new(err, err_size);
	void *base;

	if (!s)
		return NULL;
	if (header_fill(&s->header, specs, n_specs, err, err_size) != 0) {
		free(s);
		return NULL;
	}
	/* whole large pages, which the kernel may then use: fewer TLB misses */
	s->mapped = (s->header.size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	base = mmap(NULL, s->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED) {
		snprintf(err, err_size, "no memory for a segment of %llu bytes: %s",
			(unsigned long long)s->mapped, strerror(errno));
		free(s);
		return NULL;
	}
	madvise(base, s->mapped, MADV_HUGEPAGE);
	memcpy(base, &s->header, sizeof(s->header));
	s->base = base;
	s->fresh = s->writable = true;
	return s;
}

void bp_segment_close(struct bp_segment *s)
{
	if (!s)
		return;
	munmap(s->base, s->mapped);
	free(s);
}

int bp_segment_unlink(const char *name, const char *hugepage_dir, const char *fallback_dir)
{
	struct bp_seg_place p;
	struct bp_seg_file none = {.fd = -1};
	char err[PATH_MAX + 256];
	int lock, e = ENOENT, removed = 0;

	errno = EINVAL;
	if (bp_seg_place(&p, name, hugepage_dir, fallback_dir, err, sizeof(err)) != 0)
		return -1;
	lock = bp_seg_lock(p.lock, err, sizeof(err));
	if (lock < 0)
		return -1;
	if (p.huge[0])
		bp_seg_file_discard(&none, p.huge); /* half made by one who was killed */
	bp_seg_file_discard(&none, p.plain);
	if (p.huge[0]) {
		if (unlink(p.huge) == 0)
			removed++;
		else
			e = errno;
	}
	if (unlink(p.plain) == 0)
		removed++;
	else if (errno != ENOENT)
		e = errno;
	unlink(p.lock);
	bp_seg_unlock(lock);
	errno = e;
	return removed && (e == ENOENT) ? 0 : -1;
}

static bool is_initialised(const struct bp_segment *s)
{
	return atomic_load_explicit(&s->base->initialised, memory_order_acquire) != 0;
}

int bp_segment_initialise(
	struct bp_segment *s, void (*init)(void *arg), void *arg, char *err, size_t err_size)
{
	int lock = -1;

	if (is_initialised(s))
		return 0;
	if (!s->writable) {
		snprintf(err, err_size, "segment %s is just being made; try again", s->path);
		return -1;
	}
	if (s->path[0]) {
		lock = bp_seg_lock(s->lock, err, err_size);
		if (lock < 0)
			return -1;
	}
	if (!is_initialised(s)) {
		init(arg);
		atomic_store_explicit(&s->base->initialised, 1, memory_order_release);
	}
	if (lock >= 0)
		bp_seg_unlock(lock);
	return 0;
}

void *bp_segment_table(struct bp_segment *s, const char *name, uint64_t element_size,
	uint64_t version, uint64_t *capacity)
{
	for (unsigned i = 0; i < s->header.n_tables; i++) {
		const struct bp_seg_table *t = &s->header.table[i];

		if (strcmp(t->name, name) != 0)
			continue;
		if (t->element_size != element_size || t->version != version)
			return NULL;
		if (capacity)
			*capacity = t->capacity;
		return (uint8_t *)s->base + t->offset;
	}
	return NULL;
}

bool bp_segment_fresh(const struct bp_segment *s)
{
	return s->fresh;
}

bool bp_segment_huge(const struct bp_segment *s)
{
	return s->huge;
}

const char *bp_segment_path(const struct bp_segment *s)
{
	return s->path;
}

uint64_t bp_segment_size(const struct bp_segment *s)
{
	return s->mapped;
}
