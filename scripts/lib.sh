# SPDX-License-Identifier: BSD-3-Clause shellcheck shell=bash disable=SC2154 Shared functions of the scripts. Sourced,
# not executed; the sourcing script sets $tool (its name in messages) and $self (its path).

# Numbers have a decimal point and messages of programs are in English in every locale of the user.
export LC_ALL=C.UTF-8

say() {
	printf '%s: %s\n' "$tool" "$*"
}

die() {
	printf '%s: %s\n' "$tool" "$*" >&2
	exit 1
}

# The comment block at the top of the calling script is its help.
usage() {
	sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$self"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || die "must be root, to make network namespaces; run 'sudo $self'"
}

# "pid start-time" of a living process: the start time distinguishes it from a later process with the same pid.
process_id() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- "$1" $stat
	[ "$2" != Z ] || return 1 # a zombie: dead and not yet reaped
	printf '%s %s\n' "$1" "${21}"
}

# Whether the process recorded in file $1 (one line of process_id) still lives.
process_lives() {
	local recorded
	recorded=$(cat "$1" 2>/dev/null) && [ -n "$recorded" ] &&
		[ "$(process_id "${recorded% *}")" = "$recorded" ]
}

# Ends the process recorded in file $1 with signal $2 (TERM), and after $3 (10) seconds with KILL.
process_end() {
	local recorded pid i
	if process_lives "$1"; then
		recorded=$(cat "$1")
		pid=${recorded% *}
		kill "-${2:-TERM}" "$pid" 2>/dev/null || true
		for ((i = 0; i < ${3:-10} * 20; i++)); do
			process_lives "$1" || break
			sleep 0.05
		done
		if process_lives "$1"; then
			kill -KILL "$pid" 2>/dev/null || true
		fi
	fi
	rm -f "$1"
}

# NAME=VALUE, a mark of process $2 under NAME $1. The start time makes it unique: the pid alone may be reused, or be in
# an unrelated environment.
mark_of() {
	local id
	id=$(process_id "$2") && printf '%s=%s' "$1" "${id/ /.}"
}

# Processes that were started with NAME=VALUE in their environment: all descendants of a process that exported it, in
# any session or process group.
marked() {
	grep -lsxzF -e "$1" /proc/[0-9]*/environ | cut -d / -f 3
}

# marked_gone NAME=VALUE SECONDS: waits until there are none; fails at the timeout.
marked_gone() {
	local i
	for ((i = 0; i <= $2 * 20; i++)); do
		[ -n "$(marked "$1")" ] || return 0
		sleep 0.05
	done
	return 1
}

# marked_signal NAME=VALUE SIGNAL
marked_signal() {
	local p
	for p in $(marked "$1"); do
		kill "-$2" "$p" 2>/dev/null || true
	done
}

# marked_end NAME=VALUE SECONDS: ends them, by TERM and, after so long, by KILL. The caller must not have it in its
# own environment.
marked_end() {
	local i
	marked_signal "$1" TERM
	! marked_gone "$1" "$2" || return 0
	for ((i = 0; i < 100; i++)); do # repeated: a process may fork while this runs
		marked_signal "$1" KILL
		! marked_gone "$1" 0 || return 0
		sleep 0.05
	done
	say "processes that do not end: $(marked "$1" | paste -sd ' ')" >&2
	return 1
}

# From now on these signals end the shell by its trap of EXIT, with the status that says which it was.
exit_by_signal() {
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

# attend PROGRAM ARGS...: runs it in the background and waits, so that this shell handles a signal immediately, also
# when only it receives the signal: a trap is deferred while a foreground process runs. Call it after exit_by_signal,
# with a trap of EXIT that calls attend_end.
attended=
attend() {
	local code=0
	# a background process ignores the signals of a terminal and reads nothing, unless it is reset here
	env --default-signal=INT,QUIT "$@" <&0 &
	attended=$!
	wait "$attended" || code=$?
	attended=
	return $code
}

# attend_end STATUS: ends the attended program when the shell ends with this status: by TERM and, after ten seconds, by
# KILL. A program that the terminal interrupted has three seconds to end by itself.
attend_end() {
	[ -n "$attended" ] || return 0
	[ "$1" -ne 130 ] || attended_gone 3 || true
	kill "$attended" 2>/dev/null || true
	attended_gone 10 || kill -KILL "$attended" 2>/dev/null || true
	wait "$attended" 2>/dev/null || true
	attended=
}

# attended_gone SECONDS: whether it has ended within this time.
attended_gone() {
	local i
	for ((i = 0; i < $1 * 20; i++)); do
		kill -0 "$attended" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}

# wait_for SECONDS WHAT COMMAND...: polls until COMMAND succeeds.
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@"; do
		[ $SECONDS -lt "$end" ] || {
			printf '%s: timeout while waiting for %s\n' "$tool" "$what" >&2
			return 1
		}
		sleep 0.1
	done
}

# Ensures that $1 hugepages of 2 MiB are free and hugetlbfs is mounted. The pages remain reserved: another program may
# have begun to use them; a caller that releases them says so in $hugepages_until. Prints the reason and returns 1 if
# the machine has too little memory. It does not set vm.nr_hugepages, whose pages are of 1 GiB if that is the default
# size.
hugepages() {
	local pool=/sys/kernel/mm/hugepages/hugepages-2048kB free total
	if ! [ -r $pool/free_hugepages ]; then
		say "this kernel has no 2 MiB hugepages; biplane will use ordinary memory, and be slower"
		return 1
	fi
	local want
	read -r free <$pool/free_hugepages
	read -r total <$pool/nr_hugepages
	if [ "$free" -lt "$1" ]; then
		want=$((total + $1 - free))
		{ echo $want >$pool/nr_hugepages; } 2>/dev/null || true
		read -r free <$pool/free_hugepages
		if [ "$free" -lt "$1" ]; then
			say "only $free of $1 hugepages (2 MiB) are to be had; biplane will use ordinary memory"
			return 1
		fi
		say "hugepages of 2 MiB: raised from $total to $want${hugepages_until-, and kept}"
	fi
	if ! grep -q ' hugetlbfs ' /proc/mounts; then
		mkdir -p /dev/hugepages
		mount -t hugetlbfs hugetlbfs /dev/hugepages ||
			{ say "cannot mount hugetlbfs on /dev/hugepages; biplane will use ordinary memory"; return 1; }
		say "hugepages: hugetlbfs mounted on /dev/hugepages"
	fi
}
