/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_FRAME_H
#define BIPLANE_LCL_SIM_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define LSIM_PS 1000u              /* in a nanosecond */
#define LSIM_SECOND 1000000000000u /* in ps */

/* A frame in transit: its label, and the state of the simulator. */
struct lsim_frame {
	struct lsim_frame *next; /* in its current list */
	uint64_t in_ps;          /* when its last bit came to the node, or will */
	uint64_t delay_ps;       /* queueing so far: from in_ps to its first bit on the wire */
	uint64_t waited_ns;      /* the same as schedulers said it */
	uint64_t in_ns;          /* in_ps by the node's own clock */
	uint32_t sequence;
	uint32_t bytes; /* without checksum */
	int32_t d;      /* the label's */
	uint16_t flow;
	uint8_t n;   /* the label's; 0: best effort */
	uint8_t hop; /* nodes that it has left */
};

/* First in, first out. */
struct lsim_list {
	struct lsim_frame *first, **end;
	uint32_t count;
};

static inline void lsim_list_init(struct lsim_list *l)
{
	*l = (struct lsim_list){.end = &l->first};
}

static inline void lsim_list_put(struct lsim_list *l, struct lsim_frame *f)
{
	f->next = NULL;
	*l->end = f;
	l->end = &f->next;
	l->count++;
}

/* NULL: it is empty. */
static inline struct lsim_frame *lsim_list_take(struct lsim_list *l)
{
	struct lsim_frame *f = l->first;

	if (f == NULL)
		return NULL;
	l->first = f->next;
	if (l->first == NULL)
		l->end = &l->first;
	l->count--;
	return f;
}

#endif
