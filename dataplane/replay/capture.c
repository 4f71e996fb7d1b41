/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "dataplane/replay/capture_link.h"

struct file {
	pcap_t *pcap;
	bool has; /* a frame was read and is not consumed yet */
	const struct pcap_pkthdr *head;
	const u_char *data;
	uint64_t time_ns;
	int link;           /* DLT_* */
	uint8_t *rewritten; /* for link types other than Ethernet: the frame as Ethernet */
	size_t room;
	uint64_t skipped;
	bool has_to;
	uint8_t to[6];
	char error[PCAP_ERRBUF_SIZE];
};

struct bp_captures {
	struct file *file;
	unsigned n;
};

struct bp_captures *bp_captures_create(void)
{
	return calloc(1, sizeof(struct bp_captures));
}

void bp_captures_free(struct bp_captures *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->n; i++) {
		pcap_close(c->file[i].pcap);
		free(c->file[i].rewritten);
	}
	free(c->file);
	free(c);
}

/* libpcap keeps the frame until it reads the next one of that file. */
static void advance(struct file *f)
{
	struct pcap_pkthdr *head;
	int rc = pcap_next_ex(f->pcap, &head, &f->data);

	f->has = rc == 1;
	if (rc == PCAP_ERROR)
		snprintf(f->error, sizeof(f->error), "%s", pcap_geterr(f->pcap));
	if (!f->has)
		return;
	f->head = head;
	/* opened with nanosecond precision: tv_usec holds nanoseconds */
	f->time_ns = head->ts.tv_sec < 0
			     ? 0
			     : (uint64_t)head->ts.tv_sec * 1000000000u + (uint64_t)head->ts.tv_usec;
}

int bp_captures_add(struct bp_captures *c, const char *path, char *err, size_t err_size)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	struct file *more = realloc(c->file, (c->n + 1) * sizeof(*more));

	if (!more) {
		snprintf(err, err_size, "no memory for another capture");
		return -1;
	}
	c->file = more;
	memset(&more[c->n], 0, sizeof(*more));
	more[c->n].pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, why);
	if (!more[c->n].pcap) {
		/* some messages of libpcap begin with the file name */
		if (strncmp(why, path, strlen(path)) == 0)
			snprintf(err, err_size, "cannot read the capture %s", why);
		else
			snprintf(err, err_size, "cannot read the capture %s: %s", path, why);
		return -1;
	}
	more[c->n].link = pcap_datalink(more[c->n].pcap);
	if (!bp_capture_link_known(more[c->n].link)) {
		const char *name = pcap_datalink_val_to_name(more[c->n].link);

		snprintf(err, err_size,
			"the capture %s has link type %s (%d), which is not supported; use "
			"one of: %s",
			path, name ? name : "unknown", more[c->n].link, bp_capture_link_names);
		pcap_close(more[c->n].pcap);
		return -1;
	}
	c->n++;
	advance(&more[c->n - 1]);
	return 0;
}

static struct file *earliest(struct bp_captures *c)
{
	struct file *first = NULL;

	/*
	 * Advances the file of the last returned frame only now, since the caller does not need the
	 * frame any more.
	 */
	for (unsigned i = 0; i < c->n; i++)
		if (c->file[i].has && c->file[i].data == NULL)
			advance(&c->file[i]);
	for (unsigned i = 0; i < c->n; i++)
		if (c->file[i].has && (!first || c->file[i].time_ns < first->time_ns))
			first = &c->file[i];
	return first;
}

/* False: the frame has no equivalent in Ethernet, or there is no memory for it. */
static bool rewrite(struct file *f, struct bp_capture_frame *frame)
{
	const size_t need = frame->len + BP_CAPTURE_LINK_MORE;
	size_t n, skipped;

	if (need > f->room) {
		uint8_t *more = realloc(f->rewritten, need);

		if (!more)
			return false;
		f->rewritten = more;
		f->room = need;
	}
	n = bp_capture_link_frame(
		f->link, frame->data, frame->len, f->has_to ? f->to : NULL, f->rewritten, &skipped);
	frame->data = f->rewritten;
	frame->wire_len = frame->wire_len - (uint32_t)skipped + BP_CAPTURE_LINK_MORE;
	frame->len = (uint32_t)n;
	return n != 0;
}

bool bp_captures_next(struct bp_captures *c, struct bp_capture_frame *frame)
{
	struct file *first;

	while ((first = earliest(c)) != NULL) {
		frame->file = (unsigned)(first - c->file);
		frame->time_ns = first->time_ns;
		frame->data = first->data;
		frame->len = first->head->caplen;
		frame->wire_len = first->head->len;
		first->data = NULL;
		if (first->link == DLT_EN10MB || rewrite(first, frame))
			return true;
		first->skipped++;
	}
	return false;
}

void bp_captures_deliver_to(struct bp_captures *c, unsigned file, const uint8_t mac[6])
{
	c->file[file].has_to = true;
	memcpy(c->file[file].to, mac, 6);
}

uint64_t bp_captures_skipped(const struct bp_captures *c, unsigned file)
{
	return c->file[file].skipped;
}

uint64_t bp_captures_time(const struct bp_captures *c)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < c->n; i++)
		if (c->file[i].has && c->file[i].time_ns < first)
			first = c->file[i].time_ns;
	return first == UINT64_MAX ? 0 : first;
}

const char *bp_captures_error(const struct bp_captures *c, unsigned file)
{
	return c->file[file].error[0] ? c->file[file].error : NULL;
}
