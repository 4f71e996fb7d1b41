/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_EVENT_SINK_H
#define BP_APPS_BIPLANE_MONITOR_EVENT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

/*
 * An output of lines: a file, a Unix socket or the journal. It never blocks, except for the disk of
 * a file. Whole lines only: a line that was written in part (disk full) is removed from the file.
 */
struct bp_event_sink {
	struct bp_config_event_log to;
	int fd;        /* -1: closed */
	bool datagram; /* a line per datagram */
	size_t sent;   /* stream: bytes of the first line that were sent */
};

enum bp_event_sink_result {
	BP_EVENT_SINK_WRITTEN, /* *n bytes, whole lines */
	BP_EVENT_SINK_BUSY,    /* later */
	BP_EVENT_SINK_FAILED,  /* errno; the file stays open, a socket is closed */
	BP_EVENT_SINK_TOO_LONG /* the first line does not fit in a datagram */
};

/* 0, or -1 with errno. */
int bp_event_sink_open(struct bp_event_sink *s);
void bp_event_sink_close(struct bp_event_sink *s);
/* Writes lines that end with a line feed, as many as possible; *n of their bytes are done. */
enum bp_event_sink_result bp_event_sink_write(
	struct bp_event_sink *s, const char *lines, size_t len, size_t *n);
/* File: the timestamp of the last line, Unix ns, at the end of its microsecond; 0: none. */
uint64_t bp_event_sink_last(const struct bp_event_sink *s);

#endif
