/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_ALARM_STORE_INTERNAL_H
#define BP_CONTROLPLANE_FLEET_ALARM_STORE_INTERNAL_H

#include <string.h>
#include <sys/uio.h>

#include "config/config.h"
#include "controlplane/fleet/alarm_store.h"
#include "controlplane/fleet/redis_link.h"
#include "daemon/log.h"
#include "proto/redis/resp.h"

/* For the files of the store: alarm_store.c has the connection and the order of the replies,
 * alarm_scripts.c the scripts, stored_copies.c the leases and copies, stored_states.c the states
 * and holds. */

#define BP_ALARM_INFLIGHT_MAX 256u /* a power of two */
#define BP_ALARM_KEY_MAX 224u
#define BP_ALARM_CHANGE_MAX 48u /* an id of a stream */
#define BP_ALARM_CHANGES_PAGE 64u
_Static_assert(
	BP_ALARM_STATES_INFLIGHT <= BP_ALARM_INFLIGHT_MAX / 2, "the other half is for the rest");

#define BP_TEXT_OF(x) #x
#define BP_TEXT(x) BP_TEXT_OF(x)

/*
 * Keys, below biplane:FLEET:alarms: and with G for the name of a gateway:
 *   lease:G   epoch of the process, 16 hexadecimal digits
 *   copies:G  hash: uid to record
 *   order:G   sorted set of these uids; the score is a number that increases in the whole fleet
 *   taken:G   set: uids of G that others have claimed
 *   rejected:G hash: uids to records that G cannot publish; it expires
 *   seq       the last score
 *   gateways  set: names of gateways that may have copies
 *   raised    hash: uid of rule and topic to state
 *   changes   stream: the last states that were raised and cleared
 *   holds     stream: the last changes of holds
 *   cleared   hash: uid to the number of its last clear
 *   clears    sorted set of these uids by the time of the clear, ms; both expire
 */
enum bp_alarm_key {
	KEY_LEASE,
	KEY_COPIES,
	KEY_ORDER,
	KEY_TAKEN,
	KEY_REJECTED,
	KEY_SEQ,
	KEY_GATEWAYS,
	KEY_RAISED,
	KEY_CHANGES,
	KEY_CLEARED,
	KEY_CLEARS,
	KEY_SCRIPTS, /* the number of keys of each script */
	KEY_HOLDS = KEY_SCRIPTS
};

/* In alarm_scripts.c in this order. */
enum bp_alarm_script {
	SCRIPT_RENEW,
	SCRIPT_PUT,
	SCRIPT_REMOVE,
	SCRIPT_CLAIM,
	SCRIPT_STATE,
	SCRIPT_REJECT,
	SCRIPT_ENTRIES,
	SCRIPT_READ
};
extern const char *const bp_alarm_scripts[];

enum bp_alarm_command {
	SENT_RENEW,
	SENT_PUT,
	SENT_REMOVE,
	SENT_REJECT,
	SENT_CLAIM,
	SENT_LIST,
	SENT_FETCH,
	SENT_LIST_TAKEN,
	SENT_STATE,
	SENT_LIST_STATES,
	SENT_LAST_CHANGE,
	SENT_REPLAY,
	SENT_POLL,
	SENT_HOLD,
	SENT_POLL_HOLDS
};

struct bp_alarm_sent {
	enum bp_alarm_command command;
	uint64_t sent_ns;
	size_t bytes; /* of the copy */
	char uid[BP_ALARM_UID_TEXT];
};

struct bp_alarm_store {
	struct bp_config_fleet_state c; /* a reload frees the configuration */
	struct bp_alarm_store_owner owner;
	struct bp_redis_link *link;
	struct event *timer;
	char gateway[BP_NAME_MAX + 1];
	char prefix[96],
		key[KEY_HOLDS + 1][BP_ALARM_KEY_MAX];     /* the scripts have those before HOLDS */
	struct bp_alarm_sent sent[BP_ALARM_INFLIGHT_MAX]; /* without an answer */
	unsigned first, n;
	size_t bytes;                     /* of the copies in them */
	char change[BP_ALARM_CHANGE_MAX]; /* the last one that was read; "": not known */
	bool listing;                     /* the raised states */
	bool polling;
	char hold[BP_ALARM_CHANGE_MAX]; /* the same of the holds */
	bool polling_holds, holds_read;
	uint64_t checked_ns; /* for timeouts */
	uint64_t polled_ns;  /* all changes before this time are known; 0: none */
	uint64_t holds_ns;   /* the same of the holds */
	/* The changes from before this process. */
	char replay[BP_ALARM_CHANGE_MAX]; /* the last one that was read; "": none */
	uint32_t replayed;
	bool replay_done;
	struct bp_log_limit log;
};

#define WORD(text_, len_) ((struct iovec){(void *)(uintptr_t)(text_), (len_)})
#define WORD_OF(text_) WORD(text_, strlen(text_))

/* ---- alarm_store.c ---- */

/* A command that is sent now; uid: that of its answer, or "". */
void bp_alarm_push(struct bp_alarm_store *s, enum bp_alarm_command command, const char *uid);
/* Sends a script with all keys and n further words. */
void bp_alarm_call(struct bp_alarm_store *s, enum bp_alarm_script script, unsigned n,
	const struct iovec *args);
/* Sends a command that reads this key, and its n further words. Longer texts than `max` bytes are
 * returned empty. */
#define BP_ALARM_READ_WORDS 4u
void bp_alarm_read(struct bp_alarm_store *s, const char *command, const char *key, unsigned max,
	unsigned n, const struct iovec *words);
/* The server answered with what it must not: the connection ends. */
void bp_alarm_invalid(struct bp_alarm_store *s, const char *text);
/* An error of one command: the connection stays. */
void bp_alarm_note(struct bp_alarm_store *s, const struct bp_resp *error);

/* ---- stored_copies.c: answers ---- */

void bp_alarm_on_put(struct bp_alarm_store *s, const char *uid, const struct bp_resp *r);
void bp_alarm_on_list(struct bp_alarm_store *s, const struct bp_resp *r);
void bp_alarm_on_taken(struct bp_alarm_store *s, const struct bp_resp *r);
void bp_alarm_on_number(
	struct bp_alarm_store *s, enum bp_alarm_command command, const struct bp_resp *r);

/* ---- stored_states.c: answers ---- */

void bp_alarm_on_state(struct bp_alarm_store *s, const char *uid, const struct bp_resp *r);
void bp_alarm_on_states(struct bp_alarm_store *s, const struct bp_resp *r);
void bp_alarm_on_last_change(struct bp_alarm_store *s, const struct bp_resp *r);
void bp_alarm_on_changes(struct bp_alarm_store *s, const struct bp_resp *r, uint64_t sent_ns);
void bp_alarm_on_holds(struct bp_alarm_store *s, const struct bp_resp *r, uint64_t sent_ns);
void bp_alarm_on_replay(struct bp_alarm_store *s, const struct bp_resp *r);

#endif
