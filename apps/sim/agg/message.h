/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_MESSAGE_H
#define BIPLANE_AGG_SIM_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The paper's messages (Figure 6): Ethernet, IPv4, UDP to 10.1.0.9:5555, and 16 bytes that begin
 * with the number of the message; in format lin2018 with the flag header, type 0xfa, before them.
 */
#define SIM_MESSAGE_MAX 64u /* bytes of a frame */
#define SIM_PAYLOAD 16u
#define SIM_SENDERS_MAX 255u
#define SIM_DESTINATION 0x0a010009u
#define SIM_UDP 5555u

/* The frame of one sender, in which only the number changes. */
struct sim_message {
	uint8_t frame[SIM_MESSAGE_MAX];
	uint16_t len, number_at;
	uint32_t sum; /* of the data of the UDP checksum, without the number */
};

/* Of sender 10.0.0.`sender`, UDP port 40000 + sender. */
void sim_message_init(struct sim_message *m, bool lin2018, uint8_t sender);
/* Writes a number, and the resulting checksum. */
void sim_message_number(struct sim_message *m, uint32_t number);

/*
 * Whether a frame is an N-packet in the format, of the messages with the numbers `first`, first + 1
 * and so on in this order and of no others, with consistent lengths. Returns N; 0: it is not.
 */
unsigned sim_packet_read(const uint8_t *frame, uint32_t len, bool lin2018, uint32_t first);

#endif
