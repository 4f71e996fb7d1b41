/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_ASSOCIATION_LOAD_H
#define BP_BENCH_HEALTH_ASSOCIATION_LOAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Load generator: pulse oximeters that associate, each from an address of its own, over one UDP
 * socket. A device sends an AARQ with a configuration of its own, its configuration report, and the
 * answer to the manager's request for the MDS. A constant number of associations is in progress, so
 * that the manager is never idle and its socket buffer never full.
 */
#define BENCH_DEVICES_FIRST 0x0a400000u /* 10.64.0.0 on, a local /10 */
#define BENCH_DEVICES_MAX (1u << 22)
#define BENCH_MANAGER 0x0a000001u /* 10.0.0.1 */
#define BENCH_MANAGER_PORT 6024u
#define BENCH_DEVICES_PORT 40000u

struct bench_association_load {
	uint32_t under_way; /* maximum associations in progress */
	uint32_t at_least;  /* minimum number of devices, */
	uint64_t for_ns;    /* and minimum duration */
	uint32_t at_most;
	const uint8_t *config; /* their configuration report; NULL: one with time stamps */
	uint32_t config_len;
	/* results */
	int fd; /* the socket, bound to port BENCH_DEVICES_PORT; the caller closes it */
	uint32_t begun, done;
	uint64_t took_ns;
	uint64_t aares, configured, told; /* answers to AARQs and to configurations; MDS received */
	uint64_t others;                  /* any other datagram: must remain 0 */
	bool stuck;                       /* no answer arrived any more */
};

/* Datagrams for sendmmsg(), with their devices. */
struct bench_association_place {
	struct sockaddr_in peer;
	struct iovec data;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in_pktinfo))];
};
/* Fills *m with a datagram from device `i` to the manager. */
void bench_association_from(
	struct mmsghdr *m, struct bench_association_place *p, uint32_t i, void *apdu, size_t len);

/* Terminates the process on failure. */
void bench_association_load(struct bench_association_load *l);

#endif
