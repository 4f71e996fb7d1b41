/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_LOAD_H
#define BP_BENCH_HARNESS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whoever sends frames in one network namespace and looks in another at what comes of them
 * (bench/peers/packet_load.c, bench/peers/service_load.c). Every function ends the process, with a
 * sentence, when something is refused.
 */
void bench_load_must(bool ok, const char *what); /* errno says why */
uint64_t bench_load_now_ns(void);                /* monotonic */

/* This thread is then in that namespace. */
void bench_load_enter(const char *name);

/* A packet socket by which frames leave at an interface, past its queueing discipline. mac[]
 * becomes the interface's. */
int bench_load_sender(const char *interface, uint8_t mac[6]);
/* Sends frames[0..n) as they are; returns how many the kernel took, which may be none. */
struct iovec;
uint32_t bench_load_frames(int fd, struct iovec *frames, uint32_t n);

#define BENCH_LOAD_BATCH 32u /* the most frames in one call */

/* A UDP socket at that port with room for much, which waits 50 ms for a datagram. Of those whose
 * payload has 4 bytes at `at` (network order) it gets those that `every`, a power of two, divides;
 * the others are counted by UDP and dropped. every 1: all of them, also shorter ones. */
int bench_load_receiver(uint16_t port, unsigned at, uint32_t every);

/* The UDP counters of the calling thread's namespace, for as long as the thread lives. */
int bench_load_udp_open(void);
/* Datagrams that came to a UDP socket: those that were read, and those that were not, of which a
 * filter's are most. */
uint64_t bench_load_udp_arrived(int udp);

/*
 * Sends for so long, by a function that is told how many are due, 1 to BENCH_LOAD_BATCH, and
 * returns how many it could send: `rate` a second, or with rate 0 as many as it can. What is late
 * by more than a twentieth of a second, after a pause of this process, is not sent at once: a burst
 * is not what is measured. Returns the number of what was sent.
 */
uint64_t bench_load_send(double rate, double seconds,
	uint32_t (*send)(void *arg, uint64_t sent, uint32_t n), void *arg);

/*
 * An open loop: frame i has the intended send time begin_ns + i / rate, whether the frames before
 * it were sent in time or not. A late frame is sent immediately and its intended send time remains,
 * so a latency from there includes the delay in the sender (no coordinated omission). The thread
 * polls if the next frame is due soon.
 */
struct bench_load_open {
	double rate, seconds; /* frames/s */
	uint64_t begin_ns;    /* intended send time of frame 0 */
	/* results */
	uint64_t intended;    /* rate * seconds */
	uint64_t sent;        /* fewer, if the sender cannot keep up with the rate */
	uint64_t end_ns;      /* after the last frame */
	uint64_t max_late_ns; /* of a call of send() after the intended send time of its frames */
};
uint64_t bench_load_intended_ns(const struct bench_load_open *l, uint64_t frame);
void bench_load_send_open(struct bench_load_open *l,
	uint32_t (*send)(void *arg, uint64_t sent, uint32_t n), void *arg);

#endif
