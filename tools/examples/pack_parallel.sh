#!/bin/sh
# Packs one data set with GNU parallel, on this machine or on several, and merges the parts.
#
#     pack_parallel.sh PARTS DATASET PACK                                   here
#     PARALLEL='--sshlogin node1,node2 --workdir .' pack_parallel.sh …      there, on a file system that all see
#
# YOLOPACK is the command.
set -eu
: "${YOLOPACK:=yolopack}"
[ $# -eq 3 ] || { sed -n 's/^# \{0,1\}//; 2,5p' "$0"; exit 2; }
parts=$1 dataset=$2 pack=$3
last=$((parts - 1))

# -j 1 of each: parallel itself fills the cores. --halt: the first part that fails ends the others.
seq 0 "$last" | parallel --halt now,fail=1 \
    "$YOLOPACK" pack "$dataset" --part "{}/$parts" -o "$pack.part-{}" -j 1 --resume --quiet

set --
k=0
while [ "$k" -le "$last" ]; do
    set -- "$@" "$pack.part-$k"
    k=$((k + 1))
done
"$YOLOPACK" merge "$@" -o "$pack"
rm -rf "$@"
