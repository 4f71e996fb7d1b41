/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/transform/transform_tracker.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/phd_lab.h"
#include "bench/harness/veth_lab.h"
#include "services/transform/accuracy.h"

#define PLACES 2e-8 /* metres: half a unit of the last place, and the rounding of doubles */

void bench_tracker_make(struct bench_tracker *t)
{
	struct bp_transform_draw d = {0};

	bp_transform_draw_matrix(&d, t->m);
	for (uint32_t i = 0; i < BENCH_TRANSFORM_READINGS; i++) {
		bench_transform_frame(i, t->frame[i]);
		bench_transform_payload(i, t->payload[i]);
		t->data[i] = (struct iovec){t->frame[i], BENCH_TRANSFORM_FRAME};
		t->head[i].msg_hdr = (struct msghdr){.msg_iov = &t->data[i], .msg_iovlen = 1};
	}
}

/* Sends n readings as single frames; returns the number sent. */
static uint32_t send_frames(struct bench_tracker *t, uint32_t n)
{
	const int sent = sendmmsg(t->fd, &t->head[t->next], n, 0);

	bench_must(sent > 0 || errno == ENOBUFS || errno == EAGAIN, "send", strerror(errno));
	return sent > 0 ? (uint32_t)sent : 0;
}

/* Sends n readings in one packet. */
static uint32_t send_payloads(struct bench_tracker *t, uint32_t n)
{
	const size_t len = (size_t)n * BENCH_TRANSFORM_PAYLOAD;

	bench_must(
		send(t->fd, t->payload[t->next], len, 0) == (ssize_t)len, "send", strerror(errno));
	return n;
}

void bench_tracker_send(struct bench_tracker *t, uint32_t n)
{
	const uint32_t left = BENCH_TRANSFORM_READINGS - t->next;

	n = n < left ? n : left;
	n = t->frames ? send_frames(t, n) : send_payloads(t, n);
	t->sent += n;
	t->next = (t->next + n) % BENCH_TRANSFORM_READINGS;
}

/* ---- verification of results ---- */

static void check_reply(const struct bench_tracker *t, const uint8_t *payload)
{
	const double reading[3] = {(int32_t)bp_be32(payload) * 0x1p-25,
		bp_be32(payload + 4) * 0x1p-25, bp_be32(payload + 8) * 0x1p-25};
	long double place[3];

	bp_transform_reference(reading, t->m, place);
	for (unsigned k = 0; k < 3; k++) {
		const double got = (int32_t)bp_be32(payload + 12 + 4 * (size_t)k) * 0x1p-25;

		bench_must(fabsl(got - place[k]) <= PLACES, "robot", "a coordinate is wrong");
	}
}

/* All results received by the robot; waits a short time for the first. Returns their number. */
static uint32_t collect(const struct bench_tracker *t, int robot)
{
	struct pollfd p = {.fd = robot, .events = POLLIN};
	uint8_t payload[2048];
	uint32_t n = 0;

	if (poll(&p, 1, 10) <= 0)
		return 0;
	while (recv(robot, payload, sizeof(payload), MSG_DONTWAIT) ==
		(ssize_t)BENCH_TRANSFORM_PAYLOAD) {
		check_reply(t, payload);
		n++;
	}
	return n;
}

void bench_tracker_check(struct bench_tracker *t)
{
	const uint64_t end = bench_now_ns() + BENCH_TRACKER_PATIENCE_NS;
	const int robot = bench_veth_robot(false);
	uint32_t right = 0;

	while (right < BENCH_TRANSFORM_READINGS) {
		bench_must(bench_now_ns() < end, "robot", "the results did not come");
		bench_tracker_send(t, BENCH_TRACKER_PIECE);
		right += collect(t, robot);
	}
	while (collect(t, robot) != 0)
		;
	close(robot);
}
