#!/bin/sh
# Makes the tables of README.md, "Figures", about Redis: starts a redis-server and runs pairing_load.
# usage: figures_through_redis.sh FOLDER_OF_PROGRAMS [OPTION_OF_PAIRING_LOAD...]
set -eu
programs=$1
shift
here=$(mktemp -d)
trap 'kill "${server-}" 2>/dev/null || true; wait; rm -rf "$here"' EXIT
trap 'exit 1' HUP INT TERM

redis-server --port 0 --unixsocket "$here/redis.sock" --save '' --dir "$here" >"$here/log" &
server=$!
attempts=0
until [ -S "$here/redis.sock" ]; do
    attempts=$((attempts + 1))
    [ $attempts -lt 300 ] || { cat "$here/log" >&2; exit 1; }
    sleep 0.1
done

measure() {
    echo "$1:"
    shift
    for what in "--clients 2 --clients 16 --clients 256" "--waiting 8000"; do
        # shellcheck disable=SC2086 # several words
        "$programs/pairing_load" --server "$programs/pairing_server" --size 100 $what "$@"
    done
}
redis="unix://$here/redis.sock"
measure "one server without Redis" "$@"
measure "one server with Redis" --redis "$redis" "$@"
measure "three servers with Redis" --redis "$redis" --servers 3 "$@"
