/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_HEALTH_H
#define BIPLANE_COUNTERS_HEALTH_H

#include "biplane/counters.h"

/* Personal health devices. */
#define BP_COUNTER_GROUPS_OF_HEALTH(X)                                                             \
	X(PHD, "phd", "Reports of personal health devices, and responses of the CSE.")

#define BP_COUNTERS_OF_HEALTH(X)                                                                   \
	/* frames that biplane generated */                                                        \
	X(CSE_REQUEST_FRAME, ORIGINATED, "cse_request_frame",                                      \
		"second and further requests to the CSE for one report")                           \
	X(PHD_RESPONSE_FRAME, ORIGINATED, "phd_response_frame",                                    \
		"responses to devices in addition to a request (ack: forwarded)")                  \
	X(CSE_ACK_FRAME, ORIGINATED, "cse_ack_frame",                                              \
		"empty acknowledgments of confirmable responses of the CSE")                       \
	X(PHD_MANAGER_FRAME, ORIGINATED, "phd_manager_frame",                                      \
		"replay: frames of the built-in manager to devices")                               \
	/* dropped frames */                                                                       \
	X(DROP_PHD_CHECKSUM, DROP, "phd_checksum", "from a device: wrong UDP length or checksum")  \
	X(DROP_PHD_DISCARDED, DROP, "phd_discarded",                                               \
		"unconfirmed reports discarded; reason in phd_discarded_*")                        \
	X(DROP_PHD_UNKNOWN_SESSION, DROP, "phd_unknown_session",                                   \
		"reports of an unknown session above limits.unknown_report_rate")                  \
	X(DROP_PHD_SESSIONS_LOADING, DROP, "phd_sessions_loading",                                 \
		"reports of an unknown session while sessions are loaded from the store")          \
	X(DROP_PHD_DUPLICATE_UNCONFIRMED, DROP, "phd_duplicate_unconfirmed",                       \
		"duplicate unconfirmed reports, already stored")                                   \
	X(DROP_PHD_EMPTY_UNCONFIRMED, DROP, "phd_empty_unconfirmed",                               \
		"unconfirmed reports without an observation")                                      \
	X(DROP_PHD_NO_MBUF, DROP, "phd_no_mbuf", "reports not sent: no mbufs")                     \
	X(DROP_PHD_NO_MESSAGE_ID, DROP, "phd_no_message_id",                                       \
		"reports not sent: all CoAP message IDs of cse.source_ports used within 247 s")    \
	X(DROP_CSE_CHECKSUM, DROP, "cse_checksum", "from the CSE: wrong UDP length or checksum")   \
	X(DROP_CSE_MALFORMED, DROP, "cse_malformed", "from the CSE: not a valid CoAP response")    \
	X(DROP_CSE_UNKNOWN_TOKEN, DROP, "cse_unknown_token",                                       \
		"CoAP responses with a token of no open session")                                  \
	X(DROP_PHD_RESPONSE_UNSENT, DROP, "phd_response_unsent",                                   \
		"responses to devices neither sent nor handed to the control plane")               \
	/* terminated frames */                                                                    \
	X(CSE_ACKED, TERMINATED, "cse_acked",                                                      \
		"responses of the CSE that complete without a response to the device")             \
	X(CSE_ACK_EMPTY, TERMINATED, "cse_ack_empty",                                              \
		"empty acknowledgments of the CSE: separate response expected")                    \
	X(CSE_ACK_DUPLICATE, TERMINATED, "cse_ack_duplicate",                                      \
		"duplicate responses of the CSE, or responses to an earlier report")               \
	X(CSE_RESET, TERMINATED, "cse_reset", "CoAP reset messages of the CSE")                    \
	X(PHD_RESPONSE_HANDED_OVER, TERMINATED, "phd_response_handed_over",                        \
		"responses to devices handed to the control plane: neighbor not resolved")         \
	X(PHD_MANAGER_RECEIVED, TERMINATED, "phd_manager_received",                                \
		"replay: frames terminated by the built-in manager")                               \
	/* punt reasons */                                                                         \
	X(PUNT_PHD_SIGNALING, PUNT_REASON, "punt_phd_signaling",                                   \
		"association and configuration messages of a device")                              \
	X(PUNT_PHD_UNKNOWN_SESSION, PUNT_REASON, "punt_phd_unknown_session",                       \
		"reports of an unknown session, or of a session that is not operating")            \
	X(PUNT_PHD_SLOW_PATH, PUNT_REASON, "punt_phd_slow_path",                                   \
		"reports for the slow path: no containers yet, too long, or CSE not resolved")     \
	X(PUNT_PHD_RESPONSE, PUNT_REASON, "punt_phd_response",                                     \
		"confirmed reports that were discarded: the manager responds")                     \
	/* reports of personal health devices */                                                   \
	X(PHD_REPORTS, PHD, "phd_reports", "reports of sessions that are operating and ready")     \
	X(PHD_REPORTS_CONFIRMED, PHD, "phd_reports_confirmed", "of these, confirmed")              \
	X(PHD_OBSERVATIONS, PHD, "phd_observations", "observations in new reports")                \
	X(CSE_REQUESTS, PHD, "cse_requests", "requests to the CSE, with retransmissions")          \
	X(CSE_STORED, PHD, "cse_stored", "of these, acknowledged as stored")                       \
	X(PHD_RESPONSES, PHD, "phd_responses", "responses to devices")                             \
	X(PHD_DUPLICATES, PHD, "phd_duplicates", "duplicates of the last report")                  \
	X(PHD_REUSED_NUMBER, PHD, "phd_reused_number",                                             \
		"new reports with the invoke-id and report number of the last report")             \
	X(CSE_UNACKNOWLEDGED, PHD, "cse_unacknowledged",                                           \
		"requests without an acknowledgment when the next report arrived")                 \
	X(PHD_SPECIAL_VALUES, PHD, "phd_special_values", "values that are NaN, NRes or infinite")  \
	X(PHD_INVALID_TIMESTAMPS, PHD, "phd_invalid_timestamps", "invalid timestamps")             \
	X(PHD_TRAILING_BYTES, PHD, "phd_trailing_bytes",                                           \
		"reports with ignored bytes after the scan list, or a timestamp after a value")    \
	X(PHD_DISCARDED_UNKNOWN_SESSION, PHD, "phd_discarded_unknown_session",                     \
		"discarded: unknown session")                                                      \
	X(PHD_DISCARDED_STATE, PHD, "phd_discarded_state", "discarded: session not operating")     \
	X(PHD_DISCARDED_APDU, PHD, "phd_discarded_apdu", "discarded: malformed APDU")              \
	X(PHD_DISCARDED_LENGTH, PHD, "phd_discarded_length",                                       \
		"discarded: inconsistent lengths or counts")                                       \
	X(PHD_DISCARDED_HANDLE, PHD, "phd_discarded_handle",                                       \
		"discarded: not an event of the MDS object")                                       \
	X(PHD_UNKNOWN_HANDLE, PHD, "phd_unknown_handle",                                           \
		"observations, or whole reports, of undeclared objects")                           \
	X(PHD_DISCARDED_MAP, PHD, "phd_discarded_map",                                             \
		"discarded: inconsistent with the attribute value map")                            \
	X(PHD_EVENTS_LOST, PHD, "phd_events_lost", "events to the control plane lost: queue full") \
	X(CSE_ACK_UNSENT, PHD, "cse_ack_unsent",                                                   \
		"empty acknowledgments not sent: no mbuf, or no route to the CSE")                 \
	X(CSE_DENIED, PHD, "cse_denied", "responses of the CSE: access denied")                    \
	X(CSE_NO_TARGET, PHD, "cse_no_target", "responses of the CSE: container not found")        \
	X(CSE_BUSY, PHD, "cse_busy", "responses of the CSE: busy, retry later")                    \
	X(CSE_ERROR, PHD, "cse_error", "responses of the CSE: any other error")

BP_DECLARE_COUNTERS(HEALTH, 1 + BP_SERVICE_HEALTH);

#endif
