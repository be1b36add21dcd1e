#!/usr/bin/env bash
# Makes this machine able to build Rust guests for WebAssembly components.
#
#   setup.sh [--dir DIR] [--targets "T T"] [--no-rustup | --rustup-only] [--check] [--verbose]
#
# 1. Targets that the active toolchain already has cost nothing.
# 2. Otherwise `rustup target add`, under a timeout when there is something to fall back on.
# 3. Otherwise, on Debian: the rustc-web compiler and its own source packages, from which the
#    standard library of each target is built once into DIR (no rustup, no -Zbuild-std afterwards).
#
# Either way DIR/bin/guest-cargo is then `cargo` for guests, used the same in both cases:
#   DIR/bin/guest-cargo build --release --target wasm32-unknown-unknown
# and its .wasm is a component. Safe to run again: a finished setup is left alone.
# Prints one line on standard output, the path of guest-cargo; details go to DIR/setup.log.
# Environment: WASM_TOOLCHAIN_DIR (DIR), WASM_RUSTUP_TIMEOUT (seconds, default 60).
set -euo pipefail

FORMAT=1 # raise it when what this script builds changes
dir=${WASM_TOOLCHAIN_DIR:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/wasm-guest-toolchain}
targets="wasm32-unknown-unknown wasm32-wasip2"
use_rustup=yes use_debian=yes check=no verbose=no

die() {
  printf 'guest-sdk: error: %s\n' "$*" >&2
  exit 1
}
usage() { sed -n '2,/^set -euo/{/^set/d;s/^# \{0,1\}//;p}' "$0"; }

while [ $# -gt 0 ]; do
  case $1 in
    --dir) dir=${2:?--dir needs a folder}; shift ;;
    --targets) targets=${2:?--targets needs a list}; shift ;;
    --no-rustup) use_rustup=no ;;
    --rustup-only) use_debian=no ;;
    --check) check=yes ;;
    --verbose) verbose=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
  shift
done
[ "$use_rustup$use_debian" != nono ] || die "--no-rustup and --rustup-only exclude each other"
for t in $targets; do
  case $t in
    wasm32-unknown-unknown | wasm32-wasip1 | wasm32-wasip2) ;;
    *) die "unknown target $t (known: wasm32-unknown-unknown wasm32-wasip1 wasm32-wasip2)" ;;
  esac
done

mkdir -p "$dir/bin" || die "cannot write to $dir"
dir=$(cd "$dir" && pwd)
log=$dir/setup.log
note() { # a line of progress: always in the log, on stderr with --verbose
  printf '[%s] %s\n' "$(date +%H:%M:%S)" "$*" >>"$log"
  [ "$verbose" = no ] || printf 'guest-sdk: %s\n' "$*" >&2
}
fail() { # a failure with the end of the log
  printf 'guest-sdk: error: %s\n' "$*" >&2
  if [ -s "$log" ]; then
    printf -- '--- last lines of %s\n' "$log" >&2
    tail -n 15 "$log" >&2
  fi
  exit 1
}
if command -v flock >/dev/null 2>&1; then # two runs at once: the second waits, then finds it done
  exec 9>"$dir/.lock"
  flock -w 1800 9 || die "another run has held $dir/.lock for 30 minutes"
fi

# --- what is there ---------------------------------------------------------------------------
has_target() { # RUSTC... TARGET: does that compiler have a standard library for TARGET?
  local libs
  libs=$("${@:1:$#-1}" --print target-libdir --target "${!#}" 2>/dev/null) || return 1
  compgen -G "$libs/libstd-*.rlib" >/dev/null
}
all_targets() { # RUSTC...: does it have all of them?
  local t
  for t in $targets; do has_target "$@" "$t" || return 1; done
}
active_toolchain_ready() {
  command -v cargo >/dev/null 2>&1 && command -v rustc >/dev/null 2>&1 && all_targets rustc
}

# --- the wrapper -----------------------------------------------------------------------------
write_wrapper() { # MODE CARGO [RUSTC]
  local tmp=$dir/bin/.guest-cargo.$$
  {
    printf '#!/bin/sh\n# Written by guest-sdk/setup.sh (%s): cargo for WebAssembly guests.\n' "$1"
    printf 'unset RUSTC RUSTFLAGS CARGO_ENCODED_RUSTFLAGS RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER\n'
    [ -z "${3:-}" ] || printf 'RUSTC="%s"; export RUSTC\n' "$3"
    # the linker that turns a core module with component type information into a component
    printf ': "${CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER:=wasm-component-ld}"\n'
    printf ': "${CARGO_TARGET_WASM32_WASIP1_LINKER:=wasm-component-ld}"\n'
    printf 'export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER CARGO_TARGET_WASM32_WASIP1_LINKER\n'
    printf 'exec "%s" "$@"\n' "$2"
  } >"$tmp"
  chmod 755 "$tmp"
  mv -f "$tmp" "$dir/bin/guest-cargo"
  printf '%s\n' "$1" >"$dir/mode"
}

smoke() { # RUSTC...: for every target std links and the component linker writes a .wasm
  local t tmp
  tmp=$(mktemp -d "$dir/.smoke.XXXXXX")
  printf '#[no_mangle] pub extern "C" fn f(n: usize) -> usize { format!("{:?}", vec![n; 3]).len() }\n' >"$tmp/s.rs"
  for t in $targets; do
    if ! "$@" --edition 2021 --crate-type cdylib -Copt-level=1 -Clinker=wasm-component-ld --target "$t" -o "$tmp/$t.wasm" "$tmp/s.rs" >>"$log" 2>&1 ||
      [ "$(head -c 4 "$tmp/$t.wasm" | od -An -c | tr -d ' ')" != '\0asm' ]; then
      rm -rf "$tmp"
      return 1
    fi
  done
  rm -rf "$tmp"
}

done_line() {
  note "ready ($1)"
  printf '%s\n' "$dir/bin/guest-cargo"
  exit 0
}

# --- Debian's compiler ------------------------------------------------------------------------
deb_version() { dpkg-query -W -f='${db:Status-Abbrev}${Version}' "$1" 2>/dev/null | sed -n 's/^ii *//p'; }
stamp_now() {
  printf 'format %s\nrustc-web %s\nrust-web-src %s\n' "$FORMAT" "$(deb_version rustc-web)" "$(deb_version rust-web-src)"
}
debian_ready() {
  [ -x "$dir/bin/rustc" ] && [ -f "$dir/stamp" ] && [ -n "$(deb_version rustc-web)" ] &&
    [ "$(cat "$dir/stamp")" = "$(stamp_now)" ] && all_targets "$dir/bin/rustc"
}

# --- 1. nothing to do -------------------------------------------------------------------------
if [ "$use_rustup" = yes ] && active_toolchain_ready; then
  write_wrapper "active toolchain" cargo
  [ "$check" = yes ] || : >"$log"
  done_line "active toolchain: $(rustc --version)"
fi
if [ "$use_debian" = yes ] && debian_ready; then
  [ -x "$dir/bin/guest-cargo" ] && [ "$(cat "$dir/mode" 2>/dev/null)" = "Debian rustc-web" ] && done_line "Debian rustc-web"
fi
[ "$check" = no ] || die "not set up: run $0"
: >"$log"

can_debian=no
if [ "$use_debian" = yes ] && command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1; then
  can_debian=yes
fi

# --- 2. rustup --------------------------------------------------------------------------------
if [ "$use_rustup" = yes ] && command -v rustup >/dev/null 2>&1 && rustc --version >/dev/null 2>&1; then
  limit=600
  [ "$can_debian" = no ] || limit=${WASM_RUSTUP_TIMEOUT:-60}
  note "rustup target add $targets (at most $limit s)"
  run="timeout -k 5 $limit"
  command -v timeout >/dev/null 2>&1 || run=
  # shellcheck disable=SC2086
  if $run rustup target add $targets >>"$log" 2>&1 </dev/null && active_toolchain_ready; then
    smoke rustc || fail "rustup added the targets but they do not build"
    write_wrapper "active toolchain" cargo
    done_line "rustup: $(rustc --version)"
  fi
  note "rustup could not add the targets"
fi
if [ "$can_debian" = no ]; then
  fail "no standard library for: $targets. Install rustup, then: rustup target add $targets"
fi

# --- 3. Debian --------------------------------------------------------------------------------
sudo=
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2>/dev/null || fail "rustup could not add the targets; the Debian fallback needs root (or sudo without a password) to install rustc-web, rust-web-src and lld"
  sudo="sudo -n"
fi
apt_updated=no
apt_install() {
  local missing=() p
  for p in "$@"; do [ -n "$(deb_version "$p")" ] || missing+=("$p"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  note "apt-get install ${missing[*]}"
  local get="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"
  # shellcheck disable=SC2086
  $get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null && return 0
  if [ "$apt_updated" = no ]; then # an old or empty package list: refresh it once
    apt_updated=yes
    note "apt-get update"
    # shellcheck disable=SC2086
    $get update >>"$log" 2>&1 </dev/null || true
    # shellcheck disable=SC2086
    $get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null && return 0
  fi
  fail "apt-get could not install: ${missing[*]}"
}
apt_install rustc-web rust-web-src rust-web-llvm
rustc=/usr/bin/rustc
[ -x "$rustc" ] || fail "rustc-web is installed but $rustc is missing"
lld=$(readlink /usr/bin/rust-lld || true) # lld-22: the package of that name holds it
case $lld in
  lld-[0-9]*) apt_install "$lld" ;;
  *) apt_install lld ;;
esac
case " $targets " in *" wasm32-wasip"*) apt_install wasi-libc ;; esac

# targets of an earlier run with the same compiler are kept
if [ -f "$dir/stamp" ] && [ "$(cat "$dir/stamp")" = "$(stamp_now)" ]; then
  for f in "$dir/sysroot/lib/rustlib/"wasm32-*; do
    t=${f##*/}
    case " $targets " in *" $t "*) ;; *) [ ! -d "$f" ] || targets="$targets $t" ;; esac
  done
fi
minor() { "$@" --version 2>/dev/null | sed -n 's/^[a-z]* 1\.\([0-9]*\)\..*/\1/p'; }
host=$("$rustc" -vV | sed -n 's/^host: //p')
src=/usr/lib/rustlib/src/rust/library
[ -f "$src/Cargo.lock" ] && [ -d "$src/vendor" ] || fail "rust-web-src has no $src with vendored dependencies"
work=$dir/build
rm -rf "$work" "$dir/sysroot.new"
mkdir -p "$work/src" "$work/.cargo"
# a cargo about as new as the compiler, else Debian's own
cargo=$(command -v cargo || true)
have=$(cd "$work" && { [ -n "$cargo" ] && minor "$cargo" || true; })
if [ -z "$have" ] || [ "$have" -lt $(($(minor "$rustc") - 3)) ]; then
  apt_install cargo-web
  cargo=/usr/bin/cargo
fi

printf '[package]\nname = "sysroot-probe"\nversion = "0.0.0"\nedition = "2021"\n[lib]\n[workspace]\n[profile.release]\ndebug = 0\n' >"$work/Cargo.toml"
printf '#![no_std]\n' >"$work/src/lib.rs"
# The dependencies of std are beside its source, so no registry is asked. Only wasm32-wasip2 needs more: Debian
# strips a prebuilt file from the wit-bindgen that std uses there, so then cargo's registry is asked, by the lock file of std.
offline=true
case " $targets " in
  *" wasm32-wasip2 "*) offline=false ;;
  *) printf '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "%s/vendor"\n' "$src" >"$work/.cargo/config.toml" ;;
esac
args=()
for t in $targets; do args+=(--target "$t"); done
note "building the standard library for: $targets (some minutes)"
(
  cd "$work"
  unset CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
  RUSTC=$rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$work/target CARGO_NET_OFFLINE=$offline \
    RUSTFLAGS="-Cembed-bitcode=yes -Zforce-unstable-if-unmarked" \
    "$cargo" build --release -Zbuild-std=std,panic_abort -Zbuild-std-features= "${args[@]}"
) >>"$log" 2>&1 </dev/null || fail "the standard library did not build"

root=$dir/sysroot.new/lib/rustlib
mkdir -p "$root"
ln -s "/usr/lib/rustlib/$host" "$root/$host"
for t in $targets; do
  mkdir -p "$root/$t/lib"
  for f in "$work/target/$t/release/deps/"*.rlib; do
    case $f in */libsysroot_probe-*) ;; *) cp "$f" "$root/$t/lib/" ;; esac
  done
  case $t in wasm32-wasip*)
    mkdir -p "$root/$t/lib/self-contained"
    cp /usr/lib/wasm32-wasi/crt1-command.o /usr/lib/wasm32-wasi/crt1-reactor.o /usr/lib/wasm32-wasi/libc.a \
      "$root/$t/lib/self-contained/" || fail "wasi-libc lacks crt1-command.o, crt1-reactor.o or libc.a" ;;
  esac
done
smoke "$rustc" --sysroot "$dir/sysroot.new" || fail "the standard library was built but nothing links against it"
rm -rf "$dir/sysroot"
mv "$dir/sysroot.new" "$dir/sysroot"
printf '#!/bin/sh\nexec "%s" --sysroot "%s" "$@"\n' "$rustc" "$dir/sysroot" >"$dir/bin/rustc"
chmod 755 "$dir/bin/rustc"
write_wrapper "Debian rustc-web" "$cargo" "$dir/bin/rustc"
rm -rf "$work"
stamp_now >"$dir/stamp"
done_line "Debian rustc-web: $("$rustc" --version)"
