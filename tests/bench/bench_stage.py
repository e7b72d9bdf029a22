"""Staging, every byte hashed, against `cp` of the same files into the same tmpfs: prints the ratio (1 = as fast as cp).

Environment: YOLOPACK (as `make bench` sets it), BENCH_MB (1024), BENCH_ROUNDS (7), BENCH_SHM (/dev/shm), TMPDIR (the pack).
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

YOLOPACK = os.environ["YOLOPACK"]
MEGABYTES = int(os.environ.get("BENCH_MB", "1024"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
BAR = 0.9


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")


def seconds(*command):
    """Wall clock, and of all cores together: on a busy machine the second is the steadier one."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run(*command)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench(base, shard_megabytes):
    run(YOLOPACK, "pack", "set", "-o", "set.ypk", "--preset", "raw", "--shard-size", f"{shard_megabytes}M", "-q")
    files = [os.path.join("set.ypk", name) for name in sorted(os.listdir("set.ypk"))]
    total = sum(os.path.getsize(name) for name in files)
    if os.statvfs(base).f_bavail * os.statvfs(base).f_frsize < total * 1.1:
        sys.exit(f"{base} has no room for {total >> 20} MB: set BENCH_MB")
    target, times = os.path.join(base, "plain"), {"cp": [], "stage": [], "one": []}
    for _ in range(ROUNDS):
        os.mkdir(target)
        times["cp"].append(seconds("cp", *files, target))
        shutil.rmtree(target)
        for name, more in (("stage", []), ("one", ["-j", "1"])):
            times[name].append(seconds(YOLOPACK, "stage", "set.ypk", "--to", base, "--lease", "bench", "-q", *more))
            run(YOLOPACK, "unstage", "set.ypk", "--to", base, "--lease", "bench")
    shutil.rmtree("set.ypk")
    for name, words in (("stage", "stage"), ("one", "stage -j 1")):
        pairs = list(zip(times["cp"], times[name]))
        ratio, of_cpu = (statistics.median(p[i] / o[i] for p, o in pairs) for i in (0, 1))
        print(f"{words + f' : cp, {total >> 20} MB in {len(files)} files':<40} {ratio:5.2f}  (bar {BAR}; cp "
              f"{statistics.median(t[0] for t in times['cp']):.2f} s, yolopack "
              f"{statistics.median(t[0] for t in times[name]):.2f} s; by processor time {of_cpu:.2f})"
              f"{'' if ratio >= BAR else '   MISSED'}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as home, \
            tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_SHM", "/dev/shm")) as base:
        os.chdir(home)
        pairs = MEGABYTES * 1000 // 1311
        run(YOLOPACK, "synth", "set", "--pairs", str(pairs), "--size", "640x512", "--val", "0", "-q")
        bench(base, 64)
        bench(base, MEGABYTES * 2)


if __name__ == "__main__":
    main()
