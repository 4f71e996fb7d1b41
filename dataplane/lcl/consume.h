/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_LCL_CONSUME_H
#define BP_DATAPLANE_LCL_CONSUME_H

#include "dataplane/lcl/lcl.h"

/*
 * Labels end here: of frames that a service or the kernel takes in, and of frames whose buffers
 * become the answer to what was in them. Whatever leaves for them is another frame, of another
 * flow, and must not go out with their sequence numbers.
 */
static inline void bp_lcl_consume(struct bp_worker *w, struct rte_mbuf *const *m, unsigned n)
{
	uint64_t flag, labels = 0;

	if (likely(!w->lcl))
		return;
	flag = w->lcl->field.flag;
	for (unsigned i = 0; i < n; i++) {
		labels += (m[i]->ol_flags & flag) != 0;
		m[i]->ol_flags &= ~flag;
	}
	bp_count(w, BP_C_LCL_CONSUMED, labels);
}

#endif
