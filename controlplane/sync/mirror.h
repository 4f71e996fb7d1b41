/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_MIRROR_H
#define BP_CONTROLPLANE_SYNC_MIRROR_H

#include <net/if.h>

#include <linux/if.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#include "controlplane/sync/map.h"
#include "shm/fib/fib_writer.h"

struct bp_config;

/*
 * The kernel's links, addresses, neighbours, next-hop objects and routes as the control plane knows
 * them, in its own memory, and their translation into what the forwarding tables say. Fed with
 * rtnetlink messages, in the order of the dumps (bp_netlink_dump) and then of the events. With a
 * writer, it tells every change at once; without one, it only gathers, and bp_mirror_give() or the
 * functions at the end tell what it gathered.
 *
 * What of the kernel the tables can't say, and what they say instead:
 *   - a route through an interface that is not ours, wholly or in part, one with encapsulation or
 *     more than BP_HOPS_MAX hops, and type throw: punt, so that the kernel forwards;
 *   - a prefix that has a route for one TOS or for a source prefix: punt, since longest prefix
 *     match can't tell those packets from others;
 *   - several routes of a prefix: the one that the kernel would take, by table (local first), then
 *     metric, then order. One without a usable hop is passed over, as the kernel does;
 *   - hops that are dead are left out; hops without carrier count, unless the kernel says that it
 *     ignores them (sysctl ignore_routes_with_linkdown), by calling them dead;
 *   - loopback and multicast prefixes, and the link-local unicast prefix fe80::/10: left out, as no
 *     router forwards to them. Link-local addresses of this machine are there, as local routes.
 * Not followed: policy rules beyond the order local table, configured table; a route's own MTU.
 */

/* One network interface of the kernel. */
struct bp_mirror_link {
	struct bp_map_node node;
	uint32_t ifindex;
	uint32_t uses; /* hops through it */
	bool known;    /* the kernel has said that it is there */
	bool up;       /* administratively */
	bool carrier;
	bool running;   /* operationally (RFC 2863): what the kernel takes for usable */
	uint8_t number; /* of our interface; BP_NO_INTERFACE: not ours */
};

/* One interface of ours that has a kernel interface. */
struct bp_mirror_own {
	char kernel_name[IFNAMSIZ]; /* "": none such */
	uint32_t ifindex;           /* 0: not there now */
	uint32_t unshown;           /* addresses beyond BP_ADDRESSES_MAX */
	struct bp_interface_info info;
};

struct bp_mirror_neighbour {
	struct bp_map_node node;
	struct bp_address address;
	uint8_t interface;
	uint8_t mac[6];
	uint16_t nud;     /* NUD_* */
	uint32_t asked_s; /* CLOCK_MONOTONIC second at which the kernel was asked to probe it */
	struct bp_mirror_neighbour *older, *newer; /* list of all, for keepalive */
};

/* One way of the kernel's. */
struct bp_mirror_hop {
	uint32_t ifindex;
	uint16_t weight;
	uint8_t family; /* of the gateway: 4, 6, or 0 */
	bool dead;
	uint8_t gateway[16];
};

struct bp_mirror_object {
	struct bp_map_node node;
	uint32_t id;
	uint32_t routes; /* that name it */
	bool there;      /* false: deleted, but routes still name it */
	bool given;      /* the writer has it */
	bool usable;     /* some hop lived when it was told */
	bool blackhole, encap;
	struct bp_mirror_hop hop; /* single: n_members is 0 */
	uint32_t n_members;
	struct bp_mirror_member {
		uint32_t id;
		uint16_t weight;
	} * member;
	struct bp_mirror_object *next_group;
};

/* One route of the kernel. */
struct bp_mirror_route {
	struct bp_mirror_route *next; /* the same prefix's, in the order of preference */
	uint32_t metric;
	uint32_t object;
	uint32_t qualifier; /* not 0: for one TOS or source prefix only; says which */
	uint8_t type;       /* RTN_* */
	uint8_t protocol;   /* RTPROT_* */
	bool from_main;     /* of the configured table; else of the kernel's local table */
	bool encap;
	bool too_many;  /* hops: not all are here */
	bool preferred; /* has a preferred source address, with which the kernel deletes it */
	uint8_t n_hops;
	struct bp_mirror_hop hop[];
};

struct bp_mirror_prefix {
	struct bp_map_node node;
	struct bp_mirror_route *first;
	uint8_t bytes[16];
	uint8_t family, length;
	bool given;      /* the writer has it */
	bool unmirrored; /* stands as punt because the tables can't say it */
};

struct bp_mirror {
	const struct bp_config *config;
	struct bp_fib_writer *writer; /* NULL: gathers only */
	const uint32_t *settings; /* BP_IF_* of each interface beside its own flags; may be NULL */
	struct bp_mirror_own own[BP_MAX_INTERFACES];
	struct bp_map links, neighbours, objects, prefixes;
	struct bp_mirror_object *groups;
	struct bp_mirror_neighbour *oldest, *newest;
	uint32_t preferred;  /* routes with a preferred source address */
	uint64_t unmirrored; /* prefixes, see there */
	uint64_t refused;    /* changes that the writer called invalid, ever */
	bool replaying;      /* events from before the end of the dump: may tell old things */
	bool no_memory;      /* something could not be kept */

	/* What the owner looks at, and resets. */
	uint64_t appeared; /* bit per interface of ours: its kernel interface is new */
	uint64_t vanished; /* bit per interface of ours: its kernel interface went */
	bool revisit;      /* all must be given again: what hops lead to has changed */
	const char
		*invalid_reason; /* why the kernel must be asked anew: it changes things silently */
	uint64_t full;           /* changes that found no room */
};

struct bp_mirror *bp_mirror_new(const struct bp_config *c);
void bp_mirror_free(struct bp_mirror *m);

/* A message of a dump or an event, of any type; what is not mirrored is ignored. */
void bp_mirror_message(struct bp_mirror *m, const struct nlmsghdr *h, bool dump);

/* Tells the writer, which is m->writer from now on: interfaces and objects, then neighbours ... */
void bp_mirror_give(struct bp_mirror *m, struct bp_fib_writer *writer);
/* ... then the routes, a few at a time: from *cursor (0 at first) on. False when all are told. */
bool bp_mirror_give_routes(struct bp_mirror *m, uint32_t *cursor);

/* A prefix as the tables must say it. False: not at all. */
bool bp_mirror_translate(
	struct bp_mirror *m, const struct bp_mirror_prefix *p, struct bp_route *out);
/* A neighbour as the tables must say it. False: not at all. */
bool bp_mirror_neighbour_info(const struct bp_mirror *m, const struct bp_mirror_neighbour *n,
	struct bp_neighbour_info *out);

/* ---- between the parts of the mirror ---- */

void bp_mirror_link_message(struct bp_mirror *m, const struct nlmsghdr *h, bool dump);
void bp_mirror_address_message(struct bp_mirror *m, const struct nlmsghdr *h);
void bp_mirror_neighbour_message(struct bp_mirror *m, const struct nlmsghdr *h);
void bp_mirror_object_message(struct bp_mirror *m, const struct nlmsghdr *h);
void bp_mirror_route_message(struct bp_mirror *m, const struct nlmsghdr *h, bool dump);

/* The link's entry, made when there is none; NULL without memory. */
struct bp_mirror_link *bp_mirror_link(struct bp_mirror *m, uint32_t ifindex);
/* Only looks; NULL: none. */
struct bp_mirror_link *bp_mirror_link_find(const struct bp_mirror *m, uint32_t ifindex);
/* A hop is kept (+1) or forgotten (-1). */
void bp_mirror_link_use(struct bp_mirror *m, uint32_t ifindex, int change);
void bp_mirror_interface_give(struct bp_mirror *m, unsigned interface);
/* A bridge's host or port left: its neighbours go. */
void bp_mirror_neighbours_forget(struct bp_mirror *m, unsigned interface);
void bp_mirror_neighbours_free(struct bp_mirror *m);
void bp_mirror_neighbours_give(struct bp_mirror *m);
void bp_mirror_objects_free(struct bp_mirror *m);
void bp_mirror_objects_give(struct bp_mirror *m);
struct bp_mirror_object *bp_mirror_object_find(const struct bp_mirror *m, uint32_t id);
/* A route names it (+1) or no longer does (-1). */
void bp_mirror_object_use(struct bp_mirror *m, uint32_t id, int change);

/* What hops come to. */
struct bp_mirror_path {
	uint32_t n;
	uint32_t foreign; /* hops through interfaces that are not ours */
	bool too_many;
	bool usable; /* of an object: some hop lives, or it is a blackhole */
	struct bp_hop hop[BP_HOPS_MAX];
};
/* Adds a hop with weight `weight`, unless it is dead. */
void bp_mirror_path_add(const struct bp_mirror *m, struct bp_mirror_path *way,
	const struct bp_mirror_hop *hop, uint16_t weight);
/* The object's type for the writer (unicast, blackhole or punt) and, of unicast, its hops. */
uint8_t bp_mirror_object_path(
	const struct bp_mirror *m, const struct bp_mirror_object *o, struct bp_mirror_path *way);

/* route_list.c: the order of a prefix's routes, as the kernel keeps it. `r` is owned by the list
 * afterwards. */
void bp_mirror_route_add(struct bp_mirror *m, struct bp_mirror_prefix *p, struct bp_mirror_route *r,
	uint16_t nlmsg_flags, bool dump);
/* Takes away what `like` describes; `like` stays the caller's. */
void bp_mirror_route_take(
	struct bp_mirror *m, struct bp_mirror_prefix *p, const struct bp_mirror_route *like);
void bp_mirror_route_free(struct bp_mirror *m, struct bp_mirror_route *r);
void bp_mirror_routes_free(struct bp_mirror *m);

/* The kernel must be asked anew, because of `why` (a static text, "after ..."). */
static inline void bp_mirror_invalidate(struct bp_mirror *m, const char *why)
{
	if (m->invalid_reason == NULL)
		m->invalid_reason = why;
}
/* What the writer answered. */
void bp_mirror_answer(struct bp_mirror *m, enum bp_fib_result result);

#endif
