/* SPDX-License-Identifier: BSD-3-Clause */
#include "killed.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct rig rig, next;

/* State of a process that the next one uses. */
struct part {
	void *of, *copy, *to;
	size_t n;
};
static struct part part[16];
static unsigned n_parts;

static void add_part(void *of, void *to, size_t n)
{
	part[n_parts++] = (struct part){of, malloc(n), to, n};
	assert_non_null(part[n_parts - 1].copy);
}

void killed_watch(void)
{
	const struct bp_shm *a = &rig.shm, *b = &next.shm;

	n_parts = 0;
	add_part(a->flows, b->flows, a->flows_len);
	add_part(a->reassembly, b->reassembly, a->reassembly_len);
	for (unsigned w = 0; w < a->workers; w++) {
		const struct bp_ring *ring = bp_shm_ring(a, w), *to = bp_shm_ring(b, w);

		add_part(ring->shared, to->shared, BP_RING_OVERHEAD + ring->capacity);
		add_part(ring->reader, to->reader, sizeof(*ring->reader));
	}
	add_part(a->shared, b->shared, sizeof(*a->shared));
	add_part(a->rule_state, b->rule_state, a->rule_state_len * sizeof(*a->rule_state));
	add_part(a->windows.bucket, b->windows.bucket,
		a->windows.buckets * sizeof(*a->windows.bucket));
	add_part(a->windows.cells, b->windows.cells,
		a->windows.buckets * BP_WINDOW_WAYS * a->windows.stride);
	add_part(a->global, b->global, sizeof(*a->global));
	add_part(a->watch.entry, b->watch.entry, a->watch.len * sizeof(*a->watch.entry));
	add_part(a->watch.topic, b->watch.topic, a->watch.len * sizeof(*a->watch.topic));
}

bool killed_look_at(pid_t pid)
{
	static uint8_t now[1 << 20];
	struct iovec to[16], from[16];
	bool changed = false;
	size_t at = 0;

	for (unsigned i = 0; i < n_parts; i++) {
		assert_true(at + part[i].n <= sizeof(now));
		to[i] = (struct iovec){now + at, part[i].n};
		from[i] = (struct iovec){part[i].of, part[i].n};
		at += part[i].n;
	}
	assert_int_equal(process_vm_readv(pid, to, n_parts, from, n_parts, 0), at);
	for (unsigned i = 0; i < n_parts; i++) {
		if (memcmp(part[i].copy, to[i].iov_base, part[i].n) != 0) {
			memcpy(part[i].copy, to[i].iov_base, part[i].n);
			changed = true;
		}
	}
	return changed;
}

void killed_begin_next(void)
{
	for (unsigned i = 0; i < n_parts; i++)
		memcpy(part[i].to, part[i].copy, part[i].n);
	for (unsigned w = 0; w < next.shm.workers; w++) {
		struct bp_ring *ring = bp_shm_ring(&next.shm, w);

		bp_ring_attach(ring, ring->shared, ring->reader, ring->capacity);
	}
	memset(next.shm.counters, 0, sizeof(*next.shm.counters));
	rig_restart(&next);
}

void killed_unwatch(void)
{
	for (unsigned i = 0; i < n_parts; i++)
		free(part[i].copy);
	n_parts = 0;
}

bool killed_stopped_by(pid_t pid, int *sig)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		return false;
	*sig = WSTOPSIG(status);
	return true;
}

static _Noreturn void child(unsigned units, void (*send)(struct rig *r, unsigned unit))
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (unsigned i = 0; i < units; i++) {
		raise(SIGSTOP);
		send(&rig, i);
	}
	_exit(0);
}

size_t killed_after_each_store(unsigned units, void (*send)(struct rig *r, unsigned unit),
	void (*continues)(unsigned unit))
{
	size_t kills = 0;
	unsigned at = 0;
	pid_t pid;
	int sig;

	killed_watch();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(units, send);
	while (killed_stopped_by(pid, &sig)) {
		at += sig == SIGSTOP;
		if (at != 0 && killed_look_at(pid)) {
			continues(at - 1);
			kills++;
		}
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
			break;
	}
	assert_int_equal(at, units);
	killed_unwatch();
	return kills;
}
