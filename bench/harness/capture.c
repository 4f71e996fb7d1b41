/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/capture.h"

#include <pcap/pcap.h>
#include <stdio.h>

int bench_capture(const char *path, uint32_t n, bench_capture_frame make, const void *arg)
{
	pcap_t *p = pcap_open_dead(DLT_EN10MB, 65535);
	pcap_dumper_t *d = p != NULL ? pcap_dump_open(p, path) : NULL;
	uint8_t frame[BENCH_CAPTURE_FRAME_MAX];
	int rc;

	if (d == NULL) {
		fprintf(stderr, "%s: %s\n", path, p != NULL ? pcap_geterr(p) : "no memory");
		if (p != NULL)
			pcap_close(p);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct pcap_pkthdr h = {0};

		h.len = h.caplen = make(i, frame, arg);
		pcap_dump((u_char *)d, &h, frame);
	}
	rc = pcap_dump_flush(d) == 0 ? 0 : -1;
	if (rc != 0)
		perror(path);
	pcap_dump_close(d);
	pcap_close(p);
	return rc;
}
