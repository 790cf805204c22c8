#!/bin/sh
# Starts a redis-server and two pairing_servers, and swaps two files with a client of each.
# usage: swap_files_through_redis.sh FOLDER_OF_PROGRAMS FILE FILE
set -eu
programs=$1 mine=$2 yours=$3
here=$(mktemp -d)
started=
finish() {
    # shellcheck disable=SC2086 # several ids
    kill $started 2>/dev/null || true
    wait
    rm -rf "$here"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# Not the system's server: on a socket of its own, and without files.
redis-server --port 0 --unixsocket "$here/redis.sock" --save '' --dir "$here" >"$here/log" &
started=$!

# A server does not wait for Redis, but its first clients should.
attempts=0
until [ -S "$here/redis.sock" ]; do
    attempts=$((attempts + 1))
    [ $attempts -lt 300 ] || { cat "$here/log" >&2; exit 1; }
    sleep 0.1
done

for server in first second; do
    mkfifo "$here/$server"
    "$programs/pairing_server" --redis "unix://$here/redis.sock?max_item=100000000" \
        --max-message 100000000 >"$here/$server" &
    started="$started $!"
done
servers=${started#* }
exec 3<"$here/first" 4<"$here/second"
read -r listening <&3
echo "the first server is $listening"
first_port=${listening##* }
read -r listening <&4
echo "the second server is $listening"
second_port=${listening##* }

"$programs/pairing_client" --port "$first_port" --timeout 60 kitchen \
    <"$mine" >"$here/yours" &
client=$!
"$programs/pairing_client" --port "$second_port" --timeout 60 kitchen \
    <"$yours" >"$here/mine"
wait "$client"
cmp "$mine" "$here/mine"
cmp "$yours" "$here/yours"
echo "swapped $mine ($(wc -c <"$mine") bytes) and $yours ($(wc -c <"$yours") bytes)"
# shellcheck disable=SC2086 # two ids
kill $servers
cat <&3 # the servers' final statistics
cat <&4
