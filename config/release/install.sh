#!/bin/sh
# Installs Sluice: finds the archive for this system, downloads it, compares its checksum, and installs the program.
set -eu

usage="usage: install.sh [--prefix DIR] [--from URL] [--target NAME] [--systemd]

  curl -fsSL URL/install.sh | sh                     installs to /usr/local if it is writable, else to ~/.local
  curl -fsSL URL/install.sh | sh -s -- --systemd     also writes a unit and a configuration (as root)

  --prefix DIR   install the program to DIR/bin
  --from URL     the folder with the release's files (SLUICE_RELEASE_URL)
  --target NAME  install another archive than this system's, e.g. linux-x64-musl
  --systemd      write /etc/systemd/system/sluice.service and /etc/sluice/sluice.toml
  --help         print this"

version='@VERSION@'
url="${SLUICE_RELEASE_URL:-@ADDRESS@}"
prefix=''
target=''
systemd=no
# Folders of the system; a test puts them elsewhere.
root="${SLUICE_INSTALL_ROOT:-}"

fail() { echo "error: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

while [ $# -gt 0 ]; do
  case "$1" in
    --prefix | --from | --target) [ $# -ge 2 ] || fail "$1 needs a value" ;;
  esac
  case "$1" in
    --prefix) prefix="$2"; shift ;;
    --from) url="$2"; shift ;;
    --target) target="$2"; shift ;;
    --systemd) systemd=yes ;;
    --help | -h) echo "$usage"; exit 0 ;;
    *) fail "unknown option $1; install.sh --help lists the options" ;;
  esac
  shift
done
[ -n "$url" ] || fail "this copy does not know where its release is: set SLUICE_RELEASE_URL or pass --from"

detect() {
  case "$(uname -s)" in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no Sluice for $(uname -s) that this script can install" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) processor=x64 ;;
    arm64 | aarch64) processor=arm64 ;;
    *) fail "there is no Sluice for the processor $(uname -m)" ;;
  esac
  libc=''
  if [ "$system" = linux ] && [ -z "$(ls /lib*/ld-linux* /lib/*/ld-linux* 2>/dev/null)" ]; then libc=-musl; fi
  target="$system-$processor$libc"
}

download() {
  if has curl; then curl -fsSL "$1" -o "$2"; elif has wget; then wget -q "$1" -O "$2"; else fail "curl or wget is needed"; fi ||
    fail "$1 could not be downloaded"
}

checksum() {
  if has sha256sum; then sha256sum "$1"; elif has shasum; then shasum -a 256 "$1"; else fail "sha256sum or shasum is needed"; fi |
    cut -d ' ' -f 1
}

[ -n "$target" ] || detect
[ "$systemd" = no ] || [ "$(id -u)" = 0 ] || fail "--systemd writes to /etc and needs root"
has xz || fail "xz is needed to unpack the archive; it is in the package xz-utils or xz"
if [ -z "$prefix" ]; then
  if [ -n "$root" ] || [ -w /usr/local/bin ]; then prefix="$root/usr/local"; else prefix="$HOME/.local"; fi
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
name="sluice-$version-$target"
download "$url/SHA256SUMS" "$work/SHA256SUMS"
wanted="$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.xz\$/\1/p" "$work/SHA256SUMS")"
[ -n "$wanted" ] || fail "the release has no $name.tar.xz"
download "$url/$name.tar.xz" "$work/$name.tar.xz"
found="$(checksum "$work/$name.tar.xz")"
[ "$found" = "$wanted" ] || fail "the checksum of $name.tar.xz is $found, and SHA256SUMS says $wanted. Nothing was installed."
xz -dc "$work/$name.tar.xz" | tar -xf - -C "$work"
"$work/$name/sluice" version >/dev/null || fail "the program for $target does not run on this system. Nothing was installed."

mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
  "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
# Beside the old one first: a program that runs cannot be written over, but its name can be given to another.
cp "$work/$name/sluice" "$prefix/bin/.sluice.new"
chmod 755 "$prefix/bin/.sluice.new"
mv "$prefix/bin/.sluice.new" "$prefix/bin/sluice"
cp "$work/$name/man/sluice.1" "$prefix/share/man/man1/sluice.1"
cp "$work/$name/completions/sluice.bash" "$prefix/share/bash-completion/completions/sluice"
cp "$work/$name/completions/_sluice" "$prefix/share/zsh/site-functions/_sluice"
cp "$work/$name/completions/sluice.fish" "$prefix/share/fish/vendor_completions.d/sluice.fish"
echo "installed: $("$prefix/bin/sluice" version), as $prefix/bin/sluice"

if [ "$systemd" = yes ]; then
  mkdir -p "$root/etc/systemd/system" "$root/etc/sluice"
  sed "s|/usr/local/bin/sluice|${prefix#"$root"}/bin/sluice|" "$work/$name/config/deploy/sluice.service" \
    >"$root/etc/systemd/system/sluice.service"
  # What is there already is the administrator's.
  [ -e "$root/etc/sluice/sluice.toml" ] || cp "$work/$name/config/sluice.toml" "$root/etc/sluice/sluice.toml"
  [ -e "$root/etc/sluice/secrets.env" ] || (umask 077 && : >"$root/etc/sluice/secrets.env")
  echo "written: $root/etc/systemd/system/sluice.service and $root/etc/sluice/sluice.toml. Edit the latter, then:"
  echo "  systemctl daemon-reload && systemctl enable --now sluice"
else
  case ":$PATH:" in
    *":$prefix/bin:"*) echo "Try it: sluice serve" ;;
    *) echo "Try it: $prefix/bin/sluice serve ($prefix/bin is not in your PATH)" ;;
  esac
fi
