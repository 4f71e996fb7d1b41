# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# A run of scripts/bench, which includes this, leaves nothing behind, however it ends. The script starts itself
# again, with the number of its own process in BIPLANE_BENCH, and waits: so a signal is answered at once, also while
# a case is measured. Whatever the second starts has BIPLANE_BENCH_RUN, the number and since when it is that process's, in
# its environment, in whatever session or group it may be; what it makes outside of its temporary directory has the
# number in its name. By these two all of it is found again, and what a run that was killed has left too, by the next one.
#
#   /run/biplane-bench-PID/process     which process that is (process_id)
#                          mark        what is in the environment of all that it has started (mark_of)
#                          tmp         where its temporary directory is
#                          hugepages   how many of 2 MiB the machine had before this run, and since

run_grace_s=2 # from SIGTERM to SIGKILL
run_pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

# run_hugepages_back RECORD: puts back what its run has raised, unless somebody has changed it since.
run_hugepages_back() {
	local before='' since='' now
	read -r before since <"$1" || return 0
	read -r now <"$run_pool"
	if [ -n "$before" ] && [ "$before" != "$now" ] && [ "${since:-$now}" = "$now" ]; then
		echo "$before" >"$run_pool" || true
	fi
}

# run_remove PID: all that it has left.
run_remove() {
	local record=/run/biplane-bench-$1 mount mark='' tmp=''
	[ ! -e "$record/mark" ] || mark=$(cat "$record/mark")
	[ -z "$mark" ] || marked_end "$mark" $run_grace_s || true
	BP_LAB=b$1 scripts/lab down || true
	while read -r _ mount _; do
		rm -f "$mount"/biplane-bench-"$1"-* "$mount/bench-$1map_"*
	done < <(grep ' hugetlbfs ' /proc/mounts)
	rm -rf "/var/run/dpdk/bench-$1" /var/run/dpdk/biplane-bench-"$1"-* /dev/shm/biplane-bench-"$1"-*
	[ ! -e "$record/hugepages" ] || run_hugepages_back "$record/hugepages"
	[ ! -e "$record/tmp" ] || read -r tmp <"$record/tmp"
	[ -z "$tmp" ] || rm -rf "$tmp"/biplane-bench-"$1".??????
	rm -rf "$record"
}

# Runs whose process is gone. One that is just beginning has no record of its process yet.
run_remove_killed() {
	local record pid
	for record in /run/biplane-bench-*; do
		pid=${record##*-}
		[ -d "$record" ] && [[ $pid =~ ^[0-9]+$ ]] || continue
		! process_lives "$record/process" || continue
		# without one: killed as it began, if the number is no one's now, or ours
		[ -e "$record/process" ] || [ "$pid" = $$ ] || [ ! -e "/proc/$pid" ] || continue
		say "removing what a run that was killed has left" >&2
		run_remove "$pid"
	done
}

run_end() {
	local code=$? children
	trap '' INT TERM HUP PIPE
	trap - EXIT
	set +e # to the end, also when nobody reads any more what it says
	# Not only by its environment, which is not its own before it has begun.
	children=$(jobs -p)
	disown -a # no word about how it ends
	# shellcheck disable=SC2086
	[ -z "$children" ] || kill -KILL $children 2>/dev/null || true
	[ $code -lt 128 ] || say "interrupted: removing what is there" >&2
	run_remove $$
	exit $code
}

# Whether this is the second, and not one whose user has such a variable.
run_is_child() {
	[ "${BIPLANE_BENCH:-}" = $PPID ] && [ "BIPLANE_BENCH_RUN=${BIPLANE_BENCH_RUN:-}" = "$(mark_of BIPLANE_BENCH_RUN $PPID)" ]
}

# run_as_child ARGS...: this script again with these. Does not return.
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
	# A gigabyte for the mbufs, another for a million flows; of a million routes, with rte_lpm next to
	# them, it is as much.
	hugepages_until=" while this runs" hugepages 1024 >&2 || true
	[ -z "$before" ] || printf '%s %s\n' "$before" "$(cat "$run_pool")" >"$record/hugepages"
	# in a group of its own, so that what a terminal sends comes here only
	set -m
	env "$mark" BIPLANE_BENCH=$$ TMPDIR="$tmp" "$self" "$@" &
	set +m
	wait $!
	exit
}
