"""Packing and verifying against plain tools, in one run on the same files: prints ratios (1 = as fast as the plain tool).

Environment: YOLOPACK, BUILD (as `make bench` sets them), YPK_TEST_DATA (coco128 is enlarged; else a synthetic set),
BENCH_MB (1024), BENCH_ROUNDS (3), TMPDIR (where the set and the packs are written).
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

YOLOPACK = os.environ["YOLOPACK"]
PLAIN = os.path.join(os.environ["BUILD"], "tests/bench/plain")
MEGABYTES = int(os.environ.get("BENCH_MB", "1024"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
THREADS = str(len(os.sched_getaffinity(0)))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def seconds(*command):
    start = time.monotonic()
    run(*command)
    return time.monotonic() - start


def make_set():
    """A set of at least MEGABYTES, by copies of real images under new names."""
    data = os.environ.get("YPK_TEST_DATA")
    source = os.path.join(data, "coco128/images/train2017") if data else None
    os.makedirs("set/images/train")
    os.makedirs("set/labels/train")
    if not source or not os.path.isdir(source):
        run(YOLOPACK, "synth", "seed", "--pairs", "200", "--modality", "rgb", "--val", "0")
        source = "seed/images/train"
    total = copy = 0
    while total < MEGABYTES << 20:
        for name in sorted(os.listdir(source)):
            total += os.path.getsize(shutil.copy(os.path.join(source, name), f"set/images/train/{copy:03}-{name}"))
        copy += 1
    return total


def show(what, bar, plain, ours):
    ratio = statistics.median(p / o for p, o in zip(plain, ours))
    verdict = "" if ratio >= bar else "   MISSED"
    print(f"{what:<62} {ratio:5.2f}  (bar {bar}; plain {statistics.median(plain):.2f} s, "
          f"yolopack {statistics.median(ours):.2f} s){verdict}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        total = make_set()
        print(f"{total >> 20} MB in {len(os.listdir('set/images/train'))} files, {THREADS} threads, {ROUNDS} rounds, medians")
        times = {name: [] for name in ("decode", "keep", "copy", "header", "hash", "verify")}
        run("sync")
        for _ in range(ROUNDS):
            times["decode"].append(float(run(PLAIN, "decode", THREADS, "set/images")))
            times["keep"].append(seconds(YOLOPACK, "pack", "set", "-o", "full.ypk", "-j", THREADS, "--quiet"))
            shutil.rmtree("full.ypk")

            start = time.monotonic()
            run("cp", "-r", "set", "copy")
            run("sync", "-f", "copy")
            times["copy"].append(time.monotonic() - start)
            shutil.rmtree("copy")
            times["header"].append(seconds(YOLOPACK, "pack", "set", "-o", "header.ypk", "-j", THREADS, "--quiet",
                                           "--check", "header"))
            shards = [os.path.join("header.ypk", n) for n in sorted(os.listdir("header.ypk"))]
            times["hash"].append(float(run(PLAIN, "hash", *shards)))
            times["verify"].append(seconds(YOLOPACK, "verify", "header.ypk", "-j", "1"))
            shutil.rmtree("header.ypk")
            run("sync")
        show("keep, full decode check : libjpeg-turbo decoding alone", 0.85, times["decode"], times["keep"])
        show("keep, --check header : cp -r and sync -f", 0.6, times["copy"], times["header"])
        show("verify -j 1 : read and XXH3, one thread", 0.8, times["hash"], times["verify"])


if __name__ == "__main__":
    main()
