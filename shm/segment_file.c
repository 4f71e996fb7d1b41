/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shm/plane_dirs.h"
#include "shm/segment.h"

#define NAME_MAX_LEN 64
#define MODE 0660 /* planes may run as two users of one group */
/* Between two users with their own directories: a user with access to the directory may read the
 * segment. */
#define DATA_MODE 0644
#define SHARED_MODE 0664

static const char *const suffix[BP_SEG_PARTS] = {
	[BP_SEG_DATA] = "seg", [BP_SEG_CONTROL] = "seg-control", [BP_SEG_SHARED] = "seg-shared"};

static bool is_hugetlbfs(const char *dir)
{
	struct statfs fs;

	return dir && statfs(dir, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

const char *bp_hugepage_dir(void)
{
	static char dir[PATH_MAX];
	char line[PATH_MAX + 512];
	struct mntent entry;
	const char *found = NULL;
	FILE *mounts = setmntent("/proc/self/mounts", "re");

	if (!mounts)
		return NULL;
	while (!found && getmntent_r(mounts, &entry, line, sizeof(line))) {
		if (strcmp(entry.mnt_type, "hugetlbfs") != 0)
			continue;
		if (snprintf(dir, sizeof(dir), "%s", entry.mnt_dir) < (int)sizeof(dir))
			found = dir;
	}
	endmntent(mounts);
	return found;
}

/* Reserves space for a temporary suffix. */
static bool file_path(char *out, const char *dir, const char *name, const char *ending)
{
	return snprintf(out, PATH_MAX, "%s/biplane-%s.%s", dir, name, ending) < PATH_MAX - 16;
}

static bool damaged_path(char *out, const char *dir, const char *name, const char *ending)
{
	return snprintf(out, PATH_MAX, "%s/biplane-%s.%s.damaged", dir, name, ending) < PATH_MAX;
}

static bool place(
	struct bp_seg_place *p, const char *name, const char *hugepage_dir, const char *runtime)
{
	char plain[PATH_MAX], huge[PATH_MAX], control[PATH_MAX];
	const bool on_huge = is_hugetlbfs(hugepage_dir);

	memset(p, 0, sizeof(*p));
	if (!bp_data_dir(runtime, plain, sizeof(plain)) ||
		!bp_control_dir(runtime, control, sizeof(control)) ||
		(on_huge && !bp_huge_dir(hugepage_dir, runtime, huge, sizeof(huge))))
		return false;
	for (unsigned i = 0; i < BP_SEG_PARTS; i++) {
		if (!file_path(p->plain[i], plain, name, suffix[i]) ||
			!damaged_path(p->damaged[i], plain, name, suffix[i]) ||
			!damaged_path(p->damaged_control[i], control, name, suffix[i]) ||
			(on_huge && !file_path(p->huge[i], huge, name, suffix[i])))
			return false;
	}
	return file_path(p->lock, plain, name, "lock");
}

int bp_seg_place(struct bp_seg_place *p, const char *name, const char *hugepage_dir,
	const char *fallback_dir, char *err, size_t err_size)
{
	const size_t len = strlen(name);

	if (len == 0 || len > NAME_MAX_LEN || strchr(name, '/')) {
		snprintf(err, err_size,
			"\"%s\" is not a segment name; use 1 to %d bytes without a slash", name,
			NAME_MAX_LEN);
		return -1;
	}
	if (place(p, name, hugepage_dir, fallback_dir ? fallback_dir : BP_SEG_FALLBACK_DIR))
		return 0;
	snprintf(
		err, err_size, "the path of segment %s is too long; use shorter directories", name);
	return -1;
}

/* Whether `path` still names the file that `fd` is open on. */
static bool same_file(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static void not_shared(const char *path, int e, char *err, size_t err_size)
{
	snprintf(err, err_size,
		"cannot give %s to the control plane's group: %s; the data plane's user must be in "
		"the group of the directory " BP_CONTROL_SUBDIR " next to its own",
		path, strerror(e));
}

int bp_seg_share(
	const struct bp_seg_file *f, unsigned part, const char *lock, char *err, size_t err_size)
{
	int e = bp_control_share(f->fd, lock, part == BP_SEG_DATA ? DATA_MODE : SHARED_MODE);

	if (e != 0)
		not_shared("the segment", e, err, err_size);
	return e == 0 ? 0 : -1;
}

int bp_seg_lock(const char *path, bool wait, char *err, size_t err_size)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, MODE);
		int rc = fd < 0 ? 0 : bp_control_share(fd, path, MODE);

		if (fd < 0) {
			snprintf(err, err_size,
				"cannot open the lock file %s: %s; its directory must exist and be "
				"writable for biplane",
				path, strerror(errno));
			return -1;
		}
		if (rc != 0) {
			not_shared(path, rc, err, err_size);
			close(fd);
			return -1;
		}
		do
			rc = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
		while (rc != 0 && errno == EINTR);
		if (rc != 0) {
			snprintf(err, err_size, "cannot lock %s: %s", path, strerror(errno));
			close(fd);
			return -1;
		}
		/* bp_segment_unlink() removes the lock file, perhaps while we waited for it */
		if (same_file(fd, path))
			return fd;
		close(fd);
	}
}

void bp_seg_unlock(int fd)
{
	close(fd);
}

static void temporary(char *out, const char *path)
{
	snprintf(out, PATH_MAX, "%.*s.tmp", PATH_MAX - 5, path);
}

uint64_t bp_seg_file_round(int fd, uint64_t size)
{
	struct statfs fs;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC)
		page = (uint64_t)fs.f_bsize;
	if (size > INT64_MAX - page)
		return 0;
	return (size + page - 1) / page * page;
}

static bool on_hugetlbfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

/* Sets the size of the file and allocates every page. Returns 0 or an errno. */
static int allocate(const struct bp_seg_file *f)
{
	int e;

	if (f->size == 0)
		return EFBIG;
	if (ftruncate(f->fd, (off_t)f->size) != 0)
		return errno;
	do
		e = fallocate(f->fd, 0, 0, (off_t)f->size) == 0 ? 0 : errno;
	while (e == EINTR);
	if (e == EOPNOTSUPP && !f->huge)
		e = posix_fallocate(f->fd, 0, (off_t)f->size);
	return e;
}

/* And maps it. */
static int fill(struct bp_seg_file *f)
{
	const int e = allocate(f);

	if (e != 0)
		return e;
	f->base = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, f->fd, 0);
	if (f->base == MAP_FAILED) {
		f->base = NULL;
		return errno;
	}
	return 0;
}

static void no_room(
	const struct bp_seg_file *f, const char *path, uint64_t size, int e, char *err, size_t n)
{
	snprintf(err, n, "no space for %llu bytes in %s: %s; %s", (unsigned long long)size, path,
		strerror(e),
		f->huge ? "raise vm.nr_hugepages"
			: "free memory there, or lower mqtt.max_connections, mqtt.max_alarm_states "
			  "or "
			  "mqtt.max_rules");
}

int bp_seg_file_grow(
	struct bp_seg_file *f, const char *path, uint64_t size, char *err, size_t err_size)
{
	const uint64_t had = f->size;
	int e;

	f->size = bp_seg_file_round(f->fd, size);
	if (f->size != 0 && f->size < had)
		f->size = had; /* another process may have the end of it mapped */
	e = allocate(f);
	if (e != 0)
		no_room(f, path, size, e, err, err_size);
	return e == 0 ? 0 : -1;
}

int bp_seg_file_make(
	struct bp_seg_file *f, const char *path, uint64_t size, char *err, size_t err_size)
{
	char tmp[PATH_MAX];
	int e;

	memset(f, 0, sizeof(*f));
	temporary(tmp, path);
	unlink(tmp); /* remains of a process that died here; this process holds the lock */
	f->fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, MODE);
	if (f->fd < 0) {
		snprintf(err, err_size,
			"cannot create %s: %s; the directory must be writable for biplane", tmp,
			strerror(errno));
		return -1;
	}
	f->huge = on_hugetlbfs(f->fd);
	f->size = bp_seg_file_round(f->fd, size);
	e = fill(f);
	if (e != 0) {
		no_room(f, path, size, e, err, err_size);
		bp_seg_file_discard(f, path);
		return -1;
	}
	return 0;
}

int bp_seg_file_publish(const char *path, char *err, size_t err_size)
{
	char tmp[PATH_MAX];

	temporary(tmp, path);
	if (rename(tmp, path) == 0)
		return 0;
	snprintf(err, err_size, "cannot rename %s to %s: %s", tmp, path, strerror(errno));
	return -1;
}

void bp_seg_file_discard(struct bp_seg_file *f, const char *path)
{
	char tmp[PATH_MAX];

	temporary(tmp, path);
	unlink(tmp);
	if (f->base)
		munmap(f->base, f->size);
	if (f->fd >= 0)
		close(f->fd);
	f->base = NULL;
	f->fd = -1;
}

/*
 * In a world-writable directory, such as /dev/shm, another user may have created the file first.
 */
static bool is_not_biplane(const struct stat *file, const char *path)
{
	char copy[PATH_MAX];
	struct stat dir;

	snprintf(copy, sizeof(copy), "%s", path);
	if (stat(dirname(copy), &dir) != 0 || !(dir.st_mode & S_IWOTH))
		return false;
	return file->st_uid != 0 && file->st_uid != geteuid();
}

int bp_seg_file_open(
	struct bp_seg_file *f, const char *path, bool writable, char *err, size_t err_size)
{
	struct stat st;

	memset(f, 0, sizeof(*f));
	f->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0 && errno == ENOENT)
		return 0;
	if (f->fd < 0) {
		snprintf(err, err_size, "cannot open the segment %s: %s", path, strerror(errno));
		return -1;
	}
	if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		snprintf(err, err_size, "%s is not a regular file; remove it", path);
		close(f->fd);
		return -1;
	}
	if (is_not_biplane(&st, path)) {
		snprintf(err, err_size,
			"%s belongs to another user (uid %u) in a directory that everybody may "
			"write "
			"to; remove it",
			path, (unsigned)st.st_uid);
		close(f->fd);
		return -1;
	}
	f->size = (uint64_t)st.st_size;
	f->huge = on_hugetlbfs(f->fd);
	return 1;
}
