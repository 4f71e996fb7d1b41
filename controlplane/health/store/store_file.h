/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_FILE_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_FILE_H

#include "controlplane/health/store/store.h"

/*
 * The file of controlplane/health/store/store.h: writes rows, and reads pages of rows. For one
 * thread, which waits for the disk. Functions that return bool return false when the disk fails;
 * bp_phd_store_file_error() has the reason.
 */
struct bp_phd_store_file;

enum bp_phd_store_kind {
	BP_PHD_STORE_PUT_CONFIG,
	BP_PHD_STORE_DROP_CONFIG,
	BP_PHD_STORE_PUT_KNOWN, /* becomes the newest */
	BP_PHD_STORE_DROP_KNOWN,
	BP_PHD_STORE_PUT_SESSION,
	BP_PHD_STORE_DROP_SESSION,
	BP_PHD_STORE_WIPE, /* all rows of all tables */
	BP_PHD_STORE_BAD,  /* only when reading: a malformed row */
};

/* One row, to be written or as read. */
struct bp_phd_store_row {
	uint8_t kind; /* enum bp_phd_store_kind */
	uint16_t config_id, spec;
	uint16_t report_len;
	uint8_t *report; /* PUT_CONFIG: malloc()ed, owned by the row */
	uint8_t system_id[8];
	uint64_t content;
	uint64_t made;                       /* PUT_KNOWN: bp_phd_store_created() */
	struct bp_phd_store_session session; /* DROP_SESSION: its key */
};

enum bp_phd_store_table {
	BP_PHD_STORE_CONFIGS,
	BP_PHD_STORE_KNOWN, /* the newest first */
	BP_PHD_STORE_SESSIONS,
	BP_PHD_STORE_TABLES,
};

#define BP_PHD_STORE_PAGE 128        /* restoring a session takes about 10 µs */
#define BP_PHD_STORE_PAGE_CONFIGS 16 /* they are parsed as models, and may be long */
struct bp_phd_store_page {
	enum bp_phd_store_table table;
	unsigned n;
	bool end; /* last page of the table */
	struct bp_phd_store_row row[BP_PHD_STORE_PAGE];
};

struct bp_phd_store_file *bp_phd_store_file_new(const char *path);
void bp_phd_store_file_free(struct bp_phd_store_file *f);

/* Opens the file if it is not open. */
bool bp_phd_store_file_ready(struct bp_phd_store_file *f);
/* Returns whether the tables were created since the last call. */
bool bp_phd_store_file_fresh(struct bp_phd_store_file *f);
const char *bp_phd_store_file_error(const struct bp_phd_store_file *f);

/* Writes rows in one transaction, in their order; all or none. */
bool bp_phd_store_file_write(
	struct bp_phd_store_file *f, const struct bp_phd_store_row *row, size_t n);
/* Reads the next rows of a table: each row that exists during the whole scan is read once. */
bool bp_phd_store_file_read(
	struct bp_phd_store_file *f, enum bp_phd_store_table table, struct bp_phd_store_page *out);

#endif
