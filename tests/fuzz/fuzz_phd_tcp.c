/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "controlplane/health/tcp.h"
#include "proto/health/phd_apdu.h"

/*
 * A health device on TCP that sends any bytes in any pieces: the manager gets whole APDUs, each as
 * long as it says itself, in order and nothing else, and a stream that is none is closed. The input
 * is a row of pieces, each {length, bytes}.
 */

static struct event_base *base;
static struct bp_phd_tcp *tcp;
static struct sockaddr_in at;
static const uint8_t *sent;
static size_t n_sent, n_received;

static void receive(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	(void)arg;
	HOLDS(len >= 4 && bp_phd_apdu_size(apdu, len) == len);
	HOLDS(len <= n_sent - n_received && memcmp(apdu, sent + n_received, len) == 0);
	n_received += len;
	if (apdu[len - 1] == 0xa5)
		bp_phd_tcp_close(tcp, from->connection);
	else if (apdu[len - 1] & 1)
		bp_phd_tcp_send(tcp, from->connection, apdu, len);
}

static void gone(void *arg, uint32_t connection)
{
	(void)arg;
	(void)connection;
}

static void start(void)
{
	static const struct bp_phd_tcp_ops ops = {.receive = receive, .on_disconnect = gone};
	static const struct bp_phd_tcp_limits limits = {.connections = 8, .idle_s = 1};
	socklen_t len = sizeof(at);
	char err[256];
	int fd = bp_phd_tcp_socket(0, err, sizeof(err));
	struct sockaddr_storage own;

	len = sizeof(own);
	base = event_base_new();
	if (base == NULL || fd < 0 || getsockname(fd, (struct sockaddr *)&own, &len) != 0)
		abort();
	at.sin_family = AF_INET;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.sin_port = own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
						: ((struct sockaddr_in *)&own)->sin_port;
	tcp = bp_phd_tcp_new(base, fd, &limits, &ops, NULL, err, sizeof(err));
	if (tcp == NULL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct linger reset = {1, 0};
	uint8_t *bytes = malloc(size + 1), scratch[512];
	int fd;

	if (tcp == NULL)
		start();
	if (bytes == NULL)
		abort();
	sent = bytes;
	n_sent = n_received = 0;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		abort();
	while (size > 1) {
		size_t n = data[0] < size - 1 ? data[0] : size - 1;

		memcpy(bytes + n_sent, data + 1, n);
		n_sent += n;
		if (n != 0 && send(fd, data + 1, n, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)n)
			break; /* closed */
		event_base_loop(base, EVLOOP_NONBLOCK);
		while (recv(fd, scratch, sizeof(scratch), MSG_DONTWAIT) > 0)
			;
		data += 1 + n;
		size -= 1 + n;
	}
	/* without the state TIME-WAIT, or the ports are used up */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	for (unsigned i = 0; i < 4; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	free(bytes);
	return 0;
}
