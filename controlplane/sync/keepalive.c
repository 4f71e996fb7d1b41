/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/keepalive.h"

#include <linux/neighbour.h>
#include <netlink/attr.h>
#include <sys/socket.h>

/* The kernel waits 5 s (delay_first_probe_time) before it probes a neighbor that was used; a
 * repeated request before that has no effect. */
#define ASK_AGAIN_S 5u

static bool ask(struct bp_netlink *requests, uint32_t ifindex, const struct bp_address *a)
{
	const bool ip4 = a->family == 4;
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWNEIGH, 0);
	struct ndmsg nd = {.ndm_family = ip4 ? AF_INET : AF_INET6,
		.ndm_ifindex = (int)ifindex,
		.ndm_flags = NTF_USE};

	if (msg == NULL || nlmsg_append(msg, &nd, sizeof(nd), NLMSG_ALIGNTO) < 0 ||
		nla_put(msg, NDA_DST, ip4 ? 4 : 16, a->bytes) < 0) {
		nlmsg_free(msg);
		return false;
	}
	/* without an answer: a neighbor that has just been deleted is no error, and a failed one is
	 * requested again */
	return bp_netlink_send(requests, msg) == 0;
}

static bool is_due(const struct bp_nl_neighbor *nb, const struct bp_fib_writer *writer,
	uint32_t now_s, uint32_t keep_s)
{
	uint32_t used;

	if (!(nb->nud & NUD_STALE) || (nb->asked_s != 0 && now_s - nb->asked_s < ASK_AGAIN_S))
		return false;
	used = bp_fib_writer_neighbor_used(writer, nb->interface, &nb->address);
	return used != 0 && (int32_t)(now_s - used) <= (int32_t)keep_s;
}

unsigned bp_keepalive(
	struct bp_nl_cache *cache, struct bp_netlink *requests, uint32_t now_s, uint32_t keep_s)
{
	unsigned asked = 0;

	for (struct bp_nl_neighbor *nb = cache->oldest; nb != NULL; nb = nb->newer) {
		uint32_t ifindex = cache->own[nb->interface].ifindex;

		if (ifindex == 0 || !is_due(nb, cache->writer, now_s, keep_s))
			continue;
		/* refreshed neighbors are not due again for some time: the next call reaches the
		 * following ones */
		if (asked == BP_KEEPALIVE_BATCH || !ask(requests, ifindex, &nb->address))
			break;
		nb->asked_s = now_s;
		asked++;
	}
	return asked;
}
