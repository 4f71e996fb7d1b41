# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# Redis, Sentinel and etcd of a fleet: one server, or with --cluster three, each in a namespace of its own. Included by
# scripts/lab.

fleet_is_cluster() {
	[ -e "$state/cluster" ]
}

fleet_servers() {
	if fleet_is_cluster; then
		seq 3
	else
		echo 1
	fi
}

# fleet_store_space NUMBER
fleet_store_space() {
	echo "store${1#1}"
}

fleet_store_networks() {
	local n ns
	ip -n "${prefix}store" link add mgmt type bridge
	for n in $(fleet_servers); do
		ns=$(fleet_store_space "$n")
		if [ "$n" != 1 ]; then
			link "$ns" mgmt "$ns" "02:25:00:01:0$n:02" "02:25:00:01:0$n:01" store
			ip -n "${prefix}store" link set "$ns" master mgmt up
		fi
		ip -n "$prefix$ns" addr add "10.25.0.$n/24" dev mgmt
		ip -n "$prefix$ns" link set mgmt up
	done
}

# The value of fleet.state.server.
fleet_redis_url() {
	if fleet_is_cluster; then
		echo "redis-sentinel://10.25.0.1,10.25.0.2,10.25.0.3#lab"
	else
		echo "redis://10.25.0.1"
	fi
}

# fleet_etcd_list PREFIX PORT: of all servers, separated by commas.
fleet_etcd_list() {
	local n
	for n in $(fleet_servers); do
		echo "${1//%/$n}10.25.0.$n:$2"
	done | paste -sd ,
}

# fleet_process FILE NUMBER COMMAND...: in the namespace of a server, with FILE.pid and FILE.log.
fleet_process() {
	local file=$1 ns
	ns=$(fleet_store_space "$2")
	shift 2
	setsid ip netns exec "$prefix$ns" "$@" >>"$file.log" 2>&1 </dev/null &
	process_id $! >"$file.pid"
}

# The programs rewrite their files after a failover, so a file is written once.
redis_start() {
	local n=$1 dir=$state/redis$1
	mkdir -p "$dir"
	[ -e "$dir/redis.conf" ] || {
		printf '%s\n' "bind 10.25.0.$n" "protected-mode no" "dir $dir" 'save ""' "repl-diskless-sync-delay 0"
		! fleet_is_cluster || printf '%s\n' "min-replicas-to-write 1" "min-replicas-max-lag 10"
		[ "$n" = 1 ] || echo "replicaof 10.25.0.1 6379"
	} >"$dir/redis.conf"
	fleet_process "$dir" "$n" redis-server "$dir/redis.conf"
	fleet_is_cluster || return 0
	[ -e "$dir/sentinel.conf" ] || printf '%s\n' "bind 10.25.0.$n" "port 26379" "protected-mode no" "dir $dir" \
		"sentinel monitor lab 10.25.0.1 6379 2" "sentinel down-after-milliseconds lab ${BP_SENTINEL_MS:-1000}" \
		"sentinel failover-timeout lab 10000" >"$dir/sentinel.conf"
	fleet_process "$state/sentinel$n" "$n" redis-sentinel "$dir/sentinel.conf"
}

redis_answers() {
	[ "$(in_ns store redis-cli -h "10.25.0.$1" ping 2>/dev/null)" = PONG ]
}

# A primary of a cluster refuses writes until a replica is connected.
redis_is_complete() {
	local n
	for n in $(fleet_servers); do
		in_ns store redis-cli -h "10.25.0.$n" info replication 2>/dev/null
	done | tr -d '\r' | grep -cx 'master_link_status:up' | grep -qx 2
}

etcd_start() {
	local n=$1 dir=$state/etcd$1
	mkdir -p "$dir"
	fleet_process "$dir" "$n" etcd --name "lab$n" --data-dir "$dir/data" --unsafe-no-fsync \
		--listen-client-urls "http://10.25.0.$n:2379" --advertise-client-urls "http://10.25.0.$n:2379" \
		--listen-peer-urls "http://10.25.0.$n:2380" --initial-advertise-peer-urls "http://10.25.0.$n:2380" \
		--initial-cluster "$(fleet_etcd_list lab%=http:// 2380)"
}

etcd_answers() {
	in_ns store curl -sf -m 5 "http://10.25.0.$1:2379/health" >/dev/null
}

# fleet_store redis|etcd start|stop|kill [NUMBER]
fleet_store() {
	local what=${1:-} how=${2:-} which n signal=TERM
	case $what in
	redis | etcd) ;;
	*) die "store: expected redis or etcd, and start, stop or kill" ;;
	esac
	mapfile -t which < <(fleet_servers)
	if [ -n "${3:-}" ]; then
		[[ " ${which[*]} " = *" $3 "* ]] || die "store $what: no server '$3'; expected one of: ${which[*]}"
		which=("$3")
	fi
	case $how in
	start)
		for n in "${which[@]}"; do
			! process_lives "$state/$what$n.pid" || die "$what $n runs already"
			"${what}_start" "$n"
		done
		for n in "${which[@]}"; do
			wait_for 20 "$what $n; its log is $state/$what$n.log" "${what}_answers" "$n"
		done
		! fleet_is_cluster || [ "$what${3:-}" != redis ] || wait_for 30 "the replicas of Redis" redis_is_complete
		;;
	stop | kill)
		[ "$how" = stop ] || signal=KILL
		for n in "${which[@]}"; do
			[ "$what" = etcd ] || process_end "$state/sentinel$n.pid" "$signal"
			process_end "$state/$what$n.pid" "$signal"
		done
		;;
	*) die "store $what: expected start, stop or kill" ;;
	esac
}
