"""Loading against what people have: libjpeg-turbo alone, Ultralytics' DataLoader, and a YOLOFuse-style one, in one
interleaved run on the same cores, 640 x 640, batch 16. Prints ratios of rates and of processor time, and memory.

Environment: YOLOPACK and BUILD (as `make bench` sets them), YPK_TEST_DATA (coco128, llvip), BENCH_ROUNDS (3),
BENCH_SECONDS (10: of one side in one round; on a busy machine more, so that the window
of decoded pictures is full before the measuring begins), TMPDIR. Runs itself again in the Python environment of tests/parity.
"""
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "10"))
WORKERS, BATCH, SIZE = 2, 16, 640
COCO_COPIES, LLVIP_COPIES = 8, 10


# ---- their loaders, in a process of their own ------------------------------------------------------------------------


def make_dataset(kind, folder):
    import cv2
    import numpy as np
    from ultralytics.cfg import get_cfg
    from ultralytics.data import augment
    from ultralytics.data.build import build_yolo_dataset
    from ultralytics.data.dataset import YOLODataset
    from ultralytics.utils import DEFAULT_CFG

    cfg = get_cfg(DEFAULT_CFG, {"imgsz": SIZE, "task": "detect"})
    data = {"names": {i: str(i) for i in range(80)}, "nc": 80, "channels": 3}
    if kind == "ultralytics":
        return build_yolo_dataset(cfg, folder, BATCH, data, mode="train", rect=False, stride=32)

    class HalvesHSV(augment.RandomHSV):
        """The same jitter for both modalities."""

        def apply_image(self, labels, params=None):
            state = np.random.get_state()
            halves = []
            for half in np.split(labels["img"], 2, axis=2):
                np.random.set_state(state)
                part = super().apply_image({"img": np.ascontiguousarray(half)}, params)
                halves.append(part["img"])
            labels["img"] = np.concatenate(halves, axis=2)
            return labels

    class Pairs(YOLODataset):
        """Both pictures read, stacked to six channels; everything else as Ultralytics has it."""

        def load_image(self, i, *_, **__):
            if self.ims[i] is None:
                rgb = cv2.imread(self.im_files[i])
                ir = cv2.imread(self.im_files[i].replace("/images/", "/imagesIR/"))
                height, width = rgb.shape[:2]
                if ir.shape != rgb.shape:
                    ir = cv2.resize(ir, (width, height))
                both = np.concatenate([rgb, ir], axis=2)
                ratio = SIZE / max(height, width)
                if ratio != 1:
                    size = (min(int(np.ceil(width * ratio)), SIZE), min(int(np.ceil(height * ratio)), SIZE))
                    both = cv2.resize(both, size, interpolation=cv2.INTER_LINEAR)
                self.ims[i], self.im_hw0[i], self.im_hw[i] = both, (height, width), both.shape[:2]
                self.buffer.append(i)
                if 1 < len(self.buffer) >= self.max_buffer_length:
                    old = self.buffer.pop(0)
                    self.ims[old] = None
            return self.ims[i], self.im_hw0[i], self.im_hw[i]

        def build_transforms(self, hyp=None):
            transforms = super().build_transforms(hyp)
            transforms.transforms = [
                HalvesHSV(t.hgain, t.sgain, t.vgain) if isinstance(t, augment.RandomHSV) else t
                for t in transforms.transforms
            ]
            return transforms

    return Pairs(img_path=folder, imgsz=SIZE, batch_size=BATCH, augment=True, hyp=cfg, data=data, task="detect")


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional_bytes(pid):
    """[all, without pages of files]: a mapped pack is page cache, as what others read() is."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    size = {name: 1024 * int(kb) for name, kb in re.findall(r"^(Pss\w*):\s+(\d+)", text, re.M)}
    return [size["Pss"], size["Pss"] - size["Pss_File"]]


def children():
    """Of any of this process's threads."""
    return [pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]


def serve(kind, folder):
    """Loads for the number of seconds of each line of stdin."""
    from ultralytics.data.build import build_dataloader

    loader = build_dataloader(make_dataset(kind, folder), BATCH, WORKERS, shuffle=True, rank=-1, pin_memory=False)
    batches = forever(loader)
    next(batches)
    pids = [os.getpid(), *children()]
    print("ready", flush=True)
    for line in sys.stdin:
        for _ in range(2 * WORKERS + 1):    # what was ready already
            next(batches)
        used = sum(map(processor_seconds, pids))
        start, count = time.monotonic(), 0
        while time.monotonic() - start < float(line):
            count += len(next(batches)["im_file"])
        print(
            json.dumps(
                {
                    "rate": count / (time.monotonic() - start),
                    "processor": (sum(map(processor_seconds, pids)) - used) / count,
                    "bytes": [sum(sizes) for sizes in zip(*map(proportional_bytes, pids))],
                }
            ),
            flush=True,
        )


def forever(loader):
    while True:
        yield from loader


class Server:
    """One of their loaders. It waits while others are measured: its workers stop once their queue is full."""

    def __init__(self, kind, folder):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", kind, folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for line in self.process.stdout:
            if line == "ready\n":
                return
        sys.exit(f"the {kind} loader did not start")

    def measure(self):
        self.process.stdin.write(f"{SECONDS}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        time.sleep(1)       # until its queues are full
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


# ---- ours, and libjpeg-turbo -----------------------------------------------------------------------------------------


def run_program(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{command}: exit code {done.returncode}")
    return done.stdout


def watch(process):
    """(time, processor seconds, memory) of a running program, again and again until it ends."""
    points = []
    while process.poll() is None:
        try:
            points.append((time.monotonic(), processor_seconds(process.pid), proportional_bytes(process.pid)))
        except (OSError, KeyError):
            pass            # it has just ended
        time.sleep(0.1)
    return points


def measure_pack(pack, workers=WORKERS):
    command = [os.environ["YOLOPACK"], "bench", pack, "--json", "-t", str(SECONDS), "-w", str(workers), "-b", str(BATCH)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    points = watch(process)
    if process.returncode:
        sys.exit(f"{command}: exit code {process.returncode}")
    result = json.loads(process.stdout.read())
    last = points[-1]       # what is measured are its last seconds, after the warm-up
    first = next(point for point in points if point[0] > last[0] - SECONDS)
    return {
        "rate": result["samples_per_second"],
        "processor": (last[1] - first[1]) / (last[0] - first[0]) / result["samples_per_second"],
        "bytes": last[2],
        "ms": result["ms_per_sample"],
    }


def measure_decode(folder):
    """libjpeg-turbo alone, at least for as long as the others."""
    program = os.path.join(os.environ["BUILD"], "tests/bench/plain")
    files, passes, wall = len(os.listdir(folder)), 0, 0.0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    while wall < SECONDS:
        wall += float(run_program(program, "decode", str(WORKERS), folder))
        passes += 1
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"rate": files * passes / wall, "processor": used / (files * passes)}


# ---- data ------------------------------------------------------------------------------------------------------------


def copy_coco(data, home):
    for part in ("images", "labels"):
        for file in (data / "coco128" / part).rglob("*.*"):
            target = home / "coco" / part / "train"
            target.mkdir(parents=True, exist_ok=True)
            for i in range(COCO_COPIES):
                shutil.copy(file, target / f"{i}-{file.name}")
    names = "".join(f"  {i}: c{i}\n" for i in range(80))
    (home / "coco/data.yaml").write_text(f"path: .\ntrain: images/train\nnames:\n{names}")
    return str(home / "coco/images/train")


def copy_llvip(data, home):
    """In the YOLOFuse layout; the set has no labels, so each picture gets the same three."""
    rows = "0 0.3 0.4 0.1 0.2\n0 0.6 0.5 0.2 0.3\n1 0.8 0.7 0.1 0.3\n"
    for source, part in (("rgb", "images"), ("ir", "imagesIR")):
        target = home / "llvip" / part / "train"
        target.mkdir(parents=True)
        (home / "llvip/labels/train").mkdir(parents=True, exist_ok=True)
        for file in (data / "llvip" / source).rglob("*.jpg"):
            for i in range(LLVIP_COPIES):
                shutil.copy(file, target / f"{i}-{file.name}")
                (home / f"llvip/labels/train/{i}-{file.stem}.txt").write_text(rows)
    (home / "llvip/data.yaml").write_text("path: .\ntrain: images/train\nnames:\n  0: person\n  1: car\n")
    return str(home / "llvip/images/train")


def pack(source, target, *options):
    subprocess.run([os.environ["YOLOPACK"], "pack", source, "-o", target, "-q", *options], check=True, stdout=subprocess.DEVNULL)
    return str(target)


# ---- the run ---------------------------------------------------------------------------------------------------------

RATIOS = [  # what, ours, theirs, bar, goal
    ("coco128 keep / libjpeg-turbo alone", "coco keep", "decode", 0.65, 0.75),
    ("coco128 keep / Ultralytics", "coco keep", "ultralytics", 4, None),
    ("coco128 --preset train / Ultralytics", "coco train", "ultralytics", 5, 8),
    ("coco128 --preset raw in memory / Ultralytics", "coco raw", "ultralytics", 12, None),
    ("llvip rgb+ir3 keep / YOLOFuse style", "llvip keep", "yolofuse", 5, None),
    ("llvip rgb+ir3 --preset train / YOLOFuse style", "llvip train", "yolofuse", 12, None),
    ("coco128 keep, two workers / one", "coco keep", "coco keep, one worker", 1.9, None),
]


def median(results, side, key):
    return statistics.median(r[key] for r in results[side])


def print_results(results):
    for side, runs in results.items():
        stages = runs[-1].get("ms", {})
        print(
            f"{side:26}{median(results, side, 'rate'):8.0f}/s{1e3 * median(results, side, 'processor'):8.2f} ms of processor"
            + ("   " if stages else "")
            + "  ".join(f"{name} {ms:.2f}" for name, ms in stages.items())
        )
    print(f"\n{'':52}{'rate':>8}{'processor':>11}{'bar':>7}{'goal':>6}")
    for what, ours, theirs, bar, goal in RATIOS:
        rate = statistics.median(a["rate"] / b["rate"] for a, b in zip(results[ours], results[theirs]))
        work = statistics.median(b["processor"] / a["processor"] for a, b in zip(results[ours], results[theirs]))
        work *= 2 if theirs.endswith("one worker") else 1
        missed = "" if rate >= bar else "   MISSED"
        print(f"{what:52}{rate:8.2f}{work:11.2f}{bar:7g}{goal or '':>6}{missed}")


def print_memory(results, pack_side, theirs):
    (ours_all, ours), (theirs_all, other) = (results[side][-1]["bytes"] for side in (pack_side, theirs))
    missed = "" if ours * 3 <= other else "   MISSED"
    print(
        f"memory, PSS without pages of files: {pack_side} {ours / 2**20:.0f} MB, {theirs} {other / 2**20:.0f} MB, ratio "
        f"{ours / other:.2f} (bar 0.33); with them {ours_all / 2**20:.0f} and {theirs_all / 2**20:.0f} MB, "
        f"{ours_all / theirs_all:.2f}{missed}"
    )


def run(data, home, memory):
    coco, llvip = copy_coco(data, home), copy_llvip(data, home)
    small = ("--preset", "train", "--imgsz", str(SIZE))
    packs = {
        "coco keep": pack(home / "coco", home / "coco-keep.ypk"),
        "coco train": pack(home / "coco", home / "coco-train.ypk", *small),
        "coco raw": pack(home / "coco", memory / "coco-raw.ypk", "--preset", "raw", "--imgsz", str(SIZE)),
        "llvip keep": pack(home / "llvip", home / "llvip-keep.ypk"),
        "llvip train": pack(home / "llvip", home / "llvip-train.ypk", *small),
    }
    servers = {"ultralytics": Server("ultralytics", coco), "yolofuse": Server("yolofuse", llvip)}
    sides = {
        "decode": lambda: measure_decode(coco),
        **{name: lambda p=p: measure_pack(p) for name, p in packs.items()},
        "coco keep, one worker": lambda: measure_pack(packs["coco keep"], 1),
        **{name: server.measure for name, server in servers.items()},
    }
    results = {name: [] for name in sides}
    for round_number in range(ROUNDS):
        for name, measure in sides.items():
            results[name].append(measure())
        print(f"round {round_number + 1} of {ROUNDS}; load {os.getloadavg()[0]:.1f}", flush=True)
    for server in servers.values():
        server.close()
    print_results(results)
    root, variant = os.path.split(os.environ["BUILD"])
    subprocess.run([ROOT / "tests/parity/run", "--time"], env=dict(os.environ, BUILD_ROOT=root, VARIANT=variant))
    print_memory(results, "coco keep", "ultralytics")
    print_memory(results, "llvip keep", "yolofuse")


def main():
    data = os.environ.get("YPK_TEST_DATA")
    if not data or not os.path.isdir(os.path.join(data, "llvip/rgb")):
        print("skipped: the real data sets are not here (YPK_TEST_DATA)")
        return
    if "BENCH_LOADER_INSIDE" not in os.environ:
        root = os.path.dirname(os.environ["BUILD"])
        environment = dict(os.environ, BENCH_LOADER_INSIDE="1", BUILD_ROOT=root, wanted_by="bench_loader")
        command = '. tests/parity/environment.sh; unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS; exec "$python" "$0"'
        code = subprocess.run(["sh", "-eu", "-c", command, __file__], cwd=ROOT, env=environment).returncode
        sys.exit(0 if code == 77 else code)
    cores = sorted(os.sched_getaffinity(0))[:WORKERS]
    os.sched_setaffinity(0, cores)
    print(f"{ROUNDS} rounds of {SECONDS} s a side on cores {cores}; medians of the ratios of each round")
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory(dir=shared) as memory:
        run(Path(data), Path(home).resolve(), Path(memory))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        main()
