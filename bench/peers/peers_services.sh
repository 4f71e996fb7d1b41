# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# What biplane makes of packets, next to programs of sockets that make the same of them: messages of sensors into
# aggregates, readings into coordinates, reports of health devices into requests to a CSE. For bench/peers/peers, which
# includes this and has what it uses.

moderate_messages=20000 # a second, at which latency and processor time are taken
tries=3                 # of a rate: this machine may have been away during one
gateway_mac=02:99:00:00:01:01
sink=

# The addresses of bench/peers/service_traffic.h, at both ends.
services_ends() {
	in_lab dev ip addr add 10.0.0.2/24 dev eth0
	in_lab dev ip addr add 10.64.0.1/10 dev lo # health devices: all of the prefix becomes dev's own
	in_lab dev ip neigh replace 10.0.0.1 lladdr $gateway_mac dev eth0 nud permanent
	in_lab cloud ip addr add 10.2.0.2/24 dev eth0
	in_lab cloud ip addr add 10.1.0.9/32 dev eth0
	in_lab cloud ip addr add 10.3.0.20/32 dev eth0
}

# gateway_route PREFIX NEXT-HOP: as soon as an interface has the address that this takes.
gateway_route() {
	local i
	for ((i = 0; i < 100; i++)); do
		! in_lab gw ip route replace "$1" via "$2" 2>/dev/null || return 0
		sleep 0.05
	done
	in_lab gw ip route replace "$1" via "$2"
}

services_routes() {
	gateway_route 10.64.0.0/10 10.0.0.2
	gateway_route 10.1.0.9/32 10.2.0.2
	gateway_route 10.3.0.20/32 10.2.0.2
}

# ---- by a program of sockets: the kernel has the addresses ----

# The port at which it listens.
port_of() {
	case $1 in
	aggregation) echo 5555 ;;
	coordinates) echo 10000 ;;
	health) echo 6024 ;;
	esac
}

start_sockets() {
	local port i
	in_lab gw ip addr add 10.0.0.1/24 dev devices
	in_lab gw ip addr add 10.2.0.1/24 dev cloud
	for port in devices cloud; do
		in_lab gw ip link set $port arp on
		in_lab gw sysctl -qw net.ipv4.conf.$port.rp_filter=0
	done
	services_routes
	scripts/lab run gw "${ahead[@]}" "$build/bench/socket_gateway" "$1" >&2 &
	background=$!
	for ((i = 0; i < 100; i++)); do
		[ -z "$(in_lab gw ss -ulnH "sport = :$(port_of "$1")")" ] || return 0
		kill -0 $background 2>/dev/null || fail "socket_gateway $1 ended"
		sleep 0.05
	done
	fail "socket_gateway $1 does not listen"
}

stop_sockets() {
	local port
	stop_background
	for port in devices cloud; do
		in_lab gw ip addr flush dev $port # and the routes with them
		in_lab gw ip link set $port arp off
		in_lab gw sysctl -qw net.ipv4.conf.$port.rp_filter=1
	done
}

# ---- by biplane ----

# The buffers of the programs' sockets have 8 MiB, as the ring of af_packet.
service_config() {
	biplane_config route "$2" 10.0.0.1/24 10.2.0.1/24
	case $1 in
	aggregation)
		cat <<-END
			aggregation:
			  encapsulate:
			    - {port: left, to: {address: 10.1.0.9, udp_port: 5555}, format: lin2018, max_messages: 8, max_delay: 1ms}
		END
		;;
	coordinates)
		cat <<-END
			transform:
			  entries:
			    - port: left
			      udp_port: 10000
			      sources:
			        - address: 10.0.0.2
			          receivers:
			            - {address: 10.1.0.9, udp_port: 20000, matrix: [[0, -1, 0, 1.5], [1, 0, 0, 0], [0, 0, 1, 0.25]]}
		END
		;;
	health)
		cat <<-END
			health_devices:
			  listen: {udp_port: 6024, tcp_port: off}
			  content_instance_per: report
			  limits: {association_rate: 1000000}
			  store: {path: $state/biplane/phd.db}
			  cse: {coap: "coap://10.3.0.20"}
		END
		;;
	esac
}

# What an earlier biplane has left, whose associations outlive it: each begins as if it were the first.
forget() {
	local folder
	for folder in /dev/shm $(awk '$3 == "hugetlbfs" {print $2}' /proc/mounts); do
		rm -f "$folder/biplane-lab-$BP_LAB.seg"*
	done
	rm -rf "$state/biplane"
}

# ---- health devices ----

# All associated, and to be made instances of.
devices_are_ready() {
	{ "$BIPLANE" status -c "$state/peers.yaml" || :; } | grep -q 'sessions .* operating 1000, without_containers 0,'
}

# Each device associates, and biplane makes containers for it at a CSE, which then makes room for the receiver.
associate() {
	local i
	if [ "$1" != sockets ]; then
		scripts/lab run cloud "$build/apps/biplane-cse-sink" --listen 10.3.0.20:5683 --report-file /dev/null >/dev/null &
		sink=$!
	fi
	"$build/bench/service_load" associate -F "bp-$BP_LAB-dev" || fail "health devices did not associate"
	[ -n "$sink" ] || return 0
	for ((i = 0; i < 300; i++)); do
		! devices_are_ready || break
		sleep 0.1
	done
	[ "$i" -lt 300 ] || fail "biplane has no containers for the health devices"
	end_sink
}

end_sink() {
	[ -n "$sink" ] || return 0
	kill "$sink" 2>/dev/null || true
	wait "$sink" 2>/dev/null || true
	sink=
}

# ---- ----

# better OBJECT OBJECT: the first lost less, or as much and finished more a second.
better() {
	awk -v lost="$(printf '%s' "$1" | member lost)" -v of="$(printf '%s' "$2" | member lost)" \
		-v per="$(printf '%s' "$1" | member finished_per_second)" \
		-v beside="$(printf '%s' "$2" | member finished_per_second)" \
		'BEGIN {exit !(lost < of || (lost == of && per > beside))}'
}

# one_rate RATE EVERY: the best of as many tries as it takes for nothing to keep more from being done, at most so many.
one_rate() {
	local try out best=''
	for ((try = 0; try < tries; try++)); do
		out=$("${message_load[@]}" -r "$1" -n "$2") || fail "$name: service_load failed"
		if [ -z "$best" ] || better "$out" "$best"; then
			best=$out
		fi
		[ -n "$(limit_of "$out" "$1")" ] || break
	done
	printf '%s' "$best"
}

# Where devices send to: aggregation is the gateway's own doing, and they know nothing of it, if it is biplane's.
destination_of() {
	case $1 in
	aggregation-biplane-*) echo 10.1.0.9 ;;
	coordinates-*) echo 10.2.0.1 ;;
	*) echo 10.0.0.1 ;;
	esac
}

# through_service NAME PIDS: prints the members of what was measured.
through_service() {
	local name=$1 pids=$2 every=16 steps='' most=0 limit='' rest at out rate per message_load
	message_load=("${ahead[@]}" "$build/bench/service_load" "${name%%-*}" -F "bp-$BP_LAB-dev" -T "bp-$BP_LAB-cloud" -i eth0
		-m $gateway_mac -d "$(destination_of "$name")" -t "$seconds" -P "gateway=$pids")
	[ "${name%%-*}" != aggregation ] || every=1 # how many messages an aggregate has only it says
	put_ahead "$pids"
	rest=$(idle "$pids")
	at=$(one_rate $moderate_messages 1)
	for rate in "${message_rates[@]}"; do
		out=$(one_rate "$rate" "$every")
		steps+=${steps:+, }$(short "$out")
		limit=$(limit_of "$out" "$rate")
		[ "$limit" != lost ] || break
		per=$(printf '%s' "$out" | member finished_per_second)
		[ "$per" -le "$most" ] || most=$per
		[ -z "$limit" ] || break
	done
	note "$name: $most messages a second, limit: ${limit:-not reached}"
	printf '"sustained": %s, "limit": "%s", "idle_cpu": %s, "moderate": %s, "steps": [%s], "memory": %s' \
		"$most" "${limit:-none}" "$rest" "$at" "$steps" "$(memory "$pids")"
}

served() {
	local service=${1%%-*} by=${1#*-} pids
	printf '{"name": "%s", ' "$1"
	case $by in
	sockets)
		start_sockets "$service"
		pids=$background
		;;
	biplane-*)
		forget
		start_biplane < <(service_config "$service" "${by#biplane-}")
		services_routes
		pids=$(gateway_pids)
		;;
	*) fail "no service '$1'" ;;
	esac
	[ "$service" != health ] || associate "$by"
	through_service "$1" "$pids"
	printf '}'
	if [ "$by" = sockets ]; then
		stop_sockets
	else
		stop_biplane "$1"
	fi
}
