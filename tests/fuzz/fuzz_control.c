/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "controlplane/process/control.h"

/*
 * Whoever may open the control socket, sending any bytes: each whole line is answered with a line
 * of JSON that says whether it was obeyed, and nothing else happens. The commands see what the
 * client wrote.
 */

static struct event_base *base;
static struct bp_control *control;
static char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

static json_t *okay(void *arg, const json_t *request)
{
	(void)arg;
	HOLDS(json_is_object(request));
	return json_pack("{sb}", "ok", 1);
}

static json_t *release(void *arg, const json_t *request)
{
	const char *id = json_string_value(json_object_get(request, "id"));

	(void)arg;
	return json_pack("{sb ss?}", "ok", 1, "id", id);
}

static void later(void *arg, const json_t *request, uint64_t client)
{
	(void)arg;
	HOLDS(json_is_object(request));
	bp_control_reply(control, client, json_pack("{sb}", "ok", 1));
}

static void remove_socket(void)
{
	bp_control_free(control);
	event_base_free(base);
}

static void start(void)
{
	static const struct bp_control_command commands[] = {
		{.name = "reload", .begin = later, .reload = true},
		{.name = "status", .answer = okay},
		{.name = "sessions-release", .members = ",\"id\":...", .answer = release},
		{.name = "matrix-set", .members = ",...", .answer = okay},
		{.name = "matrix-clear", .members = ",...", .begin = later},
	};
	char err[256];

	snprintf(path, sizeof(path), "/tmp/biplane-fuzz-control-%ld", (long)getpid());
	base = event_base_new();
	control = base != NULL ? bp_control_new(base, path, err, sizeof(err)) : NULL;
	if (control == NULL || bp_control_add(control, commands,
				       sizeof(commands) / sizeof(commands[0]), NULL) != 0)
		abort();
	atexit(remove_socket);
}

/* Every answer is a whole line of JSON. */
static void check_answers(const char *p, size_t n)
{
	HOLDS(n == 0 || p[n - 1] == '\n');
	while (n != 0) {
		const char *end = memchr(p, '\n', n);
		json_t *answer = json_loadb(p, (size_t)(end - p), 0, NULL);

		HOLDS(json_is_boolean(json_object_get(answer, "ok")));
		json_decref(answer);
		n -= (size_t)(end + 1 - p);
		p = end + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	static char answer[1 << 16];
	size_t have = 0;
	ssize_t n;
	int fd;

	if (control == NULL)
		start();
	if (size > 32768)
		return 0;
	memcpy(a.sun_path, path, sizeof(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		abort();
	n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)n; /* truncated to the buffer: any bytes are valid input */
	shutdown(fd, SHUT_WR);
	for (unsigned turns = 0; turns < 64; turns++) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		n = recv(fd, answer + have, sizeof(answer) - have, MSG_DONTWAIT);
		if (n == 0)
			break;
		if (n > 0)
			have += (size_t)n;
	}
	if (have < sizeof(answer))
		check_answers(answer, have);
	close(fd);
	event_base_loop(base, EVLOOP_NONBLOCK);
	return 0;
}
