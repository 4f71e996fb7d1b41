/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/segment.h"
#include "test.h"

static const struct bp_seg_spec specs[] = {
	{"numbers", sizeof(uint64_t), 1000, 1},
	{"bytes", 1, 77, 3},
	{"wide", 256, 40, 1},
};
#define N_SPECS 3u

static char dir[64];
static char path[PATH_MAX];
static char err[1024];

static int make_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/biplane-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/biplane-t.seg", dir);
	err[0] = '\0';
	return 0;
}

static int remove_dir(void **state)
{
	bp_segment_unlink("t", NULL, dir);
	return rmdir(dir);
}

static struct bp_segment *open_as(bool owner)
{
	err[0] = '\0';
	return bp_segment_open("t", NULL, dir, specs, N_SPECS, owner, err, sizeof(err));
}

static struct bp_segment *attach(void)
{
	err[0] = '\0';
	return bp_segment_attach("t", NULL, dir, err, sizeof(err));
}

/* Opens, and complains with what was said if that fails. */
static struct bp_segment *must(struct bp_segment *s)
{
	if (!s)
		fail_msg("%s", err);
	return s;
}

/* A refusal comes with a sentence that has `word` in it. */
static void refused(struct bp_segment *s, const char *word)
{
	assert_null(s);
	assert_true(strlen(err) > 10);
	if (!strstr(err, word))
		fail_msg("\"%s\" does not say \"%s\"", err, word);
}

static void what_one_writes_the_other_reads(void **state)
{
	struct bp_segment *a = must(open_as(true)), *b, *c;
	uint64_t capacity = 0;
	uint64_t *x, *y;

	assert_true(bp_segment_fresh(a));
	assert_false(bp_segment_huge(a));
	assert_string_equal(bp_segment_path(a), path);
	x = bp_segment_table(a, "numbers", sizeof(uint64_t), 1, &capacity);
	assert_non_null(x);
	assert_int_equal(capacity, 1000);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(x[i] == 0);
	b = must(open_as(false));
	assert_false(bp_segment_fresh(b));
	assert_int_equal(bp_segment_size(a), bp_segment_size(b));
	c = must(attach());
	x[999] = 42;
	y = bp_segment_table(b, "numbers", sizeof(uint64_t), 1, NULL);
	assert_true(y[999] == 42);
	y = bp_segment_table(c, "numbers", sizeof(uint64_t), 1, NULL);
	assert_true(y[999] == 42);
	bp_segment_close(a);
	bp_segment_close(b);
	bp_segment_close(c);
	a = must(open_as(true)); /* it outlives its mappings */
	assert_false(bp_segment_fresh(a));
	x = bp_segment_table(a, "numbers", sizeof(uint64_t), 1, NULL);
	assert_true(x[999] == 42);
	bp_segment_close(a);
}

static void tables_are_aligned_and_apart(void **state)
{
	struct bp_segment *s = must(open_as(true));
	const uint8_t *end = NULL;

	for (unsigned i = 0; i < N_SPECS; i++) {
		uint8_t *t = bp_segment_table(
			s, specs[i].name, specs[i].element_size, specs[i].version, NULL);

		assert_non_null(t);
		assert_int_equal((uintptr_t)t % 64, 0);
		assert_true(!end || t >= end);
		end = t + specs[i].element_size * specs[i].capacity;
		memset(t, 0xff, specs[i].element_size * specs[i].capacity);
	}
	assert_null(bp_segment_table(s, "numbers", 4, 1, NULL));
	assert_null(bp_segment_table(s, "numbers", sizeof(uint64_t), 2, NULL));
	assert_null(bp_segment_table(s, "number", sizeof(uint64_t), 1, NULL));
	bp_segment_close(s);
}

static void specs_that_can_not_be_are_refused(void **state)
{
	const struct bp_seg_spec bad[][2] = {
		{{"a", 0, 1, 1}, {"b", 1, 1, 1}},
		{{"a", 1, 0, 1}, {"b", 1, 1, 1}},
		{{"a", 1ull << 40, 1ull << 40, 1}, {"b", 1, 1, 1}},
		{{"a", 1, UINT64_MAX, 1}, {"b", 1, 1, 1}},
		{{"a", 1, 1ull << 45, 1}, {"b", 1, 1ull << 45, 1}},
		{{"", 1, 1, 1}, {"b", 1, 1, 1}},
		{{"a", 1, 1, 1}, {"a", 1, 1, 1}},
		{{"a", 1, 1, 1}, {"01234567890123456789012345678901", 1, 1, 1}},
	};
	struct bp_seg_spec many[BP_SEG_TABLES_MAX + 1];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		refused(bp_segment_open("t", NULL, dir, bad[i], 2, true, err, sizeof(err)),
			"table");
		refused(bp_segment_anonymous(bad[i], 2, err, sizeof(err)), "table");
	}
	memset(many, 0, sizeof(many));
	refused(bp_segment_anonymous(many, BP_SEG_TABLES_MAX + 1, err, sizeof(err)), "65 tables");
	refused(bp_segment_open("a/b", NULL, dir, specs, N_SPECS, true, err, sizeof(err)), "slash");
	refused(bp_segment_open("", NULL, dir, specs, N_SPECS, true, err, sizeof(err)), "name");
	assert_int_equal(access(path, F_OK), -1);
}

static void a_full_directory_works(void **state)
{
	struct bp_seg_spec many[BP_SEG_TABLES_MAX];
	char names[BP_SEG_TABLES_MAX][BP_SEG_TABLE_NAME];
	struct bp_segment *s;

	for (unsigned i = 0; i < BP_SEG_TABLES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "table-%025u", i);
		many[i] = (struct bp_seg_spec){names[i], i + 1, i + 1, i};
	}
	s = must(bp_segment_open("t", NULL, dir, many, BP_SEG_TABLES_MAX, true, err, sizeof(err)));
	for (unsigned i = 0; i < BP_SEG_TABLES_MAX; i++)
		assert_non_null(bp_segment_table(s, names[i], i + 1, i, NULL));
	bp_segment_close(s);
}

static void a_missing_segment_is_said(void **state)
{
	refused(attach(), "no segment");
	refused(bp_segment_open(
			"t", NULL, "/nonexistent/dir", specs, N_SPECS, true, err, sizeof(err)),
		"/nonexistent/dir");
}

static void other_tables_are_replaced_by_the_owner_only(void **state)
{
	const struct bp_seg_spec changed[][3] = {
		{{"numbers", 8, 1001, 1}, specs[1], specs[2]},
		{{"numbers", 16, 1000, 1}, specs[1], specs[2]},
		{{"numbers", 8, 1000, 2}, specs[1], specs[2]},
		{{"others", 8, 1000, 1}, specs[1], specs[2]},
		{specs[1], specs[0], specs[2]},
	};

	for (unsigned i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		struct bp_segment *old = must(open_as(true)), *fresh;
		uint64_t *x = bp_segment_table(old, "numbers", 8, 1, NULL);

		x[5] = 5;
		refused(bp_segment_open("t", NULL, dir, changed[i], 3, false, err, sizeof(err)),
			path);
		fresh = must(
			bp_segment_open("t", NULL, dir, changed[i], 3, true, err, sizeof(err)));
		assert_true(bp_segment_fresh(fresh));
		assert_true(x[5] == 5); /* the old mapping stays */
		x[5] = 6;
		bp_segment_close(fresh);
		bp_segment_close(old);
		bp_segment_unlink("t", NULL, dir);
	}
}

static void fewer_and_more_tables_differ(void **state)
{
	struct bp_segment *s = must(open_as(true));

	bp_segment_close(s);
	refused(bp_segment_open("t", NULL, dir, specs, 2, false, err, sizeof(err)), "3 tables");
	s = must(bp_segment_open("t", NULL, dir, specs, 2, true, err, sizeof(err)));
	assert_true(bp_segment_fresh(s));
	bp_segment_close(s);
	refused(open_as(false), "wide");
}

static void unlink_says_whether_there_was_one(void **state)
{
	bp_segment_close(must(open_as(true)));
	assert_int_equal(bp_segment_unlink("t", NULL, dir), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(bp_segment_unlink("t", NULL, dir), -1);
	assert_int_equal(errno, ENOENT);
}

static void what_a_dead_maker_left_is_no_obstacle(void **state)
{
	char tmp[PATH_MAX + 8];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	f = fopen(tmp, "w");
	assert_non_null(f);
	fputs("half a header", f);
	fclose(f);
	bp_segment_close(must(open_as(false)));
	assert_int_equal(access(tmp, F_OK), -1);
}

static void anonymous_memory_has_the_same_tables(void **state)
{
	struct bp_segment *s = must(bp_segment_anonymous(specs, N_SPECS, err, sizeof(err)));
	uint8_t *t = bp_segment_table(s, "wide", 256, 1, NULL);

	assert_true(bp_segment_fresh(s));
	assert_string_equal(bp_segment_path(s), "");
	assert_non_null(t);
	memset(t, 1, 256 * 40);
	bp_segment_close(s);
	bp_segment_close(NULL);
}

static void a_reader_can_not_write(void **state)
{
	uint64_t *x;
	struct bp_segment *s;
	int status;
	pid_t pid;

	bp_segment_close(must(open_as(true)));
	s = must(attach());
	x = bp_segment_table(s, "numbers", 8, 1, NULL);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile uint64_t *)x = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	bp_segment_close(s);
}

/* --- damaged files ----------------------------------------------------------------------- */

static void overwrite(off_t at, const void *p, size_t n)
{
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, p, n, at), n);
	close(fd);
}

static void put64(off_t at, uint64_t v)
{
	overwrite(at, &v, sizeof(v));
}

static void damage_is_said_and_healed_by_the_owner(void **state)
{
	/* offsets as struct header and struct bp_seg_table have them */
	const off_t table0 = 64, table1 = 128;
	const struct {
		off_t at;
		uint64_t value;
		const char *word;
	} damage[] = {
		{0, 0, "magic"},
		{8, (BP_SEG_ABI + 1) | (uint64_t)N_SPECS << 32, "ABI version"},
		{8, BP_SEG_ABI | (uint64_t)65 << 32, "directory"},
		{8, BP_SEG_ABI | (uint64_t)UINT32_MAX << 32, "directory"},
		{8, BP_SEG_ABI | (uint64_t)4 << 32,
			"directory"}, /* a fourth table without a name */
		{16, 0, "cut short"},
		{16, UINT64_MAX, "cut short"},
		{16, 1ull << 40, "cut short"},
		{16, 64 * 66, "directory"},
		{table0, 0, "directory"},
		{table0 + 32, 0, "directory"},
		{table0 + 32, 64, "directory"},
		{table0 + 32, 64 * 65 + 8, "directory"},
		{table0 + 32, UINT64_MAX - 63, "directory"},
		{table0 + 40, 0, "directory"},
		{table0 + 40, UINT64_MAX, "directory"},
		{table0 + 40, 1ull << 61, "directory"},
		{table0 + 48, 0, "directory"},
		{table0 + 48, UINT64_MAX, "directory"},
		{table0 + 48, 1ull << 61, "directory"},
		{table0 + 48, 4000, "directory"},
		{table1 + 32, 64 * 65, "directory"},
	};

	for (unsigned i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		struct bp_segment *s = must(open_as(true));

		assert_true(bp_segment_fresh(s));
		bp_segment_close(s);
		put64(damage[i].at, damage[i].value);
		refused(attach(), damage[i].word);
		refused(open_as(false), damage[i].word);
		s = must(open_as(true));
		assert_true(bp_segment_fresh(s));
		bp_segment_close(s);
		bp_segment_close(must(attach()));
		bp_segment_unlink("t", NULL, dir);
	}
}

static void a_name_without_end_is_damage(void **state)
{
	char name[BP_SEG_TABLE_NAME];

	memset(name, 'x', sizeof(name));
	bp_segment_close(must(open_as(true)));
	overwrite(64, name, sizeof(name));
	refused(attach(), "directory");
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	struct bp_segment *s = must(open_as(true));
	const uint64_t size = bp_segment_size(s);

	bp_segment_close(s);
	for (int64_t cut = (int64_t)size - 4096; cut >= 0; cut -= cut > 8192 ? 1000 : 97) {
		assert_int_equal(truncate(path, cut), 0);
		refused(attach(), "cut short");
		refused(open_as(false), "cut short");
	}
	assert_int_equal(truncate(path, 0), 0);
	refused(attach(), "cut short");
	s = must(open_as(true));
	assert_true(bp_segment_fresh(s));
	bp_segment_close(s);
}

/* Whatever the first bytes are: refused, or every table can be read from end to end. */
static void random_damage(void **state)
{
	uint64_t seed = 5, sum = 0;
	unsigned taken = 0;

	bp_segment_close(must(open_as(true)));
	for (unsigned i = 0; i < 3000; i++) {
		struct bp_segment *s;
		uint8_t saved[256], bytes[256];
		int fd = open(path, O_RDWR);

		assert_int_equal(pread(fd, saved, sizeof(saved), 0), sizeof(saved));
		memcpy(bytes, saved, sizeof(bytes));
		for (unsigned k = 1 + test_below(&seed, 3); k > 0; k--)
			bytes[test_below(&seed, 256)] ^= (uint8_t)(1u << test_below(&seed, 8));
		assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
		s = attach();
		if (s) {
			taken++;
			for (unsigned t = 0; t < N_SPECS; t++) {
				uint64_t capacity;
				const uint8_t *p = bp_segment_table(s, specs[t].name,
					specs[t].element_size, specs[t].version, &capacity);

				for (uint64_t b = 0; p && b < capacity * specs[t].element_size; b++)
					sum += p[b];
			}
			bp_segment_close(s);
		} else {
			assert_true(strlen(err) > 10);
		}
		assert_int_equal(pwrite(fd, saved, sizeof(saved), 0), sizeof(saved));
		close(fd);
	}
	assert_int_equal(sum, 0);
	assert_in_range(taken, 1, 2999);
}

static void what_is_no_file_is_refused(void **state)
{
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(attach(), "regular");
	refused(open_as(true), "regular");
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	refused(attach(), path);
	refused(open_as(true), path);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	refused(attach(), path);
	rmdir(path);
}

static void a_strangers_file_is_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	bp_segment_close(must(open_as(true)));
	assert_int_equal(chown(path, 12345, 12345), 0);
	bp_segment_close(must(attach())); /* nobody else could have put it there */
	assert_int_equal(chmod(dir, 01777), 0);
	refused(attach(), "uid 12345");
	refused(open_as(true), "uid 12345");
	assert_int_equal(chmod(dir, 0700), 0);
}

/* --- several processes ------------------------------------------------------------------- */

#define RACERS 8

/* Runs `what` in RACERS processes that start together; returns the sum of their exit codes. */
static int race(int (*what)(unsigned))
{
	int gate[2], sum = 0, status;
	pid_t pid[RACERS];
	char c;

	assert_int_equal(pipe(gate), 0);
	for (unsigned i = 0; i < RACERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(gate[1]);
			if (read(gate[0], &c, 1) != 0) /* until the parent closes its end */
				_exit(100);
			_exit(what(i));
		}
		assert_true(pid[i] > 0);
	}
	close(gate[0]);
	close(gate[1]);
	for (unsigned i = 0; i < RACERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		sum += WEXITSTATUS(status);
	}
	return sum;
}

static int open_and_count(unsigned i)
{
	struct bp_segment *s = open_as(i % 2);
	_Atomic uint64_t *x = s ? bp_segment_table(s, "numbers", 8, 1, NULL) : NULL;

	if (!x)
		return 100;
	atomic_fetch_add(x, 1);
	return bp_segment_fresh(s);
}

static void one_of_many_creates(void **state)
{
	for (unsigned round = 0; round < 20; round++) {
		struct bp_segment *s;
		uint64_t *x;

		assert_int_equal(race(open_and_count), 1);
		s = must(open_as(false));
		x = bp_segment_table(s, "numbers", 8, 1, NULL);
		assert_true(*x == RACERS);
		bp_segment_close(s);
		assert_int_equal(bp_segment_unlink("t", NULL, dir), 0);
	}
}

static int open_or_unlink(unsigned i)
{
	for (unsigned round = 0; round < 30; round++) {
		struct bp_segment *s;

		if (i == 0) {
			bp_segment_unlink("t", NULL, dir);
			continue;
		}
		s = i % 2 ? open_as(true) : attach();
		if (!s) {
			if (i % 2 || !strstr(err, "no segment"))
				return 1;
			continue;
		}
		if (!bp_segment_table(s, "wide", 256, 1, NULL))
			return 1;
		bp_segment_close(s);
	}
	return 0;
}

static void nobody_ever_sees_half_a_segment(void **state)
{
	assert_int_equal(race(open_or_unlink), 0);
}

static void count_init(void *arg)
{
	_Atomic uint64_t *x = arg;

	atomic_fetch_add(&x[1], 1);
	for (unsigned i = 0; i < 100; i++)
		sched_yield();
	atomic_store(&x[2], 1); /* done */
}

static int initialise(unsigned i)
{
	struct bp_segment *s = open_as(false);
	_Atomic uint64_t *x = s ? bp_segment_table(s, "numbers", 8, 1, NULL) : NULL;

	if (!x || bp_segment_initialise(s, count_init, x, err, sizeof(err)) != 0)
		return 100;
	return x[2] == 1 ? 0 : 1;
}

static void one_of_many_initialises(void **state)
{
	for (unsigned round = 0; round < 20; round++) {
		struct bp_segment *s;
		uint64_t *x;

		assert_int_equal(race(initialise), 0);
		s = must(open_as(false));
		x = bp_segment_table(s, "numbers", 8, 1, NULL);
		assert_true(x[1] == 1);
		bp_segment_close(s);
		assert_int_equal(bp_segment_unlink("t", NULL, dir), 0);
	}
}

static void die(void *arg)
{
	kill(getpid(), SIGKILL);
}

static void a_death_while_initialising_is_made_good(void **state)
{
	struct bp_segment *s = must(open_as(true)), *reader;
	uint64_t *x = bp_segment_table(s, "numbers", 8, 1, NULL);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		bp_segment_initialise(s, die, NULL, err, sizeof(err));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	reader = must(attach());
	assert_int_equal(bp_segment_initialise(reader, count_init, NULL, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "try again"));
	assert_int_equal(bp_segment_initialise(s, count_init, x, err, sizeof(err)), 0);
	assert_int_equal(bp_segment_initialise(s, count_init, x, err, sizeof(err)), 0);
	assert_true(x[1] == 1);
	assert_int_equal(bp_segment_initialise(reader, count_init, NULL, err, sizeof(err)), 0);
	bp_segment_close(reader);
	bp_segment_close(s);
}

/* --- hugepages --------------------------------------------------------------------------- */

static void a_directory_without_hugepages_is_passed_over(void **state)
{
	const char *none[] = {"/nonexistent", dir, "/proc"};

	for (unsigned i = 0; i < 3; i++) {
		struct bp_segment *s = must(bp_segment_open(
			"t", none[i], dir, specs, N_SPECS, false, err, sizeof(err)));

		assert_string_equal(bp_segment_path(s), path);
		assert_false(bp_segment_huge(s));
		bp_segment_close(s);
		bp_segment_close(must(bp_segment_attach("t", none[i], dir, err, sizeof(err))));
	}
}

static void without_a_fallback_it_is_dev_shm(void **state)
{
	char name[40];
	struct bp_segment *s;

	snprintf(name, sizeof(name), "test-%d", (int)getpid());
	s = must(bp_segment_open(name, NULL, NULL, specs, N_SPECS, true, err, sizeof(err)));
	assert_int_equal(strncmp(bp_segment_path(s), "/dev/shm/biplane-test-", 22), 0);
	bp_segment_close(s);
	assert_int_equal(bp_segment_unlink(name, NULL, NULL), 0);
}

/* Whether one more page can be had: asked of the file system itself. */
static bool hugepage_free(const char *mount_dir)
{
	char probe[PATH_MAX];
	bool got;
	int fd;

	snprintf(probe, sizeof(probe), "%s/probe", mount_dir);
	fd = open(probe, O_RDWR | O_CREAT, 0600);
	got = fd >= 0 && ftruncate(fd, 2 << 20) == 0 && fallocate(fd, 0, 0, 2 << 20) == 0;
	if (fd >= 0)
		close(fd);
	unlink(probe);
	return got;
}

#define SKIPPED 77
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, err);           \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* In a mount namespace of its own, with a hugetlbfs of at most 4 MiB. */
static void with_hugetlbfs(const char *huge)
{
	const struct bp_seg_spec big[] = {{"big", 1, 16u << 20, 1}};
	struct bp_segment *s;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", huge, "hugetlbfs", 0, "pagesize=2M,size=4M") != 0)
		_exit(SKIPPED);
	CHECK(bp_hugepage_dir() != NULL);

	/* more than there is: not a SIGBUS later, but the other place now */
	s = bp_segment_open("t", huge, dir, big, 1, true, err, sizeof(err));
	CHECK(s);
	CHECK(!bp_segment_huge(s));
	CHECK(strcmp(bp_segment_path(s), path) == 0);
	memset(bp_segment_table(s, "big", 1, 1, NULL), 1, 16u << 20);
	bp_segment_close(s);

	/* found there again, also by a reader */
	s = bp_segment_open("t", huge, dir, big, 1, false, err, sizeof(err));
	CHECK(s && !bp_segment_fresh(s));
	bp_segment_close(s);
	s = bp_segment_attach("t", huge, dir, err, sizeof(err));
	CHECK(s && !bp_segment_huge(s));
	bp_segment_close(s);
	CHECK(bp_segment_unlink("t", huge, dir) == 0);

	if (!hugepage_free(huge))
		_exit(0);
	s = bp_segment_open("t", huge, dir, specs, N_SPECS, true, err, sizeof(err));
	CHECK(s && bp_segment_huge(s));
	CHECK(bp_segment_size(s) == 2 << 20);
	memset(bp_segment_table(s, "wide", 256, 1, NULL), 1, 256 * 40);
	bp_segment_close(s);
	s = bp_segment_open("t", huge, dir, specs, N_SPECS, false, err, sizeof(err));
	CHECK(s && bp_segment_huge(s) && !bp_segment_fresh(s));
	CHECK(*(uint8_t *)bp_segment_table(s, "wide", 256, 1, NULL) == 1);
	bp_segment_close(s);
	s = bp_segment_attach("t", huge, dir, err, sizeof(err));
	CHECK(s && bp_segment_huge(s));
	bp_segment_close(s);
	/* replaced by one that does not fit there: the old one is gone, not left to be found first
	 */
	s = bp_segment_open("t", huge, dir, big, 1, true, err, sizeof(err));
	CHECK(s && !bp_segment_huge(s) && bp_segment_fresh(s));
	bp_segment_close(s);
	s = bp_segment_attach("t", huge, dir, err, sizeof(err));
	CHECK(s && bp_segment_table(s, "big", 1, 1, NULL));
	bp_segment_close(s);
	/* and back again */
	s = bp_segment_open("t", huge, dir, specs, N_SPECS, true, err, sizeof(err));
	CHECK(s && bp_segment_huge(s));
	CHECK(access(path, F_OK) != 0);
	bp_segment_close(s);
	CHECK(bp_segment_unlink("t", huge, dir) == 0);
	CHECK(bp_segment_attach("t", huge, dir, err, sizeof(err)) == NULL);
	_exit(0);
}

static void lacking_hugepages_lead_to_the_fallback(void **state)
{
	char huge[80];
	int status;
	pid_t pid;

	snprintf(huge, sizeof(huge), "%s/huge", dir);
	assert_int_equal(mkdir(huge, 0700), 0);
	pid = fork();
	if (pid == 0)
		with_hugetlbfs(huge);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rmdir(huge);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip(); /* no right to mount */
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void no_room_is_said(void **state)
{
	const struct bp_seg_spec big[] = {{"big", 1, 16u << 20, 1}};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 ||
			mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
			mount("none", dir, "tmpfs", 0, "size=4M") != 0)
			_exit(SKIPPED);
		CHECK(bp_segment_open("t", NULL, dir, big, 1, true, err, sizeof(err)) == NULL);
		CHECK(strstr(err, "no room"));
		CHECK(access(path, F_OK) != 0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_one_writes_the_other_reads),
		T(tables_are_aligned_and_apart),
		T(specs_that_can_not_be_are_refused),
		T(a_full_directory_works),
		T(a_missing_segment_is_said),
		T(other_tables_are_replaced_by_the_owner_only),
		T(fewer_and_more_tables_differ),
		T(unlink_says_whether_there_was_one),
		T(what_a_dead_maker_left_is_no_obstacle),
		T(anonymous_memory_has_the_same_tables),
		T(a_reader_can_not_write),
		T(damage_is_said_and_healed_by_the_owner),
		T(a_name_without_end_is_damage),
		T(a_file_cut_anywhere_is_refused),
		T(random_damage),
		T(what_is_no_file_is_refused),
		T(a_strangers_file_is_refused),
		T(one_of_many_creates),
		T(nobody_ever_sees_half_a_segment),
		T(one_of_many_initialises),
		T(a_death_while_initialising_is_made_good),
		T(a_directory_without_hugepages_is_passed_over),
		T(without_a_fallback_it_is_dev_shm),
		T(lacking_hugepages_lead_to_the_fallback),
		T(no_room_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
