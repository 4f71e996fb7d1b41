/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/command.h"

#include "config/health/settings.h"
#include <stdio.h>
#include <string.h>

#include "controlplane/process/control.h"

/* `id` is a system-id: 16 hexadecimal digits. */
static json_t *no_session(const char *id)
{
	char text[160];

	snprintf(text, sizeof(text),
		"no health device %s is associated; 'biplane show sessions' lists those that are",
		id);
	return bp_control_refusal(text);
}

json_t *bp_phd_release_command(struct bp_phd_service *s, bool enabled, const char *id)
{
	uint8_t system_id[8];

	if (!enabled)
		return bp_control_refusal("this instance serves no health devices: its file has no "
					  "section health_devices");
	if (!id || !bp_system_id_read(id, strlen(id), system_id))
		return bp_control_refusal(
			"id is not a system-id; expected 16 hexadecimal digits, not all 0");
	if (!s)
		return bp_control_refusal("health devices are not served yet: the data plane has "
					  "not reported the ports' MAC addresses; try again in a "
					  "moment");
	switch (bp_phd_service_release(s, system_id)) {
	case BP_PHD_DISCONNECT_REQUESTED:
		return json_pack("{s:b, s:b}", "ok", 1, "again", 0);
	case BP_PHD_DISCONNECT_PENDING:
		return json_pack("{s:b, s:b}", "ok", 1, "again", 1);
	case BP_PHD_DISCONNECT_UNKNOWN:
	default:
		return no_session(id);
	}
}
