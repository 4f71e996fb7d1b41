/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * biplane-lcl-sim: a network of nodes that schedule by latency control labels, under virtual time.
 * See --help.
 */
#include <stdio.h>
#include <stdlib.h>

#include "apps/sim/lcl/network.h"
#include "apps/sim/lcl/options.h"
#include "apps/sim/lcl/report.h"

/* Every frame has arrived or was counted as lost, and every label was correct. */
static bool accounts(const struct lsim_network *w)
{
	for (uint32_t i = 0; i < w->n_flows; i++) {
		const struct lsim_measured *m = &w->flows[i].measured;
		uint64_t known = m->received;

		for (unsigned h = 0; h < w->flows[i].hops; h++)
			known += m->hop[h].put[BP_LCL_PUT_FULL];
		if (known != m->sent || m->wrong != 0)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct lsim_options o;
	struct lsim_network w;
	const char *wrong;
	bool well;

	lsim_options_read(&o, argc, argv);
	wrong = lsim_scenario_make(&w, &o.s);
	if (wrong != NULL) {
		fprintf(stderr, "biplane-lcl-sim: %s\n", wrong);
		return 64;
	}
	w.series_ps = o.series_ns * LSIM_PS;
	wrong = lsim_network_run(&w, o.frames);
	if (wrong != NULL)
		fprintf(stderr, "biplane-lcl-sim: %s\n", wrong);
	well = lsim_report(&w, &o.s, o.json) && wrong == NULL && accounts(&w);
	lsim_network_free(&w);
	return well ? 0 : 1;
}
