#!/bin/sh
# Compresses FILE, has zstd check the result, decompresses it with both, and compares:
# compress_and_check.sh URING_ZSTD FILE
set -eu
program=$1 file=$2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

if ! "$program" "$file" -o "$here/file.zst" 2>"$here/said"; then
    cat "$here/said" >&2
    grep -q io_uring_setup "$here/said" # no io_uring here: that is not FILE's fault
    exit
fi
cat "$here/said"
zstd -q -t "$here/file.zst"
zstd -q -dc "$here/file.zst" | cmp - "$file"
echo "zstd -t: good; zstd -dc: the same as $file"
"$program" -dc "$here/file.zst" | cmp - "$file"
echo "uring_zstd -dc: the same as $file"
