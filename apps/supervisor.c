/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apps/exit_status.h"

#define NEVER UINT64_MAX
#define TELL_AGAIN_NS 1000000000ull

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void __attribute__((format(printf, 2, 3)))
report(const struct bp_supervisor *s, const char *format, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	/* one write: the planes write to the same terminal */
	fprintf(s->log, "biplane: %s\n", line);
	fflush(s->log);
}

static void tell(struct bp_supervisor *s)
{
	bool done = !s->changed || s->changed(s, s->arg);

	s->tell_at_ns = done ? NEVER : s->now_ns + TELL_AGAIN_NS;
}

/* In the child, between fork and exec. */
static void __attribute__((noreturn))
become(const struct bp_sup_plane *p, pid_t parent, const sigset_t *mask)
{
	struct sigaction act = {.sa_handler = SIG_DFL};

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0); /* it died before the line above: nobody is left to tell */
	setpgid(0, 0);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGCHLD, &act, NULL);
	/* until a plane has its handler, and in the one that has none: not deadly */
	act.sa_handler = SIG_IGN;
	sigaction(SIGHUP, &act, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);

	/* life signs of two processes would be taken for one; `biplane run` gives none */
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");

	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null > 0)
		dup2(null, STDIN_FILENO);
	if (bp_hand_down(&p->fds) == 0)
		execv(p->path, p->argv);

	const char *why = strerror(errno);
	dprintf(STDERR_FILENO, "biplane: the %s could not be started: %s: %s\n", p->name, p->path,
		why);
	_exit(BP_EX_OSERR);
}

static void plan_restart(struct bp_supervisor *s, struct bp_sup_plane *p, uint64_t wait_ns)
{
	p->start_at_ns = s->now_ns + wait_ns;
}

static void start(struct bp_supervisor *s, struct bp_sup_plane *p, const sigset_t *mask)
{
	pid_t pid;

	if (p->prepare)
		p->prepare(p, s->arg);
	pid = fork();
	if (pid == 0)
		become(p, s->own_pid, mask);
	if (pid < 0) {
		uint64_t wait = bp_backoff_next(&p->backoff, 0, false);

		report(s, "no process for the %s: %s; trying again in %u ms", p->name,
			strerror(errno), (unsigned)(wait / 1000000));
		plan_restart(s, p, wait);
		return;
	}
	p->pid = pid;
	p->started_ns = s->now_ns;
	p->start_at_ns = NEVER;
	if (p->starts++)
		p->restarts++;
	report(s, "%s %s: pid %ld", p->name, p->starts > 1 ? "restarted" : "started", (long)pid);
	tell(s);
}

static void begin_stop(struct bp_supervisor *s, int status)
{
	s->stopping = true;
	if (s->status == 0)
		s->status = status;
	for (unsigned i = 0; i < s->n; i++)
		s->planes[i].start_at_ns = NEVER;
}

static bool hopeless(int status)
{
	return status == BP_EX_USAGE || status == BP_EX_UNAVAILABLE || status == BP_EX_OSERR ||
	       status == BP_EX_CONFIG;
}

/* "exited with status 3" or "was killed by signal 9 (Killed)" */
static void describe(int wstatus, char *out, size_t size)
{
	if (WIFSIGNALED(wstatus))
		snprintf(out, size, "was killed by signal %d (%s)%s", WTERMSIG(wstatus),
			strsignal(WTERMSIG(wstatus)),
			WCOREDUMP(wstatus) ? " and left a core dump" : "");
	else
		snprintf(out, size, "exited with status %d", WEXITSTATUS(wstatus));
}

static void ended_while_stopping(
	struct bp_supervisor *s, const struct bp_sup_plane *p, int wstatus, const char *how)
{
	/* killed by our SIGTERM before it had a handler: it had nothing to drain yet */
	bool orderly = (WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 0) ||
		       (WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGTERM && p->told_to_end);

	if (orderly) {
		report(s, "%s ended", p->name);
		return;
	}
	report(s, "%s %s while it was to end", p->name, how);
	if (s->status == 0)
		s->status = BP_EX_SOFTWARE;
}

static void ended_unasked(
	struct bp_supervisor *s, struct bp_sup_plane *p, int wstatus, const char *how)
{
	uint64_t lived = s->now_ns - p->started_ns;

	if (p->starts == 1 && WIFEXITED(wstatus) && hopeless(WEXITSTATUS(wstatus))) {
		report(s, "the %s can't start (status %d, its reason stands above): ending",
			p->name, WEXITSTATUS(wstatus));
		begin_stop(s, WEXITSTATUS(wstatus));
		return;
	}

	uint64_t wait = bp_backoff_next(&p->backoff, lived, WIFSIGNALED(wstatus));

	report(s, "%s (pid %ld) %s after %.1f s; starting it again in %u ms", p->name, (long)p->pid,
		how, (double)lived / 1e9, (unsigned)(wait / 1000000));
	plan_restart(s, p, wait);
}

static void reap(struct bp_supervisor *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct bp_sup_plane *p = &s->planes[i];
		char how[128];
		int wstatus;

		if (p->pid == 0 || waitpid(p->pid, &wstatus, WNOHANG) != p->pid)
			continue;
		describe(wstatus, how, sizeof(how));
		if (s->stopping)
			ended_while_stopping(s, p, wstatus, how);
		else
			ended_unasked(s, p, wstatus, how);
		p->pid = 0;
		tell(s);
	}
}

static void kill_all(struct bp_supervisor *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->planes[i].pid == 0)
			continue;
		report(s, "killing the %s", s->planes[i].name);
		kill(s->planes[i].pid, SIGKILL);
	}
}

static void on_stop_signal(struct bp_supervisor *s, uint32_t signo)
{
	uint64_t now = monotonic_ns();

	if (s->stop_asked_ns == NEVER) {
		s->stop_asked_ns = now;
		report(s, "signal %u (%s): stopping", signo, strsignal((int)signo));
		if (!s->stopping)
			begin_stop(s, 0);
	} else if (!s->killing && now - s->stop_asked_ns >= s->same_signal_ns) {
		s->killing = true;
		kill_all(s);
	}
}

static void on_hup(struct bp_supervisor *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->planes[i].gets_hup && s->planes[i].pid)
			kill(s->planes[i].pid, SIGHUP);
}

static void read_signals(struct bp_supervisor *s, int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			on_hup(s);
		else if (info.ssi_signo != SIGCHLD)
			on_stop_signal(s, info.ssi_signo);
	}
}

/* The first plane that still runs is the one that is to end now. */
static struct bp_sup_plane *to_stop(struct bp_supervisor *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->planes[i].pid)
			return &s->planes[i];
	return NULL;
}

static void advance_stop(struct bp_supervisor *s)
{
	struct bp_sup_plane *p = to_stop(s);

	if (!p || s->killing)
		return;
	if (!p->told_to_end) {
		p->told_to_end = true;
		p->kill_at_ns = s->now_ns + s->stop_timeout_ns;
		kill(p->pid, SIGTERM);
	} else if (s->now_ns >= p->kill_at_ns) {
		report(s, "the %s has not ended within %u ms: killing it", p->name,
			(unsigned)(s->stop_timeout_ns / 1000000));
		kill(p->pid, SIGKILL);
		p->kill_at_ns = NEVER;
	}
}

static void start_due(struct bp_supervisor *s, const sigset_t *mask)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->planes[i].pid == 0 && s->now_ns >= s->planes[i].start_at_ns)
			start(s, &s->planes[i], mask);
}

/* Milliseconds for poll(): until the next restart or kill is due, -1 for ever. */
static int time_left(const struct bp_supervisor *s)
{
	uint64_t next = s->tell_at_ns;

	for (unsigned i = 0; i < s->n; i++) {
		const struct bp_sup_plane *p = &s->planes[i];
		uint64_t at = p->pid == 0 ? p->start_at_ns : p->told_to_end ? p->kill_at_ns : NEVER;

		if (at < next)
			next = at;
	}
	if (next == NEVER)
		return -1;
	return next <= s->now_ns ? 0 : (int)((next - s->now_ns) / 1000000 + 1);
}

static void loop(struct bp_supervisor *s, int fd, const sigset_t *mask)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	for (;;) {
		s->now_ns = monotonic_ns();
		reap(s);
		if (s->stopping) {
			if (!to_stop(s))
				return;
			advance_stop(s);
		} else {
			start_due(s, mask);
		}
		if (s->now_ns >= s->tell_at_ns)
			tell(s);
		if (poll(&pfd, 1, time_left(s)) > 0)
			read_signals(s, fd);
	}
}

int bp_supervisor_run(struct bp_supervisor *s)
{
	sigset_t ours, before;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &ours, &before)) {
		report(s, "signals can't be blocked: %s", strerror(errno));
		return BP_EX_OSERR;
	}

	int fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0) {
		report(s, "signals can't be watched: %s", strerror(errno));
		sigprocmask(SIG_SETMASK, &before, NULL);
		return BP_EX_OSERR;
	}
	s->own_pid = getpid();
	s->stopping = s->killing = false;
	s->status = 0;
	s->tell_at_ns = s->stop_asked_ns = NEVER;
	for (unsigned i = 0; i < s->n; i++) {
		s->planes[i].pid = 0;
		s->planes[i].start_at_ns = 0;
		s->planes[i].kill_at_ns = NEVER;
	}
	loop(s, fd, &before);
	close(fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return s->status;
}
