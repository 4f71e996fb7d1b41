/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * biplane-wan-sim: delay, jitter, loss and a bottleneck between two interfaces, for experiments
 * without netem in the kernel. See --help.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "apps/sim/sim_run.h"
#include "apps/sim/wan/options.h"
#include "apps/sim/wan/socket.h"

/* Frames of one direction before the other is polled. */
#define TURN 64

struct direction {
	const char *name;
	int in, out;
	struct wan_path path;
	uint64_t refused; /* by the kernel, when they were to leave */
};

static void take_in(struct direction *d)
{
	static uint8_t frame[WAN_FRAME_MAX];

	for (int i = 0; i < TURN; i++) {
		const ssize_t len = wan_socket_receive(d->in, frame);

		if (len <= 0)
			return;
		if (wan_path_put(&d->path, sim_mono_ns(), frame, (size_t)len) != 0) {
			fputs("biplane-wan-sim: not enough memory\n", stderr);
			exit(71);
		}
	}
}

static void send_due(struct direction *d)
{
	for (int i = 0; i < TURN; i++) {
		struct wan_frame *f = wan_path_take(&d->path, sim_mono_ns());

		if (f == NULL)
			return;
		if (!wan_socket_send(d->out, f->data, f->len))
			d->refused++;
		free(f);
	}
}

static void await(struct direction d[2], const sigset_t *mask)
{
	struct pollfd fds[2] = {
		{.fd = d[0].in, .events = POLLIN}, {.fd = d[1].in, .events = POLLIN}};
	const uint64_t a = wan_path_due_ns(&d[0].path), b = wan_path_due_ns(&d[1].path);
	const uint64_t due = a < b ? a : b, now = sim_mono_ns();
	const uint64_t left = due > now ? due - now : 0;
	const struct timespec wait = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};

	if (ppoll(fds, 2, due != UINT64_MAX ? &wait : NULL, mask) < 0 && errno != EINTR) {
		perror("biplane-wan-sim: ppoll");
		exit(71);
	}
}

static void report(const struct direction *d, const char *end)
{
	const struct wan_counts *c = &d->path.counts;
	const double n = c->taken != 0 ? (double)c->taken : 1;

	printf("\"%s\": {\"received\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"full\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"under_way\": %" PRIu32
	       ", \"delay_mean_us\": %.1f, \"late_mean_us\": %.1f, \"late_most_us\": %.1f}%s",
		d->name, c->received, c->taken - d->refused, c->lost, c->full, d->refused,
		d->path.n, (double)c->waited / n / 1e3, (double)c->late / n / 1e3,
		(double)c->latest / 1e3, end);
}

int main(int argc, char **argv)
{
	struct direction d[2] = {{.name = "there"}, {.name = "back"}};
	struct wan_options o;
	sigset_t mask;

	wan_options_read(&o, argc, argv);
	sim_take_signals(&mask);
	prctl(PR_SET_TIMERSLACK, 1ul); /* the kernel's default is 50 us */
	for (int i = 0; i < 2; i++) {
		d[i].in = d[1 - i].out = wan_socket_open(o.interface[i]);
		if (wan_path_init(&d[i].path, &o.path, o.seed + (uint64_t)i) != 0) {
			fputs("biplane-wan-sim: not enough memory for --limit\n", stderr);
			return 71;
		}
	}
	puts("ready");
	fflush(stdout);
	while (sim_signals == 0) {
		await(d, &mask);
		for (int i = 0; i < 2; i++) {
			take_in(&d[i]);
			send_due(&d[i]);
		}
	}
	fputs("{", stdout);
	report(&d[0], ", ");
	report(&d[1], "}\n");
	for (int i = 0; i < 2; i++)
		wan_path_free(&d[i].path);
	return 0;
}
