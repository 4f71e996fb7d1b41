/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_WRITER_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_WRITER_H

#include "controlplane/health/store/store_file.h"

/*
 * The thread that owns the file, and the queue to it. Rows are committed in the order in which they
 * were put. All functions are for the event loop's thread; only _free() and _flush() wait for the
 * disk.
 */
struct bp_phd_store_writer;

/* What happened, since it was last asked but for the first four. */
struct bp_phd_store_results {
	uint64_t rows, failures, queued;
	uint64_t octets; /* of the reports that are queued */
	bool failed;     /* an attempt failed, and none went well since */
	bool fresh;      /* the file is new */
	bool page;       /* the page that was asked for is there */
	char error[512]; /* the last failure, a sentence */
};

/* `fd`: an eventfd, added to when there is news. NULL: no memory, or no thread. */
struct bp_phd_store_writer *bp_phd_store_writer_new(const char *path, int fd);
/* Tries once to write what is left. */
void bp_phd_store_writer_free(struct bp_phd_store_writer *w);

/* Takes the row, its report too. False: no room (the report is freed). */
bool bp_phd_store_writer_put(struct bp_phd_store_writer *w, const struct bp_phd_store_row *row);
uint32_t bp_phd_store_writer_capacity(struct bp_phd_store_writer *w);
/* Asks for the next rows of a table, as they are after all that was put before. *page is the
 * thread's until there is news of it. */
void bp_phd_store_writer_request(struct bp_phd_store_writer *w, enum bp_phd_store_table table,
	struct bp_phd_store_page *page);
void bp_phd_store_writer_results(struct bp_phd_store_writer *w, struct bp_phd_store_results *out);
/* The same, and it stays news. */
void bp_phd_store_writer_state(struct bp_phd_store_writer *w, struct bp_phd_store_results *out);
/* False: an attempt failed. */
bool bp_phd_store_writer_flush(struct bp_phd_store_writer *w);

#endif
