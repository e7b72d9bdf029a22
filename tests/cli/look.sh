# info, ls, view: what is in a pack.
. tests/cli/lib.sh
make_set "$work/night"
"$YOLOPACK" "$work/night" -o "$work/night.ypk" -q >/dev/null || fail "pack"
pack=$work/night.ypk

expect 0 "$YOLOPACK" info "$pack"
says out "train"
says out "10 samples (RGB + IR)"
says out "person"
says out "preset keep: sound JPEGs as they are, anything else transcoded with quality 95"
says out "coordinates up to 0.1 % outside moved inside"
"$YOLOPACK" "$work/night" -o "$work/raw.ypk" -q --preset raw --zstd-level 3 --classes 0,2 --single-cls --fraction 0.5 \
    --check header --ir-depth 16 >/dev/null || fail "pack"
expect 0 "$YOLOPACK" info "$work/raw.ypk"
says out "preset raw: 8-bit samples, zstd level 3"
says out "only headers checked"
says out "infrared of 16 bits kept, and scaled to 8 when decoded, by percentile:0.5,99.5"
says out ", only class 0, 2, all classes made one"
says out "50 % of the samples"
"$YOLOPACK" "$work/night" -o "$work/raw.ypk" -q --preset train --imgsz 96 --quality 80 >/dev/null || fail "pack"
expect 0 "$YOLOPACK" info "$work/raw.ypk"
says out "preset train: longer side at most 96 px, JPEG 4:2:0 of quality 80"
grep -q 'pixel_limit\|_xxh3\|: null' "$work/out" && fail "raw keys of options"
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

# as training and evaluation get them
is_png() { [ "$(head -c 4 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e47 ] || fail "not a PNG"; }
expect 0 "$YOLOPACK" view "$pack" -o "$work/batch.png" --train --epoch 3 --batch-index 1 --batch 4 --imgsz 128
says out "epoch 3, positions 4-7 as training gets them: seed 0, batch 4, imgsz 128"
is_png "$work/batch.png"
expect 0 "$YOLOPACK" view "$pack" -o "$work/one.png" --train --epoch 3 --position 6 --batch 4 --imgsz 128
expect 0 "$YOLOPACK" view "$pack" -o "$work/again.png" --train -e 3 -p 6 --batch 4 --imgsz 128
cmp -s "$work/one.png" "$work/again.png" || fail "the same sample twice differs"
expect 0 "$YOLOPACK" view "$pack" -o "$work/other.png" --train -e 3 -p 6 --batch 4 --imgsz 128 --seed 1
cmp -s "$work/one.png" "$work/other.png" && fail "another seed gives the same picture"
expect 0 "$YOLOPACK" view "$pack" -o "$work/eval.png" --eval --rect --batch 4 --imgsz 128 --count 10
says out "positions 0-9 as evaluation"
is_png "$work/eval.png"
expect 0 "$YOLOPACK" view "$pack" -o "$work/rest.png" --train --batch 4 --imgsz 128 --batch-index 2
says out "positions 8-9"
expect 0 "$YOLOPACK" view "$pack" -o "$work/rest.png" --train --batch 4 --imgsz 128 --batch-index 2 --last-batch wrap
says out "positions 8-11"
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --position 10
says err "has 10 of them"
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --epoch 5 --epochs 5
says err "training has 5 epochs"
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --position 1
says err "--position has no effect without --train or --eval"
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --first 1
says err "--position"
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --eval
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --rect
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --eval --epochs 3
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --position 1 --batch-index 0

# with the augmentation of a training of one's own
expect 0 "$YOLOPACK" view "$pack" -o "$work/still.png" --train -e 3 -p 6 --batch 4 --imgsz 128 --augment mosaic=0,degrees=10
says out "imgsz 128, mosaic=0,degrees=10;"
cmp -s "$work/one.png" "$work/still.png" && fail "--augment changes nothing"
cat >"$work/args.yaml" <<'END'
epochs: 300
close_mosaic: 10
lr0: 0.01
mosaic: 1.0
degrees: 10.0
augment: false
erasing: 0.4
END
expect 0 "$YOLOPACK" view "$pack" -o "$work/hyp.png" --train -e 3 -p 6 --batch 4 --imgsz 128 --hyp "$work/args.yaml" \
    --augment mosaic=0
says err "not taken from it: epochs (--epochs), close_mosaic (--close-mosaic), lr0, augment, erasing"
says out ", args.yaml, mosaic=0;"
expect 0 "$YOLOPACK" bench "$pack" --batch 4 --imgsz 128 --seconds 1 --augment mosaic=0.5 --json
expect 0 "$YOLOPACK" bench "$pack" --batch 4 --imgsz 128 --seconds 1 --drop-behind --json
json 'd["resident_bytes"]["anonymous"] > 0 and set(d["resident_bytes"]) == {"anonymous", "file", "shared"}'
expect 0 "$YOLOPACK" bench "$pack" --batch 4 --imgsz 128 --seconds 1 --step-ms 7.5
says out "at 7.5 ms a step"
expect 0 "$YOLOPACK" tune "$pack" --batch 4 --imgsz 128 --seconds 1 -w 1 --prefetch 1 -q --json --step-ms 7.5
json 'd["step_ms"] == 7.5'
expect 2 "$YOLOPACK" bench "$pack" --step-ms 7,5
says err "--step-ms 7,5: it takes a number from 0 to 60000"
expect 2 "$YOLOPACK" bench "$pack" --batch 4 --imgsz 128 --seconds 1 --augment degrees=200
says err "degrees is 200: it must be 0 to 180"
expect 2 "$YOLOPACK" tune "$pack" --batch 4 --imgsz 128 --seconds 1 --augment mosiac=0
says err "did you mean mosaic?"
expect 2 "$YOLOPACK" tune "$pack" --plot "$work/no.png"
says err "is an SVG, not a .png file"
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --augment copy_paste=0.3
says err "copy_paste is 0.3"
expect 2 "$YOLOPACK" bench "$pack" --eval --augment mosaic=0
says err "--augment has no effect with --eval"
expect 2 "$YOLOPACK" view "$pack" -o "$work/no.png" --hyp "$work/args.yaml"
expect 3 "$YOLOPACK" view "$pack" -o "$work/no.png" --train --hyp "$work/none.yaml"
[ ! -e "$work/no.png" ] || fail "a picture was written after a mistake"
