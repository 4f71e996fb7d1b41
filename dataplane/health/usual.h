/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_USUAL_H
#define BP_DATAPLANE_HEALTH_USUAL_H

#include "dataplane/health/turn.h"

/*
 * The quick way through node phd, for what nearly all reports are: those of a session that is
 * operating and READY, with the shape that the last ones of its layout had
 * (services/health/quick.h), which did not come before, and with room for the request in their own
 * mbuf. A worker learns the shapes from what the long way converts. What is done and counted is the
 * same on both ways.
 */

/* Before the steps of a burst, and behind them. */
void bp_phd_usual_begin(struct bp_phd_turn *t);
void bp_phd_usual_end(struct bp_phd_turn *t);

/*
 * Of the step's datagrams i to n - 1, those usual ones that stand before the first other one: their
 * requests are written into their mbufs m[], and are collected in t->way. Returns how many.
 */
uint32_t bp_phd_usual_take(struct bp_phd_turn *t, const struct bp_phd_heads *heads,
	struct rte_mbuf **m, uint32_t i, uint32_t n);

/* A report of a session with layout number n, `l` as this worker has it, came the long way, and
 * h->conversion is what it is: perhaps its shape becomes the usual one. */
void bp_phd_usual_learn(struct bp_phd_worker *h, uint16_t n, const struct bp_phd_layout *l,
	const uint8_t *apdu, uint32_t len);

#endif
