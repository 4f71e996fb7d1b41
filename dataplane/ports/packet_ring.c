/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/packet_ring.h"

#include <inttypes.h>
#include <linux/if_packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static bool is_version_2(int fd)
{
	int version = -1;
	socklen_t len = sizeof(version);

	return getsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, &len) == 0 &&
	       version == TPACKET_V2;
}

/*
 * The memory that is mapped from this socket. The driver has its address and passes it to no one,
 * but the kernel lists it with the inode of the socket. Returns NULL if there is none.
 */
static const uint8_t *mapping_of(int fd, size_t *size)
{
	const uint8_t *found = NULL;
	struct stat st;
	char line[512];
	FILE *f;

	if (fstat(fd, &st) != 0 || !(f = fopen("/proc/self/maps", "re")))
		return NULL;
	while (!found && fgets(line, sizeof(line), f)) {
		uintptr_t from, to;
		uint64_t inode;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " r%*s %*s %*s %" SCNu64 " socket:",
			    &from, &to, &inode) != 3 ||
			inode != st.st_ino)
			continue;
		found = (const uint8_t *)from;
		*size = to - from;
	}
	fclose(f);
	return found;
}

unsigned bp_packet_ring_foreign(int fd, uint32_t frame_size, unsigned ifindex)
{
	const size_t address = TPACKET_ALIGN(sizeof(struct tpacket2_hdr));
	const uint8_t *ring;
	size_t size = 0;
	unsigned n = 0;

	if (frame_size < address + sizeof(struct sockaddr_ll) || !is_version_2(fd))
		return 0;
	ring = mapping_of(fd, &size);
	/* the second half is the transmit ring */
	for (size_t at = 0; ring && at + frame_size <= size / 2; at += frame_size, n++) {
		const struct tpacket2_hdr *h = (const void *)(ring + at);
		const struct sockaddr_ll *from = (const void *)(ring + at + address);

		if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) ||
			from->sll_ifindex == (int)ifindex)
			break;
	}
	return n;
}
