/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/measure.h"

#include <stdlib.h>
#include <string.h>

bool lsim_series_add(struct lsim_measured *m, uint64_t window, uint64_t ps)
{
	if (window >= m->windows) {
		const uint32_t more = (uint32_t)(window + 1) * 2;
		struct lsim_spread *grown = realloc(m->series, more * sizeof(grown[0]));

		if (grown == NULL)
			return false;
		memset(grown + m->windows, 0, (more - m->windows) * sizeof(grown[0]));
		m->series = grown;
		m->windows = more;
	}
	lsim_spread_add(&m->series[window], ps);
	return true;
}
