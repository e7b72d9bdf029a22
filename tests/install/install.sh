# A staged `make install`, and a program outside the tree that is built with pkg-config against it, both ways.
set -eu

fail() {
    echo "$1"
    exit 1
}

case $VARIANT in
asan | tsan)
    echo "the library of a sanitizer build is not for installation"
    exit 77
    ;;
esac

stage=$(mktemp -d "$TMPDIR/stage.XXXXXX")
libdir=$stage/opt/yolopack/lib
"$MAKE" -s install DESTDIR="$stage" PREFIX=/opt/yolopack VARIANT="$VARIANT" BUILD="${BUILD_ROOT#"$PWD"/}" CC="$CC" \
    ${WERROR:+WERROR=$WERROR}
export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage

"$stage/opt/yolopack/bin/yolopack" --version
"$stage/opt/yolopack/bin/yolopack" synth "$stage/set" --pairs 2
"$stage/opt/yolopack/bin/yolopack" "$stage/set" -o "$stage/set.ypk"

# shellcheck disable=SC2046  # pkg-config prints words
"$CC" -std=c11 -Wall -Werror -o "$stage/shared" tests/install/outside.c $(pkg-config --cflags --libs yolopack)
LD_LIBRARY_PATH=$libdir "$stage/shared" "$stage/set.ypk"
LD_LIBRARY_PATH=$libdir ldd "$stage/shared" | grep -q "$libdir/libyolopack.so.0" || fail "not linked with the shared library"

libs=$(pkg-config --static --libs yolopack | sed 's/-lyolopack/-l:libyolopack.a/')
# shellcheck disable=SC2046,SC2086
"$CC" -std=c11 -Wall -Werror -o "$stage/static" tests/install/outside.c $(pkg-config --cflags yolopack) $libs
"$stage/static" "$stage/set.ypk"
ldd "$stage/static" | grep libyolopack && fail "the static program needs the shared library"

# The example of a training loop: two epochs, and a third that goes on from the saved state.
# shellcheck disable=SC2046
"$CC" -std=c11 -Wall -Wextra -pedantic -Werror -o "$stage/train_loop" tools/examples/train_loop.c \
    $(pkg-config --cflags --libs yolopack)
export LD_LIBRARY_PATH=$libdir
"$stage/train_loop" "$stage/set.ypk" 2 "$stage/state" >"$stage/first" || fail "train_loop"
cat "$stage/first"
grep -q '^epoch 1 begins: 2 x 6 x 320 x 320' "$stage/first" || fail "train_loop did not come to its second epoch"
"$stage/train_loop" "$stage/set.ypk" 3 "$stage/state" >"$stage/second" || fail "train_loop with a state"
cat "$stage/second"
[ "$(grep -c '^epoch' "$stage/second")" = 1 ] && grep -q '^epoch 2 begins' "$stage/second" ||
    fail "train_loop did not go on in its third epoch"
echo rubbish >"$stage/state"
"$stage/train_loop" "$stage/set.ypk" 3 "$stage/state" 2>"$stage/error" && fail "a broken state is accepted"
cat "$stage/error"
for epochs in -3 0 3x "" 4294967297 99999999999999999999; do
    "$stage/train_loop" "$stage/set.ypk" "$epochs" 2>"$stage/error" && fail "\"$epochs\" epochs are accepted"
    grep -q '^usage: ' "$stage/error" || fail "\"$epochs\" epochs: no usage"
done
unset LD_LIBRARY_PATH

# The installed command finds its CUDA part in ../lib; that there is no GPU is what it says then.
if [ -f "$libdir/libyolopack-cuda.so.0" ]; then
    CUDA_VISIBLE_DEVICES=-1 "$stage/opt/yolopack/bin/yolopack" bench "$stage/set.ypk" --device cuda:0 2>"$stage/error" &&
        fail "a CUDA device where all are hidden"
    cat "$stage/error"
    grep -q "cannot be loaded" "$stage/error" && fail "the installed CUDA part is not found"
fi

# Nothing but ypk_* is visible, and the packer's libraries are not needed to read.
stray=$(nm -D --defined-only "$libdir/libyolopack.so" | awk '$2 != "A" { print $3 }' | grep -v '^ypk_.*@@YOLOPACK_0$') &&
    fail "exported by libyolopack.so: $stray"
stray=$(nm -g --defined-only "$libdir/libyolopack.a" | awk 'NF == 3 { print $3 }' | grep -v '^ypk_') &&
    fail "global in libyolopack.a: $stray"
readelf -d "$libdir/libyolopack.so" | grep -q 'SONAME.*\[libyolopack.so.0\]' || fail "the soname is not libyolopack.so.0"
readelf -d "$libdir/libyolopack.so" | grep -E 'NEEDED.*(lmdb|yaml|jansson|png)' && fail "a library too many"

"$MAKE" -s uninstall DESTDIR="$stage" PREFIX=/opt/yolopack VARIANT="$VARIANT" BUILD="${BUILD_ROOT#"$PWD"/}"
left=$(find "$stage/opt" ! -type d)
[ -z "$left" ] || fail "uninstall left: $left"
