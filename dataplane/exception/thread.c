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

#include "daemon/log.h"
#include "dataplane/dpdk_compat.h"
#include "dataplane/exception/serve.h"

/* Interval of polling, where nothing wakes the thread. */
#define POLL_MIN_NS 50000u
#define POLL_MAX_NS 500000u
#define HEARTBEAT_NS 100000000u /* longest sleep */
#define NS_PER_MS 1000000u
#define EVENTS (BP_MAX_INTERFACES + 1) /* interfaces by number, then the wakeup */
#define SLACK_NS                                                                                   \
	1000ul /* timer slack; the default of the kernel is as long as the poll interval           \
		*/
#define NS_PER_SECOND 1000000000ull

/* The way of an interface between the thread and its starter, which may close those RELEASED. */
enum owner {
	SERVED,
	GONE, /* the starter found it removed */
	RELEASED,
	REPLACED, /* the thread has to begin with offered[i] */
};

struct bp_exception_thread {
	struct bp_serve serve;
	struct bp_kernel_if *interface[BP_MAX_INTERFACES];
	struct bp_kernel_if *offered[BP_MAX_INTERFACES]; /* the starter's while RELEASED */
	_Atomic uint8_t owner[BP_MAX_INTERFACES];        /* enum owner */
	_Atomic bool changed;                            /* the starter has set an owner */
	int epoll;
	bool polls;     /* an interface has no descriptor */
	bool no_pwait2; /* a kernel before 5.11, or a container that forbids the call */
	_Atomic bool stop;
	_Atomic uint64_t rounds;
	rte_thread_t id;
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
		n = epoll_pwait2(t->epoll, events, EVENTS, &wait, NULL);
		t->no_pwait2 = n < 0 && errno != EINTR;
	}
	if (t->no_pwait2)
		n = epoll_wait(
			t->epoll, events, EVENTS, (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS));
	return n;
}

/* The interface was removed (`ip link del`): its descriptor would stay readable. */
static void give_up(struct bp_exception_thread *t, unsigned i)
{
	bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("interface", t->interface[i]->name)),
		"kernel interface was removed; it is created again, and its frames are not punted "
		"until then");
	if (t->interface[i]->fd >= 0)
		epoll_ctl(t->epoll, EPOLL_CTL_DEL, t->interface[i]->fd, NULL);
	atomic_store(&t->serve.x->has[i], false);
	t->interface[i] = NULL;
	atomic_store_explicit(&t->owner[i], RELEASED, memory_order_release);
}

/* Returns the number of frames read from the kernel. */
static unsigned read_ready(
	struct bp_exception_thread *t, const struct epoll_event *events, int n, bool *rung)
{
	unsigned all = 0;

	*rung = false;
	for (int e = 0; e < n; e++) {
		unsigned i = events[e].data.u32;

		if (i == BP_MAX_INTERFACES)
			*rung = true;
		else if (events[e].events & (EPOLLERR | EPOLLHUP))
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

/*
 * Waits for events, and reads from the kernel. `armed`: workers ring the thread. It sleeps then,
 * unless it must poll: frames that wait for their rate limit would make every burst of a flood
 * ring, which is a system call of the worker. Returns the number of frames, and one more if it was
 * rung.
 */
static unsigned wait_and_read(struct bp_exception_thread *t, bool armed, uint32_t wait_ns)
{
	struct bp_wakeup *wakeup = &t->serve.x->thread_wakeup;
	struct epoll_event events[EVENTS];
	unsigned read;
	bool rung;

	if (armed && wait_ns != 0) {
		if (t->polls || bp_serve_has_frames(&t->serve))
			bp_wakeup_finish(wakeup, false);
		else
			wait_ns = HEARTBEAT_NS;
	}
	read = read_ready(t, events, wait_for(t, events, wait_ns), &rung);
	bp_wakeup_finish(wakeup, rung);
	return read + rung;
}

static int watch_one(struct bp_exception_thread *t, uint32_t number, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = number};

	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* 0, or -1 with errno. */
static int watch_interface(struct bp_exception_thread *t, unsigned i)
{
	if (t->interface[i]->fd >= 0)
		return watch_one(t, i, t->interface[i]->fd);
	t->polls = true;
	return 0;
}

static void take_changes(struct bp_exception_thread *t)
{
	atomic_exchange(&t->changed, false);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const uint8_t owner = atomic_load_explicit(&t->owner[i], memory_order_acquire);

		if (owner == GONE) {
			give_up(t, i);
		} else if (owner == REPLACED) {
			t->interface[i] = t->offered[i];
			atomic_store_explicit(&t->owner[i], SERVED, memory_order_relaxed);
			if (watch_interface(t, i) != 0)
				give_up(t, i);
			else
				atomic_store(&t->serve.x->has[i], true);
		}
	}
}

/*
 * After activity the thread polls for one interval, and then sleeps: frames that are punted at
 * short intervals make few workers ring.
 */
static bp_control_result_t run(void *arg)
{
	struct bp_exception_thread *t = arg;
	uint32_t poll_ns = POLL_MIN_NS;
	bool armed = false;

	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	for (;;) {
		unsigned moved;

		if (armed)
			bp_wakeup_prepare(&t->serve.x->thread_wakeup);
		if (atomic_load_explicit(&t->stop, memory_order_acquire))
			break;
		if (atomic_load_explicit(&t->changed, memory_order_relaxed))
			take_changes(t);
		moved = bp_serve_to_kernel(&t->serve, mono_ns());
		atomic_fetch_add_explicit(&t->rounds, 1, memory_order_relaxed);
		moved += read_polled(t);
		moved += wait_and_read(t, armed, moved ? 0 : poll_ns);
		armed = moved == 0;
		poll_ns = moved ? POLL_MIN_NS : RTE_MIN(poll_ns * 2, POLL_MAX_NS);
	}
	bp_serve_finish(&t->serve);
	return 0;
}

static int watch(struct bp_exception_thread *t)
{
	if (bp_wakeup_open(&t->serve.x->thread_wakeup) != 0 ||
		watch_one(t, BP_MAX_INTERFACES, t->serve.x->thread_wakeup.fd) != 0)
		return -1;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (t->interface[i] && watch_interface(t, i) != 0)
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
			rc = -bp_control_thread_start(&t->id, "bp-exception", run, t);
		if (rc == 0)
			return t;
		if (t->epoll >= 0)
			close(t->epoll);
		bp_wakeup_close(&x->thread_wakeup);
		free(t);
	}
	snprintf(err, err_size, "cannot start the exception thread: %s", strerror(rc));
	return NULL;
}

static void notify(struct bp_exception_thread *t)
{
	atomic_store(&t->changed, true);
	bp_wakeup_ring(&t->serve.x->thread_wakeup);
}

bool bp_exception_thread_released(struct bp_exception_thread *t, unsigned interface, bool gone)
{
	uint8_t owner = SERVED;

	if (gone && atomic_compare_exchange_strong(&t->owner[interface], &owner, GONE))
		notify(t);
	return atomic_load_explicit(&t->owner[interface], memory_order_acquire) == RELEASED;
}

void bp_exception_thread_replace(
	struct bp_exception_thread *t, unsigned interface, struct bp_kernel_if *k)
{
	t->offered[interface] = k;
	atomic_store_explicit(&t->owner[interface], REPLACED, memory_order_release);
	notify(t);
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
	bp_wakeup_ring(&t->serve.x->thread_wakeup);
	bp_control_thread_join(t->id);
	bp_wakeup_close(&t->serve.x->thread_wakeup);
	close(t->epoll);
	free(t);
}
