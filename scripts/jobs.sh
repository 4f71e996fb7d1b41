# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Parallel jobs, for scripts/test, which sources this file after scripts/lib.sh and has set $logs.
#
#   lane NAME LIMIT                 at most LIMIT jobs of the lane run at a time
#   job LANE NAME AFTER FUNCTION ARGS...
#                                   AFTER: jobs that must end first, "a,b", or ""; if one of them failed or was not
#                                   run, this job is not run either. A name that ends in * matches all jobs with
#                                   that prefix, whose failure does not matter.
#   run_jobs                        runs all jobs; sets passed, failed, skipped, failures
#   stop_jobs                       ends the running jobs and the processes that they started in other sessions
#
# The output of a job is in $logs/NAME.log. A job reports its number of tests by counts NAME PASSED FAILED SKIPPED;
# without it the job counts as one test, or as none if its name begins with build-.

passed=0 failed=0 skipped=0
failures=()
declare -A lane_limit=() lane_running=()
declare -A job_lane=() job_after=() job_command=() job_state=() # state: waiting, running, done, failed, missing
job_order=()
declare -A name_of=() began=()

job_grace_s=5                         # from SIGTERM to SIGKILL
job_mark=$(mark_of BIPLANE_JOBS $$) # in the environment of all that a job starts

# Each job is a process group, so that an interruption ends all of its processes.
set -m

clock() { printf '[%2d:%02d]' $((SECONDS / 60)) $((SECONDS % 60)); }

note() { printf '%s %s\n' "$(clock)" "$*"; }

lane() { lane_limit[$1]=$2 lane_running[$1]=0; }

job() {
	local name=$2
	job_lane[$name]=$1 job_after[$name]=$3 job_state[$name]=waiting
	shift 3
	job_command[$name]=$(printf '%q ' "$@")
	job_order+=("$name")
}

counts() { printf '%s %s %s\n' "$2" "$3" "$4" >"$logs/$1.count"; }

start_job() {
	local name=$1 lane=${job_lane[$1]}
	rm -f "$logs/$name".{count,cpu}
	(
		export "${job_mark?}"
		trap 'times >"$logs/$name.cpu"' EXIT
		eval "${job_command[$name]}"
	) >"$logs/$name.log" 2>&1 </dev/null &
	name_of[$!]=$name
	began[$!]=$SECONDS
	job_state[$name]=running
	lane_running[$lane]=$((lane_running[$lane] + 1))
}

# "N s", with the CPU time of a job that has ended: what it costs on a machine where all processors are in use.
duration() {
	local cpu=
	[ ! -s "$logs/$1.cpu" ] || cpu=$(awk -F'[ms ]+' '{s += $1 * 60 + $2 + $3 * 60 + $4} END {printf ", CPU %.0f s", s}' "$logs/$1.cpu")
	printf '%d s%s' "$2" "$cpu"
}

# The first error of a build; the failed tests of pytest or meson, each with its error; or the end of another job's log.
excerpt() {
	if grep -q '^FAILED: ' "$1"; then
		sed -n '/^FAILED: /,$p' "$1" | grep -v '^\[' | head -n 40
	elif grep -q '^=* FAILURES =*$\|^=* ERRORS =*$' "$1"; then
		# prints the beginning of the error, without the gateway state after it, which is in the log
		awk '/^=+ (FAILURES|ERRORS) =+$/ {on = 1}
			/^=+ slowest/ {on = 0}
			/^_{3,} .* _{3,}$/ {n = 0}
			on && (n++ < 30 || / error /) {print}' "$1" | head -n 200
		sed -n '/^=* short test summary/,$p' "$1" | grep -v '^SKIPPED'
	elif grep -q '^Summary of Failures:' "$1"; then
		# the output of a failed test follows its line
		awk '/^ *[0-9]+\/[0-9]+ / {on = / (FAIL|ERROR|TIMEOUT) /; n = 0}
			/^Summary of Failures:/ {on = 1; n = -100}
			on && (n++ < 40 || /ERROR|error:/) {print}' "$1" | head -n 200
	else
		tail -n 60 "$1"
	fi
}

# Waits for one job to end, and books it.
reap() {
	local pid code name p f s
	wait -n -p pid "${!name_of[@]}"
	code=$?
	name=${name_of[$pid]}
	if [ -s "$logs/$name.count" ]; then
		read -r p f s <"$logs/$name.count"
		# A runner that failed without a failed test (it crashed, say) is a failure all the same.
		[ $code -eq 0 ] || [ "$f" -gt 0 ] || f=1
	elif [ $code -eq 0 ]; then
		p=1 f=0 s=0
	else
		p=0 f=1 s=0
	fi
	case $name in
	build-*) [ $code -ne 0 ] || p=0 ;; # a build that works is no test
	esac
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	lane_running[${job_lane[$name]}]=$((lane_running[${job_lane[$name]}] - 1))
	if [ "$f" -gt 0 ]; then
		job_state[$name]=failed
		failures+=("$name")
		note "FAILED  $name ($(duration "$name" $((SECONDS - began[$pid])))): $p passed, $f failed; from $logs/$name.log:"
		excerpt "$logs/$name.log" | cut -c1-240 | sed 's/^/        | /'
	else
		job_state[$name]=done
		note "ok      $name ($(duration "$name" $((SECONDS - began[$pid]))))$([ "$p" -eq 0 ] || echo ": $p passed")$([ "$s" -eq 0 ] || echo ", $s skipped")"
	fi
	unset "name_of[$pid]" "began[$pid]"
}

# State of a job's dependencies: "ready", "wait", or "never" with the reason in $why.
judge() {
	local after name verdict=ready
	local -a all
	IFS=, read -ra all <<<"${job_after[$1]}"
	for after in "${all[@]}"; do
		for name in "${job_order[@]}"; do
			# shellcheck disable=SC2053
			[[ $name == $after ]] || continue
			case ${job_state[$name]} in
			waiting | running) verdict='wait' ;;
			failed | missing)
				[[ $after == *\* ]] || { why="$name failed or was not run"; verdict=never; break 2; }
				;;
			esac
		done
	done
	judged=$verdict
}

# Starts the jobs whose dependencies have ended, in the given order.
start_ready() {
	local name lane why judged
	for name in "${job_order[@]}"; do
		[ "${job_state[$name]}" = waiting ] || continue
		lane=${job_lane[$name]}
		[ "${lane_running[$lane]}" -lt "${lane_limit[$lane]}" ] || continue
		judge "$name"
		case $judged in
		ready) start_job "$name" ;;
		never)
			job_state[$name]=missing
			note "not run $name: $why"
			;;
		esac
	done
}

run_jobs() {
	start_ready
	while [ ${#name_of[@]} -gt 0 ]; do
		reap
		start_ready
	done
	local name
	for name in "${job_order[@]}"; do
		[ "${job_state[$name]}" = waiting ] || continue
		note "FAILED  $name depends on jobs that do not run: ${job_after[$name]}"
		failures+=("$name")
		failed=$((failed + 1))
	done
}

# Whether a process of any of these jobs' groups lives.
jobs_live() {
	local pid
	for pid in "${!name_of[@]}"; do
		! kill -0 -- "-$pid" 2>/dev/null || return 0
	done
	return 1
}

jobs_signal() {
	local pid
	for pid in "${!name_of[@]}"; do
		kill "-$1" -- "-$pid" 2>/dev/null || true
	done
}

stop_jobs() {
	set +m # no word about each job that ends
	local end=$((SECONDS + job_grace_s))
	jobs_signal TERM
	# pytest stops its gateway and brokers itself, and scripts/bench its programs; jobs that do not end in time are
	# killed.
	while jobs_live && [ $SECONDS -lt $end ]; do
		sleep 0.1
	done
	jobs_signal KILL
	marked_end "$job_mark" 2
	wait 2>/dev/null
}
