/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/eal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "config/config.h"
#include "daemon/log.h"
#include "dataplane/ports/device.h"
#include "dataplane/process/eal_log.h"
#include "shm/plane_dirs.h"
#include "shm/segment.h"

#define MIB ((uint64_t)1 << 20)
#define HUGEPAGES_DIR "/sys/kernel/mm/hugepages"
/*
 * This device carries no traffic: as the only allowed one, it makes EAL ignore all PCI devices that
 * no port names.
 */
#define PCI_NOTHING "0000:00:00.0"

static uint64_t read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	uint64_t n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

uint64_t bp_eal_huge_free(void)
{
	DIR *d = opendir(HUGEPAGES_DIR);
	const struct dirent *e;
	uint64_t bytes = 0;

	if (!d)
		return 0;
	while ((e = readdir(d)) != NULL) {
		char path[sizeof(HUGEPAGES_DIR) + sizeof(e->d_name) + 32];
		uint64_t kib;

		if (sscanf(e->d_name, "hugepages-%" SCNu64 "kB", &kib) != 1)
			continue;
		snprintf(path, sizeof(path), HUGEPAGES_DIR "/%s/free_hugepages", e->d_name);
		bytes += read_number(path) * kib * 1024;
	}
	closedir(d);
	return bytes;
}

/* Bytes of available memory; 0: unknown. */
static uint64_t memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
		;
	fclose(f);
	return kib * 1024;
}

/* Number of 2 MiB pages that are sufficient. */
static uint64_t pages_for(uint64_t bytes)
{
	return (bytes + 2 * MIB - 1) / (2 * MIB);
}

/* Writes the reason why hugepages cannot be used, and the remedy; "" if they can. */
static void hugepages_missing(const struct bp_eal *e, const char *dir, char *why, size_t size)
{
	why[0] = '\0';
	if (e->huge_free < e->needed)
		snprintf(why, size,
			"%" PRIu64 " MiB of hugepages are free and about %" PRIu64
			" MiB are needed; set some aside: sysctl vm.nr_hugepages=%" PRIu64,
			e->huge_free / MIB, e->needed / MIB, pages_for(e->needed));
	else if (dir && access(dir, W_OK) != 0)
		snprintf(why, size,
			"this user cannot create files in %.255s (%s); run biplane as root, or "
			"make the directory writable",
			dir, strerror(errno));
}

/*
 * EAL allocates ordinary pages immediately: a request for more than the available memory would end
 * in the OOM killer.
 */
static int check_ordinary_memory(const struct bp_config *c, char *err, size_t err_size)
{
	uint64_t available = memory_available();

	if (available == 0 || c->memory_mb * MIB <= available)
		return 0;
	snprintf(err, err_size,
		"runtime.memory asks for %u MiB, but this machine has %" PRIu64
		" MiB available; lower it, or use hugepages",
		c->memory_mb, available / MIB);
	return -1;
}

/* Returns the directory for files of hugepages; NULL: no hugetlbfs is mounted. */
static const char *huge_dir(const struct bp_config *c, char *dir, size_t size)
{
	const char *mount = bp_hugepage_dir();

	return mount && bp_huge_dir(mount, c->runtime_dir, dir, size) ? dir : mount;
}

static int choose_memory(const struct bp_config *c, struct bp_eal *e, char *err, size_t err_size)
{
	char path[PATH_MAX];
	const char *dir = huge_dir(c, path, sizeof(path));
	char why[sizeof(e->warning) - 64];

	e->huge_free = bp_eal_huge_free();
	hugepages_missing(e, dir, why, sizeof(why));
	e->huge = c->hugepages != BP_HUGEPAGES_NEVER && why[0] == '\0';
	e->in_memory = e->huge && dir == NULL;
	if (e->huge)
		return 0;
	if (c->hugepages == BP_HUGEPAGES_REQUIRE) {
		snprintf(err, err_size, "hugepages are required, but %s", why);
		return -1;
	}
	if (c->hugepages == BP_HUGEPAGES_AUTO)
		snprintf(e->warning, sizeof(e->warning), "running on ordinary pages, slower: %s",
			why);
	return check_ordinary_memory(c, err, err_size);
}

int bp_eal_choose(
	const struct bp_config *c, uint64_t needed, struct bp_eal *e, char *err, size_t err_size)
{
	cpu_set_t allowed;
	char bdf[32];

	memset(e, 0, sizeof(*e));
	e->needed = needed;
	if (bp_cpus_allowed(c->workers_listed, &allowed) != 0) {
		snprintf(err, err_size, "cannot determine the allowed CPUs: %s", strerror(errno));
		return -1;
	}
	if (bp_cpus_choose(c, &allowed, &e->cpus, err, err_size) != 0)
		return -1;
	for (unsigned p = 0; p < c->n_ports; p++)
		e->pci |= bp_device_is_pci(c->port[p].device, bdf, sizeof(bdf));
	return choose_memory(c, e, err, err_size);
}

__attribute__((format(printf, 2, 3))) static void add(
	struct bp_eal_args *a, const char *format, ...)
{
	size_t room = sizeof(a->text) - a->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(a->text + a->used, room, format, args);
	va_end(args);
	/* Our own arguments are few and short, see the sizes; EAL would read a truncated one. */
	if (a->argc == BP_EAL_ARGS_MAX || n < 0 || (size_t)n >= room)
		return;
	a->argv[a->argc++] = a->text + a->used;
	a->used += (size_t)n + 1;
}

static bool among(int argc, char *const *argv, const char *option)
{
	for (int i = 0; i < argc; i++)
		if (argv[i] && strcmp(argv[i], option) == 0)
			return true;
	return false;
}

int bp_eal_build_args(const struct bp_config *c, const struct bp_eal *e, int extra_argc,
	char *const *extra_argv, struct bp_eal_args *a, char *err, size_t err_size)
{
	char lcores[BP_MAX_WORKERS * 16], dir[PATH_MAX];

	memset(a, 0, sizeof(*a));
	bp_cpus_lcores(&e->cpus, lcores, sizeof(lcores));
	add(a, "biplane");
	add(a, "--lcores=%s", lcores);
	add(a, "--main-lcore=0");
	add(a, "--no-telemetry");
	add(a, "--log-level=*:error");
	if (e->in_memory)
		add(a, "--in-memory");
	else
		add(a, "--file-prefix=biplane-%s", c->name);
	/* EAL finds mounted file systems itself, but not a directory in one */
	if (e->huge && !e->in_memory && huge_dir(c, dir, sizeof(dir)) == dir &&
		strcmp(dir, bp_hugepage_dir()) != 0 && !among(extra_argc, extra_argv, "--no-huge"))
		add(a, "--huge-dir=%s", dir);
	/*
	 * The kernel frees unnamed pages when this process ends for any reason. Named ones would
	 * persist until EAL starts again, and count as used when that start checks the memory.
	 */
	if (e->huge && !e->in_memory && !among(extra_argc, extra_argv, "--no-huge"))
		add(a, "--huge-unlink=always");
	if (!e->huge) {
		add(a, "--no-huge");
		add(a, "-m");
		add(a, "%u", c->memory_mb);
	}
	if (e->pci) {
		add(a, "-a");
		add(a, PCI_NOTHING);
	} else {
		add(a, "--no-pci");
	}
	if (extra_argc > BP_EAL_ARGS_MAX - a->argc) {
		snprintf(err, err_size, "more than %d arguments after --",
			BP_EAL_ARGS_MAX - a->argc);
		return -1;
	}
	for (int i = 0; i < extra_argc; i++)
		a->argv[a->argc++] = extra_argv[i];
	a->argv[a->argc] = NULL;
	return 0;
}

/* From 25.11 on, EAL ends the process itself if an option is wrong. */
static bool in_eal_init;

static void report_end(void)
{
	char words[560];

	if (!in_eal_init)
		return;
	bp_eal_log_end();
	bp_eal_log_errors(words, sizeof(words));
	bp_log(BP_LOG_ERROR,
		"DPDK did not start, and ended this process: %s. Is an option after -- wrong?",
		words);
}

int bp_eal_start(const struct bp_config *c, struct bp_eal_args *args, char *err, size_t err_size)
{
	char words[560], dir[PATH_MAX];
	int rc;

	/*
	 * as EAL does for root; the default of other users is a directory that is writable by all
	 */
	if (geteuid() != 0 && bp_data_dir(c->runtime_dir, dir, sizeof(dir)))
		setenv("RUNTIME_DIRECTORY", dir, 0);
	bp_eal_log_begin();
	atexit(report_end);
	in_eal_init = true;
	rc = rte_eal_init(args->argc, args->argv);
	in_eal_init = false;
	bp_eal_log_end();
	if (rc >= 0)
		return 0;
	switch (rte_errno) {
	case EACCES:
		snprintf(err, err_size,
			"DPDK may not do what it needs: run biplane as its units do, or as root; "
			"`biplane capabilities` prints what each driver needs");
		break;
	case EAGAIN: /* also if it cannot determine whether vfio is available */
		bp_eal_log_errors(words, sizeof(words));
		snprintf(err, err_size,
			"another process holds DPDK's files of instance %s, or one of its parts "
			"does not "
			"start: %s; stop the other one, or give this one another name (`name:` in "
			"the "
			"configuration)",
			c->name, words);
		break;
	case ENOMEM:
		snprintf(err, err_size,
			"DPDK found no memory: free some hugepages, or raise runtime.memory (now "
			"%u MiB)",
			c->memory_mb);
		break;
	default:
		bp_eal_log_errors(words, sizeof(words));
		/* Some functions of EAL fail without an error number. */
		snprintf(err, err_size,
			"DPDK did not start%s%s%s%s%s. Is another instance %s running, or is an "
			"option after -- wrong?",
			rte_errno != 0 ? " (" : "", rte_errno != 0 ? rte_strerror(rte_errno) : "",
			rte_errno != 0 ? ")" : "", words[0] != '\0' ? ": " : "", words, c->name);
	}
	return -1;
}
