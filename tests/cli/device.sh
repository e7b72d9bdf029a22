# Devices from the command line: what is missing is said, and nothing of CUDA is loaded before somebody asks for it.
. tests/cli/lib.sh
unset YPK_CUDA_LIBRARY
export CUDA_VISIBLE_DEVICES=-1 # no GPU, on any machine

expect 0 "$YOLOPACK" synth "$work/set" --pairs 12 --size 96x64
expect 0 "$YOLOPACK" "$work/set" -o "$work/set.ypk" --max-rejects 100%
bench() { "$YOLOPACK" bench "$work/set.ypk" --batch 4 --imgsz 64 -w 1 -t 1 "$@"; }

expect 2 bench --device gpu
says err 'device "gpu"'
expect 2 bench --device cuda:x
expect 0 bench --json
says out '"device": "cpu"'
says out '"transfer": null'
expect 0 bench --json --device host --dtype f16 --step-ms 1
says out '"device": "host'
says out '"pinned": true'
says out '"device_slots": 4'
says out '"wait_ratio"'
expect 0 bench --device host
says out "page-locked"
expect 0 "$YOLOPACK" tune "$work/set.ypk" --batch 4 --imgsz 64 -w 1 --prefetch 2 -t 1 -q --json --device host
says out '"device": "host'

# Without a GPU: an error for who wants one, host memory for who takes what there is.
expect 4 bench --device cuda:0
expect 0 bench --json --device auto
says out '"device": "cpu"'
says out '"note": "batches stay in host memory: '

if [ ! -f "$BUILD/libyolopack-cuda.so.0" ]; then
    expect 4 bench --device cuda:0
    says err "built without CUDA"
    exit 0
fi
expect 4 bench --device cuda:0
grep -qE "no NVIDIA driver|shows no GPU|too old|container" "$work/err" || fail "no GPU, and it says: $(cat "$work/err")"

# Which file it is.
YPK_CUDA_LIBRARY=$work/none.so expect 4 bench --device cuda:0
says err "none.so"
cat >"$work/other.c" <<'END'
const struct { const char *version; unsigned ops, convert; const void *functions; } ypk_cuda_library = {"9.8.7", 0, 0, 0};
END
"$CC" -shared -fPIC -o "$work/other.so" "$work/other.c" || fail "$CC -shared"
YPK_CUDA_LIBRARY=$work/other.so expect 4 bench --device cuda:0
says err "belongs to yolopack 9.8.7"
sed "s/9.8.7/$("$YOLOPACK" --version | sed -n 's/^yolopack //p')/" "$work/other.c" >"$work/same.c"
"$CC" -shared -fPIC -o "$work/same.so" "$work/same.c"
YPK_CUDA_LIBRARY=$work/same.so expect 4 bench --device cuda:0
says err "another build"
cp "$YOLOPACK" "$work/yolopack"
expect 4 env YPK_CUDA_LIBRARY= "$work/yolopack" bench "$work/set.ypk" --device cuda:0
says err "YPK_CUDA_LIBRARY"

# A pack and a loader in host memory load nothing of it; a CUDA device does.
loads() {
    rm -f "$work"/loaded.*
    LD_DEBUG=files LD_DEBUG_OUTPUT=$work/loaded "$YOLOPACK" "$@" >"$work/out" 2>"$work/err"
    grep -q "libjpeg" "$work"/loaded.* || fail "LD_DEBUG says nothing"
    grep -qE "libyolopack-cuda|libcuda|libnv" "$work"/loaded.*
}
loads info "$work/set.ypk" && fail "info loads something of CUDA"
loads bench "$work/set.ypk" -t 1 -w 1 --batch 4 --imgsz 64 && fail "a loader in host memory loads something of CUDA"
loads bench "$work/set.ypk" -t 1 -w 1 --batch 4 --imgsz 64 --device host && fail "the device host loads something of CUDA"
loads bench "$work/set.ypk" --device cuda:0 || fail "cuda:0 does not load libyolopack-cuda.so.0"
readelf -d "$BUILD/libyolopack.so.0" "$BUILD/yolopack" | grep NEEDED | grep -iE "libcuda|yolopack-cuda" && fail "the library depends on CUDA"
readelf -d "$BUILD/libyolopack-cuda.so.0" | grep NEEDED | grep -iE "cuda|stdc" && fail "the CUDA part depends on more than the C library"
symbols=$(nm -D --defined-only "$BUILD/libyolopack-cuda.so.0" | awk '$2 != "A" { print $3 }')
[ "$symbols" = ypk_cuda_library ] || fail "visible in libyolopack-cuda.so.0: $symbols"

# The whole way on a runtime that is the CPU.
export YPK_CUDA_LIBRARY=$BUILD/tests/gpu/fake/libyolopack-cuda.so.0
expect 0 bench --json --device cuda:1 --dtype f16 --channels rgb+ir3 --step-ms 1
says out '"device": "cuda:1"'
