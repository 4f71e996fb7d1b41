/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_ASSOCIATION_LOAD_H
#define BP_BENCH_HEALTH_ASSOCIATION_LOAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Pulse oximeters that associate, each from an address of its own, over one UDP socket: AARQ with a
 * configuration of the device's own, its configuration report, and the answer to the manager's
 * question for the MDS. A certain number of them is under way at any time, so that the manager is
 * never idle and its socket never full.
 */
#define BENCH_DEVICES_FIRST 0x0a400000u /* 10.64.0.0 on, a /10 of addresses of this machine */
#define BENCH_DEVICES_MAX (1u << 22)
#define BENCH_MANAGER 0x0a000001u /* 10.0.0.1 */
#define BENCH_MANAGER_PORT 6024u
#define BENCH_DEVICES_PORT 40000u

struct bench_association_load {
	uint32_t under_way; /* at most so many at a time */
	uint32_t at_least;  /* devices, */
	uint64_t for_ns;    /* and so long at least */
	uint32_t at_most;
	const uint8_t *config; /* their configuration report; NULL: one with time stamps */
	uint32_t config_len;
	/* what resulted from it */
	int fd; /* the socket, at port BENCH_DEVICES_PORT: the caller's from then on */
	uint32_t begun, done;
	uint64_t took_ns;
	uint64_t aares, configured, told; /* answers to AARQ and to configurations; MDS reported */
	uint64_t others;                  /* what none of that is: not one may come */
	bool stuck;                       /* nothing was received any more */
};

/* Where a datagram goes with sendmmsg(), and what says which device it is of. */
struct bench_association_place {
	struct sockaddr_in peer;
	struct iovec data;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in_pktinfo))];
};
/* Makes *m one of device `i` to the manager. */
void bench_association_from(
	struct mmsghdr *m, struct bench_association_place *p, uint32_t i, void *apdu, size_t len);

/* Ends the process when something is refused. */
void bench_association_load(struct bench_association_load *l);

#endif
