/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_INTERNAL_H

#include "controlplane/health/store/store_known.h"
#include "controlplane/health/store/store_writer.h"

/* Shared by store.c, which manages known configurations and loads the file, and store_write.c,
 * which writes rows. */
struct bp_phd_store {
	const struct bp_phd_store_ops *ops;
	void *arg;
	struct event *on_results, *turn;
	int fd; /* for on_results */
	struct bp_phd_store_writer *writer;
	struct bp_phd_store_counts counts;
	uint64_t logged_ns; /* time of the last logged failure; 0: never */
	bool said;          /* a failure was logged, and its end was not */
	/* known configurations */
	struct bp_phd_known *known;
	uint32_t max_known;
	uint64_t max_bytes;
	uint32_t uses;
	/* loading */
	struct bp_phd_store_page page;
	enum bp_phd_store_table table; /* BP_PHD_STORE_TABLES: done */
	bool loaded_called;            /* ops->loaded was called */
	struct bp_phd_touched touched; /* until loading is done */
	/* rewriting */
	bool lacks; /* the file lacks rows */
	bool wipe;  /* and has rows that must be deleted */
	bool rewriting;
	uint32_t left, next_config; /* of this rewriting: remaining pairs, next configuration */
};

static inline bool bp_phd_store_is_loaded(const struct bp_phd_store *s)
{
	return s->table == BP_PHD_STORE_TABLES;
}

/* ---- store_write.c ---- */

/* Queues a row, and takes its report. False: lost, which is counted. */
bool bp_phd_store_write(struct bp_phd_store *s, const struct bp_phd_store_row *row);
bool bp_phd_store_write_pair(struct bp_phd_store *s, uint32_t pair);
bool bp_phd_store_write_config(struct bp_phd_store *s, uint32_t config);
/* Removes a configuration without users. */
void bp_phd_store_drop_config(struct bp_phd_store *s, uint32_t config);
/* At most once a minute. */
void bp_phd_store_log(struct bp_phd_store *s, const char *what);

/* Everything is written again when the disk works. `wipe`: existing rows are deleted. */
void bp_phd_store_lacks(struct bp_phd_store *s, bool wipe);
/* One step, from a timer. */
void bp_phd_store_rewrite_step(int fd, short what, void *arg);

#endif
