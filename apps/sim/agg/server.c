/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/server.h"

#include <math.h>
#include <stdlib.h>

int sim_server_init(struct sim_server *s, uint32_t buffer)
{
	*s = (struct sim_server){.buffer = buffer};
	if (buffer == 0 || buffer == SIM_ENDLESS)
		return 0;
	s->start = malloc(buffer * sizeof(s->start[0]));
	if (s->start == NULL)
		return -1;
	for (uint32_t i = 0; i < buffer; i++)
		s->start[i] = -INFINITY;
	return 0;
}

void sim_server_free(struct sim_server *s)
{
	free(s->start);
	s->start = NULL;
}
