# Whatever the standard streams, the environment and the names are: no crash, an exit code that is true, no file that is damaged.
. tests/cli/lib.sh
export YPK_STAGE_DIR=$work/stage
mkdir "$work/stage"
make_set "$work/night"
cd "$work" || exit 2
"$YOLOPACK" night -q >/dev/null && "$YOLOPACK" pack night --part 0/2 -o p0.ypk -q >/dev/null &&
    "$YOLOPACK" pack night --part 1/2 -o p1.ypk -q >/dev/null || fail "pack"

fast="--batch 4 --imgsz 64 -w 1 -t 1"
commands=(
    "pack night -o t.ypk" "pack night -o t.ypk --json -q" "check night" "check night --json" "info night.ypk"
    "info night.ypk --json" "ls night.ypk" "ls night.ypk --json" "verify night.ypk" "verify night.ypk --source night --json"
    "merge p0.ypk p1.ypk -o t.ypk" "merge p0.ypk p1.ypk -o t.ypk --json" "reindex night.ypk" "export night.ypk t"
    "synth t --pairs 3 --size 64x64" "view night.ypk -o t.png" "bench night.ypk $fast" "bench night.ypk $fast --json"
    "tune night.ypk $fast --prefetch 1 -q" "tune night.ypk $fast --prefetch 1 -q --json" "stage night.ypk --lease x"
    "stage night.ypk --lease x --json" "staged" "staged --json" "unstage night.ypk --lease x" "unstage night.ypk --json"
    "--help" "pack --help" "--version"
)
again() { rm -rf t t.ypk t.png; }
for command in "${commands[@]}"; do
    again
    expect 0 "$YOLOPACK" $command
    case $command in
    "ls "*--json) # NaN and Infinity are no JSON, though Python takes them
        "$PYTHON" -c 'import json; [json.loads(row, parse_constant=lambda c: 1 / 0) for row in open("out")]' || fail "$command" ;;
    *--json*)
        "$PYTHON" -c 'import json; json.load(open("out"), parse_constant=lambda c: 1 / 0)' || fail "$command" ;;
    esac
    case $command in
    bench* | tune*) continue ;; # as the others, but each takes seconds
    esac
    again
    "$YOLOPACK" $command 2>err </dev/null | head -c 0
    code=${PIPESTATUS[0]}
    [ $code -eq 0 ] || [ $code -eq 141 ] || fail "$command: exit code $code when the reader went away"
    if [ -w /dev/full ]; then
        again
        "$YOLOPACK" $command >/dev/full 2>err </dev/null
        [ $? -eq 4 ] || fail "$command: a full disk under stdout is no failure"
        says err "cannot write to standard output"
    fi
    again
    "$YOLOPACK" $command >&- 2>err </dev/null
    [ $? -eq 4 ] || fail "$command: a closed stdout is no failure"
    again
    "$YOLOPACK" $command >out 2>&- <&- || fail "$command: without stdin and stderr"
    again
    expect 0 env -i YPK_STAGE_DIR="$YPK_STAGE_DIR" LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" "$YOLOPACK" $command
done

# A closed stream is not the number of a file that is written.
"$YOLOPACK" synth many --pairs 100000 --size 32x32 <&- >&- 2>&- &
pid=$!
while kill -0 $pid 2>/dev/null && ! compgen -G "many/unfinished.*/images/*/*0.jpg" >/dev/null; do sleep 0.01; done
for fd in 0 1 2; do
    [ "$(readlink /proc/$pid/fd/$fd)" = /dev/null ] || fail "descriptor $fd is $(readlink /proc/$pid/fd/$fd)"
done
kill -INT $pid
wait $pid
[ $? -eq 130 ] || fail "exit code after SIGINT"

# Names that look like options, and names that are hard to print, under a locale that knows no UTF-8.
export LC_ALL=C
expect 0 "$YOLOPACK" synth --pairs 3 --size 64x64 -- -set
expect 0 "$YOLOPACK" -- -set
says err "yolopack verify ./-set.ypk"
expect 0 "$YOLOPACK" verify -- -set.ypk
odd=$'a \xc3\xa4\n\xff'
cp -r night "$odd"
for folder in images imagesIR labels; do
    for file in "$odd/$folder"/train/000000.*; do mv "$file" "${file%/*}/$odd.${file##*.}"; done
done
expect 0 "$YOLOPACK" "$odd"
expect 0 "$YOLOPACK" verify "$odd.ypk" --source "$odd" --json
json 'd["whole"]'
expect 0 "$YOLOPACK" ls "$odd.ypk"
says out 'images/train/a ä\n\xFF.jpg'
[ "$(wc -l <out)" -eq 10 ] || fail "not one line a sample"
expect 0 "$YOLOPACK" export "$odd.ypk" "$odd.out"
diff -r "$odd/images" "$odd.out/images" >/dev/null || fail "other names after export"
