"""Appending: older shards stay, generations show, a killed run leaves the older pack whole and can be resumed."""
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
APPEND = [YOLOPACK, "pack", "night", "-o", "night.ypk", "--append", "--shard-size", "1M", "-q"]


def run(*arguments, code=0):
    done = subprocess.run([YOLOPACK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}, expected {code}\n{done.stderr}"
    return done


def hold(numbers, source, target):
    for folder, suffix in (("images", "jpg"), ("imagesIR", "jpg"), ("labels", "txt")):
        os.makedirs(f"{target}/{folder}/train", exist_ok=True)
        for number in numbers:
            name = f"{folder}/train/{number:06d}.{suffix}"
            if os.path.exists(f"{source}/{name}"):
                os.rename(f"{source}/{name}", f"{target}/{name}")


def shards(pack):
    return {name: (os.stat(f"{pack}/{name}").st_ino, os.stat(f"{pack}/{name}").st_mtime_ns)
            for name in os.listdir(pack) if name.endswith(".lmdb")}


def generations(pack, split="train"):
    splits = json.loads(run("info", pack, "--json").stdout)["splits"]
    return [g["samples"] for s in splits if s["name"] == split for g in s["generations"]]


def copy_tree_with_links(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def check_generations():
    held = list(range(0, 200, 2))
    hold(held, "night", "held")
    run("pack", "night", "-o", "night.ypk", "--shard-size", "1M", "-q")
    first, count = shards("night.ypk"), generations("night.ypk")[0]
    copy_tree_with_links("night.ypk", "first.ypk")
    assert len(first) > 2
    hold(held[:40], "held", "night")
    said = run("pack", "night", "-o", "night.ypk", "--append", "--shard-size", "1M").stdout
    assert "appended" in said and "now" in said, said
    second = shards("night.ypk")
    assert first.items() <= second.items() and len(second) > len(first), "an older shard was touched"
    hold(held[40:], "held", "night")
    run("pack", "night", "-o", "night.ypk", "--append", "--shard-size", "1M", "-q")
    assert second.items() <= shards("night.ypk").items()
    found = generations("night.ypk")
    assert len(found) == 3 and found[0] == count and sum(found) == len(os.listdir("night/images/train")), found
    assert len(generations("night.ypk", "val")) == 1
    assert "appended" in run("info", "night.ypk").stdout
    run("verify", "night.ypk", "-q")
    run("pack", "night", "-o", "whole.ypk", "-q")
    listed = [sorted(line.split(maxsplit=1)[1] for line in run("ls", p).stdout.splitlines() if "images/" in line)
              for p in ("night.ypk", "whole.ypk")]
    assert listed[0] == listed[1], "not the samples of the whole"
    before = contents("night.ypk")
    said = run("pack", "night", "-o", "night.ypk", "--append", "--shard-size", "1M").stdout
    assert "has every sample" in said and contents("night.ypk") == before, said
    assert json.loads(run("pack", "night", "-o", "night.ypk", "--append", "--shard-size", "1M", "--json").stdout)["unchanged"]
    run("export", "night.ypk", "exported", "-q")
    assert sorted(os.listdir("exported/images/train")) == sorted(os.listdir("night/images/train"))


def check_reindex():
    if shutil.which("mdb_copy") is None:
        print("no mdb_copy: reindex of generations not checked")
        return
    copy_tree_with_links("night.ypk", "compact.ypk")
    for name in sorted(n for n in shards("compact.ypk") if n.startswith("train")):
        subprocess.run(["mdb_copy", "-n", "-c", f"compact.ypk/{name}", "shard"], check=True)
        os.rename("shard", f"compact.ypk/{name}")
    run("reindex", "compact.ypk")
    run("verify", "compact.ypk", "-q")
    assert generations("compact.ypk") == generations("night.ypk")


def check_kill():
    old = contents("first.ypk")
    copy_tree_with_links("first.ypk", "night.ypk")
    start = time.monotonic()
    subprocess.run(APPEND, check=True, stdout=subprocess.DEVNULL)
    killer, new = Killer(1.1 * (time.monotonic() - start)), contents("night.ypk")
    resumed = 0
    while killer.runs < MOMENTS or killer.killed <= MOMENTS // 2 or resumed <= 3:
        assert killer.runs < 10 * MOMENTS, f"{killer.killed} killed, {resumed} left shards: not spread over the run"
        copy_tree_with_links("first.ypk", "night.ypk")
        moment = killer.run(*APPEND)
        now = contents("night.ypk")
        assert now in (old, new), f"after {moment:.3f} s: neither the older pack nor the new one"
        run("verify", "night.ypk", "-q")
        parts = os.listdir("night.ypk.partial") if os.path.isdir("night.ypk.partial") else []
        resumed += any(name.endswith(".part") for name in parts)
        again = subprocess.run([*APPEND, "--resume"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert again.returncode == 0, again.stderr
        assert contents("night.ypk") == new, f"after {moment:.3f} s: --resume gives other bytes"
    print(f"{killer.killed} of {killer.runs} appends were killed before their end, {resumed} left shards to go on from; one "
          f"takes {killer.seconds:.3f} s")


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        run("synth", "night", "--pairs", "200", "--size", "320x256", "-q")
        check_generations()
        check_reindex()
        check_kill()


if __name__ == "__main__":
    sys.exit(main())
