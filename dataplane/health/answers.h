/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_ANSWERS_H
#define BP_DATAPLANE_HEALTH_ANSWERS_H

#include "dataplane/health/health.h"
#include "dataplane/workers/worker.h"
#include "services/health/answer.h"

/*
 * What devices are told of their reports: frames that are collected over a burst, and leave
 * together by the forwarding tables.
 */
#define BP_ANSWERS_MAX 64u

struct bp_answer {
	struct rte_mbuf *m;
	uint64_t token;
	uint32_t slot;
	uint8_t outcome; /* enum bp_m2m_outcome */
	bool ip6;
};

struct bp_answers {
	uint32_t n;
	struct bp_answer of[BP_ANSWERS_MAX];
};

/* There is room for one more. */
static inline bool bp_answers_room(const struct bp_answers *a)
{
	return a->n < BP_ANSWERS_MAX;
}

/*
 * `m`, whose content is lost, becomes the answer that a token (services/health/token.h) and an
 * outcome mean, to the device of the session in the token's slot. There is room.
 */
void bp_answers_add(struct bp_answers *a, const struct bp_phd_worker *h, struct rte_mbuf *m,
	uint64_t token, enum bp_m2m_outcome outcome);

/*
 * Sends all. Those whose way the tables do not know are handed to the control plane, as an event,
 * so that the kernel finds it out.
 */
void bp_answers_send(
	struct rte_graph *graph, struct rte_node *node, struct bp_worker *w, struct bp_answers *a);

/* An event for the control plane. False: the ring is full; counted. */
bool bp_phd_event_send(struct bp_worker *w, enum bp_phd_event_kind kind, uint64_t token,
	enum bp_m2m_outcome outcome);

#endif
