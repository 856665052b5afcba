#!/usr/bin/env bash
# Makes in the folder $2 what the executable for the system $1 needs on this machine: musl's loader with Alpine's libstdc++, or arm64's
# glibc, and for arm64 an emulator. They come from Debian's packages, and libstdc++ from a Python wheel that brings it along.
set -euo pipefail
system=$1 into=$2
cd "$into"
case $system in
  *arm64*) processor=aarch64 architecture=arm64 ;;
  *) processor=x86_64 architecture=amd64 ;;
esac

# With a state of its own: the machine's lists of packages stay as they are. Debian 12's musl is too old for what Alpine builds today.
newer_debian() {
  mkdir -p apt/lists/partial apt/cache/archives/partial
  local site
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian/\?$')
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site trixie main" >apt/sources.list
  apt-get -q -o Dir::Etc::sourcelist="$PWD/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root \
    -o Dir::State::lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt/cache" -o Acquire::Languages=none \
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Architecture=$architecture -o APT::Architectures=$architecture "$@"
}
unpacked() { dpkg-deb --fsys-tarfile "$1" | tar -x --wildcards --transform 's,.*/,,' -C "$2" "$3"; }

mkdir -p root/lib root/usr/lib
if [[ $system == *musl ]]; then
  newer_debian update
  newer_debian download musl
  unpacked musl_*.deb root/lib '*/libc.so'
  mv root/lib/libc.so "root/lib/ld-musl-$processor.so.1"
  ln -s "ld-musl-$processor.so.1" "root/lib/libc.musl-$processor.so.1"
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
    --platform "musllinux_1_2_$processor" greenlet==3.5.6
  python3 -m zipfile -e greenlet-*.whl wheel
  cp wheel/greenlet.libs/libgcc_s-* root/usr/lib/
  cp wheel/greenlet.libs/libstdc++-* root/usr/lib/libstdc++.so.6
else
  apt-get -q -o APT::Sandbox::User=root download libc6-arm64-cross
  unpacked libc6-arm64-cross_*.deb root/lib './usr/aarch64-linux-gnu/lib/*.so*'
fi
chmod -R 755 root
if [ "$architecture" = arm64 ]; then
  apt-get -q -o APT::Sandbox::User=root download qemu-user-static
  unpacked qemu-user-static_*.deb . ./usr/bin/qemu-aarch64-static
fi
rm -rf apt wheel ./*.deb ./*.whl
