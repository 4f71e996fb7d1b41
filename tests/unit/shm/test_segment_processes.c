/* SPDX-License-Identifier: BSD-3-Clause */
/* Several makers at once, and hugepages. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "segment_rig.h"
#include "shm/segment_file.h"

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

	if (!x || bp_segment_initialise(s, BP_SEG_DATA, count_init, x, err, sizeof(err)) != 0)
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
		bp_segment_initialise(s, BP_SEG_DATA, die, NULL, err, sizeof(err));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	reader = must(attach());
	assert_int_equal(
		bp_segment_initialise(reader, BP_SEG_DATA, count_init, NULL, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "try again"));
	assert_int_equal(bp_segment_initialise(s, BP_SEG_DATA, count_init, x, err, sizeof(err)), 0);
	assert_int_equal(bp_segment_initialise(s, BP_SEG_DATA, count_init, x, err, sizeof(err)), 0);
	assert_true(x[1] == 1);
	assert_int_equal(
		bp_segment_initialise(reader, BP_SEG_DATA, count_init, NULL, err, sizeof(err)), 0);
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

/* Whether the file system can allocate one more page. */
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
	const struct bp_seg_spec big[] = {{"big", 1, 16u << 20, 1, BP_SEG_DATA}};
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
	const struct bp_seg_spec big[] = {{"big", 1, 16u << 20, 1, BP_SEG_DATA}};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 ||
			mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
			mount("none", dir, "tmpfs", 0, "size=4M") != 0)
			_exit(SKIPPED);
		CHECK(bp_segment_open("t", NULL, dir, big, 1, true, err, sizeof(err)) == NULL);
		CHECK(strstr(err, "no space"));
		CHECK(access(path, F_OK) != 0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void not_called(void *arg)
{
	(void)arg;
	fail();
}

/* While another process has the lock, or initialises the part. */
static void who_must_not_wait_fails(void **state)
{
	struct bp_seg_place place;
	struct bp_segment *s, *writer;
	int lock;

	(void)state;
	alarm(10); /* one that waits */
	writer = must(open_as(true));
	assert_int_equal(bp_seg_place(&place, "t", NULL, dir, err, sizeof(err)), 0);
	lock = bp_seg_lock(place.lock, true, err, sizeof(err));
	assert_true(lock >= 0);
	refused(bp_segment_open("t", NULL, dir, specs, N_SPECS, BP_SEG_NO_WAIT, err, sizeof(err)),
		"cannot lock");
	bp_seg_unlock(lock);

	s = must(bp_segment_open("t", NULL, dir, specs, N_SPECS, BP_SEG_NO_WAIT, err, sizeof(err)));
	lock = bp_seg_lock(place.lock, true, err, sizeof(err));
	assert_true(lock >= 0);
	assert_int_equal(
		bp_segment_initialise(s, BP_SEG_DATA, not_called, NULL, err, sizeof(err)), -1);
	bp_seg_unlock(lock);
	bp_segment_close(s);

	/* it does not write the part, but others */
	s = must(bp_segment_open("t", NULL, dir, specs, N_SPECS, BP_SEG_NO_WAIT | BP_SEG_READ_DATA,
		err, sizeof(err)));
	assert_int_equal(
		bp_segment_initialise(s, BP_SEG_DATA, not_called, NULL, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "is being created"));
	bp_segment_close(s);
	bp_segment_close(writer);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_of_many_creates),
		T(who_must_not_wait_fails),
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
