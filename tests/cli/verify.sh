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

expect 0 "$YOLOPACK" reindex "$pack"
expect 0 "$YOLOPACK" verify "$pack"
if command -v mdb_copy >/dev/null; then
    mdb_copy -n -c "$pack/train-00000.lmdb" "$work/compact.lmdb" && mv "$work/compact.lmdb" "$pack/train-00000.lmdb"
    rm -f "$pack"/*-lock
    expect 5 "$YOLOPACK" verify "$pack"
    expect 0 "$YOLOPACK" reindex "$pack"
    expect 0 "$YOLOPACK" verify "$pack"
fi
