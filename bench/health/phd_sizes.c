/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures 4 and 5 of the dual-plane paper, single-plane side: reports/s converted by the program of
 * bench/health/phd_single_plane.h, for one size of the APDU.
 *
 *   phd_sizes APDU-BYTES SECONDS
 *
 * A thousand associated devices overload it from another process on another core; its requests go
 * to a tap interface, which drops them. The result is reports per second of CPU time of the
 * program. The setup favours the program: the kernel receives on the core of the sender, loopback
 * does not verify checksums, and the interface costs nothing. Prints one JSON object. Fails if the
 * reports sent are not all converted or counted as socket drops.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/health/association_load.h"
#include "bench/health/phd_frames.h"
#include "bench/harness/phd_lab.h"
#include "bench/health/phd_single_plane.h"
#include "proto/net/frame.h"

#define BATCH 50u   /* divides the number of devices */
#define MESSAGES 3u /* per device, until it is operating and its MDS is known */
#define SETTLE_NS 300000000ull
#define PATIENCE_NS 5000000000ull

static const char configuration[] =
	"name: bench\nports:\n"
	"  - {name: devices, device: net_null0, routed: {addresses: [10.0.0.1/24]}}\n"
	"health_devices:\n  listen: {udp_port: 6024, tcp_port: off}\n  content_instance_per: "
	"report\n"
	"  limits: {association_rate: 1000000}\n  cse: {coap: \"coap://10.3.0.20\"}\n";

struct sender {
	int fd;
	uint32_t apdu;
	uint16_t report_no;
	uint64_t sent;
	struct bench_association_place place[BENCH_PHD_DEVICES];
	struct mmsghdr head[BENCH_PHD_DEVICES];
	uint8_t frame[BENCH_PHD_DEVICES][BENCH_PHD_FRAME_MAX];
};

static pid_t start_gateway(
	struct bench_single_plane *n, struct bp_shm *shm, const struct bp_config *c)
{
	pid_t pid = fork();

	bench_must(pid >= 0, "fork", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bench_pin(1);
		bench_single_plane_run(n, shm, c);
	}
	while (atomic_load(&n->ready) == 0)
		bench_must(waitpid(pid, NULL, WNOHANG) == 0, "single plane", "it ended");
	return pid;
}

/* Creates a session for each device through the manager. */
static void associate(struct sender *s)
{
	uint8_t config[256];
	struct bench_association_load l = {.under_way = 64,
		.at_least = BENCH_PHD_DEVICES,
		.at_most = BENCH_PHD_DEVICES,
		.config = config,
		.config_len = bench_phd_config_report(s->apdu, config)};

	bench_association_load(&l);
	bench_must(!l.stuck && l.others == 0 && l.done == BENCH_PHD_DEVICES, "associations",
		"not all were accepted");
	s->fd = l.fd;
}

static void make_reports(struct sender *s)
{
	for (uint32_t i = 0; i < BENCH_PHD_DEVICES; i++) {
		const uint32_t device = i * 7 % BENCH_PHD_DEVICES;

		bench_phd_frame(device, s->apdu, s->frame[i]);
		bench_association_from(&s->head[i], &s->place[i], device,
			s->frame[i] + BENCH_PHD_AT_APDU, s->apdu);
	}
}

/* One report per device, with increasing numbers. */
static void send_pass(struct sender *s)
{
	s->report_no++;
	for (uint32_t i = 0; i < BENCH_PHD_DEVICES; i++) {
		bp_put_be16(s->frame[i] + BENCH_PHD_AT_INVOKE, s->report_no);
		bp_put_be16(s->frame[i] + BENCH_PHD_AT_REPORT_NO, s->report_no);
	}
	for (uint32_t i = 0; i < BENCH_PHD_DEVICES; i += BATCH) {
		const int n = sendmmsg(s->fd, s->head + i, BATCH, 0);

		bench_must(n == (int)BATCH, "sendmmsg", strerror(errno));
		s->sent += BATCH;
	}
}

static void send_for(struct sender *s, uint64_t ns)
{
	for (const uint64_t end = bench_now_ns() + ns; bench_now_ns() < end;)
		send_pass(s);
}

/* Whether all reports sent are accounted for, and each one read was converted to a request. */
static bool settled(const struct sender *s, const struct bench_single_plane *n, uint64_t *drops)
{
	const uint64_t end = bench_now_ns() + PATIENCE_NS;
	bool all;

	do {
		*drops = bench_socket_drops(BENCH_MANAGER_PORT);
		all = atomic_load(&n->reports) + *drops == s->sent &&
		      atomic_load(&n->requests) == atomic_load(&n->reports);
	} while (!all && bench_now_ns() < end);
	return all;
}

int main(int argc, char **argv)
{
	static struct bench_kernel kernel;
	static struct sender s;
	struct bench_single_plane *n =
		mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const double seconds = argc == 3 ? strtod(argv[2], NULL) : 0;
	uint64_t reports, drops;
	struct bp_config *c;
	struct bp_shm shm;
	double cpu, took;
	pid_t gateway;
	bool proven;

	s.apdu = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	if (s.apdu < BENCH_PHD_APDU_MIN + 2 || s.apdu > BENCH_PHD_APDU_MAX || s.apdu % 2 != 0 ||
		!(seconds > 0)) {
		fprintf(stderr, "usage: phd_sizes APDU-BYTES (44..1024, even) SECONDS\n");
		return 64;
	}
	bench_must(n != MAP_FAILED, "memory", strerror(errno));
	bench_phd_lab(&kernel);
	bench_phd_lab_card(&kernel);
	c = bench_phd_lab_config(configuration);
	bench_phd_lab_segment(&shm, c);
	gateway = start_gateway(n, &shm, c);
	bench_pin(0);
	associate(&s);
	make_reports(&s);
	send_for(&s, SETTLE_NS);
	reports = atomic_load(&n->reports);
	cpu = bench_process_ns(gateway, false);
	took = (double)bench_now_ns();
	send_for(&s, (uint64_t)(seconds * 1e9));
	took = (double)bench_now_ns() - took;
	cpu = bench_process_ns(gateway, false) - cpu;
	reports = atomic_load(&n->reports) - reports;
	proven = settled(&s, n, &drops) && atomic_load(&n->refused) == 0 &&
		 atomic_load(&n->others) == MESSAGES * BENCH_PHD_DEVICES;
	printf("{\"apdu\": %" PRIu32 ", \"per_cpu_second\": %.0f, \"cpu_ns\": %.1f"
	       ", \"busy\": %.3f, \"sent\": %" PRIu64 ", \"reports\": %" PRIu64
	       ", \"requests\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"proven\": %s}\n",
		s.apdu, (double)reports / cpu * 1e9, cpu / (double)reports, cpu / took, s.sent,
		atomic_load(&n->reports), atomic_load(&n->requests), drops,
		proven ? "true" : "false");
	kill(gateway, SIGKILL);
	waitpid(gateway, NULL, 0);
	return proven ? 0 : 1;
}
