/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon/log_line.h"

/* Whether JOURNAL_STREAM names the file that standard error is; a child may have redirected it. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat st;

	return stream != NULL && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && (uint64_t)st.st_dev == device &&
	       (uint64_t)st.st_ino == inode;
}

/* A line, or the end of the buffer, in one system call: lines of two threads do not mix. */
static void write_line(const char *line, size_t len)
{
	char level[8];
	int n = snprintf(level, sizeof(level), "<%d>", bp_line_level(line, len));
	struct iovec parts[] = {{level, (size_t)n}, {(char *)line, len}};
	ssize_t rc;

	do
		rc = writev(STDERR_FILENO, parts, 2);
	while (rc < 0 && errno == EINTR);
}

/* What can't be written is lost: there is nobody left to tell. */
static ssize_t write_lines(void *cookie, const char *text, size_t size)
{
	(void)cookie;
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		const size_t len = end ? (size_t)(end - text) + 1 - at : size - at;

		write_line(text + at, len);
		at += len;
	}
	return (ssize_t)size;
}

bool bp_journal_begin(void)
{
	static const cookie_io_functions_t functions = {.write = write_lines};
	FILE *levelled;

	if (!stderr_is_journal())
		return true;
	levelled = fopencookie(NULL, "w", functions);
	if (levelled == NULL)
		return false;
	setvbuf(levelled, NULL, _IOLBF, BUFSIZ);
	stderr = levelled;
	return true;
}
