/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_BACKLOG_H
#define BP_CONTROLPLANE_ALARMS_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/alarms/id_set.h"
#include "controlplane/alarms/spool.h"

/*
 * The rows of the spool that are in flight. Rows are sent in the order of their ids; a row is
 * deleted some time after its acknowledgement, many in one transaction, and until then is in
 * `busy`, so that it is not sent twice.
 */
struct bp_backlog {
	struct bp_spool *spool;
	uint64_t from; /* rows below are busy */
	bool end;      /* only busy rows at or above `from` */
	struct bp_id_set busy;
	uint64_t *done; /* acknowledged or unsendable, to be deleted */
	size_t n_done, done_size;
};

/* The result of an offered row. */
enum bp_backlog_sent { BP_BACKLOG_SENT, BP_BACKLOG_DISCARD, BP_BACKLOG_STOP };
typedef enum bp_backlog_sent (*bp_backlog_send)(void *arg, uint64_t id, const struct bp_alarm *a);

void bp_backlog_init(struct bp_backlog *b, struct bp_spool *spool);
void bp_backlog_free(struct bp_backlog *b);

/* Offers rows in the order of their ids until `send` returns STOP or none is left. False: the disk
 * failed. */
bool bp_backlog_offer(struct bp_backlog *b, bp_backlog_send send, void *arg);

/* A row was committed. in_flight: it was sent before it was spooled, and may still be
 * acknowledged. */
bool bp_backlog_added(struct bp_backlog *b, uint64_t id, bool in_flight);
/* The broker acknowledged the row. */
void bp_backlog_acked(struct bp_backlog *b, uint64_t id);
/* The link was lost before the broker acknowledged the row: it is sent again. */
void bp_backlog_returned(struct bp_backlog *b, uint64_t id);

/* The spool's limits dropped the row, which was sent. */
void bp_backlog_dropped(struct bp_backlog *b, uint64_t id);
/* The spool's limits dropped all rows below this id. Returns how many of them were acknowledged
 * before, so that they are not lost. */
uint64_t bp_backlog_dropped_done(struct bp_backlog *b, uint64_t below);

/* Checks all rows again: the spool's file was closed in between. */
void bp_backlog_rescan(struct bp_backlog *b);

/* The spool is empty. */
void bp_backlog_clear(struct bp_backlog *b);

/* Deletes the finished rows; *deleted as in bp_spool_delete(). */
bool bp_backlog_delete_done(struct bp_backlog *b, uint64_t *deleted);

#endif
