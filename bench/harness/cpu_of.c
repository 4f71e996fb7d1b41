/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/cpu_of.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KERNEL "ksoftirqd/"

int bench_cpu_add(struct bench_cpu *c, const char *text)
{
	const char *p = strchr(text, '=');
	struct bench_cpu_of *of = &c->of[c->n_names];
	char *end;

	if (p == NULL || p == text || (size_t)(p - text) >= sizeof(of->name) ||
		c->n_names == BENCH_CPU_NAMES)
		return -1;
	*of = (struct bench_cpu_of){.n = 0};
	memcpy(of->name, text, (size_t)(p - text));
	do {
		const long pid = strtol(p + 1, &end, 10);

		if (end == p + 1 || pid <= 0 || of->n == BENCH_CPU_PROCESSES)
			return -1;
		of->pid[of->n++] = (pid_t)pid;
		p = end;
	} while (*end == ',');
	if (*end != '\0')
		return -1;
	c->n_names++;
	return 0;
}

static double of_process(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
		fprintf(stderr, "%s: process %d has ended, whose processor time was asked for\n",
			program_invocation_short_name, (int)pid);
		exit(1);
	}
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double of_all(const struct bench_cpu_of *of)
{
	double ns = 0;

	for (unsigned i = 0; i < of->n; i++)
		ns += of_process(of->pid[i]);
	return ns;
}

static void find_kernel(struct bench_cpu_of *of)
{
	const struct dirent *e;
	char path[300], comm[32];
	DIR *d = opendir("/proc");

	*of = (struct bench_cpu_of){.name = "softirq"};
	while (d != NULL && of->n < BENCH_CPU_PROCESSES && (e = readdir(d)) != NULL) {
		FILE *f;

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fgets(comm, sizeof(comm), f) != NULL &&
			strncmp(comm, KERNEL, strlen(KERNEL)) == 0)
			of->pid[of->n++] = (pid_t)strtol(e->d_name, NULL, 10);
		fclose(f);
	}
	if (d != NULL)
		closedir(d);
}

void bench_cpu_begin(struct bench_cpu *c)
{
	find_kernel(&c->of[c->n_names]);
	c->of[c->n_names + 1] = (struct bench_cpu_of){.name = "load", .n = 1, .pid = {getpid()}};
	for (unsigned i = 0; i < c->n_names + 2; i++)
		c->of[i].from_ns = of_all(&c->of[i]);
}

void bench_cpu_print(struct bench_cpu *c)
{
	printf("\"cpu_s\": {");
	for (unsigned i = 0; i < c->n_names + 2; i++)
		printf("%s\"%s\": %.6f", i != 0 ? ", " : "", c->of[i].name,
			(of_all(&c->of[i]) - c->of[i].from_ns) / 1e9);
	putchar('}');
}
