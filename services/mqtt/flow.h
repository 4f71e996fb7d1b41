/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLOW_H
#define BP_SERVICES_MQTT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/net/vec16.h"
#include "biplane/counters.h"
#include "biplane/counters/mqtt.h"
#include "biplane/limits.h"
#include "proto/tls/tls.h"
#include "proto/websocket/websocket.h"
#include "services/mqtt/reassembly_pool.h"
#include "shm/events/event.h"

/*
 * One TCP connection between a client and a broker. Both directions are one entry: dir 0 is from
 * the client to the broker, dir 1 from the broker to the client. 320 bytes; a segment in sequence
 * touches the first line only.
 */
enum { BP_TO_BROKER = 0, BP_FROM_BROKER = 1 };

enum bp_stream {
	BP_STREAM_UNSEEN,     /* nothing seen in this direction yet */
	BP_STREAM_BOUNDARY,   /* the next byte begins a packet */
	BP_STREAM_SKIP,       /* inside a packet that is not inspected: `skip` bytes remain */
	BP_STREAM_REASSEMBLE, /* inside a packet whose beginning is carried */
	BP_STREAM_ENDED,      /* after a DISCONNECT or the broker's FIN: the broker reads no more */
	BP_STREAM_RESYNC,     /* searching for a provable boundary */
	BP_STREAM_NOT_INSPECTED, /* inspection stopped; `opaque` is the reason */
};

#define BP_FLOW_IP6 0x01
#define BP_FLOW_CONNECT 0x02                      /* CONNECT was read */
#define BP_FLOW_CONNACK 0x04                      /* CONNACK was read */
#define BP_FLOW_FIN(dir) (uint8_t)(0x08 << (dir)) /* its FIN is in sequence */
#define BP_FLOW_CLOSED 0x20
#define BP_FLOW_MIDWAY 0x40       /* met in the middle: no CONNECT expected */
#define BP_FLOW_SYN_REPEATED 0x80 /* a SYN on a live connection waits for its SYN-ACK */

/* Uses of the second cache line by a direction: the fast path continues only when this is 0. */
#define BP_FLOW_HELD(dir) (uint8_t)(0x01 << (dir))    /* segments ahead of the stream */
#define BP_FLOW_FINWAIT(dir) (uint8_t)(0x04 << (dir)) /* a FIN ahead of the stream */
#define BP_FLOW_PUSHES(dir) (uint8_t)(0x10 << (dir))  /* a search that counts pushes */
#define BP_FLOW_PUSHED(dir) (uint8_t)(0x40 << (dir))  /* read on after one, no answer yet */
#define BP_FLOW_PUSHED_EITHER (uint8_t)(BP_FLOW_PUSHED(0) | BP_FLOW_PUSHED(1))

/* The state of proof of a connection. 0 is a free slot of the table. */
#define BP_FLOW_IN_TABLE 0x01
#define BP_FLOW_SYN_ACKED 0x02 /* the broker acknowledged the client's initial sequence number */
#define BP_FLOW_HANDSHAKE                                                                          \
	0x04 /* and the client the broker's: the three-way handshake is complete */
/* Both ends speak MQTT here: CONNACK with success, or, mid-stream, an exact request and answer. */
#define BP_FLOW_PROVEN 0x08
#define BP_FLOW_PROOFS (BP_FLOW_SYN_ACKED | BP_FLOW_HANDSHAKE | BP_FLOW_PROVEN)
/* Its bytes are of a WebSocket, or not known to be of none: websocket.c */
#define BP_FLOW_WEBSOCKET 0x20
#define BP_FLOW_UNREAD 0x80 /* no proof: its publications are not evaluated */
#define BP_FLOW_MARKED 0x10 /* there are `marks`: not for the burst path */
/* The policy, or its client by RST, has ended the connection, which is closed: enforce.c */
#define BP_FLOW_REFUSED 0x40

/* The parts of line 4 that are in use. */
#define BP_MARK_URGENT(dir) (uint8_t)(0x01 << (dir)) /* an urgent byte is ahead */
#define BP_MARK_CLAIM(dir) (uint8_t)(0x04 << (dir))  /* unseen bytes were acknowledged */
/* The broker refused a publication: later ones of QoS 1 and 2 wait for their acknowledgement. */
#define BP_MARK_REJECTED 0x10
/* Segments with payload come, and none has fitted for 10 s. */
#define BP_MARK_INVALID 0x20
/* The client has not announced a window of BP_ACK_WINDOW yet: its acknowledgements are
 * inspected. */
#define BP_MARK_SMALL 0x40
#define BP_MARKS 0x7f
/* The fleet was asked for the state of the connection. It was met mid-stream, and its bytes wait;
 * or it is proven, and may have returned. Not of an earlier process: fleet_adopt.c. */
#define BP_MARK_ASKED 0x80

/* The session, as its CONNECT has it. */
#define BP_SESSION_AUTH 0x01          /* it has an authentication method: AUTH may follow */
#define BP_SESSION_EXPIRY 0x04        /* and a session expiry interval */
#define BP_SESSION_CLEAN 0x08         /* it begins a new session */
#define BP_SESSION_NO_ID 0x10         /* no memory for its client identifier */
#define BP_SESSION_ADOPTED 0x20       /* its state is of another gateway of the fleet */
#define BP_SESSION_ALIAS_CHANGED 0x40 /* a topic alias was given to another topic */
#define BP_SESSION_ALIASES_LOST 0x02  /* a topic alias may refer to an unknown topic */
#define BP_SESSION_USER 0x80          /* it has a user name: identity.c */
/* As the length of the user name: it is not known whether there is one. */
#define BP_USER_UNKNOWN UINT16_MAX

/* Indexed by the bit of `suspicious`; packet.c. */
extern const uint16_t bp_mqtt_suspicious_counter[16];

/* In has_alias_max: there are bytes that the policy was asked about, judged.c */
#define BP_FLOW_JUDGED 0x80
/* And the connection is one of bp_policy_connections. */
#define BP_FLOW_COUNTED 0x40
/* And the policy has changed since its CONNECT: policy_reload.c */
#define BP_FLOW_REJUDGE 0x20
/* And there was an event with this cause, from BP_EVENT_POLICY_UNDECIDED on. */
#define BP_FLOW_REPORTED(cause) (uint8_t)(0x04 << ((cause)-BP_EVENT_POLICY_UNDECIDED))
#define BP_ALIAS_MAX_EITHER 0x03

#define BP_NO_FLOW UINT32_MAX

/* A guess that waits for its proof; see resync.c. It has been checked up to the flow's `next`. */
struct bp_resync {
	uint32_t skip;    /* bytes of the packet under way beyond that */
	uint32_t run_end; /* end of the push that reached the required `pushes`, or of the bytes in
			     `behind` */
	uint32_t expect_seq; /* what the peer must have acknowledged */
	uint16_t expect_id;
	uint8_t expect_type; /* packet type that proves the guess; 0: none yet */
	uint8_t versions;    /* bit 0: 3.1/3.1.1 still possible, bit 1: 5.0 */
	uint8_t valid : 1;
	uint8_t topic : 1;  /* the push under way has a PUBLISH on a known topic */
	uint8_t more : 1;   /* it has segments before this one */
	uint8_t behind : 1; /* the last segment ended before the flow's `next` */
	uint8_t ended : 1;  /* it has a DISCONNECT */
	uint8_t will : 1;   /* the CONNECT that awaits its answer has one */
	uint8_t missed : 2; /* requests without a response, at most 3 */
	uint8_t pushes;     /* in a row; or BP_PUSHES_CUT */
	uint16_t asked;     /* when what the peer must answer was seen, ticks >> 9 */
};

/* The client's frames at the byte with number `at`: struct bp_ws_frames, without the mask. */
struct bp_ws_place {
	uint32_t at, left;
	uint8_t head[2], have, flags;
};

/* The state of a WebSocket, which has no search: websocket.c. */
struct bp_websocket {
	struct bp_ws_frames frames[2];
	union {
		uint8_t accept[BP_WS_ACCEPT]; /* before the response was read */
		/* then, of judged bytes (judged.c), the first one; with another number it is not
		 * known, as after a kill between the changes of both */
		struct bp_ws_place judged;
	};
	uint8_t upgraded[2]; /* the head of this direction was read: 1 */
	uint8_t cut_headers; /* times that the client's next header was incomplete, with a policy
			      * that refuses packets */
};

/* A connection that begins with TLS: tls.c. */
enum bp_tls_state {
	BP_TLS_NONE,   /* it does not, or nothing was read yet */
	BP_TLS_FIRST,  /* its first byte was read */
	BP_TLS_CLIENT, /* within the ClientHello */
	BP_TLS_SERVER, /* behind it */
};
struct bp_tls_flow {
	bp_reassembly_ref info; /* 0: none */
	uint32_t need; /* bytes of the direction that is read, before which it is not read again */
	uint8_t state; /* enum bp_tls_state */
};
#define BP_TLS_KEPT_MAX 1024u /* bytes at `info`, at most */

struct bp_flow {
	/* line 0: hot */
	uint64_t k0, k1;  /* key; for IPv6 k0 is a hash of the addresses, which are stored below */
	uint32_t next[2]; /* sequence number expected next */
	uint32_t skip[2]; /* or, in reassembly: the bytes of an incomplete fixed header; or, in
			     resynchronisation: the lower limit of the search; or, not inspected:
			     whether the fault was in this direction */
	uint64_t memo_hash; /* topic that the client published last */
	uint32_t memo_rule; /* what it matched: a rule, BP_RULE_NONE, or BP_MEMO_MULTIPLE */
	uint32_t memo_gen;  /* of the rules; 0 never */
	uint32_t seen;      /* time of the last segment that fitted, 2^20 ns ticks */
	uint8_t stream[2];  /* enum bp_stream */
	uint8_t version;    /* of MQTT; 0 unknown */
	uint8_t flags;      /* BP_FLOW_* */
	uint8_t pending;    /* BP_FLOW_HELD, BP_FLOW_FINWAIT */
	uint8_t proof;      /* BP_FLOW_IN_TABLE and what the connection has proven */
	uint16_t life;      /* changes with each use of the slot: readers check it */
	uint32_t publishes; /* in the evaluated direction */
	/* line 1 */
	uint8_t client_ip[16], broker_ip[16];
	uint32_t lru_prev, lru_next;
	uint16_t list;
	uint16_t client_id_len;
	bp_reassembly_ref client_id;
	uint32_t carried; /* bytes of arena blocks that this flow holds */
	bp_reassembly_ref reassembly[2];
	uint32_t reassembly_len[2]; /* bytes of the packet so far */
	/* line 2 */
	uint32_t reassembly_need[2];   /* length of the whole packet; 0: fixed header incomplete */
	uint8_t reassembly_decided[2]; /* BP_CARRY_*: its head was parsed */
	uint8_t not_inspected[2];      /* BP_C_... - BP_C_NOT_INSPECTED_NOT_MQTT */
	bp_reassembly_ref out_of_order[2]; /* list of segments ahead, by sequence number */
	uint32_t out_of_order_bytes[2];
	uint32_t fin_seq[2];
	uint32_t syn_seq; /* the client's initial sequence number */
	bp_reassembly_ref aliases[2];
	uint16_t n_aliases[2]; /* entries of the table at `aliases` */
	/* the highest that the sender may use; of the client before the CONNACK:
	 * bp_auth_is_awaited() */
	uint16_t alias_max[2];
	uint32_t broker_isn;       /* BP_FLOW_SYN_ACKED */
	uint16_t suspicious;       /* 1 << enum bp_mqtt_error: violations of the client that were
				      accepted */
	uint8_t marks;             /* BP_MARK_* */
	uint8_t repeated_syn_data; /* payload bytes of the SYN of BP_FLOW_SYN_REPEATED, in units of
				      32 */
	uint32_t repeated_syn_seq; /* initial sequence number of the SYN of BP_FLOW_SYN_REPEATED */
	/* line 3 */
	union {
		struct bp_resync resync[2];
		struct bp_websocket websocket; /* BP_FLOW_WEBSOCKET */
		struct bp_tls_flow tls;        /* bp_flow_is_tls() */
	};
	uint32_t tunnel;       /* struct bp_frame */
	uint32_t unread_since; /* ticks, with BP_FLOW_UNREAD */
	uint64_t known;        /* topics published while the stream was proven: two bits of 64 each
				* (bp_topic_known_bits()) */
	/* line 4: the state of the receivers, and the publications that wait for a proof */
	uint32_t top[2]; /* end of the seen bytes, or `next` where that is further */
	uint32_t
		window[2]; /* the largest that the receiver of a direction announced; 0: none yet */
	uint32_t claim[2]; /* BP_MARK_CLAIM: up to where */
	union {
		uint32_t urgent[2];       /* BP_MARK_URGENT: sequence number of that byte */
		bp_reassembly_ref judged; /* BP_FLOW_JUDGED; there is no urgent byte of the client
					     then */
	};
	bp_reassembly_ref waiting[2]; /* bytes in sequence that may not be read yet; counted in
					 out_of_order_bytes */
	bp_reassembly_ref qos2[2];    /* identifiers of QoS 2 publications in flight */
	uint8_t has_alias_max; /* 1 << direction; BP_FLOW_COUNTED; and, with `judged` on one line,
				  BP_FLOW_JUDGED */
	uint8_t repeated_syn_options; /* of BP_FLOW_SYN_REPEATED: window scale, 4 bits, and MSS /
					 128 */
	uint16_t mss;                 /* the smaller one that the ends announced; 0: not seen */
	bp_reassembly_ref will;       /* see will.c */
	uint8_t scale[2];             /* of windows that the receiver of a direction announces;
					 BP_SCALE_UNSEEN */
	uint8_t session;              /* BP_SESSION_* */
	uint8_t client_port;          /* struct bp_frame: ingress port of the client's segments */
	bp_reassembly_ref
		unacked; /* publications that wait for their acknowledgement: inflight.c */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct bp_flow) == 320, "a flow is 320 bytes");
_Static_assert(sizeof(struct bp_websocket) <= 2 * sizeof(struct bp_resync), "it needs no memory");
_Static_assert(offsetof(struct bp_flow, client_ip) == 64, "what is hot is one line");
_Static_assert(offsetof(struct bp_flow, top) == 256 && offsetof(struct bp_flow, judged) / 64 == 4 &&
		       offsetof(struct bp_flow, has_alias_max) / 64 == 4 &&
		       offsetof(struct bp_flow, scale) / 64 == 4,
	"what acknowledgements change, and judged bytes, is another line");

/*
 * How far behind what was seen a client's acknowledgement may be on the burst path. Any receiver
 * accepts that whose peer announced as large a window (RFC 5961 5.2): small devices have 2,144.
 */
#define BP_ACK_WINDOW 2048u

#define BP_SCALE_UNSEEN UINT8_MAX
#define BP_SCALE_MAX 14 /* RFC 7323 2.3 */
/* Nothing of MQTT was read yet: it may begin with TLS. */
static inline bool bp_flow_is_opening(const struct bp_flow *f)
{
	return !(f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)) && !(f->proof & BP_FLOW_WEBSOCKET);
}

/* Before its CONNACK, the broker waits for AUTH of the client, after an AUTH of its own (MQTT 5.0,
 * 4.12). */
static inline bool bp_auth_is_awaited(const struct bp_flow *f)
{
	return (f->flags & (BP_FLOW_CONNECT | BP_FLOW_CONNACK | BP_FLOW_MIDWAY)) ==
		       BP_FLOW_CONNECT &&
	       (f->proof & (BP_FLOW_HANDSHAKE | BP_FLOW_PROVEN)) == BP_FLOW_HANDSHAKE &&
	       (f->session & BP_SESSION_AUTH) && f->alias_max[BP_TO_BROKER] != 0;
}

static inline bool bp_flow_is_tls(const struct bp_flow *f)
{
	if (f->proof & BP_FLOW_WEBSOCKET)
		return false;
	if (f->stream[BP_TO_BROKER] == BP_STREAM_NOT_INSPECTED)
		return f->not_inspected[0] == BP_C_NOT_INSPECTED_TLS - BP_C_NOT_INSPECTED_NOT_MQTT;
	return bp_flow_is_opening(f) && f->stream[BP_TO_BROKER] == BP_STREAM_BOUNDARY &&
	       f->tls.state != BP_TLS_NONE;
}

/* A packet that is reassembled because a rule needs it: complete, or, where no memory is free, its
 * beginning; `skip` is then the number of remaining bytes. */
/* POLICY: as WHOLE, and the policy has not decided about it. */
enum {
	BP_REASSEMBLY_UNDECIDED,
	BP_REASSEMBLY_WHOLE,
	BP_REASSEMBLY_BEGINNING,
	BP_REASSEMBLY_POLICY
};

#define BP_MEMO_MULTIPLE (UINT32_MAX - 1)
/* Only where results are kept, never of a flow. */
#define BP_MEMO_UNKNOWN (UINT32_MAX - 2)
/* The push under way did not begin with a packet, as far as is known. */
#define BP_PUSHES_CUT UINT8_MAX

/*
 * The table: groups of 15 flows, found by 16-bit tags that are adjacent (32 bytes per group), so
 * that a lookup costs one small hot line and the one cold line of the flow. A flow is in its first
 * group or, when that is full, in its second; the 16th tag counts the flows of a group that are in
 * their second group. The table is in the segment and is written by one worker.
 */
#define BP_FLOW_WAYS 15

struct bp_flow_group {
	uint16_t tag[BP_FLOW_WAYS]; /* 0: free */
	uint16_t elsewhere;
} __attribute__((aligned(32)));

struct bp_flow_header {
	uint64_t magic;
	uint32_t groups;
	uint32_t capacity;
	uint64_t flows_offset;  /* from the header */
	uint64_t shape, boot;   /* whose flows these are: adopt.c */
	uint32_t now;           /* ticks, about */
	uint32_t delayed_wills; /* that wait in the process: will.c */
	/* of the last tick, for bp_flow_usage() */
	uint32_t flows, max_flows;
	uint64_t reassembly_used;
	uint64_t policy; /* struct bp_ruleset.policy_uid that the connections were marked for */
	/* the names of networks, by number: written before the first connection of the network;
	 * ends with a NUL; "": there is no such network, or number 0 */
	char network[BP_NETWORKS][BP_NAME_MAX + 1];
} __attribute__((aligned(64)));
#define BP_FLOW_MAGIC 0x33574f4c464d5042ull

/*
 * Lists. A proven connection is one whose CONNACK, or another exact answer, was read; all others
 * have a bound of their own and never take a slot from a proven one.
 */
enum { BP_LIST_CLOSED, BP_LIST_UNPROVEN, BP_LIST_PROVEN };
#define BP_WHEEL 4096

/*
 * Unproven connections by client address (a keyed hash of an IPv4 address or an IPv6 /64): the
 * client that has the most gives up its own first. Within a client, in the order of this list.
 */
#define BP_CLIENTS 512
enum bp_unproven {
	BP_UNPROVEN_MIDSTREAM, /* picked up mid-stream */
	BP_UNPROVEN_OPENING,   /* a SYN, not answered as far as is proven */
	BP_UNPROVEN_RESTING,   /* picked up mid-stream, idle for the handshake timeout */
	BP_UNPROVEN_ANSWERED,  /* the handshake is complete; evicted last */
	BP_UNPROVEN_CLASSES,
};

struct bp_flow_list {
	uint32_t head, tail;
};

struct bp_flow_table {
	struct bp_flow_header *header;
	struct bp_flow_group *group;
	struct bp_flow *flow;
	uint64_t *session; /* entries that other workers read: will.c */
	uint32_t sessions; /* a power of two */
	uint32_t groups;
	uint32_t capacity;     /* proven flows */
	uint32_t max_unproven; /* further ones */
	uint32_t count, proven, unproven;
	uint64_t key[2];
	/* ageing: proven flows in a wheel of lists by the time they were last filed */
	struct bp_flow_list closed_list, wheel[BP_WHEEL];
	unsigned wheel_shift; /* ticks per list, as a power of two */
	uint32_t wheel_at;    /* tick >> shift of the oldest list that may have flows */
	uint32_t now;         /* ticks */
	uint32_t idle_ticks, opening_ticks, closed_ticks;
	struct bp_flow_list of_client[BP_CLIENTS][BP_UNPROVEN_CLASSES];
	uint32_t client_unproven[BP_CLIENTS];       /* flows in these lists */
	uint32_t client_proven[BP_CLIENTS];         /* flows in the wheel */
	uint64_t client_unproven_bytes[BP_CLIENTS]; /* arena blocks of these flows */
	uint64_t client_bytes[BP_CLIENTS];          /* arena blocks of all flows of the client */
	uint64_t unproven_bytes;
	uint32_t expire_client; /* whose turn it is */
	uint64_t sampled;       /* flows checked at random */
	struct bp_counters *counters;
	/* gives back what the flow holds elsewhere; called before its slot is free */
	void (*release)(void *arg, struct bp_flow *f);
	void *release_arg;
	/* the flow expires or is evicted (enum bp_event_end), before that; NULL: none */
	void (*removed)(void *release_arg, const struct bp_flow *f, unsigned reason);
	uint32_t in_network[BP_NETWORKS]; /* flows, by the number of their network */
};

/* One worker's bounds. */
struct bp_flow_bounds {
	uint32_t proven, unproven;
};
struct bp_mqtt_options;
struct bp_flow_bounds bp_flow_bounds(const struct bp_mqtt_options *o);
uint64_t bp_flow_table_bytes(struct bp_flow_bounds bounds);
/* For a table in [memory, memory + bp_flow_table_bytes(bounds)), in which nothing is changed. */
void bp_flow_table_attach(struct bp_flow_table *t, void *memory, struct bp_flow_bounds bounds,
	const uint64_t key[2], uint64_t idle_ns, uint64_t opening_ns);
/* Lays it out: empty. */
void bp_flow_table_clear(struct bp_flow_table *t);
void bp_flow_table_init(struct bp_flow_table *t, void *memory, struct bp_flow_bounds bounds,
	const uint64_t key[2], uint64_t idle_ns, uint64_t opening_ns); /* both */

static inline uint32_t bp_ticks(uint64_t ns)
{
	return (uint32_t)(ns >> 20);
}

/* 64x64 to 128 bits, halves xored: the mixing step of wyhash; good, and two instructions. */
static inline uint64_t bp_mix(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t bp_flow_hash(const struct bp_flow_table *t, uint64_t k0, uint64_t k1)
{
	return bp_mix(k0 ^ t->key[0], k1 ^ t->key[1]);
}

/* The first word of a key. Addresses are in frame order. */
static inline uint64_t bp_flow_k0_ip4(const uint8_t *client_ip, const uint8_t *broker_ip)
{
	uint32_t client, broker;

	memcpy(&client, client_ip, 4);
	memcpy(&broker, broker_ip, 4);
	return (uint64_t)client << 32 | broker;
}
/* Its client. */
static inline uint32_t bp_flow_k0_client(uint64_t k0)
{
	return (uint32_t)(k0 >> 32);
}

static inline uint64_t bp_flow_k0_ip6(
	const struct bp_flow_table *t, const uint8_t *client_ip, const uint8_t *broker_ip)
{
	uint64_t c[2], b[2];

	memcpy(c, client_ip, 16);
	memcpy(b, broker_ip, 16);
	return bp_mix(c[0] ^ t->key[0], c[1] ^ t->key[1]) ^
	       bp_mix(b[0] ^ t->key[1], b[1] + t->key[0]);
}

/*
 * The second word of a key: both TCP ports, both VLAN identifiers, the IP version, and the number
 * of the network in the upper seven bits. Two networks may use the same addresses.
 */
#define BP_FLOW_K1_IP6 56
#define BP_FLOW_K1_NETWORK 57
_Static_assert(BP_NETWORKS <= 1 << (64 - BP_FLOW_K1_NETWORK), "a network fits in a key");
static inline uint64_t bp_flow_k1_network(uint8_t network)
{
	return (uint64_t)network << BP_FLOW_K1_NETWORK;
}
static inline uint8_t bp_flow_network(const struct bp_flow *f)
{
	return (uint8_t)(f->k1 >> BP_FLOW_K1_NETWORK);
}
/* Its name, "" of number 0; NULL: there is no such network. `h` may belong to another process. */
const char *bp_flow_network_name(
	const struct bp_flow_header *h, const struct bp_flow *f, char out[BP_NAME_MAX + 1]);

/* Two tunnels may use the same addresses: the value that is added to k0 for a tunnel, except 0. */
static inline uint64_t bp_flow_k0_tunnel(const struct bp_flow_table *t, uint32_t tunnel)
{
	return bp_mix(tunnel ^ t->key[0], t->key[1]);
}

static inline uint32_t bp_flow_group1(const struct bp_flow_table *t, uint64_t hash)
{
	return (uint32_t)(((hash >> 32) * t->groups) >> 32);
}
static inline uint32_t bp_flow_group2(const struct bp_flow_table *t, uint64_t hash)
{
	return (uint32_t)(((uint64_t)((uint32_t)(hash >> 16) * 0x9e3779b1u) * t->groups) >> 32);
}
static inline uint16_t bp_flow_tag(uint64_t hash)
{
	return (uint16_t)(hash | 1); /* 15 bits that do not select the group; never 0 */
}

/* Bit i: tag i of the group equals `tag`. */
static inline uint32_t bp_flow_tags_equal(const struct bp_flow_group *g, uint16_t tag)
{
	const uint8_t *tags = (const uint8_t *)g->tag;

	_Static_assert(sizeof(g->tag) == 2 * BP_FLOW_WAYS && sizeof(*g) >= 32, "two vectors");
	return bp_v16_words_equal(bp_v16_load(tags), bp_v16_load(tags + 16), tag) & 0x7fff;
}

/* Finds the flow; ip6 addresses (client, broker) are compared when given. NULL: unknown. */
struct bp_flow *bp_flow_find(const struct bp_flow_table *t, uint64_t hash, uint64_t k0, uint64_t k1,
	const uint8_t *client_ip6, const uint8_t *broker_ip6);
/* The flow that the tags of group `g`, the first one of the hash, point at, for prefetching: it may
 * be another, or free. */
static inline struct bp_flow *bp_flow_candidate_in(
	const struct bp_flow_table *t, uint64_t hash, uint32_t g)
{
	uint32_t hits = bp_flow_tags_equal(&t->group[g], bp_flow_tag(hash));

	if (__builtin_expect(hits == 0, 0) && t->group[g].elsewhere != 0) {
		g = bp_flow_group2(t, hash);
		hits = bp_flow_tags_equal(&t->group[g], bp_flow_tag(hash));
	}
	return &t->flow[(uint64_t)g * BP_FLOW_WAYS + (unsigned)__builtin_ctz(hits | 0x4000)];
}

static inline struct bp_flow *bp_flow_candidate(const struct bp_flow_table *t, uint64_t hash)
{
	return bp_flow_candidate_in(t, hash, bp_flow_group1(t, hash));
}
/* A flow that is not in the table. */
struct bp_flow_new {
	uint64_t hash, k0, k1;
	unsigned list;
	uint8_t flags;
	const uint8_t *client_ip6, *broker_ip6; /* with BP_FLOW_IP6 */
};
/*
 * Adds a flow, zeroed except for the arguments. At a limit a flow is evicted, in this order: a
 * closed one; the oldest unproven one of the client that has the most; for a proven one, one of a
 * client that has far more than others, else the longest idle proven one. NULL, counted: both
 * groups are full of proven flows, and this one is unproven.
 */
struct bp_flow *bp_flow_add(struct bp_flow_table *t, const struct bp_flow_new *n);
void bp_flow_remove(struct bp_flow_table *t, struct bp_flow *f);
/* Moves the flow to another list, in the order of the last packet; at the limit of that list
 * another flow is evicted. */
void bp_flow_file(struct bp_flow_table *t, struct bp_flow *f, unsigned list);
/* Expires what is over its time, looking at `budget` flows at most. Returns how many expired. */
unsigned bp_flow_expire(struct bp_flow_table *t, uint64_t mono_ns, unsigned budget);

bool bp_flow_is_unproven(const struct bp_flow *f);
/* The client as 64 bits under the table's key: an IPv4 address, or an IPv6 /64, since a client may
 * use all its addresses. */
static inline uint64_t bp_flow_client_hash_of(const struct bp_flow_table *t, uint64_t client)
{
	return bp_mix(client ^ t->key[1], t->key[0]);
}
static inline uint64_t bp_flow_client_hash(const struct bp_flow_table *t, const struct bp_flow *f)
{
	uint64_t client = bp_flow_k0_client(f->k0);

	if (f->flags & BP_FLOW_IP6)
		memcpy(&client, f->client_ip, sizeof(client));
	return bp_flow_client_hash_of(t, client);
}
/* The index of its counts: client_bytes[] and so on. */
uint32_t bp_flow_client(const struct bp_flow_table *t, const struct bp_flow *f);
/* The flow holds `bytes` of arena blocks more, or less. */
void bp_flow_carries(struct bp_flow_table *t, struct bp_flow *f, int64_t bytes);
/* Evicts an unproven flow, except `keep`, of the client whose unproven flows hold the most arena
 * blocks. False: there is none. */
bool bp_flow_evict_holder(struct bp_flow_table *t, const struct bp_flow *keep);

/* ---- flow_show.c: reading in another process, while the worker writes ---- */

/* The flows of one worker and their number; `flows` and `len` as in struct bp_shm. NULL: none. */
const struct bp_flow *bp_flows_of(
	const void *flows, uint64_t len, unsigned workers, unsigned worker, uint64_t *n);
/* The header of a table in which there are flows. */
static inline const struct bp_flow_header *bp_flow_header_of(
	const void *flows, uint64_t len, unsigned workers, unsigned worker)
{
	return (const void *)((const uint8_t *)flows + len / workers * worker);
}
/* False: no connection is there, or it changed meanwhile. */
bool bp_flow_copy(const struct bp_flow *f, struct bp_flow *copy);

/* ---- flow_lists.c, for the table and for adoption ---- */

void bp_flow_lists_init(struct bp_flow_table *t, uint64_t idle_ns, uint64_t opening_ns);
/* `f` is the copy of a flow that lay elsewhere: its neighbors in the list learn where it is. */
void bp_flow_moved(struct bp_flow_table *t, const struct bp_flow *f);
bool bp_flow_is_answered(const struct bp_flow *f);
void bp_flow_unfile(struct bp_flow_table *t, struct bp_flow *f);
/* Evicts a flow; the counter depends on its state. */
void bp_flow_evict(struct bp_flow_table *t, struct bp_flow *f);
/* Before a flow is filed under `list` that was in another: gives one up where a bound is reached.
 */
void bp_flow_evict_at_bound(struct bp_flow_table *t, unsigned list);

/* The lists: `at` is what a flow has in `list`. */
#define BP_FILE_CLOSED 0
#define BP_FILE_WHEEL 1                             /* + position */
#define BP_FILE_UNPROVEN (BP_FILE_WHEEL + BP_WHEEL) /* + client * classes + class */
#define BP_FILE_NONE UINT16_MAX
void bp_flow_file_at(struct bp_flow_table *t, struct bp_flow *f, uint16_t at);

#endif
