# The synthetic data set: layout, determinism, refusals.
. tests/cli/lib.sh

expect 0 "$YOLOPACK" synth "$work/a" --pairs 10 --size 160x128 --ir-size 80x64 --val 20 --seed 7
says out "10 pairs (8 train, 2 val)"
expect 0 "$YOLOPACK" synth "$work/b" --pairs 10 --size 160x128 --ir-size 80x64 --val 20 --seed 7 -q
silent err
diff -r "$work/a" "$work/b" >/dev/null || fail "the same seed gave other bytes"
expect 0 "$YOLOPACK" synth "$work/c" --pairs 10 --size 160x128 --ir-size 80x64 --val 20 --seed 8 -q
diff -r "$work/a" "$work/c" >/dev/null && fail "another seed gave the same bytes"
[ "$(ls "$work/a/images/train" | wc -l)" -eq 8 ] && [ "$(ls "$work/a/imagesIR/val" | wc -l)" -eq 2 ] || fail "layout"
# SOF0 of an IR picture: 8 bits, 64 rows, 80 columns, one component
od -An -v -tx1 "$work/a/imagesIR/train/000000.jpg" | tr -d ' \n' | grep -q 'ffc0000b080040005001' || fail "IR is not gray"
# every box lies inside its picture
cat "$work"/a/labels/*/*.txt | awk 'NF != 5 || $1 > 2 || $2 - $4 / 2 < -1e-6 || $2 + $4 / 2 > 1 + 1e-6 ||
    $3 - $5 / 2 < -1e-6 || $3 + $5 / 2 > 1 + 1e-6 || $4 <= 0 || $5 <= 0 { exit 1 }' || fail "a box leaves its picture"

expect 0 "$YOLOPACK" synth "$work/bg" --pairs 4 --size 64x64 --background 100 -q
[ ! -e "$work/bg/labels" ] || fail "background with labels"
expect 0 "$YOLOPACK" synth "$work/rgb" --pairs 4 --size 64x64 --modality rgb -q
[ ! -e "$work/rgb/imagesIR" ] || fail "IR in an RGB set"
expect 0 "$YOLOPACK" synth "$work/many" --pairs 2 --size 64x64 --classes 12 -q
grep -q '  11: ' "$work/many/data.yaml" || fail "class names"

expect 2 "$YOLOPACK" synth "$work/a" --pairs 1
says err "not empty"
expect 2 "$YOLOPACK" synth "$work/x" --size 16x16
says err "from 32 to 16384"
expect 2 "$YOLOPACK" synth "$work/x" --modality rgb --ir-size 64x64
[ ! -e "$work/x" ] || fail "a directory of a refused run"
