/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/workers/sleep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include "config/config.h"
#include "daemon/log.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/ports/rx_event.h"

#define TIMER_SLACK_NS 1ul
#define NS_PER_SECOND 1000000000ull
/* A longer gap counts as this: after a pause, a few short gaps suffice for another decision. */
#define GAP_MAX_NS (4u * BP_SPIN_MAX_NS)
#define INTERRUPTS_AT_ONCE 32

/* ---- when to sleep ---- */

void bp_sleep_policy_arrival(struct bp_sleep_policy *p, uint64_t rx_frames, uint64_t now_ns)
{
	const uint64_t gap = RTE_MIN(now_ns - p->last_ns, (uint64_t)GAP_MAX_NS);

	p->gap_ns = (3 * p->gap_ns + gap) / 4;
	p->last_ns = now_ns;
	p->rx_frames = rx_frames;
	p->nap_ns = BP_NAP_MIN_NS;
}

uint64_t bp_sleep_policy_timeout(uint64_t now_ns, uint64_t due_ns)
{
	if (due_ns <= now_ns || due_ns - now_ns <= BP_WAKE_NS)
		return 0;
	return RTE_MIN(due_ns - now_ns - BP_WAKE_NS, (uint64_t)BP_SLEEP_MAX_NS);
}

uint64_t bp_sleep_policy_nap(struct bp_sleep_policy *p)
{
	const uint64_t nap = RTE_MAX(p->nap_ns, (uint64_t)BP_NAP_MIN_NS);

	p->nap_ns = RTE_MIN(2 * nap, (uint64_t)BP_NAP_MAX_NS);
	return nap;
}

/* ---- event descriptors ---- */

static void add_event(struct bp_sleep *s, int fd)
{
	s->event[s->n_events++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static bool add_interrupt(struct bp_sleep *s, const struct bp_port *p, const struct bp_rx_queue *q)
{
	if (s->interrupt_epoll < 0) {
		s->interrupt_epoll = epoll_create1(EPOLL_CLOEXEC);
		if (s->interrupt_epoll < 0)
			return false;
		add_event(s, s->interrupt_epoll);
	}
	if (rte_eth_dev_rx_intr_ctl_q(q->port, q->queue, s->interrupt_epoll, RTE_INTR_EVENT_ADD,
		    (void *)(uintptr_t)s->n_interrupts) != 0)
		return false;
	s->interrupt[s->n_interrupts].name = p->config->name;
	s->interrupt[s->n_interrupts].port = q->port;
	s->interrupt[s->n_interrupts++].queue = q->queue;
	return true;
}

static void add_queue(struct bp_sleep *s, const struct bp_port *p, const struct bp_rx_queue *q)
{
	const int fd = bp_rx_event_fd(p, q->port, q->queue);

	if (fd >= 0)
		add_event(s, fd);
	else if (!p->rx_interrupts || !add_interrupt(s, p, q)) {
		if (!s->naps)
			s->napping_port = q->port;
		s->naps = true;
	}
}

struct bp_sleep *bp_sleep_create(struct bp_worker *w, const struct bp_port *ports,
	const struct bp_rx_queue *queues, unsigned n_queues, char *err, size_t err_size)
{
	struct bp_sleep *s = calloc(1, sizeof(*s) + n_queues * sizeof(s->interrupt[0]));

	if (s) {
		s->worker = w;
		s->interrupt_epoll = -1;
		s->napping_port = -1;
		s->event = calloc(n_queues + 2, sizeof(*s->event));
		if (s->event && bp_wakeup_open(&w->wakeup) == 0) {
			add_event(s, w->wakeup.fd);
			for (unsigned i = 0; i < n_queues; i++)
				add_queue(s, &ports[queues[i].port], &queues[i]);
			return s;
		}
	}
	snprintf(err, err_size, "no memory or no descriptors for the sleep of worker %u: %s",
		w->index, strerror(errno));
	bp_sleep_free(s);
	return NULL;
}

void bp_sleep_free(struct bp_sleep *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_interrupts; i++)
		rte_eth_dev_rx_intr_ctl_q(s->interrupt[i].port, s->interrupt[i].queue,
			s->interrupt_epoll, RTE_INTR_EVENT_DEL, NULL);
	if (s->interrupt_epoll >= 0)
		close(s->interrupt_epoll);
	bp_wakeup_close(&s->worker->wakeup);
	free(s->event);
	free(s);
}

/* ---- the sleep ---- */

void bp_sleep_begin(void)
{
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
}

/* Removes the interrupts that were signaled since the last sleep, as drivers require. */
static void clear_interrupts(struct bp_sleep *s)
{
	struct rte_epoll_event events[INTERRUPTS_AT_ONCE];
	int n;

	do {
		n = rte_epoll_wait(s->interrupt_epoll, events, INTERRUPTS_AT_ONCE, 0);
		for (int i = 0; i < n; i++)
			s->interrupt[(uintptr_t)events[i].epdata.data].missed = 0;
	} while (n == INTERRUPTS_AT_ONCE);
}

static uint64_t rx_packets(const struct bp_sleep *s, unsigned port)
{
	return bp_stat_get(&s->worker->port_stats[port].rx_packets);
}

void bp_sleep_missed(struct bp_sleep *s)
{
	for (unsigned i = 0; i < s->n_interrupts; i++) {
		const unsigned port = s->interrupt[i].port;

		if (rx_packets(s, port) == s->interrupt[i].rx_packets ||
			++s->interrupt[i].missed != BP_MISSED_MAX)
			continue;
		s->naps = true;
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", s->interrupt[i].name),
				BP_LOG_NUM("worker", s->worker->index)),
			"NIC does not send receive interrupts: the idle worker polls it every 30 "
			"us to 250 us (poll_mode: adaptive)");
	}
}

void bp_sleep_prepare(struct bp_sleep *s)
{
	bp_wakeup_prepare(&s->worker->wakeup);
	if (likely(s->n_interrupts == 0))
		return;
	clear_interrupts(s);
	for (unsigned i = 0; i < s->n_interrupts; i++)
		if (rte_eth_dev_rx_intr_enable(s->interrupt[i].port, s->interrupt[i].queue) != 0)
			s->naps = true;
}

/* An event without frames: an error, which the kernel reports until it is read. */
static void take_event(struct bp_sleep *s, struct pollfd *p)
{
	int error;
	socklen_t len = sizeof(error);

	s->signaled = true;
	if (p->revents & POLLERR)
		getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (p->revents & (POLLNVAL | POLLHUP)) {
		p->fd = -1; /* ppoll() ignores it */
		s->naps = true;
	}
}

uint64_t bp_sleep_wait(struct bp_sleep *s, uint64_t timeout_ns)
{
	struct bp_worker *w = s->worker;
	/* frames that the driver cannot receive, for example without mbufs: the event persists */
	const bool in_vain = s->signaled && w->rx_frames == s->rx_frames;
	struct timespec timeout;
	int n;

	if (s->naps || in_vain)
		timeout_ns = RTE_MIN(timeout_ns, bp_sleep_policy_nap(&s->policy));
	timeout = (struct timespec){.tv_sec = (time_t)(timeout_ns / NS_PER_SECOND),
		.tv_nsec = (long)(timeout_ns % NS_PER_SECOND)};
	s->signaled = false;
	s->rx_frames = w->rx_frames;
	for (unsigned i = 0; i < s->n_interrupts; i++)
		s->interrupt[i].rx_packets = rx_packets(s, s->interrupt[i].port);
	n = ppoll(s->event, in_vain ? 1 : s->n_events, &timeout, NULL);
	s->timed_out = n == 0;
	if (n <= 0)
		s->event[0].revents = 0;
	for (unsigned i = 1; i < s->n_events && n > 0 && !in_vain; i++)
		if (s->event[i].revents != 0)
			take_event(s, &s->event[i]);
	return timeout_ns;
}

void bp_sleep_finish(struct bp_sleep *s)
{
	bp_wakeup_finish(&s->worker->wakeup, (s->event[0].revents & POLLIN) != 0);
	s->event[0].revents = 0;
	for (unsigned i = 0; i < s->n_interrupts; i++)
		rte_eth_dev_rx_intr_disable(s->interrupt[i].port, s->interrupt[i].queue);
}
