/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane capture`: the frames of a running instance, as pcapng or one line each. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/capture/capture_file.h"
#include "apps/biplane/capture/capture_options.h"
#include "apps/biplane/capture/frame_text.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/text.h"
#include "apps/biplane/which.h"

#define STEP_MS 10
/* A worker commits a frame within this time after it has read the clock for it, unless it is
 * interrupted: frames of several workers are in order then. */
#define ORDER_NS 2000000u

static volatile bool stop;

static void on_signal(int number)
{
	(void)number;
	stop = true;
}

/* What is captured, and where to. */
struct capture {
	const struct bp_capture_options *o;
	struct bp_capture_session s;
	struct bp_capture_file *file; /* NULL: text */
	uint64_t frames;
	uint64_t until_ns; /* CLOCK_REALTIME; UINT64_MAX: until a signal */
};

static uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool print_frame(const struct capture *c, const struct bp_capture_record *r)
{
	static const char *const points[] = {"rx", "tx", "drop"};
	char when[BP_TEXT_TIME], port[BP_NAME_MAX + 1], text[BP_FRAME_TEXT],
		reason[BP_CAPTURE_REASON] = "";

	bp_text_time(r->time_ns, when);
	bp_capture_session_port(&c->s, r->port, port);
	bp_frame_text(r->data, r->captured, text);
	if (r->point == BP_CAPTURE_DROP)
		bp_capture_session_reason(&c->s, r, reason);
	return printf("%s %s %s %u bytes %s%s%s\n", when, port, points[r->point], r->length, text,
		       reason[0] != '\0' ? " dropped: " : "", reason) > 0;
}

/* Writes the available frames. False: the output failed, or there are enough frames. */
static bool write_frames(struct capture *c, uint64_t until_ns)
{
	const struct bp_capture_record *r;

	bp_capture_session_look(&c->s);
	while ((r = bp_capture_session_next(&c->s, until_ns)) != NULL) {
		if (!(c->file != NULL ? bp_capture_file_frame(c->file, r) : print_frame(c, r)))
			return false;
		c->frames++;
		if (c->o->count != 0 && c->frames == c->o->count)
			return false;
	}
	return c->file != NULL ? bp_capture_file_flush(c->file) : fflush(stdout) == 0;
}

/* Until a signal, the time, the number of frames, or an error of the output. False: the control
 * plane has ended. */
static bool write_all(struct capture *c)
{
	bool more = true, connected = true;

	while (more && connected && !stop && unix_ns() < c->until_ns) {
		more = write_frames(c, unix_ns() - ORDER_NS);
		if (more)
			connected = bp_capture_session_wait(&c->s, STEP_MS);
	}
	if (connected)
		bp_capture_session_stop(&c->s);
	if (more)
		write_frames(c, UINT64_MAX);
	return connected;
}

/* The errno of the output, or 0. */
static int end_output(struct capture *c, const char **path)
{
	*path = "standard output";
	if (c->file != NULL)
		return bp_capture_file_end(c->file, path);
	return fflush(stdout) != 0 || ferror(stdout) ? errno : 0;
}

static void summarize(const struct capture *c)
{
	uint64_t lost = 0;

	for (unsigned p = 0; p <= BP_MAX_PORTS; p++)
		lost += bp_capture_session_lost(&c->s, p);
	/* frames beyond the requested number were not lost */
	if (c->o->count != 0 && c->frames == c->o->count)
		lost = 0;
	fprintf(stderr, "%llu frames captured, %llu lost\n", (unsigned long long)c->frames,
		(unsigned long long)lost);
}

static int run(struct capture *c, const struct bp_cli_command *command)
{
	bool connected;
	const char *path;
	int error;

	fprintf(stderr, "biplane %s: capturing; filter: %s\n", command->name,
		bp_capture_engine_names[bp_capture_session_engine(&c->s)]);
	connected = write_all(c);
	error = end_output(c, &path);
	summarize(c);
	if (error != 0 && error != EPIPE) {
		fprintf(stderr, "biplane %s: %s: %s\n", command->name, path, strerror(error));
		return BP_EX_IOERR;
	}
	if (!connected && error == 0) {
		fprintf(stderr, "biplane %s: the control plane ended the capture\n", command->name);
		return BP_EX_UNAVAILABLE;
	}
	return BP_EX_OK;
}

static void handle_signals(void)
{
	/* the second signal ends the command, whatever it does */
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int open_and_run(struct capture *c, const struct bp_cli_command *command,
	const struct bp_config_instance *id)
{
	const struct bp_capture_options *o = c->o;
	const struct bp_capture_file_options file = {.path = o->path,
		.size = o->file_size,
		.files = o->files,
		.snap_length = o->snap_length,
		.filter = o->filter,
		.no_port_interface = o->drops && o->ports == NULL,
		.stop = &stop};
	char err[512];
	int status =
		bp_capture_session_open(&c->s, command, id, bp_capture_options_request(o), &stop);

	if (status == BP_EX_OK && o->path != NULL) {
		c->file = bp_capture_file_open(&file, &c->s, err, sizeof(err));
		if (c->file == NULL) {
			fprintf(stderr, "biplane %s: %s\n", command->name, err);
			status = BP_EX_CANTCREAT;
		}
	}
	if (o->duration_ns != 0)
		c->until_ns = unix_ns() + o->duration_ns;
	if (status == BP_EX_OK)
		status = run(c, command);
	bp_capture_file_free(c->file);
	bp_capture_session_close(&c->s);
	return status;
}

static int capture_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_capture_options o;
	struct capture *c;
	struct bp_config_instance id;
	int status = bp_capture_options_read(&o, command, argc, argv);

	if (status == BP_EX_OK && !o.done) {
		c = calloc(1, sizeof(*c));
		status = bp_which_instance(command, o.config, o.instance, &id);
		if (c == NULL)
			status = BP_EX_OSERR;
		if (status == BP_EX_OK) {
			c->o = &o;
			c->until_ns = UINT64_MAX;
			handle_signals();
			status = open_and_run(c, command, &id);
		}
		free(c);
	}
	bp_capture_options_free(&o);
	return status;
}

static void complete_nothing(int n, char **operands, FILE *out)
{
	(void)n;
	(void)operands;
	(void)out;
}

const struct bp_cli_command bp_cmd_capture = {
	.name = "capture",
	.summary = "capture frames of a running instance",
	.synopsis = "[-i PORT]... [-w FILE] [--drops] [--direction rx|tx|both]\n"
		    "                       [-s BYTES] [-c COUNT] [--duration TIME] [-C MB [-W "
		    "FILES]]\n"
		    "                       [--config FILE | --instance NAME] [FILTER]",
	.text = "Captures frames that the ports of a running instance receive and send, or that "
		"it\n"
		"drops, while traffic runs. Writes a pcapng file with the names of the ports, the\n"
		"directions, and nanosecond times; without -w, one line for each frame. FILTER is\n"
		"an expression as for tcpdump, see pcap-filter(7).\n"
		"\n"
		"Needs no capability: access to the control socket of the instance is enough. The\n"
		"capture ends with a signal, -c or --duration. If the command is slower than the\n"
		"traffic, frames are lost and counted; the traffic is not delayed.",
	.example = "  biplane capture -i lan -w lan.pcapng 'tcp port 1883'\n"
		   "  biplane capture --drops\n"
		   "  biplane capture -w - | tshark -r -",
	.options = bp_capture_option_table,
	.main = capture_main,
	.complete = complete_nothing,
};
