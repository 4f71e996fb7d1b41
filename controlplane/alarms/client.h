/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_CLIENT_H
#define BP_CONTROLPLANE_ALARMS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct mosquitto;

/*
 * A handle of libmosquitto, and the errors that the library has logged about it: its return codes
 * only say "A TLS error occurred", the log has the reason. Only one thread at a time may use it.
 */
struct bp_client {
	struct mosquitto *m;
	void *arg; /* argument of the caller */
	char errors[512];
};

/* `id` "": the library generates one. Returns NULL with errno on failure. Callbacks of the handle
 * get the bp_client. */
struct bp_client *bp_client_new(const char *id, void *arg);
void bp_client_free(struct bp_client *c);

/*
 * Enables or disables the collection of log messages of the library; it is enabled in a new client.
 * While it is enabled, the library formats a line for each packet.
 */
void bp_client_listen(struct bp_client *c, bool on);

/*
 * Writes the reason of a failed call to `text`: "WHAT: REASON", or "WHAT: REASON (ERRORS)" with the
 * library's log messages. rc is libmosquitto's result, err the errno at that time.
 */
void bp_client_reason(
	const struct bp_client *c, const char *what, int rc, int err, char *text, size_t size);

#endif
