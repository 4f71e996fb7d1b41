/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_STATUS_H
#define BP_SHM_HEALTH_PHD_STATUS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Counters and gauges of health devices that the control plane exports: identifier, group, kind,
 * name, help. They are in the shared segment, written once a second and when the control plane
 * exits, so `biplane status` reads them without a request. A TOTAL continues over restarts of the
 * control plane; what happened in the last second of a killed one is missing. A NOW is a gauge.
 * `status` and docs/reference/counters.md are generated from this list.
 */
#define BP_PHD_STATUS(X)                                                                           \
	/* the session table */                                                                    \
	X(OPEN, SESSIONS, NOW, "open", "sessions")                                                 \
	X(OPERATING, SESSIONS, NOW, "operating", "sessions in state Operating")                    \
	X(UNREADY, SESSIONS, NOW, "without_containers",                                            \
		"sessions in state Operating without containers; the device must repeat its "      \
		"reports")                                                                         \
	X(LAYOUTS, SESSIONS, NOW, "configurations", "different configurations of the sessions")    \
	X(REPAIRS, SESSIONS, NOW, "repaired",                                                      \
		"incomplete entries of the session table that a new control plane repaired")       \
	X(ADOPTED, SESSIONS, TOTAL, "adopted", "sessions that a new control plane adopted")        \
	X(TAKEN_OVER, SESSIONS, TOTAL, "superseded",                                               \
		"sessions closed because their system ID associated from another address")         \
	/* AARQ and AARE */                                                                        \
	X(AARQ, ASSOCIATIONS, TOTAL, "requested", "association requests (AARQ)")                   \
	X(AARE_REPEATED, ASSOCIATIONS, TOTAL, "repeated",                                          \
		"association requests and configuration reports answered again")                   \
	X(AARQ_LATE, ASSOCIATIONS, TOTAL, "late",                                                  \
		"repeated association requests that arrived after a report; ignored")              \
	X(ACCEPTED, ASSOCIATIONS, TOTAL, "accepted", "accepted, configuration known")              \
	X(ACCEPTED_UNKNOWN, ASSOCIATIONS, TOTAL, "accepted_unknown",                               \
		"accepted, configuration requested")                                               \
	X(REJECTED_PERMANENT, ASSOCIATIONS, TOTAL, "rejected_permanent",                           \
		"rejected: not an agent (result 1)")                                               \
	X(REJECTED_TRANSIENT, ASSOCIATIONS, TOTAL, "rejected_transient",                           \
		"rejected temporarily (result 2), for one of the next four reasons")               \
	X(REJECTED_ADDRESS, ASSOCIATIONS, TOTAL, "rejected_address",                               \
		"more sessions of one address than limits.sessions_per_address")                   \
	X(REJECTED_RATE, ASSOCIATIONS, TOTAL, "rejected_rate",                                     \
		"more requests than limits.association_rate")                                      \
	X(REJECTED_FULL, ASSOCIATIONS, TOTAL, "rejected_full",                                     \
		"max_sessions reached, or closed sessions not released yet")                       \
	X(REJECTED_LAYOUTS, ASSOCIATIONS, TOTAL, "rejected_configurations",                        \
		"max_configurations reached, or the address of the CSE is not known yet")          \
	X(REJECTED_PROTOCOL, ASSOCIATIONS, TOTAL, "rejected_protocol",                             \
		"rejected: no common protocol (result 4)")                                         \
	X(REJECTED_PARAMETER, ASSOCIATIONS, TOTAL, "rejected_parameter",                           \
		"rejected: no common parameter (result 5)")                                        \
	X(REJECTED_UNKNOWN, ASSOCIATIONS, TOTAL, "rejected_unknown",                               \
		"rejected: unknown reason (result 6)")                                             \
	X(REJECTED_UNAUTHORIZED, ASSOCIATIONS, TOTAL, "rejected_unauthorized",                     \
		"rejected: not in allow or allow_file (result 7)")                                 \
	X(REJECTED_VERSION, ASSOCIATIONS, TOTAL, "rejected_version",                               \
		"rejected: association version (result 8)")                                        \
	/* other events of the state machine */                                                    \
	X(CONFIGS_ACCEPTED, SIGNALLING, TOTAL, "configs_accepted",                                 \
		"configuration reports accepted")                                                  \
	X(CONFIGS_REFUSED, SIGNALLING, TOTAL, "configs_rejected",                                  \
		"configuration reports rejected")                                                  \
	X(ABORTS_SENT, SIGNALLING, TOTAL, "aborts_sent", "ABRT sent")                              \
	X(ABORTS_RECEIVED, SIGNALLING, TOTAL, "aborts_received", "ABRT received")                  \
	X(RELEASES_SENT, SIGNALLING, TOTAL, "releases_sent", "RLRQ sent")                          \
	X(RELEASES_RECEIVED, SIGNALLING, TOTAL, "releases_received", "RLRQ received")              \
	X(TIMEOUT_CONFIG, SIGNALLING, TOTAL, "timeout_config",                                     \
		"sessions closed: no configuration within timeouts.config")                        \
	X(TIMEOUT_SERVICE, SIGNALLING, TOTAL, "timeout_service",                                   \
		"requests to a device without an answer within timeouts.service")                  \
	X(TIMEOUT_RELEASE, SIGNALLING, TOTAL, "timeout_release",                                   \
		"sessions closed: no RLRE within timeouts.release")                                \
	X(TIMEOUT_IDLE, SIGNALLING, TOTAL, "timeout_idle",                                         \
		"sessions closed: no report within idle_timeout")                                  \
	X(STRAYS, SIGNALLING, TOTAL, "unknown_session", "APDUs of devices without a session")      \
	X(UNDECODABLE, SIGNALLING, TOTAL, "malformed", "APDUs that cannot be decoded")             \
	X(ERRORS_ANSWERED, SIGNALLING, TOTAL, "errors_sent", "roer and rorj sent")                 \
	/* reports on the slow path */                                                             \
	X(REPORTS_TAKEN, REPORTS, TOTAL, "accepted",                                               \
		"reports accepted by the control plane, repetitions included")                     \
	X(REPORTS_REFUSED, REPORTS, TOTAL, "deferred",                                             \
		"reports that the device must repeat: no containers yet, or "                      \
		"limits.max_pending_reports reached")                                              \
	X(REPORTS_SENT, REPORTS, TOTAL, "sent", "accepted reports sent to the CSE")                \
	X(REPORTS_REPEATED, REPORTS, TOTAL, "repeated", "reports repeated by the device")          \
	X(REPORTS_RESUMED, REPORTS, TOTAL, "resumed",                                              \
		"repeated reports sent to the CSE again, because their result was unknown")        \
	X(REPORTS_EMPTY, REPORTS, TOTAL, "empty", "reports without an observation")                \
	X(REPORTS_UNUSABLE, REPORTS, TOTAL, "not_convertible", "reports that cannot be converted") \
	X(REPORTS_TRAILING, REPORTS, TOTAL, "trailing_bytes",                                      \
		"reports with bytes after the scan list, or a time stamp after a value; the "      \
		"bytes are ignored")                                                               \
	X(REPORTS_UNFIT, REPORTS, TOTAL, "too_large",                                              \
		"reports with an observation larger than cse.max_body_size")                       \
	X(REPORTS_FULL, REPORTS, TOTAL, "pending_full",                                            \
		"reports not accepted because of limits.max_pending_reports")                      \
	X(REPORTS_LOST, REPORTS, TOTAL, "lost",                                                    \
		"reports neither stored nor repeated: they were unconfirmed, or the device is "    \
		"gone")                                                                            \
	X(REPORTS_PENDING, REPORTS, NOW, "pending", "reports in progress")                         \
	/* results of content instances */                                                         \
	X(INSTANCES, INSTANCES, TOTAL, "sent", "requests to create a content instance")            \
	X(INSTANCES_STORED, INSTANCES, TOTAL, "stored", "content instances created")               \
	X(INSTANCES_DENIED, INSTANCES, TOTAL, "denied", "access denied (4.01, 4.03)")              \
	X(INSTANCES_NO_TARGET, INSTANCES, TOTAL, "no_target", "container does not exist (4.04)")   \
	X(INSTANCES_BUSY, INSTANCES, TOTAL, "busy", "CSE busy (4.29, 5.03, 5.04)")                 \
	X(INSTANCES_REFUSED, INSTANCES, TOTAL, "rejected", "rejected for another reason")          \
	X(INSTANCES_UNANSWERED, INSTANCES, TOTAL, "unanswered", "no response")                     \
	/* events from workers */                                                                  \
	X(EVENTS_ANSWERS, EVENTS, TOTAL, "answers", "answers sent to devices for workers")         \
	X(EVENTS_STALE, EVENTS, TOTAL, "containers_missing",                                       \
		"sessions reported to have no containers")                                         \
	X(EVENTS_SWEPT, EVENTS, TOTAL, "containers_missing_found",                                 \
		"the same, found by the periodic check of all sessions")                           \
	X(EVENTS_KNOWN, EVENTS, TOTAL, "already_repaired",                                         \
		"events of sessions that were repaired before")                                    \
	X(EVENTS_UNTRUE, EVENTS, TOTAL, "no_session", "events of sessions that are not open")      \
	/* the clients of the CSE in the control plane, CoAP and HTTP together */                  \
	X(CSE_REQUESTS, CSE, TOTAL, "requests", "requests to the CSE")                             \
	X(CSE_ANSWERED, CSE, TOTAL, "answered", "requests with a response")                        \
	X(CSE_REPEATS, CSE, TOTAL, "retransmissions", "retransmissions of requests")               \
	X(CSE_TIMED_OUT, CSE, TOTAL, "timed_out", "requests without a response")                   \
	X(CSE_RESETS, CSE, TOTAL, "resets", "requests answered by a reset")                        \
	X(CSE_REFUSED, CSE, TOTAL, "port_closed", "requests to a closed port")                     \
	X(CSE_NOT_SENT, CSE, TOTAL, "not_sent", "transmissions without a route to the CSE")        \
	X(CSE_SEPARATE, CSE, TOTAL, "separate",                                                    \
		"separate responses, after an empty acknowledgement")                              \
	X(CSE_STRAYS, CSE, TOTAL, "unmatched", "messages that match no request")                   \
	X(CSE_UNREADABLE, CSE, TOTAL, "malformed", "messages that are no response of a CSE")       \
	X(CSE_RECONNECTS, CSE, TOTAL, "reconnects",                                                \
		"new sockets after a timeout, and HTTP connections")                               \
	X(CSE_OUTSTANDING, CSE, NOW, "in_flight", "requests waiting for a response")               \
	X(CSE_AWAY_S, CSE, NOW, "unreachable_s",                                                   \
		"seconds since provisioning found the CSE unreachable; 0: reachable")              \
	/* AEs and containers */                                                                   \
	X(PROVISIONED, PROVISIONING, TOTAL, "completed",                                           \
		"devices provisioned with AE and containers")                                      \
	X(PROVISION_REFUSED, PROVISIONING, TOTAL, "rejected", "requests that the CSE rejected")    \
	X(PROVISION_SPARED, PROVISIONING, TOTAL, "already_provisioned",                            \
		"sessions whose AE and containers existed before")                                 \
	X(PROVISION_TO_DO, PROVISIONING, NOW, "pending",                                           \
		"devices waiting for their AE or containers")                                      \
	/* the store, which outlives the segment */                                                \
	X(STORE_ROWS, STORE, TOTAL, "rows", "rows committed")                                      \
	X(STORE_FAILURES, STORE, TOTAL, "failures", "failed disk operations")                      \
	X(STORE_LOST, STORE, TOTAL, "lost", "rows lost because the queue was full")                \
	X(STORE_SKIPPED, STORE, TOTAL, "skipped", "invalid rows of the file")                      \
	X(STORE_EVICTED, STORE, TOTAL, "evicted", "configurations replaced by newer ones")         \
	X(STORE_REFUSED, STORE, TOTAL, "rejected", "configurations that could not be stored")      \
	X(STORE_SESSIONS_READ, STORE, TOTAL, "sessions_read", "sessions read from the file")       \
	X(STORE_RESTORED, STORE, TOTAL, "restored", "sessions restored")                           \
	X(STORE_NOT_RESTORED, STORE, TOTAL, "not_restored",                                        \
		"sessions not restored: configuration unknown, not allowed, or limit reached")     \
	X(STORE_KNOWN_READ, STORE, TOTAL, "configurations_read",                                   \
		"configurations read from the file")                                               \
	X(STORE_KNOWN, STORE, NOW, "configurations", "known configurations of devices")            \
	X(STORE_QUEUED, STORE, NOW, "queued", "rows waiting for the disk")                         \
	/* sockets of the devices */                                                               \
	X(UDP_RECEIVED, UDP, TOTAL, "received", "datagrams received")                              \
	X(UDP_SENT, UDP, TOTAL, "sent", "datagrams sent")                                          \
	X(UDP_UNSENT, UDP, TOTAL, "unsent", "datagrams that the kernel did not accept")            \
	X(UDP_OVERSIZED, UDP, TOTAL, "oversized", "datagrams longer than the maximum APDU")        \
	X(UDP_FOREIGN, UDP, TOTAL, "wrong_interface",                                              \
		"datagrams received on an interface that does not belong to this instance")        \
	X(UDP_UNANSWERABLE, UDP, TOTAL, "invalid_source",                                          \
		"datagrams from port 0 or a link-local address, or to a broadcast or multicast "   \
		"address")                                                                         \
	X(UDP_DROPPED, UDP, TOTAL, "dropped",                                                      \
		"datagrams dropped by the kernel: receive buffer full, or wrong checksum")         \
	X(TCP_OPEN, TCP, NOW, "open", "connections")                                               \
	X(TCP_ACCEPTED, TCP, TOTAL, "accepted", "connections accepted")                            \
	X(TCP_REFUSED, TCP, TOTAL, "rejected",                                                     \
		"connections closed: limit of connections, or of sessions per address, reached")   \
	X(TCP_STRANGERS, TCP, TOTAL, "unassociated", "connections closed without an association")  \
	X(TCP_POSTPONED, TCP, TOTAL, "accept_paused",                                              \
		"pauses of accepting connections: no files or memory")                             \
	X(TCP_DROPPED, TCP, TOTAL, "dropped",                                                      \
		"connections dropped by the kernel before they were accepted")                     \
	X(TCP_RECEIVED, TCP, TOTAL, "received", "APDUs received")                                  \
	X(TCP_SENT, TCP, TOTAL, "sent", "APDUs sent")                                              \
	X(TCP_UNSENT, TCP, TOTAL, "unsent", "APDUs for a closed connection")                       \
	X(TCP_MALFORMED, TCP, TOTAL, "malformed", "connections closed: no valid APDU")             \
	X(TCP_UNREAD, TCP, TOTAL, "not_reading", "connections closed: the device does not read")   \
	X(TCP_IDLE, TCP, TOTAL, "idle", "connections closed: idle")

enum bp_phd_status_group {
	BP_PHD_SG_SESSIONS,
	BP_PHD_SG_ASSOCIATIONS,
	BP_PHD_SG_SIGNALLING,
	BP_PHD_SG_REPORTS,
	BP_PHD_SG_INSTANCES,
	BP_PHD_SG_EVENTS,
	BP_PHD_SG_CSE,
	BP_PHD_SG_PROVISIONING,
	BP_PHD_SG_STORE,
	BP_PHD_SG_UDP,
	BP_PHD_SG_TCP,
	BP_PHD_SG_COUNT,
};

enum bp_phd_status_kind { BP_PHD_SK_TOTAL, BP_PHD_SK_NOW };

enum bp_phd_status_word {
#define X(id, group, kind, name, help) BP_PHD_S_##id,
	BP_PHD_STATUS (X)
#undef X
		BP_PHD_S_COUNT,
};

struct bp_phd_status_info {
	const char *name;
	enum bp_phd_status_group group;
	enum bp_phd_status_kind kind;
	const char *help;
};
/* Indexed by enum bp_phd_status_word. */
extern const struct bp_phd_status_info bp_phd_status_info[BP_PHD_S_COUNT];
/* "sessions", "associations", ...; indexed by enum bp_phd_status_group. */
extern const char *const bp_phd_status_group_name[BP_PHD_SG_COUNT];

enum { BP_PHD_SOCKET_UDP, BP_PHD_SOCKET_TCP, BP_PHD_SOCKETS };

/* One in the segment. CP writes, everybody reads. */
struct bp_phd_status {
	_Atomic uint64_t v[BP_PHD_S_COUNT];
	/* CP's own: a socket may outlive the process, and with it the number that the kernel has of
	 * its drops. Which socket (SO_COOKIE), and how many of them are counted above. */
	_Atomic uint64_t socket[BP_PHD_SOCKETS], socket_drops[BP_PHD_SOCKETS];
} __attribute__((aligned(64)));

#endif
