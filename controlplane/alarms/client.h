/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_CLIENT_H
#define BP_CONTROLPLANE_ALARMS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct mosquitto;

/*
 * A handle of libmosquitto, and the errors that the library has logged about it: its return codes
 * say "A TLS error occurred", only its log says which. At every instant one thread may use it.
 */
struct bp_client {
	struct mosquitto *m;
	void *arg; /* the caller's */
	char errors[512];
};

/* `id` "": the library makes one. NULL with errno. The handle's callbacks get the bp_client. */
struct bp_client *bp_client_new(const char *id, void *arg);
void bp_client_free(struct bp_client *c);

/*
 * Whether to listen to the library, from now; a new client does. While it does, the library formats
 * a line for each packet.
 */
void bp_client_listen(struct bp_client *c, bool on);

/*
 * Why a call failed: "WHAT: REASON", or "WHAT: REASON (ERRORS)" with what the library logged, in
 * `text`. rc is libmosquitto's result, err the errno of then.
 */
void bp_client_reason(
	const struct bp_client *c, const char *what, int rc, int err, char *text, size_t size);

#endif
