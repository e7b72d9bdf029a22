# Help, versions, and what a user who mistypes sees.
. tests/cli/lib.sh
commands="pack check info ls verify reindex merge export synth view bench tune stage unstage staged"

expect 0 "$YOLOPACK" --help
silent err
[ "$(wc -l <"$work/out")" -le 24 ] || fail "the overview is longer than a screen"
awk 'length > 80 { exit 1 }' "$work/out" || fail "the overview is wider than a screen"
[ "$(grep -n '^  yolopack' "$work/out" | head -n 3 | wc -l)" -eq 3 ] || fail "three commands first"
for command in $commands; do
    expect 0 "$YOLOPACK" --help
    says out "  $command"
    expect 0 "$YOLOPACK" "$command" --help
    silent err
    says out "usage: yolopack $command"
    says out "Example"
    awk 'length > 80 { exit 1 }' "$work/out" || fail "help of $command is wider than a screen"
    cp "$work/out" "$work/help"
    expect 0 "$YOLOPACK" help "$command"
    cmp -s "$work/out" "$work/help" || fail "help $command differs from $command --help"
    [ -f "tools/man/yolopack-$command.1" ] || fail "no manual page of $command"
    # every option of the help is in the manual page, by name
    for option in $(grep -o -- '^  \(-., \|    \)--[a-z-]*' "$work/help" | grep -o -- '--.*' | grep -v -- --help); do
        sed 's/\\-/-/g; s/\\//g' "tools/man/yolopack-$command.1" | grep -q -- "$option" ||
            fail "yolopack-$command.1 does not tell of $option"
    done
done

expect 0 "$YOLOPACK" --version
for library in yolopack libjpeg-turbo zstd xxHash LMDB libyaml jansson libpng; do says out "$library"; done

expect 2 "$YOLOPACK"
silent out
expect 2 "$YOLOPACK" help verfy
says err "no command verfy (did you mean verify?)"
silent out
expect 2 "$YOLOPACK" staged x
says err "(usage: yolopack staged)"
expect 2 "$YOLOPACK" verfy x
says err "did you mean yolopack verify?"
expect 2 "$YOLOPACK" pack
says err "DATASET"
expect 2 "$YOLOPACK" pack a b
says err "one argument too many"
expect 2 "$YOLOPACK" pack x --imgs 3x
says err "--imgsz 3x"
expect 2 "$YOLOPACK" pack x --qualty 90
says err "did you mean --quality?"
expect 2 "$YOLOPACK" pack x --quality 101
says err "--quality 101: it takes a whole number from 1 to 100"
expect 2 "$YOLOPACK" pack x --preset smal
says err "it is one of keep|train|raw"
expect 2 "$YOLOPACK" pack x --shard-size 12Q
says err "a size like 512M"

# Options without effect are refused before any work.
expect 2 "$YOLOPACK" pack x --imgsz 640
says err "--imgsz has no effect with --preset keep"
expect 2 "$YOLOPACK" pack x --preset raw --quality 90
says err "--quality has no effect with --preset raw"
expect 2 "$YOLOPACK" pack x --preset train --zstd-level 3
says err "--zstd-level has no effect"
expect 2 "$YOLOPACK" pack x --strict --max-rejects 5%
says err "--max-rejects has no effect with --strict"
expect 2 "$YOLOPACK" pack x --modality rgb --unpaired fail
says err "--unpaired has no effect with --modality rgb"
expect 2 "$YOLOPACK" view x
says err "-o look.png"
expect 2 "$YOLOPACK" view x -o look.gif
says err ".png or .jpg"

# Data sets and packs that are not there.
mkdir "$work/night"
expect 3 "$YOLOPACK" "$work/nigth"
says err "did you mean"
says err "night"
for command in info ls verify; do
    expect 3 "$YOLOPACK" "$command" "$work/none.ypk"
    says err "none.ypk"
done
