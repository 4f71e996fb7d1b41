/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/transform/transform_veth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness/phd_lab.h"
#include "bench/transform/transform_frames.h"
#include "bench/harness/veth_lab.h"
#include "shm/segment.h"

#define WORKER "rte-worker"

static void write_config(const struct bench_veth_biplane *b, const double m[12])
{
	char path[sizeof(b->dir) + 16];
	FILE *f;

	snprintf(path, sizeof(path), "%s/biplane.yaml", b->dir);
	f = fopen(path, "we");
	bench_must(f != NULL, path, strerror(errno));
	fprintf(f,
		"version: 1\nname: %s\n"
		"runtime: {directory: %s, memory: 512MiB}\n"
		"workers: [1]\n"
		"poll_mode: adaptive\n"
		"ports:\n"
		"  - {name: devices, device: \"net_%s0,iface=devices\"}\n"
		"  - {name: cloud, device: \"net_%s1,iface=cloud\"}\n"
		"bridges: [{name: bridge0, ports: [devices, cloud]}]\n"
		"transform:\n"
		"  max_matrices: 1\n"
		"  entries:\n"
		"  - port: devices\n"
		"    udp_port: %u\n"
		"    receiver: {address: 10.1.0.9, udp_port: %u, mac: \"02:00:00:00:02:09\"}\n"
		"    sources: [{address: 10.0.0.0, receivers: [{matrix: [[%.9f, %.9f, %.9f, %.9f], "
		"[%.9f, %.9f, %.9f, %.9f], [%.9f, %.9f, %.9f, %.9f]]}]}]\n",
		b->name, b->dir, b->driver, b->driver, BENCH_TRANSFORM_UDP,
		BENCH_TRANSFORM_RECEIVER_UDP, m[0], m[3], m[6], m[9], m[1], m[4], m[7], m[10], m[2],
		m[5], m[8], m[11]);
	fclose(f);
}

static struct bench_veth_biplane *running;

/* Cleans up on failure. */
static void at_exit(void)
{
	if (running != NULL)
		bench_veth_biplane_stop(running);
}

void bench_veth_biplane_start(struct bench_veth_biplane *b, const double m[12])
{
	char config[sizeof(b->dir) + 16], log[sizeof(b->dir) + 16];
	int fd;

	bench_instance(b->name);
	bench_must(bench_directory(b->dir, sizeof(b->dir)) == 0, b->dir, strerror(errno));
	write_config(b, m);
	b->worker = 0;
	b->pid = bench_veth_gateway(false);
	if (b->pid != 0) {
		running = b;
		atexit(at_exit);
		return;
	}
	snprintf(config, sizeof(config), "%s/biplane.yaml", b->dir);
	snprintf(log, sizeof(log), "%s/log", b->dir);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	bench_must(fd >= 0 && dup2(fd, 1) >= 0 && dup2(fd, 2) >= 0, log, strerror(errno));
	execl(b->program, b->program, "run", "--config", config, (char *)NULL);
	_exit(127);
}

/* The network namespace of a process; 0: it has ended. */
static ino_t namespace_of(const char *pid)
{
	char path[300];
	struct stat s;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	return stat(path, &s) == 0 ? s.st_ino : 0;
}

/* The first worker thread of a process. */
static pid_t worker_among(const char *pid)
{
	char path[600], comm[32];
	const struct dirent *e;
	pid_t found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	d = opendir(path);
	while (d != NULL && found == 0 && (e = readdir(d)) != NULL) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/task/%s/comm", pid, e->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fgets(comm, sizeof(comm), f) != NULL &&
			strncmp(comm, WORKER, strlen(WORKER)) == 0)
			found = (pid_t)strtol(e->d_name, NULL, 10);
		fclose(f);
	}
	if (d != NULL)
		closedir(d);
	return found;
}

pid_t bench_veth_biplane_worker(struct bench_veth_biplane *b)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	char pid[16];
	ino_t ours;

	bench_must(d != NULL, "/proc", strerror(errno));
	bench_must(waitpid(b->pid, NULL, WNOHANG) == 0, b->program, "it ended");
	snprintf(pid, sizeof(pid), "%d", (int)b->pid);
	ours = namespace_of(pid);
	while (b->worker == 0 && ours != 0 && (e = readdir(d)) != NULL)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && namespace_of(e->d_name) == ours)
			b->worker = worker_among(e->d_name);
	closedir(d);
	return b->worker;
}

double bench_veth_biplane_ns(const struct bench_veth_biplane *b)
{
	char path[64];
	double ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)b->worker);
	f = fopen(path, "re");
	bench_must(f != NULL && fscanf(f, "%lf", &ns) == 1, path, "cannot be read");
	fclose(f);
	return ns;
}

void bench_veth_biplane_stop(struct bench_veth_biplane *b)
{
	char command[sizeof(b->dir) + 128];

	running = NULL;
	kill(b->pid, SIGTERM);
	waitpid(b->pid, NULL, 0);
	/* The segment outlives biplane by design. */
	bp_segment_unlink(b->name, bp_hugepage_dir(), "/dev/shm");
	snprintf(command, sizeof(command), "rm -rf '%s' /var/run/dpdk/biplane-%s", b->dir, b->name);
	bench_must(system(command) == 0, command, "it failed");
}
