/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/phd_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "config/segment.h"
#include "bench/health/association_load.h"
#include "bench/harness/instance.h"
#include "proto/net/frame.h"

#define CARD "cloud"
#define CARD_ADDRESS 0x0a020001u /* 10.2.0.1 */
#define CSE_ADDRESS 0x0a030014u  /* 10.3.0.20 */

void bench_must(bool ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

uint64_t bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	bench_must(sched_setaffinity(0, sizeof(set), &set) == 0, "affinity", strerror(errno));
}

struct bp_address bench_address4(uint32_t a)
{
	struct bp_address out = {.family = 4};

	bp_put_be32(out.bytes, a);
	return out;
}

void bench_phd_lab(struct bench_kernel *kernel)
{
	const struct bp_address manager = bench_address4(BENCH_MANAGER),
				devices = bench_address4(BENCH_DEVICES_FIRST + 1);
	int lo;

	bench_must(unshare(CLONE_NEWNET) == 0, "network namespace of its own", strerror(errno));
	lo = (int)if_nametoindex("lo");
	bench_kernel_open(kernel);
	bench_kernel_link_up(kernel, lo);
	bench_kernel_address(kernel, lo, &manager, 32);
	/* On a loopback every address of the prefix becomes the machine's own. */
	bench_kernel_address(kernel, lo, &devices, 10);
}

void bench_phd_lab_card(struct bench_kernel *kernel)
{
	const struct bp_address own = bench_address4(CARD_ADDRESS),
				gateway = bench_address4(CARD_ADDRESS + 1);
	struct bp_prefix cse = {.family = 4, .length = 32};
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), i;

	snprintf(r.ifr_name, sizeof(r.ifr_name), CARD);
	/* Open for the lifetime of the process, and never read: queued data is dropped. */
	bench_must(fd >= 0 && ioctl(fd, TUNSETIFF, &r) == 0, "tap", strerror(errno));
	i = (int)if_nametoindex(CARD);
	bench_kernel_link_up(kernel, i);
	bench_kernel_address(kernel, i, &own, 24);
	bench_kernel_neighbor(kernel, i, &gateway);
	bp_put_be32(cse.bytes, CSE_ADDRESS);
	bench_kernel_route(kernel, RTM_NEWROUTE, &cse, i, &gateway);
	bench_kernel_flush(kernel);
}

struct bp_config *bench_phd_lab_config(const char *text)
{
	struct bp_config *c = bp_config_parse("bench", text, strlen(text), stderr);

	bench_must(c != NULL, "configuration", "refused");
	return c;
}

void bench_phd_lab_segment(struct bp_shm *shm, const struct bp_config *c)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	char name[BENCH_INSTANCE], err[256];
	struct bp_segment *s;
	int rc;

	bench_instance(name);
	s = bp_segment_open(name, bp_hugepage_dir(), "/dev/shm", specs, bp_shm_specs(c, specs),
		true, err, sizeof(err));
	bench_must(s != NULL, "segment", err);
	rc = bp_shm_map(shm, s, err, sizeof(err));
	/* as in bench/harness/gateway.c */
	bp_segment_unlink(name, bp_hugepage_dir(), "/dev/shm");
	bench_must(rc == 0, "segment", err);
}

uint64_t bench_socket_drops(uint16_t port)
{
	char line[512];
	uint64_t drops = UINT64_MAX;
	FILE *f = fopen("/proc/net/udp", "re");

	bench_must(f != NULL, "/proc/net/udp", strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned of;
		uint64_t n;

		/* local address, ..., inode, references, pointer, drops */
		if (sscanf(line, " %*u: %*8x:%4x %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
			    &of, &n) == 2 &&
			of == port)
			drops = n;
	}
	fclose(f);
	bench_must(drops != UINT64_MAX, "/proc/net/udp", "the socket is not there");
	return drops;
}

double bench_process_ns(pid_t pid, bool all)
{
	struct timespec t = {0};
	char path[64];
	double ns = 0;
	clockid_t clock;
	FILE *f;

	if (all) {
		bench_must(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0,
			"processor time", "unknown");
		return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
	}
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)pid);
	f = fopen(path, "re");
	bench_must(f != NULL && fscanf(f, "%lf", &ns) == 1, path, "cannot be read");
	fclose(f);
	return ns;
}
