# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The systems that forward between namespaces of the laboratory: the kernel's bridge and routes, and biplane. For
# bench/peers/peers and bench/ndr/ndr, which include this; they set $state (the laboratory's folder), $BP_LAB and
# $BIPLANE, and define fail MESSAGE.

background= # the gateway or the application that runs

stop_background() {
	local i
	[ -n "$background" ] || return 0
	kill "$background" 2>/dev/null || true
	for ((i = 0; i < 200; i++)); do
		kill -0 "$background" 2>/dev/null || break
		sleep 0.05
	done
	kill -KILL "$background" 2>/dev/null || true
	wait "$background" 2>/dev/null || true
	background=
}

in_lab() { scripts/lab run "$@"; }

# Whoever takes part goes before the other programs of a machine that is shared. Where the kernel shares out
# processors by session, each has its own, and that has to go before the others'.
ahead_of_others='{ echo -10 >/proc/self/autogroup; } 2>/dev/null; exec "$@"'
ahead=(setsid --wait sh -c "$ahead_of_others" sh)
put_ahead() {
	local pid
	for pid in ${1//,/ }; do
		{ echo -10 >"/proc/$pid/autogroup"; } 2>/dev/null || true
	done
}

# The gateway's processes, with commas between.
gateway_pids() { ip netns pids bp-$BP_LAB-gw | paste -sd , ; }

reachable() {
	local i address
	for address in "$@"; do
		for ((i = 0; i < 100; i++)); do
			! in_lab dev ping -n -c 1 -W 1 "$address" >/dev/null 2>&1 || continue 2
		done
		fail "$address is not reachable"
	done
}

# ---- a kernel bridge in biplane's place ----

bridge() {
	local port
	in_lab gw ip link add br0 type bridge mcast_snooping 0
	for port in devices cloud edge; do
		in_lab gw ip link set "$port" master br0
	done
	in_lab gw ip link set br0 up
	reachable 10.99.0.2
}

no_bridge() { in_lab gw ip link delete br0; }

# Frames go from 10.96.0.2 in dev to 10.97.0.2 in cloud.
ends() {
	ip link add direct0 netns bp-$BP_LAB-dev address 02:96:00:00:00:01 numtxqueues 1 numrxqueues 1 type veth \
		peer name direct0 netns bp-$BP_LAB-cloud address 02:96:00:00:00:02 numtxqueues 1 numrxqueues 1
	for ns in dev cloud; do
		in_lab $ns ethtool -K direct0 tx off rx off tso off gso off gro off >/dev/null
		in_lab $ns sysctl -qw net.ipv6.conf.direct0.disable_ipv6=1 2>/dev/null || true
		in_lab $ns ip link set direct0 up
		in_lab $ns sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=0 net.ipv4.conf.direct0.rp_filter=0
	done
	in_lab dev ip addr add 10.96.0.2/24 dev eth0
	in_lab cloud ip addr add 10.97.0.2/24 dev eth0
	in_lab cloud ip route add 10.96.0.0/24 via 10.97.0.1
}

kernel_route() {
	local port
	in_lab gw sysctl -qw net.ipv4.ip_forward=1
	in_lab gw ip addr add 10.96.0.1/24 dev devices
	in_lab gw ip addr add 10.97.0.1/24 dev cloud
	for port in devices cloud; do
		in_lab gw ip link set $port arp on
	done
}

no_kernel_route() {
	local port
	for port in devices cloud; do
		in_lab gw ip addr flush dev $port
		in_lab gw ip link set $port arp off
	done
	in_lab gw sysctl -qw net.ipv4.ip_forward=0
}

# Not by what the segment says of ports, which an earlier biplane may have left.
both_planes_live() {
	{ "$BIPLANE" status --json -c "$state/peers.yaml" 2>/dev/null || :; } | awk '
		$1 == "\"plane\":" {plane = /data plane|control plane/}
		plane && /"running": true/ {n++}
		END {exit n != 2}'
}

# driver_options DRIVER: the ring of af_packet has 512 frames by default, which a worker that is descheduled for a few
# milliseconds cannot drain in time; 4,096 frames of 2 KiB are 8 MiB. For af_xdp DPDK has no such setting.
driver_options() {
	[ "$1" != af_packet ] || echo ,framecnt=4096
}

# biplane_config bridge|route DRIVER [ADDRESS ADDRESS]: the addresses are those of its ports, with their lengths.
# BP_POLL_MODE: how the worker polls, adaptive if it is not set.
biplane_config() {
	local options
	options=$(driver_options "$2")
	mkdir -p "$state/biplane"
	cat <<-END
		version: 1
		name: lab-$BP_LAB
		runtime: {directory: $state/biplane}
		workers: 1
		poll_mode: ${BP_POLL_MODE:-adaptive}
		ports:
	END
	if [ "$1" = bridge ]; then
		cat <<-END
			  - {name: left, device: "net_${2}0,iface=devices$options"}
			  - {name: right, device: "net_${2}1,iface=cloud$options"}
			bridges: [{name: bridge0, ports: [left, right]}]
		END
	else
		cat <<-END
			  - {name: left, device: "net_${2}0,iface=devices$options", routed: {addresses: [$3]}}
			  - {name: right, device: "net_${2}1,iface=cloud$options", routed: {addresses: [$4]}}
		END
	fi
}

# By the configuration on standard input.
start_biplane() {
	local i
	mkdir -p "$state/biplane"
	cat >"$state/peers.yaml"
	ulimit -l unlimited 2>/dev/null || true
	ip netns exec bp-$BP_LAB-gw "$BIPLANE" run -c "$state/peers.yaml" >"$state/peers.log" 2>&1 </dev/null &
	background=$!
	for ((i = 0; i < 600; i++)); do
		! both_planes_live || return 0
		kill -0 $background 2>/dev/null || fail "biplane ended: $(tail -n 15 "$state/peers.log")"
		sleep 0.1
	done
	fail "biplane did not start: $(tail -n 15 "$state/peers.log")"
}

# stop_biplane NAME: what it counted must add up.
stop_biplane() {
	stop_background
	grep -q '  sum: .*: exact' "$state/peers.log" ||
		fail "$1: what biplane counted does not add up: $(tail -n 5 "$state/peers.log")"
}
