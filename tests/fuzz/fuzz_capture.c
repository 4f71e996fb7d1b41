/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A capture from anywhere, as replay reads it: the file as libpcap takes it, and the frames of
 * every link type that become Ethernet frames.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "dataplane/replay/capture.h"
#include "dataplane/replay/capture_link.h"

static const int links[] = {
	DLT_EN10MB, DLT_NULL, DLT_LOOP, DLT_RAW, DLT_IPV4, DLT_IPV6, DLT_LINUX_SLL, DLT_LINUX_SLL2};

/* In memory of its own, so that what is read or written next to it is noticed. */
static void one_frame(const uint8_t *data, size_t size)
{
	static const uint8_t to[6] = {2, 0, 0, 0, 0, 9};
	const int link = links[data[0] % (sizeof(links) / sizeof(links[0]))];
	const size_t len = size - 1;
	uint8_t *in = exact_copy(data + 1, len), *out = malloc(len + BP_CAPTURE_LINK_MORE);
	size_t skipped, n;

	HOLDS(out != NULL);
	n = bp_capture_link_frame(link, in, len, data[0] & 0x80 ? to : NULL, out, &skipped);
	if (n != 0) {
		HOLDS(n == len - skipped + BP_CAPTURE_LINK_MORE);
		HOLDS(memcmp(out + BP_CAPTURE_LINK_MORE, in + skipped, len - skipped) == 0);
		HOLDS(!(out[6] & 1)); /* no group sends */
	}
	free(in);
	free(out);
}

static void whole_file(const uint8_t *data, size_t size)
{
	struct bp_captures *c = bp_captures_create();
	int fd = memfd_create("capture", 0);
	struct bp_capture_frame f;
	char path[64], err[256];
	uint8_t sum = 0;

	HOLDS(c != NULL && fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (bp_captures_add(c, path, err, sizeof(err)) == 0)
		while (bp_captures_next(c, &f))
			for (uint32_t i = 0; i < f.len; i++)
				sum ^= f.data[i];
	__asm__ volatile("" : : "r"(sum));
	bp_captures_free(c);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	one_frame(data, size);
	whole_file(data, size);
	return 0;
}
