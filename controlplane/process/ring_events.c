/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/ring_events.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "biplane/limits.h"
#include "controlplane/process/clock.h"
#include "shm/doorbell.h"

/* Poll intervals without a doorbell: short while records arrive, long after a time without. */
#define POLL_BUSY_NS 250000
#define POLL_IDLE_NS 1000000
#define POLL_BUSY_FOR_NS 100000000ull
/* Rounds before other events of the loop are handled. */
#define ROUNDS_MAX 8u
/* Examinations without a pause, between two checks of other events of the loop. */
#define POLLS 256u
#define PIPE_READS 16u /* of 4 KiB: the default size of a pipe */

struct reader {
	const struct bp_ring *ring;
	unsigned n;
	uint64_t seen[BP_MAX_WORKERS]; /* heads */
	void (*read)(void *arg);
	void *arg;
};

struct bp_ring_events {
	struct event_base *base;
	_Atomic uint64_t *sleeps;
	char *runtime_dir, *name; /* copies: a reload replaces the configuration */
	int bell, timer;          /* descriptors; -1: none */
	struct event *bell_event, *timer_event, *again_event, *second_event;
	bool busy;        /* polls without a pause */
	long poll_ns;     /* period of the timer; 0: off */
	uint64_t read_ns; /* time of the last record, without a doorbell */
	unsigned n;
	struct reader reader[BP_RING_READERS_MAX];
};

/* Calls the readers of rings with new records. Returns whether there were any. */
static bool examine(struct bp_ring_events *e)
{
	bool any = false;

	for (unsigned i = 0; i < e->n; i++) {
		struct reader *r = &e->reader[i];
		bool news = false;

		for (unsigned k = 0; k < r->n; k++) {
			const uint64_t head = bp_ring_written(&r->ring[k]);

			news |= head != r->seen[k];
			r->seen[k] = head;
		}
		if (news)
			r->read(r->arg);
		any |= news;
	}
	return any;
}

/* Reads until the rings have no new records while the workers know that this process sleeps. */
static void serve(struct bp_ring_events *e)
{
	static const struct timeval now = {0, 0};

	bp_doorbell_wake(e->sleeps);
	if (e->busy) {
		for (unsigned i = 0; i < POLLS && !examine(e);)
			i++;
		evtimer_add(e->again_event, &now);
		return;
	}
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		if (examine(e))
			continue;
		bp_doorbell_sleep(e->sleeps);
		if (!examine(e))
			return;
		bp_doorbell_wake(e->sleeps);
	}
	evtimer_add(e->again_event, &now);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	serve(arg);
}

static void on_bell(evutil_socket_t fd, short what, void *arg)
{
	struct bp_ring_events *e = arg;
	char rings[4096];

	(void)what;
	bp_doorbell_wake(e->sleeps);
	examine(e); /* the records first */
	/*
	 * At most as often as a full pipe needs: a defective data plane that writes without end
	 * must not hold this loop. The event is edge-triggered, so the rest does not wake again.
	 */
	for (unsigned i = 0; i < PIPE_READS; i++)
		if (read(fd, rings, sizeof(rings)) < (ssize_t)sizeof(rings))
			break;
	serve(e);
}

static void set_poll(struct bp_ring_events *e, long ns)
{
	const struct itimerspec t = {{0, ns}, {0, ns}};

	if (ns != e->poll_ns && timerfd_settime(e->timer, 0, &t, NULL) == 0)
		e->poll_ns = ns;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_ring_events *e = arg;
	uint64_t expirations;

	(void)what;
	if (read(fd, &expirations, sizeof(expirations)) != (ssize_t)sizeof(expirations))
		return;
	if (examine(e)) {
		e->read_ns = bp_mono_ns();
		set_poll(e, POLL_BUSY_NS);
	} else if (e->poll_ns != POLL_IDLE_NS && bp_mono_ns() - e->read_ns > POLL_BUSY_FOR_NS) {
		set_poll(e, POLL_IDLE_NS);
	}
}

static void close_bell(struct bp_ring_events *e)
{
	if (e->bell_event != NULL)
		event_free(e->bell_event);
	e->bell_event = NULL;
	if (e->bell >= 0)
		close(e->bell);
	e->bell = -1;
	bp_doorbell_wake(e->sleeps); /* no worker rings for a pipe that is not read */
}

static bool open_bell(struct bp_ring_events *e)
{
	e->bell = bp_doorbell_open(e->runtime_dir, e->name);
	if (e->bell >= 0)
		e->bell_event =
			event_new(e->base, e->bell, EV_READ | EV_ET | EV_PERSIST, on_bell, e);
	if (e->bell_event != NULL && event_add(e->bell_event, NULL) == 0)
		return true;
	close_bell(e);
	return false;
}

/* Opens the doorbell when a data plane has created it, or created another one. */
static void find_bell(struct bp_ring_events *e)
{
	if (e->busy || e->runtime_dir == NULL ||
		(e->bell >= 0 && bp_doorbell_same(e->bell, e->runtime_dir, e->name)))
		return;
	close_bell(e);
	if (open_bell(e)) {
		set_poll(e, 0);
		serve(e);
	} else if (e->poll_ns == 0) {
		set_poll(e, POLL_BUSY_NS);
	}
}

/* Also a bound for the delay if the word in the segment was overwritten. */
static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct bp_ring_events *e = arg;

	(void)fd;
	(void)what;
	find_bell(e);
	if (e->bell >= 0)
		serve(e);
}

struct bp_ring_events *bp_ring_events_new(struct event_base *base, _Atomic uint64_t *sleeps,
	const char *runtime_dir, const char *name)
{
	static const struct timeval second = {1, 0};
	struct bp_ring_events *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->base = base;
	e->sleeps = sleeps;
	e->runtime_dir = runtime_dir != NULL ? strdup(runtime_dir) : NULL;
	e->name = name != NULL ? strdup(name) : NULL;
	e->bell = -1;
	e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	e->timer_event = event_new(base, e->timer, EV_READ | EV_PERSIST, on_timer, e);
	e->again_event = evtimer_new(base, on_again, e);
	e->second_event = event_new(base, -1, EV_PERSIST, on_second, e);
	if ((e->runtime_dir == NULL) != (runtime_dir == NULL) ||
		(e->name == NULL) != (name == NULL) || e->timer < 0 || e->timer_event == NULL ||
		e->again_event == NULL || e->second_event == NULL ||
		event_add(e->timer_event, NULL) != 0 || event_add(e->second_event, &second) != 0) {
		bp_ring_events_free(e);
		return NULL;
	}
	set_poll(e, POLL_BUSY_NS);
	find_bell(e);
	return e;
}

void bp_ring_events_busy(struct bp_ring_events *e)
{
	close_bell(e);
	set_poll(e, 0);
	e->busy = true;
	serve(e);
}

void bp_ring_events_free(struct bp_ring_events *e)
{
	if (e == NULL)
		return;
	close_bell(e);
	if (e->timer_event != NULL)
		event_free(e->timer_event);
	if (e->again_event != NULL)
		event_free(e->again_event);
	if (e->second_event != NULL)
		event_free(e->second_event);
	if (e->timer >= 0)
		close(e->timer);
	free(e->runtime_dir);
	free(e->name);
	free(e);
}

bool bp_ring_events_add(struct bp_ring_events *e, const struct bp_ring *ring, unsigned n,
	void (*read)(void *arg), void *arg)
{
	struct reader *r = &e->reader[e->n];

	if (e->n == BP_RING_READERS_MAX || n > BP_MAX_WORKERS)
		return false;
	*r = (struct reader){.ring = ring, .n = n, .read = read, .arg = arg};
	for (unsigned i = 0; i < n; i++)
		r->seen[i] = bp_ring_tail(&ring[i]);
	e->n++;
	event_active(e->again_event, 0, 0);
	return true;
}
