/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_CONFIG_H
#define BP_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "biplane/exception.h"
#include "biplane/fib.h"
#include "biplane/limits.h"
#include "biplane/offloads.h"
#include "biplane/services.h"

/*
 * The configuration file as a structure. One table (schema_*.c) has a row per setting; the parser,
 * `biplane config check`, `biplane config show` and biplane.yaml(5) derive from it. Independent of
 * DPDK and the segment; both planes and the tools link it.
 */

/* The kernel interface of a routed port or a bridge. */
enum bp_backend { BP_BACKEND_AUTO, BP_BACKEND_VIRTIO, BP_BACKEND_TAP, BP_BACKEND_OFF };

#define BP_INTERFACE_NAME_MAX 15 /* maximum length of a kernel interface's name, bytes */

/* A routed interface: that of a routed port, or the host interface of a bridge. */
struct bp_config_interface {
	uint8_t backend; /* enum bp_backend; off for a bridged port */
	/* Name of its kernel interface; default: the name of the port or bridge. May be "" without
	 * a kernel interface (off). */
	char kernel_name[BP_INTERFACE_NAME_MAX + 1];
	uint32_t n_addresses;
	struct bp_interface_address address[BP_ADDRESSES_MAX];
};

struct bp_config_port {
	char name[BP_NAME_MAX + 1];
	char device[512];   /* PCI address or vdev string, as for DPDK's -a and --vdev */
	uint32_t rx_queues; /* 0 (auto): one per worker, if the driver supports it */
	uint32_t rx_descriptors, tx_descriptors; /* 0 (auto): the default of the driver */
	uint32_t mtu;                            /* 0 (auto): the setting of the driver */
	bool promiscuous;                        /* default: true for a bridged port */
	bool has_mac;
	uint8_t mac[6];  /* set on the device; false: the device's own address */
	bool has_routed; /* the file makes the port routed; see bp_config_port_routes() */
	struct bp_config_interface interface; /* only for a routed port */
	uint8_t offload[BP_OFFLOADS];         /* enum bp_offload_word of each */
};

struct bp_config_bridge {
	char name[BP_NAME_MAX + 1]; /* of the bridge and of its host interface */
	uint32_t n;
	uint8_t port[BP_MAX_PORTS];    /* indices into ports */
	char network[BP_NAME_MAX + 1]; /* "": not given; see bp_config_networks() */
	bool has_host_interface;
	struct bp_config_interface host_interface;
	uint32_t fdb_max_entries; /* per port */
	uint64_t fdb_aging_time_ns;
};

/* Capacities of the forwarding tables. */
struct bp_config_routing {
	uint32_t max_ipv4_routes, max_ipv6_routes, max_neighbors, max_nexthops, max_nexthop_groups;
};

struct bp_config_netlink {
	uint32_t route_table;         /* the kernel's routing table that is mirrored */
	uint32_t receive_buffer;      /* bytes */
	uint64_t neighbor_refresh_ns; /* a neighbor that was used within this time is refreshed */
};

/* A static route: `hop.gateway` (family 0: none) through `hop.interface`. */
struct bp_config_static_route {
	struct bp_prefix prefix;
	uint8_t type;       /* enum bp_route_type: unicast, blackhole, unreachable or prohibit */
	bool has_interface; /* false: the interface whose address prefix contains the gateway */
	struct bp_hop hop;
};

struct bp_config_static_neighbor {
	struct bp_address address;
	uint8_t mac[6];
	uint8_t interface;
};

struct bp_config_static {
	uint32_t n_routes, n_neighbors;
	struct bp_config_static_route *route;       /* owned by the configuration */
	struct bp_config_static_neighbor *neighbor; /* owned by the configuration */
};

struct bp_config_punt {
	struct {
		uint32_t rate_pps;
		uint32_t burst;     /* packets */
		uint32_t queue_len; /* packets */
	} policer[BP_EX_CLASSES];
	uint32_t n_health_device_ports;
	uint16_t health_device_ports[BP_MAX_MQTT_PORTS];
	/* Ports on which biplane itself listens for health devices; 0: none. */
	uint16_t listen_udp, listen_tcp;
};

enum bp_poll_mode { BP_POLL_BUSY, BP_POLL_ADAPTIVE };
enum bp_hugepages { BP_HUGEPAGES_AUTO, BP_HUGEPAGES_REQUIRE, BP_HUGEPAGES_NEVER };

/* Where the HTTP server of the monitor listens. */
enum bp_listen_kind { BP_LISTEN_OFF, BP_LISTEN_TCP, BP_LISTEN_UNIX };
#define BP_LISTEN_PATH_MAX 107 /* of a Unix socket, bytes */
struct bp_config_listen {
	uint8_t kind;              /* enum bp_listen_kind */
	struct bp_address address; /* TCP */
	uint16_t tcp_port;
	char path[BP_LISTEN_PATH_MAX + 1]; /* Unix */
};
/* Whether only processes of this machine can connect. */
bool bp_config_listen_is_local(const struct bp_config_listen *l);

/* Limits above which a fault is reported (0: never), and the HTTP server of the monitor. */
struct bp_config_monitoring {
	uint64_t link_up_delay_ns;         /* since the start */
	uint32_t mbuf_low_percent;         /* free mbufs of a pool */
	uint64_t poll_gap_warning_ns;      /* between two polls of a worker */
	uint64_t worker_stall_timeout_ns;  /* time without a poll */
	uint64_t not_inspected_warning_ns; /* of a connection */
	uint64_t history_ns;               /* of the samples that are kept; 0: none */
	uint64_t log_interval_ns;          /* average interval of lines about one fault; not 0 */
	uint32_t event_queue_size;         /* records of each writer of events */
	struct bp_config_listen listen;
	char tls_certificate[256], tls_key[256], token_file[256]; /* "": none */
	uint32_t max_connections;
	uint64_t capture_buffer; /* bytes per worker; 0: no captures */
};

/* Section log; the values are those of enum bp_log_level and bp_log_format (daemon/log.h). */
enum bp_event_log_kind {
	BP_EVENT_LOG_OFF,
	BP_EVENT_LOG_FILE,
	BP_EVENT_LOG_UNIX,
	BP_EVENT_LOG_JOURNAL,
};
#define BP_EVENT_LOG_PATH_MAX 255
#define BP_EVENT_LOG_SOCKET_MAX 107 /* bytes of a socket's path */
struct bp_config_event_log {
	uint8_t kind;                         /* enum bp_event_log_kind */
	char path[BP_EVENT_LOG_PATH_MAX + 1]; /* absolute, of a file or a socket; else "" */
};
struct bp_config_log {
	uint8_t level, format;
	struct bp_config_event_log events;
};

/* Section fleet: what gateways share. */
#define BP_FLEET_SERVERS_MAX 8
struct bp_config_fleet_server {
	struct bp_address address;
	uint16_t tcp_port;
};
/* A Redis server, or the Sentinels that know the address of one. */
struct bp_config_redis {
	bool tls;
	uint16_t db;
	char master[64]; /* name at the Sentinels; "": the only server is Redis itself */
	uint32_t n_servers;
	struct bp_config_fleet_server server[BP_FLEET_SERVERS_MAX];
};
struct bp_config_fleet_state {
	bool enabled;
	struct bp_config_redis redis;
	char username[128];
	char password_file[512]; /* "": none; the first line of the file is the password */
	char ca_file[512];       /* "": the system's certificates */
	char cert_file[512], key_file[512];
	uint64_t timeout_ns;
	uint32_t max_queued;     /* writes */
	uint64_t max_queue_size; /* bytes */
	uint32_t max_alarm_states, max_alarm_states_per_client;
};
/* Labels by which a member of a fleet is selected. */
#define BP_FLEET_LABELS_MAX 8u
#define BP_FLEET_KEYS_MAX 4u
struct bp_config_fleet_labels {
	uint32_t n;
	struct {
		char key[32], value[64];
	} label[BP_FLEET_LABELS_MAX];
};
struct bp_config_fleet_files {
	uint32_t n;
	char path[BP_FLEET_KEYS_MAX][256];
};
/* fleet.config: settings that the fleet distributes with etcd. */
struct bp_config_fleet_config {
	bool given;
	char server[512];                  /* etcd://HOST:PORT,... or etcds://HOST:PORT,... */
	struct bp_config_fleet_files keys; /* public keys of operators */
	char ca_file[256], cert_file[256], key_file[256]; /* "": none */
	char username[64], password_file[256];            /* "": none */
	uint64_t trial_time_ns;
	char directory[256];
};
struct bp_config_fleet {
	bool enabled;
	char name[BP_NAME_MAX + 1];
	struct bp_config_fleet_labels labels;
	struct bp_config_fleet_config config;
	struct bp_config_fleet_state state;
};

struct bp_config {
	uint8_t version;            /* version of the file's format: 1 */
	char name[BP_NAME_MAX + 1]; /* instance: part of the names of the segment, the socket and
				       DPDK's file prefix */
	char runtime_dir[256];      /* segment without hugepages, control socket, pid files */
	uint64_t watchdog_ns;       /* of `biplane run`; 0: none */
	uint8_t hugepages;          /* enum bp_hugepages */
	uint8_t poll_mode;          /* enum bp_poll_mode; of the workers */
	uint8_t controlplane_poll_mode;
	bool has_cpu_latency_limit;
	uint32_t cpu_latency_limit_us; /* valid when has_cpu_latency_limit */
	uint32_t n_workers;
	bool workers_listed;                  /* the file lists cores instead of a number */
	uint16_t worker_core[BP_MAX_WORKERS]; /* valid when workers_listed */
	uint32_t mbufs;     /* per port and worker; 0 (auto): computed from the descriptors */
	uint32_t memory_mb; /* DPDK's memory without hugepages */
	struct bp_config_monitoring monitoring;
	uint32_t n_ports;
	struct bp_config_port port[BP_MAX_PORTS];
	uint32_t n_bridges;
	struct bp_config_bridge bridge[BP_MAX_BRIDGES];
	struct bp_config_routing routing;
	uint8_t ipv6_rp_filter; /* 0: off, 1: strict, 2: loose; as net.ipv4.conf.*.rp_filter */
	struct bp_config_netlink netlink;
	struct bp_config_static fixed; /* routing.static_* */
	struct bp_config_punt punt;
	struct bp_config_log log;
	struct bp_config_fleet fleet;
	/* The settings of each service, owned by the configuration: config/NAME/settings.h. */
	void *service[BP_SERVICE_COUNT];
};

/* Maximum size of the settings of a service, in bytes, and the size of the array of zeros. */
#define BP_CONFIG_SERVICE_MAX 65536
extern const unsigned char bp_config_zeros[BP_CONFIG_SERVICE_MAX];

/*
 * Defines the accessors of struct bp_config_name_ of service BP_SERVICE_id_: bp_config_name_(c) to
 * read, bp_config_name_set(c) to write. A configuration that was not read may have no settings of a
 * service; they read as zeros.
 */
#define BP_CONFIG_SERVICE(name_, id_)                                                              \
	_Static_assert(sizeof(struct bp_config_##name_) <= BP_CONFIG_SERVICE_MAX, #name_);         \
	static inline const struct bp_config_##name_ *bp_config_##name_(const struct bp_config *c) \
	{                                                                                          \
		const void *own = c->service[BP_SERVICE_##id_];                                    \
                                                                                                   \
		return own != NULL ? own : (const void *)bp_config_zeros;                          \
	}                                                                                          \
	static inline struct bp_config_##name_ *bp_config_##name_##_set(struct bp_config *c)       \
	{                                                                                          \
		return c->service[BP_SERVICE_##id_];                                               \
	}

/* Networks of MQTT inspection: config/mqtt/networks.c. */
#define BP_NETWORK_MAIN "main"
struct bp_networks {
	uint8_t of_port[BP_MAX_PORTS];                      /* number of its network */
	uint8_t n;                                          /* with the main one, number 0 */
	char name[BP_NETWORKS_CONFIGURED][BP_NAME_MAX + 1]; /* by number; "" of number 0 */
};
void bp_config_networks(const struct bp_config *c, struct bp_networks *out);

/* Returns whether a port is routed: it is in no bridge. */
bool bp_config_port_routes(const struct bp_config *c, unsigned port);
/* Returns whether any interface is routed: a routed port, or a bridge with a host interface. */
bool bp_config_routes(const struct bp_config *c);
/* Returns the interface with that number (see include/biplane/fib.h) and its name, or NULL when the
 * file does not have it: a bridged port, or a bridge without host_interface. */
const struct bp_config_interface *bp_config_interface(
	const struct bp_config *c, unsigned interface, const char **name);

/*
 * Reads and validates the whole file `path`. On success returns the configuration; the caller frees
 * it with bp_config_free(). On any error returns NULL and writes all errors to `errors` as
 * "FILE:LINE:COLUMN: value found; value expected
 * ". Warnings are written there too, after "warning: ".
 */
struct bp_config *bp_config_load(const char *path, FILE *errors);
/*
 * A bundle: settings that replace those of the file, config/fleet/bundle.h. A file with
 * fleet.config is read with the bundle that the agent of the fleet stored in
 * fleet.config.directory, if there is one.
 */
#define BP_BUNDLE_MAX (512u << 10) /* bytes */
struct bp_bundle {
	const char *name; /* in messages */
	const char *text;
	size_t len;
};
/* Like bp_config_parse_file(), with this bundle instead of the stored one; NULL: without any. */
struct bp_config *bp_config_parse_with(const char *name, const char *text, size_t len,
	const struct bp_bundle *bundle, FILE *errors);
/* Like bp_config_load(), for the bytes of a file. */
struct bp_config *bp_config_parse_file(
	const char *name, const char *text, size_t len, FILE *errors);
/* Like bp_config_load(), from memory; `version` may be missing; `name` is the file name in
 * messages. */
struct bp_config *bp_config_parse(const char *name, const char *text, size_t len, FILE *errors);
void bp_config_free(struct bp_config *c);

/* The instance of a configuration file. */
struct bp_config_instance {
	char name[BP_NAME_MAX + 1];
	char runtime_dir[256];
	bool no_hugepages; /* runtime.hugepages is never */
};

/*
 * Reads only the instance, even from a file with errors in other settings, so that an operator can
 * still inspect a running instance after an edit with errors. Returns 0 when the file has no
 * errors, 1 when it has errors and the instance is known, -1 when the instance is unknown; all
 * errors are then written to `errors` as by bp_config_load(). Warnings are not written.
 */
int bp_config_load_instance(const char *path, struct bp_config_instance *i, FILE *errors);
int bp_config_parse_instance(
	const char *name, const char *text, size_t len, struct bp_config_instance *i, FILE *errors);

/*
 * Compares the settings that cannot change at run time. Returns the number of settings that differ,
 * and writes each as one line to `out` ("ports[0].device: changing it needs a restart").
 */
int bp_config_restart_needed(
	const struct bp_config *running, const struct bp_config *next, FILE *out);

/* Writes the effective configuration as YAML: every setting with its value, including defaults. */
void bp_config_dump(const struct bp_config *c, FILE *out);
/* Returns a hash of the effective configuration, which bp_config_dump() writes (FNV-1a); 0 without
 * memory. */
uint64_t bp_config_hash(const struct bp_config *c);

/* Writes the settings section of biplane.yaml(5) in roff (man) format, from the schema. */
void bp_config_man(FILE *out);

/* Writes the same settings in Markdown: a heading and a table for each section. */
void bp_config_markdown(FILE *out);

#endif
