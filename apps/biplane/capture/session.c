/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/capture/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "controlplane/process/control.h"

/* The data plane looks for requests 20 times a second. */
#define BEGIN_WAIT_NS 5000000000ull
#define STOP_WAIT_NS 1000000000ull
#define STEP_NS 5000000
#define KEEP_NS (BP_CONTROL_IDLE_S * 1000000000ull / 6)

static uint64_t mono_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int fail(const struct bp_cli_command *command, const char *what)
{
	fprintf(stderr, "biplane %s: %s\n", command->name, what);
	return BP_EX_UNAVAILABLE;
}

static bool open_readers(struct bp_capture_session *s)
{
	const struct bp_capture_tables *t = &s->view.shm.capture;

	s->n_workers = s->view.shm.workers;
	s->worker = calloc(s->n_workers, sizeof(*s->worker));
	for (unsigned w = 0; s->worker != NULL && w < s->n_workers; w++) {
		s->worker[w].record = aligned_alloc(8, (BP_CAPTURE_RECORD_MAX + 7) & ~7u);
		if (s->worker[w].record == NULL)
			return false;
		bp_capture_reader_init(
			&s->worker[w].reader, bp_capture_ring_of(t, w), t->ring_capacity);
	}
	return s->worker != NULL;
}

static uint64_t running_id(const struct bp_capture_session *s)
{
	return atomic_load_explicit(&s->view.shm.capture.status[s->slot].id, memory_order_acquire);
}

/* Waits until the data plane runs the capture `id` in our slot. */
static bool wait_for(
	const struct bp_capture_session *s, uint64_t id, uint64_t ns, const volatile bool *stop)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	const uint64_t until = mono_ns() + ns;

	while (running_id(s) != id) {
		if (mono_ns() >= until || (stop != NULL && *stop))
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

/* Sends the request. 0, or an exit status with an error on stderr. */
static int ask(struct bp_capture_session *s, const struct bp_cli_command *command, json_t *request)
{
	const json_t *slot;
	json_t *reply;
	char err[512];
	int status = BP_EX_OK;

	s->control = bp_control_connect(s->path, err, sizeof(err));
	if (s->control < 0) {
		json_decref(request);
		return fail(command, err);
	}
	if (bp_control_exchange(s->control, s->path, request, &reply, err, sizeof(err)) != 0)
		return fail(command, err);
	slot = json_object_get(reply, "slot");
	if (!json_is_true(json_object_get(reply, "ok"))) {
		const char *why =
			json_string_value(json_array_get(json_object_get(reply, "errors"), 0));

		status = fail(command, why != NULL ? why : "refused, and no reason given");
	} else if (!json_is_integer(slot) || json_integer_value(slot) < 0 ||
		   json_integer_value(slot) >= BP_CAPTURE_SLOTS) {
		status = fail(command, "the answer of the control plane is invalid");
	} else {
		s->slot = (unsigned)json_integer_value(slot);
		s->id = (uint64_t)json_integer_value(json_object_get(reply, "id"));
		s->since = (uint64_t)json_integer_value(json_object_get(reply, "since"));
	}
	json_decref(reply);
	return status;
}

int bp_capture_session_open(struct bp_capture_session *s, const struct bp_cli_command *command,
	const struct bp_config_instance *id, json_t *request, const volatile bool *stop)
{
	char err[512] = "runtime.directory and name are too long for a socket's path";
	int status;

	memset(s, 0, sizeof(*s));
	s->control = -1;
	if (bp_control_path(id->runtime_dir, id->name, s->path, sizeof(s->path)) != 0 ||
		bp_instance_view_open(&s->view, id, err, sizeof(err)) != 0) {
		json_decref(request);
		return fail(command, err);
	}
	/* before the request: nothing is missed */
	if (!open_readers(s)) {
		json_decref(request);
		return fail(command, "not enough memory");
	}
	status = ask(s, command, request);
	if (status != BP_EX_OK)
		return status;
	s->keep_due_ns = mono_ns() + KEEP_NS;
	if (!wait_for(s, s->id, BEGIN_WAIT_NS, stop) && !*stop)
		return fail(command, "the data plane does not begin the capture; is it running? "
				     "See 'biplane status'");
	return BP_EX_OK;
}

/* ---- records ---- */

void bp_capture_session_look(struct bp_capture_session *s)
{
	for (unsigned w = 0; w < s->n_workers; w++) {
		s->worker[w].until = bp_capture_reader_head(&s->worker[w].reader);
		s->worker[w].left = s->worker[w].reader.capacity;
	}
}

/* Whether a record is of this capture, and possible. */
static bool is_ours(const struct bp_capture_session *s, const struct bp_capture_record *r)
{
	return r->head.size >= sizeof(*r) && r->generation >= s->since &&
	       (r->slots >> s->slot & 1) != 0 && r->captured <= r->head.size - sizeof(*r) &&
	       (r->head.kind != BP_CAPTURE_RECORD_FRAME || r->captured <= r->length) &&
	       r->port <= BP_MAX_PORTS && r->point < BP_CAPTURE_POINTS;
}

/* Reads the next record of a worker. A ring has no more than its capacity between two looks; a
 * writer that moves the head back must not keep the command reading. */
static bool fill(struct bp_capture_session *s, struct bp_capture_worker_reader *w)
{
	while (!w->has && w->left != 0 && bp_capture_reader_next(&w->reader, w->until, w->record)) {
		w->left -= w->record->head.size < w->left ? w->record->head.size : w->left;
		w->has = is_ours(s, w->record);
	}
	return w->has;
}

const struct bp_capture_record *bp_capture_session_next(
	struct bp_capture_session *s, uint64_t until_ns)
{
	struct bp_capture_worker_reader *first = NULL;

	for (unsigned w = 0; w < s->n_workers; w++) {
		struct bp_capture_worker_reader *now = &s->worker[w];

		if (fill(s, now) &&
			(first == NULL || now->record->time_ns < first->record->time_ns))
			first = now;
	}
	if (first == NULL || first->record->time_ns > until_ns)
		return NULL;
	first->has = false;
	s->received[first->record->port]++;
	s->last = (unsigned)(first - s->worker);
	return first->record;
}

/* The counts begin at 0 when the data plane restarts. */
static void read_counts(struct bp_capture_session *s)
{
	for (unsigned w = 0; w < s->n_workers; w++) {
		struct bp_capture_worker_reader *r = &s->worker[w];

		for (unsigned p = 0; p <= BP_MAX_PORTS; p++) {
			const uint64_t now = atomic_load_explicit(
				&s->view.shm.capture.counts[w].matched[s->slot][p],
				memory_order_relaxed);

			if (now < r->matched[p])
				r->before[p] += r->matched[p];
			r->matched[p] = now;
		}
	}
}

uint64_t bp_capture_session_lost(const struct bp_capture_session *s, unsigned port)
{
	uint64_t matched = 0;

	for (unsigned w = 0; w < s->n_workers; w++)
		matched += s->worker[w].before[port] + s->worker[w].matched[port];
	return matched > s->received[port] ? matched - s->received[port] : 0;
}

enum bp_capture_engine bp_capture_session_engine(const struct bp_capture_session *s)
{
	const uint32_t engine = atomic_load_explicit(
		&s->view.shm.capture.status[s->slot].engine, memory_order_relaxed);

	return engine < BP_CAPTURE_ENGINES ? (enum bp_capture_engine)engine : BP_CAPTURE_NO_FILTER;
}

static void printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			*text = '?';
}

void bp_capture_session_port(
	const struct bp_capture_session *s, unsigned port, char name[BP_NAME_MAX + 1])
{
	const unsigned n = bp_show_ports_in_use(&s->view.shm);

	snprintf(name, BP_NAME_MAX + 1, "%.*s", BP_NAME_MAX,
		port < n ? s->view.shm.ports[port].name : "other");
	printable(name);
}

void bp_capture_session_node(
	const struct bp_capture_session *s, uint16_t node, char name[BP_CAPTURE_NODE_NAME])
{
	size_t max = sizeof(s->view.shm.nodes->name);
	const char *of;

	name[0] = '\0';
	if (node >= BP_MAX_NODES)
		return;
	of = bp_text_node(s->view.shm.nodes[s->last * BP_MAX_NODES + node].name, &max);
	snprintf(name, BP_CAPTURE_NODE_NAME, "%.*s", BP_CAPTURE_NODE_NAME - 4, of);
	printable(name);
}

void bp_capture_session_reason(const struct bp_capture_session *s,
	const struct bp_capture_record *r, char text[BP_CAPTURE_REASON])
{
	const bool known = r->reason < BP_C_COUNT && bp_counter_info[r->reason].name != NULL;
	const char *reason = known ? bp_counter_info[r->reason].name : "unknown";
	char node[BP_CAPTURE_NODE_NAME];

	bp_capture_session_node(s, r->node, node);
	snprintf(text, BP_CAPTURE_REASON, "%s%s%s", reason, node[0] != '\0' ? " in node " : "",
		node);
}

/* ---- the connection ---- */

static void send_line(const struct bp_capture_session *s, const char *line)
{
	/* the control plane has closed the connection, or is busy: nothing depends on this line */
	(void)!send(s->control, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void bp_capture_session_keep(struct bp_capture_session *s)
{
	const uint64_t now = mono_ns();

	read_counts(s);
	if (now < s->keep_due_ns)
		return;
	s->keep_due_ns = now + KEEP_NS;
	send_line(s, "{\"command\":\"capture-keep\"}\n");
}

bool bp_capture_session_wait(struct bp_capture_session *s, unsigned ms)
{
	struct pollfd p = {.fd = s->control, .events = POLLIN};
	char answers[256];
	ssize_t n;

	bp_capture_session_keep(s);
	if (poll(&p, 1, (int)ms) <= 0)
		return true;
	n = recv(s->control, answers, sizeof(answers), MSG_DONTWAIT);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void bp_capture_session_stop(struct bp_capture_session *s)
{
	send_line(s, "{\"command\":\"capture-stop\"}\n");
	wait_for(s, 0, STOP_WAIT_NS, NULL);
	read_counts(s);
}

void bp_capture_session_close(struct bp_capture_session *s)
{
	if (s->control >= 0)
		close(s->control);
	for (unsigned w = 0; s->worker != NULL && w < s->n_workers; w++)
		free(s->worker[w].record);
	free(s->worker);
	bp_instance_view_close(&s->view);
}
