/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/static.h"

#include <string.h>

#include "daemon/log.h"
#include "controlplane/process/peer.h"

/* A port that the data plane has described has a driver. Returns whether all ports have one. */
static bool look(struct bp_fib_link *link, const struct bp_sync_to *to, const struct bp_config *c)
{
	const bool alive = bp_dataplane_alive(to->global);
	bool all = true;

	memset(link, 0, sizeof(*link) * BP_MAX_INTERFACES);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const struct bp_port_info *port = &to->ports[i];

		if (!bp_fib_static_only(c, i, true))
			continue;
		/* the host interface of a bridge has no port of its own: it is up while biplane
		 * runs */
		if (i >= BP_MAX_PORTS) {
			link[i].known = link[i].up = true;
			continue;
		}
		if (i >= to->n_ports || port->driver[0] == '\0') {
			all = false;
			continue;
		}
		link[i].known = true;
		/* the link states of a dead data plane remain valid until the next one reports its
		 * own: forwarding resumes before this function is called */
		link[i].up = port->link_up != 0 || !alive;
		link[i].mtu = port->mtu;
		memcpy(link[i].mac, port->mac, sizeof(link[i].mac));
	}
	return all;
}

void bp_sync_static_follow(struct bp_sync_static *s, const struct bp_sync_to *to,
	const struct bp_config *c, bool again)
{
	struct bp_fib_link link[BP_MAX_INTERFACES];
	char err[512];

	s->complete = look(link, to, c);
	if (s->applied && !again && memcmp(link, s->link, sizeof(link)) == 0)
		return;
	memcpy(s->link, link, sizeof(link));
	s->applied = true;
	if (bp_fib_static_apply(to->writer, c, true, s->link, err, sizeof(err)) != 0)
		bp_log(BP_LOG_WARNING, "not all static routes and neighbors were applied: %s", err);
}
