#!/usr/bin/env bash
# Find Chromium and its driver, or install them; fail with one sentence where neither is possible.
set -uo pipefail

here() {
    command -v chromedriver >/dev/null &&
        { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
}

cannot() {
    echo "Chromium and chromedriver are not here and cannot be installed: $1." >&2
    exit 1
}

here && exit 0
command -v apt-get >/dev/null || cannot "there is no apt-get; install them by hand"
if [ "$(id -u)" = 0 ]; then
    root=()
elif sudo -n true 2>/dev/null; then
    root=(sudo -n)
else
    cannot "that takes root; run: apt-get install chromium chromium-driver"
fi
echo "installing Chromium ..."
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
timeout 180 "${root[@]}" apt-get update -q >"$log" 2>&1 &&
    timeout 600 "${root[@]}" apt-get install -y -q --no-install-recommends \
        chromium chromium-driver fonts-dejavu-core fonts-noto-color-emoji >>"$log" 2>&1
here || { tail -3 "$log" >&2; cannot "apt-get did not get them (no network, or another system)"; }
