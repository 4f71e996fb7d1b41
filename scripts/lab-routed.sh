# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# The routed laboratory of scripts/lab, which includes this file.

routed_spaces=(left right edge gw)
declare -A network=([left]=1 [right]=2 [edge]=3)

# The gateway's ends carry frames for biplane, whose host interfaces have the addresses. The same kernel also sees the
# frames on these ends and must neither answer nor forward them a second time: no ARP, no IPv6, and strict reverse-path
# filtering drops IPv4, since no route leads out here.
silent() {
	local gw=${2:-gw}
	in_ns "$gw" sysctl -qw "net.ipv4.conf.$1.rp_filter=1"
	in_ns "$gw" sysctl -qw "net.ipv6.conf.$1.disable_ipv6=1" 2>/dev/null || true
	ip -n "$prefix$gw" link set "$1" arp off promisc on up
}

networks() {
	local ns n
	# The kernel forwards or answers punted packets without delay. The mask names the rate-limited kinds of ICMP
	# errors; a limit of 0 would also use the allowance for unreachable routes.
	in_ns gw sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratemask=0
	in_ns gw sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.icmp.ratelimit=0 \
		net.ipv6.conf.default.accept_dad=0 2>/dev/null || true
	for ns in left right edge; do
		n=${network[$ns]}
		link $ns eth0 p-$ns "02:10:0$n:00:00:02" "02:10:0$n:00:00:01"
		silent p-$ns
		address $ns eth0 "10.$n.0.2/24" "fd0$n::2/64"
		ip -n "$prefix$ns" link set eth0 up
		ip -n "$prefix$ns" route add default via "10.$n.0.1"
		[ "$mtu" -lt 1280 ] || ip -n "$prefix$ns" -6 route add default via "fd0$n::1" 2>/dev/null || true
	done
}

routed_config() {
	local driver=$1 i=0 ns n
	cat <<-END
		# biplane.yaml for the routed laboratory of scripts/lab: a router between three networks.
		version: 1
		name: $instance
		runtime: {directory: $state/biplane}
		workers: 1
		poll_mode: adaptive   # this machine's cores have other work too; "busy" on a real gateway
		ports:
	END
	for ns in left right edge; do
		n=${network[$ns]}
		echo "  - {name: $ns, device: \"net_$driver$i,iface=p-$ns\", routed: {addresses: [10.$n.0.1/24, \"fd0$n::1/64\"]}}"
		i=$((i + 1))
	done
	health_ports "$driver" $i
	cat <<-END
		netlink: {route_table: main}
		mqtt:
		  publisher: {broker: "mqtt://10.3.0.2", client_id: biplane-lab}
		  spool: {path: $state/biplane/spool.db}
		  rules:
		    - name: overheat
		      topic: plant/+/temperature
		      value: text
		      raise: {above: 80}
		      action: publish
		      payload: envelope
		      publish: {topic: "alarm/{topic}"}
	END
	health_section
}
