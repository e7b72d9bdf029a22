"""Key points and oriented boxes from label text to what training and evaluation are given, drawn."""
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


def case_poses_without_visibility():
    rows = ["0 0.5 0.5 0.4 0.4 0.4 0.4 0.6 0.4\n", "1 0.6 0.6 0.5 0.6 0.9 0.6 0.6 0.9\n"]
    drawn("pose", rows, "kpt_shape: [2, 2]\n")


def case_oriented_boxes():
    drawn("obb", ORIENTED)


if __name__ == "__main__":
    lib.run_cases(globals())
