/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/run/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/exit_status.h"
#include "daemon/log.h"

#define NEVER UINT64_MAX
#define TELL_AGAIN_NS 1000000000ull
#define LOOK_NS 1000000000ull /* how long it sleeps at most while heartbeats are watched */
#define LATE_NS 500000000ull
#define HEARTBEATS_MAX 64u /* per read, so that signals are handled in between */

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void notify_status(struct bp_supervisor *s)
{
	bool done = !s->changed || s->changed(s, s->arg);

	s->notify_at_ns = done ? NEVER : s->now_ns + TELL_AGAIN_NS;
}

/* Runs in the child. Its notifications go to this supervisor: the service manager of `biplane
 * run`, if any, could not distinguish the heartbeats of two processes, so it gets none. */
static void set_notify(const struct bp_supervisor *s)
{
	char us[24];

	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (s->heartbeats.fd < 0)
		return;
	setenv("NOTIFY_SOCKET", s->heartbeats.address, 1);
	if (s->heartbeat_limit_ns == 0)
		return;
	snprintf(us, sizeof(us), "%llu", (unsigned long long)(s->heartbeat_limit_ns / 1000));
	setenv("WATCHDOG_USEC", us, 1);
}

/* In the child, between fork and exec. */
static void __attribute__((noreturn))
become(const struct bp_supervisor *s, const struct bp_sup_plane *p, const sigset_t *mask)
{
	struct sigaction act = {.sa_handler = SIG_DFL};

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != s->own_pid)
		_exit(0); /* the supervisor died before prctl(): no process supervises this one */
	setpgid(0, 0);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGCHLD, &act, NULL);
	/* not fatal before a plane has its handler, nor in the plane without one */
	act.sa_handler = SIG_IGN;
	sigaction(SIGHUP, &act, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	set_notify(s);

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
		become(s, p, mask);
	if (pid < 0) {
		uint64_t wait = bp_backoff_next(&p->backoff, 0, false);

		bp_log_event(BP_LOG_ERROR,
			BP_LOG_FIELDS(BP_LOG_STR("plane", p->name),
				BP_LOG_NUM("retry_ms", wait / 1000000)),
			"process cannot be started: %s; retrying", strerror(errno));
		plan_restart(s, p, wait);
		return;
	}
	p->pid = pid;
	p->started_ns = s->now_ns;
	p->start_at_ns = p->kill_at_ns = NEVER;
	p->aborted = false;
	bp_heartbeat_start(&p->heartbeat);
	if (p->starts++)
		p->restarts++;
	bp_log_event(BP_LOG_INFO,
		BP_LOG_FIELDS(BP_LOG_NUM("pid", (uint64_t)pid), BP_LOG_NUM("starts", p->starts)),
		"%s %s", p->name, p->starts > 1 ? "restarted" : "started");
	notify_status(s);
}

static void begin_stop(struct bp_supervisor *s, int status)
{
	s->stopping = true;
	if (s->status == 0)
		s->status = status;
	for (unsigned i = 0; i < s->n; i++)
		s->planes[i].start_at_ns = NEVER;
}

static bool is_fatal_exit(int status)
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
		       (WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGTERM && p->stop_sent);

	if (orderly) {
		bp_log(BP_LOG_INFO, "%s ended", p->name);
		return;
	}
	bp_log(p->optional ? BP_LOG_WARNING : BP_LOG_ERROR, "%s %s while stopping", p->name, how);
	if (s->status == 0 && !p->optional)
		s->status = BP_EX_SOFTWARE;
}

static void ended_unasked(
	struct bp_supervisor *s, struct bp_sup_plane *p, int wstatus, const char *how)
{
	uint64_t lived = s->now_ns - p->started_ns;
	const bool fatal = WIFEXITED(wstatus) && is_fatal_exit(WEXITSTATUS(wstatus));

	if (fatal && p->starts == 1 && !p->optional) {
		bp_log_event(BP_LOG_ERROR,
			BP_LOG_FIELDS(BP_LOG_NUM("status", (uint64_t)WEXITSTATUS(wstatus))),
			"%s cannot start, see its error above: exiting", p->name);
		begin_stop(s, WEXITSTATUS(wstatus));
		return;
	}

	if (p->aborted)
		p->hung++;

	uint64_t wait = bp_backoff_next(&p->backoff, lived, WIFSIGNALED(wstatus));

	if (fatal && p->optional)
		wait = BP_SUP_OPTIONAL_NS;
	bp_log_event(p->optional ? BP_LOG_WARNING : BP_LOG_ERROR,
		BP_LOG_FIELDS(BP_LOG_NUM("pid", (uint64_t)p->pid),
			BP_LOG_NUM("uptime_ms", lived / 1000000),
			BP_LOG_NUM("restart_ms", wait / 1000000)),
		"%s %s; restarting", p->name, how);
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
		notify_status(s);
	}
}

static void kill_all(struct bp_supervisor *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->planes[i].pid == 0)
			continue;
		bp_log(BP_LOG_WARNING, "killing the %s", s->planes[i].name);
		kill(s->planes[i].pid, SIGKILL);
	}
}

static void on_stop_signal(struct bp_supervisor *s, uint32_t signo)
{
	uint64_t now = monotonic_ns();

	if (s->stop_asked_ns == NEVER) {
		s->stop_asked_ns = now;
		bp_log(BP_LOG_INFO, "signal %u (%s): stopping", signo, strsignal((int)signo));
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

static void read_heartbeats(struct bp_supervisor *s)
{
	unsigned what;
	pid_t pid;

	for (unsigned n = 0; n < HEARTBEATS_MAX && bp_heartbeat_next(&s->heartbeats, &pid, &what);
		n++) {
		for (unsigned i = 0; i < s->n; i++) {
			struct bp_sup_plane *p = &s->planes[i];

			if (pid == 0 || p->pid != pid)
				continue;
			/* the first heartbeat comes a quarter of the limit later */
			if (what & (BP_HEARTBEAT_ALIVE | BP_HEARTBEAT_READY))
				bp_heartbeat_received(&p->heartbeat, s->now_ns);
			if (what & BP_HEARTBEAT_READY) /* the segment is there by now */
				notify_status(s);
		}
	}
}

/* Ends planes that hang. */
static void watch(struct bp_supervisor *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct bp_sup_plane *p = &s->planes[i];

		if (p->pid == 0)
			continue;
		if (p->aborted && s->now_ns >= p->kill_at_ns) {
			kill(p->pid, SIGKILL);
			p->kill_at_ns = NEVER;
		} else if (!p->aborted && bp_heartbeat_missed(&p->heartbeat, s->now_ns)) {
			bp_log_event(BP_LOG_ERROR,
				BP_LOG_FIELDS(BP_LOG_NUM("pid", (uint64_t)p->pid),
					BP_LOG_NUM("timeout_ms", p->heartbeat.limit_ns / 1000000)),
				"%s does not respond: no heartbeat; killing it", p->name);
			kill(p->pid, SIGABRT);
			p->aborted = true;
			p->kill_at_ns = s->now_ns + BP_SUP_ABORT_NS;
		}
	}
}

/* The supervisor slept longer than planned: the planes may not have run either, so missing
 * heartbeats of this time do not count, and a plane that stops has its time again. */
static void forgive(struct bp_supervisor *s, uint64_t expected_ns)
{
	if (s->now_ns <= expected_ns + LATE_NS)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		struct bp_sup_plane *p = &s->planes[i];

		bp_heartbeat_forgive(&p->heartbeat, s->now_ns);
		if (p->stop_sent && p->kill_at_ns != NEVER)
			p->kill_at_ns = s->now_ns + s->stop_timeout_ns;
	}
}

/* The first running plane is the next one to stop. */
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
	if (!p->stop_sent) {
		p->stop_sent = true;
		/* not s->now_ns: writing to the log may have taken long */
		p->kill_at_ns = monotonic_ns() + s->stop_timeout_ns;
		kill(p->pid, SIGTERM);
	} else if (s->now_ns >= p->kill_at_ns) {
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_NUM("timeout_ms", s->stop_timeout_ns / 1000000)),
			"%s did not stop in time; killing it", p->name);
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
	uint64_t next = s->notify_at_ns;

	for (unsigned i = 0; i < s->n; i++) {
		const struct bp_sup_plane *p = &s->planes[i];
		uint64_t at = p->pid == 0 ? p->start_at_ns : p->kill_at_ns;

		if (p->pid && !p->stop_sent && p->heartbeat.deadline_ns != NEVER &&
			at > s->now_ns + LOOK_NS)
			at = s->now_ns + LOOK_NS;
		if (at < next)
			next = at;
	}
	if (next == NEVER)
		return -1;
	return next <= s->now_ns ? 0 : (int)((next - s->now_ns) / 1000000 + 1);
}

static void loop(struct bp_supervisor *s, int fd, const sigset_t *mask)
{
	struct pollfd pfd[2] = {
		{.fd = fd, .events = POLLIN}, {.fd = s->heartbeats.fd, .events = POLLIN}};
	uint64_t expected_ns = NEVER - LATE_NS;

	for (;;) {
		int wait_ms;

		s->now_ns = monotonic_ns();
		reap(s);
		forgive(s, expected_ns);
		read_heartbeats(s);
		if (s->stopping) {
			if (!to_stop(s))
				return;
			advance_stop(s);
		} else {
			watch(s);
			start_due(s, mask);
		}
		if (s->now_ns >= s->notify_at_ns)
			notify_status(s);
		wait_ms = time_left(s);
		expected_ns = wait_ms < 0 ? NEVER - LATE_NS
					  : monotonic_ns() + (uint64_t)wait_ms * 1000000;
		if (poll(pfd, 2, wait_ms) > 0 && pfd[0].revents != 0)
			read_signals(s, fd);
	}
}

int bp_supervisor_run(struct bp_supervisor *s)
{
	sigset_t ours, before;

	/* If a parent of ours ignores it, our children end without a status: none is restarted. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &ours, &before)) {
		bp_log(BP_LOG_ERROR, "signals cannot be blocked: %s", strerror(errno));
		return BP_EX_OSERR;
	}

	int fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0) {
		bp_log(BP_LOG_ERROR, "signalfd: %s", strerror(errno));
		sigprocmask(SIG_SETMASK, &before, NULL);
		return BP_EX_OSERR;
	}
	s->own_pid = getpid();
	s->stopping = s->killing = false;
	s->status = 0;
	s->notify_at_ns = s->stop_asked_ns = NEVER;
	s->heartbeats.fd = -1;
	if (s->heartbeat_path && bp_heartbeat_open(&s->heartbeats, s->heartbeat_path) != 0)
		bp_log(BP_LOG_WARNING, "no socket for notifications of the planes: %s; %s",
			strerror(errno),
			s->heartbeat_limit_ns != 0
				? "a plane that does not respond is not detected"
				: "the number of restarts may be missing after damage to the "
				  "shared memory");
	for (unsigned i = 0; i < s->n; i++) {
		s->planes[i].heartbeat = (struct bp_heartbeat){
			.limit_ns = s->heartbeat_limit_ns, .deadline_ns = NEVER};
		s->planes[i].pid = 0;
		s->planes[i].start_at_ns = 0;
		s->planes[i].kill_at_ns = NEVER;
	}
	loop(s, fd, &before);
	bp_heartbeat_close(&s->heartbeats);
	close(fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return s->status;
}
