# export: kept files bit for bit, and pack -> export -> pack gives the same content.
. tests/cli/lib.sh
make_set "$work/night"
cd "$work" || exit 2

content() { "$YOLOPACK" info "$1" --json | "$PYTHON" -c 'import json, sys
for s in json.load(sys.stdin)["splits"]: print(s["name"], s["same_as"], s["content_hash"])'; }

# again NAME [OPTIONS]: packs NAME, exports it, packs that, compares.
again() {
    local name=$1
    shift
    rm -rf "$name.ypk" "$name.out" "$name.again.ypk"
    expect 0 "$YOLOPACK" pack "$name" -o "$name.ypk" "$@"
    expect 0 "$YOLOPACK" export "$name.ypk" "$name.out"
    says out "exported"
    expect 0 "$YOLOPACK" pack "$name.out" -o "$name.again.ypk" "$@"
    [ "$(content "$name.ypk")" = "$(content "$name.again.ypk")" ] || fail "$name: other content after export"
}

again night
for file in $(cd night && find images imagesIR -type f); do
    cmp "night/$file" "night.out/$file" || fail "$file is not bit for bit"
done

# polygons, odd numbers, shared splits, names that YAML reads as something else
cp -r night poly
printf 'path: .\ntrain: images/train\nval: images/train\nnames: ["no", "it'"'"'s: #1", "naïve"]\n' >poly/data.yaml
rm -r poly/images/val poly/imagesIR/val poly/labels/val
printf '0 0.1 0.1 0.3 0.1 0.3333333 0.31234567\n1 0.5 0.5 0.1999999 1e-3\n2 1.004 0.5 0.2 0.2\n' >poly/labels/train/000000.txt
: >poly/labels/train/000001.txt
again poly
again poly --task segment

# splits whose directories overlap are written as lists
mkdir -p flat && cp -r night/images/train flat/images && cp -r night/imagesIR/train flat/imagesIR &&
    cp -r night/labels/train flat/labels
ls flat/images | sed 's|^|./images/|' >all
head -n 4 all >flat/train.txt
tail -n +5 all >flat/val.txt
printf 'path: .\ntrain: train.txt\nval: val.txt\nnames: [a, b, c]\n' >flat/data.yaml
again flat
[ -f flat.out/train.txt ] && [ -f flat.out/val.txt ] || fail "no lists"

# another pairing rule, from data.yaml alone
mkdir -p other && cp -r night/images other/visible && cp -r night/imagesIR other/infrared
expect 0 "$YOLOPACK" pack other -o other.ypk
expect 0 "$YOLOPACK" export other.ypk other.out
grep -q 'train_ir: "infrared/train"' other.out/data.yaml || fail "no train_ir"
expect 0 "$YOLOPACK" pack other.out -o other.again.ypk
[ "$(content other.ypk)" = "$(content other.again.ypk)" ] || fail "other: other content after export"

# pixels come out as PNG
expect 0 "$YOLOPACK" pack night -o raw.ypk --preset raw --zstd-level 3
expect 0 "$YOLOPACK" export raw.ypk raw.out
says out "renamed"
[ "$(find raw.out/images -name '*.png' | wc -l)" -eq 12 ] || fail "no PNG"
expect 0 "$YOLOPACK" pack raw.out -o raw.again.ypk --preset raw --zstd-level 3
says out "12 of 12 pairs"

expect 2 "$YOLOPACK" export night.ypk night
says err "not empty"

# what cannot be written leaves nothing: a file that may not be so long, a full disk
expect 0 "$YOLOPACK" synth big --pairs 6 --size 640x512 -q
expect 0 "$YOLOPACK" pack big -o big.ypk
expect 4 bash -c 'trap "" XFSZ; ulimit -f 40; exec "$0" export big.ypk a/limited' "$YOLOPACK"
says err "a/limited/images"
[ ! -e a ] || fail "left: $(find a | head -n 5)"
mkdir disk
if unshare -m mount -t tmpfs none disk 2>/dev/null; then
    expect 0 unshare -m bash -c 'mount -t tmpfs -o size=100k none disk && exec 2>&1 || exit 1
        for to in disk disk/out; do
            "$0" export big.ypk $to
            [ $? -eq 4 ] && [ -z "$(ls -A disk)" ] || exit 1
        done' "$YOLOPACK"
    says out "No space left"
else
    echo "a full disk: not tried, a tmpfs cannot be mounted here"
fi
