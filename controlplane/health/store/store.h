/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/health/phd_config.h"

/*
 * Data that must outlive the segment, in one sqlite3 file: the configurations that devices
 * declared, the devices whose containers were created at the CSE, and the open sessions.
 *
 * The event loop never waits for the disk: rows are copied to a queue, which a thread of the store
 * commits 50 ms after its first row or at 1,000 rows, at most 1,000 rows per transaction
 * (write-ahead log, synchronous NORMAL: a commit survives kill -9 of the process; after a power
 * failure the file is consistent, with the commits up to the last checkpoint). A disk that blocks
 * for seconds in a checkpoint delays only commits. Known configurations are answered from memory.
 *
 * A file that is damaged or of another version is renamed (FILE.damaged-TIME) with a warning and a
 * new one is created. While the disk fails, queued rows are kept and retried each second, up to
 * BP_PHD_STORE_QUEUE rows and BP_PHD_STORE_QUEUE_BYTES of reports; further rows are lost, and when
 * the disk works again everything is rewritten (`retry`). The same happens when the file or its
 * write-ahead log was removed or replaced, which is checked at each transaction, and each second
 * without one. Failures are counted and logged once a minute, and once at their end. One process at
 * a time: the file stays locked.
 *
 * All functions are for the event loop's thread.
 */
struct bp_phd_store;

#define BP_PHD_STORE_QUEUE 524288u            /* rows that wait for the disk */
#define BP_PHD_STORE_QUEUE_BYTES (128u << 20) /* bytes of the reports in them */
#define BP_PHD_STORE_BATCH 1000u              /* rows in one transaction */
/* Added to a session's `reports` at each start since its row was written. */
#define BP_PHD_STORE_RAISE (1u << 20)

/* An open session. (transport, address, port) is its key. */
struct bp_phd_store_session {
	uint8_t address[16]; /* address of the device, network order, IPv4 as ::ffff:a.b.c.d */
	uint8_t own[16];     /* our address that the device uses */
	uint8_t system_id[8];
	uint64_t content; /* bp_phd_model.content of its configuration */
	uint32_t associated_s;
	/*
	 * When it is loaded, BP_PHD_STORE_RAISE is added, modulo 2^32, so that no instance's name
	 * is used twice: a session must be written again before it has made that many reports
	 * since.
	 */
	uint32_t reports;
	uint16_t port; /* port of the device, host byte order */
	uint16_t config_id;
	uint8_t transport; /* 6 or 17 */
	uint8_t protocol;  /* 1: 20601, 2: 20601a */
	uint8_t pad[2];
};

/* `arg` of bp_phd_store_new(). Called from the event loop, never from within a call of the store;
 * they may call everything except bp_phd_store_free() and bp_phd_store_flush(). */
struct bp_phd_store_ops {
	/* A session in the file. Not called for a session that was written or closed since the
	 * start. False: it is deleted from the file. */
	bool (*session)(void *arg, const struct bp_phd_store_session *s);
	/* Loading has ended. whole: everything is loaded. Otherwise the file could not be opened
	 * yet: its rows follow later, and then this is called again. */
	void (*loaded)(void *arg, bool whole);
	/*
	 * The file lacks sessions (it is new, or rows were lost): the owner writes all open ones,
	 * including those that were written before, at most bp_phd_store_capacity() per iteration
	 * of the loop. Only after loaded(true).
	 */
	void (*retry)(void *arg);
	/*
	 * Returns whether this device has an open session with this configuration: another one is
	 * then evicted, if possible. Called from within calls of the store, and must not call it.
	 * NULL: none has.
	 */
	bool (*is_open)(void *arg, const uint8_t system_id[8], uint16_t config_id);
};

struct bp_phd_store_counts {
	uint64_t rows;          /* committed */
	uint64_t failures;      /* failed attempts to write */
	uint64_t lost;          /* rows that did not fit in the queue */
	uint64_t skipped;       /* invalid rows of the file (unreadable reports), or reports beyond
				   max_bytes */
	uint64_t evicted;       /* configurations dropped for newer ones */
	uint64_t refused;       /* configurations rejected: unreadable, or no memory */
	uint64_t sessions_read; /* loaded at the start */
	uint64_t known_read;
	uint64_t known;  /* current number of (system-id, config-id) pairs */
	uint64_t queued; /* current number of waiting rows */
};

/*
 * max_known: number of known (system-id, config-id) pairs; the pairs unused for the longest time
 * are dropped first, those of open sessions last. max_bytes: total size of their ConfigReports;
 * equal ones count once. Loading starts immediately, a page (128 rows; 16 of reports) per iteration
 * of the event loop. NULL: no memory, or no thread.
 */
struct bp_phd_store *bp_phd_store_new(struct event_base *base, const char *path, uint32_t max_known,
	uint64_t max_bytes, const struct bp_phd_store_ops *ops, void *arg);
/* Tries once to write the queued rows, and waits for the disk. */
void bp_phd_store_free(struct bp_phd_store *s);

/*
 * Returns whether this device declared this configuration: *out is the configuration, *spec the
 * code of its specialisation or 0. Counts as a use.
 */
bool bp_phd_store_known(struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec);
/* What is known of a device with this configuration; not a use. */
struct bp_phd_store_device {
	struct bp_phd_bytes report; /* ConfigReport, valid until the next call; len 0: none */
	uint64_t created;           /* bp_phd_store_created() */
};
struct bp_phd_store_device bp_phd_store_device(
	const struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id);
/*
 * The device declared a configuration: `report` is the ConfigReport as received (the event report's
 * information); it is copied. The specialisation is kept if the configuration is the known one,
 * otherwise it is 0. False: not stored (counted: refused).
 */
bool bp_phd_store_learn(
	struct bp_phd_store *s, const uint8_t system_id[8], struct bp_phd_bytes report);
/* The device reported its specialisation. False: the configuration is not known. */
bool bp_phd_store_spec(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id, uint16_t spec);

/*
 * Returns the hash with which the containers of this device, with this configuration, were created:
 * the last value of bp_phd_store_set_created(), or 0. Counts as a use. Until known configurations
 * are loaded it is 0 for a device that has not declared its configuration since the start, and
 * setting it has no effect: the containers are then created again, which changes nothing at the
 * CSE.
 */
uint64_t bp_phd_store_created(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id);
void bp_phd_store_set_created(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id, uint64_t made);

/* A session was opened or changed. False: the row is lost for now. */
bool bp_phd_store_put(struct bp_phd_store *s, const struct bp_phd_store_session *session);
/* The session ended. */
bool bp_phd_store_close(
	struct bp_phd_store *s, uint8_t transport, const uint8_t address[16], uint16_t port);

/* Returns the number of rows that fit in the queue. */
uint32_t bp_phd_store_capacity(const struct bp_phd_store *s);
/* Waits until all queued rows are committed. False: an attempt failed. */
bool bp_phd_store_flush(struct bp_phd_store *s);
void bp_phd_store_count(const struct bp_phd_store *s, struct bp_phd_store_counts *out);

#endif
