"""Key points and oriented boxes from label text to what training and evaluation are given, drawn."""
import json

import lib

POSES = [
    "0 0.5 0.5 0.4 0.4 0.4 0.4 2 0.6 0.4 1\n1 0.2 0.2 0.2 0.2 0.15 0.2 2 0 0 0\n",
    "",
    "1 0.6 0.6 0.5 0.6 0.9 0.6 2 0.6 0.9 2\n",
]
ORIENTED = [
    "0 0.5 0.1 0.9 0.5 0.5 0.9 0.1 0.5\n",
    "1 0.1 0.1 0.4 0.2 0.35 0.35 0.05 0.25\n0 0.6 0.6 0.9 0.6 0.9 0.9 0.6 0.9\n",
    None,
]


def drawn(task, labels, more=""):
    """One picture of each kind; the same with the labels left out has to look different."""
    seen = {}
    for name, texts in (("full", labels), ("empty", [None] * len(labels))):
        lib.make_set(name, texts)
        lib.write(f"{name}/data.yaml", lib.names(2) + more)
        lib.command("pack", name, "-o", f"{name}.ypk", "-q", "--task", task)
        for kind in ("--train", "--eval"):
            picture = f"{name}{kind}.png"
            out, _ = lib.command("view", f"{name}.ypk", "-o", picture, kind, "--batch", "3", "--imgsz", "64")
            assert f"positions 0-{len(labels) - 1}" in out, out
            with open(picture, "rb") as f:
                seen[name, kind] = f.read()
        lib.command("view", f"{name}.ypk", "-o", f"{name}.png")
        lib.command("verify", f"{name}.ypk", "-q")
    for kind in ("--train", "--eval"):
        assert seen["full", kind] != seen["empty", kind], kind


def case_poses():
    drawn("pose", POSES, "kpt_shape: [2, 3]\nflip_idx: [1, 0]\n")


def case_flipped_poses():
    """From data.yaml to the manifest, to the loader of the commands, and back into a data.yaml."""
    shape, flips = "kpt_shape: [2, 3]\n", "flip_idx: [1, 0]\n"
    lib.make_set("set", POSES)
    seen = {}
    for name, more in (("with", flips), ("without", "")):
        lib.write("set/data.yaml", lib.names(2) + shape + more)
        lib.command("pack", "set", "-o", f"{name}.ypk", "-q")
        for fliplr in (0, 1):
            recipe = f"mosaic=0,scale=0,translate=0,hsv_h=0,hsv_s=0,hsv_v=0,fliplr={fliplr}"
            lib.command("view", f"{name}.ypk", "-o", "seen.png", "--train", "--augment", recipe, "--imgsz", "64")
            with open("seen.png", "rb") as f:
                seen[name, fliplr] = f.read()
    assert seen["with", 0] == seen["without", 0] and seen["with", 1] != seen["without", 1]
    lib.command("bench", "with.ypk", "--imgsz", "64", "--seconds", "1", "--augment", "fliplr=1")
    lib.command("view", "with.ypk", "-o", "seen.png", "--eval", "--imgsz", "64")

    assert "no flip_idx" in lib.command("info", "without.ypk")[0]
    assert "flip_idx [1, 0]" in lib.command("info", "with.ypk")[0]
    assert json.loads(lib.command("info", "with.ypk", "--json")[0])["options"]["flip_idx"] == [1, 0]
    for name in ("with", "without"):
        lib.command("export", f"{name}.ypk", name, "-q")
        with open(f"{name}/data.yaml") as f:
            assert (f"\n{shape}{flips}" in f.read()) == (name == "with")
    lib.command("pack", "with", "-o", "again.ypk", "-q")
    assert json.loads(lib.command("info", "again.ypk", "--json")[0])["options"]["flip_idx"] == [1, 0]

    lib.write("set/data.yaml", lib.names(2) + shape + "flip_idx: [0, 1]\n")
    out, _ = lib.command("verify", "with.ypk", "--source", "set", code=3)
    assert "set/data.yaml: its flip_idx is not the one that was packed" in out, out
    _, err = lib.command("pack", "set", "-o", "with.ypk", "--append", code=3)
    assert "with flip_idx [1,0], not [0,1]" in err, err
    lib.write("set/data.yaml", lib.names(2) + shape + "flip_idx: [0, 1, 2]\n")
    _, err = lib.command("pack", "set", code=3)
    assert "data.yaml:4:11: flip_idx has 3 entries but kpt_shape has 2 points" in err, err


def case_parts_agree_on_flips():
    lib.make_set("set", POSES)
    for number, flips in ((0, [1, 0]), (1, [1, 0]), (1, [0, 1])):
        lib.write("set/data.yaml", lib.names(2) + f"kpt_shape: [2, 3]\nflip_idx: {flips}\n")
        lib.command("pack", "set", "-o", f"{number}{flips[0]}.ypk", "--part", f"{number}/2", "-q")
    lib.command("merge", "01.ypk", "11.ypk", "-o", "whole.ypk")
    assert json.loads(lib.command("info", "whole.ypk", "--json")[0])["options"]["flip_idx"] == [1, 0]
    lib.command("verify", "whole.ypk", "-q")
    _, err = lib.command("merge", "01.ypk", "10.ypk", "-o", "wrong.ypk", code=3)
    assert "10.ypk was packed with flip_idx [0,1], 01.ypk with [1,0]: pack one of them again" in err, err


def case_poses_without_visibility():
    rows = ["0 0.5 0.5 0.4 0.4 0.4 0.4 0.6 0.4\n", "1 0.6 0.6 0.5 0.6 0.9 0.6 0.6 0.9\n"]
    drawn("pose", rows, "kpt_shape: [2, 2]\n")


def case_oriented_boxes():
    drawn("obb", ORIENTED)


if __name__ == "__main__":
    lib.run_cases(globals())
