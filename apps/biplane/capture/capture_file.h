/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CAPTURE_CAPTURE_FILE_H
#define BP_APPS_BIPLANE_CAPTURE_CAPTURE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/biplane/capture/session.h"

/*
 * The pcapng files of `biplane capture -w`: one, or several of a limited size. Each file is
 * complete: it begins with the blocks of the interfaces and ends with their statistics.
 */
struct bp_capture_file_options {
	const char *path; /* "-": standard output */
	uint64_t size;    /* bytes of a file; 0: one file */
	uint32_t files;   /* how many are kept; 0: all */
	uint32_t snap_length;
	const char *filter;     /* text; NULL: none */
	bool no_port_interface; /* dropped frames may belong to no port */
	const volatile bool *stop;
};

struct bp_capture_file;

/* NULL with a sentence. */
struct bp_capture_file *bp_capture_file_open(const struct bp_capture_file_options *o,
	struct bp_capture_session *s, char *err, size_t err_size);
/* False: the output failed, or its reader has closed it. */
bool bp_capture_file_frame(struct bp_capture_file *f, const struct bp_capture_record *r);
bool bp_capture_file_flush(struct bp_capture_file *f);
/* Ends the file. Returns 0, or the errno of the output: EPIPE when its reader has closed it. *path:
 * of the file that failed, valid until bp_capture_file_free(). */
int bp_capture_file_end(struct bp_capture_file *f, const char **path);
void bp_capture_file_free(struct bp_capture_file *f); /* NULL is allowed */

#endif
