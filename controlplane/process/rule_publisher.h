/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_RULE_PUBLISHER_H
#define BP_CONTROLPLANE_PROCESS_RULE_PUBLISHER_H

#include "controlplane/service.h"
#include "shm/seqlock.h"

/*
 * Common code and state of services whose rules are one value of fixed size that workers copy
 * (shm/seqlock.h).
 */
struct bp_rule_publisher {
	const struct bp_shm *shm;
	struct bp_seqlock *lock; /* NULL: nothing has been published */
	bool changed;            /* by the last publication */
};

/* As create() and republish() of the descriptor; free() frees the state. */
void *bp_rule_publisher_create(struct bp_plane_context *x, char *err, size_t err_size);
void bp_rule_publisher_republish(void *state);

/* Publishes the rules, even if they are unchanged: a restarted worker started with the rules of the
 * file at that time, which may differ. The other workers compare. */
void bp_rule_publisher_publish(
	struct bp_rule_publisher *p, struct bp_seqlock *lock, const void *rules, size_t n);

#endif
