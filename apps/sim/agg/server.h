/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_SERVER_H
#define BIPLANE_AGG_SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A queue with one server, FIFO, driven by its arrivals: G/G/1, or with a buffer G/G/1/(1 +
 * buffer). Times in any unit.
 */
struct sim_server {
	double free;     /* when all accepted customers have been served */
	double *start;   /* begin of service of the last `buffer` accepted customers; a ring */
	uint32_t buffer; /* that may wait; SIM_ENDLESS: any number */
	uint32_t at;
	uint64_t accepted, refused;
	double waited, worked, first, last; /* sums; and the first and last arrival */
};

#define SIM_ENDLESS UINT32_MAX

/* 0, or -1: no memory. */
int sim_server_init(struct sim_server *s, uint32_t buffer);
void sim_server_free(struct sim_server *s);

/* A customer who arrives at `now`, not before the one before, and needs `work`. Returns the
 * waiting time before service; negative: the buffer is full and the customer is lost. */
static inline double sim_server_arrive(struct sim_server *s, double now, double work)
{
	double start = s->free > now ? s->free : now;

	if (s->accepted + s->refused == 0)
		s->first = now;
	s->last = now;
	if (s->buffer == 0 && start > now) {
		s->refused++;
		return -1;
	}
	if (s->start != 0) {
		/* All customers wait whose service has not begun: if the oldest of the last
		 * `buffer` is among them, the buffer is full. */
		if (s->start[s->at] > now) {
			s->refused++;
			return -1;
		}
		s->start[s->at] = start;
		s->at = s->at + 1 == s->buffer ? 0 : s->at + 1;
	}
	s->free = start + work;
	s->accepted++;
	s->waited += start - now;
	s->worked += work;
	return start - now;
}

static inline double sim_server_mean_wait(const struct sim_server *s)
{
	return s->accepted != 0 ? s->waited / (double)s->accepted : 0;
}

/* Share of the time between the first and the last arrival for which there was work. */
static inline double sim_server_utilisation(const struct sim_server *s)
{
	return s->last > s->first ? s->worked / (s->last - s->first) : 0;
}

#endif
