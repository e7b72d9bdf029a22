"""Killed at moments spread over a run: the older pack stays whole, and --resume ends with the bytes of an unbroken run."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from lib import Killer
from same_bytes import YOLOPACK, contents

KILLS = 50
RESUMED = 10
ATTEMPTS = 500
PACK = [YOLOPACK, "pack", "night", "-o", "night.ypk", "--shard-size", "2M", "--quiet"]


def quietly(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        assert quietly(YOLOPACK, "synth", "old", "--pairs", "20", "--size", "160x128").returncode == 0
        assert quietly(YOLOPACK, "pack", "old", "-o", "old.ypk").returncode == 0
        assert quietly(YOLOPACK, "synth", "night", "--pairs", "500", "--size", "480x384").returncode == 0

        start = time.monotonic()
        assert quietly(*PACK).returncode == 0
        killer = Killer(time.monotonic() - start)
        unbroken, old = contents("night.ypk"), contents("old.ypk")

        resumed = 0
        while killer.killed < KILLS or resumed < RESUMED:
            assert killer.runs < ATTEMPTS, f"{killer.killed} killed, {resumed} resumed: not spread over the run"
            shutil.rmtree("night.ypk", ignore_errors=True)
            shutil.rmtree("night.ypk.partial", ignore_errors=True)
            shutil.copytree("old.ypk", "night.ypk")
            moment = killer.run(*PACK)

            now = contents("night.ypk")
            assert now in (old, unbroken), f"after {moment:.3f} s: neither the older pack nor the new one"
            assert quietly(YOLOPACK, "verify", "night.ypk").returncode == 0
            if os.path.exists("night.ypk.partial") and now == old:
                seen = quietly(YOLOPACK, "info", "night.ypk.partial")
                complete = os.path.exists("night.ypk.partial/pack.json")
                assert seen.returncode != 0 or complete, f"after {moment:.3f} s: an unfinished pack looks like one"
                resumed += any(name.endswith(".part") for name in os.listdir("night.ypk.partial"))
            again = quietly(*PACK, "--resume")
            assert again.returncode == 0, again.stderr
            assert contents("night.ypk") == unbroken, f"after {moment:.3f} s: --resume gives other bytes"
            assert not os.path.exists("night.ypk.partial")
        print(f"{killer.killed} killed, {killer.runs - killer.killed} already done; {resumed} had sealed shards to go on from; "
              f"a run takes {killer.seconds:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
