/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/trial.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/monitor/health_checks.h"
#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/show/status_view.h"
#include "config/mqtt/settings.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static json_t *not_running(void)
{
	return json_pack("{s[s] s[]}", "problems", "the instance does not run", "planes");
}

static void add_faults(json_t *problems, const json_t *status)
{
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(status, "faults"), i, f)
	{
		const char *fault = json_string_value(json_object_get(f, "fault"));
		const char *object = json_string_value(json_object_get(f, "object"));

		json_array_append_new(
			problems, json_sprintf("fault %s of %s", fault != NULL ? fault : "?",
					  object != NULL ? object : "?"));
	}
}

static void add_checks(json_t *problems, const json_t *status, uint64_t spool_max)
{
	json_t *health = bp_health_checks(status, spool_max), *c;
	size_t i;

	json_array_foreach(json_object_get(health, "checks"), i, c)
	{
		const char *check = json_string_value(json_object_get(c, "check"));

		if (!json_is_true(json_object_get(c, "ok")) && check != NULL)
			json_array_append_new(
				problems, json_sprintf("readiness check %s failed", check));
	}
	json_decref(health);
}

json_t *bp_fleet_planes(const json_t *status)
{
	json_t *list = json_array();
	json_t *p;
	size_t i;

	json_array_foreach(json_object_get(status, "planes"), i, p)
	{
		const char *name = json_string_value(json_object_get(p, "plane"));

		if (name == NULL || strcmp(name, "supervisor") == 0)
			continue;
		/* the number of a process that ended stays in the segment */
		if (json_is_true(json_object_get(p, "running")))
			json_array_append(list, json_object_get(p, "pid"));
		else
			json_array_append_new(list, json_null());
	}
	return list;
}

/* What `biplane status` prints; NULL: the instance does not run, or, if *running, no memory. */
static json_t *status_of(const struct bp_config *c, bool *running, char *err, size_t err_size)
{
	struct bp_config_instance id = {.no_hugepages = c->hugepages == BP_HUGEPAGES_NEVER};
	struct bp_instance_view view;
	struct bp_show_source source;
	json_t *status;

	memcpy(id.name, c->name, sizeof(id.name));
	memcpy(id.runtime_dir, c->runtime_dir, sizeof(id.runtime_dir));
	*running = bp_instance_view_open(&view, &id, err, err_size) == 0;
	if (!*running)
		return NULL;
	source = (struct bp_show_source){.shm = &view.shm,
		.unix_ns = clock_ns(CLOCK_REALTIME),
		.mono_ns = clock_ns(CLOCK_MONOTONIC)};
	status = bp_status_view.collect(&source, err, err_size);
	bp_instance_view_close(&view);
	return status;
}

/* 0: there is no publisher. */
static uint64_t spool_max_of(const struct bp_config *c)
{
	const struct bp_config_mqtt *mqtt = bp_config_mqtt(c);

	return mqtt->publisher.enabled ? mqtt->spool.max_bytes : 0;
}

json_t *bp_fleet_readiness(const struct bp_config *c, char *err, size_t err_size)
{
	bool running;
	json_t *status = status_of(c, &running, err, err_size), *ready;

	ready = status != NULL ? bp_health_checks(status, spool_max_of(c)) : NULL;
	json_decref(status);
	return ready;
}

json_t *bp_fleet_health(const struct bp_config *c)
{
	bool running;
	char err[512];
	json_t *status = status_of(c, &running, err, sizeof(err)), *problems, *planes;

	if (status == NULL)
		return running ? NULL : not_running();
	problems = json_array();
	add_faults(problems, status);
	add_checks(problems, status, spool_max_of(c));
	planes = bp_fleet_planes(status);
	json_decref(status);
	return json_pack("{so so}", "problems", problems, "planes", planes);
}

bool bp_fleet_is_running(const json_t *health)
{
	const json_t *planes = json_object_get(health, "planes"), *pid;
	size_t i;

	json_array_foreach(planes, i, pid) if (!json_is_integer(pid)) return false;
	return json_array_size(planes) > 0;
}

static bool has(const json_t *list, const char *text)
{
	const json_t *e;
	size_t i;

	json_array_foreach(list, i, e) if (strcmp(json_string_value(e), text) == 0) return true;
	return false;
}

bool bp_fleet_is_worse(const json_t *before, const json_t *now, char *why, size_t why_size)
{
	const json_t *known = json_object_get(before, "problems"), *e;
	size_t i;

	json_array_foreach(json_object_get(now, "problems"), i, e)
	{
		if (has(known, json_string_value(e)))
			continue;
		snprintf(why, why_size, "health became worse in the trial time: %s",
			json_string_value(e));
		return true;
	}
	if (json_equal(json_object_get(before, "planes"), json_object_get(now, "planes")))
		return false;
	snprintf(why, why_size, "a plane was restarted in the trial time");
	return true;
}
