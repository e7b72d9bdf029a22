"""Odd names and odd files, from directory to pack and back."""
import os
import sys

from lib import PICTURE, command, found, listing, pack, report, run_cases, write, Dataset

ROW = "0 0.5 0.5 0.2 0.2\n"


def case_18_names_are_bytes():
    long_name = "n" * 251 + ".png"
    stems = ["缺陷 0001 (2)".encode(), b"a%b#c", b"q'uote", b"byte \xff", long_name[:-4].encode()]
    top = os.fsencode("dane 数据 set")
    for stem in stems:
        write(top + b"/images/" + stem + b".png")
        write(top + b"/labels/" + stem + b".txt", ROW)
    write(top + "/images/caf\u00e9.png".encode())
    write(top + "/labels/cafe\u0301.txt".encode(), ROW)

    done = pack(top, "names.ypk", env={**os.environ, "LC_ALL": "C"})
    assert done["total"]["packed"] == 6 and done["total"]["labels"] == 5, done["total"]
    expected = {b"images/" + s + b".png" for s in stems} | {"images/caf\u00e9.png".encode()}
    with Dataset("names.ypk") as dataset:
        assert {dataset.sample(i).name for i in range(6)} == expected, "names come back byte for byte"
    near = found("names.ypk", "label-near")
    assert [row[0] for row in near] == ["labels/cafe\u0301.txt"], near
    out, _ = command("ls", "names.ypk")
    assert r"byte \xFF.png" in out and "缺陷 0001 (2).png" in out
    command("export", "names.ypk", "back")
    for stem in stems:
        assert os.path.exists(b"back/labels/" + stem + b".txt"), stem


def case_32_stems_and_suffixes():
    pictures = ["a.jpg.jpg", "IMG_1.JPG", "x.JpEg", "v1.2.png", "set.v2/22.05.png", "y.jpeg", "x.txt.jpg"]
    for name in pictures:
        write(f"odd/images/{name}")
        write(f"odd/labels/{name.rsplit('.', 1)[0]}.txt", ROW)
    write("odd/images/.jpg")
    write("odd/images/film.mp4", "x")
    write("odd/images/film2.mp4", "x")
    write("odd/images/raw.CR2", "x")
    done = pack("odd", "odd.ypk")
    assert set(listing("odd.ypk")) == {f"images/{name}" for name in pictures}
    assert done["total"]["labels"] == len(pictures), "every one has found its label file"
    skipped = {r["value"]: r["message"] for r in report("odd.ypk") if r["rule"] == "file-skipped"}
    assert "2 such files" in skipped["*.mp4"] and any(v.lower() == "*.cr2" for v in skipped), skipped
    assert any(r["rule"] == "file-skipped" and ".jpg" in r["path"] + r["value"] for r in report("odd.ypk")), skipped


def case_45_droppings_are_counted():
    write("mac/images/a.png")
    write("mac/labels/a.txt", ROW)
    for name in ("._a.jpg", ".DS_Store", "Thumbs.db", "__MACOSX/._b.jpg", "desktop.ini"):
        write(f"mac/images/{name}", "dropping")
    os.makedirs("mac/images/empty")
    os.mkfifo("mac/images/fifo.jpg")
    os.makedirs("mac/images/d.jpg")
    done = pack("mac", "mac.ypk")
    assert done["total"]["packed"] == 1 and list(listing("mac.ypk")) == ["images/a.png"]
    skipped = [r for r in report("mac.ypk") if r["rule"] == "file-skipped"]
    named = " ".join(r["path"] + " " + r["value"] + " " + r["message"] for r in skipped)
    for name in ("fifo.jpg", "d.jpg", "Thumbs.db", "__MACOSX", "desktop.ini"):
        assert name in named, (name, named)


def case_24_deep_trees_and_few_descriptors():
    deep = "deep/images/" + "/".join(f"d{i}" for i in range(300))
    write(f"{deep}/a.png")
    for i in range(2000):
        write(f"deep/images/wide/{i}/p.png", PICTURE if i % 100 == 0 else b"")
    done = pack("deep", "deep.ypk", "-j", "2", "--max-rejects", "1", "--shard-size", "1M", preexec_fn=few_descriptors)
    assert done["total"]["packed"] == 21 and done["report"]["counts"]["image-empty"] == 1980


def few_descriptors():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
