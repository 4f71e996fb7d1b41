/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Forwarding by XDP, for comparison: a program for each port of a bridge with two ports, a program
 * that routes IPv4 by the kernel's tables, and one that passes all frames, without which a veth
 * pair does not receive redirected frames. bench/peers/xdp.sh compiles it for target bpf, for each
 * port with the number of the other as XDP_TO, and attaches it.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
/* after linux/bpf.h, whose types it uses */
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET 2 /* sys/socket.h is not for this target */

SEC("bridge")
int redirect_all(struct xdp_md *ctx)
{
	(void)ctx;
	return (int)bpf_redirect(XDP_TO, 0);
}

static __always_inline void decrement_ttl(struct iphdr *ip)
{
	__u32 check = ip->check;

	check += bpf_htons(0x0100);
	ip->check = (__u16)(check + (check >= 0xffff)); /* RFC 1141 */
	ip->ttl--;
}

SEC("route")
int route_ipv4(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct bpf_fib_lookup fib = {.family = AF_INET, .ifindex = ctx->ingress_ifindex};
	struct ethhdr *ether = data;
	struct iphdr *ip = (void *)(ether + 1);

	/* IP options, an expiring TTL and other protocols are left to the kernel */
	if ((void *)(ip + 1) > end || ether->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5 ||
		ip->ttl <= 1)
		return XDP_PASS;
	fib.l4_protocol = ip->protocol;
	fib.tos = ip->tos;
	fib.tot_len = bpf_ntohs(ip->tot_len);
	fib.ipv4_src = ip->saddr;
	fib.ipv4_dst = ip->daddr;
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS; /* local, or the neighbor is not resolved yet */
	decrement_ttl(ip);
	__builtin_memcpy(ether->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(ether->h_source, fib.smac, ETH_ALEN);
	return (int)bpf_redirect(fib.ifindex, 0);
}

SEC("pass")
int pass_all(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char bp_license[] SEC("license") = "Dual BSD/GPL";
