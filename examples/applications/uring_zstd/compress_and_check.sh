#!/bin/sh
# Compresses FILE with uring_zstd, tests the result with zstd, decompresses it with both programs
# and compares.
# usage: compress_and_check.sh URING_ZSTD FILE
set -eu
program=$1 file=$2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

if ! "$program" "$file" -o "$here/file.zst" 2>"$here/messages"; then
    cat "$here/messages" >&2
    grep -q io_uring_setup "$here/messages" # succeed if io_uring is missing
    exit
fi
fold -s -w 80 "$here/messages"
zstd -q -t "$here/file.zst"
zstd -q -dc "$here/file.zst" | cmp - "$file"
echo "zstd -t: valid; zstd -dc: identical to $file"
"$program" -dc "$here/file.zst" | cmp - "$file"
echo "uring_zstd -dc: identical to $file"
