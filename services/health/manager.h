/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_MANAGER_H
#define BP_SERVICES_HEALTH_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/health.h"
#include "proto/health/phd_apdu.h"
#include "proto/health/phd_config.h"
#include "shm/health/phd_writer.h"

/*
 * The manager of ISO/IEEE 11073-20601: its state machine over the session table. Single-threaded.
 * It uses no socket, no disk and no CSE directly: the owner provides them as struct
 * bp_phd_manager_ops. State that must survive a restart of this process is in the table
 * (shm/health/phd.h); bp_phd_manager_adopt() rebuilds the rest.
 *
 * Times are CLOCK_MONOTONIC and CLOCK_REALTIME in nanoseconds, passed by the caller; mono_ns never
 * decreases.
 */
struct bp_phd_manager;

/* A device and how it is reached. */
struct bp_phd_peer {
	uint8_t address[16]; /* the device's, network order, IPv4 as ::ffff:a.b.c.d */
	uint8_t own[16];     /* the address of ours that it talks to */
	uint16_t port;       /* the device's, in this machine's order */
	uint8_t transport;   /* BP_PHD_TRANSPORT_UDP or _TCP */
	uint32_t connection; /* TCP: the owner's number of the connection; it is not reused for
				another connection while a session has it */
};

/* Why a session ended. */
enum bp_phd_closed {
	BP_PHD_CLOSED_RELEASED, /* the device requested it */
	BP_PHD_CLOSED_BY_US,    /* we requested it, and the device agreed */
	BP_PHD_CLOSED_ABORTED,  /* the device aborted */
	BP_PHD_CLOSED_FAULT, /* we aborted: the device sent an APDU that its state does not allow */
	BP_PHD_CLOSED_TIMEOUT,      /* we aborted: it did not answer in time */
	BP_PHD_CLOSED_SUPERSEDED,   /* the same system-id associated from elsewhere */
	BP_PHD_CLOSED_IDLE,         /* we aborted: no report for idle_timeout */
	BP_PHD_CLOSED_DISCONNECTED, /* its TCP connection ended */
	BP_PHD_CLOSED_MOVED,        /* another gateway of the fleet has the association */
	BP_PHD_CLOSED_REASONS,
};

/* The owner's result for a report on the slow path. */
enum bp_phd_taken {
	BP_PHD_TAKEN,           /* it will be stored; a confirmed report is answered then */
	BP_PHD_TAKEN_ANSWER,    /* to be answered now: no content, or stored already */
	BP_PHD_TAKEN_FULL,      /* no capacity: the device shall repeat the report */
	BP_PHD_TAKEN_BAD,       /* badly structured, or contradicts the configuration */
	BP_PHD_TAKEN_NO_OBJECT, /* it has no known object */
	BP_PHD_TAKEN_UNFIT      /* well-formed, but no request can carry it: repeating is no use */
};

/* The knowledge of a device besides its configuration: bp_phd_session.mds_known. */
enum bp_phd_mds {
	BP_PHD_MDS_REQUESTED, /* spec will follow; also before the request was sent */
	BP_PHD_MDS_KNOWN,     /* spec is valid */
	BP_PHD_MDS_UNKNOWN,   /* it does not say */
};

/* `arg` is bp_phd_manager_new()'s. None may call the manager, but where it says so. */
struct bp_phd_manager_ops {
	/* Sends an APDU: over UDP a datagram. May be lost. */
	void (*reply)(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len);
	/* Whether this device declared this configuration before: then *out is set to it, and *spec
	 * to the specialisation that its MDS reported, or 0. Called for configurations that no
	 * standard defines. */
	bool (*known)(void *arg, const uint8_t system_id[8], uint16_t config_id,
		struct bp_phd_model *out, uint16_t *spec);
	/* The device declared a valid configuration: `report` is the bytes of the ConfigReport. */
	void (*learned)(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
		struct bp_phd_bytes report);
	/* The MDS reported its specialisation, or (spec 0) that it has none. The session's layout
	 * may be another one from now on. Where {type} is in the path, the resources are not
	 * created at the CSE before this: the session's spec, or BP_PHD_MDS_UNKNOWN. */
	void (*mds_attributes)(void *arg, uint32_t slot, const uint8_t system_id[8],
		uint16_t config_id, uint16_t spec);
	/* A session is operating: to be stored, and provisioned (BP_PHD_READY then). */
	void (*opened)(void *arg, uint32_t slot);
	/* The session was operating and ends now; its slot still has its identity. */
	void (*closed)(void *arg, uint32_t slot, enum bp_phd_closed why);
	/* Whether the device is on the allow-list, or there is no allow-list. */
	bool (*allowed)(void *arg, const uint8_t system_id[8]);
	/* While control->loading, over UDP: the device's own APDU shows that it has no session,
	 * whatever the store will have for its address. */
	void (*unassociated)(void *arg, const struct bp_phd_peer *device);
	/* Over UDP, an APDU that only a device with an association sends, of a sender without a
	 * session. True: the owner searches for the association, and passes the APDU again by
	 * bp_phd_manager_receive(), or drops it; the device gets no response now. NULL: nowhere. */
	bool (*unknown)(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len);
	/* A scan report of an operating session: a whole PRST. */
	enum bp_phd_taken (*report)(void *arg, uint32_t slot, const uint8_t *apdu, size_t len);
};

/* Total event counts; written only here. The owner may place them in the segment. */
struct bp_phd_manager_counts {
	_Atomic uint64_t aarq;                                 /* that could be read */
	_Atomic uint64_t aare[BP_PHD_UNSUPPORTED_VERSION + 1]; /* by enum bp_phd_result */
	_Atomic uint64_t repeats; /* AARQs and configuration reports answered once more */
	_Atomic uint64_t late;    /* repeated AARQs after a report; ignored */
	_Atomic uint64_t rejected_address, rejected_rate, rejected_full, rejected_layouts,
		rejected_unauthorized;
	_Atomic uint64_t configs_accepted, configs_refused;
	_Atomic uint64_t aborts_sent, aborts_received, releases_sent, releases_received;
	_Atomic uint64_t timeout_config, timeout_service, timeout_release, timeout_idle;
	_Atomic uint64_t superseded, adopted,
		unknown_sessions;                             /* strays: APDUs without a session */
	_Atomic uint64_t undecodable;                         /* APDUs that could not be read */
	_Atomic uint64_t slow_taken, slow_refused, slow_lost; /* reports; lost: refused and not
								 confirmed */
	_Atomic uint64_t errors_answered;                     /* roer and rorj */
};

/* The value of the placeholder {type}: a name, else the number of the specialisation; "unknown" for
 * 0. */
#define BP_PHD_TYPE_TEXT 32
const char *bp_phd_type_text(uint16_t spec, char out[BP_PHD_TYPE_TEXT]);

/*
 * Layouts are made by the plan that is in the tables: without one every association is rejected as
 * transient. `w`, `c` and `counts` are the owner's and stay; system_id is the manager's own. NULL
 * without memory. Sessions that are in the table are not known before bp_phd_manager_adopt().
 */
struct bp_phd_manager *bp_phd_manager_new(const struct bp_config_phd *c,
	struct bp_phd_tables *tables, struct bp_phd_writer *w, const uint8_t system_id[8],
	struct bp_phd_manager_counts *counts, const struct bp_phd_manager_ops *ops, void *arg);
void bp_phd_manager_free(struct bp_phd_manager *m);
/* Another configuration of the same capacities: limits and timeouts follow at once. */
void bp_phd_manager_configure(struct bp_phd_manager *m, const struct bp_config_phd *c);

/* One whole APDU from a device: a datagram, or as bp_phd_apdu_size() cuts a stream. */
void bp_phd_manager_receive(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const uint8_t *p, size_t len, uint64_t mono_ns, uint64_t unix_ns);
/* The reply on a TCP connection was passed to the kernel: the device has its answer. */
void bp_phd_manager_written(struct bp_phd_manager *m, uint32_t connection);
/* A TCP connection ended. */
void bp_phd_manager_disconnected(struct bp_phd_manager *m, uint32_t connection, uint64_t mono_ns);
/* Whether a TCP connection has a session. */
bool bp_phd_manager_connected(const struct bp_phd_manager *m, uint32_t connection);
/* Runs all due timers; returns the time of the next call, UINT64_MAX: none before another event. */
uint64_t bp_phd_manager_tick(struct bp_phd_manager *m, uint64_t mono_ns);

/* Asks a device to release its association. 0, or -1: it has none. */
int bp_phd_manager_release(struct bp_phd_manager *m, const uint8_t system_id[8], uint64_t mono_ns);
/* The session of a device: 0 and *slot, or -1. */
int bp_phd_manager_find(const struct bp_phd_manager *m, const uint8_t system_id[8], uint32_t *slot);
/* Sends an APDU to the device of a session, as the answer to a report that was taken. False: the
 * slot has another life by now. May be called from the ops. */
bool bp_phd_manager_send(
	struct bp_phd_manager *m, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len);

/* After a restart: takes over what the table holds, once, before anything else. TCP's sessions end:
 * their connections did; and so do those whose layout is damaged. Another plan needs other layouts,
 * of configurations that may not be known before all is read back: while control->loading such a
 * session stays without BP_PHD_READY, until bp_phd_manager_loaded(). */
void bp_phd_manager_adopt(struct bp_phd_manager *m, uint64_t mono_ns);
/* All configurations are loaded: sessions that waited for this are opened() with a layout of the
 * plan, or end. */
void bp_phd_manager_loaded(struct bp_phd_manager *m, uint64_t mono_ns);

enum bp_phd_restored {
	BP_PHD_RESTORED,
	BP_PHD_RESTORE_THERE,       /* it, or its address, has a session, which stays */
	BP_PHD_RESTORE_UNKNOWN,     /* its configuration is not known, or is another by now */
	BP_PHD_RESTORE_NOT_ALLOWED, /* not on the allow-list any more */
	BP_PHD_RESTORE_FULL,        /* no space in the table, or for its layout */
	BP_PHD_RESTORE_RESULTS,
};
/*
 * Restores a session over UDP from the store after a restart without the table. All of *s counts
 * but state, flags, layout, spec, mds_known and the times of this clock. Where the store had two
 * sessions of one device, the one associated later remains. The session is operating without
 * BP_PHD_READY; opened() is not called. Where {type} is in the path and its value is unknown, the
 * manager requests the MDS, and reports its answer by the callback with the specialisation.
 */
enum bp_phd_restored bp_phd_manager_restore(
	struct bp_phd_manager *m, const struct bp_phd_session_spec *s, uint64_t mono_ns);
/* The same for a session of another gateway: it also replaces a session of the device at another
 * address that was associated earlier. s->carried: the last report; while parts of it are open, the
 * session must not become BP_PHD_READY: bp_phd_carries_open(). */
enum bp_phd_restored bp_phd_manager_take(
	struct bp_phd_manager *m, const struct bp_phd_session_spec *s, uint64_t mono_ns);
/* Another gateway has the association of this session: it ends, and the device is not notified.
 * False: the slot has another life by now. */
bool bp_phd_manager_forget(
	struct bp_phd_manager *m, uint32_t slot, uint16_t life, uint64_t mono_ns);

#endif
