/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/log.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Time that a line waits for a reader that does not read. The lines after one that had to be given
 * up wait for none, until one is written. */
#define READER_WAIT_MS 100

#define TEXT_SIZE 4096
#define VALUE_SIZE 512
/* Size of a message and all fields with each byte escaped, plus keys and separators: no JSON object
 * and no datagram is truncated. */
#define KEY_SIZE 64
#define LINE_SIZE (2 * TEXT_SIZE + (BP_LOG_FIELDS_MAX + 1) * (2 * VALUE_SIZE + KEY_SIZE + 8) + 512)

static const struct {
	const char *name;
	unsigned priority; /* syslog(3) */
} levels[] = {
	[BP_LOG_ERROR] = {"error", 3},
	[BP_LOG_WARNING] = {"warning", 4},
	[BP_LOG_INFO] = {"info", 6},
	[BP_LOG_DEBUG] = {"debug", 7},
};

const char *bp_log_journal_socket = "/run/systemd/journal/socket";

static const char *component = "biplane";
static bool journal;        /* standard error is a stream of the journal */
static int journal_fd = -1; /* the journal's native socket, which accepts fields */
static _Atomic int min_level = BP_LOG_INFO, format = BP_LOG_TEXT;
/* The last line was given up: by standard error, by the journal; after a part of it was written. */
static _Atomic bool stalled, journal_stalled, torn;
static _Atomic uint64_t n_lost;

/* Returns whether JOURNAL_STREAM refers to standard error, which may have been redirected. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat st;

	return stream != NULL && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && (uint64_t)st.st_dev == device &&
	       (uint64_t)st.st_ino == inode;
}

/* Returns a socket that is connected to the journal, or -1. */
static int open_journal(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", bp_log_journal_socket);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void bp_log_begin(const char *name)
{
	component = name;
	journal = stderr_is_journal();
	if (journal_fd >= 0)
		close(journal_fd);
	/* only in a systemd unit: a user who sets JOURNAL_STREAM manually gets lines */
	journal_fd = journal && getenv("INVOCATION_ID") != NULL ? open_journal() : -1;
}

void bp_log_set(enum bp_log_level level, enum bp_log_format form)
{
	min_level = (int)level;
	format = (int)form;
}

/* ---- a line or a datagram, in a buffer that truncates ---- */

struct line {
	char text[LINE_SIZE];
	size_t len;
};

static void put(struct line *l, const char *text, size_t len)
{
	const size_t room = sizeof(l->text) - l->len;

	if (len > room)
		len = room;
	memcpy(l->text + l->len, text, len);
	l->len += len;
}

static void put_text(struct line *l, const char *text)
{
	put(l, text, strlen(text));
}

/* Escapes quotes and backslashes, which makes a JSON string of sanitized text. */
static void put_quoted(struct line *l, const char *text)
{
	put(l, "\"", 1);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			put(l, "\\", 1);
		put(l, text, 1);
	}
	put(l, "\"", 1);
}

/* Returns the length in bytes of the UTF-8 character at `text` (RFC 3629), or 0 if it is
 * invalid. */
static size_t utf8_length(const unsigned char *text)
{
	const unsigned char c = text[0];
	const size_t n = c < 0x80   ? 1
			 : c < 0xc2 ? 0
			 : c < 0xe0 ? 2
			 : c < 0xf0 ? 3
			 : c < 0xf5 ? 4
				    : 0;

	for (size_t i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] >= 0xa0) ||
		(c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] >= 0x90))
		return 0;
	return n;
}

/* Copies text that may come from the network: control characters (C0, DEL, C1) become spaces,
 * invalid UTF-8 bytes become "?", and the text is truncated at a character boundary. */
static void clean(const char *text, char *out, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = 0;

	while (*p != '\0') {
		const size_t n = utf8_length(p);

		if (len + (n > 0 ? n : 1) >= size)
			break;
		if (n == 0) {
			out[len++] = '?';
		} else if (*p < ' ' || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0)) {
			out[len++] = ' ';
		} else {
			memcpy(out + len, p, n);
			len += n;
		}
		p += n > 0 ? n : 1;
	}
	out[len] = '\0';
}

/* UTC, RFC 3339. */
static void put_time(struct line *l)
{
	char text[40];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	put_text(l, text);
	snprintf(text, sizeof(text), ".%03uZ", (unsigned)(now.tv_nsec / 1000000));
	put_text(l, text);
}

static void put_number(struct line *l, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	put_text(l, text);
}

/* A value of one word needs no quotes. */
static bool is_word(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (strchr(" \"=\\", *c) != NULL)
			return false;
	return text[0] != '\0';
}

static void format_text(struct line *l, enum bp_log_level level, const struct bp_log_field *fields,
	const char *message)
{
	if (!journal) {
		put_time(l);
		put(l, " ", 1);
	}
	put_text(l, levels[level].name);
	put(l, " ", 1);
	put_text(l, component);
	put(l, ": ", 2);
	put_text(l, message);
	for (const struct bp_log_field *f = fields; f != NULL && f->key != NULL; f++) {
		put(l, " ", 1);
		put_text(l, f->key);
		put(l, "=", 1);
		if (f->value == NULL)
			put_number(l, f->number);
		else if (is_word(f->value))
			put_text(l, f->value);
		else
			put_quoted(l, f->value);
	}
}

/* The value is `number` when `value` is NULL. */
static void put_member(struct line *l, const char *key, const char *value, uint64_t number)
{
	put_text(l, ", ");
	put_quoted(l, key);
	put(l, ": ", 2);
	if (value == NULL)
		put_number(l, number);
	else
		put_quoted(l, value);
}

static void format_json(struct line *l, enum bp_log_level level, const struct bp_log_field *fields,
	const char *message)
{
	put_text(l, "{\"timestamp\": \"");
	put_time(l);
	put(l, "\"", 1);
	put_member(l, "level", levels[level].name, 0);
	put_member(l, "component", component, 0);
	put_member(l, "message", message, 0);
	for (const struct bp_log_field *f = fields; f != NULL && f->key != NULL; f++)
		put_member(l, f->key, f->value, f->number);
	put(l, "}", 1);
}

static bool is_writable(int fd, bool waits)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, waits ? READER_WAIT_MS : 0) != 0;
}

/* https://systemd.io/JOURNAL_NATIVE_PROTOCOL: KEY=VALUE lines; no value contains a newline. */
static bool send_to_journal(
	enum bp_log_level level, const struct bp_log_field *fields, const char *message)
{
	struct line l = {.len = 0};
	char text[64];

	snprintf(text, sizeof(text), "PRIORITY=%u\nCOMPONENT=", levels[level].priority);
	put_text(&l, text);
	put_text(&l, component);
	put_text(&l, "\nSYSLOG_IDENTIFIER=biplane\n");
	for (const struct bp_log_field *f = fields; f != NULL && f->key != NULL; f++) {
		for (const char *c = f->key; *c != '\0'; c++)
			put(&l, &(char){(char)toupper((unsigned char)*c)}, 1);
		put(&l, "=", 1);
		if (f->value == NULL)
			put_number(&l, f->number);
		else
			put_text(&l, f->value);
		put(&l, "\n", 1);
	}
	put_text(&l, "MESSAGE=");
	put_text(&l, message);
	put(&l, "\n", 1);
	journal_stalled =
		!is_writable(journal_fd, !journal_stalled) ||
		send(journal_fd, l.text, l.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)l.len;
	return !journal_stalled;
}

/* Returns false if the line was not written completely: it is lost. */
static bool write_line(enum bp_log_level level, const char *text, size_t len)
{
	char prefix[8] = ""; /* sd-daemon(3) */
	ssize_t rc;

	if (journal)
		snprintf(prefix, sizeof(prefix), "<%u>", levels[level].priority);

	struct iovec parts[] = {
		{"\n", torn}, {prefix, strlen(prefix)}, {(char *)text, len}, {(char *)"\n", 1}};
	const size_t all = torn + strlen(prefix) + len + 1;

	if (!is_writable(STDERR_FILENO, !stalled))
		return false;
	/* A pipe may be writable, but not for the whole line. Files and terminals do not have this
	 * flag; O_NONBLOCK would also be set for the other processes that use standard error. */
	rc = pwritev2(STDERR_FILENO, parts, 4, -1, RWF_NOWAIT);
	if (rc < 0 && errno != EAGAIN)
		do
			rc = writev(STDERR_FILENO, parts, 4);
		while (rc < 0 && errno == EINTR);
	if (rc >= 0)
		torn = (size_t)rc != all;
	return rc >= 0 && (size_t)rc == all;
}

static bool write_once(
	enum bp_log_level level, const struct bp_log_field *fields, const char *message)
{
	struct line l = {.len = 0};

	if (journal_fd >= 0 && send_to_journal(level, fields, message))
		return true;
	if (format == BP_LOG_JSON)
		format_json(&l, level, fields, message);
	else
		format_text(&l, level, fields, message);
	return write_line(level, l.text, l.len);
}

/* A line that cannot be written is counted, and reported once a line can be written again. */
static void write_event(
	enum bp_log_level level, const struct bp_log_field *fields, const char *message)
{
	uint64_t n;

	stalled = !write_once(level, fields, message);
	if (stalled) {
		n_lost++;
		return;
	}
	n = atomic_exchange(&n_lost, 0);
	if (n != 0 && !write_once(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_NUM("lines", n)),
			      "log lines are lost: their reader did not read"))
		n_lost += n;
}

static void __attribute__((format(printf, 4, 0))) print(enum bp_log_level level,
	const struct bp_log_field *fields, uint64_t suppressed, const char *fmt, va_list ap)
{
	struct bp_log_field all[BP_LOG_FIELDS_MAX + 2] = {0};
	char text[TEXT_SIZE], message[TEXT_SIZE];
	char value[BP_LOG_FIELDS_MAX][VALUE_SIZE];
	unsigned n = 0;

	if ((int)level > min_level)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	clean(text, message, sizeof(message));
	for (; fields != NULL && fields[n].key != NULL && n < BP_LOG_FIELDS_MAX; n++) {
		all[n] = fields[n];
		if (fields[n].value == NULL)
			continue;
		clean(fields[n].value, value[n], sizeof(value[n]));
		all[n].value = value[n];
	}
	if (suppressed != 0)
		all[n] = (struct bp_log_field){"suppressed", .number = suppressed};
	write_event(level, all, message);
}

void bp_log(enum bp_log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(level, NULL, 0, fmt, ap);
	va_end(ap);
}

void bp_log_event(enum bp_log_level level, const struct bp_log_field *fields, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(level, fields, 0, fmt, ap);
	va_end(ap);
}

static ssize_t write_stream(void *cookie, const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		const size_t len = end != NULL ? (size_t)(end - text) - at : size - at;

		if (len > 0)
			bp_log((enum bp_log_level)(uintptr_t)cookie, "%.*s", (int)len, text + at);
		at += len + 1;
	}
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

bool bp_log_may(struct bp_log_limit *limit, uint64_t *n_suppressed)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (limit->last_ns != 0 && now - limit->last_ns < BP_LOG_EVERY_NS) {
		limit->n_suppressed++;
		return false;
	}
	*n_suppressed = limit->n_suppressed;
	limit->last_ns = now;
	limit->n_suppressed = 0;
	return true;
}

void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level,
	const struct bp_log_field *fields, const char *fmt, ...)
{
	uint64_t n_suppressed;
	va_list ap;

	if ((int)level > min_level || !bp_log_may(limit, &n_suppressed))
		return;
	va_start(ap, fmt);
	print(level, fields, n_suppressed, fmt, ap);
	va_end(ap);
}
