/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_ETCD_H
#define BP_APPS_BIPLANE_FLEET_ETCD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/biplane/fleet/etcd_rows.h"
#include "config/config.h"

/*
 * A client of an etcd cluster (version 3.4 or later) through its JSON gateway. The server is not
 * trusted: an answer is bounded in size and time, no redirect is followed, and JSON is parsed
 * strictly. A request takes at most BP_ETCD_CALL_MS, whatever the number of servers and logins:
 * each server gets an equal part of what is left. Errors are sentences for a log line.
 */
#define BP_ETCD_ANSWER_MAX (4u << 20) /* bytes */
#define BP_ETCD_KEYS_MAX 4096u        /* of a read with values */
#define BP_ETCD_NAMES_MAX 65536u      /* of a read without values */
#define BP_ETCD_READ_MAX (32u << 20)  /* bytes of all answers of a read */
#define BP_ETCD_CONNECT_MS 1500
#define BP_ETCD_CALL_MS 8000

struct bp_etcd;

/* `waiting`: called several times a second while a call waits; true aborts the call. May be NULL.
 * NULL with a sentence: no memory, or a file of the settings cannot be read. */
struct bp_etcd *bp_etcd_new(const struct bp_config_fleet_config *c, bool (*waiting)(void *arg),
	void *arg, char *err, size_t err_size);
void bp_etcd_free(struct bp_etcd *e);
/* All following calls together end within this time, up to the next bp_etcd_begin(). */
void bp_etcd_begin(struct bp_etcd *e, unsigned ms);

enum bp_etcd_range {
	BP_ETCD_KEY,         /* the key itself */
	BP_ETCD_BELOW,       /* the keys that begin with it */
	BP_ETCD_NAMES_BELOW, /* the same, without values */
};
/* Reads one or more pages of keys; they are not a snapshot. 0, or -1 with a sentence; free the rows
 * also then. */
int bp_etcd_read(struct bp_etcd *e, const char *key, enum bp_etcd_range range,
	struct bp_etcd_rows *rows, char *err, size_t err_size);

/* A transaction: all writes, if all conditions are true. */
struct bp_etcd_write {
	const char *key, *value;
	const char *lease;    /* NULL: none */
	bool conditional;     /* the key must have this revision; 0: it must not exist */
	int64_t mod_revision; /* of the condition */
};
/* 1: written; 0: a condition was false; -1 with a sentence. */
int bp_etcd_write(struct bp_etcd *e, const struct bp_etcd_write *writes, unsigned n, char *err,
	size_t err_size);

#define BP_ETCD_LEASE 24 /* bytes of an identifier, decimal */
/* 0, or -1 with a sentence. */
int bp_etcd_lease_grant(
	struct bp_etcd *e, unsigned ttl_s, char lease[BP_ETCD_LEASE], char *err, size_t err_size);
/* 1: extended; 0: the lease has expired; -1 with a sentence. */
int bp_etcd_lease_keepalive(struct bp_etcd *e, const char *lease, char *err, size_t err_size);

#endif
