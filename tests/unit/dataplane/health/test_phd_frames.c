/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frames reach nodes phd and cse, what is wrong with them, and in what company. */
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "tests/unit/dataplane/health/health_rig.h"

#include "dataplane/exception/exception_class.h"
#include "dataplane/nodes/nodes.h"

#include <string.h>

static const struct value spo2[] = {{1, 97, 1}};
#define CON_97 "{\"v\":97,\"u\":\"%\",\"t\":null}"

static struct bytes one(unsigned invoke_id)
{
	return report_make(FIXED, true, invoke_id, invoke_id, spo2, 1, 0);
}

/* A frame of a new report. */
static struct bytes frame(const struct health *h, unsigned invoke_id)
{
	const struct bytes apdu = one(invoke_id);

	return wire_frame(h->o.dev6, &h->device, &h->gateway, &apdu);
}

static unsigned udp_at(const struct health *h)
{
	return h->o.dev6 ? 54 : 34;
}

static void is_converted(struct health *h, uint32_t slot, unsigned report)
{
	const struct request q = health_part(h, 0);

	if (!h->o.per_report)
		assert_string_equal(q.con, CON_97);
	health_named(h, &q, slot, report);
	health_counted(h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_OBSERVATIONS,
		1, BP_C_CSE_REQUESTS, 1, BP_C_CSE_UNACKNOWLEDGED, report != 0, BP_C_COUNT);
}

static void is_refused(struct health *h, const struct bytes *f)
{
	health_frame(h, A, f);
	health_counted(h, BP_C_DROP_PHD_CHECKSUM, 1, BP_C_COUNT);
}

/* ---- UDP ---- */

static void lengths_and_checksums_of_udp(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		struct bytes f;
		struct health h;
		uint32_t slot, udp;

		health_start(&h, &(struct health_options){.dev6 = dev6});
		slot = health_session(&h, 0, 2);
		udp = udp_at(&h);
		/* each byte that the checksum covers, addresses too */
		f = frame(&h, 1);
		for (uint32_t at = udp; at < f.len; at++) {
			if (at == udp + 2 || at == udp + 3) /* then it is to another port */
				continue;
			f.b[at] ^= 0x04;
			is_refused(&h, &f);
			f.b[at] ^= 0x04;
		}
		f.b[udp - 5] ^= 1; /* with IPv4 its own checksum sees that first */
		if (dev6) {
			f = frame(&h, 1);
			f.b[14 + 8 + 15] ^= 1;
			is_refused(&h, &f);
		}
		for (unsigned len = 0; len < 8; len++) {
			f = frame(&h, 1);
			f.b[udp + 4] = 0;
			f.b[udp + 5] = (uint8_t)len;
			f.b[udp + 6] = f.b[udp + 7] = 0;
			is_refused(&h, &f);
		}
		f = frame(&h, 1); /* one byte more than the packet has */
		f.b[udp + 5]++;
		is_refused(&h, &f);
		/* none was made: allowed with IPv4 (RFC 768), not with IPv6 (RFC 8200 8.1) */
		f = frame(&h, 1);
		f.b[udp + 6] = f.b[udp + 7] = 0;
		if (dev6) {
			is_refused(&h, &f);
		} else {
			health_frame(&h, A, &f);
			is_converted(&h, slot, 0);
		}
		health_stop(&h);
	}
}

/* The same of those that are nearly all reports: they have a way of their own. */
static void checksums_of_common_reports(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		struct bytes f;
		struct health h;
		unsigned n = 0, invoke_id = 0;
		uint32_t slot, udp;

		health_start(&h, &(struct health_options){.dev6 = dev6, .per_report = true});
		slot = health_session(&h, 0, 2);
		udp = udp_at(&h);
		f = frame(&h, 0);
		for (uint32_t at = udp; at < f.len; at++) {
			if (at == udp + 2 || at == udp + 3)
				continue;
			f = frame(&h, ++invoke_id);
			health_frame(&h, A, &f);
			is_converted(&h, slot, n++);
			f = frame(&h, ++invoke_id);
			f.b[at] ^= 0x04;
			is_refused(&h, &f);
			f.b[at] ^= 0x04;
			health_frame(&h, A, &f);
			is_converted(&h, slot, n++);
			f = frame(&h, ++invoke_id);
			f.b[udp + 6] = f.b[udp + 7] = 0;
			if (dev6) {
				is_refused(&h, &f);
			} else {
				health_frame(&h, A, &f);
				is_converted(&h, slot, n++);
			}
		}
		health_stop(&h);
	}
}

/* A datagram shorter than its packet, and a packet shorter than its frame. */
static void dependent_resources(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		struct bytes f;
		struct health h;
		uint32_t slot;

		health_start(&h, &(struct health_options){.dev6 = dev6});
		slot = health_session(&h, 0, 2);
		f = frame(&h, 1);
		put_bytes(&f, "filling of the frame", 20);
		health_frame(&h, A, &f);
		is_converted(&h, slot, 0);
		f = frame(&h, 2);
		put_bytes(&f, "of the packet", 12);
		f.b[dev6 ? 19 : 17] = (uint8_t)(f.b[dev6 ? 19 : 17] + 12);
		wire_seal(&f);
		health_frame(&h, A, &f);
		is_converted(&h, slot, 1);
		/* empty payload: only padding */
		f = wire_frame(dev6, &h.device, &h.gateway, &(struct bytes){.len = 0});
		health_frame(&h, A, &f);
		health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PUNT_PHD_SIGNALING, 1, BP_C_COUNT);
		health_stop(&h);
	}
}

static void what_a_driver_says(bool per_report)
{
	static const struct {
		uint64_t flags;
		bool wrong, converted; /* the checksum in the frame; whether it is accepted */
	} says[] = {
		{RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD, true, true},
		{RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD, false, true},
		{RTE_MBUF_F_RX_L4_CKSUM_NONE, true, true}, /* of this machine, never on a wire */
		{RTE_MBUF_F_RX_L4_CKSUM_GOOD, false, true},
		{RTE_MBUF_F_RX_L4_CKSUM_GOOD, true, true}, /* and the header's is right */
		{RTE_MBUF_F_RX_IP_CKSUM_GOOD, true, false},
		{RTE_MBUF_F_RX_L4_CKSUM_BAD, false, false},
		{RTE_MBUF_F_RX_IP_CKSUM_BAD, false, false},
		{0, true, false},
	};
	struct health h;
	uint32_t slot;
	unsigned n = 0;

	health_start(&h, &(struct health_options){.per_report = per_report});
	slot = health_session(&h, 0, 2);
	for (unsigned i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		struct bytes f = frame(&h, i);

		f.b[41] ^= says[i].wrong;
		rig_put_flags(&h.r, A, f.b, f.len, says[i].flags);
		rig_walk(&h.r);
		if (says[i].converted)
			is_converted(&h, slot, n++);
		else
			health_counted(&h, BP_C_DROP_PHD_CHECKSUM, 1, BP_C_COUNT);
	}
	health_stop(&h);
}

static void rx_checksum_flags_of_any_report(void **state)
{
	what_a_driver_says(false);
}
static void rx_checksum_flags_of_common_reports(void **state)
{
	what_a_driver_says(true);
}

/* ---- IP and below ---- */

static void the_last_hop(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		struct bytes f;
		struct health h;
		uint32_t slot;

		health_start(&h, &(struct health_options){.dev6 = dev6, .cse6 = !dev6});
		slot = health_session(&h, 0, 2);
		for (unsigned ttl = 0; ttl < 3; ttl++) {
			f = frame(&h, ttl);
			f.b[dev6 ? 21 : 22] = (uint8_t)ttl;
			wire_seal(&f);
			health_frame(&h, A, &f);
			is_converted(&h, slot, ttl);
		}
		/* broadcast MAC address with one of our IP addresses */
		f = frame(&h, 3);
		memset(f.b, 0xff, 6);
		health_frame(&h, A, &f);
		is_converted(&h, slot, 3);
		health_stop(&h);
	}
}

/* As it came, for this reason, in class `class`. */
static void is_kernels(
	struct health *h, const struct bytes *f, enum bp_exception_class class, bp_counter_t why)
{
	health_frame(h, A, f);
	rig_expect_kernel(&h->r, class, A, f->b, f->len);
	health_counted(h, why, 1, BP_C_COUNT);
}

static struct bytes tagged(const struct bytes *f, unsigned vlan)
{
	struct bytes g = {.len = 0};

	put_bytes(&g, f->b, 12);
	put32(&g, 0x81000000 | vlan);
	put_bytes(&g, f->b + 12, f->len - 12);
	return g;
}

static void kernel_state(void **state)
{
	struct bytes f, g;
	struct health h;
	struct end other;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	for (unsigned i = 0; i < 3; i++) { /* the first fragment, one between, the last one */
		static const unsigned fragment[] = {0x2000, 0x2003, 0x0006};

		f = frame(&h, 1);
		f.b[20] = (uint8_t)(fragment[i] >> 8);
		f.b[21] = (uint8_t)fragment[i];
		wire_seal(&f);
		health_frame(&h, A, &f);
		rig_expect_kernel(&h.r,
			bp_exception_classify(h.worker[0]->router.classes, f.b, f.len, true), A,
			f.b, f.len);
		health_counted(&h, BP_C_PUNT_LOCAL, 1, BP_C_COUNT);
	}
	f = frame(&h, 1);
	g = tagged(&f, 5);
	health_frame(&h, A, &g);
	rig_expect_kernel(&h.r,
		bp_exception_classify(h.worker[0]->router.classes, g.b, g.len, false), A, g.b,
		g.len);
	health_counted(&h, BP_C_PUNT_VLAN, 1, BP_C_COUNT);
	other = h.gateway; /* another port, and an address that is not ours */
	other.port++;
	f = wire_frame(false, &h.device, &other, (struct bytes[]){one(1)});
	is_kernels(&h, &f, BP_EX_LOCAL, BP_C_PUNT_LOCAL);
	other.port--;
	memcpy(other.ip, "\x0a\x02\x00\x05", 4);
	f = wire_frame(false, &h.device, &other, (struct bytes[]){one(1)});
	health_frame(&h, A, &f);
	rte_pktmbuf_free(bp_ring_ports_take(&h.r.ports, B));
	health_counted(&h, BP_C_FORWARDED_IP4, 1, BP_C_COUNT);
	health_stop(&h);
}

/* IP options, and extension headers of IPv6. */
static void headers_between(void **state)
{
	struct bytes f, g;
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	f = frame(&h, 1);
	g = (struct bytes){.len = 0};
	put_bytes(&g, f.b, 34);
	put32(&g, 0x94040000); /* router alert */
	put_bytes(&g, f.b + 34, f.len - 34);
	g.b[14] = 0x46;
	g.b[17] += 4;
	g.b[24] = g.b[25] = 0;
	{
		uint32_t sum = 0;

		for (unsigned i = 14; i < 38; i += 2)
			sum += get16(g.b + i);
		sum = (sum & 0xffff) + (sum >> 16);
		g.b[24] = (uint8_t)(~sum >> 8);
		g.b[25] = (uint8_t)~sum;
	}
	health_frame(&h, A, &g);
	rig_expect_kernel(&h.r,
		bp_exception_classify(h.worker[0]->router.classes, g.b, g.len, true), A, g.b,
		g.len);
	health_counted(&h, BP_C_PUNT_LOCAL, 1, BP_C_COUNT);
	health_stop(&h);

	health_start(&h, &(struct health_options){.dev6 = true});
	health_session(&h, 0, 2);
	for (unsigned i = 0; i < 3; i++) {
		static const uint8_t next[] = {0, 60, 44}; /* hop by hop, destination, fragment */

		f = frame(&h, 1);
		g = (struct bytes){.len = 0};
		put_bytes(&g, f.b, 54);
		put_bytes(&g, next[i] == 44 ? "\x11\0\0\1\0\0\0\7" : "\x11\0\1\4\0\0\0\0", 8);
		put_bytes(&g, f.b + 54, f.len - 54);
		g.b[20] = next[i];
		g.b[19] += 8;
		health_frame(&h, A, &g);
		rig_expect_kernel(&h.r,
			bp_exception_classify(h.worker[0]->router.classes, g.b, g.len, true), A,
			g.b, g.len);
		health_counted(&h, BP_C_PUNT_LOCAL, 1, BP_C_COUNT);
	}
	health_stop(&h);
}

/* A datagram of several buffers, cut anywhere. */
static void in_several_buffers(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		struct bytes f;
		struct health h;

		health_start(&h, &(struct health_options){.dev6 = dev6});
		health_session(&h, 0, 2);
		f = frame(&h, 1);
		for (uint32_t cut = udp_at(&h) + 8; cut < f.len; cut++) {
			struct rte_mbuf *m = rte_pktmbuf_alloc(h.r.pool),
					*n = rte_pktmbuf_alloc(h.r.pool);

			assert_true(m && n);
			memcpy(rte_pktmbuf_append(m, (uint16_t)cut), f.b, cut);
			memcpy(rte_pktmbuf_append(n, (uint16_t)(f.len - cut)), f.b + cut,
				f.len - cut);
			assert_int_equal(rte_pktmbuf_chain(m, n), 0);
			assert_int_equal(rte_ring_enqueue(h.r.ports.in[A], m), 0);
			rig_walk(&h.r);
			health_kernel(&h, A, &f);
			health_counted(&h, BP_C_PUNT_LOCAL, 1, BP_C_COUNT);
		}
		health_stop(&h);
	}
}

/* From a driver that is known to do so, each is a report, wherever it is split. */
static void split_by_the_driver(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		struct bytes f;
		struct health h;
		uint32_t slot;

		health_start(&h, &(struct health_options){.dev6 = dev6, .per_report = true});
		rig_rx_flags(&h.r, BP_RX_F_CHAINS);
		slot = health_session(&h, 0, 2);
		h.r.more_bytes = sizeof(f.b);
		f = frame(&h, 0);
		for (uint32_t cut = 0; cut < f.len; cut++) {
			f = frame(&h, cut + 1);
			h.r.first_bytes = cut;
			health_frame(&h, A, &f);
			is_converted(&h, slot, cut);
		}
		h.r.more_bytes = 0;
		health_stop(&h);
	}
}

/* ---- company ---- */

static void the_answer_of(struct health *h, const struct request *q, struct bytes *f)
{
	struct end to = h->source;
	const struct bytes m = coap_response(ACK, 0x41, q->mid, q->token, 2001);

	to.port = (uint16_t)q->port;
	*f = wire_frame(h->o.cse6, &h->cse, &to, &m);
}

/* Reports between packets that are forwarded, dropped, or the kernel's. */
static void burst_of_all_types(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		const struct value v[] = {{1, 97, 0}, {10, 61, 0}};
		unsigned requests = 0;
		struct end away, us;
		struct health h;
		struct bytes f, kernel = {.len = 0};

		health_start(&h, &(struct health_options){.dev6 = dev6});
		for (unsigned i = 0; i < 60; i++)
			health_session(&h, i, 2);
		away = h.gateway;
		memcpy(away.ip, h.device.ip, 16);
		away.ip[dev6 ? 15 : 3] = 9;
		us = h.gateway;
		us.port = 7;
		for (unsigned i = 0; i < 60; i++) {
			const unsigned parts = i % 5 == 3 ? 2 : 1;
			const struct bytes apdu =
				report_make(FIXED, i % 2, i, i, v, i % 5 == 4 ? 0 : parts, 0);

			h.device = health_device(&h, i);
			f = wire_frame(dev6, &h.device,
				i % 5 == 1   ? &away
				: i % 5 == 2 ? &us
					     : &h.gateway,
				&apdu);
			if (i == 2)
				kernel = f;
			rig_put(&h.r, A, f.b, f.len);
		}
		rig_walk(&h.r);
		for (unsigned i = 0; i < 12; i++) {
			struct rte_mbuf *m;
			void *p;

			for (unsigned k = 0; k < 3; k++, requests++) {
				const struct request q = health_request(&h);
				const struct end e = health_device(&h, q.invoke_id);

				assert_true(q.invoke_id % 5 == 0 || q.invoke_id % 5 == 3);
				assert_int_equal(health_slot(&h, q.slot)->port, e.port);
			}
			assert_int_equal(
				rte_ring_dequeue(h.r.exception->to_kernel[BP_EX_LOCAL][A], &p), 0);
			if (i == 0)
				assert_memory_equal(rte_pktmbuf_mtod((struct rte_mbuf *)p, void *),
					kernel.b, kernel.len);
			h.r.to_kernel++;
			rte_pktmbuf_free(p);
			for (unsigned k = 0; k < (i < 6 ? 3 : 0); k++) {
				m = bp_ring_ports_take(&h.r.ports, A);
				assert_non_null(m);
				rte_pktmbuf_free(m);
			}
		}
		assert_int_equal(requests, 36);
		health_counted(&h, dev6 ? BP_C_FORWARDED_IP6 : BP_C_FORWARDED_IP4, 12,
			BP_C_PUNT_LOCAL, 12, BP_C_PHD_REPORTS, 36, BP_C_PHD_REPORTS_CONFIRMED, 18,
			BP_C_PHD_OBSERVATIONS, 36, BP_C_CSE_REQUESTS, 36, BP_C_CSE_REQUEST_FRAME,
			12, BP_C_PHD_RESPONSES, 6, BP_C_DROP_PHD_EMPTY_UNCONFIRMED, 6, BP_C_COUNT);
		health_stop(&h);
	}
}

/* Over 64 answers in a burst, of the CSE's responses and of repeats. */
static void a_burst_of_answers(void **state)
{
	struct bytes f[RIG_DEPTH - 1];
	struct request q[RIG_DEPTH - 1];
	struct health h;

	health_start(&h, &(struct health_options){0});
	for (unsigned i = 0; i < RIG_DEPTH - 1; i++) {
		health_session(&h, i, 2);
		h.device = health_device(&h, i);
		f[i] = frame(&h, i);
		rig_put(&h.r, A, f[i].b, f[i].len);
	}
	rig_walk(&h.r);
	for (unsigned i = 0; i < RIG_DEPTH - 1; i++) {
		struct bytes ack;

		q[i] = health_request(&h);
		assert_int_equal(q[i].invoke_id, i);
		the_answer_of(&h, &q[i], &ack);
		rig_put(&h.r, B, ack.b, ack.len);
	}
	rig_walk(&h.r);
	for (unsigned i = 0; i < 2 * (RIG_DEPTH - 1); i++) {
		const unsigned k = i % (RIG_DEPTH - 1);
		struct bytes answer = response_stored(k, FIXED);

		if (i == RIG_DEPTH - 1) { /* all once more */
			for (unsigned n = 0; n < RIG_DEPTH - 1; n++)
				rig_put(&h.r, A, f[n].b, f[n].len);
			rig_walk(&h.r);
		}
		h.device = health_device(&h, k);
		health_answer(&h, &answer);
	}
	health_counted(&h, BP_C_PHD_REPORTS, 126, BP_C_PHD_REPORTS_CONFIRMED, 126,
		BP_C_PHD_OBSERVATIONS, 63, BP_C_CSE_REQUESTS, 63, BP_C_CSE_STORED, 63,
		BP_C_PHD_RESPONSES, 126, BP_C_PHD_DUPLICATES, 63, BP_C_COUNT);
	health_stop(&h);
}

/* ---- bridges ---- */

/* Devices are behind a bridge whose host interface has our address. */
static void behind_a_bridge(void **state)
{
	for (unsigned dev6 = 0; dev6 < 2; dev6++) {
		const struct bytes apdu = one(5), answer = response_stored(5, FIXED);
		struct request q;
		struct bytes f;
		struct health h;
		uint32_t slot;

		health_start(&h, &(struct health_options){.bridged = true, .dev6 = dev6});
		slot = health_session(&h, 0, 2);
		health_report(&h, &apdu);
		q = health_part(&h, 0);
		assert_string_equal(q.con, CON_97);
		health_named(&h, &q, slot, 0);
		the_answer_of(&h, &q, &f);
		health_frame(&h, B, &f);
		health_answer(&h, &answer);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_CSE_STORED, 1,
			BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
		/* again, while the bridge has not learned where the device is: to all its ports */
		h.device.mac[3] = 7;
		health_neighbor(&h, HOST, dev6, h.device.ip, h.device.mac);
		h.device.mac[3] = 0;
		health_report(&h, &apdu);
		h.device.mac[3] = 7;
		health_answer(&h, &answer);
		{
			struct rte_mbuf *m = bp_ring_ports_take(&h.r.ports, C);

			assert_non_null(m);
			rte_pktmbuf_free(m);
		}
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_DUPLICATES, 1, BP_C_PHD_RESPONSES, 1, BP_C_FLOOD_COPY, 1,
			BP_C_COUNT);
		/* signalling goes to the kernel interface of the host */
		f = wire_frame(dev6, &h.device, &h.gateway, (struct bytes[]){report_vector("R01")});
		health_frame(&h, A, &f);
		health_kernel(&h, HOST, &f);
		health_counted(&h, BP_C_PUNT_PHD_SIGNALING, 1, BP_C_COUNT);
		health_stop(&h);
	}
}

/* The CSE is behind the bridge too. */
static void the_cse_behind_a_bridge(void **state)
{
	const struct value v[] = {{1, 97, 0}, {10, 61, 0}};
	const struct bytes apdu = report_make(FIXED, false, 5, 5, v, 2, 0);
	struct rte_mbuf *m;
	struct health h;

	health_start(&h, &(struct health_options){.bridged = true});
	health_session(&h, 0, 2);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNICAST, HOST, NULL);
	health_neighbor(&h, HOST, false, h.cse.ip, h.device.mac);
	health_report(&h, &apdu);
	for (unsigned i = 0; i < 2; i++) { /* back out of the port that the device is behind */
		m = bp_ring_ports_take(&h.r.ports, A);
		assert_non_null(m);
		assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), h.device.mac, 6);
		assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 6, h.gateway.mac, 6);
		rte_pktmbuf_free(m);
	}
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 2,
		BP_C_CSE_REQUEST_FRAME, 1, BP_C_COUNT);
	health_stop(&h);
}

/* ---- VLAN subinterfaces ---- */

/* The next frame that left by a port has this tag and this destination. */
static void left_with_tag(struct health *h, unsigned port, uint32_t vlan, const struct end *to)
{
	struct rte_mbuf *m = bp_ring_ports_take(&h->r.ports, port);

	assert_non_null(m);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), to->mac, 6);
	assert_int_equal(
		rte_be_to_cpu_32(*rte_pktmbuf_mtod_offset(m, const unaligned_uint32_t *, 12)),
		0x81000000 | vlan);
	rte_pktmbuf_free(m);
}

static void set_subinterface(
	struct health *h, unsigned i, unsigned port, uint16_t vlan, const uint8_t mac[6])
{
	struct bp_interface_info info = {.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER,
		.mtu = 1500,
		.parent = (uint8_t)port,
		.vlan_id = vlan};

	memcpy(info.mac, mac, 6);
	assert_int_equal(bp_fib_interface_set(h->r.writer, i, &info), BP_FIB_DONE);
}

/* The device is behind a.100, and the CSE behind b.200. */
static void behind_subinterfaces(void **state)
{
	const unsigned devices = BP_MAX_INTERFACES, cse = devices + 1;
	struct bytes f, g;
	struct health h;

	for (unsigned forwarded = 0; forwarded < 2; forwarded++) {
		health_start(&h, &(struct health_options){.forwarded = forwarded != 0});
		health_session(&h, 0, 2);
		set_subinterface(&h, devices, A, 100, h.gateway.mac);
		set_subinterface(&h, cse, B, 200, h.source.mac);
		health_route(&h, "10.1.1.0", 24, BP_ROUTE_UNICAST, (int)devices, NULL);
		health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNICAST, (int)cse, NULL);
		health_neighbor(&h, devices, false, h.device.ip, h.device.mac);
		health_neighbor(&h, cse, false, h.cse.ip, h.cse.mac);
		for (unsigned i = 0; i < 3; i++) {
			f = frame(&h, 1 + i);
			g = tagged(&f, 100);
			health_frame(&h, A, &g);
			left_with_tag(&h, B, 200, &h.cse);
			if (forwarded)
				left_with_tag(&h, A, 100, &h.device);
			assert_null(bp_ring_ports_take(&h.r.ports, A));
			assert_null(bp_ring_ports_take(&h.r.ports, B));
		}
		health_stop(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_and_checksums_of_udp),
		cmocka_unit_test(checksums_of_common_reports),
		cmocka_unit_test(dependent_resources),
		cmocka_unit_test(rx_checksum_flags_of_any_report),
		cmocka_unit_test(rx_checksum_flags_of_common_reports),
		cmocka_unit_test(the_last_hop),
		cmocka_unit_test(kernel_state),
		cmocka_unit_test(headers_between),
		cmocka_unit_test(in_several_buffers),
		cmocka_unit_test(split_by_the_driver),
		cmocka_unit_test(burst_of_all_types),
		cmocka_unit_test(a_burst_of_answers),
		cmocka_unit_test(behind_a_bridge),
		cmocka_unit_test(the_cse_behind_a_bridge),
		cmocka_unit_test(behind_subinterfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
