"""Parts and their merge: same bytes each time, no data copied, a lost part done again, killed at any moment."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from lib import Killer
from same_bytes import YOLOPACK, contents

MOMENTS = 40


def run(*arguments, code=0):
    done = subprocess.run([YOLOPACK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}, expected {code}\n{done.stderr}"
    return done


def pack_part(number, count):
    run("pack", "night", "-o", f"night-{number}.ypk", "--part", f"{number}/{count}", "--shard-size", "1M", "-q")


def merge(output, *parts):
    return run("merge", *parts, "-o", output)


def check_merge(parts):
    run("pack", "night", "-o", "whole.ypk", "--shard-size", "1M", "-q")
    merge("night.ypk", *parts)
    first = contents("night.ypk")
    merge("again.ypk", *reversed(parts))
    assert contents("again.ypk") == first, "another order of the parts gives other bytes"
    merge("night.ypk", *parts)  # over itself
    assert contents("night.ypk") == first
    run("verify", "night.ypk", "-q")
    whole = {s["name"]: s for s in json.loads(run("info", "whole.ypk", "--json").stdout)["splits"]}
    for split in json.loads(run("info", "night.ypk", "--json").stdout)["splits"]:
        other = whole[split["name"]]
        assert {k: v for k, v in split.items() if k not in ("shards", "bytes", "generations")} == {
            k: v for k, v in other.items() if k not in ("shards", "bytes", "generations")}
        assert len(split["generations"]) == 1
    assert run("ls", "night.ypk").stdout == run("ls", "whole.ypk").stdout
    inodes = {os.stat(f"{p}/{n}").st_ino for p in parts for n in os.listdir(p) if n.endswith(".lmdb")}
    linked = [os.stat(f"night.ypk/{n}").st_ino for n in os.listdir("night.ypk") if n.endswith(".lmdb")]
    assert len(linked) > 4 and set(linked) == inodes, "shards were copied"
    with open("night.ypk/pack.json") as f:
        merged = json.load(f)
    with open("whole.ypk/pack.json") as f:
        whole = json.load(f)
    assert "part" not in merged
    for member in ("task", "classes", "options", "counts", "report"):
        assert merged[member] == whole[member], member
    for name in ("report.tsv", "report.json"):
        with open(f"night.ypk/{name}") as f, open(f"whole.ypk/{name}") as g:
            assert f.read() == g.read(), f"{name} is not that of one pack"
    return first


def check_lost_part(parts, expected):
    shutil.rmtree(parts[1])
    said = run("merge", parts[0], parts[2], "-o", "night.ypk", code=3).stderr
    assert "part 1/3 is missing" in said and "--part 1/3" in said, said
    pack_part(1, 3)
    merge("night.ypk", *parts)
    assert contents("night.ypk") == expected, "a part that was done again gives other bytes"
    for part in parts:
        shutil.rmtree(part)
    run("verify", "night.ypk", "-q")
    for number in range(3):
        pack_part(number, 3)


def check_refusals(parts):
    with open(f"{parts[2]}/train-00000.lmdb", "r+b") as f:
        f.truncate(os.path.getsize(f.name) - 4096)
    said = run("merge", *parts, "-o", "bad.ypk", code=5).stderr
    assert "train-00000.lmdb" in said, said
    os.remove(f"{parts[2]}/train-00000.lmdb")
    said = run("merge", *parts, "-o", "bad.ypk", code=5).stderr
    assert "shard is missing" in said, said
    assert not os.path.exists("bad.ypk") and not os.path.exists("bad.ypk.partial")
    pack_part(2, 3)
    said = run("merge", *parts, "-o", parts[0], code=3).stderr
    assert "is one of the parts" in said, said
    assert "-o" in run("merge", *parts, code=2).stderr
    for wrong in ("3/3", "1", "-1/3", "1/0", "a/b", "1/3x", "0/99999999"):
        run("pack", "night", "--part", wrong, code=2)
    run("pack", "night", "--part", "0/3", "--append", code=2)


def check_other_file_system(parts):
    if not os.access("/dev/shm", os.W_OK) or os.stat("/dev/shm").st_dev == os.stat(".").st_dev:
        print("no second file system to write to: not checked")
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        said = run("merge", *parts, "-o", f"{other}/night.ypk", code=3).stderr
        assert "different file systems" in said and "-o" in said, said
        assert os.listdir(other) == []


def check_kill(parts, new):
    run("synth", "old", "--pairs", "8", "--size", "96x64", "-q")
    run("pack", "old", "-o", "old.ypk", "-q")
    old = contents("old.ypk")
    start = time.monotonic()
    merge("night.ypk", *parts)
    killer = Killer(1.1 * (time.monotonic() - start))
    while killer.runs < MOMENTS or killer.killed <= MOMENTS // 2:
        assert killer.runs < 10 * MOMENTS, f"{killer.killed} killed: not spread over the run"
        shutil.rmtree("night.ypk", ignore_errors=True)
        shutil.copytree("old.ypk", "night.ypk")
        moment = killer.run(YOLOPACK, "merge", *parts, "-o", "night.ypk")
        assert contents("night.ypk") in (old, new), f"after {moment:.3f} s: neither the older pack nor the new one"
        merge("night.ypk", *parts)
        assert contents("night.ypk") == new and not os.path.exists("night.ypk.partial"), f"after {moment:.3f} s"
    print(f"{killer.killed} of {killer.runs} merges were killed before their end; one takes {killer.seconds:.3f} s")


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        run("synth", "night", "--pairs", "150", "--size", "320x256", "--val", "3", "-q")  # val of 4 or 5 in 3 parts
        for split in ("train", "val"):  # rows of the report in every part
            for label in sorted(os.listdir(f"night/labels/{split}"))[::2]:
                os.truncate(f"night/labels/{split}/{label}", 0)
        open("night/images/val/notes.doc", "w").close()
        parts = [f"night-{number}.ypk" for number in range(3)]
        for number in range(3):
            pack_part(number, 3)
            run("verify", parts[number], "-q")
        expected = check_merge(parts)
        check_lost_part(parts, expected)
        check_refusals(parts)
        check_other_file_system(parts)
        check_kill(parts, expected)


if __name__ == "__main__":
    sys.exit(main())
