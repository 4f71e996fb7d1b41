/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_DESTINATION_H
#define BP_CONTROLPLANE_ALARMS_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/mqtt/settings.h"
#include "daemon/log.h"
#include "shm/fault.h"
#include "shm/layout.h"

struct event_base;

/*
 * A destination of alarms: what the publisher uses of a client library. Each destination that is
 * configured has a publisher of its own, with its own link, spool, window and order of alarms, so
 * that one destination does not wait for another. The publishers read the same rings; the tail of a
 * ring moves when all of them have moved theirs (lane.h).
 */

/* Called from the event loop; `down` also from flush(), reset() and configure(). */
struct bp_link_events {
	void (*up)(void *arg);   /* alarms can be sent */
	void (*down)(void *arg); /* no alarm in flight will be acknowledged any more */
	/* The destination cannot be reached. Alarms in flight stay with the link, which repeats
	 * them, and may still be acknowledged. */
	void (*unreachable)(void *arg);
	void (*acked)(void *arg, uint16_t mid); /* must not send or flush */
	/* The destination will never accept this alarm. As `acked`. */
	void (*rejected)(void *arg, uint16_t mid, const char *why);
	void (*ready)(void *arg); /* after any number of acked and rejected; may send */
};

struct bp_link_message {
	const struct bp_alarm *alarm;
	const char *topic; /* terminated */
	const void *payload;
	uint32_t len;
};

/* The settings of all destinations; each uses its own. */
struct bp_destination_settings {
	struct bp_config_publisher publisher;
	struct bp_config_kafka kafka;
};

struct bp_destination_limits {
	bool enabled;
	uint32_t max_inflight;
	uint64_t ack_timeout_ns, unreachable_after_ns;
};

#define BP_DESTINATION_FIELDS 2u

struct bp_destination {
	enum bp_alarm_destination id;
	/* The link repeats unacknowledged alarms in their order by itself: the publisher does not
	 * reset it, and spools alarms in flight without taking them back. */
	bool repeats;
	uint32_t window_max;
	const char *spool_suffix; /* of the file's path */
	enum bp_fault_kind unreachable, settings, backlog, spool_error;

	void (*limits)(const struct bp_destination_settings *s, struct bp_destination_limits *out);
	/* Fields of the log that name the destination. */
	void (*fields)(const struct bp_destination_settings *s,
		struct bp_log_field out[BP_DESTINATION_FIELDS]);
	/* Checks the files of the settings. Returns 0, or -1 with a sentence in `err`. */
	int (*check)(const struct bp_destination_settings *s, char *err, size_t err_size);
	/* NULL without memory. Starts connecting at the first configure(). */
	void *(*new)(struct event_base *base, const struct bp_link_events *events, void *arg);
	void (*free)(void *link);
	/* Applies the settings; connects again if they differ from the current ones. Fails like
	 * check(). */
	int (*configure)(
		void *link, const struct bp_destination_settings *s, char *err, size_t err_size);
	bool (*up)(const void *link);
	/* NULL: the destination is one broker. How many the client knows, and is connected to. */
	void (*brokers)(const void *link, uint32_t *known, uint32_t *connected);
	/* The reason why it is not up, for a log line; "": not known. */
	const char *(*error)(const void *link);
	/* Copies the message. Returns 0 with *mid, > 0 when it can never be sent, < 0 when it
	 * cannot be sent now. */
	int (*send)(void *link, const struct bp_link_message *m, uint16_t *mid);
	/* Writes what was sent, as far as the socket accepts it. */
	void (*flush)(void *link);
	/* Closes the connection and opens a new one. Calls `down`. `why` is a sentence. */
	void (*reset)(void *link, const char *why);
};

extern const struct bp_destination bp_mqtt_destination, bp_kafka_destination;

#endif
