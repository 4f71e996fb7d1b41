/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/session_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/process/clock.h"

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Addresses of sessions have the form ::ffff:a.b.c.d for IPv4; both ends are of one family. */
static void set_addresses(struct bp_event *e, const uint8_t *device, const uint8_t *own)
{
	if (memcmp(device, mapped, sizeof(mapped)) == 0) {
		memcpy(e->src_ip, device + 12, 4);
		memcpy(e->dest_ip, own + 12, 4);
		return;
	}
	e->flags |= BP_EVENT_F_IP6;
	memcpy(e->src_ip, device, 16);
	memcpy(e->dest_ip, own, 16);
}

static void write_event(struct bp_session_events *x, const struct bp_config_phd *c, uint32_t slot,
	enum bp_event_session action, unsigned reason)
{
	const struct bp_phd_session *s = &x->tables->sessions[slot];
	const uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
	const bool udp = s->transport == BP_PHD_TRANSPORT_UDP;
	struct bp_event e = {.time_ns = bp_unix_ns(),
		.type = BP_EVENT_SESSION,
		.action = (uint8_t)action,
		.reason = (uint16_t)reason,
		.flags = udp ? BP_EVENT_F_UDP : 0,
		.src_port = s->port,
		.dest_port = udp ? c->listen_udp_port : c->listen_tcp_port,
		.flow = s->associated_s,
		.number = {atomic_load_explicit(&s->reports, memory_order_relaxed)}};
	char id[17], type[BP_PHD_TYPE_TEXT];
	const char *spec = bp_phd_type_text(s->spec, type);

	set_addresses(&e, s->address, x->tables->control->own[bp_phd_word_own(word)]);
	for (unsigned i = 0; i < 8; i++)
		snprintf(id + 2 * (size_t)i, 3, "%02x", s->system_id[i]);
	bp_event_text(&e, 0, id, 16);
	if (s->spec != 0)
		bp_event_text(&e, 1, spec, strlen(spec));
	bp_event_write(&x->ring, &e);
}

void bp_session_event_associated(
	struct bp_session_events *x, const struct bp_config_phd *c, uint32_t slot)
{
	write_event(x, c, slot, BP_EVENT_SESSION_ASSOCIATED, 0);
}

void bp_session_event_closed(struct bp_session_events *x, const struct bp_config_phd *c,
	uint32_t slot, enum bp_phd_closed why)
{
	static const uint8_t reason[BP_PHD_CLOSED_REASONS] = {
		[BP_PHD_CLOSED_RELEASED] = BP_EVENT_SESSION_DEVICE,
		[BP_PHD_CLOSED_BY_US] = BP_EVENT_SESSION_GATEWAY,
		[BP_PHD_CLOSED_ABORTED] = BP_EVENT_SESSION_DEVICE,
		[BP_PHD_CLOSED_FAULT] = BP_EVENT_SESSION_PROTOCOL_ERROR,
		[BP_PHD_CLOSED_TIMEOUT] = BP_EVENT_SESSION_TIMEOUT,
		[BP_PHD_CLOSED_SUPERSEDED] = BP_EVENT_SESSION_SUPERSEDED,
		[BP_PHD_CLOSED_IDLE] = BP_EVENT_SESSION_IDLE,
		[BP_PHD_CLOSED_DISCONNECTED] = BP_EVENT_SESSION_DISCONNECTED,
		[BP_PHD_CLOSED_MOVED] = BP_EVENT_SESSION_SUPERSEDED,
	};
	const bool released = why == BP_PHD_CLOSED_RELEASED || why == BP_PHD_CLOSED_BY_US;

	write_event(x, c, slot, released ? BP_EVENT_SESSION_RELEASED : BP_EVENT_SESSION_ABORTED,
		reason[why]);
}
