/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * biplane-phd-sim: simulated personal health devices, implemented from the standard. It does not
 * link gateway code, in particular not its codec. See --help.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "apps/sim/phd/sim.h"
#include "apps/sim/sim_run.h"

#define EVENTS 256

static void fatal(const char *what)
{
	fprintf(stderr, "biplane-phd-sim: %s: %s\n", what, strerror(errno));
	exit(71);
}

/* A socket a device, and a few more. */
static void allow_files(unsigned count)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_cur >= count + 16)
		return;
	l.rlim_cur = count + 16;
	if (l.rlim_max < l.rlim_cur)
		l.rlim_max = l.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &l) != 0)
		fatal("cannot have as many sockets as devices");
}

static void open_log(struct sim *s)
{
	if (s->o.report_file == NULL)
		return;
	s->log = strcmp(s->o.report_file, "-") == 0 ? stdout : fopen(s->o.report_file, "we");
	if (s->log == NULL)
		fatal(s->o.report_file);
}

static void begin(struct sim *s)
{
	allow_files(s->o.count);
	open_log(s);
	sim_take_signals(&s->signals);
	signal(SIGPIPE, SIG_IGN);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		fatal("epoll_create1");
	s->random = s->o.seed;
	s->device = calloc(s->o.count, sizeof(s->device[0]));
	if (s->device == NULL)
		fatal("memory for the devices");
	sim_heap_make(s);
	s->now_ns = s->started_ns = sim_mono_ns();
	for (unsigned i = 0; i < s->o.count; i++)
		sim_device_begin(s, &s->device[i], i);
}

static void run_due_timers(struct sim *s)
{
	/* Each at most once per iteration: devices that report continuously must not block the
	 * responses of others. */
	for (unsigned i = 0; i < s->o.count && s->heap[0]->timer_ns <= s->now_ns; i++)
		sim_device_on_timer(s, s->heap[0]);
}

static void wait_for_events(struct sim *s)
{
	struct epoll_event events[EVENTS];
	uint64_t wake = s->heap[0]->timer_ns;
	uint64_t wait = wake == SIM_NEVER  ? 3600000000000u
			: wake > s->now_ns ? wake - s->now_ns
					   : 0;
	struct timespec t = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
	int n = epoll_pwait2(s->epoll, events, EVENTS, &t, &s->signals);

	if (n < 0 && errno != EINTR)
		fatal("epoll_pwait2");
	s->now_ns = sim_mono_ns();
	for (int i = 0; i < n; i++)
		sim_net_event(s, events[i].data.ptr, events[i].events);
}

static void stop(struct sim *s)
{
	s->stopping = true;
	for (unsigned i = 0; i < s->o.count; i++)
		sim_device_stop(s, &s->device[i]);
}

static void finish(struct sim *s)
{
	if (s->log != NULL)
		sim_summary(s, s->log);
	if (s->log != stdout)
		sim_summary(s, stdout);
	for (unsigned i = 0; i < s->o.count; i++) {
		sim_net_close(s, &s->device[i]);
		free(s->device[i].input);
	}
	if (s->log != NULL)
		fclose(s->log);
	free(s->heap);
	free(s->device);
}

int main(int argc, char **argv)
{
	struct sim s = {.stopping = false};
	bool well;

	sim_options_read(&s.o, argc, argv);
	begin(&s);
	while (s.done < s.o.count && sim_signals < 2) {
		if (sim_signals > 0 && !s.stopping)
			stop(&s);
		run_due_timers(&s);
		if (s.log != NULL)
			fflush(s.log); /* a reader that waits for an event gets it immediately */
		if (s.done < s.o.count)
			wait_for_events(&s);
	}
	well = s.done == s.o.count && s.counts.rejected == 0 && s.counts.refused == 0 &&
	       s.counts.given_up == 0 && s.counts.unreadable == 0;
	finish(&s);
	return well ? 0 : 1;
}
