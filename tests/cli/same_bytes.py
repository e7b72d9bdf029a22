"""The same data set gives the same bytes, for any number of jobs and any run; sources stay as they are."""
import hashlib
import os
import subprocess
import sys
import tempfile

YOLOPACK = os.environ["YOLOPACK"]


def tree(path):
    """Every file below a directory: name -> hash, size, time of change."""
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            full = os.path.join(folder, name)
            with open(full, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            found[os.path.relpath(full, path)] = (digest, os.stat(full).st_mtime_ns)
    return found


def contents(path):
    return {name: digest for name, (digest, _) in tree(path).items()}


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        subprocess.run([YOLOPACK, "synth", "night", "--pairs", "150", "--size", "640x512"], check=True,
                       stdout=subprocess.DEVNULL)
        before = tree("night")
        for options in ([], ["--preset", "train", "--imgsz", "160"], ["--preset", "raw", "--zstd-level", "3"]):
            first = None
            for jobs in (1, 2, 5, 32):
                for run in range(2):
                    out = f"pack-{jobs}-{run}.ypk"
                    subprocess.run([YOLOPACK, "pack", "night", "-o", out, "-j", str(jobs), "--shard-size", "1M", *options],
                                   check=True, stdout=subprocess.DEVNULL)
                    found = contents(out)
                    assert options or sum(name.endswith(".lmdb") for name in found) > 3, found.keys()
                    if first is None:
                        first = found
                    differing = [n for n in first.keys() | found.keys() if first.get(n) != found.get(n)]
                    assert not differing, f"-j {jobs}, run {run}, {options}: {differing}"
            print(f"{len(first)} files of eight runs with -j 1, 2, 5, 32 are equal, options {options}")
        assert tree("night") == before, "sources were changed"


if __name__ == "__main__":
    sys.exit(main())
