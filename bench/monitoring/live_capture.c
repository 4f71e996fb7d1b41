/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/monitoring/live_capture.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "dataplane/capture/capture.h"
#include "shm/layout.h"

#define SLOT 0
#define READ_US 10000 /* time between two reads, as of biplane capture */
#define PORTS 3u

static const struct capture {
	const char *name, *filter;
	enum bp_capture_engine engine;
} captures[] = {{"nothing", "udp port 9", BP_CAPTURE_NATIVE},
	{"interpreter", "udp port 9", BP_CAPTURE_INTERPRETER},
	/* 10 of the 1,000 connections of case text */
	{"sample", "src portrange 32768-32777", BP_CAPTURE_NATIVE},
	{"return", NULL, BP_CAPTURE_NATIVE}};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "biplane-bench: capture: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const struct capture *find(const char *name)
{
	for (unsigned i = 0; i < RTE_DIM(captures); i++)
		if (strcmp(captures[i].name, name) == 0)
			return &captures[i];
	return NULL;
}

bool bench_live_capture_known(const char *name)
{
	return find(name) != NULL;
}

/* As where memfd_create() is not permitted. */
static void deny_executable_memory(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
		"seccomp");
}

void bench_live_capture_set_up(
	struct bench_live_capture *c, struct bp_shm *shm, struct bp_worker *worker)
{
	c->shm = shm;
	c->sets = bp_capture_sets_create(shm, 1);
	worker->capture = bp_capture_worker_create(worker, shm);
	must(c->sets != NULL && worker->capture != NULL, "memory");
	bp_capture_sets_begin(c->sets, 0);
	worker->capture->sets = c->sets;
}

/* ---- requests, as the control plane writes them ---- */

static void compile(struct bp_capture_request *r, const char *filter)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, BP_CAPTURE_SNAP_MAX);
	struct bpf_program p;

	if (filter == NULL) {
		r->n_insns = 1;
		r->insn[0] = (struct bp_capture_insn){BPF_RET | BPF_K, 0, 0, 0};
	} else {
		must(dead != NULL && pcap_compile(dead, &p, filter, 1, PCAP_NETMASK_UNKNOWN) == 0 &&
				p.bf_len <= BP_CAPTURE_INSNS_MAX,
			filter);
		r->n_insns = p.bf_len;
		memcpy(r->insn, p.bf_insns, p.bf_len * sizeof(r->insn[0]));
		pcap_freecode(&p);
	}
	pcap_close(dead);
}

/* Returns when the worker has begun or ended the capture. */
static void request(struct bench_live_capture *c, bool on)
{
	static struct bp_capture_request r;
	const struct capture *what = find(c->name);
	const struct bp_capture_status *status = &c->shm->capture.status[SLOT];

	memset(&r, 0, sizeof(r));
	if (on) {
		r.id = ++c->id;
		r.kind = BP_CAPTURE_FRAMES;
		r.ports = BP_CAPTURE_ALL_PORTS;
		r.snap_length = BP_CAPTURE_SNAP_MAX;
		r.rx = r.tx = 1;
		compile(&r, what->filter);
	}
	bp_seqlock_write(&c->shm->capture.slot[SLOT].lock, &r, sizeof(r));
	atomic_fetch_add(&c->shm->control->captures_changed, 1);
	do
		bp_capture_sets_poll(c->sets);
	while (atomic_load(&status->id) != r.id);
	must(!on || atomic_load(&status->engine) == what->engine,
		"the filter has the wrong engine");
}

static void capture(void *arg, bool on)
{
	request(arg, on);
}

/* ---- measurement ---- */

static void *read_records(void *arg)
{
	static uint8_t record[BP_CAPTURE_RECORD_MAX + 8] __attribute__((aligned(8)));
	struct bench_live_capture *c = arg;
	struct bp_capture_reader reader;

	bp_capture_reader_init(
		&reader, bp_capture_ring_of(&c->shm->capture, 0), c->shm->capture.ring_capacity);
	while (!atomic_load(&c->stop)) {
		const uint64_t head = bp_capture_reader_head(&reader);

		while (bp_capture_reader_next(&reader, head, record))
			c->records++;
		usleep(READ_US);
	}
	c->overruns = reader.overruns;
	return NULL;
}

void bench_live_capture_measure(struct bench_live_capture *c, struct bench_slices *s,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames)
{
	const struct bench_slices_load load = {.set = capture, .arg = c};

	if (find(c->name)->engine == BP_CAPTURE_INTERPRETER)
		deny_executable_memory();
	must(pthread_create(&c->reader, NULL, read_records, c) == 0, "thread");
	bench_slices_measure(s, &load, seconds, worker, frames);
	request(c, true); /* its counts are reported */
	usleep(READ_US);
	atomic_store(&c->stop, true);
	pthread_join(c->reader, NULL);
}

bool bench_live_capture_report(struct bench_live_capture *c, const struct bench_slices *s)
{
	const bool sample = strcmp(c->name, "sample") == 0;
	uint64_t matched = 0;

	for (unsigned p = 0; p < PORTS; p++)
		matched += atomic_load(&c->shm->capture.counts[0].matched[SLOT][p]);
	printf(", \"capture\": \"%s\", \"captured_mpps\": %.3f, \"none_mpps\": %.3f"
	       ", \"ratio\": %.4f, \"records\": %" PRIu64 ", \"overruns\": %" PRIu64,
		c->name, s->data_mpps, s->none_mpps, s->ratio, c->records, c->overruns);
	return (matched != 0) == sample && (c->records != 0) == sample && c->overruns == 0;
}
