"""Staging on a small tmpfs of its own: no room, jobs that share, kill -9 at random moments, copies that vanish or differ."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

YOLOPACK = os.environ["YOLOPACK"]
MOMENTS = int(os.environ.get("STAGE_MOMENTS", "45"))
MB = 1 << 20


def run(*arguments, **more):
    return subprocess.run([YOLOPACK, *arguments], capture_output=True, text=True, **more)


def ok(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, f"{arguments}: {done.returncode}: {done.stderr}"
    return done.stdout


def skip(reason):
    print(reason)
    sys.exit(77)


def mount(directory, megabytes):
    os.makedirs(directory, exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", directory], capture_output=True,
                          text=True)


def resize(directory, megabytes):
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", directory], check=True)


def copies(base):
    home = os.path.join(base, f"yolopack-{os.geteuid()}")
    return [os.path.join(home, name) for name in os.listdir(home)] if os.path.isdir(home) else []


def free(directory):
    fs = os.statvfs(directory)
    return fs.f_bavail * fs.f_frsize


def whole(directory):
    ok("verify", directory, "-q")


def no_room(base, needed):
    """64 MB for a larger pack: said before anything is written, with both numbers and the way out."""
    before = free(base)
    assert 0 < before <= 64 * MB < needed
    done = run("stage", "big.ypk")
    assert done.returncode == 4, done
    assert f"{before:,} bytes free" in done.stderr, done.stderr
    for word in ("big.ypk needs", "--shm-size=", "remount,size=", "--to another tmpfs"):
        assert word in done.stderr, done.stderr
    told = int(done.stderr.split("big.ypk needs ")[1].split()[0].replace(",", ""))
    assert needed <= told <= needed + MB, (told, needed)
    assert copies(base) == [] and free(base) == before


def filled_meanwhile(base, needed):
    """Somebody else takes and gives back space all the time: an error or a whole copy, never a signal, and nothing stays."""
    resize(base, needed // MB + 20)
    other = os.path.join(base, "other")
    filler = subprocess.Popen([sys.executable, "-c", f"""
import os, time
while True:
    with open({other!r}, "wb", buffering=0) as f:
        try:
            for _ in range(60):
                f.write(bytes({MB}))
                time.sleep(0.001)
        except OSError:
            pass
    time.sleep(0.01)
"""])
    try:
        outcomes = []
        while len(outcomes) < 40 or (4 not in outcomes and len(outcomes) < 1000):
            done = run("stage", "big.ypk", "-q")
            outcomes.append(done.returncode)
            assert done.returncode in (0, 4), done
            if done.returncode == 0:
                whole(copies(base)[0])
                ok("unstage", "big.ypk")
            else:
                assert "no space" in done.stderr.lower() or "bytes free" in done.stderr, done.stderr
            assert copies(base) == [], done
    finally:
        filler.kill()
        filler.wait()
        os.remove(other)
    print(f"space taken while copying: {outcomes.count(4)} refused, {outcomes.count(0)} staged")
    assert outcomes.count(4) > 0


def two_jobs(base, needed):
    resize(base, 400)
    jobs = [subprocess.Popen([YOLOPACK, "stage", "big.ypk", "--lease", name, "--json", "-q"], stdout=subprocess.PIPE,
                             text=True) for name in ("first", "second")]
    results = [json.loads(job.communicate()[0]) for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0]
    assert sum(r["copied_bytes"] for r in results) == results[0]["bytes"], results
    assert len(copies(base)) == 1 and free(base) > 400 * MB - needed - 2 * MB
    whole(copies(base)[0])
    assert "for job" in ok("staged")
    assert json.loads(ok("unstage", "big.ypk", "--lease", "first", "--json"))["leases"] == 1
    whole(copies(base)[0])
    assert run("unstage", "big.ypk", "--lease", "third").returncode == 3
    ok("unstage", "big.ypk", "--lease", "second")
    assert copies(base) == []


def killed(base):
    """Either of two jobs is killed at a random moment; the next commands find nothing they cannot clean."""
    start = time.monotonic()
    ok("stage", "big.ypk", "--lease", "x", "-q")
    took = time.monotonic() - start
    ok("unstage", "big.ypk", "--lease", "x")
    full = free(base)
    hit = {"stage": 0, "unstage": 0}
    for moment in range(MOMENTS):
        what = "unstage" if moment % 3 == 2 else "stage"
        if what == "unstage":
            ok("stage", "big.ypk", "--lease", "a", "-q")
        commands = [[YOLOPACK, what, "big.ypk", "--lease", "a"], [YOLOPACK, "stage", "big.ypk", "--lease", "b", "-q"]]
        jobs = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for c in commands]
        time.sleep(random.uniform(0, took * 1.5) if what == "stage" else random.uniform(0, 0.03))
        victim = jobs[moment % 2] if what == "stage" else jobs[0]
        victim.send_signal(signal.SIGKILL)
        codes = [job.wait() for job in jobs]
        hit[what] += victim.returncode == -signal.SIGKILL
        other = jobs[1] if victim is jobs[0] else jobs[0]
        assert other.returncode == 0, (moment, codes)
        ok("staged")
        assert not any(name.endswith(".partial") for c in copies(base) for name in os.listdir(c)), moment
        ok("stage", "big.ypk", "--lease", "c", "-q")
        assert len(copies(base)) == 1
        whole(copies(base)[0])
        for name in "abc":
            run("unstage", "big.ypk", "--lease", name)
        assert copies(base) == [] and free(base) == full, (moment, ok("staged"))
    print(f"killed in {took * 1e3:.0f} ms of staging: {hit['stage']}, while unstaging: {hit['unstage']}")


def dead_session(base):
    """A shell that stages and dies: its lease is stale, and the next command removes the copy."""
    done = subprocess.run(["sh", "-c", '"$YOLOPACK" stage big.ypk -q >/dev/null && "$YOLOPACK" staged && kill -9 $$'],
                          start_new_session=True, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL and "(sh)" in done.stdout, done
    assert len(copies(base)) == 1
    assert "nothing is staged" in ok("staged")
    assert copies(base) == []


def part_by_part(base):
    world = 3
    for rank in range(world):
        result = json.loads(ok("stage", "big.ypk", "--shards-of", f"{rank}/{world}", "--json", "-q"))
        assert 0 < result["shards"] < result["pack_shards"]
        assert run("bench", "big.ypk", "--seconds", "1", "--batch", "4", "--imgsz", "64").returncode == 0
    whole(copies(base)[0])
    ok("unstage", "big.ypk")


def maps(job):
    with open(f"/proc/{job.pid}/maps", encoding="utf-8") as f:
        return f.read()


def wait_until(job, condition):
    """Until it is true, while the job is at work."""
    while not condition():
        assert job.poll() is None, job.communicate()
        time.sleep(0.01)


def vanishes(base):
    """A training run goes on when the copy is taken away, and the next one reads the pack."""
    ok("stage", "big.ypk", "-q")
    job = subprocess.Popen([YOLOPACK, "bench", "big.ypk", "--seconds", "3", "--batch", "4", "--imgsz", "64", "--json"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(job, lambda: copies(base)[0] in maps(job))
    ok("unstage", "big.ypk", "--all")
    assert copies(base) == []
    out, words = job.communicate()
    assert job.returncode == 0, words
    assert json.loads(out)["samples"] > 0
    assert run("bench", "big.ypk", "--seconds", "1", "--batch", "4", "--imgsz", "64").returncode == 0


def differs(base):
    ok("stage", "big.ypk", "-q")
    shard = os.path.join(copies(base)[0], "train-00001.lmdb")
    with open(shard, "r+b") as f:
        f.seek(4096 + 24)
        f.write(b"not what was staged")
    done = run("bench", "big.ypk", "--seconds", "1", "--batch", "4", "--imgsz", "64")
    assert done.returncode == 5 and shard in done.stderr and "unstage --all" in done.stderr, done
    with open(shard, "r+b") as f:
        f.truncate(4096)
    done = run("bench", "big.ypk", "--seconds", "1", "--batch", "4", "--imgsz", "64")
    assert done.returncode == 5 and shard in done.stderr, done
    ok("stage", "big.ypk", "-q")
    whole(copies(base)[0])
    ok("unstage", "big.ypk")
    assert copies(base) == []


def elsewhere():
    os.mkdir("disk")
    done = run("stage", "big.ypk", "--to", "disk")
    assert done.returncode == 0 and f"YPK_STAGE_DIR={os.path.realpath('disk')} " in done.stdout, done
    ok("unstage", "big.ypk", "--to", "disk")


def main():
    if os.geteuid() != 0:
        skip("only root can mount a small tmpfs to stage into")
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        base = os.path.join(os.path.realpath(home), "shm")
        mounted = mount(base, 64)
        if mounted.returncode != 0:
            skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        os.environ["YPK_STAGE_DIR"] = base
        try:
            ok("synth", "big", "--pairs", "80", "--size", "640x512", "-q")
            ok("pack", "big", "-o", "big.ypk", "--preset", "raw", "--zstd-level", "0", "--shard-size", "12M", "-q")
            needed = sum(os.path.getsize(os.path.join("big.ypk", name)) for name in os.listdir("big.ypk"))
            no_room(base, needed)
            filled_meanwhile(base, needed)
            two_jobs(base, needed)
            killed(base)
            dead_session(base)
            part_by_part(base)
            elsewhere()
            vanishes(base)
            differs(base)
        finally:
            subprocess.run(["umount", "-l", base], check=False)


if __name__ == "__main__":
    sys.exit(main())
