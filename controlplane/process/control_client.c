/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "controlplane/process/control.h"

/* Longer than the control plane waits for a worker. */
#define WAIT_S 30
/* Size of a configuration with the maximum number of rules. */
#define REPLY_MAX (256u << 20)

/* Whether to try again after the timeout of a second. */
static bool again(struct bp_control_wait *wait)
{
	if (errno == EINTR)
		return true;
	if (errno != EAGAIN || wait->seconds <= 1)
		return false;
	wait->seconds--;
	if (wait->waiting != NULL)
		wait->waiting(wait->arg);
	return true;
}

static int connect_within(
	const char *path, struct bp_control_wait *wait, char *err, size_t err_size)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct timeval second = {1, 0};
	int fd, rc;

	if (strlen(path) >= sizeof(a.sun_path)) {
		snprintf(err, err_size, "%s is too long for the path of a socket", path);
		return -1;
	}
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
		do
			rc = connect(fd, (struct sockaddr *)&a, sizeof(a));
		while (rc != 0 && again(wait));
		if (rc == 0)
			return fd;
	}
	snprintf(err, err_size, "no control plane answers at %s: %s; is this instance running?",
		path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int bp_control_connect(const char *path, char *err, size_t err_size)
{
	struct bp_control_wait wait = {.seconds = WAIT_S};

	return connect_within(path, &wait, err, err_size);
}

static int send_all(int fd, const char *text, size_t len, struct bp_control_wait *wait)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && again(wait))
			continue;
		if (n <= 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_request(int fd, const json_t *request, struct bp_control_wait *wait)
{
	char *text = request == NULL ? NULL : json_dumps(request, JSON_COMPACT);
	int rc = -1;

	if (text != NULL)
		rc = send_all(fd, text, strlen(text), wait) == 0 ? send_all(fd, "\n", 1, wait) : -1;
	free(text);
	return rc;
}

/* Returns the bytes up to the end of the line; NULL with errno. */
static char *read_line(int fd, size_t *len, struct bp_control_wait *wait)
{
	size_t size = 4096, used = 0;
	char *line = malloc(size), *grown, *end;

	while (line != NULL) {
		ssize_t n = recv(fd, line + used, size - used, 0);

		if (n < 0 && again(wait))
			continue;
		if (n <= 0) {
			errno = n == 0 ? ECONNRESET : errno;
			break;
		}
		end = memchr(line + used, '\n', (size_t)n);
		used += (size_t)n;
		if (end != NULL) {
			*len = (size_t)(end - line);
			return line;
		}
		if (used < size)
			continue;
		if (size >= REPLY_MAX) {
			errno = EMSGSIZE;
			break;
		}
		grown = realloc(line, size *= 2);
		if (grown == NULL)
			break;
		line = grown;
	}
	free(line);
	return NULL;
}

int bp_control_request(
	const char *socket_path, const char *command, json_t **reply, char *err, size_t err_size)
{
	return bp_control_call(
		socket_path, json_pack("{s:s}", "command", command), reply, err, err_size);
}

static int exchange(int fd, const char *socket_path, json_t *request, struct bp_control_wait *wait,
	json_t **reply, char *err, size_t err_size)
{
	json_error_t error;
	size_t len = 0;
	char *line;

	*reply = NULL;
	line = send_request(fd, request, wait) == 0 ? read_line(fd, &len, wait) : NULL;
	json_decref(request);
	if (line == NULL)
		snprintf(err, err_size, "the control plane at %s did not answer: %s", socket_path,
			errno == EAGAIN ? "it took too long" : strerror(errno));
	else
		*reply = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (line != NULL && !json_is_object(*reply)) {
		snprintf(err, err_size, "the answer of %s is not a JSON object", socket_path);
		json_decref(*reply);
		*reply = NULL;
	}
	free(line);
	return *reply != NULL ? 0 : -1;
}

int bp_control_exchange(int fd, const char *socket_path, json_t *request, json_t **reply, char *err,
	size_t err_size)
{
	struct bp_control_wait wait = {.seconds = WAIT_S};

	return exchange(fd, socket_path, request, &wait, reply, err, err_size);
}

int bp_control_call_waiting(const char *socket_path, json_t *request,
	const struct bp_control_wait *wait, json_t **reply, char *err, size_t err_size)
{
	struct bp_control_wait left = *wait;
	const int fd = connect_within(socket_path, &left, err, err_size);
	int rc;

	*reply = NULL;
	if (fd < 0) {
		json_decref(request);
		return -1;
	}
	rc = exchange(fd, socket_path, request, &left, reply, err, err_size);
	close(fd);
	return rc;
}

int bp_control_call(
	const char *socket_path, json_t *request, json_t **reply, char *err, size_t err_size)
{
	return bp_control_call_waiting(socket_path, request,
		&(struct bp_control_wait){.seconds = WAIT_S}, reply, err, err_size);
}
