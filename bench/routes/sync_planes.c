/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/sync_planes.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "controlplane/sync/sync.h"

#define PATIENCE_NS 60000000000ull

uint64_t bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_sleep(void)
{
	const struct timespec t = {0, 10000};

	nanosleep(&t, NULL);
}

static void fail(const struct bench_planes *p, const char *what)
{
	fprintf(stderr, "sync_rate: %s; what the planes said is in %s/log\n", what, p->directory);
	exit(1);
}

static pid_t spawn(const struct bench_planes *p, char *const *argv, const char *output)
{
	const pid_t parent = getpid();
	char path[PATH_MAX];
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		fail(p, "fork failed");
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	snprintf(path, sizeof(path), "%s/%s", p->directory, output);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		_exit(1);
	execv(p->biplane, argv);
	_exit(127);
}

pid_t bench_start(const struct bench_planes *p, const char *plane)
{
	const char *argv[] = {"biplane", plane, "-c", p->file, NULL};

	return spawn(p, (char *const *)(uintptr_t)argv, "log");
}

void bench_kill(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

int bench_command(const struct bench_planes *p, const char *a, const char *b, const char *c)
{
	const char *argv[] = {"biplane", a, b, c, "-c", p->file, NULL};
	pid_t pid = spawn(p, (char *const *)(uintptr_t)argv, "commands");
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Whether the plane has ended by itself. */
static void check_alive(const struct bench_planes *p)
{
	if ((p->dataplane > 0 && waitpid(p->dataplane, NULL, WNOHANG) != 0) ||
		(p->controlplane > 0 && waitpid(p->controlplane, NULL, WNOHANG) != 0))
		fail(p, "a plane ended");
}

void bench_map(struct bench_planes *p)
{
	const uint64_t end = bench_now_ns() + PATIENCE_NS;
	char err[256] = "";

	for (;;) {
		struct bp_segment *s = bp_segment_attach(
			p->name, bp_hugepage_dir(), p->directory, err, sizeof(err));

		if (s != NULL && bp_shm_map(&p->shm, s, err, sizeof(err)) == 0 &&
			atomic_load(&p->shm.global->dp_ports) == 2 &&
			atomic_load(&p->shm.global->dp_pid) == (uint64_t)p->dataplane)
			return;
		if (s != NULL)
			bp_segment_close(s);
		check_alive(p);
		if (bench_now_ns() > end)
			fail(p, err[0] != '\0' ? err : "the data plane did not start");
		bench_sleep();
	}
}

uint64_t bench_loaded_ns(const struct bench_planes *p)
{
	return atomic_load(&p->shm.control->cp_sync_loaded_ns);
}

uint64_t bench_await_synced(struct bench_planes *p, uint32_t routes, uint64_t loaded_ns)
{
	const struct bp_shm_control *g = p->shm.control;
	const struct bp_fib_control *fib = p->shm.fib.control;
	const uint64_t end = bench_now_ns() + PATIENCE_NS;

	while (atomic_load(&g->cp_pid) != (uint64_t)p->controlplane ||
		bench_loaded_ns(p) == loaded_ns ||
		atomic_load(&g->cp_sync_state) != BP_SYNC_SYNCED ||
		atomic_load(&fib->routes4) + atomic_load(&fib->routes6) < routes) {
		check_alive(p);
		if (bench_now_ns() > end)
			fail(p, "the control plane did not load the kernel's tables");
		bench_sleep();
	}
	return bench_now_ns();
}

uint64_t bench_sent(const struct bench_planes *p)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < p->shm.workers; w++)
		sum += atomic_load(&p->shm.port_stats[w * BP_MAX_PORTS + 1].tx_packets);
	return sum;
}

static uint64_t thread_cpu_ns(pid_t process, const char *thread)
{
	char path[PATH_MAX];
	uint64_t ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)process, thread);
	f = fopen(path, "re");
	if (f != NULL && fscanf(f, "%" SCNu64, &ns) != 1)
		ns = 0;
	if (f != NULL)
		fclose(f);
	return ns;
}

uint64_t bench_cpu_ns(pid_t process)
{
	char path[64];
	const struct dirent *e;
	uint64_t most = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		uint64_t ns = thread_cpu_ns(process, e->d_name);

		most = ns > most ? ns : most;
	}
	if (d != NULL)
		closedir(d);
	return most;
}
