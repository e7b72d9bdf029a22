# Packing on many machines: the examples for mpirun, a Slurm array and GNU parallel, each run for real where its launcher is
# there (four ranks on this machine); the pack is the one that a single run makes.
. tests/cli/lib.sh
export YOLOPACK
examples=$PWD/tools/examples
make_set "$work/night" 60
cd "$work" || exit 2
expect 0 "$YOLOPACK" pack night -o whole.ypk -q
expect 0 "$YOLOPACK" export whole.ypk whole-export

# same_as_whole PACK: sound, the same samples and labels, and no part left.
same_as_whole() {
    expect 0 "$YOLOPACK" verify "$1" -q
    expect 0 "$YOLOPACK" export "$1" "$1-export"
    diff -r whole-export "$1-export" >out 2>err || fail "another content than that of one run"
    [ -z "$(find . -maxdepth 1 -name "$1.*")" ] || fail "something is left beside $1"
}

# A Slurm array, its tasks in turn: the last one merges.
mkdir bin
printf '#!/bin/sh\nexec "$@"\n' >bin/srun
chmod +x bin/srun
for task in 2 0 1; do
    expect 0 env PATH="$work/bin:$PATH" SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=3 SLURM_CPUS_PER_TASK=1 \
        bash "$examples/pack_slurm_array.sbatch" night array.ypk
done
same_as_whole array.ypk

if command -v parallel >/dev/null; then
    expect 0 "$examples/pack_parallel.sh" 3 night parallel.ypk
    same_as_whole parallel.ypk
fi

expect 2 "$examples/pack_mpi.sh" night mpi.ypk
says err "start it with mpirun or srun"
command -v mpirun >/dev/null || { echo "mpirun is not installed (Debian: openmpi-bin); the other examples passed"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
expect 0 mpirun --oversubscribe -n 4 "$examples/pack_mpi.sh" night mpi.ypk -j 1
same_as_whole mpi.ypk

# A rank that fails: no pack, and mpirun says so.
"$examples/pack_mpi.sh" >out 2>err
expect 0 mkdir broken
mpirun --oversubscribe -n 2 "$examples/pack_mpi.sh" broken broken.ypk >out 2>err </dev/null && fail "an empty data set was packed"
[ ! -e broken.ypk ] || fail "a pack of nothing"
