"""Whole samples: what the loader delivers, beside what Ultralytics' own training pipeline makes of the same files and
the same draws.

    compare_samples.py YOLOPACK DUMP [DATA]

YOLOPACK is the command, DUMP the program of dump.c, DATA the folder of the real data sets (coco128, roadscene); without
it, made-up pairs are taken. Our plan draws; its recipes take the place of Ultralytics' sources of chance. Prints for each
check the share of values within the level that the bar names, and how far boxes are apart. Exit code 1 when a bar is
missed.
"""

import collections
import contextlib
import copy
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import cv2
import numpy as np
import yaml
from ultralytics.cfg import get_cfg
from ultralytics.data import augment
from ultralytics.data.dataset import YOLODataset
from ultralytics.utils import DEFAULT_CFG

SIZE = 640
BATCHES = 2
BOX_BAR = 1e-3      # px
LEAST_SIDE = 2      # px: boxes that are not larger are left out
cv2.setNumThreads(1)

# The colour jitter is off where geometry is looked at: its bar is another.
PLAIN = {"hsv_h": 0, "hsv_s": 0, "hsv_v": 0}
STILL = {**PLAIN, "scale": 0, "translate": 0, "fliplr": 0}
TERMS = {**PLAIN, "degrees": 20, "shear": 8, "perspective": 0.0006, "translate": 0.1, "scale": 0.5}
EXACT, COLOUR = (1, 0.998), (2, 0.995)
CHECKS = [
    ("load, no mosaic", {**STILL, "mosaic": 0}, EXACT),
    ("load, mosaic", STILL, EXACT),
    ("no mosaic, scale, translate, flip", {**PLAIN, "mosaic": 0}, EXACT),
    ("mosaic, scale, translate, flip", PLAIN, EXACT),
    ("no mosaic, every term", {**TERMS, "mosaic": 0, "flipud": 0.5}, EXACT),
    ("mosaic, every term", {**TERMS, "flipud": 0.5}, EXACT),
    ("the default recipe", {}, COLOUR),
    ("HSV, strong", {"hsv_h": 0.5, "hsv_s": 0.9, "hsv_v": 0.9}, COLOUR),
    ("mixup", {**PLAIN, "mixup": 1, "mosaic": 0.5}, EXACT),
    ("cutmix", {**PLAIN, "cutmix": 1, "mosaic": 0.5}, EXACT),
    ("everything", {**TERMS, "flipud": 0.5, "bgr": 0.5, "mixup": 0.5, "cutmix": 0.5, "hsv_h": 0.015, "hsv_s": 0.7,
                    "hsv_v": 0.4}, COLOUR),
]


# ---- data sets -------------------------------------------------------------------------------------------------------


class Set:
    """A copy of a data set, so that nothing is written beside the original, and its pack."""

    def __init__(self, name, root, command):
        self.name, self.root, self.pack = name, root, root.with_suffix(".ypk")
        self.names = yaml.safe_load((root / "data.yaml").read_text())["names"]
        self.folder = next(p for p in (root / "images").iterdir() if p.is_dir())
        subprocess.run([command, "pack", root, "-o", self.pack, "-q"], check=True, capture_output=True)

    def dataset(self, **options):
        return YOLODataset(
            img_path=str(self.folder), imgsz=SIZE, data={"names": self.names, "channels": 3}, task="detect", **options
        )


def make_sets(data, scratch, command):
    if data is None:
        subprocess.run([command, "synth", scratch / "synth", "--pairs", "64", "-q"], check=True, capture_output=True)
        return [Set("synth rgb+ir3", scratch / "synth", command)]
    boxes, polygons, pairs = (scratch / name for name in ("boxes", "polygons", "pairs"))
    shutil.copytree(data / "coco128", boxes, ignore=shutil.ignore_patterns("labels_seg"))
    shutil.copytree(data / "coco128" / "images", polygons / "images")
    shutil.copytree(data / "coco128" / "labels_seg", polygons / "labels")
    names = {i: f"class {i}" for i in range(100)}     # more than data.yaml has: some rows go beyond it
    (polygons / "data.yaml").write_text(yaml.safe_dump({"path": ".", "train": "images/train2017", "names": names}))
    shutil.copytree(data / "roadscene", pairs)
    return [
        Set("coco128", boxes, command),
        Set("coco128 polygons", polygons, command),
        Set("roadscene rgb+ir3", pairs, command),
    ]


# ---- our side --------------------------------------------------------------------------------------------------------


def dump(program, dataset, scratch, options, batches=BATCHES):
    """(recipe and boxes, pixels [channels][height][width]) of the first samples."""
    pixels = scratch / "pixels"
    arguments = [f"{key}={value}" for key, value in options.items()]
    run = subprocess.run(
        [program, dataset.pack, pixels, str(batches), *arguments], check=True, capture_output=True, text=True
    )
    data = np.fromfile(pixels, np.uint8)
    at = 0
    for line in run.stdout.splitlines():
        sample = json.loads(line)
        count = int(np.prod(sample["shape"]))
        yield sample, data[at : at + count].reshape(sample["shape"])
        at += count


# ---- their side ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def drawn(target, name, values):
    """target.name() gives these values one after the other."""
    queue = iter(values)
    with mock.patch.object(target, name, lambda *_: next(queue)):
        yield


class Pictures:
    """The data set as transforms ask for it: by the file that a recipe names; either modality."""

    cache, use_keypoints = "ram", False

    def __init__(self, dataset, root):
        self.dataset, self.root, self.infrared = dataset, root, False
        self.data = dataset.data
        self.rows = {str(Path(f).resolve()): i for i, f in enumerate(dataset.im_files)}
        self.known = {}

    def __len__(self):
        return len(self.rows)

    def get_image_and_label(self, files):
        key = (files[0], self.infrared)
        if key not in self.known:
            labels = self.dataset.get_image_and_label(self.rows[str((self.root / files[0]).resolve())])
            if self.infrared:       # boxes hold for RGB, so its size is what IR is brought to
                height, width = labels["img"].shape[:2]
                labels["img"] = cv2.resize(cv2.imread(str(self.root / files[1])), (width, height))
            self.known[key] = labels
        return copy.deepcopy(self.known[key])


class Pipeline:
    """Ultralytics' transforms for training, with a recipe in the place of chance."""

    def __init__(self, dataset, root, options):
        self.pictures = Pictures(dataset, root)
        hyp = get_cfg(DEFAULT_CFG, {**options, "mosaic": 1.0, "bgr": 0.0})
        bracket, self.mixup, self.cutmix, *rest = augment.v8_transforms(self.pictures, SIZE, hyp).transforms
        kinds = {type(t): t for t in bracket.transforms}
        self.mosaic, self.perspective = kinds[augment.Mosaic], kinds[augment.RandomPerspective]
        bracket.transforms = [self.apply_mosaic, self.perspective]
        self.perspective.get_params = self.perspective_params
        self.hsv = next(t for t in rest if isinstance(t, augment.RandomHSV))
        self.flips = {t.direction: t for t in rest if isinstance(t, augment.RandomFlip)}
        self.bracket = bracket
        for mix in (self.mosaic, self.mixup, self.cutmix):
            mix.p = 1.0
        self.layer = None

    def apply_mosaic(self, labels):
        if not self.layer["mosaic"]:
            return labels
        self.mosaic.get_indexes = lambda: self.layer["files"][1:]
        with drawn(random, "uniform", [0.0, self.layer["y"], self.layer["x"]]):
            return self.mosaic(labels)

    def perspective_params(self, labels):
        """The matrix starts at the picture itself where that has not become a canvas of a mosaic or a letterbox."""
        height, width = labels["img"].shape[:2]
        matrix = np.array(self.layer["matrix"]).reshape(3, 3)
        if not self.layer["mosaic"]:
            centre = np.eye(3)
            centre[:2, 2] = (SIZE - width) / 2, (SIZE - height) / 2
            matrix = matrix @ centre
        return {
            "M": matrix.astype(np.float32),
            "scale": self.layer["scale"],
            "orig_shape": (height, width),
            "size": (SIZE, SIZE),
        }

    def apply_mixes(self, recipe, labels):
        _, mixup, cutmix = recipe["layers"]
        if mixup:
            self.layer = mixup
            self.mixup.get_indexes = lambda: [mixup["files"][0]]
            with drawn(random, "uniform", [0.0]), drawn(np.random, "beta", [recipe["ratio"]]):
                labels = self.mixup(labels)
        if cutmix:
            areas = iter(recipe["areas"])
            self.layer = cutmix
            self.cutmix.get_indexes = lambda: [cutmix["files"][0]]
            self.cutmix._rand_bbox = lambda *_: tuple(next(areas))
            with drawn(random, "uniform", [0.0]), mock.patch.object(
                np.random, "choice", lambda free: free[recipe["choice"] * len(free) >> 32]
            ):
                labels = self.cutmix(labels)
        return labels

    def __call__(self, recipe, infrared):
        self.pictures.infrared = infrared
        self.layer = recipe["layers"][0]
        labels = self.bracket(self.pictures.get_image_and_label(self.layer["files"][0]))
        labels = self.apply_mixes(recipe, labels)
        if any(recipe["gains"]) and not infrared:
            self.hsv.hgain = self.hsv.sgain = self.hsv.vgain = 1.0
            with drawn(np.random, "uniform", [np.array(recipe["gains"])]):
                labels = self.hsv(labels)
        for direction, flag in (("vertical", "flipud"), ("horizontal", "fliplr")):
            self.flips[direction].p = float(recipe[flag])
            labels = self.flips[direction](labels)
        return augment.Format(bgr=float(recipe["bgr"]) if not infrared else 0.0)(labels)


# ---- verdicts --------------------------------------------------------------------------------------------------------


class Pixels:
    def __init__(self):
        self.counts = np.zeros(256, np.int64)

    def add(self, ours, theirs):
        difference = cv2.absdiff(np.ascontiguousarray(ours), np.ascontiguousarray(theirs))
        self.counts += np.bincount(difference.ravel(), minlength=256)

    def within(self, level):
        return self.counts[: level + 1].sum() / self.counts.sum()


class Boxes:
    """Boxes of both sides, paired by class and place. One that is as small as may be, to within the bar, is no matter of
    either side alone: rounding in single precision decides."""

    def __init__(self):
        self.count, self.unpaired, self.ties, self.furthest, self.where = 0, 0, 0, 0.0, None

    def alone(self, boxes, position):
        ties = sum(abs(min(box[3:]) - LEAST_SIDE) < BOX_BAR for box in boxes)
        self.ties += ties
        self.unpaired += len(boxes) - ties
        self.where = position if len(boxes) > ties else self.where

    def add(self, ours, theirs, position):
        left, lonely = list(theirs), []
        for box in ours:
            same = [(np.abs(box[1:] - other[1:]).max(), i) for i, other in enumerate(left) if other[0] == box[0]]
            distance, nearest = min(same, default=(np.inf, -1))
            if distance > 1:
                lonely.append(box)
                continue
            left.pop(nearest)
            self.count += 1
            if distance > self.furthest:
                self.furthest = float(distance)
                self.where = position if distance > BOX_BAR else self.where
        self.alone(lonely + left, position)


class Report:
    def __init__(self):
        self.failed = False

    def line(self, name, pixels, boxes, bar):
        level, share = bar
        part = pixels.within(level)
        missed = [f"pixels (at least {100 * share:g} %)"] if part < share else []
        if boxes.furthest > BOX_BAR or boxes.unpaired:
            missed.append(f"boxes (all, within {BOX_BAR:g} px; see position {boxes.where})")
        self.failed |= bool(missed)
        largest = int(np.flatnonzero(pixels.counts).max())
        print(
            f"{name:56}{100 * part:9.4f} % <= {level} (largest {largest:3})  {boxes.count:5} boxes, furthest "
            f"{boxes.furthest:.1e} px, {boxes.unpaired} on one side only"
            + (f" ({boxes.ties} more of {LEAST_SIDE} px)" if boxes.ties else "")
            + "".join(f"   MISSED: {m}" for m in missed),
            flush=True,
        )


def box_rows(boxes, classes, width, height):
    rows = np.concatenate([np.asarray(classes, float).reshape(-1, 1), np.asarray(boxes, float).reshape(-1, 4)], 1)
    return rows * [1, width, height, width, height]


def check_training(report, program, dataset, scratch, name, options, bar):
    pipeline = Pipeline(dataset.training, dataset.root, options)
    pixels, boxes = Pixels(), Boxes()
    for recipe, ours in dump(program, dataset, scratch, options):
        for part in range(0, len(ours), 3):
            theirs = pipeline(recipe, infrared=part > 0)
            pixels.add(ours[part : part + 3], theirs["img"].numpy())
            if part == 0:
                found = box_rows(theirs["bboxes"], theirs["cls"], SIZE, SIZE)
                mine = np.array(recipe["boxes"], float).reshape(-1, 5)
                boxes.add(box_rows(mine[:, 1:], mine[:, 0], SIZE, SIZE), found, recipe["position"])
    report.line(f"{dataset.name}: {name}", pixels, boxes, bar)


def check_evaluation(report, program, dataset, scratch, rect):
    """Letterboxed, with what goes with a picture: its shapes, ratio and padding. Where a batch ends between pictures of
    one ratio of their sides, which of them it takes is nobody's rule: only how many get which frame is compared."""
    theirs = dataset.dataset(augment=False, rect=rect, batch_size=16, pad=0.5)
    rows = {str(Path(f).relative_to(dataset.root)): i for i, f in enumerate(theirs.im_files)}
    pixels, boxes, frames, wrong = Pixels(), Boxes(), collections.Counter(), []
    batches = -(-len(theirs) // 16)
    for sample, ours in dump(program, dataset, scratch, {"mode": 1, "rect": int(rect)}, batches):
        file = sample["layers"][0]["files"][0][0]
        labels = theirs[rows[file]]
        height, width = ours.shape[1:]
        shape = sample["original"][0] / sample["original"][1]
        if list(labels["ori_shape"]) != sample["original"]:
            wrong.append(f"{file}: {sample['original']} px, theirs {labels['ori_shape']}")
        if (height, width) != tuple(labels["img"].shape[1:]):
            frames[shape, height, width] += 1
            frames[(shape, *labels["img"].shape[1:])] -= 1
            continue
        pad = labels["ratio_pad"][1]
        if [int(pad[0]), int(pad[1])] != sample["pad"]:
            wrong.append(f"{file}: margins {sample['pad']}, theirs {pad}")
        pixels.add(ours[:3], labels["img"].numpy())
        mine = np.array(sample["boxes"], float).reshape(-1, 5)
        found = box_rows(labels["bboxes"], labels["cls"], width, height)
        boxes.add(box_rows(mine[:, 1:], mine[:, 0], width, height), found, sample["position"])
    wrong += [f"height / width {ratio:.4f}: {height} x {width}" for (ratio, height, width), more in frames.items() if more]
    report.line(f"{dataset.name}: evaluation{', rect' if rect else ''}", pixels, boxes, EXACT)
    for line in wrong[:4]:
        print(f"    MISSED: {line}")
    report.failed |= bool(wrong)


def main(command, program, data=None):
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name).resolve()
        for dataset in make_sets(data and Path(data), scratch, command):
            dataset.training = dataset.dataset(augment=True, hyp=get_cfg(DEFAULT_CFG))
            for check, options, bar in CHECKS:
                check_training(report, program, dataset, scratch, check, options, bar)
            check_evaluation(report, program, dataset, scratch, rect=False)
            check_evaluation(report, program, dataset, scratch, rect=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
