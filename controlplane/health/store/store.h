/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/health/phd_config.h"

/*
 * What must outlive the segment, in one sqlite3 file: the configurations that devices declared, for
 * whom containers were made at the CSE, and the open sessions.
 *
 * The event loop never waits for the disk: what is to be written is copied to a queue, which a
 * thread of the store's own commits, 50 ms after its first row or when 1,000 rows are there, at
 * most 1,000 rows a transaction (write-ahead log, synchronous NORMAL: a commit survives kill -9 of
 * the process; of a power failure the file survives whole, and commits up to the last checkpoint).
 * A disk that hangs for seconds in a checkpoint delays commits only. Known configurations are
 * answered from memory.
 *
 * A file that is damaged or of another version is moved aside (FILE.damaged-TIME) with a warning
 * and a fresh one is made. While the disk would not, what was queued is kept and tried again each
 * second, up to BP_PHD_STORE_QUEUE rows and BP_PHD_STORE_QUEUE_OCTETS of reports; what comes beyond
 * is lost, and once the disk takes rows again everything is written anew (`again`). So it is where
 * somebody removed the file or its write-ahead log, or put another one in its place, which is
 * looked for with each transaction, and each second without one. What fails is counted and said
 * once a minute, and once that it is over. One process at a time: the file stays locked.
 *
 * All functions are for the event loop's thread.
 */
struct bp_phd_store;

#define BP_PHD_STORE_QUEUE 524288u             /* rows that wait for the disk */
#define BP_PHD_STORE_QUEUE_OCTETS (128u << 20) /* of the reports in them */
#define BP_PHD_STORE_BATCH 1000u               /* rows in one transaction */
/* What a session's `reports` is raised by for each start since its row was written. */
#define BP_PHD_STORE_RAISE (1u << 20)

/* An open session. (transport, address, port) is its key. */
struct bp_phd_store_session {
	uint8_t address[16]; /* the device's, network order, IPv4 as ::ffff:a.b.c.d */
	uint8_t own[16];     /* ours, that it talks to */
	uint8_t system_id[8];
	uint64_t content; /* bp_phd_model.content of its configuration */
	uint32_t associated_s;
	/* Read back it is raised by BP_PHD_STORE_RAISE, modulo 2^32, so that no instance's name is
	 * used twice: a session is to be put again before it made that many reports since. */
	uint32_t reports;
	uint16_t port; /* the device's, in this machine's order */
	uint16_t config_id;
	uint8_t transport; /* 6 or 17 */
	uint8_t protocol;  /* 1: 20601, 2: 20601a */
	uint8_t pad[2];
};

/* `arg` is bp_phd_store_new()'s. Called from the event loop, never from within a call of the store;
 * they may call everything but bp_phd_store_free() and bp_phd_store_flush(). */
struct bp_phd_store_ops {
	/* A session that the file holds. Not for one that was put or closed since the start.
	 * False: it is taken out of the file. */
	bool (*session)(void *arg, const struct bp_phd_store_session *s);
	/* Reading back ended. whole: all is read. Else the file could not be opened yet: rows still
	 * come when it can be, and then this is called once more. */
	void (*loaded)(void *arg, bool whole);
	/* The file lacks sessions (it is new, or rows were lost): put all open ones, those that
	 * were put before too, bp_phd_store_capacity() at most in one turn of the loop. Only after
	 * loaded(true). */
	void (*retry)(void *arg);
	/* Whether this device has an open session with this configuration: then another one is
	 * forgotten, where any is. Called from within calls of the store, and must not call it.
	 * NULL: none has. */
	bool (*is_open)(void *arg, const uint8_t system_id[8], uint16_t config_id);
};

struct bp_phd_store_counts {
	uint64_t rows;          /* committed */
	uint64_t failures;      /* attempts at the disk that failed */
	uint64_t lost;          /* rows that the queue had no room for */
	uint64_t skipped;       /* rows of the file that make no sense (unreadable reports), or
					reports beyond max_octets */
	uint64_t evicted;       /* configurations given up for newer ones */
	uint64_t refused;       /* configurations not taken: unreadable, or no room */
	uint64_t sessions_read; /* handed over at the start */
	uint64_t known_read;
	uint64_t known;  /* (system-id, config-id) pairs now */
	uint64_t queued; /* rows that wait now */
};

/*
 * max_known: (system-id, config-id) pairs that are known; those not used for the longest time go
 * first, open sessions' last. max_octets: of all their ConfigReports, equal ones counted once.
 * Reading back begins at once, a page (128 rows; 16 of reports) in one turn of the event loop.
 * NULL: no memory, or no thread.
 */
struct bp_phd_store *bp_phd_store_new(struct event_base *base, const char *path, uint32_t max_known,
	uint64_t max_octets, const struct bp_phd_store_ops *ops, void *arg);
/* Tries once to write what is queued, waiting for the disk. */
void bp_phd_store_free(struct bp_phd_store *s);

/*
 * Whether this device declared this configuration: *out is it, *spec its specialisation's code or
 * 0. Counts as a use.
 */
bool bp_phd_store_known(struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec);
/*
 * It declared one: `report` is the ConfigReport as it came (the event report's information),
 * copied. The specialisation stays if the configuration is the one that was known, else it is 0.
 * False: not remembered (counted: refused).
 */
bool bp_phd_store_learn(
	struct bp_phd_store *s, const uint8_t system_id[8], struct bp_phd_bytes report);
/* It told its specialisation. False: the configuration is not known. */
bool bp_phd_store_spec(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id, uint16_t spec);

/*
 * What the containers of this device, with this configuration, were made by: what
 * bp_phd_store_set_created() said last, 0 when it said nothing. Counts as a use. Until what is
 * known is read back it is 0 for who did not declare its configuration since, and setting it does
 * nothing: they are made once more then, which changes nothing at the CSE.
 */
uint64_t bp_phd_store_created(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id);
void bp_phd_store_set_created(
	struct bp_phd_store *s, const uint8_t system_id[8], uint16_t config_id, uint64_t made);

/* A session is open, or something in it changed. False: it is lost to the file for now. */
bool bp_phd_store_put(struct bp_phd_store *s, const struct bp_phd_store_session *session);
/* It ended. */
bool bp_phd_store_close(
	struct bp_phd_store *s, uint8_t transport, const uint8_t address[16], uint16_t port);

/* Rows that the queue has room for. */
uint32_t bp_phd_store_capacity(const struct bp_phd_store *s);
/* Waits until all that is queued is committed. False: an attempt failed. */
bool bp_phd_store_flush(struct bp_phd_store *s);
void bp_phd_store_count(const struct bp_phd_store *s, struct bp_phd_store_counts *out);

#endif
