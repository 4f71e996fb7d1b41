/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Publishes the alerts that Suricata writes to a Unix socket (EVE JSON, one object per line) as
 * alarms: topic and payload of the PUBLISH that the rule matched, QoS 1, to alarm/TOPIC.
 *
 *   eve_alarms SOCKET BROKER
 *
 * It creates SOCKET and prints "ready" when Suricata can connect to it.
 */
#include <errno.h>
#include <jansson.h>
#include <mosquitto.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench/alarm/alarm_client.h"

#define TOPIC_MAX 256
#define BUFFER_SIZE (1u << 20)
#define MISC_MS 1000 /* keep-alive of the connection to the broker */

static void on_connect(struct mosquitto *m, void *ready, int rc)
{
	(void)m;
	if (rc != 0)
		bench_alarm_die("connection", MOSQ_ERR_CONN_REFUSED);
	atomic_store((atomic_bool *)ready, true);
}

static void publish(struct mosquitto *m, const char *topic, const char *payload)
{
	char to[TOPIC_MAX];
	int rc;

	snprintf(to, sizeof(to), "alarm/%s", topic);
	rc = mosquitto_publish(m, NULL, to, (int)strlen(payload), payload, 1, false);
	if (rc != MOSQ_ERR_SUCCESS)
		bench_alarm_die("an alarm", rc);
}

static void on_line(struct mosquitto *m, const char *line)
{
	const char *topic = NULL, *message = NULL;
	json_t *event = json_loads(line, 0, NULL);

	/* other events, and alerts without a PUBLISH, are skipped */
	if (event != NULL && json_unpack(event, "{s:{s:{s:s, s:s}}}", "mqtt", "publish", "topic",
				     &topic, "message", &message) == 0)
		publish(m, topic, message);
	json_decref(event);
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(at.sun_path)) {
		fprintf(stderr, "eve_alarms: %s is too long for a socket\n", path);
		exit(1);
	}
	strcpy(at.sun_path, path);
	unlink(path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
		listen(fd, 1) != 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

/* The lines that have arrived: what follows the last one remains in the buffer. */
static bool read_events(struct mosquitto *m, int fd)
{
	static char buffer[BUFFER_SIZE + 1];
	static size_t used;
	const ssize_t n = read(fd, buffer + used, BUFFER_SIZE - used);
	char *line = buffer, *end;

	if (n <= 0)
		return false;
	used += (size_t)n;
	buffer[used] = '\0';
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		on_line(m, line);
	}
	used -= (size_t)(line - buffer);
	memmove(buffer, line, used);
	return true;
}

/* One thread: an alarm is sent by the call that publishes it. */
static void run(struct mosquitto *m, int events)
{
	struct pollfd fds[2] = {{.fd = events, .events = POLLIN}, {.fd = mosquitto_socket(m)}};
	int rc = MOSQ_ERR_SUCCESS;
	bool open = true;

	while (open && rc == MOSQ_ERR_SUCCESS) {
		fds[1].events = (short)(mosquitto_want_write(m) ? POLLIN | POLLOUT : POLLIN);
		if (poll(fds, 2, MISC_MS) < 0 && errno != EINTR)
			return;
		if (fds[0].revents != 0)
			open = read_events(m, events);
		if (fds[1].revents & POLLOUT)
			rc = mosquitto_loop_write(m, 1);
		if (rc == MOSQ_ERR_SUCCESS && (fds[1].revents & ~POLLOUT))
			rc = mosquitto_loop_read(m, 1);
		if (rc == MOSQ_ERR_SUCCESS)
			rc = mosquitto_loop_misc(m);
	}
	if (rc != MOSQ_ERR_SUCCESS)
		bench_alarm_die("the broker", rc);
}

int main(int argc, char **argv)
{
	atomic_bool ready = false;
	struct mosquitto *m;
	int fd, events;

	if (argc != 3) {
		fprintf(stderr, "usage: eve_alarms SOCKET BROKER\n");
		return 64;
	}
	mosquitto_lib_init();
	m = bench_alarm_client(argv[2], NULL, NULL, &ready);
	mosquitto_connect_callback_set(m, on_connect);
	mosquitto_max_inflight_messages_set(
		m, 0); /* an alarm does not wait for the PUBACK of another */
	while (!atomic_load(&ready)) {
		const int rc = mosquitto_loop(m, MISC_MS, 1);

		if (rc != MOSQ_ERR_SUCCESS)
			bench_alarm_die(argv[2], rc);
	}
	fd = listen_at(argv[1]);
	puts("ready");
	fflush(stdout);
	events = accept(fd, NULL, NULL);
	if (events < 0) {
		perror(argv[1]);
		return 1;
	}
	run(m, events);
	return 0;
}
