/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_JOURNAL_H
#define BP_DAEMON_JOURNAL_H

#include <stdbool.h>

/*
 * Where standard error is a stream of the journal (JOURNAL_STREAM, systemd.exec(5)), each line that
 * is written to `stderr` from now on begins with its level, as sd-daemon(3) has it. Elsewhere
 * nothing changes. Before the first thread; false: there is no memory for it, and lines go as they
 * are.
 */
bool bp_journal_begin(void);

#endif
