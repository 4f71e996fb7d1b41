/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/load.h"

#include <errno.h>

int bp_load_begin(struct bp_load *l, struct bp_netlink *n, enum bp_netlink_dump what)
{
	*l = (struct bp_load){.what = what};
	return bp_netlink_dump(n, what);
}

/* The error code at the end of a dump, in NLMSG_ERROR and, since Linux 4.13, in NLMSG_DONE. */
static int code_of(const struct nlmsghdr *h)
{
	return nlmsg_datalen(h) >= (int)sizeof(int) ? *(const int *)nlmsg_data(h) : 0;
}

static int end(struct bp_load *l, int code)
{
	l->done = true;
	/* a kernel before 5.3 has no next-hop objects */
	return l->what == BP_DUMP_OBJECTS && (code == -EOPNOTSUPP || code == -EINVAL) ? 0 : code;
}

int bp_load_some(struct bp_load *l, struct bp_netlink *n, struct bp_nl_cache *cache)
{
	ssize_t got = bp_netlink_receive(n);
	int left = (int)got;

	if (got <= 0)
		return (int)got;
	for (struct nlmsghdr *h = (struct nlmsghdr *)n->buffer; nlmsg_ok(h, left);
		h = nlmsg_next(h, &left)) {
		if (h->nlmsg_seq != n->seq) { /* of an aborted dump */
			if (l->busy && h->nlmsg_type == NLMSG_DONE)
				return bp_load_begin(l, n, l->what);
			continue;
		}
		/* the kernel rejects it while the aborted dump continues, and its end is still to
		 * come */
		if (h->nlmsg_type == NLMSG_ERROR && code_of(h) == -EBUSY) {
			l->busy = true;
			continue;
		}
		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			l->interrupted = true;
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return end(l, code_of(h));
		bp_nl_cache_message(cache, h, true);
	}
	return 0;
}
