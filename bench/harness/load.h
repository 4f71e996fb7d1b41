/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_LOAD_H
#define BP_BENCH_HARNESS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Common functions of load generators that send frames in one network namespace and observe the
 * result in another (bench/peers/packet_load.c, bench/peers/service_load.c). Every function
 * terminates the process with a message on failure.
 */
void bench_load_must(bool ok, const char *what); /* with the message of errno */
uint64_t bench_load_now_ns(void);                /* CLOCK_MONOTONIC, ns */

/* Moves the calling thread to that network namespace. */
void bench_load_enter(const char *name);

/* Opens a packet socket that sends frames on an interface, bypassing its queueing discipline. mac[]
 * is set to the MAC address of the interface. */
int bench_load_sender(const char *interface, uint8_t mac[6]);
/* Sends frames[0..n) unchanged; returns the number that the kernel accepted, which may be 0. */
struct iovec;
uint32_t bench_load_frames(int fd, struct iovec *frames, uint32_t n);

#define BENCH_LOAD_BATCH 32u /* maximum frames per call */

/* Opens a UDP socket at that port with a large buffer and a receive timeout of 50 ms. Of datagrams
 * with 4 bytes at `at` (network byte order) a filter passes only those divisible by `every`, a
 * power of two; the others are counted by UDP and dropped. every 1: all datagrams, also shorter
 * ones. */
int bench_load_receiver(uint16_t port, unsigned at, uint32_t every);

/* Opens the UDP counters of the namespace of the calling thread; valid while the thread lives. */
int bench_load_udp_open(void);
/* Datagrams that reached a UDP socket: those that were read, and dropped ones, most of them by the
 * filter. */
uint64_t bench_load_udp_arrived(int udp);

/*
 * Sends for a time with a function that gets the number of due items, 1 to BENCH_LOAD_BATCH, and
 * returns the number sent: at `rate` per second, or as fast as possible with rate 0. Items that are
 * late by more than 50 ms, after a pause of this process, are not sent as a burst. Returns the
 * number of items sent.
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
