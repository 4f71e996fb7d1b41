/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/publication.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "controlplane/process/clock.h"
#include "controlplane/process/peer.h"

/* Polling interval while waiting for workers. */
static const struct timeval poll_every = {0, 1000};
/* The new rules are active immediately; the answer waits up to this time until every worker uses
 * them. */
#define ACK_WAIT_NS 2000000000ull

enum phase { IDLE, WAIT_FREE, WAIT_ACK };

struct bp_publication {
	struct bp_plane_context *x;
	struct event *timer;
	enum phase phase;
	const struct bp_config *config; /* owned by the caller until `done` */
	uint64_t deadline_ns;           /* monotonic; 0: none */
	bp_publication_done done;
	void *arg;
};

/* For each service of this control plane that has the operation. */
#define FOR_EACH(p, s, d, operation)                                                               \
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)                                            \
		for (const struct bp_controlplane_service *d =                                     \
				(p)->x->state[s] != NULL ? bp_controlplane_services[s] : NULL;     \
			d != NULL && d->operation != NULL; d = NULL)

/* Returns a worker that still runs the graph with other rules than the active ones, or -1. */
static int worker_behind(const struct bp_publication *p)
{
	if (!bp_dataplane_alive(p->x->shm->global))
		return -1;
	FOR_EACH (p, s, d, behind) {
		const int worker = d->behind(p->x->state[s]);

		if (worker >= 0)
			return worker;
	}
	return -1;
}

static void finish(struct bp_publication *p, const char *error, bool retry)
{
	event_del(p->timer);
	p->phase = IDLE;
	FOR_EACH (p, s, d, published)
		d->published(p->x->state[s], error == NULL);
	p->done(p->arg, error, retry);
}

static int stage(struct bp_publication *p, char *err, size_t err_size)
{
	FOR_EACH (p, s, d, stage)
		if (d->stage(p->x->state[s], p->config, err, err_size) != 0)
			return -1;
	return 0;
}

/* Steps that can fail come first. */
static int activate(struct bp_publication *p, char *err, size_t err_size)
{
	if (stage(p, err, err_size) != 0)
		return -1;
	FOR_EACH (p, s, d, publish)
		d->publish(p->x->state[s], p->config);
	p->phase = WAIT_ACK;
	p->deadline_ns = bp_mono_ns() + ACK_WAIT_NS;
	return 0;
}

/* Advances the publication as far as the workers allow. */
static void step(struct bp_publication *p)
{
	int behind = worker_behind(p);
	bool late = p->deadline_ns != 0 && bp_mono_ns() >= p->deadline_ns;
	char err[512];

	if (p->phase == WAIT_FREE && behind < 0) {
		if (activate(p, err, sizeof(err)) != 0) {
			finish(p, err, false);
			return;
		}
		behind = worker_behind(p);
		late = false;
	}
	if (p->phase == WAIT_ACK && (behind < 0 || late)) {
		finish(p, NULL, false);
		return;
	}
	if (p->phase == WAIT_FREE && late) {
		snprintf(err, sizeof(err),
			"worker %d still uses the rules before the active ones and does not take "
			"new ones; check the data plane, then reload again",
			behind);
		finish(p, err, true);
		return;
	}
	event_add(p->timer, &poll_every);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	step(arg);
}

struct bp_publication *bp_publication_new(struct bp_plane_context *x)
{
	struct bp_publication *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->x = x;
	p->timer = evtimer_new(x->base, on_timer, p);
	if (p->timer != NULL)
		return p;
	free(p);
	return NULL;
}

void bp_publication_free(struct bp_publication *p)
{
	if (p == NULL)
		return;
	event_free(p->timer);
	free(p);
}

bool bp_publication_busy(const struct bp_publication *p)
{
	return p->phase != IDLE;
}

/* Returns whether workers must leave an earlier generation first: 0 or 1; -1 with a sentence in
 * `err`. */
static int prepare(struct bp_publication *p, bool keep_same, char *err, size_t err_size)
{
	int wait = 0;

	FOR_EACH (p, s, d, prepare) {
		const int rc = d->prepare(p->x->state[s], p->config, keep_same, err, err_size);

		if (rc < 0)
			return -1;
		wait |= rc;
	}
	return wait;
}

int bp_publication_start(struct bp_publication *p, const struct bp_config *c, bool keep_same,
	uint64_t wait_ns, bp_publication_done done, void *arg, char *err, size_t err_size)
{
	int wait;

	if (p->phase != IDLE) {
		snprintf(err, err_size,
			"another set of rules is being activated; try again in a moment");
		return -1;
	}
	p->config = c;
	p->done = done;
	p->arg = arg;
	wait = prepare(p, keep_same, err, err_size);
	if (wait < 0)
		return -1;
	if (wait == 0) {
		if (activate(p, err, err_size) != 0)
			return -1;
		finish(p, NULL, false);
		return 0;
	}
	p->phase = WAIT_FREE;
	p->deadline_ns = wait_ns == 0 ? 0 : bp_mono_ns() + wait_ns;
	step(p);
	return 0;
}
