/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor with shells in place of the planes, in a directory of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/run/supervisor.h"
#include "daemon/notify.h"
#include "tests/unit/apps/biplane/wait_for.h"

struct fixture {
	char dir[64];
	pid_t pid;     /* of the supervisor, 0: not started or reaped */
	bool optional; /* plane b */
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/bp-supervisor-XXXXXX");
	*state = f;
	/* children of a killed supervisor become ours, so that we can reap them */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return mkdtemp(f->dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->pid) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	/* planes whose supervisor was killed: they got SIGTERM, some test shells ignore that */
	for (const char *const *n = (const char *const[]){"a.pid", "b.pid", NULL}; *n; n++) {
		long pid = number_in(f->dir, *n);

		if (pid > 0 && waitpid((pid_t)pid, NULL, WNOHANG) == 0) {
			kill((pid_t)pid, SIGKILL);
			waitpid((pid_t)pid, NULL, 0);
		}
	}
	nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

/* The file appears whole. */
static void write_count(const char *dir, const char *name, unsigned count)
{
	char path[256], tmp[264];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);

	FILE *out = fopen(tmp, "w");

	fprintf(out, "%u\n", count);
	fclose(out);
	rename(tmp, path);
}

/* Writes the restart counts, and how often it was called, where the test can see them. */
static bool write_counts(const struct bp_supervisor *s, void *arg)
{
	static unsigned calls;
	char name[] = "a.restarts";

	for (unsigned i = 0; i < s->n; i++) {
		name[0] = (char)('a' + i);
		write_count(arg, name, s->planes[i].restarts);
	}
	write_count(arg, "calls", ++calls);
	return true;
}

static void log_to_file(const struct fixture *f)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/log", f->dir);
	dup2(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644), STDERR_FILENO);
}

/* Starts a supervisor in a process of its own over `sh -c script` in the directory. */
static void start_with(struct fixture *f, const char *a, const char *b, unsigned stop_timeout_ms,
	uint64_t same_signal_ns)
{
	fflush(NULL);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid)
		return;

	char *argv_a[] = {"sh", "-c", (char *)a, NULL}, *argv_b[] = {"sh", "-c", (char *)b, NULL};
	struct bp_sup_plane planes[] = {
		{.name = "plane a", .path = "/bin/sh", .argv = argv_a},
		{.name = "plane b",
			.path = "/bin/sh",
			.argv = argv_b,
			.gets_hup = true,
			.optional = f->optional},
	};
	struct bp_supervisor s = {
		.planes = planes,
		.n = b ? 2 : 1,
		.stop_timeout_ns = stop_timeout_ms * 1000000ull,
		.same_signal_ns = same_signal_ns,
		.changed = write_counts,
		.arg = f->dir,
	};

	if (chdir(f->dir))
		_exit(99);
	log_to_file(f);
	_exit(bp_supervisor_run(&s));
}

/* Here every signal counts. */
static void start(struct fixture *f, const char *a, const char *b, unsigned stop_timeout_ms)
{
	start_with(f, a, b, stop_timeout_ms, 0);
}

static int end(struct fixture *f)
{
	int status;

	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	f->pid = 0;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool log_has(const struct fixture *f, const char *what)
{
	char path[128], text[16384];

	snprintf(path, sizeof(path), "%s/log", f->dir);

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	text[n] = 0;
	return strstr(text, what) != NULL;
}

static bool gone(long pid)
{
	return kill((pid_t)pid, 0) && errno == ESRCH;
}

/* Tells its number, then lives until SIGTERM, which it answers with a line in `order`. */
#define LIVE(x)                                                                                    \
	"trap 'echo " x " >>order; exit 0' TERM; echo $$ >" x ".tmp; mv " x ".tmp " x ".pid; "     \
	"while :; do sleep 0.01; done"
/* The same, deaf to SIGTERM. */
#define DEAF(x)                                                                                    \
	"trap '' TERM; echo $$ >" x ".tmp; mv " x ".tmp " x ".pid; while :; do sleep 0.01; done"

static void ends_the_first_plane_first(void **state)
{
	struct fixture *f = *state;
	char path[128], order[16] = "";
	/* a needs a while to drain; b would be quicker if it were asked at the same time */
	const char *slow = "trap 'sleep 0.2; echo a >>order; exit 0' TERM; echo $$ >a.tmp; "
			   "mv a.tmp a.pid; while :; do sleep 0.01; done";

	start(f, slow, LIVE("b"), 30000);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
	snprintf(path, sizeof(path), "%s/order", f->dir);

	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_int_equal(fread(order, 1, sizeof(order) - 1, in), 4);
	fclose(in);
	assert_string_equal(order, "a\nb\n");
	assert_true(gone(number_in(f->dir, "a.pid")) && gone(number_in(f->dir, "b.pid")));
}

static void restarts_what_was_killed_and_only_that(void **state)
{
	struct fixture *f = *state;

	/* our parent may ignore it, and children inherit that */
	signal(SIGCHLD, SIG_IGN);
	start(f, LIVE("a"), LIVE("b"), 30000);
	signal(SIGCHLD, SIG_DFL);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));

	long a = number_in(f->dir, "a.pid"), b = number_in(f->dir, "b.pid");

	for (int i = 1; i <= 3; i++) {
		kill((pid_t)b, SIGKILL);
		WAIT_FOR(number_in(f->dir, "b.pid") != b && number_in(f->dir, "b.restarts") == i);
		b = number_in(f->dir, "b.pid");
	}
	assert_int_equal(number_in(f->dir, "a.pid"), a);
	assert_false(gone(a));
	assert_int_equal(number_in(f->dir, "a.restarts"), 0);
	assert_true(log_has(f, "was killed by signal 9 (Killed)"));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

static void restarts_what_exited_and_says_its_status(void **state)
{
	struct fixture *f = *state;

	start(f, LIVE("a"), "[ -e once ] || { : >once; exit 3; }; " LIVE("b"), 30000);
	WAIT_FOR(number_in(f->dir, "b.pid") && number_in(f->dir, "b.restarts") == 1);
	assert_true(log_has(f, "exited with status 3"));
	kill(f->pid, SIGINT);
	assert_int_equal(end(f), 0);
}

static void gives_up_when_the_first_start_is_hopeless(void **state)
{
	struct fixture *f = *state;

	start(f, "while [ ! -e b.pid ]; do sleep 0.01; done; exit 78", LIVE("b"), 30000);
	assert_int_equal(end(f), BP_EX_CONFIG);
	assert_true(gone(number_in(f->dir, "b.pid")));
}

static void an_optional_process_stops_nothing(void **state)
{
	struct fixture *f = *state;
	long a;

	f->optional = true;
	start(f, LIVE("a"), "echo $$ >b.tmp; mv b.tmp b.pid; exit 78", 30000);
	WAIT_FOR(number_in(f->dir, "a.pid") &&
		 log_has(f, "plane b exited with status 78; restarting"));
	assert_true(log_has(f, "restart_ms=30000"));
	assert_true(gone(number_in(f->dir, "b.pid")));
	a = number_in(f->dir, "a.pid");
	assert_false(gone(a));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
	assert_int_equal(number_in(f->dir, "a.restarts"), 0);
}

static void an_optional_process_that_crashes_at_the_stop_is_no_failure(void **state)
{
	struct fixture *f = *state;

	f->optional = true;
	start(f, LIVE("a"), DEAF("b"), 100);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
	assert_true(log_has(f, "was killed by signal 9"));
}

static void a_missing_resource_is_hopeless_too(void **state)
{
	struct fixture *f = *state;

	start(f, "exit 69", LIVE("b"), 30000);
	assert_int_equal(end(f), BP_EX_UNAVAILABLE);
}

static void the_same_status_later_is_not(void **state)
{
	struct fixture *f = *state;

	start(f,
		"[ -e once ] || { : >once; exit 1; }; [ -e twice ] || { : >twice; exit 78; "
		"}; " LIVE("a"),
		LIVE("b"), 30000);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	WAIT_FOR(number_in(f->dir, "a.restarts") == 2);
	assert_true(log_has(f, "exited with status 78"));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

static void kills_what_does_not_end(void **state)
{
	struct fixture *f = *state;

	start(f, DEAF("a"), LIVE("b"), 100);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), BP_EX_SOFTWARE);
	assert_true(gone(number_in(f->dir, "a.pid")) && gone(number_in(f->dir, "b.pid")));
	assert_true(log_has(f, "did not stop in time; killing it timeout_ms=100"));
}

/* The machine was suspended while a plane stopped: it has its time again. */
static void a_suspended_supervisor_kills_no_plane_that_stops(void **state)
{
	const struct timespec away = {.tv_sec = 4};
	struct fixture *f = *state;
	char path[128];
	int status;

	start(f,
		"trap ': >asked' TERM; echo $$ >a.tmp; mv a.tmp a.pid; "
		"until [ -e asked ] && [ -e go ]; do sleep 0.01; done",
		NULL, 3000);
	WAIT_FOR(number_in(f->dir, "a.pid"));
	kill(f->pid, SIGTERM);
	snprintf(path, sizeof(path), "%s/asked", f->dir);
	WAIT_FOR(access(path, F_OK) == 0);
	kill(f->pid, SIGSTOP);
	assert_int_equal(waitpid(f->pid, &status, WUNTRACED), f->pid);
	nanosleep(&away, NULL); /* longer than the limit: that is what is tested */
	kill(f->pid, SIGCONT);
	usleep(200000); /* a supervisor that does not know kills it now */
	snprintf(path, sizeof(path), "%s/go", f->dir);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_int_equal(end(f), 0);
	assert_false(log_has(f, "did not stop in time"));
}

static void a_second_signal_kills_at_once(void **state)
{
	struct fixture *f = *state;

	/* a timeout that the test never reaches */
	start(f, DEAF("a"), DEAF("b"), 3600 * 1000);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	kill(f->pid, SIGTERM);
	WAIT_FOR(log_has(f, "stopping"));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), BP_EX_SOFTWARE);
	assert_true(gone(number_in(f->dir, "a.pid")) && gone(number_in(f->dir, "b.pid")));
}

/* timeout(1) signals its child and then the whole group: that must not cut the draining short. */
static void signals_close_together_are_one(void **state)
{
	struct fixture *f = *state;

	/* a ends after SIGTERM, but not before b received the SIGHUP that was sent last */
	start_with(f,
		"trap ': >asked' TERM; echo $$ >a.tmp; mv a.tmp a.pid; "
		"until [ -e asked ] && [ -e hup ]; do sleep 0.01; done",
		"exec env --default-signal=HUP sh -c \"trap ': >hup' HUP; trap 'exit 0' TERM; "
		"echo \\$\\$ >b.tmp; mv b.tmp b.pid; while :; do sleep 0.01; done\"",
		3600 * 1000, 3600 * 1000000000ull);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	kill(f->pid, SIGTERM);
	WAIT_FOR(log_has(f, "stopping"));
	kill(f->pid, SIGTERM);
	kill(f->pid, SIGINT);
	kill(f->pid, SIGHUP);
	assert_int_equal(end(f), 0);
	assert_false(log_has(f, "killing"));
}

static void hup_goes_to_the_plane_that_wants_it(void **state)
{
	struct fixture *f = *state;

	/* a shell cannot trap what was ignored when it began, which is what protects a; b needs env
	 */
	start(f, LIVE("a"),
		"exec env --default-signal=HUP sh -c \"trap 'echo 1 >hup.tmp; mv hup.tmp hup' HUP; "
		"trap 'exit 0' TERM; echo \\$\\$ >b.tmp; mv b.tmp b.pid; "
		"while :; do sleep 0.01; done\"",
		30000);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	kill(f->pid, SIGHUP);
	WAIT_FOR(number_in(f->dir, "hup") == 1);
	/* nor does it hurt the one that has no use for it, even sent directly */
	kill((pid_t)number_in(f->dir, "a.pid"), SIGHUP);
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
	assert_int_equal(number_in(f->dir, "a.restarts"), 0);
	assert_int_equal(number_in(f->dir, "b.restarts"), 0);
}

static void planes_end_with_a_killed_supervisor(void **state)
{
	struct fixture *f = *state;
	int status;

	start(f, LIVE("a"), LIVE("b"), 30000);
	WAIT_FOR(number_in(f->dir, "a.pid") && number_in(f->dir, "b.pid"));
	kill(f->pid, SIGKILL);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	f->pid = 0;
	/* orderly: by SIGTERM, which they may answer */
	for (const char *const *n = (const char *const[]){"a.pid", "b.pid", NULL}; *n; n++) {
		long pid = number_in(f->dir, *n);

		assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

static void what_can_not_be_executed_is_said(void **state)
{
	struct fixture *f = *state;

	fflush(NULL);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0) {
		char *argv[] = {"nothing", NULL};
		struct bp_sup_plane plane = {
			.name = "plane a", .path = "/nonexistent/plane", .argv = argv};
		struct bp_supervisor s = {.planes = &plane, .n = 1};

		log_to_file(f);
		_exit(bp_supervisor_run(&s));
	}
	assert_int_equal(end(f), BP_EX_OSERR);
	assert_true(log_has(f, "/nonexistent/plane: No such file or directory"));
}

/* Their heartbeats would be taken for ours. */
static void planes_do_not_talk_to_the_service_manager(void **state)
{
	struct fixture *f = *state;

	setenv("NOTIFY_SOCKET", "/nowhere", 1);
	setenv("WATCHDOG_USEC", "1000000", 1);
	start(f,
		"echo ${NOTIFY_SOCKET:+2}${WATCHDOG_USEC:+3}1 >said.tmp; mv said.tmp said; "
		"exec sleep 1000",
		NULL, 30000);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	WAIT_FOR(number_in(f->dir, "said"));
	assert_int_equal(number_in(f->dir, "said"), 1);
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

/* ---- heartbeats ---- */

#define HEARTBEAT_LIMIT_MS 1500
#define AS_PLANE "--plane"

static void write_number(const char *name, const char *suffix, long number)
{
	char path[64], tmp[64];
	FILE *out;

	snprintf(path, sizeof(path), "%s.%s", name, suffix);
	snprintf(tmp, sizeof(tmp), "%s.%s.tmp", name, suffix);
	out = fopen(tmp, "w");
	if (out) {
		fprintf(out, "%ld\n", number);
		fclose(out);
		rename(tmp, path);
	}
}

/* Modes of this program as a plane: "beats" sends heartbeats, "hangs" sends five and then none,
 * "silent" sends none, "ready" reports each time that it is ready, "once" only the first time. */
static void __attribute__((noreturn)) plane_main(const char *name, const char *how)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	write_number(name, "pid", getpid());
	for (long n = 1;; n++) {
		if (strcmp(how, "ready") == 0 || strcmp(how, "once") == 0) {
			if (n == 1 || strcmp(how, "once") != 0)
				bp_notify_ready();
		} else if (strcmp(how, "silent") != 0 && (n <= 5 || strcmp(how, "hangs") != 0)) {
			bp_notify_alive();
			write_number(name, "beats", n);
		}
		nanosleep(&pause, NULL);
	}
}

static void start_with_limit(
	struct fixture *f, const char *how_a, const char *how_b, unsigned limit_ms)
{
	fflush(NULL);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid)
		return;

	char *argv_a[] = {"plane", AS_PLANE, "a", (char *)how_a, NULL};
	char *argv_b[] = {"plane", AS_PLANE, "b", (char *)how_b, NULL};
	struct bp_sup_plane planes[] = {
		{.name = "plane a", .path = "/proc/self/exe", .argv = argv_a},
		{.name = "plane b", .path = "/proc/self/exe", .argv = argv_b},
	};
	char socket_path[160];
	struct bp_supervisor s = {
		.planes = planes,
		.n = 2,
		.stop_timeout_ns = 30000000000ull,
		.heartbeat_limit_ns = limit_ms * 1000000ull,
		.heartbeat_path = socket_path,
		.changed = write_counts,
		.arg = f->dir,
	};

	snprintf(socket_path, sizeof(socket_path), "%s/heartbeat", f->dir);
	if (chdir(f->dir))
		_exit(99);
	log_to_file(f);
	_exit(bp_supervisor_run(&s));
}

static void start_beating(struct fixture *f, const char *how_a, const char *how_b)
{
	start_with_limit(f, how_a, how_b, HEARTBEAT_LIMIT_MS);
}

/* A plane that is ready may have replaced the segment, and the counts with it. */
static void a_plane_that_is_ready_is_a_change_without_a_watchdog_too(void **state)
{
	struct fixture *f = *state;

	start_with_limit(f, "ready", "beats", 0);
	WAIT_FOR(number_in(f->dir, "calls") > 5); /* 2 of them for the starts */
	assert_int_equal(number_in(f->dir, "a.restarts"), 0);
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

static void a_plane_that_hangs_is_killed_and_restarted(void **state)
{
	struct fixture *f = *state;
	long beating;

	start_beating(f, "beats", "hangs");
	WAIT_FOR(number_in(f->dir, "a.beats") > 5);
	beating = number_in(f->dir, "a.pid");
	WAIT_FOR(number_in(f->dir, "b.restarts") >= 2);
	assert_true(log_has(f, "plane b "));
	assert_true(log_has(f, "does not respond: no heartbeat; killing it pid="));
	assert_true(log_has(f, "signal 6"));
	assert_int_equal(number_in(f->dir, "a.pid"), beating);
	assert_int_equal(number_in(f->dir, "a.restarts"), 0);
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

/* SIGABRT does not reach it before it continues; SIGKILL does. */
/* The first heartbeat comes a while after that. */
static void a_plane_that_hangs_once_it_is_ready_is_killed_and_restarted(void **state)
{
	struct fixture *f = *state;

	start_beating(f, "once", "beats");
	WAIT_FOR(number_in(f->dir, "a.restarts") == 1);
	assert_true(log_has(f, "plane a does not respond: no heartbeat; killing it"));
	assert_int_equal(number_in(f->dir, "b.restarts"), 0);
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

static void a_plane_that_is_stopped_is_killed_and_restarted(void **state)
{
	struct fixture *f = *state;
	long stopped;

	start_beating(f, "beats", "silent");
	WAIT_FOR(number_in(f->dir, "a.beats") > 5);
	stopped = number_in(f->dir, "a.pid");
	kill((pid_t)stopped, SIGSTOP);
	WAIT_FOR(number_in(f->dir, "a.restarts") == 1);
	assert_true(log_has(f, "signal 9"));
	assert_true(gone(stopped));
	WAIT_FOR(number_in(f->dir, "a.pid") != stopped);
	/* a plane without heartbeats still starts */
	assert_int_equal(number_in(f->dir, "b.restarts"), 0);
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

/* The machine was suspended, planes and supervisor: heartbeats not sent meanwhile are not missing.
 */
static void a_suspended_supervisor_kills_nobody(void **state)
{
	const struct timespec away = {.tv_sec = 2 * HEARTBEAT_LIMIT_MS / 1000};
	struct fixture *f = *state;
	long plane, beats;
	int status;

	start_beating(f, "beats", "beats");
	WAIT_FOR(number_in(f->dir, "a.beats") > 5 && number_in(f->dir, "b.beats") > 5);
	plane = number_in(f->dir, "a.pid");
	kill((pid_t)plane, SIGSTOP);
	kill(f->pid, SIGSTOP);
	assert_int_equal(waitpid(f->pid, &status, WUNTRACED), f->pid);
	beats = number_in(f->dir, "a.beats");
	nanosleep(&away, NULL); /* longer than the limit: that is what is tested */
	kill(f->pid, SIGCONT);
	kill((pid_t)plane, SIGCONT);
	WAIT_FOR(number_in(f->dir, "a.beats") > beats + 200);
	assert_int_equal(number_in(f->dir, "a.pid"), plane);
	assert_false(log_has(f, "does not respond"));
	kill(f->pid, SIGTERM);
	assert_int_equal(end(f), 0);
}

/* Another process cannot send heartbeats for the plane. */
static void only_the_planes_own_heartbeats_count(void **state)
{
	struct bp_heartbeat_socket h;
	unsigned what = 0;
	pid_t pid = 0;

	struct fixture *f = *state;
	char path[160], longer[200];
	struct stat st;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(bp_heartbeat_open(&h, longer), -1);
	snprintf(path, sizeof(path), "%s/heartbeat", f->dir);
	assert_int_equal(bp_heartbeat_open(&h, path), 0);
	/* other users cannot fill its queue */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	bp_heartbeat_close(&h);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(bp_heartbeat_open(&h, path), 0);
	setenv("NOTIFY_SOCKET", h.address, 1);
	assert_false(bp_heartbeat_next(&h, &pid, &what));
	bp_notify_alive();
	assert_true(bp_heartbeat_next(&h, &pid, &what));
	assert_int_equal(pid, getpid());
	assert_int_equal(what, BP_HEARTBEAT_ALIVE);
	bp_notify_ready();
	assert_true(bp_heartbeat_next(&h, &pid, &what));
	assert_int_equal(what, BP_HEARTBEAT_READY);
	bp_notify_status("not WATCHDOG=1");
	assert_true(bp_heartbeat_next(&h, &pid, &what));
	assert_int_equal(what, 0);
	assert_false(bp_heartbeat_next(&h, &pid, &what));
	unsetenv("NOTIFY_SOCKET");
	bp_heartbeat_close(&h);
}

static void the_time_begins_with_the_first_heartbeat(void **state)
{
	struct bp_heartbeat b = {.limit_ns = 100};

	bp_heartbeat_start(&b);
	assert_false(bp_heartbeat_missed(&b, UINT64_MAX - 1));
	bp_heartbeat_forgive(&b, 500);
	assert_false(bp_heartbeat_missed(&b, UINT64_MAX - 1));
	bp_heartbeat_received(&b, 1000);
	assert_false(bp_heartbeat_missed(&b, 1099));
	assert_true(bp_heartbeat_missed(&b, 1100));
	bp_heartbeat_forgive(&b, 2000);
	assert_false(bp_heartbeat_missed(&b, 2099));
	assert_true(bp_heartbeat_missed(&b, 2100));
	b = (struct bp_heartbeat){.limit_ns = 0};
	bp_heartbeat_start(&b);
	bp_heartbeat_received(&b, 1000);
	assert_false(bp_heartbeat_missed(&b, UINT64_MAX - 1));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], AS_PLANE) == 0)
		plane_main(argv[2], argv[3]);

	const struct CMUnitTest tests[] = {
		CASE(ends_the_first_plane_first),
		CASE(restarts_what_was_killed_and_only_that),
		CASE(restarts_what_exited_and_says_its_status),
		CASE(gives_up_when_the_first_start_is_hopeless),
		CASE(an_optional_process_stops_nothing),
		CASE(an_optional_process_that_crashes_at_the_stop_is_no_failure),
		CASE(a_missing_resource_is_hopeless_too),
		CASE(the_same_status_later_is_not),
		CASE(kills_what_does_not_end),
		CASE(a_suspended_supervisor_kills_no_plane_that_stops),
		CASE(a_second_signal_kills_at_once),
		CASE(signals_close_together_are_one),
		CASE(hup_goes_to_the_plane_that_wants_it),
		CASE(planes_end_with_a_killed_supervisor),
		CASE(what_can_not_be_executed_is_said),
		CASE(planes_do_not_talk_to_the_service_manager),
		CASE(a_plane_that_is_ready_is_a_change_without_a_watchdog_too),
		CASE(a_plane_that_hangs_is_killed_and_restarted),
		CASE(a_plane_that_hangs_once_it_is_ready_is_killed_and_restarted),
		CASE(a_plane_that_is_stopped_is_killed_and_restarted),
		CASE(a_suspended_supervisor_kills_nobody),
		CASE(only_the_planes_own_heartbeats_count),
		CASE(the_time_begins_with_the_first_heartbeat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
