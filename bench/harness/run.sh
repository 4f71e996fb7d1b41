# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Cleanup of scripts/bench: a run leaves nothing behind, however it ends. The script starts itself again with its
# process number in BIPLANE_BENCH and waits: so it handles signals immediately, also during a measurement. All processes
# of the second script have BIPLANE_BENCH_RUN (the number and start time of the first process) in their environment, in
# any session or group; all objects outside of its temporary directory have the number in their names. So everything can
# be found again, also by the next run after a killed one.
#
#   /run/biplane-bench-PID/process     identity of the process (process_id)
#                          mark        environment variable of all its processes (mark_of)
#                          tmp         path of its temporary directory
#                          hugepages   number of 2 MiB hugepages before this run, and since when

run_grace_s=2 # from SIGTERM to SIGKILL
run_pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

# run_hugepages_back RECORD: restores the number of hugepages that its run has raised, unless it was changed since.
run_hugepages_back() {
	local before='' since='' now
	read -r before since <"$1" || return 0
	read -r now <"$run_pool"
	if [ -n "$before" ] && [ "$before" != "$now" ] && [ "${since:-$now}" = "$now" ]; then
		echo "$before" >"$run_pool" || true
	fi
}

# run_remove PID: removes all objects of this run.
run_remove() {
	local record=/run/biplane-bench-$1 mount mark='' tmp=''
	[ ! -e "$record/mark" ] || mark=$(cat "$record/mark")
	[ -z "$mark" ] || marked_end "$mark" $run_grace_s || true
	BP_LAB=b$1 scripts/lab down || true
	while read -r _ mount _; do
		rm -f "$mount"/biplane-bench-"$1"-* "$mount/bench-$1map_"* "$mount/bench-$1"-*map_*
	done < <(grep ' hugetlbfs ' /proc/mounts)
	rm -rf "/var/run/dpdk/bench-$1" "/var/run/dpdk/bench-$1"-* /var/run/dpdk/biplane-bench-"$1"-* /dev/shm/biplane-bench-"$1"-*
	[ ! -e "$record/hugepages" ] || run_hugepages_back "$record/hugepages"
	[ ! -e "$record/tmp" ] || read -r tmp <"$record/tmp"
	[ -z "$tmp" ] || rm -rf "$tmp"/biplane-bench-"$1".??????
	rm -rf "$record"
}

# Runs whose process has ended. A run that is just starting has no record of its process yet.
run_remove_killed() {
	local record pid
	for record in /run/biplane-bench-*; do
		pid=${record##*-}
		[ -d "$record" ] && [[ $pid =~ ^[0-9]+$ ]] || continue
		! process_lives "$record/process" || continue
		# no record: killed during its start, if the number is unused now, or ours
		[ -e "$record/process" ] || [ "$pid" = $$ ] || [ ! -e "/proc/$pid" ] || continue
		say "removing what a run that was killed has left" >&2
		run_remove "$pid"
	done
}

run_end() {
	local code=$? children
	trap '' INT TERM HUP PIPE
	trap - EXIT
	set +e # complete the cleanup, even if the reader of the output has ended
	# Not only by its environment, which is not set before it has started.
	children=$(jobs -p)
	disown -a # no message about its end
	# shellcheck disable=SC2086
	[ -z "$children" ] || kill -KILL $children 2>/dev/null || true
	[ $code -lt 128 ] || say "interrupted: removing what is there" >&2
	run_remove $$
	exit $code
}

# Whether this is the second script, and not one whose user has set such a variable.
run_is_child() {
	[ "${BIPLANE_BENCH:-}" = $PPID ] && [ "BIPLANE_BENCH_RUN=${BIPLANE_BENCH_RUN:-}" = "$(mark_of BIPLANE_BENCH_RUN $PPID)" ]
}

# run_as_child ARGS...: runs this script again with these arguments. Does not return.
run_as_child() {
	local record=/run/biplane-bench-$$ tmp mark before=''
	run_remove_killed
	trap run_end EXIT
	exit_by_signal
	mkdir "$record"
	mark=$(mark_of BIPLANE_BENCH_RUN $$)
	process_id $$ >"$record/process"
	printf '%s\n' "$mark" >"$record/mark"
	printf '%s\n' "${TMPDIR:-/tmp}" >"$record/tmp"
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/biplane-bench-$$.XXXXXX")
	[ ! -r "$run_pool" ] || read -r before <"$run_pool"
	printf '%s\n' "$before" >"$record/hugepages"
	# 1 GiB for the mbufs, 1 GiB for a million flows; a million routes need as much, with rte_lpm for comparison.
	hugepages_until=" while this runs" hugepages 1024 >&2 || true
	[ -z "$before" ] || printf '%s %s\n' "$before" "$(cat "$run_pool")" >"$record/hugepages"
	# in a process group of its own, so that signals of the terminal arrive only here
	set -m
	env "$mark" BIPLANE_BENCH=$$ TMPDIR="$tmp" "$self" "$@" &
	set +m
	wait $!
	exit
}
