/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shm/hash.h"
#include "shm/segment_part.h"

#define TABLE_ALIGN 128u /* no element requires more */
#define SEGMENT_MAX (1ull << 46)

/* Offset of the table that follows one with this end. */
static uint64_t table_end(uint64_t end)
{
	return (end + TABLE_ALIGN - 1) & ~(uint64_t)(TABLE_ALIGN - 1);
}

/* Appends a table that ends at *end. Returns 0, or -1 with an error message. */
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

int bp_seg_headers_fill(struct header h[BP_SEG_PARTS], const struct bp_seg_spec *specs, unsigned n,
	char *err, size_t err_size)
{
	uint64_t end[BP_SEG_PARTS], layout = BP_SEG_ABI;

	if (n > BP_SEG_TABLES_MAX) {
		snprintf(err, err_size, "%u tables, but a segment has at most %u", n,
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
	for (unsigned p = 0; p < BP_SEG_PARTS; p++) {
		const uint64_t key[2] = {layout, p};

		h[p].size = h[p].n_tables != 0 ? end[p] : 0;
		layout = bp_hash_bytes(key, h[p].table, h[p].n_tables * sizeof(h[p].table[0]));
	}
	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		h[p].layout = layout;
	return 0;
}

/* Whether every table is inside the segment, one after the other. */
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

enum bp_seg_verdict bp_seg_header_read(struct header *h, const struct bp_seg_file *f, unsigned part,
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
	else if (h->magic == BP_SEG_CONDEMNED)
		snprintf(err, err_size, "segment %s has invalid contents", path);
	else if (h->magic != BP_SEG_MAGIC)
		snprintf(err, err_size, "%s is not a segment of biplane: wrong magic number", path);
	else if (h->abi != BP_SEG_ABI) {
		snprintf(err, err_size,
			"segment %s has ABI version %u, this program needs %u: another "
			"version of biplane created it; restart both planes",
			path, h->abi, BP_SEG_ABI);
		return BP_SEG_DIFFERS;
	} else if (h->size < sizeof(*h) || h->size > f->size)
		snprintf(err, err_size, "segment %s is cut short: %llu bytes, its header says %llu",
			path, (unsigned long long)f->size, (unsigned long long)h->size);
	else if (h->part != part || h->n_tables > BP_SEG_TABLES_MAX || !directory_valid(h))
		snprintf(err, err_size, "segment %s has a damaged table directory", path);
	else
		return BP_SEG_FITS;
	return BP_SEG_DAMAGED;
}

int bp_seg_tables_compare(const struct header *have, const struct header *want, const char *path,
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
