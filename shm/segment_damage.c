/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/segment_damage.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shm/segment_part.h"

#define CHUNK 16384u
#define QUARANTINE_MODE 0640

/* ---- files set aside ---- */

/* Half of the free space of the file system of `fd`: a file that is kept for analysis must not
 * take the memory that other users of it need. */
static uint64_t room(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 ? (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize / 2 : 0;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static ssize_t read_at(int fd, void *p, size_t n, uint64_t at)
{
	ssize_t got;

	do
		got = pread(fd, p, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got;
}

static bool write_at(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	while (n > 0) {
		const ssize_t done = pwrite(fd, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
		at += (uint64_t)done;
	}
	return true;
}

/* Omits zero pages, which fill most tables. */
static bool copy(int from, int to)
{
	uint8_t chunk[CHUNK];
	const uint64_t most = room(to);
	uint64_t at = 0, written = 0;
	ssize_t n;

	while ((n = read_at(from, chunk, sizeof(chunk), at)) > 0) {
		if (!is_zero(chunk, (size_t)n)) {
			written += (uint64_t)n;
			if (written > most || !write_at(to, chunk, (size_t)n, at))
				return false;
		}
		at += (uint64_t)n;
	}
	return n == 0 && ftruncate(to, (off_t)at) == 0;
}

static bool copy_to(int from, const char *path)
{
	bool done;
	int to;

	if (unlink(path) != 0 && errno != ENOENT)
		return false;
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, QUARANTINE_MODE);
	if (to < 0)
		return false;
	done = copy(from, to);
	if (!done)
		unlink(path);
	close(to);
	return done;
}

void bp_seg_quarantine_copy(const struct bp_seg_place *p, unsigned part, int fd, char *aside)
{
	aside[0] = '\0';
	if (copy_to(fd, p->damaged[part]))
		snprintf(aside, PATH_MAX, "%s", p->damaged[part]);
	else if (copy_to(fd, p->damaged_control[part]))
		snprintf(aside, PATH_MAX, "%s", p->damaged_control[part]);
}

void bp_seg_quarantine(const struct bp_seg_place *p, unsigned part, const char *path, char *aside)
{
	int fd;

	aside[0] = '\0';
	if (strcmp(path, p->plain[part]) == 0 && rename(path, p->damaged[part]) == 0) {
		snprintf(aside, PATH_MAX, "%s", p->damaged[part]);
		return;
	}
	/* the new segment and the packet buffers need its hugepages */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		bp_seg_quarantine_copy(p, part, fd, aside);
		close(fd);
	}
	unlink(path);
}

/* ---- users of the segment ---- */

int bp_seg_hold(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool held(const char *path)
{
	int fd = path[0] ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	bool is;

	if (fd < 0)
		return false;
	is = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	close(fd);
	return is;
}

bool bp_seg_in_use(const struct bp_seg_place *p)
{
	return held(p->huge[BP_SEG_DATA]) || held(p->plain[BP_SEG_DATA]);
}

bool bp_segment_in_use(const char *name, const char *hugepage_dir, const char *fallback_dir)
{
	struct bp_seg_place place;
	char ignored[256];
	bool is;
	int lock;

	if (bp_seg_place(&place, name, hugepage_dir, fallback_dir, ignored, sizeof(ignored)) != 0)
		return false;
	/* prevents a race with a process that is creating it */
	lock = bp_seg_lock(place.lock, true, ignored, sizeof(ignored));
	if (lock < 0)
		return false;
	is = bp_seg_in_use(&place);
	bp_seg_unlock(lock);
	return is;
}

/* ---- open parts ---- */

enum bp_seg_change bp_segment_change(
	const struct bp_segment *s, unsigned part, const char **why, const char **aside)
{
	const struct part *p = &s->part[part];

	*why = p->why;
	*aside = p->aside;
	return p->change;
}

unsigned bp_segment_quarantined(const struct bp_segment *s)
{
	unsigned n = 0;

	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		n += s->part[p].change == BP_SEG_QUARANTINED;
	return n;
}

bool bp_segment_restore(struct bp_segment *s, unsigned part)
{
	struct part *p = &s->part[part];
	const size_t before = offsetof(struct header, initialised);
	const size_t after = offsetof(struct header, part);
	uint8_t *file = (uint8_t *)p->base;
	const uint8_t *mine = (const uint8_t *)&p->header;

	if (!p->base || !p->writable)
		return false;
	if (memcmp(file, mine, before) == 0 &&
		memcmp(file + after, mine + after, sizeof(p->header) - after) == 0 &&
		atomic_load_explicit(&p->base->initialised, memory_order_relaxed) == 1)
		return false;
	memcpy(file + after, mine + after, sizeof(p->header) - after);
	atomic_store_explicit(&p->base->initialised, 1, memory_order_release);
	memcpy(file, mine, before);
	return true;
}

bool bp_segment_replaced(const struct bp_segment *s)
{
	for (unsigned p = 0; p < BP_SEG_PARTS; p++) {
		const struct part *part = &s->part[p];
		struct stat now;

		if (part->path[0] == '\0')
			continue;
		if (stat(part->path, &now) != 0
				? errno == ENOENT
				: now.st_ino != part->inode || now.st_dev != part->device)
			return true;
	}
	return false;
}

void bp_segment_condemn(struct bp_segment *s, unsigned part)
{
	struct part *p = &s->part[part];

	if (p->base && p->writable)
		p->base->magic = BP_SEG_CONDEMNED;
}
