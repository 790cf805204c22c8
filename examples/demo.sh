#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows what an exchange is good for, from two coroutines to a pipeline, and draws the results in demo.html.
# usage: demo.sh FOLDER_OF_PROGRAMS FOLDER_OF_RESULTS [FILE]
set -euo pipefail
examples=$(dirname "$(readlink -f "$0")") programs=$1 results=$2
file=${3:-$(g++ -print-prog-name=cc1plus)} # a large file that always exists: the compiler
page=$results/demo.html

# tell SENTENCE: what is about to be seen. Results go to the terminal and to the page.
tell() {
    printf '\n%s\n' "$1" | fold -s -w 80
    printf '<h2>%s</h2>\n' "$1" >>"$page"
}
show() {
    tee "$results/shown" | fold -s -w 76 | sed 's/^/    /'
    sed 's/&/\&amp;/g; s/</\&lt;/g; 1s/^/<pre>/; $s|$|</pre>|' "$results/shown" >>"$page"
}

cat >"$page" <<'END'
<!doctype html><meta charset="utf-8"><title>tryst</title>
<style>body { max-width: 50em; margin: 2em auto; font-family: sans-serif } svg { max-width: 100%; height: auto }</style>
<h1>tryst: an exchange channel for coroutines</h1>
END

tell "Two coroutines meet, and each leaves with the other's item."
"$programs/hello" | show
picture=$(grep -v prefers-color-scheme "$examples/../docs/pictures/exchange.svg" | base64 -w 0) # the page is light
printf '<img alt="Two parties swap their items" src="data:image/svg+xml;base64,%s"/>\n' "$picture" >>"$page"

tell "Two threads swap full buffers for empty ones: two buffers read a whole file."
"$programs/fill_and_empty" "$file" | show

tell "Three stages on io_uring do the same, and compress the file on the way."
start=$(date +%s%N)
if "$programs/applications/uring_zstd/uring_zstd" -q -f "$file" -o "$results/demo.zst" 2>"$results/problem"; then
    elapsed=$((($(date +%s%N) - start) / 1000000 + 1)) size=$(stat -L -c %s "$file")
    zstd -q -dc "$results/demo.zst" | cmp - "$file"
    echo "$((size / 1000 / elapsed)) MB/s, and zstd reads the file back byte for byte" | show
else
    show <"$results/problem" # the kernel may have no io_uring
fi

tell "Two hundred coroutines swap parts of their tours, until one is the shortest."
"$programs/applications/tsp/tsp" "$examples/applications/tsp/kroA100.tsp" --optimum 21282 \
    --svg "$results/tour.svg" 2>/dev/null | sed -n 1p | show
cat "$results/tour.svg" >>"$page"

rm -f "$results/shown" "$results/problem"
printf '\nAll of it as one page: xdg-open %s\n' "$(realpath --relative-to=. "$page")"
