/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/segment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "shm/segment_file.h"

#define TABLE_ALIGN 128u /* no element asks for more */
#define SEGMENT_MAX (1ull << 46)
#define HUGE_PAGE (2ull << 20)

/* At each file's start. Fixed once the file has its name, but for `initialised`. */
struct header {
	uint64_t magic;
	uint32_t abi;
	uint32_t n_tables;
	uint64_t size; /* bytes from the start to the end of the last table */
	_Atomic uint32_t initialised;
	uint32_t part; /* BP_SEG_DATA ... */
	uint32_t pad[8];
	struct bp_seg_table table[BP_SEG_TABLES_MAX];
};
_Static_assert(sizeof(struct header) == 64 + 64 * BP_SEG_TABLES_MAX, "header has holes");

struct part {
	struct header *base; /* NULL: there is no such part */
	uint64_t mapped;     /* bytes */
	bool fresh, huge;
	bool writable; /* may this process write it; a fresh one it may until it is initialised */
	char path[PATH_MAX];
	/* a copy that was checked: what others do to the file's can't mislead us */
	struct header header;
};

/* In front of memory that belongs to a mapping. */
struct private
{
	struct private *next;
}
__attribute__((aligned(64)));

struct bp_segment {
	struct part part[BP_SEG_PARTS];
	char lock[PATH_MAX];
	struct private *memory;
};

/* Where the table behind one that ends there begins. */
static uint64_t table_end(uint64_t end)
{
	return (end + TABLE_ALIGN - 1) & ~(uint64_t)(TABLE_ALIGN - 1);
}

/* Appends a table that ends at *end then. Returns 0, or -1 with a sentence. */
static int table_add(
	struct header *h, const struct bp_seg_spec *spec, uint64_t *end, char *err, size_t err_size)
{
	struct bp_seg_table *t = &h->table[h->n_tables];
	uint64_t bytes;

	memcpy(t->name, spec->name, strlen(spec->name));
	t->offset = *end;
	t->element_size = spec->element_size;
	t->capacity = spec->capacity;
	t->version = spec->version;
	if (t->element_size == 0 || t->capacity == 0 ||
		__builtin_mul_overflow(t->element_size, t->capacity, &bytes) ||
		bytes > SEGMENT_MAX - *end) {
		snprintf(err, err_size,
			"table %s of %llu elements of %llu bytes is empty or too large", t->name,
			(unsigned long long)t->capacity, (unsigned long long)t->element_size);
		return -1;
	}
	*end = table_end(*end + bytes);
	h->n_tables++;
	return 0;
}

static int spec_check(const struct bp_seg_spec *specs, unsigned i, char *err, size_t err_size)
{
	const size_t len = strlen(specs[i].name);

	if (len == 0 || len >= BP_SEG_TABLE_NAME) {
		snprintf(err, err_size, "table name \"%s\" must have 1 to %u bytes", specs[i].name,
			BP_SEG_TABLE_NAME - 1);
		return -1;
	}
	for (unsigned k = 0; k < i; k++) {
		if (strcmp(specs[k].name, specs[i].name) == 0) {
			snprintf(err, err_size, "table %s is asked for twice", specs[i].name);
			return -1;
		}
	}
	return 0;
}

/* The headers of the parts for `specs`: the same specs give the same offsets. A part without tables
 * has size 0. Returns 0, or -1 with a sentence. */
static int headers_fill(struct header h[BP_SEG_PARTS], const struct bp_seg_spec *specs, unsigned n,
	char *err, size_t err_size)
{
	uint64_t end[BP_SEG_PARTS];

	if (n > BP_SEG_TABLES_MAX) {
		snprintf(err, err_size, "%u tables asked for, a segment takes %u", n,
			BP_SEG_TABLES_MAX);
		return -1;
	}
	for (unsigned p = 0; p < BP_SEG_PARTS; p++) {
		memset(&h[p], 0, sizeof(h[p]));
		h[p].magic = BP_SEG_MAGIC;
		h[p].abi = BP_SEG_ABI;
		h[p].part = p;
		end[p] = table_end(sizeof(h[p]));
	}
	for (unsigned i = 0; i < n; i++) {
		const unsigned p = specs[i].part;

		if (spec_check(specs, i, err, err_size) != 0 ||
			table_add(&h[p], &specs[i], &end[p], err, err_size) != 0)
			return -1;
	}
	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		h[p].size = h[p].n_tables != 0 ? end[p] : 0;
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
static int header_read(struct header *h, const struct bp_seg_file *f, unsigned part,
	const char *path, char *err, size_t err_size)
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
	else if (h->part != part || h->n_tables > BP_SEG_TABLES_MAX || !directory_valid(h))
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
static int open_existing(struct part *out, unsigned part, const char *path,
	const struct header *want, bool writable, bool *bad, char *err, size_t err_size)
{
	struct bp_seg_file f;
	void *base;
	int rc = bp_seg_file_open(&f, path, writable, err, err_size);

	*bad = false;
	if (rc <= 0)
		return rc;
	if (header_read(&out->header, &f, part, path, err, err_size) != 0 ||
		(want && tables_compare(&out->header, want, path, err, err_size) != 0)) {
		*bad = true;
		goto fail;
	}
	out->mapped = bp_seg_file_round(f.fd, out->header.size);
	base = mmap(NULL, out->mapped, PROT_READ | (writable ? PROT_WRITE : 0),
		MAP_SHARED | (want ? MAP_POPULATE : 0), f.fd, 0);
	if (base == MAP_FAILED) {
		snprintf(err, err_size, "can't map %llu bytes of segment %s: %s",
			(unsigned long long)out->mapped, path, strerror(errno));
		goto fail;
	}
	close(f.fd);
	out->base = base;
	out->huge = f.huge;
	out->writable = writable;
	snprintf(out->path, sizeof(out->path), "%s", path);
	return 1;
fail:
	close(f.fd);
	return -1;
}

/* Makes the file at `path` whole under another name, then gives it its own. */
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
	close(f.fd);
	out->base = f.base;
	out->mapped = f.size;
	out->huge = f.huge;
	out->fresh = true;
	memcpy(&out->header, want, sizeof(*want));
	snprintf(out->path, sizeof(out->path), "%s", path);
	return 0;
}

/* On hugepages if there are enough, else beside them. What was there under the name is gone then.
 */
static int create_somewhere(struct part *out, const struct bp_seg_place *p,
	const struct header *want, char *err, size_t err_size)
{
	const char *huge = p->huge[want->part], *plain = p->plain[want->part];

	if (huge[0]) {
		int rc = create(out, huge, p->lock, want, err, err_size);

		/* an old segment that nobody maps may hold the very pages that are lacking */
		if (rc != 0 && unlink(huge) == 0)
			rc = create(out, huge, p->lock, want, err, err_size);
		if (rc == 0) {
			unlink(plain);
			return 0;
		}
	}
	return create(out, plain, p->lock, want, err, err_size);
}

static int open_locked(struct part *out, const struct bp_seg_place *p, const struct header *want,
	bool writable, bool owner, char *err, size_t err_size)
{
	const char *paths[2] = {p->huge[want->part], p->plain[want->part]};
	char hint[64 + sizeof(p->plain[0])];
	bool bad;

	out->writable = writable;
	for (unsigned i = 0; i < 2; i++) {
		int rc;

		if (paths[i][0] == '\0')
			continue;
		rc = open_existing(out, want->part, paths[i], want, writable, &bad, err, err_size);
		if (rc > 0)
			return 0;
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
		return -1;
	}
	return create_somewhere(out, p, want, err, err_size);
}

static bool writes(unsigned how, unsigned part)
{
	return !(part == BP_SEG_DATA && (how & BP_SEG_READ_DATA)) &&
	       !(part == BP_SEG_CONTROL && (how & BP_SEG_READ_CONTROL));
}

struct bp_segment *bp_segment_open(const char *name, const char *hugepage_dir,
	const char *fallback_dir, const struct bp_seg_spec *specs, unsigned n_specs, unsigned how,
	char *err, size_t err_size)
{
	struct header want[BP_SEG_PARTS];
	struct bp_seg_place place;
	struct bp_segment *s;
	int lock, rc = 0;

	if (headers_fill(want, specs, n_specs, err, err_size) != 0 ||
		bp_seg_place(&place, name, hugepage_dir, fallback_dir, err, err_size) != 0)
		return NULL;
	s = segment_new(err, err_size);
	lock = s ? bp_seg_lock(place.lock, err, err_size) : -1;
	if (lock < 0) {
		free(s);
		return NULL;
	}
	snprintf(s->lock, sizeof(s->lock), "%s", place.lock);
	for (unsigned p = 0; p < BP_SEG_PARTS && rc == 0; p++) {
		if (want[p].size != 0)
			rc = open_locked(&s->part[p], &place, &want[p], writes(how, p),
				how & BP_SEG_OWNER, err, err_size);
	}
	bp_seg_unlock(lock);
	if (rc == 0)
		return s;
	bp_segment_close(s);
	return NULL;
}

/* Returns 1, 0 when there is none, -1 with a sentence. */
static int attach_part(
	struct part *out, unsigned part, const struct bp_seg_place *p, char *err, size_t err_size)
{
	bool bad;
	int rc = 0;

	if (p->huge[part][0])
		rc = open_existing(out, part, p->huge[part], NULL, false, &bad, err, err_size);
	if (rc == 0)
		rc = open_existing(out, part, p->plain[part], NULL, false, &bad, err, err_size);
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
	snprintf(s->lock, sizeof(s->lock), "%s", p.lock);
	for (unsigned i = 0; i < BP_SEG_PARTS && rc >= 0; i++) {
		rc = attach_part(&s->part[i], i, &p, err, err_size);
		if (rc == 0 && i == BP_SEG_DATA) {
			snprintf(err, err_size,
				"there is no segment %s%s%s; is biplane %s running?",
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

	/* whole large pages, which the kernel may then use: fewer TLB misses */
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

	if (headers_fill(want, specs, n_specs, err, err_size) != 0)
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
	lock = bp_seg_lock(p.lock, err, sizeof(err));
	if (lock < 0)
		return -1;
	for (unsigned i = 0; i < BP_SEG_PARTS; i++) {
		int huge, plain;

		/* half made by one who was killed */
		if (p.huge[i][0])
			bp_seg_file_discard(&none, p.huge[i]);
		bp_seg_file_discard(&none, p.plain[i]);
		huge = unlink_one(p.huge[i], &removed);
		plain = unlink_one(p.plain[i], &removed);
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

/* A part that this process made and is not to write. */
static int give_up_writing(struct part *p, char *err, size_t err_size)
{
	if (!p->fresh || p->writable || mprotect(p->base, p->mapped, PROT_READ) == 0)
		return 0;
	snprintf(err, err_size, "segment %s can't be made read-only: %s", p->path, strerror(errno));
	return -1;
}

/* For 3 s at most: it takes its writer some microseconds. */
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
		/* Its writer is just coming, with the key of the hashes in it. One that died right
		 * there left memory that is all zero, which is harmless to a plane. */
		if (!writes_none(s)) {
			wait_initialised(p);
			return 0;
		}
		snprintf(err, err_size, "segment %s is just being made; try again", p->path);
		return -1;
	}
	if (p->path[0]) {
		lock = bp_seg_lock(s->lock, err, err_size);
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
