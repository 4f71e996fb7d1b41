/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>

#include "apps/sim/sim_run.h"
#include "apps/sim/tracker/send.h"

#define LOOK_MS 50

/* Counts of the received packets, for the object at the end. */
struct got {
	uint64_t readings, too_short, begun_ns, last_ns;
	uint64_t since_last_ns; /* since something came, while this program ran: not while it could
				   not */
	uint64_t *delay_ns;     /* of each reading */
	size_t room;
};

static void print_address(const struct sockaddr_storage *a, FILE *out)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in *four = (const struct sockaddr_in *)a;
	char text[INET6_ADDRSTRLEN] = "";

	if (a->ss_family == AF_INET)
		inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
	fprintf(out, "%s,%u", text,
		ntohs(a->ss_family == AF_INET ? four->sin_port : six->sin6_port));
}

static void record_delay(struct got *g, uint64_t delay_ns)
{
	if (g->readings == g->room) {
		g->room = g->room == 0 ? 4096 : 2 * g->room;
		g->delay_ns = realloc(g->delay_ns, g->room * sizeof(*g->delay_ns));
		if (g->delay_ns == NULL)
			tracker_fatal("memory");
	}
	g->delay_ns[g->readings] = delay_ns;
}

static void take(const struct tracker_options *o, struct got *g, const uint8_t *bytes, size_t len,
	const struct sockaddr_storage *from, FILE *log)
{
	const uint64_t now = sim_mono_ns();
	struct tracker_sample r;

	g->begun_ns = g->begun_ns == 0 ? now : g->begun_ns;
	g->last_ns = now;
	g->since_last_ns = 0;
	if (!tracker_packet_read(bytes, (unsigned)len, o->timed, &r)) {
		g->too_short++;
		return;
	}
	record_delay(g, now > r.sent_ns ? now - r.sent_ns : 0);
	g->readings++;
	if (log == NULL)
		return;
	print_address(from, log);
	fprintf(log, ",%llu,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", (unsigned long long)r.number,
		r.radius, r.phi, r.theta, r.x, r.y, r.z);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double quantile_us(const struct got *g, double q)
{
	return g->readings == 0
		       ? 0
		       : (double)g->delay_ns[(size_t)(q * (double)(g->readings - 1))] / 1000;
}

static void print(struct got *g)
{
	qsort(g->delay_ns, g->readings, sizeof(*g->delay_ns), by_value);
	printf("{\"received\": %llu, \"too_short\": %llu, \"seconds\": %.6f, "
	       "\"delay_us\": {\"min\": %.1f, \"median\": %.1f, \"p99\": %.1f, \"max\": "
	       "%.1f}}\n",
		(unsigned long long)g->readings, (unsigned long long)g->too_short,
		(double)(g->last_ns - g->begun_ns) / 1e9, quantile_us(g, 0), quantile_us(g, 0.5),
		quantile_us(g, 0.99), quantile_us(g, 1));
	free(g->delay_ns);
}

static bool over(const struct tracker_options *o, const struct got *g)
{
	if (o->count != 0 && g->readings >= o->count)
		return true;
	return g->begun_ns != 0 && g->since_last_ns >= o->idle_ns;
}

void tracker_receive(const struct tracker_options *o, FILE *log, const volatile sig_atomic_t *stop)
{
	const int room = 64 << 20;
	const int fd = tracker_socket(&o->at);
	struct got g = {0};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (log != NULL)
		fputs("source,port,number,r,phi,theta,x,y,z\n", log);
	puts("ready");
	fflush(stdout);
	while (!*stop && !over(o, &g)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct sockaddr_storage from;
		socklen_t from_len = sizeof(from);
		uint8_t bytes[2048];
		ssize_t len;

		if (poll(&p, 1, LOOK_MS) <= 0) {
			g.since_last_ns += LOOK_MS * 1000000u;
			continue;
		}
		len = recvfrom(fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from,
			&from_len);
		if (len >= 0)
			take(o, &g, bytes, (size_t)len, &from, log);
		else if (errno != EAGAIN && errno != EINTR)
			tracker_fatal("recvfrom");
	}
	print(&g);
}
