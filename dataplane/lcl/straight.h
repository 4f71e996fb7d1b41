/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_LCL_STRAIGHT_H
#define BP_DATAPLANE_LCL_STRAIGHT_H

#include "dataplane/lcl/lcl.h"

/*
 * A short way for frames with a good label that go from a port whose labels are trusted straight to
 * an LCL port of the same worker, as in a two-port bridge where nothing else looks at them: they
 * keep their label where it is, with n one less, and are put into the scheduler together. Nothing
 * that can be seen differs from the general way, on which the label is taken off, remembered in the
 * mbuf, and inserted again.
 *
 * Takes such frames out of m[0..n), which came to node lcl_in, and returns how many are left there
 * for the general way, in their order. Behind a labelled frame that must go there all do, so that
 * none overtakes another of its flow.
 */
unsigned bp_lcl_go_straight(struct bp_lcl *l, struct rte_mbuf **m, unsigned n);

#endif
