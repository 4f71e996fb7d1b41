/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_STATUS_H
#define BP_SHM_HEALTH_PHD_STATUS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * What the control plane tells of health devices: identifier, group, kind, name, one line of help.
 * Words of the segment, written once a second and when the control plane ends, so that `biplane
 * status` asks nobody. A TOTAL counts on over restarts of the control plane, but for what
 * happened in the last second of one that was killed; a NOW is as it was a second ago. The table's
 * words, `status` and docs/reference/counters.md derive from this list.
 */
#define BP_PHD_STATUS(X)                                                                           \
	/* the session table */                                                                    \
	X(OPEN, SESSIONS, NOW, "open", "sessions, now")                                            \
	X(OPERATING, SESSIONS, NOW, "operating", "of these, in state operating")                   \
	X(UNREADY, SESSIONS, NOW, "without_containers",                                            \
		"of those operating, without their containers: the device is told to repeat")      \
	X(LAYOUTS, SESSIONS, NOW, "layouts", "different configurations of them, now")              \
	X(REPAIRS, SESSIONS, NOW, "repairs",                                                       \
		"what a new control plane found half done in the table, and mended")               \
	X(ADOPTED, SESSIONS, TOTAL, "adopted", "sessions that a new control plane took over")      \
	X(TAKEN_OVER, SESSIONS, TOTAL, "taken_over",                                               \
		"sessions ended because their system-id associated from elsewhere")                \
	/* AARQ and AARE */                                                                        \
	X(AARQ, ASSOCIATIONS, TOTAL, "asked", "association requests that could be read")           \
	X(AARE_REPEATED, ASSOCIATIONS, TOTAL, "repeated",                                          \
		"requests and configuration reports that were answered once more")                 \
	X(ACCEPTED, ASSOCIATIONS, TOTAL, "accepted", "accepted, configuration known")              \
	X(ACCEPTED_UNKNOWN, ASSOCIATIONS, TOTAL, "accepted_unknown",                               \
		"accepted, and the configuration asked for")                                       \
	X(REJECTED_PERMANENT, ASSOCIATIONS, TOTAL, "rejected_permanent",                           \
		"rejected: not an agent (result 1)")                                               \
	X(REJECTED_TRANSIENT, ASSOCIATIONS, TOTAL, "rejected_transient",                           \
		"rejected for now (result 2), for one of the next four reasons")                   \
	X(REJECTED_ADDRESS, ASSOCIATIONS, TOTAL, "rejected_address", "over limits.per_address")    \
	X(REJECTED_RATE, ASSOCIATIONS, TOTAL, "rejected_rate", "over limits.associations")         \
	X(REJECTED_FULL, ASSOCIATIONS, TOTAL, "rejected_full",                                     \
		"no room for another session, or those that ended just now are not free yet")      \
	X(REJECTED_LAYOUTS, ASSOCIATIONS, TOTAL, "rejected_layouts",                               \
		"no room for another configuration, or the CSE's address is not known yet")        \
	X(REJECTED_PROTOCOL, ASSOCIATIONS, TOTAL, "rejected_protocol",                             \
		"rejected: no common protocol (result 4)")                                         \
	X(REJECTED_PARAMETER, ASSOCIATIONS, TOTAL, "rejected_parameter",                           \
		"rejected: no common parameter (result 5)")                                        \
	X(REJECTED_UNKNOWN, ASSOCIATIONS, TOTAL, "rejected_unknown",                               \
		"rejected for an unknown reason (result 6)")                                       \
	X(REJECTED_UNAUTHORIZED, ASSOCIATIONS, TOTAL, "rejected_unauthorized",                     \
		"rejected: neither in allow nor in allow_file (result 7)")                         \
	X(REJECTED_VERSION, ASSOCIATIONS, TOTAL, "rejected_version",                               \
		"rejected: association version (result 8)")                                        \
	/* what else the state machine saw */                                                      \
	X(CONFIGS_ACCEPTED, SIGNALLING, TOTAL, "configs_accepted",                                 \
		"configuration reports accepted")                                                  \
	X(CONFIGS_REFUSED, SIGNALLING, TOTAL, "configs_refused", "configuration reports refused")  \
	X(ABORTS_SENT, SIGNALLING, TOTAL, "aborts_sent", "ABRT sent")                              \
	X(ABORTS_RECEIVED, SIGNALLING, TOTAL, "aborts_received", "ABRT received")                  \
	X(RELEASES_SENT, SIGNALLING, TOTAL, "releases_sent", "devices asked to release (RLRQ)")    \
	X(RELEASES_RECEIVED, SIGNALLING, TOTAL, "releases_received",                               \
		"devices that asked to release (RLRQ)")                                            \
	X(TIMEOUT_CONFIG, SIGNALLING, TOTAL, "timeout_config",                                     \
		"sessions ended: no configuration within timeouts.config")                         \
	X(TIMEOUT_SERVICE, SIGNALLING, TOTAL, "timeout_service",                                   \
		"requests to a device not answered within timeouts.service")                       \
	X(TIMEOUT_RELEASE, SIGNALLING, TOTAL, "timeout_release",                                   \
		"sessions ended: release not answered within timeouts.release")                    \
	X(TIMEOUT_IDLE, SIGNALLING, TOTAL, "timeout_idle", "sessions ended: no report for idle")   \
	X(STRAYS, SIGNALLING, TOTAL, "strays", "APDUs of a device without a session")              \
	X(UNDECODABLE, SIGNALLING, TOTAL, "undecodable", "APDUs that could not be read")           \
	X(ERRORS_ANSWERED, SIGNALLING, TOTAL, "errors_answered", "roer and rorj sent")             \
	/* reports on the slow path */                                                             \
	X(REPORTS_TAKEN, REPORTS, TOTAL, "taken", "taken by the control plane, repeats included")  \
	X(REPORTS_REFUSED, REPORTS, TOTAL, "refused",                                              \
		"that the device is to repeat: no containers yet, or over limits.pending")         \
	X(REPORTS_SENT, REPORTS, TOTAL, "sent", "of those taken, sent to the CSE")                 \
	X(REPORTS_REPEATED, REPORTS, TOTAL, "repeated", "repeated by the device, known already")   \
	X(REPORTS_RESUMED, REPORTS, TOTAL, "resumed",                                              \
		"of these, sent again: it was not known how they ended")                           \
	X(REPORTS_EMPTY, REPORTS, TOTAL, "empty", "without an observation")                        \
	X(REPORTS_UNUSABLE, REPORTS, TOTAL, "unusable", "that can't be converted")                 \
	X(REPORTS_TRAILING, REPORTS, TOTAL, "trailing_bytes",                                      \
		"with bytes behind the scan list or a time stamp behind a value, ignored")         \
	X(REPORTS_UNFIT, REPORTS, TOTAL, "unfit",                                                  \
		"an observation of which is longer than cse.max_body allows")                      \
	X(REPORTS_FULL, REPORTS, TOTAL, "full", "not taken because of limits.pending")             \
	X(REPORTS_LOST, REPORTS, TOTAL, "lost",                                                    \
		"not stored, and their device does not know: they were unconfirmed, or it is "     \
		"gone")                                                                            \
	X(REPORTS_PENDING, REPORTS, NOW, "pending", "on their way, now")                           \
	/* what became of their instances */                                                       \
	X(INSTANCES, INSTANCES, TOTAL, "sent", "content instances that the CSE was to create")     \
	X(INSTANCES_STORED, INSTANCES, TOTAL, "stored", "of these, stored")                        \
	X(INSTANCES_DENIED, INSTANCES, TOTAL, "denied", "denied (4.01, 4.03)")                     \
	X(INSTANCES_NO_TARGET, INSTANCES, TOTAL, "no_target", "the container is not there (4.04)") \
	X(INSTANCES_BUSY, INSTANCES, TOTAL, "busy", "the CSE was busy (4.29, 5.03, 5.04)")         \
	X(INSTANCES_REFUSED, INSTANCES, TOTAL, "refused", "refused otherwise")                     \
	X(INSTANCES_UNANSWERED, INSTANCES, TOTAL, "unanswered", "not answered")                    \
	/* what workers handed over */                                                             \
	X(EVENTS_ANSWERS, EVENTS, TOTAL, "answers", "answers sent to devices for workers")         \
	X(EVENTS_STALE, EVENTS, TOTAL, "stale", "sessions told to lack their containers")          \
	X(EVENTS_SWEPT, EVENTS, TOTAL, "swept", "the same, found by looking at all sessions")      \
	X(EVENTS_KNOWN, EVENTS, TOTAL, "known", "told of what was mended meanwhile")               \
	X(EVENTS_UNTRUE, EVENTS, TOTAL, "untrue", "told of no session that is open")               \
	/* the control plane's clients of the CSE, by CoAP and HTTP, together */                   \
	X(CSE_REQUESTS, CSE, TOTAL, "requests", "requests to the CSE")                             \
	X(CSE_ANSWERED, CSE, TOTAL, "answered", "of these, answered")                              \
	X(CSE_REPEATS, CSE, TOTAL, "repeats", "transmissions again, for want of an answer")        \
	X(CSE_TIMED_OUT, CSE, TOTAL, "timed_out", "requests given up: not answered")               \
	X(CSE_RESETS, CSE, TOTAL, "resets", "requests that were reset")                            \
	X(CSE_REFUSED, CSE, TOTAL, "port_closed", "requests given up: nobody listens there")       \
	X(CSE_NOT_SENT, CSE, TOTAL, "not_sent",                                                    \
		"transmissions for which the kernel had no way to the CSE")                        \
	X(CSE_SEPARATE, CSE, TOTAL, "separate", "responses behind an empty acknowledgement")       \
	X(CSE_STRAYS, CSE, TOTAL, "strays", "messages that nothing waits for")                     \
	X(CSE_UNREADABLE, CSE, TOTAL, "unreadable", "what came and is no answer of a CSE")         \
	X(CSE_RECONNECTS, CSE, TOTAL, "reconnects",                                                \
		"new sockets after silence, and HTTP connections")                                 \
	X(CSE_OUTSTANDING, CSE, NOW, "outstanding", "requests without an answer, now")             \
	X(CSE_AWAY_S, CSE, NOW, "away_s",                                                          \
		"seconds for which provisioning has found the CSE away; 0: it answers")            \
	/* AEs and containers */                                                                   \
	X(PROVISIONED, PROVISIONING, TOTAL, "done", "devices whose AE and containers are there")   \
	X(PROVISION_REFUSED, PROVISIONING, TOTAL, "refused", "times that the CSE said no")         \
	X(PROVISION_SPARED, PROVISIONING, TOTAL, "spared",                                         \
		"sessions that were ready at once: what the device needs was made before")         \
	X(PROVISION_TO_DO, PROVISIONING, NOW, "to_do", "devices that wait for theirs, now")        \
	/* the file of what outlives the segment */                                                \
	X(STORE_ROWS, STORE, TOTAL, "rows", "rows committed")                                      \
	X(STORE_FAILURES, STORE, TOTAL, "failures", "attempts at the disk that failed")            \
	X(STORE_LOST, STORE, TOTAL, "lost", "rows that there was no room for meanwhile")           \
	X(STORE_SKIPPED, STORE, TOTAL, "skipped", "rows of the file that make no sense")           \
	X(STORE_EVICTED, STORE, TOTAL, "evicted",                                                  \
		"devices' configurations given up for newer ones")                                 \
	X(STORE_REFUSED, STORE, TOTAL, "refused", "configurations that could not be kept")         \
	X(STORE_SESSIONS_READ, STORE, TOTAL, "sessions_read", "sessions read back")                \
	X(STORE_RESTORED, STORE, TOTAL, "restored", "of these, opened again")                      \
	X(STORE_NOT_RESTORED, STORE, TOTAL, "not_restored",                                        \
		"of these, given up: configuration unknown, not allowed, no room")                 \
	X(STORE_KNOWN_READ, STORE, TOTAL, "known_read", "configurations read back")                \
	X(STORE_KNOWN, STORE, NOW, "known", "configurations of devices that are known, now")       \
	X(STORE_QUEUED, STORE, NOW, "queued", "rows that wait for the disk, now")                  \
	/* the devices' sockets */                                                                 \
	X(UDP_RECEIVED, UDP, TOTAL, "received", "datagrams handed to the manager")                 \
	X(UDP_SENT, UDP, TOTAL, "sent", "datagrams sent")                                          \
	X(UDP_UNSENT, UDP, TOTAL, "unsent", "datagrams that the kernel did not take")              \
	X(UDP_OVERSIZED, UDP, TOTAL, "oversized", "datagrams longer than an APDU can be")          \
	X(UDP_FOREIGN, UDP, TOTAL, "foreign", "datagrams that came in on another's interface")     \
	X(UDP_UNANSWERABLE, UDP, TOTAL, "unanswerable",                                            \
		"datagrams from port 0 or a link-local address, or to broadcast or multicast")     \
	X(UDP_DROPPED, UDP, TOTAL, "dropped",                                                      \
		"datagrams that the kernel dropped: the socket was full, or a checksum wrong")     \
	X(TCP_OPEN, TCP, NOW, "open", "connections, now")                                          \
	X(TCP_ACCEPTED, TCP, TOTAL, "accepted", "connections accepted")                            \
	X(TCP_REFUSED, TCP, TOTAL, "refused",                                                      \
		"connections closed at once: too many, or over limits.per_address")                \
	X(TCP_STRANGERS, TCP, TOTAL, "strangers", "connections closed for want of an association") \
	X(TCP_POSTPONED, TCP, TOTAL, "postponed",                                                  \
		"times that connections had to wait for want of files or memory")                  \
	X(TCP_DROPPED, TCP, TOTAL, "dropped",                                                      \
		"connections that the kernel dropped before they were accepted")                   \
	X(TCP_RECEIVED, TCP, TOTAL, "received", "APDUs received")                                  \
	X(TCP_SENT, TCP, TOTAL, "sent", "APDUs sent")                                              \
	X(TCP_UNSENT, TCP, TOTAL, "unsent", "APDUs for a connection that is gone")                 \
	X(TCP_MALFORMED, TCP, TOTAL, "malformed", "connections closed for what is no APDU")        \
	X(TCP_UNREAD, TCP, TOTAL, "unread", "connections closed because the device does not read") \
	X(TCP_IDLE, TCP, TOTAL, "idle", "connections closed as idle")

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
