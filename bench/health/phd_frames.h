/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_FRAMES_H
#define BP_BENCH_HEALTH_PHD_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/health/phd_config.h"

/*
 * Frames of the health device benchmarks: a thousand pulse oximeters, each with a fixed-format
 * report of SpO2 and pulse rate; the reports of every second device are confirmed. Invoke-ids and
 * report numbers are 0; the receive callback writes others (bench/health/phd_input.h).
 */
#define BENCH_PHD_DEVICES 1000u
#define BENCH_PHD_FIRST 0x0a400000u /* address of device 0: 10.64.0.0 */
#define BENCH_PHD_PORT 49152u       /* source port of all devices */
#define BENCH_PHD_OWN 0x0a000001u   /* destination: 10.0.0.1, */
#define BENCH_PHD_LISTEN 6024u      /* and port */

#define BENCH_PHD_APDU_MIN 42u /* bytes of a report with the standard configuration */
#define BENCH_PHD_APDU_MAX 1024u
#define BENCH_PHD_HEADERS 42u /* Ethernet, IPv4, UDP */
#define BENCH_PHD_FRAME_MAX (BENCH_PHD_HEADERS + BENCH_PHD_APDU_MAX)

/* Offsets in a frame. */
#define BENCH_PHD_AT_SRC 26u
#define BENCH_PHD_AT_IP_SUM 24u
#define BENCH_PHD_AT_UDP_SUM 40u
#define BENCH_PHD_AT_APDU BENCH_PHD_HEADERS
#define BENCH_PHD_AT_INVOKE (BENCH_PHD_AT_APDU + 6)
#define BENCH_PHD_AT_REPORT_NO (BENCH_PHD_AT_APDU + 24)
#define BENCH_PHD_AT_SPO2 (BENCH_PHD_AT_APDU + 34)
#define BENCH_PHD_AT_PULSE (BENCH_PHD_AT_APDU + 40)
/* Both values may be increased by less than this and remain valid. */
#define BENCH_PHD_SPREAD 10u

/*
 * Reports longer than BENCH_PHD_APDU_MIN have the rest in a label (MDC_ATTR_ID_LABEL_STRING, 2343)
 * that the attribute value map of the pulse rate declares. `apdu`: bytes per report, a multiple of
 * 2. Returns the length of the frame.
 */
uint32_t bench_phd_frame(uint32_t device, uint32_t apdu, uint8_t frame[BENCH_PHD_FRAME_MAX]);
/* The configuration id of the reports: the standard's 400, or one of the device's own. */
void bench_phd_model(uint32_t apdu, struct bp_phd_model *out);
/* Writes the configuration report for it; returns its length, at most 256. */
uint32_t bench_phd_config_report(uint32_t apdu, uint8_t out[256]);

/* Writes the AARQ of a device with that configuration; the device number is at
 * BENCH_PHD_AARQ_NUMBER. */
#define BENCH_PHD_AARQ_LEN 54u
#define BENCH_PHD_AARQ_NUMBER 40u /* 4 bytes */
extern const uint8_t bench_phd_aarq[BENCH_PHD_AARQ_LEN];

/* Writes the capture. Returns 0, or -1 with a message on stderr. */
int bench_phd_pcap(const char *path);

#endif
