/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_SLEEP_H
#define BP_DATAPLANE_WORKERS_SLEEP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/ports/ports.h"
#include "dataplane/workers/graph.h"
#include "dataplane/workers/worker.h"

/*
 * How a worker sleeps while no frames arrive (`poll_mode: adaptive`). It waits in ppoll() for the
 * event descriptors of its receive queues (dataplane/ports/rx_event.h, receive interrupts), for its
 * wakeup, and for the next deadline of its services. ppoll() registers with the sockets only while
 * the worker sleeps: under load the kernel has nothing to signal. A worker with a queue that has no
 * event descriptor takes short naps instead.
 */

/* ---- when to sleep: pure functions ---- */

/* Empty walks before a sleep: frames that arrive together are received together. */
#define BP_IDLE_WALKS 16u
/* Frames with shorter gaps than this are waited for without a sleep, for at most this time. */
#define BP_SPIN_MAX_NS 50000u
/* Longest sleep. Rules, aging and plans of the control plane wait for it at most. */
#define BP_SLEEP_MAX_NS 10000000u
/* Time from the end of a timeout until the thread runs. For a deadline it wakes so much earlier. */
#define BP_WAKE_NS 60000u
#define BP_NAP_MIN_NS 30000u
#define BP_NAP_MAX_NS 250000u

struct bp_sleep_policy {
	uint64_t rx_frames; /* of the worker, at the last arrival */
	uint64_t last_ns;   /* time of the last arrival */
	uint64_t gap_ns;    /* moving average of the gaps between arrivals */
	uint64_t nap_ns;    /* length of the next nap */
};

/* Called for the first empty walk after frames arrived. */
void bp_sleep_policy_arrival(struct bp_sleep_policy *p, uint64_t rx_frames, uint64_t now_ns);
/* Whether the worker sleeps after `idle` empty walks in a row. */
static inline bool bp_sleep_policy_due(
	const struct bp_sleep_policy *p, uint64_t idle, uint64_t now_ns)
{
	return idle >= BP_IDLE_WALKS &&
	       (p->gap_ns >= BP_SPIN_MAX_NS || now_ns - p->last_ns >= 2 * p->gap_ns ||
		       now_ns - p->last_ns >= BP_SPIN_MAX_NS);
}
/* The longest sleep before the deadline `due_ns`; 0: the worker polls until then. */
uint64_t bp_sleep_policy_timeout(uint64_t now_ns, uint64_t due_ns);
/* The length of a nap, which doubles until the next arrival. */
uint64_t bp_sleep_policy_nap(struct bp_sleep_policy *p);

/* ---- the sleep ---- */

struct bp_sleep {
	struct bp_sleep_policy policy;
	struct bp_worker *worker;
	struct pollfd *event; /* the wakeup of the worker, then its event descriptors */
	unsigned n_events;
	bool naps;          /* a queue has no event descriptor */
	int napping_port;   /* the first such port; -1: none */
	bool timed_out;     /* the last wait ended without an event */
	bool signaled;      /* the last wait ended with an event of a queue, after this number: */
	uint64_t rx_frames; /* of the worker, when it began to wait */
	/* receive interrupts: an epoll instance of DPDK, and the queues; -1 and 0: none */
	int interrupt_epoll;
	unsigned n_interrupts;
	struct {
		const char *name; /* of the port */
		uint16_t port, queue;
		unsigned missed;     /* since the last interrupt */
		uint64_t rx_packets; /* of the port, when the worker began to wait */
	} interrupt[];
};

/*
 * Collects the event descriptors of the queues of a worker, and opens its wakeup. The ports are
 * started. The caller frees the result with bp_sleep_free(). NULL on error, with a message in
 * `err`.
 */
struct bp_sleep *bp_sleep_create(struct bp_worker *w, const struct bp_port *ports,
	const struct bp_rx_queue *queues, unsigned n_queues, char *err, size_t err_size);
void bp_sleep_free(struct bp_sleep *s); /* NULL is allowed */

/* In the thread of the worker, before its first walk: makes its timeouts exact. */
void bp_sleep_begin(void);
/*
 * A sleep: prepare(), a walk that finds no frames, wait(), finish(). If the walk finds frames,
 * finish() follows immediately. wait() ends after an event, a ring or `timeout_ns`; it returns
 * the timeout that it used, which is shorter for a nap.
 */
void bp_sleep_prepare(struct bp_sleep *s);
uint64_t bp_sleep_wait(struct bp_sleep *s, uint64_t timeout_ns);
void bp_sleep_finish(struct bp_sleep *s);
/*
 * Called if a walk found frames after a wait that timed out: they came without an interrupt. Some
 * devices accept receive interrupts and do not send them; after BP_MISSED_MAX such walks in a row
 * the worker takes naps.
 */
#define BP_MISSED_MAX 4u
void bp_sleep_missed(struct bp_sleep *s);

#endif
