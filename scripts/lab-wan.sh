# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# Two gateways with a WAN between them, in the laboratory of scripts/lab, which includes this file.

wan_spaces=(sensors near wan far server)

# Four links in series. Each end has addresses for bridging gateways (10.6.0.0/24, one segment) and for routing gateways
# (a network for each link); the configuration of the gateways selects between them. The WAN routes; tests/e2e/wan.py
# can join its two links by forwarding the frames between them.
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

wan_is_there() {
	[ -e "$state/wan" ]
}

# wan_config near|far [DRIVER]: routers; NEAR aggregates messages to the server, FAR restores them.
wan_config() {
	local driver=${2:-af_packet}
	case $driver in
	af_packet | af_xdp) ;;
	*) die "unknown driver '$driver'; expected af_packet or af_xdp" ;;
	esac
	case $1 in
	near | far) ;;
	*) die "config: unknown gateway '$1'; expected near or far" ;;
	esac
	if lcl_is_there; then
		lcl_config "$1" "$driver"
		return
	fi
	cat <<-END
		# biplane.yaml of gateway $1 in the laboratory of scripts/lab up --wan.
		version: 1
		name: $instance-$1
		runtime: {directory: $state/$1}
		workers: 1
		poll_mode: adaptive   # this machine's cores have other work too; "busy" on a real gateway
		ports:
	END
	case $1 in
	near)
		cat <<-END
			  - {name: devices, device: "net_${driver}0,iface=p-devices", routed: {addresses: [10.7.0.1/24, "fd07::1/64"]}}
			  - {name: wan, device: "net_${driver}1,iface=p-wan", routed: {addresses: [10.8.0.1/24, "fd08::1/64"]}}
			aggregation:
			  encapsulate:
			    - {port: devices, to: {address: 10.10.0.2, udp_port: 5555}, format: full, max_messages: 8, max_delay: 20ms}
		END
		;;
	far)
		cat <<-END
			  - {name: wan, device: "net_${driver}0,iface=p-wan", routed: {addresses: [10.9.0.1/24, "fd09::1/64"]}}
			  - {name: server, device: "net_${driver}1,iface=p-server", routed: {addresses: [10.10.0.1/24, "fd10::1/64"]}}
			aggregation:
			  decapsulate:
			    - {port: wan, to: {address: 10.10.0.2, udp_port: 5555}, format: full, allowed_senders: [10.7.0.0/24], pacing_gap: 10us}
		END
		;;
	esac
	echo "netlink: {route_table: main}"
}

# A bridge is ready when both planes are; a router when its interfaces of the kernel are up as well, and it routes as the kernel does.
wan_ready() {
	process_lives "$state/$1.pid" || die "gateway $1 ended; the end of $state/$1.log:
$(tail -n 15 "$state/$1.log")"
	{ "$biplane" status --json -c "$state/$1.yaml" 2>/dev/null || :; } |
		/usr/bin/python3 -c '
import json, sys
p = json.load(sys.stdin)
sys.exit(not (all(x["running"] for x in p["planes"]) and len(p["ports"]) == 2))' 2>/dev/null || return 1
	! lcl_is_there || return 0
	# This fails until the interfaces are up and have their addresses.
	case $1 in
	near) set -- near 10.10.0.0/24 10.8.0.2 fd10::/64 fd08::2 ;;
	far) set -- far 10.7.0.0/24 10.9.0.2 fd07::/64 fd09::2 ;;
	esac
	ip -n "$prefix$1" route replace "$2" via "$3" 2>/dev/null || return 1
	ip -n "$prefix$1" -6 route replace "$4" via "$5" 2>/dev/null || [ ! -e /proc/sys/net/ipv6 ] || return 1
	in_ns "$1" "$biplane" show routes --diff -c "$state/$1.yaml" >/dev/null 2>&1
}

# wan_gateway start|stop [near|far] [DRIVER]
wan_gateway() {
	local how=${1:-} which=(near far) g
	case $how in
	start | stop) shift ;;
	*) die "gateway: expected start or stop, of near, far or both" ;;
	esac
	case ${1:-} in
	near | far)
		which=("$1")
		shift
		;;
	esac
	if [ "$how" = stop ]; then
		for g in "${which[@]}"; do
			process_end "$state/$g.pid" TERM 20
		done
		return
	fi
	biplane=${BIPLANE:-$(dirname "$self")/../build/apps/biplane}
	[ -x "$biplane" ] || die "no biplane at $biplane; build it: meson setup build && ninja -C build"
	biplane=$(realpath "$biplane")
	hugepages $((200 * ${#which[@]})) || true
	ulimit -l unlimited 2>/dev/null || true # as for the other gateways
	for g in "${which[@]}"; do
		! process_lives "$state/$g.pid" || die "gateway $g runs already; 'scripts/lab gateway stop $g' ends it"
		mkdir -p "$state/$g"
		# keeps manual changes of the file
		[ -e "$state/$g.yaml" ] && [ $# -eq 0 ] || wan_config $g "${1:-}" >"$state/$g.yaml"
		setsid ip netns exec "$prefix$g" "$biplane" run -c "$state/$g.yaml" >"$state/$g.log" 2>&1 </dev/null &
		process_id $! >"$state/$g.pid"
	done
	for g in "${which[@]}"; do
		wait_for 60 "gateway $g to start; its log is $state/$g.log" wan_ready $g
	done
}
