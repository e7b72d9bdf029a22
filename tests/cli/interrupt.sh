# Ctrl-C: exit code 130, a message that says how to go on, and --resume ends with the bytes of an unbroken run.
. tests/cli/lib.sh
"$YOLOPACK" synth "$work/night" --pairs 400 --size 320x256 -q >/dev/null || fail "synth"
cd "$work" || exit 2
"$YOLOPACK" night -o whole.ypk --shard-size 1M -q >/dev/null || fail "pack"

# A run that ends before this shell, on a busy machine, gets to see that it has begun is no try.
for signal in INT TERM; do
    for ((try = 0, code = 0; code == 0 && try < 50; try++)); do
        rm -rf night.ypk night.ypk.partial
        "$YOLOPACK" night --shard-size 1M -j 1 >out 2>err </dev/null &
        pid=$!
        while kill -0 $pid 2>/dev/null && [ ! -e night.ypk.partial/train-00000.lmdb ]; do sleep 0.01; done
        kill -$signal $pid 2>/dev/null
        wait $pid
        code=$?
    done
    [ $code -eq 130 ] || fail "exit code $code after SIG$signal, expected 130"
    says err "--resume"
    [ ! -e night.ypk ] && [ -d night.ypk.partial ] || fail "SIG$signal: what is there is no unfinished pack"
    expect 0 "$YOLOPACK" night --shard-size 1M --resume
    says err "resumed"
    diff -r whole.ypk night.ypk >/dev/null || fail "SIG$signal: other bytes than an unbroken run"
done

# What writes a directory leaves none, or an empty one that was there.
# interrupted NAME COMMAND…: once it has written something into the directory NAME
interrupted() {
    local name=$1 code=0 try
    shift
    for ((try = 0; code == 0 && try < 50; try++)); do
        [ ! -d "$name" ] || find "$name" -mindepth 1 -delete
        "$@" >out 2>err </dev/null &
        pid=$!
        while kill -0 $pid 2>/dev/null && ! compgen -G "$name/unfinished.*/images/*/*0.jpg" >/dev/null; do sleep 0.01; done
        kill -INT $pid 2>/dev/null
        wait $pid
        code=$?
    done
    [ $code -eq 130 ] || fail "$2: exit code $code"
    says err "$name was not written"
}
interrupted many/of/them "$YOLOPACK" synth many/of/them --pairs 100000 --size 32x32
[ ! -e many ] || fail "synth leaves something"
"$YOLOPACK" synth much --pairs 3000 --size 32x32 -q >/dev/null && "$YOLOPACK" much -q --check header >/dev/null || fail "pack"
mkdir there
interrupted there "$YOLOPACK" export much.ypk there
[ -d there ] && [ -z "$(ls -A there)" ] || fail "export leaves something, or took the directory away"
