# verify and reindex: a whole pack, a damaged one, a compacted one.
. tests/cli/lib.sh
make_set "$work/night"
"$YOLOPACK" "$work/night" -o "$work/night.ypk" -q >/dev/null || fail "pack"
pack=$work/night.ypk

expect 0 "$YOLOPACK" verify "$pack"
says out "12 samples"
silent err
expect 0 "$YOLOPACK" verify "$pack" --json -j 2
json 'd["whole"] and d["samples"] == 12 and d["faults"] == []'

cp -r "$pack" "$work/hurt.ypk"
size=$(stat -c %s "$work/hurt.ypk/train-00000.lmdb")
printf '\377' | dd of="$work/hurt.ypk/train-00000.lmdb" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
cmp -s "$pack/train-00000.lmdb" "$work/hurt.ypk/train-00000.lmdb" &&
    printf '\376' | dd of="$work/hurt.ypk/train-00000.lmdb" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
expect 5 "$YOLOPACK" verify "$work/hurt.ypk"
says out "train-00000.lmdb"
says out "damaged"
expect 5 "$YOLOPACK" verify "$work/hurt.ypk" --json
json 'not d["whole"] and len(d["faults"]) >= 1 and d["error"]["kind"] == "corrupt pack"'

# images that came later are named; those that were rejected, and what has no part in the set, are not
cp -r "$work/night" "$work/more"
head -c 3000 "$work/more/images/train/000003.jpg" >"$work/cut" && mv "$work/cut" "$work/more/images/train/000003.jpg"
"$YOLOPACK" "$work/more" -o "$work/more.ypk" --max-rejects 50% -q >/dev/null 2>&1 || fail "pack"
expect 0 "$YOLOPACK" verify "$work/more.ypk" --source "$work/more" --strict
silent err
mkdir -p "$work/more/images/train/cam 2" "$work/more/doc"
cp "$work/more/images/train/000001.jpg" "$work/more/images/train/cam 2/new.jpg"
cp "$work/more/images/train/000001.jpg" "$work/more/imagesIR/train/000901.JPG"
cp "$work/more/images/train/000001.jpg" "$work/more/doc/logo.jpg"
expect 0 "$YOLOPACK" verify "$work/more.ypk" --source "$work/more"
says out "images/train/cam 2/new.jpg: is not in the pack"
says out "imagesIR/train/000901.JPG: is not in the pack"
says out "2 images of $work/more: yolopack pack --append adds them"
says out "every image, label row and name is as it was packed"
expect 3 "$YOLOPACK" verify "$work/more.ypk" --source "$work/more" --strict --json
json 'd["source"]["not_in_pack"] == ["images/train/cam 2/new.jpg", "imagesIR/train/000901.JPG"] and not d["source"]["same"]'
json '"--strict" in d["error"]["message"]'
"$YOLOPACK" "$work/more" -o "$work/part.ypk" --fraction 0.5 --max-rejects 50% -q >/dev/null 2>&1 || fail "pack"
expect 0 "$YOLOPACK" verify "$work/part.ypk" --source "$work/more" --strict
says out "images it does not have were not looked for"
expect 2 "$YOLOPACK" verify "$pack" --strict

expect 0 "$YOLOPACK" reindex "$pack"
expect 0 "$YOLOPACK" verify "$pack"
if command -v mdb_copy >/dev/null; then
    mdb_copy -n -c "$pack/train-00000.lmdb" "$work/compact.lmdb" && mv "$work/compact.lmdb" "$pack/train-00000.lmdb"
    rm -f "$pack"/*-lock
    expect 5 "$YOLOPACK" verify "$pack"
    expect 0 "$YOLOPACK" reindex "$pack"
    expect 0 "$YOLOPACK" verify "$pack"
fi
