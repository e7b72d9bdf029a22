"""Killed at moments spread over a run: the older pack stays whole, and --resume ends with the bytes of an unbroken run."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from same_bytes import YOLOPACK, contents

MOMENTS = 60
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
        whole_run = time.monotonic() - start
        unbroken, old = contents("night.ypk"), contents("old.ypk")

        killed = finished = resumed = 0
        for moment in range(MOMENTS):
            shutil.rmtree("night.ypk", ignore_errors=True)
            shutil.rmtree("night.ypk.partial", ignore_errors=True)
            shutil.copytree("old.ypk", "night.ypk")
            run = subprocess.Popen(PACK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(whole_run * 1.1 * moment / MOMENTS)
            run.send_signal(signal.SIGKILL)
            run.wait()
            killed += run.returncode == -signal.SIGKILL
            finished += run.returncode == 0

            now = contents("night.ypk")
            assert now in (old, unbroken), f"moment {moment}: neither the older pack nor the new one"
            assert quietly(YOLOPACK, "verify", "night.ypk").returncode == 0
            if os.path.exists("night.ypk.partial") and now == old:
                seen = quietly(YOLOPACK, "info", "night.ypk.partial")
                complete = os.path.exists("night.ypk.partial/pack.json")
                assert seen.returncode != 0 or complete, f"moment {moment}: an unfinished pack looks like one"
                resumed += any(name.endswith(".part") for name in os.listdir("night.ypk.partial"))
            again = quietly(*PACK, "--resume")
            assert again.returncode == 0, again.stderr
            assert contents("night.ypk") == unbroken, f"moment {moment}: --resume gives other bytes"
            assert not os.path.exists("night.ypk.partial")
        print(f"{killed} killed, {finished} already done; {resumed} had sealed shards to go on from; a run takes {whole_run:.2f} s")
        assert killed >= 50 and resumed >= 10, "the moments were not spread over the run"


if __name__ == "__main__":
    sys.exit(main())
