/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_EVENTS_EVENT_H
#define BP_SHM_EVENTS_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Events of the planes: changes of connections, sessions, faults and configuration, for the event
 * log, `biplane tail` and the console. Each writer has a ring of records (shm/events/event_ring.h).
 * A reader does not trust them: it checks each field.
 */
enum bp_event_type {
	BP_EVENT_NONE,
	BP_EVENT_CONNECTION, /* data plane, workers */
	BP_EVENT_SESSION,    /* control plane */
	BP_EVENT_FAULT,      /* both planes */
	BP_EVENT_CONFIG,     /* control plane */
	BP_EVENT_PLANE,      /* both planes; readers add the restarts by the supervisor */
	BP_EVENT_POLICY,     /* data plane, workers; the action is enum bp_policy_packet, the reason
				enum bp_policy_action: UNDECIDED if it was forwarded without */
	/* made by readers, in no ring */
	BP_EVENT_ALARM, /* from the alarm log */
	BP_EVENT_DROPS, /* from the counters */
	BP_EVENT_LOST,  /* records that were overwritten before they were read */
	BP_EVENT_TYPES,
};

enum bp_event_connection {
	BP_EVENT_CONNECTION_START = 1,     /* the broker accepted the client: CONNACK, or picked up
					      mid-stream and proven */
	BP_EVENT_CONNECTION_NOT_INSPECTED, /* reason: enum bp_event_unread */
	BP_EVENT_CONNECTION_INSPECTED,     /* again, after a resynchronisation */
	BP_EVENT_CONNECTION_END,           /* reason: enum bp_event_end */
};

enum bp_event_end {
	BP_EVENT_END_CLOSED = 1, /* FIN of both ends */
	BP_EVENT_END_RESET,      /* RST */
	BP_EVENT_END_EXPIRED,    /* idle for mqtt.connection_timeout */
	BP_EVENT_END_EVICTED,    /* at the bound of the connection table */
	BP_EVENT_END_SUPERSEDED, /* another connection of the same addresses and ports */
	BP_EVENT_END_REFUSED,    /* by the policy */
};

enum bp_event_policy_cause {
	BP_EVENT_POLICY_PACKET,
	BP_EVENT_POLICY_RELOAD, /* the packet was forwarded, and a later policy refuses it */
	/* There is no decision. Of each, a connection has one event. */
	BP_EVENT_POLICY_UNDECIDED,     /* what a rule asks for is not known */
	BP_EVENT_POLICY_NOT_EVALUATED, /* the packet was not read; BP_POLICY_ANY: its type is not
					  known */
	BP_EVENT_POLICY_NOT_INSPECTED, /* nor was any: as before */
};

/* Reasons as in `biplane show not-inspected`: these, or BP_EVENT_UNREAD_COUNTER + the distance of a
 * counter not_inspected_* from the first one. */
enum bp_event_unread {
	BP_EVENT_UNREAD_RESYNC = 1,
	BP_EVENT_UNREAD_OUT_OF_WINDOW,
	BP_EVENT_UNREAD_COUNTER = 16,
};

enum bp_event_session {
	BP_EVENT_SESSION_ASSOCIATED = 1,
	BP_EVENT_SESSION_RELEASED, /* reason: enum bp_event_session_reason */
	BP_EVENT_SESSION_ABORTED,  /* likewise */
};

enum bp_event_session_reason {
	BP_EVENT_SESSION_DEVICE = 1,     /* the device released or aborted the association */
	BP_EVENT_SESSION_GATEWAY,        /* the gateway requested the release */
	BP_EVENT_SESSION_PROTOCOL_ERROR, /* an APDU that the state does not allow */
	BP_EVENT_SESSION_TIMEOUT,        /* no answer in time */
	BP_EVENT_SESSION_SUPERSEDED,     /* the same system id associated from elsewhere */
	BP_EVENT_SESSION_IDLE,           /* no report for health_devices.limits.idle_timeout */
	BP_EVENT_SESSION_DISCONNECTED,   /* the TCP connection ended */
};

enum bp_event_fault { BP_EVENT_FAULT_RAISED = 1, BP_EVENT_FAULT_CLEARED };

enum bp_event_config {
	BP_EVENT_CONFIG_LOADED = 1, /* at the start */
	BP_EVENT_CONFIG_RELOADED,
	BP_EVENT_CONFIG_REFUSED, /* text: the first error */
	/* a rollout of the fleet; text: the error */
	BP_EVENT_CONFIG_ROLLOUT_APPLIED,
	BP_EVENT_CONFIG_ROLLOUT_REFUSED,
	BP_EVENT_CONFIG_ROLLOUT_ROLLED_BACK,
};

enum bp_event_plane {
	BP_EVENT_PLANE_STARTED = 1, /* BP_EVENT_F_CRASHED: its predecessor did not stop orderly */
	BP_EVENT_PLANE_STOPPED,
	BP_EVENT_PLANE_RESTARTED, /* readers: the supervisor counted a restart */
};

enum bp_event_plane_name { BP_EVENT_DATAPLANE, BP_EVENT_CONTROLPLANE, BP_EVENT_PLANES };

#define BP_EVENT_F_IP6 0x01     /* addresses are IPv6, else IPv4 in the first four bytes */
#define BP_EVENT_F_CRASHED 0x02 /* BP_EVENT_PLANE_STARTED */
#define BP_EVENT_F_HUNG 0x04    /* BP_EVENT_PLANE_RESTARTED: heartbeats were missing */
#define BP_EVENT_F_UDP 0x08     /* the 5-tuple is UDP, else TCP */
#define BP_EVENT_F_TLS 0x10     /* connection: its texts are names of TLS */

#define BP_EVENT_TEXT 164u
#define BP_EVENT_TEXTS 2u
#define BP_EVENT_NUMBERS 2u

struct bp_event {
	uint64_t time_ns; /* Unix time */
	uint8_t type;     /* enum bp_event_type */
	uint8_t action;   /* enum bp_event_connection ... */
	uint16_t reason;
	uint8_t flags;   /* BP_EVENT_F_* */
	uint8_t port;    /* ingress port + 1; 0: none */
	uint8_t version; /* connection: of MQTT, 0 unknown */
	uint8_t cause;   /* policy: enum bp_event_policy_cause */
	/* 5-tuple in frame order: client first */
	uint8_t src_ip[16], dest_ip[16];
	uint16_t src_port, dest_port;      /* host byte order */
	uint16_t vlan_outer, vlan_inner;   /* 0: none */
	uint64_t flow;                     /* distinguishes connections of the same 5-tuple */
	uint64_t number[BP_EVENT_NUMBERS]; /* by type, see below */
	uint16_t text_len[BP_EVENT_TEXTS]; /* bytes in text, one after the other */
	char text[BP_EVENT_TEXT];
};

/*
 * number[] and text[] by type:
 *   connection  publications                          client identifier
 *   with TLS    -; bytes of the offered protocols     server name; offered protocols, then the
 *                                                     common name of the certificate
 *   policy      bytes of the rule's name; of payload  client identifier; the rule's name (none: the
 *                                                     default), then the topic
 *   session     reports                               system id (EUI-64, hexadecimal);
 *                                                     specialization
 *   fault       began, Unix ns; enum bp_fault_kind    object
 *   config      generation                            error
 *   rollout     serial number; version of the bundle  error
 *   plane       enum bp_event_plane_name; process id  -
 */

/* Cuts to fit, at a character boundary of UTF-8. Call in the order of the texts, once each. */
static inline void bp_event_text(struct bp_event *e, unsigned which, const void *text, size_t len)
{
	size_t used = 0;

	for (unsigned i = 0; i < which; i++)
		used += e->text_len[i];
	if (len > BP_EVENT_TEXT - used) {
		len = BP_EVENT_TEXT - used;
		while (len > 0 && (((const unsigned char *)text)[len] & 0xc0) == 0x80)
			len--;
	}
	if (len != 0)
		memcpy(e->text + used, text, len);
	e->text_len[which] = (uint16_t)len;
}

#endif
