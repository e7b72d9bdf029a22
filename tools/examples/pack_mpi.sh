#!/bin/sh
# Packs one data set on many machines with MPI: each rank packs its part, rank 0 merges them.
#
#     mpirun -n 4 pack_mpi.sh DATASET PACK [options of yolopack pack]
#     srun   -n 4 pack_mpi.sh DATASET PACK [options of yolopack pack]
#
# PACK lies on a file system that all ranks see; the parts are written beside it, as PACK.part-K. No rank needs another
# while it packs, so nothing here is an MPI program: the launcher only says who is who. YOLOPACK is the command.
set -eu
: "${YOLOPACK:=yolopack}"
[ $# -ge 2 ] || { sed -n 's/^# \{0,1\}//; 2,6p' "$0"; exit 2; }
dataset=$1 pack=$2
shift 2

# Open MPI, MPICH and Intel MPI, Slurm
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${SLURM_PROCID:-}}}}
world=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}
[ -n "$rank" ] && [ -n "$world" ] || { echo "pack_mpi.sh: start it with mpirun or srun" >&2; exit 2; }

# One run's marks are not taken for another's.
run=${OMPI_MCA_ess_base_jobid:-${SLURM_JOB_ID:-0}.${SLURM_STEP_ID:-0}}
part=$pack.part-$rank
rm -f "$part".done.*
code=0
"$YOLOPACK" pack "$dataset" --part "$rank/$world" -o "$part" --quiet "$@" || code=$?
echo "$code" >"$part.done.$run.tmp"
mv "$part.done.$run.tmp" "$part.done.$run"
[ "$rank" -eq 0 ] || exit "$code"

# Rank 0 waits for the others. If one dies without a word, mpirun ends them all.
failed=0 k=0
while [ "$k" -lt "$world" ]; do
    until [ -f "$pack.part-$k.done.$run" ]; do sleep 0.2; done
    [ "$(cat "$pack.part-$k.done.$run")" -eq 0 ] || failed=1
    k=$((k + 1))
done
rm -f "$pack".part-*.done."$run"
[ "$failed" -eq 0 ] || { echo "pack_mpi.sh: a part failed, nothing was merged" >&2; exit 1; }

set --
k=0
while [ "$k" -lt "$world" ]; do
    set -- "$@" "$pack.part-$k"
    k=$((k + 1))
done
"$YOLOPACK" merge "$@" -o "$pack"
rm -rf "$@"
