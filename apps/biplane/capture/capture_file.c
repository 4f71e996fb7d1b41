/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/capture/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "proto/net/pcapng.h"

#define BUFFER (256u << 10)
/* A pipe takes this much without blocking when poll() reports it writable. */
#define PIPE_PART 4096u
#define WAIT_MS 1000

_Static_assert(BUFFER >= 2 * BP_PCAPNG_BLOCK_MAX(BP_CAPTURE_SNAP_MAX), "a block fits");

struct bp_capture_file {
	struct bp_capture_file_options o;
	struct bp_capture_session *s;
	int fd;
	bool regular;
	int error; /* errno of the output; nothing is written after it */
	uint32_t index;
	uint64_t written; /* bytes of this file: complete blocks */
	uint64_t counted_received[BP_MAX_PORTS + 1], counted_lost[BP_MAX_PORTS + 1];
	unsigned n_interfaces;
	size_t n; /* bytes in the buffer */
	char path[PATH_MAX];
	uint8_t buffer[BUFFER];
};

static uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits until a pipe can be written. The connection to the control plane must not become idle
 * meanwhile. */
static bool wait_writable(struct bp_capture_file *f)
{
	struct pollfd p = {.fd = f->fd, .events = POLLOUT};
	int ready;

	while ((ready = poll(&p, 1, WAIT_MS)) <= 0) {
		if (ready == 0 && *f->o.stop)
			return false;
		bp_capture_session_keep(f->s);
	}
	return true;
}

/* The bytes of the complete blocks among the first `n` of the buffer. */
static size_t complete_blocks(const struct bp_capture_file *f, size_t n)
{
	size_t end = 0;
	uint32_t length = 0;

	while (n - end >= 8) {
		memcpy(&length, f->buffer + end + 4, sizeof(length)); /* of the block */
		if (length > n - end)
			break;
		end += length;
	}
	return end;
}

bool bp_capture_file_flush(struct bp_capture_file *f)
{
	size_t done = 0;

	while (f->error == 0 && done < f->n) {
		const size_t left = f->n - done;
		ssize_t n;

		/* after a signal, a reader that does not read is left */
		if (!f->regular && !wait_writable(f)) {
			f->error = EPIPE;
			break;
		}
		n = write(f->fd, f->buffer + done,
			!f->regular && left > PIPE_PART ? PIPE_PART : left);
		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			f->error = errno;
	}
	f->written += complete_blocks(f, done);
	/* a full disk: the file ends with a complete block */
	if (f->error != 0 && f->regular)
		(void)!ftruncate(f->fd, (off_t)f->written);
	f->n = 0;
	return f->error == 0;
}

/* The space for one block, at the end of the buffer. */
static uint8_t *block(struct bp_capture_file *f, size_t size)
{
	if (size > sizeof(f->buffer) - f->n)
		bp_capture_file_flush(f);
	return f->buffer + f->n;
}

static size_t space(const struct bp_capture_file *f)
{
	return sizeof(f->buffer) - f->n;
}

static void write_interface(struct bp_capture_file *f, unsigned port)
{
	const struct bp_port_info *info = &f->s->view.shm.ports[port];
	const bool is_port = port < f->n_interfaces;
	char name[BP_NAME_MAX + 1], device[sizeof(info->device)] = "";

	bp_capture_session_port(f->s, is_port ? port : BP_MAX_PORTS, name);
	if (is_port)
		snprintf(device, sizeof(device), "%.*s", (int)sizeof(device) - 1, info->device);
	bp_text_mask(device);
	f->n += bp_pcapng_interface(block(f, BP_PCAPNG_BLOCK_MAX(0)), space(f), name,
		is_port ? device : "frames of no port",
		is_port ? (uint64_t)info->speed_mbps * 1000000u : 0, f->o.snap_length, f->o.filter);
}

/* The blocks at the beginning of a file. */
static void write_head(struct bp_capture_file *f)
{
	struct utsname os = {0};
	char text[sizeof(os.sysname) + sizeof(os.release) + 1];

	uname(&os);
	snprintf(text, sizeof(text), "%s %s", os.sysname, os.release);
	f->n += bp_pcapng_section(block(f, BP_PCAPNG_BLOCK_MAX(0)), space(f), os.machine, text,
		"biplane " BP_VERSION);
	for (unsigned p = 0; p < f->n_interfaces + f->o.no_port_interface; p++)
		write_interface(f, p);
}

/* Statistics of this file. */
static void write_tail(struct bp_capture_file *f)
{
	const uint64_t now = unix_ns();

	for (unsigned i = 0; i < f->n_interfaces + f->o.no_port_interface; i++) {
		const unsigned port = i < f->n_interfaces ? i : BP_MAX_PORTS;
		const uint64_t received = f->s->received[port],
			       lost = bp_capture_session_lost(f->s, port);

		f->n += bp_pcapng_statistics(block(f, BP_PCAPNG_BLOCK_MAX(0)), space(f), i, now,
			received - f->counted_received[port],
			lost > f->counted_lost[port] ? lost - f->counted_lost[port] : 0);
		f->counted_received[port] = received;
		f->counted_lost[port] = lost;
	}
}

/* FILE, FILE1, FILE2, ...; with a number of files FILE0, FILE1, ... and again, with digits for all
 * of them; as of tcpdump. */
static bool name_file(struct bp_capture_file *f)
{
	char digits[16];
	int n;

	if (f->o.files != 0) {
		const int width = snprintf(digits, sizeof(digits), "%u", f->o.files - 1);

		n = snprintf(f->path, sizeof(f->path), "%s%0*u", f->o.path, width,
			f->index % f->o.files);
	} else if (f->index != 0) {
		n = snprintf(f->path, sizeof(f->path), "%s%u", f->o.path, f->index);
	} else {
		n = snprintf(f->path, sizeof(f->path), "%s", f->o.path);
	}
	return n >= 0 && (size_t)n < sizeof(f->path);
}

/* 0, or an errno. Frames contain what users send: others get no access. */
static int open_file(struct bp_capture_file *f)
{
	struct stat st;

	if (strcmp(f->o.path, "-") == 0) {
		f->fd = STDOUT_FILENO;
		snprintf(f->path, sizeof(f->path), "standard output");
	} else {
		if (!name_file(f))
			return ENAMETOOLONG;
		f->fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
		if (f->fd < 0)
			return errno;
	}
	f->regular = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
	f->written = 0;
	write_head(f);
	return 0;
}

struct bp_capture_file *bp_capture_file_open(const struct bp_capture_file_options *o,
	struct bp_capture_session *s, char *err, size_t err_size)
{
	struct bp_capture_file *f = calloc(1, sizeof(*f));
	int why = ENOMEM;

	if (f != NULL) {
		f->o = *o;
		f->s = s;
		f->n_interfaces = bp_show_ports_in_use(&s->view.shm);
		why = open_file(f);
	}
	if (why == 0)
		return f;
	snprintf(err, err_size, "%s: %s", f != NULL ? f->path : o->path, strerror(why));
	free(f);
	return NULL;
}

static void close_file(struct bp_capture_file *f)
{
	if (f->fd > STDOUT_FILENO && close(f->fd) != 0 && f->error == 0)
		f->error = errno;
	f->fd = -1;
}

static void next_file(struct bp_capture_file *f)
{
	write_tail(f);
	if (!bp_capture_file_flush(f))
		return;
	close_file(f);
	f->index++;
	if (f->error == 0)
		f->error = open_file(f);
}

static uint32_t interface_of(const struct bp_capture_file *f, unsigned port)
{
	return port < f->n_interfaces ? port : f->n_interfaces;
}

bool bp_capture_file_frame(struct bp_capture_file *f, const struct bp_capture_record *r)
{
	struct bp_pcapng_packet p = {.interface = interface_of(f, r->port),
		.captured = r->captured < f->o.snap_length ? r->captured : f->o.snap_length,
		.length = r->length,
		.time_ns = r->time_ns,
		.direction = r->point == BP_CAPTURE_RX   ? BP_PCAPNG_INBOUND
			     : r->point == BP_CAPTURE_TX ? BP_PCAPNG_OUTBOUND
							 : BP_PCAPNG_UNKNOWN,
		.data = r->data};
	char reason[BP_CAPTURE_REASON], comment[BP_CAPTURE_REASON + 16];

	if (p.interface == f->n_interfaces && !f->o.no_port_interface)
		return f->error == 0; /* a port that did not exist at the start */
	if (r->point == BP_CAPTURE_DROP) {
		bp_capture_session_reason(f->s, r, reason);
		snprintf(comment, sizeof(comment), "dropped: %s", reason);
		p.comment = comment;
	}
	f->n += bp_pcapng_packet(block(f, BP_PCAPNG_BLOCK_MAX(p.captured)), space(f), &p);
	if (f->o.size != 0 && f->error == 0 && f->written + f->n >= f->o.size)
		next_file(f);
	return f->error == 0;
}

int bp_capture_file_end(struct bp_capture_file *f, const char **path)
{
	if (f->error == 0) {
		write_tail(f);
		bp_capture_file_flush(f);
	}
	if (f->fd >= 0)
		close_file(f);
	*path = f->path;
	return f->error;
}

void bp_capture_file_free(struct bp_capture_file *f)
{
	free(f);
}
