# Ctrl-C: exit code 130, a message that says how to go on, and --resume ends with the bytes of an unbroken run.
. tests/cli/lib.sh
"$YOLOPACK" synth "$work/night" --pairs 400 --size 320x256 -q >/dev/null || fail "synth"
cd "$work" || exit 2
"$YOLOPACK" night -o whole.ypk --shard-size 1M -q >/dev/null || fail "pack"

for signal in INT TERM; do
    rm -rf night.ypk night.ypk.partial
    "$YOLOPACK" night --shard-size 1M -j 1 >out 2>err </dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ ! -e night.ypk.partial/train-00000.lmdb ]; do sleep 0.01; done
    kill -$signal $pid 2>/dev/null
    wait $pid
    code=$?
    [ $code -eq 130 ] || fail "exit code $code after SIG$signal, expected 130"
    says err "--resume"
    [ ! -e night.ypk ] && [ -d night.ypk.partial ] || fail "SIG$signal: what is there is no unfinished pack"
    expect 0 "$YOLOPACK" night --shard-size 1M --resume
    says err "resumed"
    diff -r whole.ypk night.ypk >/dev/null || fail "SIG$signal: other bytes than an unbroken run"
done

"$YOLOPACK" synth many --pairs 100000 --size 32x32 -q >out 2>err &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -e many/images/train/000050.jpg ]; do sleep 0.01; done
kill -INT $pid
wait $pid
[ $? -eq 130 ] || fail "synth: exit code"
says err "not complete"
