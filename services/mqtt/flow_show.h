/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLOW_SHOW_H
#define BP_SERVICES_MQTT_FLOW_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/limits.h"

/* One connection, as `biplane show connections` prints it. Strings are static. */
struct bp_flow_view {
	unsigned worker;
	bool ip6;
	uint8_t client_ip[16], broker_ip[16]; /* IPv4 in the first four bytes */
	uint16_t client_port, broker_port;    /* host byte order */
	uint16_t vlan_outer, vlan_inner;      /* 0: none */
	char network[BP_NAME_MAX + 1];        /* its name; "": the main one */
	uint8_t network_number;               /* as in struct bp_frame */
	uint8_t version;                      /* 3, 4, 5; 0: unknown */
	const char *transport;                /* "tcp", "websocket", "tls" */
	const char *connection;               /* "opening", "open", "closing", "closed" */
	const char *to_broker; /* "inspecting", "partial_packet", "resync", "not_inspected",
				  "ended", "no_data" */
	const char *from_broker;
	const char *not_inspected_reason; /* a counter's name, or "" */
	bool unread;                      /* in a direction that is evaluated */
	const char *unread_reason;        /* "midstream", "resync", "out_of_window", or as
					     not_inspected_reason */
	uint64_t unread_ms;               /* for how long */
	/* what the client sent against the standard, and was let pass: counters' names, then NULL
	 */
	const char *suspicious[17];
	bool adopted;    /* its state came from another gateway of the fleet */
	bool awaits_ack; /* the broker refused a publication */
	uint32_t publishes;
	uint32_t carried_bytes;
	uint64_t idle_ms;          /* against `mono_ns` of the visit */
	bool established;          /* the connection is proven */
	uint8_t input_port;        /* of the client's segments, plus 1; 0: unknown */
	uint64_t topic_hash;       /* of the last topic; valid if topic_generation is not 0 */
	uint32_t topic_generation; /* of the rules, as bp_flow_generation() */
	uint32_t topic_rule;       /* that it matches; BP_FLOW_RULES: several; UINT32_MAX: none */
	uint32_t tls_ref;          /* for bp_flow_tls(); 0: none */
	uint32_t client_id_ref;    /* for bp_flow_client_id() */
	uint16_t client_id_len;    /* bytes; 0: unknown */
	bool identified, has_user; /* for bp_flow_identity() */
};

#define BP_FLOW_RULES (UINT32_MAX - 1)
/* topic_generation of a rule set's generation. */
static inline uint32_t bp_flow_generation(uint64_t rules_generation)
{
	return (uint32_t)(rules_generation & 0x7fffffff) + 1;
}

/*
 * Copies the client identifier of a connection, cut to fit, with a NUL. reassembly, len: as in
 * struct bp_shm. Returns its length in out; 0: it is unknown. The worker may release it meanwhile:
 * then out has other bytes of a stream.
 */
size_t bp_flow_client_id(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, char *out, size_t size);

/* Who the client is, as the policy of the worker has it; likewise. NULL: none, or, unless `known`,
 * unknown. */
#define BP_FLOW_IDENTITY_MAX (2 * (UINT16_MAX + 1u))
struct bp_flow_identity {
	bool known; /* its CONNECT was read, and is kept */
	const uint8_t *client, *user;
	uint16_t client_len, user_len;
	uint8_t text[BP_FLOW_IDENTITY_MAX];
};
void bp_flow_identity(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, struct bp_flow_identity *out);

/* The names that the ends of a TLS connection said, likewise. False: none are known. */
struct bp_tls_info;
bool bp_flow_tls(const struct bp_flow_view *v, const void *reassembly, uint64_t len,
	unsigned workers, struct bp_tls_info *info);

/*
 * Visits the connections of every worker's table in a mapping of the segment, also while the data
 * plane writes: an entry that changes under the reader is skipped. `flows` and `len` as in struct
 * bp_shm; `mono_ns`: CLOCK_MONOTONIC now. Stops when `visit` returns non-zero and returns that.
 * Returns -1 when the table is damaged.
 */
int bp_flow_visit(const void *flows, uint64_t len, unsigned workers, uint64_t mono_ns,
	int (*visit)(const struct bp_flow_view *v, void *arg), void *arg);

/* Use of the tables of all workers, in a mapping of the segment; `flows` and `len` as above. */
struct bp_flow_usage {
	uint64_t flows, max_flows, reassembly_used;
};
void bp_flow_usage(const void *flows, uint64_t len, unsigned workers, struct bp_flow_usage *usage);

/* Reasons why a connection is not inspected now, as unread_reason has them: these, then those of
 * the counters not_inspected_*. */
enum { BP_UNREAD_MIDSTREAM, BP_UNREAD_RESYNC, BP_UNREAD_OUT_OF_WINDOW, BP_UNREAD_COUNTERS };
#define BP_FLOW_UNREAD_REASONS 25u
const char *bp_flow_unread_reason(unsigned reason);

/*
 * Reading a part of the connections, for rates of many. Slots of one worker's table, 0 if it is not
 * set up or damaged; a slot that is used by another connection has another `life`.
 */
struct bp_flow_brief {
	uint32_t publishes;
	uint32_t seen; /* ticks of bp_flow_idle_ms() */
	uint16_t life;
};
uint64_t bp_flow_slots(const void *flows, uint64_t len, unsigned workers, unsigned worker);
/* False: no connection is there. slot: below bp_flow_slots(), of the same mapping. */
bool bp_flow_brief_at(const void *flows, uint64_t len, unsigned workers, unsigned worker,
	uint64_t slot, struct bp_flow_brief *b);
bool bp_flow_view_at(const void *flows, uint64_t len, unsigned workers, unsigned worker,
	uint64_t slot, uint64_t mono_ns, struct bp_flow_view *v);
uint64_t bp_flow_idle_ms(uint32_t seen, uint64_t mono_ns);

/* Connections that pass unread: alive, and not read for longer than a limit. */
struct bp_unread {
	uint32_t connections;
	uint64_t longest_ns;
};

/*
 * Counts the connections that are not inspected, in `last` those for longer than limit_ns (0:
 * none), in one worker's table, a part of the table in each call, while the worker runs: it is not
 * synchronised with the worker, and a flow that changes meanwhile is counted in the state that the
 * scan finds.
 */
struct bp_unread_scan {
	uint64_t at;           /* the next flow */
	struct bp_unread turn; /* so far */
	struct bp_unread last; /* the last complete scan */
	/* the same of all connections, those that are not inspected by reason, without a limit */
	struct bp_inspected {
		uint32_t inspected, reason[BP_FLOW_UNREAD_REASONS];
	} turn_of_all, last_of_all;
};
void bp_unread_scan(struct bp_unread_scan *s, const void *table, uint64_t len, uint64_t mono_ns,
	uint64_t limit_ns, uint32_t budget);

#endif
