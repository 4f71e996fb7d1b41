/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/replay/replay_rig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <pcap/pcap.h>

static char dir[64];

int replay_set_up(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/bp-replay-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

int replay_tear_down(void **state)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return -1;
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			unlink(replay_path(e->d_name));
	closedir(d);
	return rmdir(dir);
}

const char *replay_path(const char *name)
{
	static char p[16][384];
	static unsigned turn;
	char *out = p[turn++ % 16];

	snprintf(out, sizeof(p[0]), "%s/%s", dir, name);
	return out;
}

struct replay_capture {
	pcap_t *format;
	pcap_dumper_t *dumper;
};

struct replay_capture *replay_capture_begin(const char *name)
{
	struct replay_capture *c = malloc(sizeof(*c));

	assert_non_null(c);
	c->format =
		pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
	assert_non_null(c->format);
	c->dumper = pcap_dump_open(c->format, replay_path(name));
	assert_non_null(c->dumper);
	return c;
}

void replay_capture_put(
	struct replay_capture *c, uint64_t time_ns, const uint8_t *frame, uint32_t len)
{
	const struct pcap_pkthdr h = {.len = len,
		.caplen = len,
		.ts = {.tv_sec = (time_t)(time_ns / 1000000000u),
			.tv_usec = (suseconds_t)(time_ns % 1000000000u)}}; /* nanoseconds here */

	pcap_dump((u_char *)c->dumper, &h, frame);
}

void replay_capture_end(struct replay_capture *c)
{
	pcap_dump_close(c->dumper);
	pcap_close(c->format);
	free(c);
}

char *replay_text(const char *yaml, const struct replay_way *w, struct bp_replay_options o)
{
	const struct bp_replay_file in = {w->in_port, replay_path(w->in)};
	const struct bp_replay_file out = {w->out_port, replay_path(w->out)};
	FILE *config;
	char *report = NULL;
	size_t size;

	o.config_path = replay_path("c.yaml");
	o.in = &in;
	o.n_in = 1;
	o.out = &out;
	o.n_out = 1;
	config = fopen(o.config_path, "w");
	assert_non_null(config);
	assert_true(fputs(yaml, config) >= 0);
	assert_int_equal(fclose(config), 0);
	o.report = open_memstream(&report, &size);
	assert_non_null(o.report);
	assert_int_equal(bp_replay_run(&o), EX_OK);
	assert_int_equal(fclose(o.report), 0);
	assert_non_null(report);
	return report;
}

json_t *replay_json(const char *yaml, const struct replay_way *w, struct bp_replay_options o)
{
	json_error_t error;
	char *text;
	json_t *j;

	o.json = true;
	text = replay_text(yaml, w, o);
	j = json_loads(text, 0, &error);
	assert_non_null(j);
	assert_true(json_is_true(json_object_get(json_object_get(j, "totals"), "balanced")));
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(j, "drops"), "no_next_node")),
		0);
	free(text);
	return j;
}
