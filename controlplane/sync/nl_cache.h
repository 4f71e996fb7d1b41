/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_NL_CACHE_H
#define BP_CONTROLPLANE_SYNC_NL_CACHE_H

#include <net/if.h>

#include <linux/if.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#include "controlplane/sync/map.h"
#include "shm/fib/fib_writer.h"

struct bp_config;
struct ifinfomsg;
struct nlattr;

/*
 * The kernel's links, addresses, neighbors, next-hop objects and routes in the memory of the
 * control plane, and their translation into entries of the forwarding tables. Its input are
 * rtnetlink messages, in the order of the dumps (bp_netlink_dump) and then of the events. With a
 * writer, it writes every change immediately; without one, it only collects, and
 * bp_nl_cache_publish() or the functions at the end publish the result.
 *
 * Kernel state that the tables cannot represent, and its replacement:
 *   - a route through an interface that is not ours, in whole or in part, a route with
 *     encapsulation or with more than BP_HOPS_MAX hops, and type throw: punt, so that the kernel
 *     forwards;
 *   - a prefix that has a route for one TOS or for a source prefix: punt, because longest prefix
 *     match cannot distinguish those packets;
 *   - several routes of a prefix: the route that the kernel selects, by table (local first), then
 *     metric, then order. A route without a usable hop is skipped, as in the kernel;
 *   - dead hops are omitted; hops without carrier are used, unless the kernel marks them as dead
 *     because it ignores them (sysctl ignore_routes_with_linkdown);
 *   - loopback and multicast prefixes, and the link-local unicast prefix fe80::/10: omitted,
 *     because no router forwards to them. Link-local addresses of this machine are present as
 *     local routes.
 *
 * The tables of VRFs that an interface of ours is in are cached, too; local routes are in the same
 * table there.
 *
 * Not cached: policy rules beyond the order local table, configured table; the MTU of a route.
 */

/* A VLAN interface of the kernel (802.1Q). */
struct bp_nl_vlan {
	uint32_t parent; /* ifindex */
	uint16_t id;
	bool refused; /* its parent is a port of ours, but all numbers are in use */
	struct bp_interface_info info;
};

/* One network interface of the kernel. */
struct bp_nl_link {
	struct bp_map_node node;
	uint32_t ifindex;
	uint32_t uses; /* number of hops through it */
	bool known;    /* the kernel has reported it */
	bool up;       /* administratively */
	bool carrier;
	bool running;            /* operationally (RFC 2863): the kernel considers it usable */
	uint32_t vrf_table;      /* of the VRF that it is in; 0: it is in none */
	uint32_t vrf_device;     /* its table, if it is a VRF device; otherwise 0 */
	char vrf_name[IFNAMSIZ]; /* its name, if it is a VRF device */
	uint8_t number;          /* number of our interface; BP_NO_INTERFACE: not ours */
	struct bp_nl_vlan *vlan; /* NULL: no VLAN interface, or one in a bridge */
};

/*
 * One interface of ours that has a kernel interface. A subinterface has its number as long as it
 * exists. A number that it leaves stays reserved for the same port and VLAN (info.parent, .vlan_id)
 * until the next load is written: until then, routes may refer to it.
 */
struct bp_nl_interface {
	char kernel_name[IFNAMSIZ]; /* "": none */
	uint32_t ifindex;           /* 0: missing now */
	uint32_t unshown;           /* addresses beyond BP_ADDRESSES_MAX */
	bool released;              /* this cache has removed the subinterface */
	bool appeared;              /* for the owner, who resets it: the subinterface is new */
	struct bp_interface_info info;
};

/* A number of a VRF. */
struct bp_nl_vrf {
	uint32_t table;   /* 0: free */
	uint32_t ifindex; /* of its device; 0: not known */
	char name[IFNAMSIZ];
	bool used; /* by an interface of this cache: its routes are in the cache */
};

struct bp_nl_neighbor {
	struct bp_map_node node;
	struct bp_address address;
	uint8_t interface;
	uint8_t mac[6];
	uint16_t nud;     /* NUD_* */
	uint32_t asked_s; /* CLOCK_MONOTONIC second of the last probe request to the kernel */
	struct bp_nl_neighbor *older, *newer; /* list of all neighbors, for keepalive */
};

/* One next hop of the kernel. */
struct bp_nl_hop {
	uint32_t ifindex;
	uint16_t weight;
	uint8_t family; /* family of the gateway: 4, 6, or 0 */
	bool dead;
	uint8_t gateway[16];
};

struct bp_nl_nh_object {
	struct bp_map_node node;
	uint32_t id;
	uint32_t routes; /* number of routes that use it */
	bool there;      /* false: deleted, but routes still use it */
	bool published;  /* the writer has it */
	bool usable;     /* some hop was live at the last publication */
	bool blackhole, encap;
	struct bp_nl_hop hop; /* single: n_members is 0 */
	uint32_t n_members;
	struct bp_nl_nh_member {
		uint32_t id;
		uint16_t weight;
	} * member;
	struct bp_nl_nh_object *next_group;
};

/* One route of the kernel. */
struct bp_nl_route {
	struct bp_nl_route *next; /* same prefix, in the order of preference */
	uint32_t metric;
	uint32_t object;
	uint32_t qualifier; /* nonzero: only for one TOS or source prefix, which it identifies */
	uint8_t type;       /* RTN_* */
	uint8_t protocol;   /* RTPROT_* */
	bool from_main;     /* from the configured table or that of a VRF; false: from the kernel's
			       local table */
	bool encap;
	bool too_many;  /* the kernel has more hops than these */
	bool preferred; /* has a preferred source address, and is deleted with it */
	uint8_t n_hops;
	struct bp_nl_hop hop[];
};

struct bp_nl_prefix {
	struct bp_map_node node;
	struct bp_nl_route *first;
	uint8_t bytes[16];
	uint8_t family, length, vrf;
	bool published; /* the writer has it */
	bool punted;    /* type punt because the tables cannot represent it */
};

struct bp_nl_cache {
	const struct bp_config *config;
	struct bp_fib_writer *writer; /* NULL: only collects */
	const uint32_t *settings;     /* BP_IF_* beyond an interface's flags; may be NULL */
	struct bp_nl_interface own[BP_ALL_INTERFACES];
	struct bp_nl_vrf vrf[BP_MAX_VRFS + 1]; /* by number, from 1 */
	unsigned vrfs;                         /* the highest number that was ever used */
	struct bp_map links, neighbors, objects, prefixes;
	struct bp_nl_nh_object *groups;
	struct bp_nl_neighbor *oldest, *newest;
	uint32_t preferred; /* routes with a preferred source address */
	uint64_t punted;    /* number of prefixes with `punted` */
	uint64_t refused;   /* changes that the writer rejected as invalid, in total */
	bool replaying;     /* events from before the end of the dump: they may be outdated */
	bool no_memory;     /* something could not be stored */

	uint32_t subinterfaces_refused; /* current number */
	uint32_t vrfs_refused;          /* current number of interfaces in VRFs without a number */

	/* For the owner, who resets them. */
	bool subinterfaces_appeared;
	bool vrfs_changed; /* an interface is in another VRF, or a VRF has another device */
	uint64_t appeared; /* bit per interface of ours: its kernel interface is new */
	uint64_t vanished; /* bit per interface of ours: its kernel interface was removed */
	bool revisit; /* everything must be published again: the results of hops have changed */
	const char *invalid_reason; /* reason for a new dump: changes without an event */
	uint64_t full;              /* changes that did not fit into the tables */
};

struct bp_nl_cache *bp_nl_cache_new(const struct bp_config *c);
void bp_nl_cache_free(struct bp_nl_cache *cache);

/*
 * Reserves the numbers of subinterfaces: those in the tables of an earlier control plane, or of the
 * cache that `cache` replaces; `all`: also those that this one had reserved.
 */
void bp_nl_subinterfaces_adopt_table(struct bp_nl_cache *cache, const struct bp_fib *f);
void bp_nl_subinterfaces_adopt(struct bp_nl_cache *cache, const struct bp_nl_cache *old, bool all);
/* Whether a subinterface has no number, and another load frees one. */
bool bp_nl_subinterfaces_waiting(const struct bp_nl_cache *cache);

/* The same for the numbers of VRFs. */
void bp_nl_vrfs_adopt_table(struct bp_nl_cache *cache, const struct bp_fib *f);
void bp_nl_vrfs_adopt(struct bp_nl_cache *cache, const struct bp_nl_cache *old, bool all);
bool bp_nl_vrfs_waiting(const struct bp_nl_cache *cache);

/* A message of a dump or an event, of any type; types that are not cached are ignored. */
void bp_nl_cache_message(struct bp_nl_cache *cache, const struct nlmsghdr *h, bool dump);

/* Writes everything to `writer`, which becomes cache->writer: interfaces and objects, then
 * neighbors
 * ... */
void bp_nl_cache_publish(struct bp_nl_cache *cache, struct bp_fib_writer *writer);
/* ... then the routes, some per call: from *cursor (initially 0). False when all are written. */
bool bp_nl_cache_publish_routes(struct bp_nl_cache *cache, uint32_t *cursor);

/* Translates a prefix for the tables. False: it has no entry. */
bool bp_nl_prefix_translate(
	struct bp_nl_cache *cache, const struct bp_nl_prefix *p, struct bp_route *out);
/* Translates a neighbor for the tables. False: it has no entry. */
bool bp_nl_neighbor_info(const struct bp_nl_cache *cache, const struct bp_nl_neighbor *n,
	struct bp_neighbor_info *out);

/* ---- between the parts of the cache ---- */

void bp_nl_link_message(struct bp_nl_cache *cache, const struct nlmsghdr *h, bool dump);
void bp_nl_address_message(struct bp_nl_cache *cache, const struct nlmsghdr *h);
void bp_nl_neighbor_message(struct bp_nl_cache *cache, const struct nlmsghdr *h);
void bp_nl_nh_object_message(struct bp_nl_cache *cache, const struct nlmsghdr *h);
void bp_nl_route_message(struct bp_nl_cache *cache, const struct nlmsghdr *h, bool dump);

/* subinterface.c. Reads whether a link is a VLAN interface, and of what parent. */
void bp_nl_vlan_read(struct bp_nl_cache *cache, struct bp_nl_link *l, const struct ifinfomsg *ifi,
	struct nlattr *const *tb);
/* The link is removed. */
void bp_nl_vlan_forget(struct bp_nl_cache *cache, struct bp_nl_link *l);
/* Returns the number of a VLAN interface, and assigns it if necessary; BP_NO_INTERFACE: its parent
 * is no port of ours, or all numbers are in use. */
uint8_t bp_nl_vlan_number(struct bp_nl_cache *cache, struct bp_nl_link *l);
/* Copies what the kernel reported to the interface. */
void bp_nl_vlan_follow(struct bp_nl_cache *cache, const struct bp_nl_link *l);
/* The parent has become a port of ours, or is none any longer. `dump`: its addresses follow. */
void bp_nl_vlans_of(struct bp_nl_cache *cache, const struct bp_nl_link *parent, bool dump);

/* vrf.c. Reads whether a link is in a VRF, or is a VRF device. */
void bp_nl_vrf_read(struct bp_nl_cache *cache, struct bp_nl_link *l, struct nlattr *const *tb);
/* The interface of ours enters the VRF of its link; its owner publishes it. */
void bp_nl_vrf_follow(struct bp_nl_cache *cache, const struct bp_nl_link *l, bool dump);
/* The interface of ours is removed. */
void bp_nl_vrf_leave(struct bp_nl_cache *cache, unsigned interface);
/* Returns the number of the VRF with this table; BP_VRF_MAIN: none has it. */
uint8_t bp_nl_vrf_of_table(const struct bp_nl_cache *cache, uint32_t table);
/* The name of the device of the VRF that one of our interfaces is in, also of one without a number;
 * "": it is in none, or the device is not known. */
const char *bp_nl_vrf_device(const struct bp_nl_cache *cache, unsigned interface);
void bp_nl_vrfs_publish(struct bp_nl_cache *cache);

/* Returns the link's entry, and creates it if necessary; NULL without memory. */
struct bp_nl_link *bp_nl_link_get(struct bp_nl_cache *cache, uint32_t ifindex);
/* Returns the link's entry; NULL: none. */
struct bp_nl_link *bp_nl_link_find(const struct bp_nl_cache *cache, uint32_t ifindex);
/* A hop through the link was added (+1) or removed (-1). */
void bp_nl_link_use(struct bp_nl_cache *cache, uint32_t ifindex, int change);
/* Called for a port of ours when its kernel interface appears or disappears. */
void bp_nl_interface_enter(
	struct bp_nl_cache *cache, struct bp_nl_link *l, uint8_t number, bool was_known);
void bp_nl_interface_leave(struct bp_nl_cache *cache, struct bp_nl_link *l);
void bp_nl_interface_publish(struct bp_nl_cache *cache, unsigned interface);
/* The host interface of a bridge, or a port, was removed: deletes its neighbors. */
void bp_nl_neighbors_delete(struct bp_nl_cache *cache, unsigned interface);
void bp_nl_neighbors_free(struct bp_nl_cache *cache);
void bp_nl_neighbors_publish(struct bp_nl_cache *cache);
void bp_nl_nh_objects_free(struct bp_nl_cache *cache);
void bp_nl_nh_objects_publish(struct bp_nl_cache *cache);
struct bp_nl_nh_object *bp_nl_nh_object_find(const struct bp_nl_cache *cache, uint32_t id);
/* A route uses the object (+1) or no longer does (-1). */
void bp_nl_nh_object_use(struct bp_nl_cache *cache, uint32_t id, int change);

/* The usable result of a set of hops. */
struct bp_nl_path {
	uint32_t n;
	uint32_t foreign; /* hops through interfaces that are not ours */
	bool too_many;
	bool usable; /* for an object: some hop is live, or it is a blackhole */
	struct bp_hop hop[BP_HOPS_MAX];
};
/* Adds a hop with weight `weight`, unless it is dead. */
void bp_nl_path_add(const struct bp_nl_cache *cache, struct bp_nl_path *path,
	const struct bp_nl_hop *hop, uint16_t weight);
/* Returns the object's type for the writer (unicast, blackhole or punt) and, for unicast, its
 * hops. */
uint8_t bp_nl_nh_object_path(
	const struct bp_nl_cache *cache, const struct bp_nl_nh_object *o, struct bp_nl_path *path);

/* route_list.c: the order of a prefix's routes, as in the kernel. The list takes ownership of
 * `r`. */
void bp_nl_route_add(struct bp_nl_cache *cache, struct bp_nl_prefix *p, struct bp_nl_route *r,
	uint16_t nlmsg_flags, bool dump);
/* Removes the route that `like` describes; the caller keeps `like`. */
void bp_nl_route_remove(
	struct bp_nl_cache *cache, struct bp_nl_prefix *p, const struct bp_nl_route *like);
void bp_nl_route_free(struct bp_nl_cache *cache, struct bp_nl_route *r);
void bp_nl_routes_free(struct bp_nl_cache *cache);

/* Requests a new dump because of `why` (a static text, "after ..."). */
static inline void bp_nl_cache_invalidate(struct bp_nl_cache *cache, const char *why)
{
	if (cache->invalid_reason == NULL)
		cache->invalid_reason = why;
}
/* Handles the result of the writer. */
void bp_nl_cache_fib_result(struct bp_nl_cache *cache, enum bp_fib_result result);

#endif
