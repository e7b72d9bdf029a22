"""Whole samples: what the loader delivers, beside what Ultralytics' own training pipeline makes of the same files and
the same draws.

    compare_samples.py YOLOPACK DUMP [DATA]

YOLOPACK is the command, DUMP the program of dump.c, DATA the folder of the real data sets (coco128, roadscene); without
it, made-up pairs are taken. Key points and oriented boxes are made up in both cases. Our plan draws; its recipes take the
place of Ultralytics' sources of chance. Prints for each check the share of values within the level that the bar names, and
how far boxes, key points and rotations are apart. Exit code 1 when a bar is missed.
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
ORIENTED_BAR = 3e-3 # px: theirs are cut in single precision, by canvas, frame and cutmix one after the other
ANGLE_BAR = 1e-4    # radians
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


# ---- one rectangle of those that are equally small ------------------------------------------------------------------

least_rectangle = cv2.minAreaRect


def steady_rectangle(points):
    """cv2.minAreaRect(); but of two rectangles whose areas are equal, which many a quadrilateral has, rounding chooses there
    one, and here it is the one along the longest edge, as ours."""
    hull = cv2.convexHull(points)
    edges = cv2.approxPolyDP(hull, 0.01, True).reshape(-1, 2).astype(float)     # without the points along an edge
    found = []
    for edge in np.roll(edges, -1, 0) - edges:
        length = np.hypot(*edge)
        if length:
            basis = np.array([edge, [-edge[1], edge[0]]]).T / length
            inside = hull.reshape(-1, 2) @ basis
            low, high = inside.min(0), inside.max(0)
            found.append((np.prod(high - low), length, basis, low, high))
    least = min((area for area, *_ in found), default=0)
    equal = [(length, i) for i, (area, length, *_) in enumerate(found) if area <= least * (1 + 1e-5)]
    if len(equal) < 2:
        return least_rectangle(points)
    _, _, basis, low, high = found[max(equal)[1]]
    return tuple(basis @ ((low + high) / 2)), tuple(high - low), float(np.degrees(np.arctan2(basis[1, 0], basis[0, 0])))


# ---- data sets -------------------------------------------------------------------------------------------------------


class Set:
    """A copy of a data set, so that nothing is written beside the original, and its pack."""

    def __init__(self, name, root, command, task="detect"):
        self.name, self.root, self.pack, self.task = name, root, root.with_suffix(".ypk"), task
        described = yaml.safe_load((root / "data.yaml").read_text())
        self.data = {key: described[key] for key in ("names", "kpt_shape", "flip_idx") if key in described}
        self.data["channels"] = 3
        self.loader_options = {}
        if "flip_idx" in self.data:
            self.loader_options["flip_index"] = ",".join(map(str, self.data["flip_idx"]))
        self.folder = next(p for p in (root / "images").iterdir() if p.is_dir())
        subprocess.run([command, "pack", root, "-o", self.pack, "-q", "--task", task], check=True, capture_output=True)

    def dataset(self, **options):
        return YOLODataset(img_path=str(self.folder), imgsz=SIZE, data=self.data, task=self.task, **options)


def random_person(rng, _, dims):
    """A box with five points in and around it, some of them not labelled."""
    width, height = rng.uniform(0.02, 0.6, 2)
    x, y = rng.uniform(width / 2, 1 - width / 2), rng.uniform(height / 2, 1 - height / 2)
    row = [x, y, width, height]
    for _ in range(5):
        visibility = int(rng.integers(3))
        point = np.clip([x, y] + rng.uniform(-0.6, 0.6, 2) * [width, height], 0, 1) * (visibility > 0 or dims == 2)
        row += [*point, visibility][:dims]
    return row


def random_oriented(rng, size, _):
    """Mostly a rectangle in any direction; every tenth is just four points, and some are cut by the picture's edge."""
    if rng.integers(10) == 0:
        return list(rng.uniform(0, 1, 8))
    angle, sides = rng.uniform(0, np.pi), rng.uniform(12, 250, 2)
    along = np.array([np.cos(angle), np.sin(angle)]) * sides[0] / 2
    across = np.array([-np.sin(angle), np.cos(angle)]) * sides[1] / 2
    centre = rng.uniform(0, 1, 2) * size
    corners = [centre + along + across, centre + along - across, centre - along - across, centre - along + across]
    return list(np.clip(corners / np.array(size), 0, 1).ravel())


def make_labelled(source, root, keys, make_row, dims):
    """The pictures of `source` (at most 64) with labels that are made up."""
    rng = np.random.default_rng(7)
    (root / "images" / "train").mkdir(parents=True)
    (root / "labels" / "train").mkdir(parents=True)
    for picture in sorted(source.iterdir())[:64]:
        size = cv2.imread(str(picture)).shape[1::-1]
        rows = [[int(rng.integers(2)), *make_row(rng, size, dims)] for _ in range(rng.integers(9))]
        shutil.copy(picture, root / "images" / "train")
        text = "".join(" ".join(f"{value:.9g}" for value in row) + "\n" for row in rows)
        (root / "labels" / "train" / f"{picture.stem}.txt").write_text(text)
    (root / "data.yaml").write_text(yaml.safe_dump({"path": ".", "train": "images/train", "names": ["a", "b"], **keys}))


def make_labelled_sets(source, scratch, command):
    make_labelled(source, scratch / "pose", {"kpt_shape": [5, 3], "flip_idx": [0, 2, 1, 4, 3]}, random_person, 3)
    make_labelled(source, scratch / "pose2", {"kpt_shape": [5, 2]}, random_person, 2)
    make_labelled(source, scratch / "obb", {}, random_oriented, 0)
    return [
        Set("pose", scratch / "pose", command, "pose"),
        Set("pose, no visibility, no flip_idx", scratch / "pose2", command, "pose"),
        Set("obb", scratch / "obb", command, "obb"),
    ]


def make_sets(data, scratch, command):
    if data is None:
        subprocess.run([command, "synth", scratch / "synth", "--pairs", "64", "-q"], check=True, capture_output=True)
        folder = next((scratch / "synth" / "images").iterdir())
        return [Set("synth rgb+ir3", scratch / "synth", command), *make_labelled_sets(folder, scratch, command)]
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
        *make_labelled_sets(data / "coco128" / "images" / "train2017", scratch, command),
    ]


# ---- our side --------------------------------------------------------------------------------------------------------


def dump(program, dataset, scratch, options, batches=BATCHES):
    """(recipe and boxes, pixels [channels][height][width]) of the first samples."""
    pixels = scratch / "pixels"
    arguments = [f"{key}={value}" for key, value in {**options, **dataset.loader_options}.items()]
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

    cache = "ram"

    def __init__(self, dataset, root):
        self.dataset, self.root, self.infrared = dataset, root, False
        self.data, self.use_keypoints, self.use_obb = dataset.data, dataset.use_keypoints, dataset.use_obb
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
        form = augment.Format(
            bgr=float(recipe["bgr"]) if not infrared else 0.0,
            return_keypoint=self.pictures.use_keypoints,
            return_obb=self.pictures.use_obb,
        )
        return form(labels)


# ---- verdicts --------------------------------------------------------------------------------------------------------


class Pixels:
    def __init__(self):
        self.counts = np.zeros(256, np.int64)

    def add(self, ours, theirs):
        difference = cv2.absdiff(np.ascontiguousarray(ours), np.ascontiguousarray(theirs))
        self.counts += np.bincount(difference.ravel(), minlength=256)

    def within(self, level):
        return self.counts[: level + 1].sum() / self.counts.sum()


def box_distance(box, other):
    return np.abs(box[1:5] - other[1:5]).max(), 0.0


def oriented_distance(box, other):
    """In px and radians. Width and height may change places with a quarter turn: what is a square to within rounding has
    no longer side."""
    found = []
    for turned in (0, 1):
        same = np.array([*other[1:3], other[3 + turned], other[4 - turned]])
        angle = abs((box[5] - other[5] + (turned + 1) * np.pi / 2) % np.pi - np.pi / 2)
        distance = np.abs(box[1:5] - same).max()
        found.append((max(distance, angle * max(box[3:5]) / 2), distance, angle))
    return min(found)[1:]


class Boxes:
    """Labels of both sides, paired by class and place. One that is as small as may be, to within the bar, is no matter of
    either side alone: rounding in single precision decides. So is the visibility of a point on an edge."""

    def __init__(self, task):
        self.distance = oriented_distance if task == "obb" else box_distance
        self.task, self.bar = task, ORIENTED_BAR if task == "obb" else BOX_BAR
        self.count, self.unpaired, self.ties, self.where = 0, 0, 0, None
        self.furthest, self.angle, self.point, self.wrong_points = 0.0, 0.0, 0.0, 0

    def alone(self, boxes, position):
        ties = sum(abs(min(box[3:5]) - LEAST_SIDE) < BOX_BAR for box in boxes)
        self.ties += ties
        self.unpaired += len(boxes) - ties
        self.where = position if len(boxes) > ties else self.where

    def pair(self, box, other, position):
        distance, angle = self.distance(box, other)
        self.count += 1
        self.furthest, self.angle = max(self.furthest, float(distance)), max(self.angle, float(angle))
        missed = distance > self.bar or angle > ANGLE_BAR
        if self.task == "pose":
            ours, theirs = box[5:].reshape(-1, 3), other[5:].reshape(-1, 3)
            apart = float(np.abs(ours[:, :2] - theirs[:, :2]).max())
            wrong = int((ours[:, 2] != theirs[:, 2]).sum())
            self.point, self.wrong_points = max(self.point, apart), self.wrong_points + wrong
            missed = missed or apart > BOX_BAR or wrong
        self.where = position if missed else self.where

    def add(self, ours, theirs, position):
        left, lonely = list(theirs), []
        for box in ours:
            same = [(self.distance(box, other), i) for i, other in enumerate(left) if other[0] == box[0]]
            (distance, _), nearest = min(same, default=((np.inf, 0), -1))
            if distance > 1:
                lonely.append(box)
                continue
            self.pair(box, left.pop(nearest), position)
        self.alone(lonely + left, position)

    def missed(self):
        return (
            self.unpaired or self.furthest > self.bar or self.angle > ANGLE_BAR or self.point > BOX_BAR
            or self.wrong_points
        )

    def more(self):
        if self.task == "obb":
            return f", {self.angle:.1e} rad"
        if self.task == "pose":
            return f", points {self.point:.1e} px, {self.wrong_points} of other visibility"
        return ""


class Report:
    def __init__(self):
        self.failed = False

    def line(self, name, pixels, boxes, bar):
        level, share = bar
        part = pixels.within(level)
        missed = [f"pixels (at least {100 * share:g} %)"] if part < share else []
        if boxes.missed():
            missed.append(f"boxes (all, within {boxes.bar:g} px, {ANGLE_BAR:g} rad; see position {boxes.where})")
        self.failed |= bool(missed)
        largest = int(np.flatnonzero(pixels.counts).max())
        print(
            f"{name:56}{100 * part:9.4f} % <= {level} (largest {largest:3})  {boxes.count:5} boxes, furthest "
            f"{boxes.furthest:.1e} px{boxes.more()}, {boxes.unpaired} on one side only"
            + (f" ({boxes.ties} more of {LEAST_SIDE} px)" if boxes.ties else "")
            + "".join(f"   MISSED: {m}" for m in missed),
            flush=True,
        )


def our_rows(boxes, width, height, task):
    """Class, box in px; then the rotation, or the key points in px."""
    rows = np.array(boxes, float)
    if not len(rows):
        return np.zeros((0, 5))
    rows[:, 1:5] *= [width, height, width, height]
    if task == "pose":
        rows[:, 5::3] *= width
        rows[:, 6::3] *= height
    return rows


def their_rows(labels, width, height, task):
    parts = [labels["cls"].reshape(-1, 1), labels["bboxes"]]
    if task == "pose":
        parts.append(labels["keypoints"].flatten(1))
    return our_rows(np.concatenate([np.asarray(part, float) for part in parts], 1), width, height, task)


def check_training(report, program, dataset, scratch, name, options, bar):
    pipeline = Pipeline(dataset.training, dataset.root, options)
    pixels, boxes = Pixels(), Boxes(dataset.task)
    for recipe, ours in dump(program, dataset, scratch, options):
        for part in range(0, len(ours), 3):
            theirs = pipeline(recipe, infrared=part > 0)
            pixels.add(ours[part : part + 3], theirs["img"].numpy())
            if part == 0:
                found = their_rows(theirs, SIZE, SIZE, dataset.task)
                boxes.add(our_rows(recipe["boxes"], SIZE, SIZE, dataset.task), found, recipe["position"])
    report.line(f"{dataset.name}: {name}", pixels, boxes, bar)


def check_evaluation(report, program, dataset, scratch, rect):
    """Letterboxed, with what goes with a picture: its shapes, ratio and padding. Where a batch ends between pictures of
    one ratio of their sides, which of them it takes is nobody's rule: only how many get which frame is compared."""
    theirs = dataset.dataset(augment=False, rect=rect, batch_size=16, pad=0.5)
    rows = {str(Path(f).relative_to(dataset.root)): i for i, f in enumerate(theirs.im_files)}
    pixels, boxes, frames, wrong = Pixels(), Boxes(dataset.task), collections.Counter(), []
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
        found = their_rows(labels, width, height, dataset.task)
        boxes.add(our_rows(sample["boxes"], width, height, dataset.task), found, sample["position"])
    wrong += [f"height / width {ratio:.4f}: {height} x {width}" for (ratio, height, width), more in frames.items() if more]
    report.line(f"{dataset.name}: evaluation{', rect' if rect else ''}", pixels, boxes, EXACT)
    for line in wrong[:4]:
        print(f"    MISSED: {line}")
    report.failed |= bool(wrong)


def main(command, program, data=None):
    report = Report()
    with tempfile.TemporaryDirectory() as name, mock.patch.object(cv2, "minAreaRect", steady_rectangle):
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
