/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/tracker/send.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/sim/sim_run.h"

#define BATCH 32u

struct tracker {
	int fd;
	uint64_t random;
};

struct batch {
	struct mmsghdr header[BATCH];
	struct iovec part[BATCH];
	uint8_t bytes[BATCH][TRACKER_PACKET_MOST];
};

/* Readings that are due, at most a batch; waits for the first. */
static unsigned due(const struct tracker_options *o, uint64_t begin_ns, uint64_t done)
{
	const uint64_t left = o->count - done;
	const unsigned most = left < BATCH ? (unsigned)left : BATCH;
	unsigned n = 1;

	if (o->rate == 0)
		return most;
	for (;;) {
		const uint64_t now = sim_mono_ns();
		const uint64_t at = begin_ns + (uint64_t)((double)done * 1e9 / o->rate);
		struct timespec t;

		if (now >= at)
			break;
		t.tv_sec = (time_t)((at - now) / 1000000000u);
		t.tv_nsec = (long)((at - now) % 1000000000u);
		nanosleep(&t, NULL);
	}
	while (n < most &&
		sim_mono_ns() >= begin_ns + (uint64_t)((double)(done + n) * 1e9 / o->rate))
		n++;
	return n;
}

static void log_sample(FILE *log, unsigned tracker, const struct tracker_sample *r)
{
	if (log != NULL)
		fprintf(log, "%u,%llu,%.17g,%.17g,%.17g\n", tracker, (unsigned long long)r->number,
			r->radius, r->phi, r->theta);
}

static void send_all(int fd, struct batch *b, unsigned n)
{
	for (unsigned sent = 0; sent < n;) {
		const int rc = sendmmsg(fd, b->header + sent, n - sent, 0);

		/* a receiver that does not run is not a reason to stop */
		if (rc < 0 && errno != ECONNREFUSED && errno != EINTR && errno != ENOBUFS)
			tracker_fatal("sendmmsg");
		sent += rc > 0 ? (unsigned)rc : 0;
	}
}

static void send_some(const struct tracker_options *o, struct tracker *t, unsigned which,
	struct batch *b, uint64_t done, unsigned n, FILE *log)
{
	for (unsigned i = 0; i < n; i++) {
		struct tracker_sample r = {.number = done + i};

		tracker_path_at(o->path, r.number, o->count, &t->random, &r);
		r.sent_ns = sim_mono_ns();
		b->part[i].iov_base = b->bytes[i];
		b->part[i].iov_len = tracker_packet_write(&r, o->timed, b->bytes[i]);
		memset(&b->header[i], 0, sizeof(b->header[i]));
		b->header[i].msg_hdr.msg_iov = &b->part[i];
		b->header[i].msg_hdr.msg_iovlen = 1;
		log_sample(log, which, &r);
	}
	send_all(t->fd, b, n);
}

void tracker_send(const struct tracker_options *o, FILE *log)
{
	struct tracker *t = calloc(o->n_from, sizeof(*t));
	struct batch *b = calloc(1, sizeof(*b));
	uint64_t begin;

	if (t == NULL || b == NULL)
		tracker_fatal("memory");
	if (log != NULL)
		fputs("tracker,number,r,phi,theta\n", log);
	for (uint32_t i = 0; i < o->n_from; i++) {
		t[i].fd = tracker_socket(&o->from[i]);
		t[i].random = o->seed + i * 1000003u;
		if (connect(t[i].fd, (const struct sockaddr *)&o->at, tracker_socket_len(&o->at)) !=
			0)
			tracker_fatal("connect");
	}
	begin = sim_mono_ns();
	for (uint64_t done = 0; done < o->count;) {
		const unsigned n = due(o, begin, done);

		for (uint32_t i = 0; i < o->n_from; i++)
			send_some(o, &t[i], i, b, done, n, log);
		done += n;
	}
	printf("{\"sent\": %" PRIu64 "}\n", o->count * o->n_from);
	free(t);
	free(b);
}
