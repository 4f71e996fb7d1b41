/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_lcore.h>

#include "dataplane/exception/serve.h"
#include "daemon/log.h"

#define WAIT_MIN_NS 50000u
#define WAIT_MAX_NS 500000u
#define SLACK_NS                                                                                   \
	1000ul /* timer slack; the default of the kernel is as long as the poll interval           \
		*/
#define NS_PER_SECOND 1000000000ull

struct bp_exception_thread {
	struct bp_serve serve;
	struct bp_kernel_if *interface[BP_MAX_INTERFACES];
	int epoll;
	bool no_pwait2; /* a kernel before 5.11, or a container that forbids the call */
	_Atomic bool stop;
	_Atomic uint64_t rounds;
	pthread_t id;
};

static uint64_t mono_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static int wait_for(struct bp_exception_thread *t, struct epoll_event *events, uint32_t wait_ns)
{
	const struct timespec wait = {.tv_nsec = wait_ns};
	int n = -1;

	if (!t->no_pwait2) {
		n = epoll_pwait2(t->epoll, events, BP_MAX_INTERFACES, &wait, NULL);
		t->no_pwait2 = n < 0 && errno != EINTR;
	}
	if (t->no_pwait2)
		n = epoll_wait(t->epoll, events, BP_MAX_INTERFACES, wait_ns ? 1 : 0);
	return n;
}

/* The interface was removed (`ip link del`): its descriptor would stay readable. */
static void give_up(struct bp_exception_thread *t, unsigned i)
{
	bp_log_event(BP_LOG_ERROR, BP_LOG_FIELDS(BP_LOG_STR("interface", t->interface[i]->name)),
		"kernel interface was removed; its frames are not punted until the data plane "
		"restarts");
	epoll_ctl(t->epoll, EPOLL_CTL_DEL, t->interface[i]->fd, NULL);
	atomic_store(&t->serve.x->has[i], false);
	t->interface[i] = NULL;
}

/* Returns the number of frames read from the kernel. */
static unsigned read_ready(struct bp_exception_thread *t, const struct epoll_event *events, int n)
{
	unsigned all = 0;

	for (int e = 0; e < n; e++) {
		unsigned i = events[e].data.u32;

		if (events[e].events & (EPOLLERR | EPOLLHUP))
			give_up(t, i);
		else
			all += bp_serve_from_kernel(&t->serve, i);
	}
	return all;
}

static unsigned read_polled(struct bp_exception_thread *t)
{
	unsigned all = 0;

	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (t->interface[i] && t->interface[i]->fd < 0)
			all += bp_serve_from_kernel(&t->serve, i);
	return all;
}

static void *run(void *arg)
{
	struct bp_exception_thread *t = arg;
	struct epoll_event events[BP_MAX_INTERFACES];
	uint32_t wait_ns = WAIT_MIN_NS;

	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	while (!atomic_load_explicit(&t->stop, memory_order_acquire)) {
		unsigned moved = bp_serve_to_kernel(&t->serve, mono_ns());

		atomic_fetch_add_explicit(&t->rounds, 1, memory_order_relaxed);
		moved += read_polled(t);
		moved += read_ready(t, events, wait_for(t, events, moved ? 0 : wait_ns));
		if (moved)
			wait_ns = WAIT_MIN_NS;
		else
			wait_ns = RTE_MIN(wait_ns * 2, WAIT_MAX_NS);
	}
	bp_serve_finish(&t->serve);
	return NULL;
}

static int watch(struct bp_exception_thread *t)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};

		if (t->interface[i] && t->interface[i]->fd >= 0 &&
			epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->interface[i]->fd, &e) != 0)
			return -1;
	}
	return 0;
}

struct bp_exception_thread *bp_exception_thread_start(struct bp_exception *x,
	struct bp_kernel_if *const *interface, const struct bp_config_punt *config,
	struct bp_counters *counters, char *err, size_t err_size)
{
	struct bp_exception_thread *t = calloc(1, sizeof(*t));
	int rc = ENOMEM;

	if (t) {
		memcpy(t->interface, interface, sizeof(t->interface));
		bp_serve_init(&t->serve, x, t->interface, counters, config, mono_ns());
		t->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (t->epoll < 0 || watch(t) != 0)
			rc = errno;
		else
			rc = -rte_ctrl_thread_create(&t->id, "bp-exception", NULL, run, t);
		if (rc == 0)
			return t;
		if (t->epoll >= 0)
			close(t->epoll);
		free(t);
	}
	snprintf(err, err_size, "cannot start the exception thread: %s", strerror(rc));
	return NULL;
}

uint64_t bp_exception_thread_rounds(const struct bp_exception_thread *t)
{
	return atomic_load_explicit(&t->rounds, memory_order_relaxed);
}

void bp_exception_thread_stop(struct bp_exception_thread *t)
{
	if (!t)
		return;
	atomic_store_explicit(&t->stop, true, memory_order_release);
	pthread_join(t->id, NULL);
	close(t->epoll);
	free(t);
}
