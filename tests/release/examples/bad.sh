# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# The examples with faulty peers and devices: clients that give up, reject, do not answer or send too much, a
# server that is killed, and a device that is removed. On soft-RoCE. Sourced by tests/release/examples/run.

# shellcheck disable=SC2154	# set there
bad=build/tests/release/examples/bad_client

# server COMMAND...: starts a server in the background and waits until it listens; $server is its process.
server() {
	rm -f "$output"
	timeout 240 "$@" >"$output" 2>&1 &
	server=$!
	begins "$server" "listening\|joined"
}

# says PATTERN: waits up to five minutes until the server prints this.
says() {
	local tries=3000
	until grep -qs "$1" "$output"; do
		[ $((tries -= 1)) -gt 0 ] && [ -e "/proc/$server" ] || return 1
		sleep 0.1
	done
}

# mras: prints the number of received MRAs of all devices.
mras() {
	awk '{ n += $1 } END { print n }' /sys/class/infiniband/*/ports/*/cm_rx_msgs/mra
}

# rejects: prints the number of rejects that the module has received.
rejects() {
	build/rdma-cm-alt stats --prometheus |
		awk '/^rdma_cm_alt_steps_total.*step="rej"/ { n += $NF } END { print n + 0 }'
}

# grows COUNT COMMAND: waits up to 20 seconds until the command prints more than COUNT.
grows() {
	local tries=200
	until [ "$("$2")" -gt "$1" ]; do
		[ $((tries -= 1)) -gt 0 ] || return
		sleep 0.1
	done
}

# The client has destroyed its id when the server accepts the request. The client waits until the module has
# received the request and sent an MRA (not since Linux 6.16; the time suffices), because ib_cm may handle two
# messages in either order, and ignores a reject without a request.
withdraws() {
	local asked rejected status=0
	asked=$(mras) rejected=$(rejects)
	pkill -STOP -P "$server" || return
	grows "$asked" mras | timeout 60 "$bad" "$there" "$port" withdraw || status=$?
	grows "$rejected" rejects || { echo "the client's reject has not arrived"; status=1; }
	pkill -CONT -P "$server"
	[ "$status" -eq 0 ] && says "accept.*: \|ACCEPT: "
}

# The client never sends an RTU. With these settings the reply times out after a second.
is_mute() {
	local client status=0
	sysctl -qw net.rdma_cm_alt.max_retries=1 net.rdma_cm_alt.mra_timeout=0 || return
	timeout 120 "$bad" "$there" "$port" mute &
	client=$!
	says "RDMA_CM_EVENT_UNREACHABLE\|Connection timed out" || status=1
	kill "$client"
	wait "$client" 2>/dev/null
	sysctl -qw net.rdma_cm_alt.max_retries=-1 net.rdma_cm_alt.mra_timeout=-1
	return "$status"
}

# bears "KIND..." SERVER... -- CLIENT...: after bad clients of these kinds the server serves CLIENT and succeeds.
bears() {
	local kinds=$1 kind command=() status=0
	shift
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	server "${command[@]}" || status=1
	for kind in $kinds; do
		[ "$status" -eq 0 ] || break
		case $kind in
		withdraw) withdraws ;;
		mute) is_mute ;;
		*) timeout 60 "$bad" "$there" "$port" "$kind" ;;
		esac || { echo "with the client that is to $kind:"; status=1; }
	done
	[ "$status" -eq 0 ] && timeout 120 "$@" || status=1
	[ "$status" -eq 0 ] || kill "$server" 2>/dev/null
	wait "$server" || status=1
	cat "$output"
	return "$status"
}

# stays: starts a client, $client, on the device that is removed. It keeps the device until it is killed, so the
# server gets the removal before a disconnect.
stays() {
	local log=/tmp/examples-client.log
	rm -f "$log"
	"$bad" "$there" "$port" stay >"$log" 2>&1 &
	client=$!
	until grep -qsx established "$log"; do
		[ -e "/proc/$client" ] || { cat "$log"; return 1; }
		sleep 0.1
	done
}

# with_device_gone COMMAND...: runs the command while the device of $there is removed; adds it again.
with_device_gone() {
	local delete status=0
	timeout 200 rdma link delete rxe0 &
	delete=$!
	"$@" || status=1
	[ -z "$client" ] || kill "$client"
	wait "$delete" || status=1
	[ -e /sys/class/infiniband/rxe0 ] || rdma link add rxe0 type rxe netdev d0 || status=1
	cat "$output"
	return "$status"
}

# The server ends with status 1.
gives_up() {
	local status=0
	wait "$server" || status=$?
	[ "$status" -eq 1 ]
}

# ends_without_device CLIENT SERVER...: the server ends when its device is removed; CLIENT: stays or nobody.
ends_without_device() {
	local kind=$1 client=''
	shift
	server "$@" || return
	[ "$kind" = nobody ] || stays || { kill "$server"; return 1; }
	with_device_gone gives_up
}

# A server on the wildcard address serves the other devices until a signal. Its client on the removed device may
# end first; then the event is DISCONNECTED. The removal waits until the server ends, because the library has the
# device open.
serves_others() {
	local status=0
	sleep 1
	timeout 120 "$own/async_client" 10.7.0.1 "$port" "$many" || status=1
	kill "$server"
	wait "$server" && return "$status"
}

goes_on_without_device() {
	local client=''
	server "$own/epoll_server" 0.0.0.0 "$port" || return
	stays || { kill "$server"; return 1; }
	with_device_gone serves_others
}

# hears_the_end CLIENT...: the client reports that the server was killed before it answered.
hears_the_end() {
	local status=0 killed=0
	server build/tests/release/examples/bad_server "$there" "$port" || return
	fails 1 "no answer: RDMA_CM_EVENT_DISCONNECTED" "$@" || status=1
	[ "$status" -eq 0 ] || kill "$server" 2>/dev/null
	wait "$server" || killed=$?
	cat "$output"
	echo "the server's status: $killed"
	[ "$status" -eq 0 ] && [ "$killed" -eq 137 ]
}

bad_servers() {
	local directory
	for directory in "$own" "$stock"; do
		port=$((port + 1))
		check "$directory/tutorial_client says that its server went" hears_the_end \
			"$directory/tutorial_client" "$there" "$port" x
	done
}

bad_clients() {
	local name
	port=$((port + 1))
	check "tutorial_server bears bad clients" bears "withdraw refuse mute leave flood" \
		"$own/tutorial_server" "$there" "$port" -- "$own/tutorial_client" "$there" "$port" x
	port=$((port + 1))
	check "sync_server bears bad clients" bears "withdraw refuse mute leave" \
		"$own/sync_server" "$there" "$port" "a text" 2 -- "$own/sync_client" "$there" "$port"
	for name in async_server epoll_server; do
		port=$((port + 1))
		check "$name bears bad clients" bears "withdraw refuse mute leave flood" \
			"$own/$name" "$there" "$port" 5 -- "$own/async_client" "$there" "$port" 3
	done
	for name in get_many_events io_uring_events; do
		port=$((port + 1))
		check "$name bears bad clients" bears "withdraw refuse leave" \
			"$own/$name" "$there" "$port" 2 -- "$own/connect" "$there" "$port"
	done
}

devices_that_go() {
	local name
	for name in tutorial_server "sync_server TEXT" async_server epoll_server get_many_events io_uring_events; do
		port=$((port + 1))
		# shellcheck disable=SC2086
		set -- $name 5
		[ "$1" != tutorial_server ] || set -- "$1"
		check "$1 ends when its device goes" ends_without_device stays "$own/$1" "$there" "$port" "${@:2}"
	done
	check "datagram_server ends when its device goes" ends_without_device nobody "$own/datagram_server" "$there" "$port"
	check "multicast ends when its device goes" ends_without_device nobody "$own/multicast" "$there" 239.8.2.2 receive 3
	port=$((port + 1))
	check "epoll_server on all addresses goes on without one of its devices" goes_on_without_device
}
