/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/biplane/monitor/http.h"
#include "apps/biplane/monitor/monitor.h"
#include "config/segment.h"

/*
 * A client of the monitor's HTTP server, sending any bytes: whatever is answered is HTTP, and
 * nothing of the connection remains after it. The first byte selects whether a token is required.
 */

static const char file[] =
	"ports:\n"
	"  - {name: lan, device: a, routed: {addresses: [10.0.0.1/24]}}\n"
	"  - {name: a, device: b}\n"
	"  - {name: b, device: c}\n"
	"bridges: [{name: x, ports: [a, b]}]\n"
	"routing: {max_ipv4_routes: 64, max_ipv6_routes: 64, max_neighbors: 64, max_nexthops: 64, "
	"max_nexthop_groups: 16}\n"
	"mqtt:\n"
	"  max_connections: 64\n"
	"  publisher: {broker: \"mqtt://192.0.2.1\"}\n"
	"  rules: [{name: r, topic: t, raise: {above: 1}}]\n"
	"monitoring: {listen: \"127.0.0.1:9464\", max_connections: 4}\n";

static struct bp_monitor monitor;
static struct bp_http *http;

static void start(void)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	static char json[] = "{}";
	char err[1024];

	monitor.config = bp_config_parse("fuzz", file, sizeof(file) - 1, stderr);
	if (monitor.config == NULL)
		abort();
	memcpy(monitor.instance.name, "fuzz-monitor", 13);
	memcpy(monitor.instance.runtime_dir, "/nonexistent", 13);
	monitor.instance.no_hugepages = true;
	monitor.text.json = json;
	monitor.view.segment =
		bp_segment_anonymous(specs, bp_shm_specs(monitor.config, specs), err, sizeof(err));
	if (monitor.view.segment == NULL ||
		bp_shm_map(&monitor.view.shm, monitor.view.segment, err, sizeof(err)) != 0)
		abort();
	http = bp_http_new(&monitor, -1, err, sizeof(err));
	if (http == NULL)
		abort();
}

static void run(void)
{
	struct pollfd p = {.fd = bp_http_fd(http), .events = POLLIN};

	for (unsigned i = 0; i < 1000; i++) {
		bp_http_run(http);
		if (poll(&p, 1, 0) <= 0 && bp_http_timeout_ms(http) != 0)
			return;
	}
}

/* What has arrived, of which the first bytes are kept. */
static size_t heard(int fd, char *out, size_t size)
{
	char rest[4096];
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, rest, sizeof(rest), 0)) > 0) {
		const size_t room = size - len < (size_t)n ? size - len : (size_t)n;

		memcpy(out + len, rest, room);
		len += room;
		run();
	}
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char version[] = "HTTP/1.";
	char reply[16];
	int fd[2];
	size_t n;

	if (http == NULL)
		start();
	if (size < 1 || size > 65536)
		return 0;
	strcpy(monitor.secrets.token, data[0] & 1 ? "0123456789abcdef" : "");
	monitor.busy_until_ns = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0 ||
		bp_http_add(http, fd[1]) != 0)
		abort();
	run();
	/* in two pieces, so that requests end in the middle of what was received */
	for (size_t at = 1, end; at < size; at = end) {
		end = at == 1 && size > 2 ? 1 + (size - 1) / 2 : size;

		ssize_t sent = send(fd[0], data + at, end - at, MSG_NOSIGNAL);

		(void)sent; /* truncated to the buffer: any bytes are valid input */
		run();
	}
	n = heard(fd[0], reply, sizeof(reply));
	HOLDS(n == 0 || (n >= strlen(version) && memcmp(reply, version, strlen(version)) == 0));
	close(fd[0]);
	run();
	bp_http_streams(http, bp_monitor_unix_ns(), bp_monitor_mono_ns());
	run();
	HOLDS(bp_monitor_counters.connections == 0);
	HOLDS(bp_monitor_counters.answer_bytes == 0);
	HOLDS(bp_monitor_counters.event_streams == 0);
	return 0;
}
