/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/cse_binding.h"

#include <stddef.h>

#include "controlplane/health/cse/cse_client.h"

void bp_cse_watch_add(struct bp_cse_watch **list, struct bp_cse_watch *w)
{
	w->next = *list;
	*list = w;
}

void bp_cse_watch_tell(struct bp_cse_watch **list)
{
	struct bp_cse_watch *first = *list, **last = list;

	for (struct bp_cse_watch *w = first; w != NULL; w = w->next)
		w->room(w->arg);
	if (first == NULL)
		return;
	*list = first->next;
	first->next = NULL;
	while (*last != NULL)
		last = &(*last)->next;
	*last = first;
}

/* ---- CoAP ---- */

static enum bp_cse_sent send_by_coap(
	void *client, const struct bp_m2m_request *q, bp_cse_done *done, void *arg)
{
	return bp_cse_send(client, q, done, arg);
}

static void watch_coap(void *client, struct bp_cse_watch *w)
{
	bp_cse_watch_room(client, w);
}

struct bp_cse bp_cse_by_coap(struct bp_cse_client *c)
{
	static const struct bp_cse_binding coap = {.send = send_by_coap, .watch_room = watch_coap};

	return (struct bp_cse){&coap, c};
}
