# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Bash completion for rdma-cm-alt: commands, options and present ids.

# The names of programs are untrusted: a process chooses its own. Words that are read here are therefore never
# expanded, as compgen -W would do. rdma-cm-alt prints them as printable ASCII, in which JSON escapes the quote
# and the backslash.
_rdma_cm_alt_ids() {
	rdma-cm-alt --json show ids 2>/dev/null |
		sed -n -e '/^ *"'"$1"'": */!d' -e 's///' -e 's/,$//' -e 's/^"\(.*\)"$/\1/' \
			-e 's/\\\(["\\]\)/\1/g' -e p | sort -u
}

_rdma_cm_alt_devices() {
	local path
	for path in /sys/class/infiniband/*; do
		[[ -e $path ]] && printf '%s\n' "${path##*/}"
	done
}

# Completes the present word from the arguments. The word may be quoted for the shell already.
_rdma_cm_alt_offer() {
	local word quoted
	for word; do
		printf -v quoted %q "$word"
		[[ $word == "$cur"* || $quoted == "$cur"* ]] && COMPREPLY+=("$quoted")
	done
}

# Completes from a list that compgen makes; readline quotes the names.
_rdma_cm_alt_offer_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

_rdma_cm_alt() {
	local cur=$2 prev=$3 command='' word found=()
	local common=(--json --color --help --usage)

	COMPREPLY=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		-*) ;;
		show | stats | monitor | record | explain | check | takeover | run | bench)
			command=$word
			break
			;;
		esac
	done
	case $command/$prev in
	*/--color) found=(auto always never) ;;
	show/-p | show/--pid) mapfile -t found < <(_rdma_cm_alt_ids pid) ;;
	show/-s | show/--state) mapfile -t found < <(_rdma_cm_alt_ids state) ;;
	show/-d | show/--device) mapfile -t found < <(_rdma_cm_alt_devices) ;;
	show/-c | show/--program | monitor/-c | monitor/--program) mapfile -t found < <(_rdma_cm_alt_ids program) ;;
	record/-r | record/--read | record/-w | record/--write | monitor/-w | monitor/--write | explain/--capture)
		_rdma_cm_alt_offer_files -f
		return
		;;
	record/-d | record/--device | explain/-d | explain/--device) mapfile -t found < <(_rdma_cm_alt_devices) ;;
	run/-l | run/--library | bench/-l | bench/--library)
		_rdma_cm_alt_offer_files -d
		return
		;;
	/*) found=(show stats monitor record explain check takeover run bench "${common[@]}" --version) ;;
	show/*) found=(ids listeners queues members paths peers --address --device --pid --program --state "${common[@]}") ;;
	stats/*) found=(--all --prometheus "${common[@]}") ;;
	monitor/*) found=(--failures --program --write "${common[@]}") ;;
	record/*) found=(--all --buffer --count --device --id --keep --packet --pid --private-data --program --read --text --trunks --write "${common[@]}") ;;
	explain/*)
		mapfile -t found < <(_rdma_cm_alt_ids name)
		found+=(--capture --device --id --last "${common[@]}")
		;;
	check/*) found=("${common[@]}") ;;
	takeover/*) found=(status on off --dry-run --yes "${common[@]}") ;;
	bench/*) found=(--count --library --rounds "${common[@]}") ;;
	run/*)
		# The program, and then its own arguments.
		if [[ $cur == -* && ($prev == run || $prev == -*) ]]; then
			found=(--debug --library --sockets --help --usage)
		elif [[ $prev == run || $prev == -* ]]; then
			_rdma_cm_alt_offer_files -c
			return
		else
			_rdma_cm_alt_offer_files -f
			return
		fi
		;;
	esac
	_rdma_cm_alt_offer "${found[@]}"
}

complete -o bashdefault -F _rdma_cm_alt rdma-cm-alt
