/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/eal_log.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <rte_log.h>

#include "daemon/log.h"

/*
 * The last error of EAL often only names the part that did not start; the one before gives the
 * reason.
 */
#define KEPT 2
#define LINE_SIZE 256

/*
 * One per process, as is the log of EAL. It is never closed: a thread of EAL may be writing to it.
 */
static FILE *stream;
static char line[KEPT][LINE_SIZE];
static unsigned n_lines;
static bool keep;

/* DPDK flushes after each message, so each call is one message. */
static ssize_t write_message(void *cookie, const char *text, size_t len)
{
	const int level = rte_log_cur_msg_loglevel();
	size_t n = len;

	(void)cookie;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (keep && n > 0 && level <= (int)RTE_LOG_ERR)
		snprintf(line[n_lines++ % KEPT], LINE_SIZE, "%.*s", (int)n, text);
	bp_log(level <= (int)RTE_LOG_ERR        ? BP_LOG_ERROR
		: level <= (int)RTE_LOG_WARNING ? BP_LOG_WARNING
						: BP_LOG_INFO,
		"eal: %.*s", (int)n, text);
	return (ssize_t)len;
}

void bp_eal_log_begin(void)
{
	static const cookie_io_functions_t functions = {.write = write_message};

	n_lines = 0;
	keep = true;
	if (stream == NULL)
		stream = fopencookie(NULL, "w", functions);
	/* Without a stream, EAL writes all messages to syslog as well. */
	rte_openlog_stream(stream != NULL ? stream : stderr);
}

void bp_eal_log_end(void)
{
	keep = false;
}

void bp_eal_log_errors(char *text, size_t size)
{
	unsigned first = n_lines > KEPT ? n_lines - KEPT : 0;
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = first; i < n_lines && used < size; i++)
		used += (size_t)snprintf(
			text + used, size - used, "%s%s", i > first ? "; " : "", line[i % KEPT]);
}
