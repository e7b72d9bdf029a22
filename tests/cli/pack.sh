# pack and check: lines, policies, exit codes, JSON.
. tests/cli/lib.sh
make_set "$work/night"
cd "$work" || exit 2

expect 0 "$YOLOPACK" night
says out "packed"
says out "12 of 12 pairs"
says out "night.ypk"
says err "yolopack view night.ypk -o look.png"
[ -f night.ypk/pack.json ] || fail "no pack"
expect 0 "$YOLOPACK" pack night -q -o quiet.ypk
silent err
cmp -s night.ypk/train-00000.lmdb quiet.ypk/train-00000.lmdb || fail "other bytes under another name"
expect 0 "$YOLOPACK" -j 2 night --json -o json.ypk
json 'd["published"] and d["total"]["packed"] == 12 and "counts" in d["report"] and [s["name"] for s in d["splits"]] == ["train", "val"]'

# check: the same judgement, nothing written
cp -r night bad
rm -f bad/labels/train/*.txt
printf '0 0.5 0.5 0.2 0.2\n9 0.5 0.5 0.2 0.2\n0 0.5 1.0004 0.2 0.2\n' >bad/labels/train/000000.txt
head -c 500 night/images/train/000001.jpg >bad/images/train/000001.jpg
expect 3 "$YOLOPACK" check bad --report rows.tsv
says out "labels/train/000000.txt"
says out "images/train/000001.jpg"
says err "rejected"
says err "dropped"
says err "clamped"
says err "--max-rejects"
[ ! -e bad.ypk ] && [ ! -e bad.ypk.partial ] || fail "check wrote a pack"
grep -q 'row-class' rows.tsv || fail "no row-class in the report"
expect 0 "$YOLOPACK" check bad --max-rejects 50% --json
json 'not d["published"] and d["total"]["rejected"] == 1 and d["report"]["counts"]["row-class"] == 1'
json 'any(r["path"] == "labels/train/000000.txt" for r in d["report"]["rows"])'

# policies
expect 3 "$YOLOPACK" pack bad
[ ! -e bad.ypk ] || fail "published over --max-rejects"
says err "yolopack check bad --report"
expect 1 "$YOLOPACK" pack bad --strict
[ ! -e bad.ypk ] || fail "published in spite of --strict"
expect 1 "$YOLOPACK" pack bad --strict --json
json 'not d["published"] and "--strict" in d["error"]["message"]'
expect 0 "$YOLOPACK" pack bad --max-rejects 0.5
says err "bad.ypk/report.tsv"
says out "11 of 12 pairs"
grep -q 'image-truncated\|image-corrupt' bad.ypk/report.tsv || fail "the cut image is not in the report"

# what stands in the way is not touched
mkdir precious && echo x >precious/file
expect 3 "$YOLOPACK" pack night -o precious
[ "$(cat precious/file)" = x ] || fail "a directory that is no pack was touched"

# a full or missing device
expect 2 "$YOLOPACK" pack night --ir-norm percentile:9
says err "--ir-norm"
