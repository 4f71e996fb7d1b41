# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# A fleet of gateways behind ECMP, in the laboratory of scripts/lab, which includes this file.

fleet_max=4
fleet_is_there() {
	[ -e "$state/fleet" ]
}

# Names of the gateways: gw1, gw2, ...
fleet_gateways() {
	seq -f 'gw%g' "$(cat "$state/fleet")"
}

fleet_spaces() {
	local n
	printf '%s\n' dev rl rr cloud edge
	for n in $(fleet_servers); do
		fleet_store_space "$n"
	done
	fleet_gateways
}

# fleet_networks same|different: the routers' seeds of the hash that selects a next hop.
fleet_networks() {
	local gw n ns router
	for router in rl rr; do
		# The hash of addresses, protocol and ports (fields 0x37). Policy 1 has the same fields, but over veth it uses the
		# hash of the sender's socket, which is another one in each direction of a connection. No strict reverse-path
		# filtering: the two directions may use different gateways.
		in_ns $router sysctl -qw net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=3 \
			net.ipv4.fib_multipath_hash_fields=0x37 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
		# The default seed is the same in all namespaces of a kernel.
		[ "$1" = same ] || in_ns $router sysctl -qw net.ipv4.fib_multipath_hash_seed="$([ $router = rl ] && echo 1 || echo 2)" ||
			die "up: --seeds different needs Linux 6.11 (net.ipv4.fib_multipath_hash_seed)"
	done
	fleet_host dev rl devices 20
	fleet_host cloud rr cloud 23
	fleet_host edge rr edge 24
	fleet_store_networks
	for gw in $(fleet_gateways); do
		n=${gw#gw}
		in_ns "$gw" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratemask=0
		in_ns "$gw" sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.accept_dad=0 2>/dev/null || true
		link rl "$gw" p-left "02:21:00:00:0$n:01" "02:21:00:00:0$n:02" "$gw"
		link rr "$gw" p-right "02:22:00:00:0$n:01" "02:22:00:00:0$n:02" "$gw"
		silent p-left "$gw"
		silent p-right "$gw"
		ip -n "${prefix}rl" addr add "10.21.$n.1/24" dev "$gw"
		ip -n "${prefix}rr" addr add "10.22.$n.1/24" dev "$gw"
		ip -n "${prefix}rl" link set "$gw" up
		ip -n "${prefix}rr" link set "$gw" up
		link "$gw" mgmt "$gw" "02:25:00:00:0$n:02" "02:25:00:00:0$n:01" store
		ip -n "$prefix$gw" addr add "10.25.0.1$n/24" dev mgmt
		ip -n "$prefix$gw" link set mgmt up
		ip -n "${prefix}store" link set "$gw" master mgmt up
	done
}

# fleet_host NAMESPACE ROUTER DEVICE NUMBER: a host behind a router.
fleet_host() {
	link "$1" eth0 "$3" "02:$4:00:00:00:02" "02:$4:00:00:00:01" "$2"
	ip -n "$prefix$1" addr add "10.$4.0.2/24" dev eth0
	ip -n "$prefix$2" addr add "10.$4.0.1/24" dev "$3"
	ip -n "$prefix$1" link set eth0 up
	ip -n "$prefix$2" link set "$3" up
	ip -n "$prefix$1" route add default via "10.$4.0.1"
}

# fleet_up SEEDS ETCD
fleet_up() {
	local ns
	fleet_networks "$1"
	for ns in rl rr $(fleet_gateways); do
		fleet_frr_start "$ns"
	done
	fleet_store redis start
	[ -n "$2" ] || return 0
	fleet_store etcd start
	"${BIPLANE:-$(dirname "$self")/../build/apps/biplane}" fleet keygen "$state/key" >/dev/null
}

# ---- FRR ----

fleet_frr_dir() {
	echo "$state/frr-$1"
}

fleet_frr_running() {
	local d
	for d in zebra bfdd bgpd; do
		process_lives "$state/frr-$1-$d.pid" || die "$d of $1 ended; its log is $(fleet_frr_dir "$1")/$d.log"
		[ -S "$(fleet_frr_dir "$1")/$d.vty" ] || return 1
	done
}

fleet_vtysh() {
	local ns=$1 dir
	shift
	dir=$(fleet_frr_dir "$ns")
	in_ns "$ns" vtysh --vty_socket "$dir" --config_dir "$dir" "$@"
}

fleet_frr_start() {
	local ns=$1 dir d
	dir=$(fleet_frr_dir "$ns")
	install -d -o frr -g frr "$dir"
	fleet_frr_config "$ns" >"$dir/frr.conf"
	: >"$dir/vtysh.conf"
	for d in zebra bfdd bgpd; do
		set --
		[ $d != bfdd ] || set -- --bfdctl "$dir/bfdd.sock"
		# Its sockets are in a folder of its user. Port 0: no telnet.
		setsid ip netns exec "$prefix$ns" /usr/lib/frr/$d -u frr -g frr --vty_socket "$dir" -z "$dir/zserv.api" \
			-i "$dir/$d.pid" -f /dev/null -P 0 --log stdout --log-level informational "$@" >"$dir/$d.log" 2>&1 </dev/null &
		process_id $! >"$state/frr-$ns-$d.pid"
		[ $d != zebra ] || wait_for 10 "zebra of $ns" test -S "$dir/zserv.api"
	done
	wait_for 10 "FRR of $ns" fleet_frr_running "$ns"
	wait_for 10 "the configuration of FRR in $ns" fleet_frr_configured "$ns"
}

# Another vtysh may have locked the configuration.
fleet_frr_configured() {
	fleet_vtysh "$1" -b >/dev/null 2>&1
	fleet_vtysh "$1" -d bgpd -c 'show running-config' | grep -q '^router bgp '
}

# fleet_frr start|stop|kill NAMESPACE
fleet_frr() {
	local ns=${2:-} d
	case " rl rr $(fleet_gateways | paste -sd ' ') " in
	*" $ns "*) ;;
	*) die "frr: expected start, stop or kill, and rl, rr or a gateway" ;;
	esac
	case $1 in
	start)
		! process_lives "$state/frr-$ns-zebra.pid" || die "FRR of $ns runs already"
		fleet_frr_start "$ns"
		;;
	stop | kill)
		for d in bgpd bfdd zebra; do
			process_end "$state/frr-$ns-$d.pid" "$([ "$1" = stop ] && echo TERM || echo KILL)"
		done
		;;
	*) die "frr: expected start, stop or kill" ;;
	esac
}

fleet_frr_config() {
	case $1 in
	rl) fleet_router_config rl 65001 21 20 ;;
	rr) fleet_router_config rr 65002 22 23 24 ;;
	*) fleet_gateway_frr_config "$1" ;;
	esac
}

# BFD detects a failure after three intervals.
fleet_bfd_config() {
	cat <<-END
		bfd
		 profile fleet
		  detect-multiplier 3
		  receive-interval ${BP_BFD_MS:-100}
		  transmit-interval ${BP_BFD_MS:-100}
		 exit
		exit
	END
}

# fleet_router_config NAME AS LINKS NETWORK...: a router announces its networks, and uses all gateways. Without nexthop
# objects of the kernel: when a link returns, FRR 8.4 uses the old object again, from which the kernel has removed the
# gateway. The routers would then use different gateways for the two directions of a connection.
fleet_router_config() {
	local name=$1 as=$2 links=$3 gw
	shift 3
	cat <<-END
		frr defaults traditional
		no zebra nexthop kernel enable
		hostname $name
		router bgp $as
		 bgp router-id 10.$links.0.1
		 no bgp ebgp-requires-policy
		 timers bgp 3 9
		 neighbor gateways peer-group
		 neighbor gateways remote-as 65000
		 neighbor gateways timers connect 1
		 neighbor gateways advertisement-interval 0
		 neighbor gateways bfd
		 neighbor gateways bfd profile fleet
	END
	for gw in $(fleet_gateways); do
		echo " neighbor 10.$links.${gw#gw}.2 peer-group gateways"
	done
	printf ' address-family ipv4 unicast\n  maximum-paths %s\n' $fleet_max
	printf '  network 10.%s.0.0/24\n' "$@"
	printf ' exit-address-family\nexit\n'
	fleet_bfd_config
}

# A gateway passes the routes of each router to the other one. All gateways have the same AS, so that no gateway accepts
# a route through another one. The routers avoid it until frr-readiness ends the graceful shutdown.
fleet_gateway_frr_config() {
	local n=${1#gw}
	cat <<-END
		frr defaults traditional
		hostname $1
		bgp graceful-shutdown
		router bgp 65000
		 bgp router-id 10.21.$n.2
		 no bgp ebgp-requires-policy
		 timers bgp 3 9
		 neighbor routers peer-group
		 neighbor routers timers connect 1
		 neighbor routers advertisement-interval 0
		 neighbor routers bfd
		 neighbor routers bfd profile fleet
		 neighbor 10.21.$n.1 remote-as 65001
		 neighbor 10.21.$n.1 peer-group routers
		 neighbor 10.22.$n.1 remote-as 65002
		 neighbor 10.22.$n.1 peer-group routers
		 address-family ipv4 unicast
		  network 10.26.0.1/32
		 exit-address-family
		exit
	END
	fleet_bfd_config
}

# ---- gateways ----

# fleet_config GATEWAY [DRIVER]
fleet_config() {
	local gw=$1 driver=${2:-af_packet} n=${1#gw}
	case $driver in
	af_packet | af_xdp) ;;
	*) die "unknown driver '$driver'; expected af_packet or af_xdp" ;;
	esac
	cat <<-END
		# biplane.yaml for gateway $gw in the laboratory of scripts/lab: one of a fleet behind ECMP.
		version: 1
		name: $instance-$gw
		runtime: {directory: $state/$gw}
		workers: 1
		poll_mode: ${BP_POLL_MODE:-adaptive}   # this machine's cores have other work too; "busy" on a real gateway
		ports:
		  - {name: left, device: "net_${driver}0,iface=p-left", routed: {addresses: [10.21.$n.2/24]}}
		  - {name: right, device: "net_${driver}1,iface=p-right", routed: {addresses: [10.22.$n.2/24]}}
		netlink: {route_table: main}
		mqtt:
		  publisher: {broker: "mqtt://10.24.0.2", client_id: biplane-$gw}
		  spool: {path: $state/$gw/spool.db}
		  rules:
		    - name: overheat
		      topic: plant/+/temperature
		      value: text
		      raise: {above: 80}
		      action: publish
		      payload: envelope
		      publish: {topic: "alarm/{topic}"}
		monitoring: {listen: "unix:$state/$gw/monitor.http"}
		fleet:
		  name: lab
		  state: {server: "$(fleet_redis_url)"}
	END
	[ ! -e "$state/etcd1" ] || cat <<-END
		  labels: {member: $gw}
		  config:
		    server: "etcd://$(fleet_etcd_list "" 2379)"
		    keys: ["$state/key.pub"]
		    directory: $state/$gw/fleet
	END
}

# As biplane-frr@NAME.service does it.
fleet_readiness_start() {
	! process_lives "$state/$1-readiness.pid" || return 0
	BIPLANE=$biplane setsid ip netns exec "$prefix$1" "$(dirname "$self")/../install/frr-readiness" -c "$state/$1.yaml" \
		--hold 1 --stable "${BP_READINESS_STABLE:-300}" --vty-socket "$(fleet_frr_dir "$1")" >>"$state/$1-readiness.log" 2>&1 </dev/null &
	process_id $! >"$state/$1-readiness.pid"
}

fleet_gateway_stop() {
	process_end "$state/$1-readiness.pid"
	! process_lives "$state/$1.pid" ||
		in_ns "$1" "$(dirname "$self")/../install/frr-readiness" --drain --vty-socket "$(fleet_frr_dir "$1")" \
			>>"$state/$1-readiness.log" 2>&1 || true
	process_end "$state/$1.pid" TERM 20
}

# Both planes run, the routes are the kernel's, both routers use the gateway, and its BFD sessions are up.
fleet_ready() {
	process_lives "$state/$1.pid" || die "gateway $1 ended; the end of $state/$1.log:
$(tail -n 15 "$state/$1.log")"
	{ "$biplane" status --json -c "$state/$1.yaml" 2>/dev/null || :; } |
		/usr/bin/python3 -c '
import json, sys
p = json.load(sys.stdin)
sys.exit(not (all(x["running"] for x in p["planes"]) and len(p["ports"]) >= 2 and p["publisher"]["connected"]))' 2>/dev/null &&
		in_ns "$1" "$biplane" show routes --diff -c "$state/$1.yaml" >/dev/null 2>&1 &&
		fleet_is_next_hop rl 10.23.0.0/24 "10.21.${1#gw}.2" && fleet_is_next_hop rr 10.20.0.0/24 "10.22.${1#gw}.2" &&
		[ -z "$(fleet_vtysh "$1" -d bgpd -c 'show running-config' | grep -x 'bgp graceful-shutdown')" ] &&
		[ "$(fleet_vtysh "$1" -d bfdd -c 'show bfd peers brief' | grep -c ' up *$')" = 2 ]
}

fleet_is_next_hop() {
	ip -n "$prefix$1" route show "$2" | grep -q " via $3 "
}

# The supervisor ends first: it would start the planes again.
fleet_gateway_kill() {
	local pids p
	pids=$(cat "$state/$1.pid" 2>/dev/null) && process_lives "$state/$1.pid" || return 0
	pids=${pids% *}
	# shellcheck disable=SC2046
	kill -KILL "$pids" $(ps -o pid= --ppid "$pids") 2>/dev/null || true
	rm -f "$state/$1.pid"
}

# fleet_gateway start|stop|kill [GATEWAY] [DRIVER]
fleet_gateway() {
	local how=${1:-} which gw
	mapfile -t which < <(fleet_gateways)
	case $how in
	start | stop | kill) shift ;;
	*) die "gateway: expected start, stop or kill, of ${which[*]} or all" ;;
	esac
	case " ${which[*]} " in
	*" ${1:-none} "*)
		which=("$1")
		shift
		;;
	esac
	if [ "$how" = kill ]; then
		for gw in "${which[@]}"; do
			fleet_gateway_kill "$gw"
		done
		return
	fi
	if [ "$how" = stop ]; then
		for gw in "${which[@]}"; do
			fleet_gateway_stop "$gw"
		done
		return
	fi
	biplane=${BIPLANE:-$(dirname "$self")/../build/apps/biplane}
	[ -x "$biplane" ] || die "no biplane at $biplane; build it: meson setup build && ninja -C build"
	biplane=$(realpath "$biplane")
	hugepages $((200 * ${#which[@]})) || true
	ulimit -l unlimited 2>/dev/null || true # as for the other gateways
	for gw in "${which[@]}"; do
		! process_lives "$state/$gw.pid" || die "gateway $gw runs already; 'scripts/lab gateway stop $gw' ends it"
		mkdir -p "$state/$gw"
		# keeps manual changes of the file
		[ -e "$state/$gw.yaml" ] && [ $# -eq 0 ] || fleet_config "$gw" "${1:-}" >"$state/$gw.yaml"
		setsid ip netns exec "$prefix$gw" "$biplane" run -c "$state/$gw.yaml" >>"$state/$gw.log" 2>&1 </dev/null &
		process_id $! >"$state/$gw.pid"
		fleet_readiness_start "$gw"
	done
	for gw in "${which[@]}"; do
		wait_for 60 "gateway $gw to start; its log is $state/$gw.log" fleet_ready "$gw"
	done
}
