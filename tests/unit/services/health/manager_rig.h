/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_HEALTH_MANAGER_RIG_H
#define BP_TESTS_UNIT_SERVICES_HEALTH_MANAGER_RIG_H

#include "tests/unit/proto/health/phd_vectors.h"

#include "services/health/manager.h"
#include "tests/unit/shm/health/phd_rig.h"

/*
 * A manager in virtual time, whose owner only records the callbacks, one line each:
 *
 *	1 e300002c...           an APDU to device 1
 *	opened 1122334455667788
 *	closed 1122334455667788 released
 *	learned 0022092258080001 4000
 *	told 0022092258080001 4137
 *	report 1122334455667788
 *
 * Devices are numbers: device n has the address 10.0.0.n (10.0.n) and port 40000 + n, and comes by
 * UDP; those from 100 to 999 by TCP, on connection n.
 */
#define MANAGER_ID "fedcba9876543210"

struct rig {
	struct phd_rig x;
	struct bp_config_phd c;
	struct bp_phd_manager *m;
	struct bp_phd_manager_counts counts;
	struct bp_phd_manager_ops ops;
	const json_t *vectors;
	char log[1 << 18];
	size_t n;
	uint64_t now_ms;
	uint64_t set_back_ms; /* by which the clock of the day is behind */
	/* results of the owner's callbacks */
	struct rig_known {
		uint8_t system_id[8];
		uint16_t config_id, spec;
		struct bp_phd_model model;
	} known[32];
	unsigned n_known;
	bool one_address;        /* all devices have 10.0.0.200, and ports of their own */
	unsigned reconnected;    /* added to the numbers of connections */
	bool denies;             /* no one is on the allow-list */
	bool searches;           /* for associations of unknown devices */
	uint64_t plan;           /* hash of the plan active */
	enum bp_phd_taken taken; /* results of reports */
	uint8_t learned[65536];  /* the report that was learned last */
	uint16_t learned_len;
};

void rig_open(struct rig *r, const json_t *vectors, uint32_t sessions, uint32_t layouts);
void rig_close(struct rig *r);
/* Another process takes the tables over. */
void rig_restart(struct rig *r);
/* The same without the tables. */
void rig_restart_bare(struct rig *r, uint32_t sessions, uint32_t layouts);

/* Device n sends these bytes; hex digits, or a vector by its name. */
void rig_send(struct rig *r, unsigned device, const char *what);
void rig_send_bytes(struct rig *r, unsigned device, const uint8_t *p, size_t len);
/* An AARQ as A01 with another system-id and configuration: hex digits, in static memory. */
const char *rig_aarq(const char *system_id, unsigned config_id);
/* Hex digits of a vector, changed: byte `at` is `byte`. Static memory. */
const char *rig_patched(const struct rig *r, const char *id, size_t at, unsigned byte);
/* Advances the time; due timers expire. */
void rig_wait(struct rig *r, uint64_t ms);

/* All that was noted since is this. */
#define said(r, lines) rig_said(r, lines, __FILE__, __LINE__)
void rig_said(struct rig *r, const char *lines, const char *file, int line);

/* Of a device's address: enum bp_phd_state. */
enum bp_phd_state rig_state(const struct rig *r, unsigned device);
uint32_t rig_slot(const struct rig *r, unsigned device);
void rig_id(const char *system_id, uint8_t out[8]);

/* Output of a manager. */
#define AARE(result) "e3000006" result "00000000\n"
#define AARE_ACCEPTED(result, protocol)                                                            \
	"e300002c" result "50790026" protocol "8000800000000000000080000000"                       \
	"0008" MANAGER_ID "00000000000000000000\n"
#define AARE0 AARE_ACCEPTED("0000", "80000000")
#define AARE3 AARE_ACCEPTED("0003", "80000000")
#define ABRT(reason) "e6000002" reason "\n"
#define RLRQ "e40000020000\n"
#define RLRE "e50000020000\n"
#define ROER(invoke, error) "e700000c000a" invoke "03000004" error "0000\n"
#define RORJ(invoke, problem) "e700000a0008" invoke "04000002" problem "\n"
#define RORS(invoke, type) "e70000120010" invoke "0201000a0000ffffffff" type "0000\n"
#define CONFIG_RSP(invoke, id, result)                                                             \
	"e70000160014" invoke "0201000e0000ffffffff0d1c0004" id result "\n"
#define GET_MDS(invoke) "e700000e000c" invoke "01030006000000000000\n"

#define OXIMETER "1122334455667788" /* of A01 */
#define ACTIVITY "0022092258080001" /* of A04, configuration 4000 */

#endif
