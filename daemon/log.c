/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 4096

static const struct {
	const char *name;
	const char *journal; /* sd-daemon(3) */
} levels[] = {
	[BP_LOG_ERROR] = {"error", "<3>"},
	[BP_LOG_WARNING] = {"warning", "<4>"},
	[BP_LOG_INFO] = {"info", "<6>"},
};

static const char *component = "biplane";
static bool journal;

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

void bp_log_begin(const char *name)
{
	component = name;
	journal = stderr_is_journal();
}

/* A line that can't be written is lost: there is no other place to report it. */
static void write_line(enum bp_log_level level, const char *text, size_t len)
{
	const char *prefix = journal ? levels[level].journal : "";
	struct iovec parts[] = {
		{(char *)prefix, strlen(prefix)}, {(char *)text, len}, {(char *)"\n", 1}};
	ssize_t rc;

	do
		rc = writev(STDERR_FILENO, parts, 3);
	while (rc < 0 && errno == EINTR);
}

static void write_lines(enum bp_log_level level, const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		const size_t len = end ? (size_t)(end - text) - at : size - at;

		write_line(level, text + at, len);
		at += len + 1;
	}
}

static void __attribute__((format(printf, 3, 0)))
print(enum bp_log_level level, uint64_t left_out, const char *fmt, va_list ap)
{
	char line[LINE_SIZE + 128];
	int n = snprintf(line, 64, "%.40s: %s: ", component, levels[level].name);
	int text = vsnprintf(line + n, LINE_SIZE, fmt, ap);

	if (text > 0)
		n += text < LINE_SIZE ? text : LINE_SIZE - 1;
	for (char *c = line; c < line + n; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	if (left_out != 0)
		n += snprintf(line + n, sizeof(line) - (size_t)n,
			" (and %" PRIu64 " more such messages)", left_out);
	write_line(level, line, (size_t)n);
}

void bp_log(enum bp_log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(level, 0, fmt, ap);
	va_end(ap);
}

void bp_log_plain(enum bp_log_level level, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	write_lines(level, text, (size_t)n);
	free(text);
}

static ssize_t write_stream(void *cookie, const char *text, size_t size)
{
	write_lines((enum bp_log_level)(uintptr_t)cookie, text, size);
	return (ssize_t)size;
}

FILE *bp_log_stream(enum bp_log_level level)
{
	static const cookie_io_functions_t functions = {.write = write_stream};
	static FILE *streams[sizeof(levels) / sizeof(levels[0])];

	if (streams[level] == NULL) {
		streams[level] = fopencookie((void *)(uintptr_t)level, "w", functions);
		if (streams[level] == NULL)
			return stderr;
		setvbuf(streams[level], NULL, _IOLBF, BUFSIZ);
	}
	return streams[level];
}

bool bp_log_may(struct bp_log_limit *limit, uint64_t *left_out)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (limit->last_ns != 0 && now - limit->last_ns < BP_LOG_EVERY_NS) {
		limit->left_out++;
		return false;
	}
	*left_out = limit->left_out;
	limit->last_ns = now;
	limit->left_out = 0;
	return true;
}

void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level, const char *fmt, ...)
{
	uint64_t left_out;
	va_list ap;

	if (!bp_log_may(limit, &left_out))
		return;
	va_start(ap, fmt);
	print(level, left_out, fmt, ap);
	va_end(ap);
}
