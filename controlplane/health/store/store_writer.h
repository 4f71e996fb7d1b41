/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_WRITER_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_WRITER_H

#include "controlplane/health/store/store_file.h"

/*
 * The thread that owns the file, and its queue. Rows are committed in the order in which they were
 * queued. All functions are for the event loop's thread; only _free() and _flush() wait for the
 * disk.
 */
struct bp_phd_store_writer;

/* Results since the last call; the first four are current values. */
struct bp_phd_store_results {
	uint64_t rows, failures, queued;
	uint64_t bytes;  /* bytes of the queued reports */
	bool failed;     /* an attempt failed, and none has succeeded since */
	bool fresh;      /* the file is new */
	bool page;       /* the requested page is available */
	char error[512]; /* the last failure, a sentence */
};

/* `fd`: an eventfd, which is incremented when there are results. NULL: no memory, or no thread. */
struct bp_phd_store_writer *bp_phd_store_writer_new(const char *path, int fd);
/* Tries once to write the remaining rows. */
void bp_phd_store_writer_free(struct bp_phd_store_writer *w);

/* Takes ownership of the row and its report. False: the queue is full (the report is freed). */
bool bp_phd_store_writer_put(struct bp_phd_store_writer *w, const struct bp_phd_store_row *row);
uint32_t bp_phd_store_writer_capacity(struct bp_phd_store_writer *w);
/* Requests the next rows of a table, in their state after all rows that were queued before. The
 * thread owns *page until the result is available. */
void bp_phd_store_writer_request(struct bp_phd_store_writer *w, enum bp_phd_store_table table,
	struct bp_phd_store_page *page);
void bp_phd_store_writer_results(struct bp_phd_store_writer *w, struct bp_phd_store_results *out);
/* Returns the results without resetting them. */
void bp_phd_store_writer_state(struct bp_phd_store_writer *w, struct bp_phd_store_results *out);
/* False: an attempt failed. */
bool bp_phd_store_writer_flush(struct bp_phd_store_writer *w);

#endif
