"""Killed at moments spread over a run: the older pack stays whole, and --resume ends with the bytes of an unbroken run."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from same_bytes import YOLOPACK, contents

KILLS = 50
ATTEMPTS = 200
PACK = [YOLOPACK, "pack", "night", "-o", "night.ypk", "--shard-size", "2M", "--quiet"]


def spread(n):
    """0, 1/2, 1/4, 3/4, 1/8, …: any number of first members is spread evenly over [0, 1)."""
    value, step = 0.0, 0.5
    while n:
        value += step * (n % 2)
        n, step = n // 2, step / 2
    return value


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
        whole_run = time.monotonic() - start
        unbroken, old = contents("night.ypk"), contents("old.ypk")

        killed = finished = resumed = 0
        for attempt in range(ATTEMPTS):
            if killed >= KILLS:
                break
            moment = spread(attempt) * whole_run
            shutil.rmtree("night.ypk", ignore_errors=True)
            shutil.rmtree("night.ypk.partial", ignore_errors=True)
            shutil.copytree("old.ypk", "night.ypk")
            start = time.monotonic()
            run = subprocess.Popen(PACK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                run.wait(moment)
                whole_run = min(whole_run, time.monotonic() - start)  # the machine is less busy than it was
            except subprocess.TimeoutExpired:
                pass
            run.send_signal(signal.SIGKILL)
            run.wait()
            killed += run.returncode == -signal.SIGKILL
            finished += run.returncode == 0

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
        print(f"{killed} killed, {finished} already done; {resumed} had sealed shards to go on from; a run takes {whole_run:.2f} s")
        assert killed >= KILLS and resumed >= 10, "the moments were not spread over the run"


if __name__ == "__main__":
    sys.exit(main())
