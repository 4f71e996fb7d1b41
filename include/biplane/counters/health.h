/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_HEALTH_H
#define BIPLANE_COUNTERS_HEALTH_H

#include "biplane/counters.h"

/* Personal health devices. */
#define BP_COUNTER_GROUPS_OF_HEALTH(X)                                                             \
	X(PHD, "phd",                                                                              \
		"Reports of personal health devices, and what the CSE said to what "               \
		"became of them.")

#define BP_COUNTERS_OF_HEALTH(X)                                                                   \
	/* frames that biplane made */                                                             \
	X(PHD_INSTANCE_FRAME, ORIGINATED, "phd_instance_frame",                                    \
		"requests to the CSE beyond the first of a report")                                \
	X(PHD_ANSWER_FRAME, ORIGINATED, "phd_answer_frame",                                        \
		"answers to devices beside a request: confirm: forwarded")                         \
	X(CSE_ACK_FRAME, ORIGINATED, "cse_ack_frame",                                              \
		"empty acknowledgements of the CSE's confirmable responses")                       \
	X(PHD_MANAGER_FRAME, ORIGINATED, "phd_manager_frame",                                      \
		"replay: what its own manager said to devices")                                    \
	/* frames that left nowhere */                                                             \
	X(DROP_PHD_CHECKSUM, DROP, "phd_checksum", "from a device, UDP length or checksum wrong")  \
	X(DROP_PHD_DISCARDED, DROP, "phd_discarded",                                               \
		"unconfirmed reports that can't be stored; group phd says why")                    \
	X(DROP_PHD_STRAY, DROP, "phd_stray", "reports without a session, over limits.strays")      \
	X(DROP_PHD_LOADING, DROP, "phd_loading",                                                   \
		"reports without a session while sessions are read back from the store")           \
	X(DROP_PHD_REPEAT_UNCONFIRMED, DROP, "phd_repeat_unconfirmed",                             \
		"unconfirmed reports that are stored already")                                     \
	X(DROP_PHD_EMPTY_UNCONFIRMED, DROP, "phd_empty_unconfirmed",                               \
		"unconfirmed reports without an observation")                                      \
	X(DROP_PHD_NO_MBUF, DROP, "phd_no_mbuf", "reports not sent for want of mbufs")             \
	X(DROP_PHD_NO_IDS, DROP, "phd_no_ids",                                                     \
		"reports not sent: all message ids of cse.source_ports were used in the last 247 " \
		"s")                                                                               \
	X(DROP_CSE_CHECKSUM, DROP, "cse_checksum", "from the CSE, UDP length or checksum wrong")   \
	X(DROP_CSE_UNREADABLE, DROP, "cse_unreadable", "from the CSE, and no response of CoAP")    \
	X(DROP_CSE_BAD_TOKEN, DROP, "cse_bad_token",                                               \
		"responses whose token is none of a session that is open")                         \
	X(DROP_PHD_ANSWER_NO_WAY, DROP, "phd_answer_no_way",                                       \
		"answers to devices that could neither be sent nor handed over")                   \
	/* frames for biplane itself */                                                            \
	X(CSE_ACKED, TERMINATED, "cse_acked", "responses of the CSE that no answer follows")       \
	X(CSE_ACK_EMPTY, TERMINATED, "cse_ack_empty",                                              \
		"empty acknowledgements: the response will come by itself")                        \
	X(CSE_ACK_REPEATED, TERMINATED, "cse_ack_repeated",                                        \
		"responses for what is known to be stored, or for an earlier report")              \
	X(CSE_RESET, TERMINATED, "cse_reset", "resets: the CSE can't make sense of a request")     \
	X(PHD_ANSWER_HANDED, TERMINATED, "phd_answer_handed",                                      \
		"answers to devices that the control plane sends: no neighbour yet")               \
	X(PHD_MANAGER_TAKEN, TERMINATED, "phd_manager_taken",                                      \
		"replay: what its own manager took, in the kernel's place")                        \
	/* why frames were handed to the exception path */                                         \
	X(PUNT_PHD_SIGNAL, PUNT_REASON, "punt_phd_signal", "signalling of a device")               \
	X(PUNT_PHD_STRAY, PUNT_REASON, "punt_phd_stray",                                           \
		"reports without a session, or of one that is not operating")                      \
	X(PUNT_PHD_SLOW, PUNT_REASON, "punt_phd_slow",                                             \
		"reports by the slow path: no containers yet, too long, CSE not resolved")         \
	X(PUNT_PHD_ANSWER, PUNT_REASON, "punt_phd_answer",                                         \
		"confirmed reports that can't be stored: the manager answers")                     \
	/* personal health devices: what was done with reports */                                  \
	X(PHD_REPORTS, PHD, "phd_reports", "reports of sessions that are operating and ready")     \
	X(PHD_REPORTS_CONFIRMED, PHD, "phd_reports_confirmed", "of these, confirmed")              \
	X(PHD_OBSERVATIONS, PHD, "phd_observations", "observations in reports that are new")       \
	X(PHD_INSTANCES, PHD, "phd_instances", "requests to the CSE, also repeated ones")          \
	X(PHD_STORED, PHD, "phd_stored", "of these, acknowledged as stored")                       \
	X(PHD_ANSWERS, PHD, "phd_answers", "answers to devices")                                   \
	X(PHD_REPEATS, PHD, "phd_repeats", "reports that are the last one again")                  \
	X(PHD_SAME_NUMBER, PHD, "phd_same_number",                                                 \
		"new reports with invoke-id and number of the last one")                           \
	X(PHD_UNACKNOWLEDGED, PHD, "phd_unacknowledged",                                           \
		"requests without an acknowledgement when the next report came")                   \
	X(PHD_SPECIAL_VALUES, PHD, "phd_special_values", "values that are NaN, NRes, infinite")    \
	X(PHD_BAD_TIMES, PHD, "phd_bad_times", "time stamps that no clock shows")                  \
	X(PHD_TRAILING_BYTES, PHD, "phd_trailing_bytes",                                           \
		"reports with bytes behind the scan list or a time stamp behind a value, ignored") \
	X(PHD_NO_SESSION, PHD, "phd_no_session", "discarded: the sender has no session")           \
	X(PHD_WRONG_STATE, PHD, "phd_wrong_state", "discarded: its session is not operating")      \
	X(PHD_BAD_APDU, PHD, "phd_bad_apdu", "discarded: fields that make no sense")               \
	X(PHD_BAD_LENGTH, PHD, "phd_bad_length", "discarded: lengths or counts that disagree")     \
	X(PHD_BAD_HANDLE, PHD, "phd_bad_handle", "discarded: not an event of the MDS object")      \
	X(PHD_UNKNOWN_HANDLE, PHD, "phd_unknown_handle",                                           \
		"observations, or whole reports, of objects that were not declared")               \
	X(PHD_BAD_MAP, PHD, "phd_bad_map", "discarded: data contradict the declared map")          \
	X(PHD_EVENTS_LOST, PHD, "phd_events_lost",                                                 \
		"events that the ring to the control plane had no room for")                       \
	X(CSE_ACK_UNSENT, PHD, "cse_ack_unsent",                                                   \
		"empty acknowledgements not sent: no mbuf, or no way to the CSE")                  \
	X(CSE_DENIED, PHD, "cse_denied", "responses: the originator may not")                      \
	X(CSE_NO_TARGET, PHD, "cse_no_target", "responses: the container is not there")            \
	X(CSE_BUSY, PHD, "cse_busy", "responses: later")                                           \
	X(CSE_REFUSED, PHD, "cse_refused", "responses: any other error")

BP_DECLARE_COUNTERS(HEALTH, 1 + BP_SERVICE_HEALTH);

#endif
