/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_INTERNAL_H

#include "controlplane/health/store/store_known.h"
#include "controlplane/health/store/store_writer.h"

/* Between store.c, which keeps what is known and reads the file back, and store_write.c, which
 * writes rows. */
struct bp_phd_store {
	const struct bp_phd_store_ops *ops;
	void *arg;
	struct event *on_results, *turn;
	int fd; /* of on_results */
	struct bp_phd_store_writer *writer;
	struct bp_phd_store_counts counts;
	uint64_t logged_ns; /* when a failure was said last; 0: never */
	bool said;          /* one was, and not yet that it is over */
	/* what is known */
	struct bp_phd_known *known;
	uint32_t max_known;
	uint64_t max_octets;
	uint32_t uses;
	/* reading back */
	struct bp_phd_store_page page;
	enum bp_phd_store_table table; /* BP_PHD_STORE_TABLES: done */
	bool loaded_called;            /* ops->loaded was called */
	struct bp_phd_touched touched; /* until it is done */
	/* writing anew */
	bool lacks; /* the file lacks rows */
	bool wipe;  /* and has some that should not be there */
	bool rewriting;
	uint32_t left, next_config; /* of this rewriting: pairs to come, configurations from here */
};

static inline bool bp_phd_store_is_loaded(const struct bp_phd_store *s)
{
	return s->table == BP_PHD_STORE_TABLES;
}

/* ---- store_write.c ---- */

/* Queues a row; takes its report. False: lost, which is counted. */
bool bp_phd_store_write(struct bp_phd_store *s, const struct bp_phd_store_row *row);
bool bp_phd_store_write_pair(struct bp_phd_store *s, uint32_t pair);
bool bp_phd_store_write_config(struct bp_phd_store *s, uint32_t config);
/* Removes a configuration that nobody uses. */
void bp_phd_store_drop_config(struct bp_phd_store *s, uint32_t config);
/* Once a minute. */
void bp_phd_store_log(struct bp_phd_store *s, const char *what);

/* Everything is to be written once more, when the disk takes it. `wipe`: what is there goes. */
void bp_phd_store_lacks(struct bp_phd_store *s, bool wipe);
/* A timer's turn. */
void bp_phd_store_rewrite_step(int fd, short what, void *arg);

#endif
