/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "controlplane/process/clock.h"
#include "daemon/log.h"
#include "shm/plane_dirs.h"

/* A client with more unread output than this is closed. */
#define OUTPUT_MAX (1u << 20)
#define ACCEPT_PAUSE_US 100000

/* Rate limit of a user: the times at which its requests would be due at the average rate. */
struct user {
	uid_t uid;
	bool used;
	uint64_t last_request; /* value of bp_control.heard at its last request */
	uint64_t requests_due_ns, reloads_due_ns;
};

struct client {
	struct bp_control *control;
	struct bufferevent *bev; /* NULL: free */
	uint64_t id;
	uint64_t last_request; /* value of bp_control.heard when it connected or last sent data */
	uid_t uid;             /* from the kernel (SO_PEERCRED) */
	pid_t pid;             /* the same; 0: not known */
	bool held;             /* bp_control_hold() */
	bool waiting;          /* for an answer: its next line is not read before the answer */
	bool closing;          /* close after the answer is written */
	bool close_pending;    /* close immediately: it does not read, or there is no memory */
};

struct bp_control {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *resume; /* accepting, after a failure */
	struct {
		const struct bp_control_command *is;
		void *arg;
	} command[BP_CONTROL_COMMANDS_MAX];
	unsigned n_commands;
	uint64_t next_id;
	uint64_t last_request; /* counts connections and received data of all clients */
	struct client client[BP_CONTROL_CLIENTS_MAX];
	struct user user[BP_CONTROL_CLIENTS_MAX];
	struct bp_log_limit log_rate, log_accept;
	uid_t restricted; /* a user that may not use all commands; (uid_t)-1: none */
	void (*closed)(void *arg, uint64_t client);
	void *closed_arg;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

static void close_client(struct client *c)
{
	const struct bp_control *control = c->control;
	const uint64_t id = c->id;

	bufferevent_free(c->bev);
	memset(c, 0, sizeof(*c));
	if (control->closed != NULL)
		control->closed(control->closed_arg, id);
}

static void answer(struct client *c, json_t *object)
{
	char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
	struct evbuffer *out = bufferevent_get_output(c->bev);

	json_decref(object);
	if (text == NULL || evbuffer_get_length(out) > OUTPUT_MAX) {
		free(text);
		c->close_pending = true; /* read_lines(), which runs now or later, closes it */
		return;
	}
	evbuffer_add(out, text, strlen(text));
	evbuffer_add(out, "\n", 1);
	free(text);
}

json_t *bp_control_refusal(const char *sentence)
{
	return json_pack("{s:b, s:[s]}", "ok", 0, "errors", sentence);
}

json_t *bp_control_refusal_for_now(const char *sentence)
{
	return json_pack("{s:b, s:b, s:[s]}", "ok", 0, "retry", 1, "errors", sentence);
}

/* Returns the rate limit of a user; there are as many entries as clients, so each client's user has
 * one. */
static struct user *user_of(struct bp_control *control, uid_t uid)
{
	struct user *oldest = &control->user[0];

	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++) {
		struct user *u = &control->user[i];

		if (u->used && u->uid == uid)
			return u;
		if (!u->used || (oldest->used && u->last_request < oldest->last_request))
			oldest = u;
	}
	*oldest = (struct user){.uid = uid, .used = true};
	return oldest;
}

/* Takes one request of a budget of `per_s` on average and `burst` in a burst. */
static bool within(uint64_t *due_ns, uint64_t now_ns, uint64_t per_s, uint64_t burst)
{
	const uint64_t interval = 1000000000u / per_s;
	const uint64_t from = *due_ns > now_ns ? *due_ns : now_ns;

	if (from - now_ns > interval * (burst - 1))
		return false;
	*due_ns = from + interval;
	return true;
}

static bool may_request(struct client *c, bool reload)
{
	struct bp_control *control = c->control;
	struct user *u = user_of(control, c->uid);
	const uint64_t now = bp_mono_ns();

	u->last_request = control->last_request;
	if (within(&u->requests_due_ns, now, BP_CONTROL_REQUESTS_S, BP_CONTROL_REQUESTS_BURST) &&
		(!reload || within(&u->reloads_due_ns, now, BP_CONTROL_RELOADS_S,
				    BP_CONTROL_RELOADS_BURST)))
		return true;
	bp_log_limited(&control->log_rate, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_NUM("uid", c->uid),
			BP_LOG_NUM("max_requests_per_second", BP_CONTROL_REQUESTS_S),
			BP_LOG_NUM("max_reloads_per_second", BP_CONTROL_RELOADS_S)),
		"control socket: rate limit exceeded, request refused");
	return false;
}

/* Lists the possible requests, from all commands. */
static json_t *no_command(const struct bp_control *control)
{
	json_t *refusal;
	char *sentence = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&sentence, &size);

	if (out == NULL)
		return NULL;
	fputs("not a command; expected one JSON object per line", out);
	for (unsigned i = 0; i < control->n_commands; i++) {
		const struct bp_control_command *is = control->command[i].is;

		fprintf(out, "%s{\"command\":\"%s\"%s}",
			i + 1 < control->n_commands ? ", " : " or ", is->name,
			is->members != NULL ? is->members : "");
	}
	refusal = fclose(out) == 0 ? bp_control_refusal(sentence) : NULL;
	free(sentence);
	return refusal;
}

/* Executes one line with one command. */
static void execute(struct client *c, const char *line, size_t len)
{
	struct bp_control *control = c->control;
	json_error_t error;
	json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	const char *name = json_string_value(json_object_get(request, "command"));
	const struct bp_control_command *is = NULL;
	void *arg = NULL;

	for (unsigned i = 0; name != NULL && is == NULL && i < control->n_commands; i++) {
		if (strcmp(control->command[i].is->name, name) != 0)
			continue;
		is = control->command[i].is;
		arg = control->command[i].arg;
	}
	if (!may_request(c, is != NULL && is->reload)) {
		answer(c, bp_control_refusal_for_now(
				  "too many requests by this user; try again in a moment"));
	} else if (is != NULL && !is->for_agent && c->uid == control->restricted) {
		answer(c, bp_control_refusal("this user may only reload and report: the agent of "
					     "a fleet needs no other command"));
	} else if (is == NULL) {
		answer(c, no_command(control));
	} else if (is->begin != NULL) {
		c->waiting = true;
		is->begin(arg, request, c->id);
	} else {
		answer(c, is->answer(arg, request));
	}
	json_decref(request);
}

/* Executes the available lines, until one must wait for its answer. */
static void read_lines(struct client *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	char *line;
	size_t len;

	while (!c->waiting && !c->closing && !c->close_pending &&
		(line = evbuffer_readln(in, &len, EVBUFFER_EOL_LF)) != NULL) {
		execute(c, line, len);
		free(line);
	}
	if (!c->waiting && evbuffer_get_length(in) > BP_CONTROL_LINE_MAX) {
		answer(c, bp_control_refusal("the line is too long"));
		c->closing = true;
	}
	if (c->close_pending ||
		(c->closing && evbuffer_get_length(bufferevent_get_output(c->bev)) == 0))
		close_client(c);
	else if (c->closing || c->waiting)
		bufferevent_disable(c->bev, EV_READ);
	else
		bufferevent_enable(c->bev, EV_READ);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct client *c = arg;

	(void)bev;
	c->last_request = ++c->control->last_request;
	read_lines(c);
}

/* All output is written. */
static void on_write(struct bufferevent *bev, void *arg)
{
	struct client *c = arg;

	(void)bev;
	if (c->closing)
		close_client(c);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct client *c = arg;
	bool unsent = c->waiting || evbuffer_get_length(bufferevent_get_output(bev)) != 0;

	/* A client that has closed its sending side may still read. */
	if ((what & BEV_EVENT_EOF) != 0 && unsent) {
		c->closing = true;
		bufferevent_disable(bev, EV_READ);
		return;
	}
	close_client(c); /* disconnected, failed, or idle for too long */
}

static struct client *free_client(struct bp_control *control)
{
	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++)
		if (control->client[i].bev == NULL)
			return &control->client[i];
	return NULL;
}

/* Returns the client that was idle for the longest time and waits for no answer; NULL: none. */
static struct client *lru_client(struct bp_control *control)
{
	struct client *found = NULL;

	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++) {
		struct client *c = &control->client[i];

		if (c->bev != NULL && !c->waiting && !c->closing && !c->held &&
			evbuffer_get_length(bufferevent_get_output(c->bev)) == 0 &&
			(found == NULL || c->last_request < found->last_request))
			found = c;
	}
	return found;
}

/* Returns a slot for a new client: an idle client is closed if there is no free slot. NULL: all
 * clients wait for answers. */
static struct client *make_room(struct bp_control *control)
{
	struct client *c = free_client(control);

	if (c != NULL)
		return c;
	c = lru_client(control);
	if (c != NULL)
		close_client(c);
	return c;
}

static void reject_client(int fd)
{
	static const char full[] =
		"{\"ok\":false,\"retry\":true,\"errors\":[\"too many clients wait for "
		"answers; try again in a moment\"]}\n";

	(void)!send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static struct ucred peer_of(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
		return peer;
	return (struct ucred){.uid = (uid_t)-1};
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
	int address_len, void *arg)
{
	struct bp_control *control = arg;
	struct client *c = make_room(control);
	struct timeval idle = {BP_CONTROL_IDLE_S, 0};
	struct ucred peer;

	(void)listener;
	(void)address;
	(void)address_len;
	if (c == NULL) {
		reject_client(fd);
		return;
	}
	c->bev = bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (c->bev == NULL) {
		close(fd);
		return;
	}
	c->control = control;
	peer = peer_of(fd);
	c->uid = peer.uid;
	c->pid = peer.pid;
	c->id = ++control->next_id;
	c->last_request = ++control->last_request;
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, 2 * BP_CONTROL_LINE_MAX);
	bufferevent_set_timeouts(c->bev, &idle, &idle);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

static const struct client *find_client(const struct bp_control *control, uint64_t id)
{
	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++)
		if (control->client[i].bev != NULL && control->client[i].id == id)
			return &control->client[i];
	return NULL;
}

void bp_control_on_close(
	struct bp_control *c, void (*closed)(void *arg, uint64_t client), void *arg)
{
	c->closed = closed;
	c->closed_arg = arg;
}

void bp_control_hold(struct bp_control *c, uint64_t client, bool hold)
{
	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++)
		if (c->client[i].bev != NULL && c->client[i].id == client)
			c->client[i].held = hold;
}

uid_t bp_control_uid(const struct bp_control *c, uint64_t client)
{
	const struct client *found = find_client(c, client);

	return found != NULL ? found->uid : (uid_t)-1;
}

pid_t bp_control_pid(const struct bp_control *c, uint64_t client)
{
	const struct client *found = find_client(c, client);

	return found != NULL ? found->pid : 0;
}

void bp_control_reply(struct bp_control *control, uint64_t id, json_t *object)
{
	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++) {
		struct client *c = &control->client[i];

		if (c->bev == NULL || c->id != id)
			continue;
		answer(c, object);
		c->waiting = false;
		/* The answer may be sent while the line is still executing: the caller's loop then
		 * handles the next lines, and this trigger finds nothing to do. */
		bufferevent_trigger(
			c->bev, EV_READ, BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
		return;
	}
	json_decref(object);
}

/* Creates a socket in `path` for owner and group only; -1 with a sentence in `err`. */
static int make_socket(const char *path, char *err, size_t err_size)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc;
	mode_t mask;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	unlink(path);
	mask = umask(0117);
	rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (rc == 0)
		rc = listen(fd, 16);
	if (rc == 0)
		return fd;
	snprintf(err, err_size, "control socket %s cannot be created: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* For example without a free descriptor: libevent would report the pending connection repeatedly,
 * and each time with a line in the log. */
static void on_accept_failed(struct evconnlistener *listener, void *arg)
{
	const struct timeval pause = {.tv_usec = ACCEPT_PAUSE_US};
	struct bp_control *c = arg;

	bp_log_limited(&c->log_accept, BP_LOG_WARNING, NULL,
		"control socket %s: accepting connections is paused: %s", c->path,
		strerror(EVUTIL_SOCKET_ERROR()));
	evconnlistener_disable(listener);
	evtimer_add(c->resume, &pause);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	const struct bp_control *c = arg;

	(void)fd;
	(void)what;
	evconnlistener_enable(c->listener);
}

struct bp_control *bp_control_new(
	struct event_base *base, const char *path, char *err, size_t err_size)
{
	struct bp_control *c = calloc(1, sizeof(*c));
	int fd;

	if (c == NULL || strlen(path) >= sizeof(c->path)) {
		snprintf(err, err_size,
			"control socket %s: its path is too long; at most %zu bytes, choose a "
			"shorter runtime.directory",
			path, sizeof(c->path) - 1);
		free(c);
		return NULL;
	}
	c->base = base;
	c->restricted = (uid_t)-1;
	snprintf(c->path, sizeof(c->path), "%s", path);
	fd = make_socket(path, err, err_size);
	if (fd >= 0)
		c->listener = evconnlistener_new(
			base, on_accept, c, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (c->listener != NULL)
		c->resume = evtimer_new(base, on_resume, c);
	if (c->resume != NULL) {
		evconnlistener_set_error_cb(c->listener, on_accept_failed);
		return c;
	}
	if (fd >= 0)
		snprintf(err, err_size, "no memory for the control socket");
	if (c->listener != NULL)
		evconnlistener_free(c->listener);
	else if (fd >= 0)
		close(fd);
	free(c);
	return NULL;
}

int bp_control_add(
	struct bp_control *c, const struct bp_control_command *commands, unsigned n, void *arg)
{
	if (n > BP_CONTROL_COMMANDS_MAX - c->n_commands)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		c->command[c->n_commands].is = &commands[i];
		c->command[c->n_commands++].arg = arg;
	}
	return 0;
}

void bp_control_restrict(struct bp_control *c, uid_t uid)
{
	c->restricted = uid;
}

void bp_control_free(struct bp_control *c)
{
	if (c == NULL)
		return;
	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++)
		if (c->client[i].bev != NULL)
			close_client(&c->client[i]);
	event_free(c->resume);
	evconnlistener_free(c->listener);
	unlink(c->path);
	free(c);
}
