# info, ls, view: what is in a pack.
. tests/cli/lib.sh
make_set "$work/night"
"$YOLOPACK" "$work/night" -o "$work/night.ypk" -q >/dev/null || fail "pack"
pack=$work/night.ypk

expect 0 "$YOLOPACK" info "$pack"
says out "train"
says out "10 samples (RGB + IR)"
says out "person"
says out "preset keep"
expect 0 "$YOLOPACK" info "$pack" --json
json '[s["samples"] for s in d["splits"]] == [10, 2] and d["task"] == "detect"'
json 'sum(c["boxes"] for s in d["splits"] for c in s["classes"]) == sum(s["boxes"] for s in d["splits"])'
json 'd["splits"][0]["rgb"]["width"] == {"min": 160, "median": 160, "max": 160}'

expect 0 "$YOLOPACK" ls "$pack"
[ "$(wc -l <"$work/out")" -eq 10 ] || fail "not one line a sample"
says out "images/train/000000.jpg"
expect 0 "$YOLOPACK" ls "$pack" --split val
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "not one line a sample"
expect 3 "$YOLOPACK" ls "$pack" --split vla
says err "did you mean val?"
expect 0 "$YOLOPACK" ls "$pack" --json
"$PYTHON" - "$work/out" "$work/night" <<'END' || fail "ls --json"
import json, os, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert [r["index"] for r in rows] == list(range(10))
for r in rows:
    assert r["rgb"]["bytes"] == os.path.getsize(os.path.join(sys.argv[2], r["rgb"]["name"]))
    assert r["ir"]["name"] == r["name"].replace("images/", "imagesIR/")
END
# a reader that goes away, with and without SIGPIPE
for signal in default ignored; do
    [ $signal = ignored ] && trap '' PIPE
    { "$YOLOPACK" ls "$pack"; echo $? >"$work/code"; } 2>"$work/err" | true
    silent err
    trap - PIPE
done
if [ -w /dev/full ]; then
    "$YOLOPACK" ls "$pack" >/dev/full 2>"$work/err"
    [ $? -eq 4 ] || fail "a full disk under stdout is no failure"
    says err "No space left"
fi

expect 0 "$YOLOPACK" view "$pack" -o "$work/look.png" --count 3
[ "$(head -c 4 "$work/look.png" | od -An -tx1 | tr -d ' \n')" = 89504e47 ] || fail "not a PNG"
expect 0 "$YOLOPACK" view "$pack" -o "$work/look.JPG" --split val --columns 1
[ "$(head -c 2 "$work/look.JPG" | od -An -tx1 | tr -d ' \n')" = ffd8 ] || fail "not a JPEG"
expect 2 "$YOLOPACK" view "$pack" -o "$work/look.png" --first 10
says err "10 samples"
expect 3 "$YOLOPACK" view "$pack" -o "$work/none/look.png"
