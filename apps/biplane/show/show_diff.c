/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/show_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/show/fib_diff.h"
#include "apps/biplane/netns.h"
#include "controlplane/process/control.h"
#include "controlplane/sync/sync.h"

/* In which a change that is under way arrives: the sync manager needs milliseconds. */
#define SECOND_LOOK_MS 200

static int fail(const char *what, int status)
{
	fprintf(stderr, "biplane show: %s\n", what);
	return status;
}

/* The kernel that is asked must be the one that the control plane follows. */
static int check_netns(uint64_t cp_pid)
{
	char text[256];

	switch (bp_netns_of(cp_pid)) {
	case BP_NETNS_SAME:
		return BP_EX_OK;
	case BP_NETNS_OTHER:
		snprintf(text, sizeof(text),
			"the control plane (process %" PRIu64
			") is in another network namespace; run this as 'nsenter -t %" PRIu64
			" -n biplane show ...'",
			cp_pid, cp_pid);
		return fail(text, BP_EX_UNAVAILABLE);
	case BP_NETNS_REMOVED:
		return fail("no control plane runs, so nothing follows the kernel; start it, or "
			    "look without --diff",
			BP_EX_UNAVAILABLE);
	default:
		snprintf(text, sizeof(text),
			"cannot determine whether the control plane (process %" PRIu64
			") is in this network namespace: %s; run this as the same user or as root",
			cp_pid, strerror(errno));
		return fail(text, BP_EX_UNAVAILABLE);
	}
}

/* The active settings, which define the routing tables to compare; NULL after a message. */
static struct bp_config *settings(const struct bp_config_instance *id, int *status)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)], err[512];
	struct bp_config *c = NULL;
	json_t *reply = NULL;
	const char *text;

	*status = BP_EX_UNAVAILABLE;
	if (bp_control_path(id->runtime_dir, id->name, path, sizeof(path))) {
		*status = fail("the name is too long for a socket's path", BP_EX_USAGE);
		return NULL;
	}
	if (bp_control_request(path, "config", &reply, err, sizeof(err))) {
		fail(err, 0);
		return NULL;
	}
	text = json_string_value(json_object_get(reply, "config"));
	if (text)
		c = bp_config_parse("the active settings", text, strlen(text), stderr);
	if (!c)
		fail("the control plane returned a configuration of another version; restart it",
			0);
	json_decref(reply);
	return c;
}

static int compare(const struct bp_show_view *view, const struct bp_show_source *s,
	const struct bp_config *c, struct bp_fib_diff *d)
{
	static struct bp_kernel_state kernel;
	char err[512];
	bool complete;

	memset(d, 0, sizeof(*d));
	if (s->shm->fib.max_routes == 0)
		return BP_EX_OK; /* no routing: nothing to compare */
	if (bp_kernel_dump(c, &s->shm->fib, &kernel, err, sizeof(err)))
		return fail(err, BP_EX_OSERR);
	complete = view->diff(s, &kernel, d);
	bp_kernel_state_free(&kernel);
	if (complete)
		return BP_EX_OK;
	bp_fib_diff_free(d);
	return fail("not enough memory", BP_EX_OSERR);
}

static int compare_twice(const struct bp_show_view *view, const struct bp_show_source *s,
	const struct bp_config *c, struct bp_fib_diff *d)
{
	const struct timespec moment = {.tv_nsec = SECOND_LOOK_MS * 1000000L};
	struct bp_fib_diff before;
	int status = compare(view, s, c, d);

	if (status || !d->n)
		return status;
	before = *d;
	nanosleep(&moment, NULL);
	status = compare(view, s, c, d);
	if (!status)
		bp_fib_diff_keep_common(d, &before);
	bp_fib_diff_free(&before);
	return status;
}

/* Prints the reason for differences that are not a fault. */
static void print_state(const struct bp_shm_control *g)
{
	switch (atomic_load(&g->cp_sync_state)) {
	case BP_SYNC_SYNCED:
		return;
	case BP_SYNC_HELD:
		fail("note: the data plane is down, and its host interfaces are gone; the tables "
		     "are kept until it is back",
			0);
		return;
	default:
		fail("note: the control plane is still loading the tables of the kernel", 0);
	}
}

static int print(const struct bp_fib_diff *d, const char *what, bool json)
{
	json_t *all;

	if (!json) {
		bp_fib_diff_print(d, what, stdout);
		return BP_EX_OK;
	}
	all = bp_fib_diff_json(d);
	if (!all)
		return fail("not enough memory", BP_EX_OSERR);
	bp_print_json_new(all, false, stdout);
	return BP_EX_OK;
}

int bp_show_diff(const struct bp_show_view *view, const struct bp_show_source *s,
	const struct bp_config_instance *id, bool json)
{
	int status = check_netns(atomic_load(&s->shm->control->cp_pid));
	struct bp_config *c = status ? NULL : settings(id, &status);
	struct bp_fib_diff d;

	if (!c)
		return status;
	status = compare_twice(view, s, c, &d);
	if (!status) {
		bool different = d.n > 0;

		if (different)
			print_state(s->shm->control);
		status = print(&d, view->name, json);
		if (!status && different)
			status = BP_EX_DIFFERENT;
		bp_fib_diff_free(&d);
	}
	bp_config_free(c);
	return status;
}
