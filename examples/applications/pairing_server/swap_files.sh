#!/bin/sh
# Starts a pairing_server and swaps two files with two clients.
# usage: swap_files.sh FOLDER_OF_PROGRAMS FILE FILE
set -eu
programs=$1 mine=$2 yours=$3
here=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; wait; rm -rf "$here"' EXIT

mkfifo "$here/says"
"$programs/pairing_server" --max-message 100000000 >"$here/says" &
server=$!
exec 3<"$here/says"
read -r listening <&3
echo "$listening"
port=${listening##* }

"$programs/pairing_client" --port "$port" kitchen <"$mine" >"$here/yours" &
first=$!
"$programs/pairing_client" --port "$port" kitchen <"$yours" >"$here/mine"
wait "$first"
cmp "$mine" "$here/mine"
cmp "$yours" "$here/yours"
echo "swapped $mine ($(wc -c <"$mine") bytes) and $yours ($(wc -c <"$yours") bytes)"
kill "$server"
cat <&3 # the server's final statistics
