/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages when DPDK does not start. EAL starts once per process: each case has its own. */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_log.h>

#include "daemon/log.h"
#include "dataplane/process/eal.h"

static char dir[] = "/tmp/biplane-eal-XXXXXX";

/* EAL's own files go below `dir`. */
static int setup(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	return setenv("RUNTIME_DIRECTORY", dir, 1);
}

static int teardown(void **state)
{
	char command[sizeof(dir) + 16];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Starts EAL in this process, which must be a fresh one. */
static int start(char *extra, char *err, size_t err_size)
{
	struct bp_config c = {.name = "t", .hugepages = BP_HUGEPAGES_NEVER, .memory_mb = 64};
	struct bp_eal_args args;
	struct bp_eal e;

	c.n_workers = 1;
	if (bp_eal_choose(&c, 0, &e, err, err_size) != 0 ||
		bp_eal_build_args(&c, &e, extra != NULL, &extra, &args, err, err_size) != 0)
		return -1;
	return bp_eal_start(&c, &args, err, err_size);
}

/* The sentence when EAL does not start with this further argument (NULL: none); "" when it does.
 * With `log`, also what was logged, and EAL may end the process. */
static const char *outcome(char *extra, bool log)
{
	static char text[4096];
	size_t len = 0;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char err[1024] = "";
		bool right;
		int rc;

		if (log)
			dup2(ends[1], STDERR_FILENO);
		rc = start(extra, err, sizeof(err));
		right = rc != 0 ? err[0] != '\0' : rte_log_get_stream() != stderr;
		n = write(ends[1], err, strlen(err));
		_exit(right && n >= 0 ? 0 : 1);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	assert_true(n == 0);
	text[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(log || WEXITSTATUS(status) == 0);
	return text;
}

static const char *sentence(char *extra)
{
	return outcome(extra, false);
}

static void it_starts(void **state)
{
	assert_string_equal(sentence(NULL), "");
}

static void an_option_is_wrong(void **state)
{
	const char *said = outcome("--nonsense", true);

	assert_non_null(strstr(said, "nonsense"));
	assert_non_null(strstr(said, "DPDK did not start"));
	assert_non_null(strstr(said, "s an option after -- wrong?"));
	said = sentence("--vdev=net_nothing");
	assert_non_null(strstr(said, "did not start (No such device): "));
	assert_non_null(strstr(said, "net_nothing"));
}

static void its_lines_keep_their_levels_in_the_journal(void **state)
{
	FILE *file = tmpfile();
	char stream[64], err[1024], text[4096];
	struct stat st;
	int status;
	pid_t pid;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fileno(file), STDERR_FILENO);
		setenv("JOURNAL_STREAM", stream, 1);
		bp_log_begin("dataplane");
		if (start(NULL, err, sizeof(err)) != 0)
			_exit(1);
		rte_log_set_level(RTE_LOGTYPE_USER1, RTE_LOG_INFO);
		rte_log(RTE_LOG_CRIT, RTE_LOGTYPE_USER1, "a critical\n");
		rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "an error\n");
		rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_USER1, "a warning\n");
		rte_log(RTE_LOG_NOTICE, RTE_LOGTYPE_USER1, "a notice\n");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_non_null(strstr(text,
		"<3>error dataplane: eal: a critical\n<3>error dataplane: eal: an error\n"
		"<4>warning dataplane: eal: a warning\n"
		"<6>info dataplane: eal: a notice\n"));
}

/* As another primary process does, which holds EAL's file. Returns when it is held. */
static pid_t hold(const char *path)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = open(path, O_RDWR | O_CREAT, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd < 0 || fcntl(fd, F_SETLK, &whole) != 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

/* EAL gives no number with this failure: its words must do. */
static void files_in_use_by_another_process_are_reported(void **state)
{
	char path[sizeof(dir) + 64];
	const char *said;
	pid_t holder;

	snprintf(path, sizeof(path), "%s/dpdk", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/dpdk/biplane-t", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/dpdk/biplane-t/config", dir);
	holder = hold(path);
	said = sentence(NULL);
	kill(holder, SIGKILL);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	print_message("%s\n", said);
	assert_null(strstr(said, "Success"));
	assert_non_null(strstr(said, "did not start: "));
	assert_non_null(strstr(said, path));
	assert_non_null(strstr(said, "Is another primary process running?"));
	assert_null(strchr(said, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_starts),
		cmocka_unit_test(its_lines_keep_their_levels_in_the_journal),
		cmocka_unit_test(an_option_is_wrong),
		cmocka_unit_test(files_in_use_by_another_process_are_reported),
	};

	return cmocka_run_group_tests_name("eal", tests, setup, teardown);
}
