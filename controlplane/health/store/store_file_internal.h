/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_FILE_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_FILE_INTERNAL_H

#include <sqlite3.h>

#include "controlplane/health/store/store_file.h"

/* Shared by store_file.c, which opens the file, and store_rows.c, which writes and reads rows. */
#define BP_PHD_STORE_KEY_COLUMNS 3u /* maximum number of key columns of a table */
#define BP_PHD_STORE_WIPE_SQL "DELETE FROM sessions; DELETE FROM known; DELETE FROM configs"

enum bp_phd_store_stmt {
	BP_PHD_STORE_S_BEGIN,
	BP_PHD_STORE_S_COMMIT,
	BP_PHD_STORE_S_ROLLBACK,
	BP_PHD_STORE_S_PUT_CONFIG,
	BP_PHD_STORE_S_DROP_CONFIG,
	BP_PHD_STORE_S_PUT_KNOWN,
	BP_PHD_STORE_S_DROP_KNOWN,
	BP_PHD_STORE_S_PUT_SESSION,
	BP_PHD_STORE_S_DROP_SESSION,
	BP_PHD_STORE_S_READ_CONFIGS,
	BP_PHD_STORE_S_READ_KNOWN,
	BP_PHD_STORE_S_READ_SESSIONS,
	BP_PHD_STORE_S_COUNT
};

struct bp_phd_store_file {
	char *path;
	sqlite3 *db;
	sqlite3_stmt *stmt[BP_PHD_STORE_S_COUNT];
	uint64_t epoch; /* processes that opened this file, with this one; 0: none yet */
	bool fresh;
	bool checked;  /* this file was checked as valid */
	bool suspect;  /* damage was found while it was open */
	bool logs;     /* its write-ahead log has existed */
	bool replaced; /* it was removed or replaced while it was open */
	/* position of the scan of each table; key[0] NULL: at its begin */
	sqlite3_value *key[BP_PHD_STORE_TABLES][BP_PHD_STORE_KEY_COLUMNS];
	char error[512];
};

/* Records the reason of a disk failure. A full disk or a lock is temporary; after any other error
 * the file is opened again. */
bool bp_phd_store_file_fail(struct bp_phd_store_file *f, const char *what);
/* Restarts the scan of that table. */
void bp_phd_store_file_forget_key(struct bp_phd_store_file *f, enum bp_phd_store_table table);

#endif
