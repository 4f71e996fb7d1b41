/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_PHD_APDU_H
#define BP_PROTO_HEALTH_PHD_APDU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ISO/IEEE 11073-20601 APDUs in MDER, as bytes: APDUs that a manager reads, and its responses.
 * Clauses are those of 20601:2010; annex A has the structures, annex F the encoding. MDER is
 * big-endian and unpadded. An APDU is always complete, a datagram or a part of a stream found by
 * bp_phd_apdu_size(). Pure functions; every pointer in a result points into the input.
 */

/* The first 16 bits of an APDU (A.8). */
enum bp_phd_choice {
	BP_PHD_AARQ = 0xe200, /* association request */
	BP_PHD_AARE = 0xe300, /* and its response */
	BP_PHD_RLRQ = 0xe400, /* release request */
	BP_PHD_RLRE = 0xe500, /* and its response */
	BP_PHD_ABRT = 0xe600, /* abort */
	BP_PHD_PRST = 0xe700, /* presentation: everything while associated */
};

/* Contents of a PRST (A.10.1). */
enum bp_phd_data {
	BP_PHD_EVENT = 0x0100,
	BP_PHD_EVENT_CONFIRMED = 0x0101,
	BP_PHD_GET = 0x0103,
	BP_PHD_SET = 0x0104,
	BP_PHD_SET_CONFIRMED = 0x0105,
	BP_PHD_ACTION = 0x0106,
	BP_PHD_ACTION_CONFIRMED = 0x0107,
	BP_PHD_RORS_EVENT = 0x0201,
	BP_PHD_RORS_GET = 0x0203,
	BP_PHD_RORS_SET = 0x0205,
	BP_PHD_RORS_ACTION = 0x0207,
	BP_PHD_ROER = 0x0300, /* the operation failed */
	BP_PHD_RORJ = 0x0400, /* the APDU was not taken */
};

/* The type of an event report: MDC_NOTI_* of the infrastructure partition. */
enum bp_phd_event {
	BP_PHD_CONFIG = 3356,
	BP_PHD_SCAN_FIXED = 3357,
	BP_PHD_SCAN_VAR = 3358,
	BP_PHD_SCAN_MP_FIXED = 3359, /* MP: of several persons */
	BP_PHD_SCAN_MP_VAR = 3360,
};

/* The result of an AARE (A.8). */
enum bp_phd_result {
	BP_PHD_ACCEPTED = 0,
	BP_PHD_REJECTED_PERMANENT = 1,
	BP_PHD_REJECTED_TRANSIENT = 2,
	BP_PHD_ACCEPTED_UNKNOWN_CONFIG = 3, /* the device is to report its configuration */
	BP_PHD_NO_COMMON_PROTOCOL = 4,
	BP_PHD_NO_COMMON_PARAMETER = 5,
	BP_PHD_REJECTED_UNKNOWN = 6,
	BP_PHD_UNAUTHORIZED = 7,
	BP_PHD_UNSUPPORTED_VERSION = 8,
};

/* The reason of an ABRT (A.8). */
enum bp_phd_abort {
	BP_PHD_ABORT_UNDEFINED = 0,
	BP_PHD_ABORT_OVERFLOW = 1,
	BP_PHD_ABORT_RESPONSE = 2, /* timeouts: of a confirmed service */
	BP_PHD_ABORT_CONFIG = 3,   /* of the configuration */
};

/* The error-value of a ROER (A.10.2). */
enum bp_phd_roer {
	BP_PHD_NO_SUCH_OBJECT = 1,
	BP_PHD_ACCESS_DENIED = 2,
	BP_PHD_NO_SUCH_ACTION = 9,
	BP_PHD_INVALID_OBJECT = 17,
	BP_PHD_PROTOCOL_VIOLATION = 23,
	BP_PHD_NOT_ALLOWED = 24, /* by the object */
};

/* The problem of a RORJ (A.10.3). */
enum bp_phd_rorj {
	BP_PHD_UNRECOGNIZED_APDU = 0,
	BP_PHD_BADLY_STRUCTURED = 2,
	BP_PHD_UNRECOGNIZED_OPERATION = 101,
	BP_PHD_RESOURCE_LIMITATION = 103,
	BP_PHD_UNEXPECTED_ERROR = 303,
};

/* Errors of an APDU or a part of one. */
enum bp_phd_error {
	BP_PHD_OK = 0,
	BP_PHD_E_SHORT,       /* shorter than the header of every APDU (4 bytes) */
	BP_PHD_E_CHOICE,      /* its first 16 bits are not in enum bp_phd_choice */
	BP_PHD_E_LENGTH,      /* an invalid length, or bytes left over */
	BP_PHD_E_COUNT,       /* a count and the length of its list disagree */
	BP_PHD_E_DATA_CHOICE, /* a PRST with none of enum bp_phd_data */
	BP_PHD_E_FIELD,       /* the encoding is valid, the value is not; described at each use */
};

/* A static string. */
const char *bp_phd_error_text(enum bp_phd_error e);

/* An OCTET STRING or ANY, or the entries of a list; valid as long as the input. */
struct bp_phd_bytes {
	const uint8_t *p;
	uint16_t len;
};

#define BP_PHD_PROTOCOL_20601 0x5079 /* data-proto-id: 20601 itself */

/* PhdAssociationInformation, of the data-proto entry with id 0x5079. Bit strings as they came. */
struct bp_phd_association {
	uint32_t protocol_version;     /* 80000000: version 1; 40000000: version 2, 20601a */
	uint32_t nomenclature_version; /* 80000000 */
	uint32_t functional_units;
	uint32_t system_type;    /* 80000000: manager; 00800000: agent */
	uint16_t encoding_rules; /* 8000: MDER; 4000: XER; 2000: PER */
	uint16_t config_id;
	uint16_t data_req_flags;
	uint8_t init_agent, init_manager; /* data requests that each may begin */
	struct bp_phd_bytes system_id; /* of any length: that it is an EUI-64 the manager demands */
	struct bp_phd_bytes options;   /* proven; walk it with bp_phd_attribute_next() */
};

struct bp_phd_apdu {
	uint16_t choice; /* enum bp_phd_choice, or the value in its place with E_CHOICE */
	union {
		struct {
			uint32_t version;     /* of the association protocol: 80000000 */
			uint16_t n_protocols; /* entries of the data-proto list */
			bool has_20601;
			struct bp_phd_association info; /* with has_20601 */
		} aarq;
		struct {
			uint16_t result; /* enum bp_phd_result */
			uint16_t protocol;
			bool has_info; /* protocol is 0x5079 and information follows */
			struct bp_phd_association info;
		} aare;
		uint16_t reason; /* RLRQ, RLRE, ABRT */
		struct {
			uint16_t invoke_id;
			uint16_t choice; /* enum bp_phd_data */
			struct bp_phd_bytes body;
		} prst;
	};
	/* A PRST with a readable invoke-id, also if the rest is invalid: a response is possible.
	 * Then prst.invoke_id is set, and also prst.choice: 0 if the APDU ends before it. */
	bool invoke_id_known;
};

/*
 * Reads one complete APDU p[0..len), strictly: every length and count must agree, including the
 * body of a PRST, which has its readers below. *out is complete with OK only; with an error, choice
 * (0 with E_SHORT) and invoke_id_known are set. Of several data-proto entries the first with id
 * 0x5079 is read; those with other ids are skipped, further ones with 0x5079 must also be valid.
 */
enum bp_phd_error bp_phd_apdu_read(const uint8_t *p, size_t len, struct bp_phd_apdu *out);

/*
 * Size in bytes of the APDU at p[0..len), including its header of four bytes: 4..65539, or 0 if len
 * is less than four. For TCP; bp_phd_apdu_read() checks whether it is an APDU.
 */
uint32_t bp_phd_apdu_size(const uint8_t *p, size_t len);

/* EventReportArgumentSimple; also EventReportResultSimple, the body of BP_PHD_RORS_EVENT. */
struct bp_phd_event_report {
	uint16_t handle; /* 0: the MDS */
	uint16_t type;   /* enum bp_phd_event, or another */
	uint32_t time;   /* the device's relative time in 1/8 ms; FFFFFFFF: none */
	struct bp_phd_bytes info;
};
enum bp_phd_error bp_phd_event_read(struct bp_phd_bytes body, struct bp_phd_event_report *out);

/* GetResultSimple, the body of BP_PHD_RORS_GET. The attributes are proven. */
struct bp_phd_get_reply {
	uint16_t handle;
	uint16_t n;                     /* attributes in the list */
	struct bp_phd_bytes attributes; /* walk it with bp_phd_attribute_next() */
};
enum bp_phd_error bp_phd_get_read(struct bp_phd_bytes body, struct bp_phd_get_reply *out);

/*
 * The body of a ROER or RORJ, by `choice` (else E_FIELD): *code is the error-value or the problem,
 * with any number. A ROER's parameter is looked at for its length only.
 */
enum bp_phd_error bp_phd_refusal_read(uint16_t choice, struct bp_phd_bytes body, uint16_t *code);

/*
 * Takes the next {id, value} from *list. False at its end (list->len is then 0) and if it is
 * invalid (list is unchanged); a list that a reader has validated is valid.
 */
bool bp_phd_attribute_next(struct bp_phd_bytes *list, uint16_t *id, struct bp_phd_bytes *value);

/*
 * An AttributeList or another SEQUENCE OF {u16, ANY}: u16 count, u16 length, entries, and nothing
 * after them. Validates all entries; *n and *entries are set with OK only.
 */
enum bp_phd_error bp_phd_attributes_read(
	struct bp_phd_bytes list, uint16_t *n, struct bp_phd_bytes *entries);

/*
 * Writers, for the APDUs of a manager only. They return the length, or 0 if it exceeds `size`: then
 * nothing is written.
 */

/*
 * Accepted (0 and 3): 48 bytes; `protocol_version` is the single chosen bit, `system_id` that of
 * the manager. Otherwise 10 bytes, with data-proto-id 0 and no information, and the two arguments
 * are ignored.
 */
#define BP_PHD_AARE_LEN 48u
size_t bp_phd_write_aare(uint8_t *out, size_t size, enum bp_phd_result r, uint32_t protocol_version,
	const uint8_t system_id[8]);

/* RLRQ, RLRE, ABRT: 6 bytes. 0 for another choice. */
#define BP_PHD_SIMPLE_LEN 6u
size_t bp_phd_write_simple(uint8_t *out, size_t size, enum bp_phd_choice c, uint16_t reason);

/* The response to a confirmed event report, without reply information or time. */
#define BP_PHD_RORS_EVENT_LEN 22u
void bp_phd_write_rors_event(
	uint8_t out[BP_PHD_RORS_EVENT_LEN], uint16_t invoke, uint16_t handle, uint16_t type);

/* ConfigReportRsp: 26 bytes. `result` 0: accepted; 1: unsupported; 2: standard-config-unknown. */
#define BP_PHD_CONFIG_RSP_LEN 26u
enum bp_phd_config_result {
	BP_PHD_CONFIG_ACCEPTED = 0,
	BP_PHD_CONFIG_UNSUPPORTED = 1,
	BP_PHD_CONFIG_STANDARD_UNKNOWN = 2,
};
size_t bp_phd_write_config_rsp(
	uint8_t *out, size_t size, uint16_t invoke, uint16_t config_id, uint16_t result);

#define BP_PHD_ROER_LEN 16u
size_t bp_phd_write_roer(uint8_t *out, size_t size, uint16_t invoke, uint16_t error);

#define BP_PHD_RORJ_LEN 14u
size_t bp_phd_write_rorj(uint8_t *out, size_t size, uint16_t invoke, uint16_t problem);

/* A GET of all attributes of the MDS: 18 bytes. */
#define BP_PHD_GET_MDS_LEN 18u
size_t bp_phd_write_get_mds(uint8_t *out, size_t size, uint16_t invoke);

#endif
