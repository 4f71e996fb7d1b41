/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/fleet/bundle.h"

#define FILE_MAX (BP_BUNDLE_MAX + 1)

bool bp_fleet_store_init(struct bp_fleet_store *s, const struct bp_config *c)
{
	const char *d = c->fleet.config.directory;

	return bp_config_bundle_path(c, s->active) &&
	       snprintf(s->good, sizeof(s->good), "%s/%s.good.yaml", d, c->name) <
		       (int)sizeof(s->good) &&
	       snprintf(s->state_file, sizeof(s->state_file), "%s/%s.json", d, c->name) <
		       (int)sizeof(s->state_file);
}

static int failed(const char *path, const char *what, char *err, size_t err_size)
{
	snprintf(err, err_size, "%s cannot be %s: %s", path, what, strerror(errno));
	return -1;
}

/* The rename is on the disk with the directory. */
static int sync_directory(const char *path)
{
	char directory[PATH_MAX];
	int fd, rc;

	snprintf(directory, sizeof(directory), "%s", path);
	*strrchr(directory, '/') = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = fsync(fd);
	close(fd);
	return rc;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		const ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -1;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int replace(const char *path, const char *text, size_t len, char *err, size_t err_size)
{
	char temporary[PATH_MAX + 8];
	int fd, rc;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	/* the planes are other users; the umask of the agent does not matter */
	rc = fd < 0 || fchmod(fd, 0644) != 0 || write_all(fd, text, len) != 0 || fsync(fd) != 0;
	if (fd >= 0)
		rc |= close(fd) != 0;
	if (rc == 0 && rename(temporary, path) == 0 && sync_directory(path) == 0)
		return 0;
	rc = failed(path, "written", err, err_size);
	unlink(temporary);
	return rc;
}

/* The text of a file of at most FILE_MAX bytes, or NULL with errno. */
static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = f != NULL ? malloc(FILE_MAX + 1) : NULL;

	if (text != NULL) {
		*len = fread(text, 1, FILE_MAX, f);
		if (ferror(f) || *len == FILE_MAX) {
			errno = *len == FILE_MAX ? EFBIG : EIO;
			free(text);
			text = NULL;
		} else {
			text[*len] = '\0';
		}
	}
	if (f != NULL)
		fclose(f);
	return text;
}

/* By a second link, which needs no space on a full disk. replace() never writes to a file that has
 * a name. */
static int copy(const char *from, const char *to, char *err, size_t err_size)
{
	char temporary[PATH_MAX + 8];
	int rc = 0;

	snprintf(temporary, sizeof(temporary), "%s.new", to);
	unlink(temporary);
	if (link(from, temporary) != 0 || rename(temporary, to) != 0 || sync_directory(to) != 0)
		rc = failed(to, "written", err, err_size);
	unlink(temporary); /* rename() does nothing if both are the same file */
	return rc;
}

int bp_fleet_activate(
	const struct bp_fleet_store *s, const char *text, size_t len, char *err, size_t err_size)
{
	return replace(s->active, text, len, err, err_size);
}

int bp_fleet_keep(const struct bp_fleet_store *s, char *err, size_t err_size)
{
	return copy(s->active, s->good, err, err_size);
}

bool bp_fleet_is_good(const struct bp_fleet_store *s, const char sha256[BP_SHA256_HEX])
{
	char hex[BP_SHA256_HEX] = "";
	size_t len = 0;
	char *text = read_file(s->good, &len);

	if (text != NULL)
		bp_sha256_hex(text, len, hex);
	free(text);
	return hex[0] != '\0' && strcmp(hex, sha256) == 0;
}

int bp_fleet_restore(const struct bp_fleet_store *s, char *err, size_t err_size)
{
	if (access(s->good, F_OK) == 0)
		return copy(s->good, s->active, err, err_size);
	if ((unlink(s->active) != 0 && errno != ENOENT) || sync_directory(s->active) != 0)
		return failed(s->active, "removed", err, err_size);
	return 0;
}

/* ---- the state ---- */

static void take_text(const json_t *o, const char *name, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(o, name));

	snprintf(out, size, "%s", text != NULL ? text : "");
}

static uint64_t take_number(const json_t *o, const char *name)
{
	const json_int_t n = json_integer_value(json_object_get(o, name));

	return n > 0 ? (uint64_t)n : 0;
}

int bp_fleet_state_read(
	const struct bp_fleet_store *s, struct bp_fleet_state *state, char *err, size_t err_size)
{
	size_t len = 0;
	char *text = read_file(s->state_file, &len);
	json_error_t error;
	const char *phase;
	bool valid;
	json_t *o;

	*state = (struct bp_fleet_state){.phase = BP_FLEET_IDLE};
	if (text == NULL && errno == ENOENT)
		return 0;
	o = text != NULL ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &error) : NULL;
	free(text);
	phase = json_string_value(json_object_get(o, "phase"));
	valid = bp_fleet_phase_read(phase, &state->phase);
	state->serial = take_number(o, "serial");
	state->version = take_number(o, "version");
	state->good_version = take_number(o, "good_version");
	state->since_ns = take_number(o, "since_ns");
	take_text(o, "sha256", state->sha256, sizeof(state->sha256));
	take_text(o, "good_sha256", state->good_sha256, sizeof(state->good_sha256));
	state->reload_due = json_is_true(json_object_get(o, "reload_due"));
	take_text(o, "errors", state->errors, sizeof(state->errors));
	json_decref(o);
	if (valid)
		return 0;
	state->phase = BP_FLEET_TRIAL; /* perhaps it was: the good bundle is restored */
	snprintf(err, err_size,
		"%s cannot be read, or is damaged: the agent starts without a state, and with the "
		"last good bundle",
		s->state_file);
	return -1;
}

int bp_fleet_state_write(const struct bp_fleet_store *s, const struct bp_fleet_state *state,
	char *err, size_t err_size)
{
	json_t *o = json_pack("{ss sI sI sI sI ss ss sb ss}", "phase",
		bp_fleet_phase_name(state->phase), "serial", (json_int_t)state->serial, "version",
		(json_int_t)state->version, "good_version", (json_int_t)state->good_version,
		"since_ns", (json_int_t)state->since_ns, "sha256", state->sha256, "good_sha256",
		state->good_sha256, "reload_due", (int)state->reload_due, "errors", state->errors);
	char *text = o != NULL ? json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
	int rc = -1;

	json_decref(o);
	if (text == NULL)
		snprintf(err, err_size, "no memory for the state of the agent");
	else
		rc = replace(s->state_file, text, strlen(text), err, err_size);
	free(text);
	return rc;
}
