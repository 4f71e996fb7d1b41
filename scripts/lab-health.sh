# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# Health devices and a oneM2M CSE in the laboratory of scripts/lab, which includes this file.

health_spaces=(health cse)
declare -A health_network=([health]=4 [cse]=5)

health_is_there() {
	[ -e "$state/health" ]
}

# Two more ports of the gateway, routed in every topology.
health_networks() {
	local ns n
	for ns in "${health_spaces[@]}"; do
		n=${health_network[$ns]}
		link $ns eth0 p-$ns "02:10:0$n:00:00:02" "02:10:0$n:00:00:01"
		silent p-$ns
		address $ns eth0 "10.$n.0.2/24" "fd0$n::2/64"
		ip -n "$prefix$ns" link set eth0 up
		ip -n "$prefix$ns" route add default via "10.$n.0.1"
	done
}

# health_ports DRIVER FIRST: the ports' lines of the configuration.
health_ports() {
	local i=$2 ns n
	health_is_there || return 0
	for ns in "${health_spaces[@]}"; do
		n=${health_network[$ns]}
		echo "  - {name: $ns, device: \"net_$1$i,iface=p-$ns\", routed: {addresses: [10.$n.0.1/24, \"fd0$n::1/64\"]}}"
		i=$((i + 1))
	done
}

health_section() {
	health_is_there || return 0
	cat <<-END
		health_devices:
		  store: {path: $state/biplane/phd.db}
		  cse: {coap: "coap://10.5.0.2:5683", path: "cse-in/{system_id}/{object}"}
	END
}

acme_ini() {
	cat <<-END
		[basic.config]
		cseType=IN
		cseID=id-in
		cseName=cse-in
		adminID=CAdmin
		dataDirectory=\${baseDirectory}
		networkInterface=10.5.0.2
		cseHost=10.5.0.2
		httpPort=8080
		logLevel=off
		databaseType=memory
		consoleTheme=dark
		secret=lab
		[cse]
		enableRemoteCSE=false
		[cse.registration]
		allowedAEOriginators=C*,S*
		[http]
		enable=true
		listenIF=10.5.0.2
		[coap]
		enable=true
		listenIF=10.5.0.2
		port=5683
		address=coap://10.5.0.2:5683
		[mqtt]
		enable=false
		[websocket]
		enable=false
		[textui]
		startWithTUI=false
		[logging]
		level=off
		enableFileLogging=false
		enableScreenLogging=false
	END
}

cse_says() {
	process_lives "$state/cse.pid" || die "the CSE ended; its log is $state/cse.log:
$(tail -n 5 "$state/cse.log")"
	grep -q "$1" "$state/cse.log"
}

# cse start [sink|acme] | stop
cse() {
	local ready root program
	root=$(realpath "$(dirname "$self")/..")
	health_is_there || die "no CSE; 'scripts/lab up --health' creates one"
	case ${1:-} in
	start)
		! process_lives "$state/cse.pid" || die "the CSE runs already"
		case ${2:-sink} in
		sink)
			ready='^ready'
			set -- "$(dirname "${BIPLANE:-$root/build/apps/biplane}")/biplane-cse-sink" \
				--listen 10.5.0.2:5683 --report-file "$state/cse.json"
			program=$1
			;;
		acme)
			ready='CSE started'
			mkdir -p "$state/cse"
			acme_ini >"$state/cse/acme.ini"
			set -- "$root/build-venv-cse/bin/acmecse" --config acme.ini --base-directory "$state/cse" --headless
			program=$1
			;;
		*) die "cse start: unknown CSE '$2'; expected sink or acme" ;;
		esac
		[ -x "$program" ] || die "no CSE at $program; build it, or install it with scripts/setup"
		(
			[ ! -d "$state/cse" ] || cd "$state/cse"
			exec setsid ip netns exec "${prefix}cse" "$@" >"$state/cse.log" 2>&1 </dev/null
		) &
		process_id $! >"$state/cse.pid"
		wait_for 60 "the CSE; its log is $state/cse.log" cse_says "$ready"
		;;
	stop) process_end "$state/cse.pid" TERM ;;
	*) die "cse: expected start or stop" ;;
	esac
}
