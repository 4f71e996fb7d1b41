/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/doorbell.h"
#include "test.h"

#define CAPACITY 4096u
#define RECORDS 50000u

struct rig {
	char dir[64];
	struct bp_doorbell bell;
	_Atomic uint64_t sleeps;
	struct bp_ring ring; /* the writer's view */
	struct bp_ring_tail tail;
	struct bp_ring_data *data;
};

static void path_of(const struct rig *r, char *path, size_t size)
{
	assert_int_equal(bp_doorbell_path(r->dir, "x", path, size), 0);
}

static void rig_init(struct rig *r)
{
	char err[256] = "";

	memset(r, 0, sizeof(*r));
	strcpy(r->dir, "/tmp/biplane-doorbell-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->data = aligned_alloc(64, sizeof(*r->data) + CAPACITY);
	assert_non_null(r->data);
	memset(r->data, 0, sizeof(*r->data) + CAPACITY);
	bp_ring_attach(&r->ring, r->data, &r->tail, CAPACITY);
	r->bell.sleeps = &r->sleeps;
	r->bell.fd = bp_doorbell_create(r->dir, "x", err, sizeof(err));
	if (r->bell.fd < 0)
		fail_msg("%s", err);
	bp_doorbell_watch(&r->bell, &r->ring);
}

static void rig_free(struct rig *r)
{
	char path[128];

	path_of(r, path, sizeof(path));
	unlink(path);
	rmdir(r->dir);
	close(r->bell.fd);
	free(r->data);
}

static void put(struct rig *r)
{
	uint64_t mark;
	void *p = bp_ring_reserve(&r->ring, 8, &mark);

	assert_non_null(p);
	bp_ring_commit(&r->ring, mark);
}

static unsigned rings(const struct rig *r)
{
	char bytes[128];
	const ssize_t n = read(r->bell.fd, bytes, sizeof(bytes));

	return n > 0 ? (unsigned)n : 0;
}

static void a_sleeping_reader_is_woken_once(void **state)
{
	struct rig r;

	rig_init(&r);
	put(&r);
	bp_doorbell_check(&r.bell);
	assert_int_equal(rings(&r), 0); /* awake */
	bp_doorbell_sleep(&r.sleeps);
	bp_doorbell_check(&r.bell);
	assert_int_equal(rings(&r), 0); /* nothing new since the last check */
	for (unsigned i = 0; i < 5; i++) {
		put(&r);
		bp_doorbell_check(&r.bell);
	}
	assert_int_equal(rings(&r), 1);
	bp_doorbell_wake(&r.sleeps);
	put(&r);
	bp_doorbell_check(&r.bell);
	assert_int_equal(rings(&r), 0);
	bp_doorbell_sleep(&r.sleeps);
	put(&r);
	bp_doorbell_check(&r.bell);
	assert_int_equal(rings(&r), 1);
	/* two sleeps without a wake: as after a control plane that was killed asleep */
	bp_doorbell_sleep(&r.sleeps);
	put(&r);
	bp_doorbell_check(&r.bell);
	assert_int_equal(rings(&r), 1);
	rig_free(&r);
}

static void a_full_pipe_does_not_block(void **state)
{
	struct rig r;
	char bytes[4096] = {0};
	struct pollfd p;

	rig_init(&r);
	while (write(r.bell.fd, bytes, sizeof(bytes)) > 0)
		;
	while (write(r.bell.fd, bytes, 1) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	bp_doorbell_sleep(&r.sleeps);
	put(&r);
	bp_doorbell_check(&r.bell);
	p = (struct pollfd){.fd = r.bell.fd, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 0), 1);
	rig_free(&r);
}

static void no_pipe_no_output(void **state)
{
	struct rig r;
	const int fd = dup(STDIN_FILENO);

	rig_init(&r);
	close(r.bell.fd);
	r.bell.fd = -1;
	bp_doorbell_sleep(&r.sleeps);
	put(&r);
	bp_doorbell_check(&r.bell);
	r.bell.fd = fd;
	rig_free(&r);
}

static bool is_pipe(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

static void the_pipe_stays_and_other_files_do_not(void **state)
{
	struct rig r;
	char path[128], target[160], err[256];
	int fd;

	rig_init(&r);
	path_of(&r, path, sizeof(path));
	/* the pipe of a data plane that ended */
	fd = bp_doorbell_create(r.dir, "x", err, sizeof(err));
	assert_true(fd >= 0);
	assert_true(bp_doorbell_same(r.bell.fd, r.dir, "x"));
	close(fd);
	/* the control plane cannot write it */
	fd = bp_doorbell_open(r.dir, "x");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "", 1), -1);
	assert_int_equal(errno, EBADF);
	close(fd);
	/* a file */
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_false(bp_doorbell_same(r.bell.fd, r.dir, "x"));
	assert_int_equal(bp_doorbell_open(r.dir, "x"), -1);
	assert_int_equal(errno, EINVAL);
	fd = bp_doorbell_create(r.dir, "x", err, sizeof(err));
	assert_true(fd >= 0);
	assert_true(is_pipe(path));
	close(fd);
	/* a link to a pipe elsewhere */
	unlink(path);
	snprintf(target, sizeof(target), "%s/other", r.dir);
	assert_int_equal(mkfifo(target, 0600), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(bp_doorbell_open(r.dir, "x"), -1);
	assert_int_equal(errno, EINVAL);
	fd = bp_doorbell_create(r.dir, "x", err, sizeof(err));
	assert_true(fd >= 0);
	assert_true(is_pipe(path));
	close(fd);
	unlink(target);
	unlink(path);
	assert_int_equal(bp_doorbell_open(r.dir, "x"), -1);
	assert_int_equal(errno, ENOENT);
	rig_free(&r);
}

static void *write_records(void *arg)
{
	struct rig *r = arg;

	for (unsigned i = 0; i < RECORDS; i++) {
		uint64_t mark;

		while (bp_ring_reserve(&r->ring, 8, &mark) == NULL)
			sched_yield();
		bp_ring_commit(&r->ring, mark);
		bp_doorbell_check(&r->bell);
		if (i % 16 == 0) /* the reader falls asleep */
			sched_yield();
	}
	return NULL;
}

/* The reader waits without a timeout that would hide a lost wakeup. */
static void no_wakeup_is_lost(void **state)
{
	struct rig r;
	struct bp_ring reader;
	pthread_t writer;
	uint64_t cursor = 0;
	unsigned n = 0;

	rig_init(&r);
	bp_ring_attach(&reader, r.data, &r.tail, CAPACITY);
	assert_int_equal(pthread_create(&writer, NULL, write_records, &r), 0);
	while (n < RECORDS) {
		struct pollfd p = {.fd = r.bell.fd, .events = POLLIN};
		uint32_t size;

		bp_doorbell_wake(&r.sleeps);
		rings(&r);
		for (; bp_ring_peek(&reader, &cursor, &size) != NULL; n++)
			bp_ring_release(&reader, cursor);
		bp_doorbell_sleep(&r.sleeps);
		if (bp_ring_written(&reader) == cursor && n < RECORDS)
			assert_int_equal(poll(&p, 1, 30000), 1);
	}
	pthread_join(writer, NULL);
	assert_int_equal(n, RECORDS);
	rig_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleeping_reader_is_woken_once),
		cmocka_unit_test(a_full_pipe_does_not_block),
		cmocka_unit_test(no_pipe_no_output),
		cmocka_unit_test(the_pipe_stays_and_other_files_do_not),
		cmocka_unit_test(no_wakeup_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
