/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_PORT_H
#define BIPLANE_LCL_SIM_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/sim/lcl/frame.h"
#include "services/lcl/scheduler.h"

/* Scheduling at the output port of a node. */
enum lsim_scheduling {
	LSIM_LCL,      /* services/lcl/scheduler.c, which the gateway has too */
	LSIM_PRIORITY, /* time-sensitive frames before best effort, no preemption */
	LSIM_FIFO,     /* all in the order in which they came */
};

struct lsim_port_options {
	enum lsim_scheduling scheduling;
	struct bp_lcl_scheduler_options lcl; /* the queue depth also applies without LCL */
	uint64_t clock_ns;                   /* that this node's clock is ahead */
	uint64_t propagation_ps;
};

/* A port, the link after it, and the frames on that link. */
struct lsim_port {
	struct lsim_port_options o;
	struct bp_lcl_scheduler *lcl;
	struct lsim_list waiting[2]; /* without LCL: time-sensitive, best effort; FIFO: [0] */
	struct lsim_list flying;
	uint64_t link_free_ps;
	uint64_t backlog_ps; /* maximum remaining busy time of the link when a frame was queued */
};

/* 0, or -1: no memory, or options that the scheduler refuses. */
int lsim_port_init(struct lsim_port *p, const struct lsim_port_options *o);
void lsim_port_free(struct lsim_port *p);

/* Puts a frame that arrived at f->in_ps; f->in_ns is set to the time of the node's clock.
 * PUT_FULL: the caller keeps it. last_slot: of its flow at this port. */
enum bp_lcl_put lsim_port_put(struct lsim_port *p, struct lsim_frame *f, uint64_t *last_slot);

/* Sends the frames that leave at now_ps: f->delay_ps, f->waited_ns and the label are updated, and
 * f->in_ps is the arrival time at the next node. Calls `left` for each with its waiting time.
 * Returns their number. */
struct lsim_departure {
	struct lsim_frame *frame;
	uint64_t wait_ps;   /* until its first bit was on the wire */
	uint64_t waited_ns; /* as the scheduler has it; without LCL: wait_ps */
	int32_t d;          /* as it came */
	enum bp_lcl_put put;
	bool accounts; /* the scheduler's waited_ns matches the node's clock */
};
unsigned lsim_port_take(struct lsim_port *p, uint64_t now_ps,
	void (*left)(void *arg, const struct lsim_departure *d), void *arg);
/* Time of the next poll, not before now_ps; LSIM_NEVER. */
uint64_t lsim_port_next(const struct lsim_port *p, uint64_t now_ps);
/* Frames that wait. */
uint32_t lsim_port_queued(const struct lsim_port *p);

#endif
