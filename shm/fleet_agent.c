/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fleet_agent.h"

#include <string.h>

#define READS_MAX 8u /* a writer that died in its write leaves no value */

static const char *const names[BP_FLEET_PHASES] = {
	[BP_FLEET_IDLE] = "idle",
	[BP_FLEET_WAITING] = "waiting",
	[BP_FLEET_TRIAL] = "trial",
	[BP_FLEET_APPLIED] = "applied",
	[BP_FLEET_REFUSED] = "refused",
	[BP_FLEET_ROLLED_BACK] = "rolled_back",
};

const char *bp_fleet_phase_name(enum bp_fleet_phase phase)
{
	return names[phase];
}

bool bp_fleet_phase_read(const char *name, enum bp_fleet_phase *phase)
{
	for (unsigned i = 0; name != NULL && i < BP_FLEET_PHASES; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		*phase = i;
		return true;
	}
	return false;
}

bool bp_fleet_agent_read(const struct bp_fleet_agent *a, struct bp_fleet_report *out)
{
	bool read = false;

	for (unsigned i = 0; !read && i < READS_MAX; i++) {
		uint64_t seen = 0;

		read = bp_seqlock_read(&a->lock, &seen, out, sizeof(*out));
	}
	if (!read || out->phase >= BP_FLEET_PHASES)
		return false;
	out->member[sizeof(out->member) - 1] = '\0';
	out->error[sizeof(out->error) - 1] = '\0';
	return true;
}
