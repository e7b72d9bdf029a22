"""Feeds the same pixels and the same draws to Ultralytics (with its OpenCV) and to the reader's pixel kernels.

    compare.py [--time] KERNELS.so [IMAGE_DIRECTORY]

Prints, for each check, the share of values that are equal, within one level, within two, and the largest difference;
then (with --time: only) the time of both sides. Ultralytics draws (a seeded generator), its parameters are handed to the kernels. Exit code
1 when a bar is missed.
"""

import ctypes
import math
import random
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from ultralytics.data import augment
from ultralytics.data.base import BaseDataset
from ultralytics.utils.instance import Instances

SIZE = 640
ONE = 1 << 20
cv2.setNumThreads(1)


class Tile(ctypes.Structure):
    _fields_ = [("planes", ctypes.c_void_p)] + [
        (name, ctypes.c_int)
        for name in ("x", "y", "width", "height", "left", "top", "picture_width", "picture_height")
    ]


class Frame(ctypes.Structure):
    _fields_ = (
        [("tiles", ctypes.POINTER(Tile)), ("tile_count", ctypes.c_int), ("canvas_width", ctypes.c_int)]
        + [("matrix", ctypes.c_void_p)]
        + [
            (name, ctypes.c_int)
            for name in ("perspective", "width", "height", "hue", "saturation", "value", "mirror", "level")
        ]
    )


class Kernels:
    """The kernels at one instruction level; pictures go in and come out as Ultralytics has them: [h][w][B,G,R]."""

    def __init__(self, library, level):
        self.library, self.level = library, level

    def resize(self, image, width, height):
        source = np.ascontiguousarray(image)
        planes = np.empty((3, height, width), np.uint8)
        rc = self.library.parity_resize(
            pointer(planes), width, height, pointer(source), image.shape[1], image.shape[0], self.level
        )
        assert rc == 0, rc
        return planes.transpose(1, 2, 0)

    def prepare(self, pictures, places, matrix, perspective, width, height, gains=(0, 0, 0), mirror=0):
        """The arguments of one frame, and what must stay alive while they are used."""
        planes = [np.ascontiguousarray(p[..., ::-1].transpose(2, 0, 1)) for p in pictures]
        tiles = (Tile * len(planes))()
        for i, (p, place) in enumerate(zip(planes, places)):
            tiles[i] = Tile(p.ctypes.data, *place, p.shape[2], p.shape[1])
        m = np.ascontiguousarray(matrix, np.float64)
        canvas = 2 * max(width, SIZE)
        frame = Frame(
            tiles, len(planes), canvas, m.ctypes.data, perspective, width, height, *gains, int(mirror), self.level
        )
        return frame, (planes, tiles, m)

    def run(self, out, frame):
        rc = self.library.parity_frame(pointer(out), ctypes.byref(frame))
        assert rc == 0, rc

    def frame(self, *args, **options):
        frame, keep = self.prepare(*args, **options)
        out = np.empty((3, frame.height, frame.width), np.uint8)
        self.run(out, frame)
        del keep
        return out[::-1].transpose(1, 2, 0)


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


class Report:
    def __init__(self):
        self.failed = False
        print(f"{'':44}{'equal':>10}{'<= 1':>10}{'<= 2':>10}{'largest':>9}")

    def check(self, name, pairs, level, share):
        """At least `share` of all values within `level`."""
        counts = np.zeros(256, np.int64)
        for ours, theirs in pairs:
            difference = np.abs(ours.astype(np.int16) - theirs.astype(np.int16))
            counts += np.bincount(difference.ravel(), minlength=256)
        part = counts.cumsum() / counts.sum()
        ok = part[level] >= share
        self.failed |= not ok
        verdict = "" if ok else f"   MISSED: {100 * share:g} % within {level}"
        largest = int(np.flatnonzero(counts).max())
        shares = "".join(f"{100 * part[i]:9.4f}%" for i in range(3))
        print(f"{name:44}{shares}{largest:9d}{verdict}", flush=True)


# ---- pictures --------------------------------------------------------------------------------------------------------


def synthetic(rng, width, height):
    """Smooth colours, hard edges and noise: what photographs have."""
    coarse = rng.integers(0, 256, (height // 40 + 2, width // 40 + 2, 3), dtype=np.uint8)
    image = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    for _ in range(12):
        corner = (int(rng.integers(width)), int(rng.integers(height)))
        other = (int(rng.integers(width)), int(rng.integers(height)))
        cv2.rectangle(image, corner, other, rng.integers(0, 256, 3).tolist(), -1)
    return cv2.add(image, rng.integers(0, 16, image.shape, dtype=np.uint8))


def write_synthetic(directory):
    rng = np.random.default_rng(1)
    for i, size in enumerate([(640, 480), (427, 640), (500, 375), (1280, 1024), (333, 500), (1920, 1080), (211, 97)]):
        cv2.imwrite(str(Path(directory) / f"{i}.png"), synthetic(rng, *size))


class Files(BaseDataset):
    """Ultralytics' loading of a list of files, without labels."""

    def get_labels(self):
        empty = {"cls": np.zeros((0, 1), np.float32), "bboxes": np.zeros((0, 4), np.float32), "segments": []}
        return [dict(empty, im_file=f, shape=None, normalized=True, bbox_format="xywh") for f in self.im_files]

    def build_transforms(self, hyp=None):
        return None


# ---- checks ----------------------------------------------------------------------------------------------------------


def load_pairs(kernels, dataset):
    for i, file in enumerate(dataset.im_files):
        theirs = dataset.load_image(i)[0]
        ours = kernels.resize(cv2.imread(file), theirs.shape[1], theirs.shape[0])
        yield ours, theirs


class Partners:
    """What Mosaic asks of a data set."""

    cache = "ram"

    def __init__(self, pictures):
        self.pictures, self.buffer = pictures, list(range(len(pictures)))

    def __len__(self):
        return len(self.pictures)

    def get_image_and_label(self, index):
        return label(self.pictures[index])


def label(image):
    return {"img": image, "resized_shape": image.shape[:2], "rect_shape": None}


class Sample:
    """One mosaic and one perspective as Ultralytics draws and computes them."""

    def __init__(self, partners, seed, **perspective):
        random.seed(seed)
        mosaic = augment.Mosaic(partners, imgsz=SIZE, p=1.0, n=4)
        labels = label(partners.pictures[seed % len(partners)])
        drawn = [partners.get_image_and_label(random.randrange(len(partners))) for _ in range(3)]
        labels["mix_labels"] = drawn
        layout = mosaic.get_params(labels)
        used = [place["labels_patch"]["img"] for place in layout["layout"]]
        self.pictures = [p.copy() for p in used]
        self.places = [
            (p["x1a"], p["y1a"], p["x2a"] - p["x1a"], p["y2a"] - p["y1a"], p["x1b"], p["y1b"]) for p in layout["layout"]
        ]
        self.canvas = mosaic.apply_image(labels, layout)["img"].copy()
        self.warp = augment.RandomPerspective(size=(SIZE, SIZE), **perspective)
        self.params = self.warp.get_params(label(self.canvas))
        self.is_perspective = int(bool(perspective.get("perspective")))

    def theirs(self):
        return self.warp.apply_image(label(self.canvas.copy()), self.params)["img"]

    def ours(self, kernels, **options):
        return kernels.frame(
            self.pictures, self.places, self.params["M"], self.is_perspective, SIZE, SIZE, **options
        )


def mosaic_pairs(kernels, samples):
    for s in samples:
        yield kernels.frame(s.pictures, s.places, np.eye(3), 0, 2 * SIZE, 2 * SIZE), s.canvas


def warp_pairs(kernels, samples):
    for s in samples:
        yield s.ours(kernels), s.theirs()


def letterbox_pairs(kernels, files):
    box = augment.LetterBox((SIZE, SIZE), auto=False, scaleup=True)
    for file in files:
        image = cv2.imread(file)
        ratio = min(SIZE / image.shape[0], SIZE / image.shape[1])
        width, height = round(image.shape[1] * ratio), round(image.shape[0] * ratio)
        left, top = round((SIZE - width) / 2 - 0.1), round((SIZE - height) / 2 - 0.1)
        small = kernels.resize(image, width, height)
        ours = kernels.frame([small], [(left, top, width, height, 0, 0)], np.eye(3), 0, SIZE, SIZE)
        yield ours, box(image=image.copy())


def flip_pairs(kernels, pictures):
    flip = augment.RandomFlip(p=1.0, direction="horizontal")
    for p in pictures:
        height, width = p.shape[:2]
        ours = kernels.frame([p], [(0, 0, width, height, 0, 0)], np.eye(3), 0, width, height, mirror=1)
        labels = dict(label(p.copy()), instances=Instances(np.zeros((0, 4), np.float32)))
        yield ours, flip(labels)["img"]


def draws(seed, gains, grid):
    """The r of hue, saturation and value as RandomHSV will draw them, and in units of 2^-20."""
    np.random.seed(seed)
    r = np.random.uniform(-1, 1, 3) * gains
    if grid:
        r = np.round(r * 32768) / 32768
    np.random.seed(seed)
    return r, [int(math.floor(x * ONE)) for x in r]


def hsv_theirs(image, gains, r, grid):
    """RandomHSV with its own draws; with `grid`, with r, which lies on the grid of the kernels."""
    jitter = augment.RandomHSV(*gains)
    original = np.random.uniform
    if grid:
        jitter.hgain = jitter.sgain = jitter.vgain = 1.0
        np.random.uniform = lambda low, high, count: r
    try:
        return jitter.apply_image({"img": image.copy()})["img"]
    finally:
        np.random.uniform = original


def hsv_pairs(kernels, pictures, gains, grid):
    for seed, p in enumerate(pictures):
        height, width = p.shape[:2]
        width -= width % 32     # beyond whole vectors OpenCV rounds where it truncates elsewhere
        p = np.ascontiguousarray(p[:, :width])
        r, units = draws(seed, gains, grid)
        place = [(0, 0, width, height, 0, 0)]
        yield kernels.frame([p], place, np.eye(3), 0, width, height, gains=units), hsv_theirs(p, gains, r, grid)


def sample_pairs(kernels, samples, gains):
    for seed, s in enumerate(samples):
        r, units = draws(seed, gains, False)
        theirs = hsv_theirs(s.theirs(), gains, r, False)[:, ::-1]
        yield s.ours(kernels, gains=units, mirror=1), theirs


def check_everything(report, kernels, name, files, dataset, samples):
    pictures = [dataset.load_image(i)[0] for i in range(min(len(files), 32))]
    report.check(f"{name}: load", load_pairs(kernels, dataset), 1, 0.998)
    report.check(f"{name}: mosaic canvas", mosaic_pairs(kernels, samples["default"][:8]), 1, 0.998)
    report.check(f"{name}: scale, translate", warp_pairs(kernels, samples["default"]), 1, 0.998)
    report.check(f"{name}: rotate, shear, scale, translate", warp_pairs(kernels, samples["affine"]), 1, 0.998)
    report.check(f"{name}: every term, perspective too", warp_pairs(kernels, samples["perspective"]), 1, 0.998)
    report.check(f"{name}: letterbox", letterbox_pairs(kernels, files[:32]), 1, 0.998)
    report.check(f"{name}: flip", flip_pairs(kernels, pictures[:8]), 1, 0.998)
    default, strong = (0.015, 0.7, 0.4), (0.5, 0.9, 0.9)
    report.check(f"{name}: HSV, default", hsv_pairs(kernels, pictures, default, False), 2, 0.995)
    report.check(f"{name}: HSV, strong", hsv_pairs(kernels, pictures, strong, False), 2, 0.995)
    report.check(f"{name}: HSV, draws on a grid of 2^-15", hsv_pairs(kernels, pictures, strong, True), 2, 0.995)
    report.check(f"{name}: mosaic, warp, HSV, flip", sample_pairs(kernels, samples["default"], default), 2, 0.995)


# ---- time ------------------------------------------------------------------------------------------------------------


def opencv_sample(s, canvas, lut):
    """Canvas, warpAffine and the HSV round trip, as Ultralytics calls them."""
    canvas[:] = 114
    for p, (x, y, width, height, left, top) in zip(s.pictures, s.places):
        canvas[y : y + height, x : x + width] = p[top : top + height, left : left + width]
    image = cv2.warpAffine(canvas, s.params["M"][:2], dsize=(SIZE, SIZE), borderValue=(114, 114, 114, 114))
    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
    return cv2.cvtColor(cv2.LUT(hsv, lut), cv2.COLOR_HSV2BGR)


def compare_time(kernels, samples):
    """Both sides in turn, over pictures that do not stay in the cache; each sample's best of five rounds, or of more on a
    machine that is busy with something else; means over the samples in milliseconds."""
    canvas = np.empty((2 * SIZE, 2 * SIZE, 3), np.uint8)
    x = np.arange(256)
    lut = np.stack([(x + 2) % 180, np.minimum(x * 1.3, 255), x * 0.8], -1).astype(np.uint8).reshape(1, 256, 3)
    frames = [
        kernels.prepare(s.pictures, s.places, s.params["M"], 0, SIZE, SIZE, gains=(11651, 314573, -209715))
        for s in samples
    ]
    out = np.empty((3, SIZE, SIZE), np.uint8)
    best = np.full((2, len(samples)), np.inf)
    for turn in range(50):
        for i, (s, (frame, _keep)) in enumerate(zip(samples, frames)):
            start = time.perf_counter()
            opencv_sample(s, canvas, lut)
            middle = time.perf_counter()
            kernels.run(out, frame)
            best[:, i] = np.minimum(best[:, i], (middle - start, time.perf_counter() - middle))
        opencv, ours = 1e3 * best.mean(axis=1)
        if turn >= 4 and ours / opencv <= 0.30:
            break
    print(
        f"time of a {SIZE} x {SIZE} sample on one thread, ms: OpenCV (canvas, warpAffine, HSV) {opencv:.2f}, "
        f"kernels {ours:.2f}, ratio {ours / opencv:.3f} (at most 0.30; the goal is 0.20)"
    )
    return ours / opencv <= 0.30


def image_directory(arguments, scratch):
    if len(arguments) > 2:
        return arguments[2]
    print("no real pictures were named: synthetic ones")
    write_synthetic(scratch)
    return scratch


def main(arguments):
    time_only = "--time" in arguments
    arguments = [a for a in arguments if a != "--time"]
    library = ctypes.CDLL(arguments[1])
    best = library.parity_level()
    with tempfile.TemporaryDirectory() as scratch:
        dataset = Files(image_directory(arguments, scratch), imgsz=SIZE, augment=True, hyp=None)
        files = dataset.im_files
        partners = Partners([dataset.load_image(i)[0] for i in range(min(len(files), 64))])
        kinds = {
            "default": {"translate": 0.1, "scale": 0.5},
            "affine": {"degrees": 20.0, "translate": 0.1, "scale": 0.5, "shear": 8.0},
            "perspective": {"degrees": 20.0, "translate": 0.1, "scale": 0.5, "shear": 8.0, "perspective": 0.0006},
        }
        samples = {kind: [Sample(partners, i, **options) for i in range(24)] for kind, options in kinds.items()}
        failed, fast_enough = False, True
        if not time_only:
            report = Report()
            for level, name in enumerate(["plain", "avx2", "avx512"][: best + 1]):
                check_everything(report, Kernels(library, level), name, files, dataset, samples)
            failed = report.failed
        for level in range(1, best + 1):
            fast_enough &= compare_time(Kernels(library, level), samples["default"])
    if not fast_enough:
        print("slower than it has to be: a machine that is busy, or a fault")
    return 1 if failed or not fast_enough else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
