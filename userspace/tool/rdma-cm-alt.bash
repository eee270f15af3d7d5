# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Completion of rdma-cm-alt for bash: commands, options and what ids there are.

_rdma_cm_alt_ids() {
	rdma-cm-alt --json show ids 2>/dev/null |
		sed -n 's/.*"'"$1"'": *"\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' | sort -u
}

_rdma_cm_alt_devices() {
	local path
	for path in /sys/class/infiniband/*; do
		[[ -e $path ]] && printf '%s\n' "${path##*/}"
	done
}

_rdma_cm_alt() {
	local cur=$2 prev=$3 command='' word
	local common='--json --color --help --usage'
	local commands='show stats monitor explain check run bench'

	COMPREPLY=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		-*) ;;
		show | stats | monitor | explain | check | run | bench)
			command=$word
			break
			;;
		esac
	done
	case $command/$prev in
	*/--color)
		mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur")
		return
		;;
	show/-p | show/--pid)
		mapfile -t COMPREPLY < <(compgen -W "$(_rdma_cm_alt_ids pid)" -- "$cur")
		return
		;;
	show/-s | show/--state)
		mapfile -t COMPREPLY < <(compgen -W "$(_rdma_cm_alt_ids state)" -- "$cur")
		return
		;;
	show/-d | show/--device)
		mapfile -t COMPREPLY < <(compgen -W "$(_rdma_cm_alt_devices)" -- "$cur")
		return
		;;
	show/-c | show/--program | monitor/-c | monitor/--program)
		mapfile -t COMPREPLY < <(compgen -W "$(_rdma_cm_alt_ids program)" -- "$cur")
		return
		;;
	run/-l | run/--library | bench/-l | bench/--library)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	esac
	case $command in
	'') word="$commands $common --version" ;;
	show) word="ids listeners queues members --address --device --pid --program --state $common" ;;
	stats) word="--all --prometheus $common" ;;
	monitor) word="--failures --program $common" ;;
	explain) word="$(_rdma_cm_alt_ids name) --last $common" ;;
	check) word=$common ;;
	bench) word="--count --library --rounds $common" ;;
	run)
		# The program, and its own arguments.
		if [[ $cur == -* && ($prev == run || $prev == -*) ]]; then
			word="--debug --library --help --usage"
		elif [[ $prev == run || $prev == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			return
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
}

complete -o bashdefault -F _rdma_cm_alt rdma-cm-alt
