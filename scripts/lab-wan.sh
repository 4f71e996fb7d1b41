# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# Two gateways with a WAN between them, in the laboratory of scripts/lab, which includes this file.

wan_spaces=(sensors near wan far server)

# Four wires in a row. Each end has addresses for gateways that bridge (10.6.0.0/24, all one segment) and
# for gateways that route (a network for each wire); which are used is a matter of the gateways' files. The
# WAN routes; who wants its two wires to be one carries the frames across (tests/e2e/wan.py).
wan_networks() {
	local ns
	link sensors eth0 p-devices 02:06:00:00:00:02 02:06:00:00:01:01 near
	link wan near p-wan 02:06:00:00:00:08 02:06:00:00:01:02 near
	link wan far p-wan 02:06:00:00:00:09 02:06:00:00:02:01 far
	link server eth0 p-server 02:06:00:00:00:03 02:06:00:00:02:02 far
	for ns in near far; do
		in_ns $ns sysctl -qw net.ipv4.ip_forward=1
		in_ns $ns sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.accept_dad=0 2>/dev/null || true
		silent p-wan $ns
	done
	silent p-devices near
	silent p-server far

	address sensors eth0 10.6.0.2/24 fd06::2/64
	address server eth0 10.6.0.3/24 fd06::3/64
	address sensors eth0 10.7.0.2/24 fd07::2/64
	address wan near 10.8.0.2/24 fd08::2/64
	address wan far 10.9.0.2/24 fd09::2/64
	address server eth0 10.10.0.2/24 fd10::2/64
	in_ns wan sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.near.send_redirects=0 net.ipv4.conf.far.send_redirects=0
	in_ns wan sysctl -qw net.ipv6.conf.all.forwarding=1 2>/dev/null || true
	for ns in sensors server; do
		ip -n "$prefix$ns" link set eth0 up
	done
	ip -n "${prefix}wan" link set near up
	ip -n "${prefix}wan" link set far up
	wan_route sensors 10.10.0.0/24 10.7.0.1 fd10::/64 fd07::1
	wan_route wan 10.7.0.0/24 10.8.0.1 fd07::/64 fd08::1
	wan_route wan 10.10.0.0/24 10.9.0.1 fd10::/64 fd09::1
	wan_route server 10.7.0.0/24 10.10.0.1 fd07::/64 fd10::1
}

wan_route() {
	ip -n "$prefix$1" route add "$2" via "$3"
	ip -n "$prefix$1" -6 route add "$4" via "$5" 2>/dev/null || true
}
