"""Real data sets: the counts that are known, and every kept source back bit for bit."""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

from same_bytes import YOLOPACK, tree

DATA = os.environ.get("YPK_TEST_DATA")


def pack(out, *arguments):
    run = subprocess.run([YOLOPACK, "pack", *arguments, "-o", out, "--json"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def rules(out):
    with open(os.path.join(out, "report.json")) as f:
        return json.load(f)["counts"]


def check_export(out, source, expected_images):
    """Every image of the pack comes back with the bytes and at the place of its source."""
    folder = out + ".export"
    subprocess.run([YOLOPACK, "export", out, folder], check=True, stdout=subprocess.DEVNULL)
    seen = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            if not name.lower().endswith((".jpg", ".jpeg")):
                continue
            full = os.path.join(directory, name)
            with open(full, "rb") as f, open(os.path.join(source, os.path.relpath(full, folder)), "rb") as g:
                assert hashlib.sha256(f.read()).digest() == hashlib.sha256(g.read()).digest(), full
            seen += 1
    assert seen == expected_images, (seen, expected_images)


def check_whole(out):
    subprocess.run([YOLOPACK, "verify", out], check=True, stdout=subprocess.DEVNULL)


def packed(out):
    with open(os.path.join(out, "pack.json")) as f:
        manifest = json.load(f)
    return sum(s["samples"] for s in manifest["splits"].values() if "same_as" not in s)


def main():
    if not DATA or not os.path.isdir(DATA):
        print("the real data sets are not here (YPK_TEST_DATA)")
        return 77
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        sets = {name: os.path.join(DATA, name) for name in ("roadscene", "llvip", "coco128", "hit_uav")}
        before = {name: tree(path) for name, path in sets.items()}

        pack("roadscene.ypk", sets["roadscene"])
        assert packed("roadscene.ypk") == 221
        check_whole("roadscene.ypk")
        check_export("roadscene.ypk", sets["roadscene"], 442)

        pack("llvip.ypk", sets["llvip"], "--pair", "dir:rgb=ir")
        assert packed("llvip.ypk") == 44
        check_whole("llvip.ypk")
        check_export("llvip.ypk", sets["llvip"], 88)

        pack("coco128.ypk", sets["coco128"])
        assert packed("coco128.ypk") == 128
        counts = rules("coco128.ypk")
        assert counts["label-missing"] == 2 and counts["label-orphan"] == 2, counts
        check_whole("coco128.ypk")
        check_export("coco128.ypk", sets["coco128"], 128)

        pack("hit_uav.ypk", os.path.join(sets["hit_uav"], "ir"), "--modality", "ir", "--labels",
             os.path.join(sets["hit_uav"], "labels_yolo_derived"))
        assert packed("hit_uav.ypk") == 100
        assert rules("hit_uav.ypk").get("label-missing", 0) == 0
        check_whole("hit_uav.ypk")
        check_export("hit_uav.ypk", os.path.join(sets["hit_uav"], "ir"), 100)

        for name, path in sets.items():
            assert tree(path) == before[name], f"{name}: sources were changed"
        print("roadscene 221 pairs, llvip 44 pairs, coco128 128 images, hit_uav 100 infrared images; sources untouched")


if __name__ == "__main__":
    sys.exit(main())
