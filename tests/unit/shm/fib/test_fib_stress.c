/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A writer of the forwarding tables that is killed at random, again and again, while readers in
 * other processes check every answer; each new writer's tables are compared with what the dead one
 * had promised.
 *
 *	test_shm_fib_stress [KILLS [SEED]]      processes
 *	test_shm_fib_stress threads [CHANGES]   a writer and readers in one process, for TSan
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/shm/fib/fib_rig.h"
#include "config/segment.h"
#include "config/config.h"
#include "tests/unit/shm/fib/fib_stress.h"

static char dir[PATH_MAX];

static void give_up(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

static struct journal *journal_map(void)
{
	char path[PATH_MAX + 16];
	struct journal *j;
	int fd;

	snprintf(path, sizeof(path), "%s/journal", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*j)) != 0)
		give_up("no journal");
	j = mmap(NULL, sizeof(*j), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (j == MAP_FAILED)
		give_up("no journal");
	return j;
}

static struct bp_shm shm;

static void tables_map(void)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_config *c = malloc(sizeof(*c));
	struct bp_segment *s;
	char err[512];

	if (!c)
		give_up("no memory");
	/* twice what the items need, so that all is soon used again */
	fib_config(c, 256, 128, 3000, 1200, 400);
	s = bp_segment_open(
		"stress", NULL, dir, specs, bp_shm_specs(c, specs), true, err, sizeof(err));
	free(c);
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)) != 0)
		give_up(err);
}

static struct bp_fib_writer *writer_new(void)
{
	char err[256];
	struct bp_fib_writer *w = bp_fib_writer_new(&shm.fib, NULL, NULL, err, sizeof(err));

	if (!w)
		give_up(err);
	return w;
}

/* `changes` 0: for ever. */
static void write_on(struct journal *j, uint64_t changes, uint64_t seed)
{
	struct stress s = {&shm.fib, j, seed};
	struct bp_fib_writer *w = writer_new();

	if (!stress_take_over(&s, w))
		exit(1);
	atomic_fetch_add(&j->ready, 1);
	for (uint64_t i = 0; changes == 0 || i < changes; i++)
		if (!stress_change(&s, w))
			exit(1);
	bp_fib_writer_free(w);
}

static void read_on(struct journal *j, unsigned reader)
{
	struct stress s = {&shm.fib, j, 1000 + reader};
	struct bp_route r;
	struct bp_neighbor_info info;
	uint64_t known = 0;
	uint32_t cursor = 0, neighbors = 0;

	while (!atomic_load(&j->stop)) {
		bp_fib_quiesce(&shm.fib, reader, &known);
		stress_read(&s, reader);
		/* and as `show` reads */
		if (!bp_fib_next_route(&shm.fib, &cursor, &r))
			cursor = 0;
		if (!bp_fib_next_neighbor(&shm.fib, &neighbors, &info))
			neighbors = 0;
		atomic_store(&j->reading[reader], 1);
	}
	bp_fib_read_end(&shm.fib, reader, &known);
}

static pid_t start(const char *mode, uint64_t n)
{
	char number[32];
	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(number, sizeof(number), "%" PRIu64, n);
	execl("/proc/self/exe", "test_shm_fib_stress", mode, dir, number, (char *)NULL);
	_exit(127);
}

static void pause_us(uint32_t us)
{
	const struct timespec t = {0, (long)us * 1000};

	nanosleep(&t, NULL);
}

/* Until a writer has taken over; false: it ended instead. */
static bool wait_ready(struct journal *j, uint32_t before, pid_t pid, int *status)
{
	while (atomic_load(&j->ready) == before) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return false;
		pause_us(200);
	}
	return true;
}

/* Kills one writer: mostly while it changes tables, now and then while it takes over. */
static bool one_life(struct journal *j, uint64_t *rnd)
{
	const uint32_t before = atomic_load(&j->ready);
	const bool early = before > 0 && test_below(rnd, 4) == 0;
	const pid_t pid = start("writer", test_random(rnd) | 1);
	int status;

	if (!early && !wait_ready(j, before, pid, &status)) {
		fprintf(stderr, "the writer ended by itself: %d\n", status);
		return false;
	}
	pause_us(test_below(rnd, early ? 60000 : 3000));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	fprintf(stderr, "the writer ended by itself: %d\n", status);
	return false;
}

static int report(struct journal *j, unsigned lives, bool good)
{
	uint64_t lookups = 0, wrong = 0, unsure = 0;

	for (unsigned r = 0; r < READERS; r++) {
		lookups += j->lookups[r];
		wrong += j->wrong[r];
		unsure += j->unsure[r];
	}
	printf("%u lives, %" PRIu64 " changes, %" PRIu64 " lookups of which %" PRIu64
	       " wrong and %" PRIu64 " undecided, %" PRIu64 " repairs\n",
		lives, j->changes, lookups, wrong, unsure, shm.fib.control->repairs);
	return good && wrong == 0 && lookups > 0 && j->changes > 0 && unsure < lookups / 10 ? 0 : 1;
}

static int processes(unsigned kills, uint64_t seed)
{
	pid_t reader[READERS];
	struct journal *j;
	bool good = true;
	int status;

	snprintf(dir, sizeof(dir), "/dev/shm/biplane-stress-XXXXXX");
	if (!mkdtemp(dir))
		give_up("no directory");
	j = journal_map();
	tables_map();
	for (unsigned i = 0; i < kills && good; i++) {
		good = one_life(j, &seed);
		for (unsigned r = 0; r < READERS && i == 0; r++)
			reader[r] = start("reader", r);
	}
	if (good) { /* the last one takes over and ends */
		waitpid(start("last", 1), &status, 0);
		good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	atomic_store(&j->stop, 1);
	for (unsigned r = 0; r < READERS; r++) {
		waitpid(reader[r], &status, 0);
		good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	status = report(j, kills, good);
	bp_segment_close(shm.segment);
	bp_segment_unlink("stress", NULL, dir);
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/journal", dir);
	unlink(path);
	rmdir(dir);
	return status;
}

struct reader_arg {
	struct journal *j;
	unsigned n;
};

static void *read_thread(void *arg)
{
	struct reader_arg *a = arg;

	read_on(a->j, a->n);
	return NULL;
}

static int threads(uint64_t changes)
{
	static struct journal journal;
	struct reader_arg arg[READERS];
	pthread_t thread[READERS];
	struct fib_rig x;

	fib_open(&x, 256, 128, 3000, 1200, 400);
	bp_fib_writer_free(x.w);
	shm = x.shm;
	write_on(&journal, 1, 99);
	for (unsigned r = 0; r < READERS; r++) {
		arg[r] = (struct reader_arg){&journal, r};
		if (pthread_create(&thread[r], NULL, read_thread, &arg[r]) != 0)
			give_up("no thread");
		while (!atomic_load(&journal.reading[r]))
			sched_yield();
	}
	for (unsigned life = 0; life < 4; life++)
		write_on(&journal, changes / 4, 7 + life);
	atomic_store(&journal.stop, 1);
	for (unsigned r = 0; r < READERS; r++)
		pthread_join(thread[r], NULL);
	changes = (uint64_t)report(&journal, 0, true);
	bp_segment_close(shm.segment);
	return (int)changes;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "threads") == 0)
		return threads(argc > 2 ? strtoull(argv[2], NULL, 0) : 20000);
	if (argc == 4) {
		snprintf(dir, sizeof(dir), "%s", argv[2]);
		tables_map();
		if (strcmp(argv[1], "reader") == 0)
			read_on(journal_map(), (unsigned)atoi(argv[3]));
		else
			write_on(journal_map(), strcmp(argv[1], "last") == 0,
				strtoull(argv[3], NULL, 0));
		return 0;
	}
	return processes(argc > 1 ? (unsigned)atoi(argv[1]) : 200,
		argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
}
