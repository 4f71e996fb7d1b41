/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/rule_publisher.h"

#include <stdio.h>
#include <stdlib.h>

void *bp_rule_publisher_create(struct bp_plane_context *x, char *err, size_t err_size)
{
	struct bp_rule_publisher *p = calloc(1, sizeof(*p));

	if (p != NULL)
		p->shm = x->shm;
	else
		snprintf(err, err_size, "no memory for the rules of a service");
	return p;
}

void bp_rule_publisher_publish(
	struct bp_rule_publisher *p, struct bp_seqlock *lock, const void *rules, size_t n)
{
	p->lock = lock;
	p->changed = !bp_seqlock_equals(lock, rules, n);
	bp_seqlock_write(lock, rules, n);
}

void bp_rule_publisher_republish(void *state)
{
	const struct bp_rule_publisher *p = state;

	if (p->lock != NULL)
		bp_seqlock_republish(p->lock);
}
