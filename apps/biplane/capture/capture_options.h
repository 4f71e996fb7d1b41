/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CAPTURE_CAPTURE_OPTIONS_H
#define BP_APPS_BIPLANE_CAPTURE_CAPTURE_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "apps/biplane/cli.h"
#include "shm/capture/capture.h"

/* The command line of `biplane capture`. */
struct bp_capture_options {
	const char *config, *instance;
	json_t *ports;    /* names; NULL: all */
	const char *path; /* NULL: text on standard output */
	bool rx, tx, drops;
	uint32_t snap_length;
	uint64_t count;       /* 0: no limit */
	uint64_t duration_ns; /* 0: no limit */
	uint64_t file_size;   /* bytes; 0: one file */
	uint32_t files;       /* 0: all are kept */
	char *filter;         /* NULL: every frame */
	uint32_t n_insns;
	struct bp_capture_insn insn[BP_CAPTURE_INSNS_MAX];
	bool done; /* help was printed */
};

extern const struct bp_cli_option bp_capture_option_table[];

/* 0, or an exit status with an error on stderr. Released with bp_capture_options_free() in any
 * case. */
int bp_capture_options_read(
	struct bp_capture_options *o, const struct bp_cli_command *command, int argc, char **argv);
void bp_capture_options_free(struct bp_capture_options *o);
/* The request for the control plane; NULL: no memory. */
json_t *bp_capture_options_request(const struct bp_capture_options *o);

/* ---- also of `biplane trace` ---- */

/* Compiles an expression for Ethernet frames (pcap-filter(7)). 0, or an exit status with an error
 * on stderr. */
int bp_capture_compile(const struct bp_cli_command *command, const char *filter,
	struct bp_capture_insn insn[BP_CAPTURE_INSNS_MAX], uint32_t *n);
/* The operands, joined by blanks; NULL: there is none. *memory: whether there was memory. */
char *bp_capture_join(int n, char **words, bool *memory);
/* Adds the filter to a request: the program, and its text for `biplane show captures`. */
int bp_capture_add_filter(
	json_t *request, const char *expression, const struct bp_capture_insn *insn, uint32_t n);

#endif
