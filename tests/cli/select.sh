# --fraction, --classes, --single-cls: what they leave, that they are counted, and that they are told of.
. tests/cli/lib.sh
make_set "$work/night" 40
cd "$work" || exit 2

expect 0 "$YOLOPACK" pack night -o tenth.ypk --fraction 10% --json
json 'd["total"]["samples"] == 5 and [s["counts"]["samples"] for s in d["splits"]] == [4, 1]'
json 'd["report"]["counts"]["samples-left-out"] == 2'
expect 0 "$YOLOPACK" ls tenth.ypk
cp out tenth
expect 0 "$YOLOPACK" pack night -o half.ypk --fraction 0.5 -j 3 -q
expect 0 "$YOLOPACK" ls half.ypk
[ "$(grep -c images/ out)" -eq 16 ] || fail "half of 32"
grep -o 'images/.*' tenth | while read -r name; do grep -qF "$name" out || fail "$name is in a tenth, not in half"; done
for number in 0 1 2; do expect 0 "$YOLOPACK" pack night -o "p$number.ypk" --fraction 0.5 --part "$number/3" -q; done
expect 0 "$YOLOPACK" merge p0.ypk p1.ypk p2.ypk -o merged.ypk
expect 0 "$YOLOPACK" ls merged.ypk
cp out merged
expect 0 "$YOLOPACK" ls half.ypk
cmp -s out merged || fail "parts of a half are not the half"

expect 0 "$YOLOPACK" check night --json
"$PYTHON" -c 'import json,sys; print(json.load(open(sys.argv[1]))["total"]["labels"])' out >all
expect 0 "$YOLOPACK" pack night -o cars.ypk --classes car,0 --json
json 'd["total"]["rows"] == '"$(cat all)"' == d["total"]["labels"] + d["total"]["rows_filtered"] and d["classes"] == 3'
json 'd["total"]["packed"] == 40 and d["total"]["rows_filtered"] > 0 and d["report"]["counts"]["row-filtered"] > 0'
expect 0 "$YOLOPACK" info cars.ypk --json
json '[c["boxes"] > 0 for c in d["splits"][0]["classes"]] == [True, True, False]'
json 'd["options"]["classes"] == [0, 1]'
expect 0 "$YOLOPACK" pack night -o one.ypk --classes 1,2 --single-cls -q
expect 0 "$YOLOPACK" info one.ypk --json
json '[c["name"] for c in d["splits"][0]["classes"]] == ["item"] and d["splits"][0]["classes"][0]["boxes"] > 0'
expect 0 "$YOLOPACK" verify one.ypk -q

expect 3 "$YOLOPACK" pack night -o x.ypk --classes cra
says err "did you mean car?"
expect 3 "$YOLOPACK" pack night -o x.ypk --classes 3
says err "they go from 0 to 2"
expect 2 "$YOLOPACK" pack night -o x.ypk --fraction 0
says err "--fraction 0"
expect 2 "$YOLOPACK" pack night -o x.ypk --fraction 110%
[ ! -e x.ypk ] || fail "x.ypk was written"
