#!/usr/bin/env bash
# Builds the Debian package in FOLDER, checks it, and unpacks it into FOLDER/root. `./dev package` runs this.
set -euo pipefail
folder=$(realpath -m "${1:?usage: debian_package.sh FOLDER}")
cd "$(dirname "$0")/.."

# The package must be reproducible: the same bytes from another folder, time zone and language.
copies=("$folder/first" "$folder/second/elsewhere")
for copy in "${copies[@]}"; do
    rm -rf "$copy"
    mkdir -p "$copy/tryst"
    tar -c --exclude-vcs --exclude=./build --exclude=./.cache . | tar -x -C "$copy/tryst"
    cp -r packaging/debian "$copy/tryst"
done
for copy in "${copies[@]}"; do
    echo "== package: build in $copy" >&2
    if ! (cd "$copy/tryst" && dpkg-buildpackage -us -uc -j"$(nproc)") >"$copy/log" 2>&1; then
        tail -30 "$copy/log" >&2
        echo "debian_package.sh: dpkg-buildpackage failed; see $copy/log" >&2
        exit 1
    fi
    export TZ=Pacific/Chatham LC_ALL=C.UTF-8 CCACHE_DISABLE=1
done
for kind in dsc deb; do cmp "$folder"/first/*.$kind "$folder"/second/elsewhere/*.$kind; done
lintian --allow-root --fail-on error,warning "$folder"/first/*.changes

rm -rf "$folder/root"
dpkg -x "$folder"/first/*.deb "$folder/root"
packaged=$(dpkg-deb -f "$folder"/first/*.deb Version)
installed=$(PKG_CONFIG_PATH=$folder/root/usr/share/pkgconfig pkg-config --modversion tryst)
if [ "$packaged" != "$installed" ]; then
    echo "debian_package.sh: the package has version $packaged, its contents $installed" >&2
    exit 1
fi
