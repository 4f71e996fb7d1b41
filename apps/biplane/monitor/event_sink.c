/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/event_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL "/run/systemd/journal/socket"
/* An event is shorter; a longer last line is not ours. */
#define LAST_LINE_MAX 65536
#define FILE_MODE 0640
/* How each of our lines begins: bp_event_json_head(). */
#define LINE_BEGIN "{\"timestamp\":\""

/* ---- file ---- */

/* The last line of a file, without a complete one before it: its offset. */
static off_t last_line(int fd, off_t size, char *line, size_t max, size_t *n)
{
	const off_t from = size > (off_t)max ? size - (off_t)max : 0;
	const ssize_t have = pread(fd, line, max, from);
	ssize_t begin = have;

	*n = 0;
	if (have <= 0)
		return size;
	if (line[begin - 1] == '\n')
		begin--;
	while (begin > 0 && line[begin - 1] != '\n')
		begin--;
	*n = (size_t)(have - begin);
	memmove(line, line + begin, *n);
	return from + begin;
}

/* A process that was killed, or a machine that stopped, can leave the last line incomplete: ours is
 * removed, another is ended. */
static int repair(int fd)
{
	char line[LAST_LINE_MAX];
	struct stat st;
	off_t at;
	size_t n;

	if (fstat(fd, &st) != 0)
		return -1;
	at = last_line(fd, st.st_size, line, sizeof(line), &n);
	if (n == 0 || line[n - 1] == '\n')
		return 0;
	if (n < strlen(LINE_BEGIN) ? memcmp(line, LINE_BEGIN, n) == 0
				   : memcmp(line, LINE_BEGIN, strlen(LINE_BEGIN)) == 0)
		return ftruncate(fd, at);
	return write(fd, "\n", 1) == 1 ? 0 : -1;
}

/* Nothing but a regular file: a FIFO without a reader, or a terminal, would block. The monitor of
 * `biplane run` opens it as root: a link in a directory of another user must not choose the file.
 */
static int open_file(struct bp_event_sink *s)
{
	const int fd = open(s->to.path,
		O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
		FILE_MODE);
	struct stat st;
	int why = 0;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0)
		why = errno;
	else if (!S_ISREG(st.st_mode))
		why = ENOTSUP;
	else if (repair(fd) != 0)
		why = errno;
	if (why != 0) {
		close(fd);
		errno = why;
		return -1;
	}
	s->fd = fd;
	return 0;
}

uint64_t bp_event_sink_last(const struct bp_event_sink *s)
{
	char line[LAST_LINE_MAX];
	struct tm tm = {0};
	struct stat st;
	unsigned us;
	size_t n;

	if (s->to.kind != BP_EVENT_LOG_FILE || s->fd < 0 || fstat(s->fd, &st) != 0)
		return 0;
	(void)last_line(s->fd, st.st_size, line, sizeof(line), &n);
	if (n == 0)
		return 0;
	line[n - 1] = '\0';
	if (sscanf(line, LINE_BEGIN "%4d-%2d-%2dT%2d:%2d:%2d.%6u+00:00\"", &tm.tm_year, &tm.tm_mon,
		    &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &us) != 7)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (uint64_t)timegm(&tm) * 1000000000u + us * 1000ull + 999;
}

/* After a short write: back to the end of the last whole line, unless the file was truncated or
 * another process wrote to it meanwhile. */
static void remove_part(int fd, off_t before, size_t whole, size_t written)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size != before + (off_t)written ||
		ftruncate(fd, before + (off_t)whole) == 0)
		return;
	if (write(fd, "\n", 1) != 1)
		return; /* the part and the next line become one invalid line */
}

static enum bp_event_sink_result write_file(
	struct bp_event_sink *s, const char *lines, size_t len, size_t *n)
{
	struct stat before;
	ssize_t written;
	const char *end;
	int why;

	if (fstat(s->fd, &before) != 0)
		return BP_EVENT_SINK_FAILED;
	written = write(s->fd, lines, len);
	if (written == (ssize_t)len) {
		*n = len;
		return BP_EVENT_SINK_WRITTEN;
	}
	why = written < 0 ? errno : ENOSPC;
	end = written > 0 ? memrchr(lines, '\n', (size_t)written) : NULL;
	*n = end != NULL ? (size_t)(end + 1 - lines) : 0;
	if (written > 0 && *n < (size_t)written)
		remove_part(s->fd, before.st_size, *n, (size_t)written);
	if (*n != 0)
		return BP_EVENT_SINK_WRITTEN;
	errno = why;
	return BP_EVENT_SINK_FAILED;
}

/* ---- sockets ---- */

static int connect_to(const char *path, int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int why;

	if (fd < 0)
		return -1;
	memcpy(a.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

static int open_socket(struct bp_event_sink *s)
{
	_Static_assert(BP_EVENT_LOG_SOCKET_MAX + 1 == sizeof(((struct sockaddr_un *)0)->sun_path),
		"a path has its terminator");
	s->datagram = s->to.kind == BP_EVENT_LOG_JOURNAL;
	s->fd = -1;
	if (!s->datagram)
		s->fd = connect_to(s->to.path, SOCK_STREAM);
	if (s->fd < 0 && (s->datagram || errno == EPROTOTYPE)) {
		s->fd = connect_to(s->datagram ? JOURNAL : s->to.path, SOCK_DGRAM);
		s->datagram = true;
	}
	s->sent = 0;
	return s->fd < 0 ? -1 : 0;
}

/* A line of JSON as an entry (https://systemd.io/JOURNAL_NATIVE_PROTOCOL): it has no line feed. */
static ssize_t send_entry(int fd, const char *line, size_t len)
{
	static const char before[] = "SYSLOG_IDENTIFIER=biplane-events\nPRIORITY=6\nMESSAGE=";
	struct iovec part[] = {
		{.iov_base = (void *)(uintptr_t)before, .iov_len = sizeof(before) - 1},
		{.iov_base = (void *)(uintptr_t)line, .iov_len = len},
		{.iov_base = (void *)(uintptr_t) "\n", .iov_len = 1}};
	const struct msghdr m = {.msg_iov = part, .msg_iovlen = 3};

	return sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static enum bp_event_sink_result failure(struct bp_event_sink *s)
{
	int why = errno;

	if (why == EAGAIN || why == EINTR || why == ENOBUFS)
		return BP_EVENT_SINK_BUSY;
	if (why == EMSGSIZE && s->datagram)
		return BP_EVENT_SINK_TOO_LONG;
	bp_event_sink_close(s);
	errno = why;
	return BP_EVENT_SINK_FAILED;
}

static enum bp_event_sink_result write_datagrams(
	struct bp_event_sink *s, const char *lines, size_t len, size_t *n)
{
	while (*n < len) {
		const char *line = lines + *n, *end = memchr(line, '\n', len - *n);
		const size_t size = (size_t)(end - line);
		const ssize_t sent = s->to.kind == BP_EVENT_LOG_JOURNAL
					     ? send_entry(s->fd, line, size)
					     : send(s->fd, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return *n != 0 ? BP_EVENT_SINK_WRITTEN : failure(s);
		*n += size + 1;
	}
	return BP_EVENT_SINK_WRITTEN;
}

/* A reader that returns gets whole lines: of a line that was sent in part, all again. */
static enum bp_event_sink_result write_stream(
	struct bp_event_sink *s, const char *lines, size_t len, size_t *n)
{
	const ssize_t sent =
		send(s->fd, lines + s->sent, len - s->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
	const char *end;

	if (sent < 0)
		return failure(s);
	s->sent += (size_t)sent;
	end = memrchr(lines, '\n', s->sent);
	if (end == NULL)
		return BP_EVENT_SINK_BUSY;
	*n = (size_t)(end + 1 - lines);
	s->sent -= *n;
	return BP_EVENT_SINK_WRITTEN;
}

/* ---- all ---- */

int bp_event_sink_open(struct bp_event_sink *s)
{
	return s->to.kind == BP_EVENT_LOG_FILE ? open_file(s) : open_socket(s);
}

void bp_event_sink_close(struct bp_event_sink *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->sent = 0;
}

enum bp_event_sink_result bp_event_sink_write(
	struct bp_event_sink *s, const char *lines, size_t len, size_t *n)
{
	*n = 0;
	if (s->to.kind == BP_EVENT_LOG_FILE)
		return write_file(s, lines, len, n);
	return s->datagram ? write_datagrams(s, lines, len, n) : write_stream(s, lines, len, n);
}
