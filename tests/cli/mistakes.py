"""What a user who made a mistake is told: what happened, to what, and what to do. Never a bare errno."""
import os
import subprocess
import sys

from lib import GRAY, YOLOPACK, command, make_set, pack, run_cases, write

NOBODY = 65534


def told(code, words, *arguments, **options):
    _, err = command(*arguments, code=code, **options)
    assert all(word in err for word in words), f"{arguments}: {words} are not all in: {err}"
    assert "errno" not in err and "NULL" not in err and "YPK_" not in err and "ERR_" not in err, err


def case_misspelt():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"], classes=2)
    pack("night", "night.ypk")
    told(2, ["no option --qualty", "--quality"], "pack", "--qualty", "3", "night")
    told(2, ["yolopack check"], "chek", "night")
    told(3, ["nigth", "did you mean", "night"], "check", "nigth")
    told(3, ["night.yapk", "night.ypk"], "info", "night.yapk")
    told(3, ["data.yml", "did you mean night/data.yaml"], "check", "night/data.yml")
    told(2, ["keep|train|raw"], "pack", "night", "--preset", "trian")
    told(3, ["no split", "did you mean train"], "ls", "night.ypk", "--split", "trian")


def case_the_wrong_kind_of_place():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"], classes=2)
    pack("night", "night.ypk")
    os.makedirs("empty")
    write("text/notes.txt", "x")
    told(3, ["empty", "no picture in it"], "check", "empty")
    told(3, ["no picture in it", "1 .txt files"], "check", "text")
    told(3, ["night.ypk: is a pack already", "yolopack info"], "pack", "night.ypk", "-o", "again.ypk")
    told(3, ["neither a directory nor a .yaml file"], "check", "night/images/000.png")
    told(3, ["a pack is a directory"], "info", "night.ypk/pack.json")
    for reading in (["info"], ["ls"], ["reindex"], ["bench"], ["view", "-o", "x.png"]):
        told(5, ["night", "not a pack", "yolopack night"], reading[0], "night", *reading[1:])
    told(3, ["night exists and is not a pack", "nothing was written"], "pack", "night", "-o", "night")
    os.makedirs("old.ypk.partial")
    told(5, ["interrupted", "--resume"], "info", "old.ypk.partial")


def case_only_infrared():
    for folder, rule in (("imagesIR", "imagesIR"), ("thermal", "thermal"), ("ir", "ir")):
        for i in range(3):
            write(f"{folder}_set/{folder}/{i}.png", GRAY)
            write(f"{folder}_set/labels/{i}.txt", "0 0.5 0.5 0.2 0.2\n")
        _, err = command("pack", f"{folder}_set", "-o", f"{folder}.ypk")
        assert f"all in {rule}: 3 IR images" in err, err
        out, _ = command("ls", f"{folder}.ypk", "--json")
        assert '"rgb":null' in out and '"boxes":1' in out, out
    told(3, ["no RGB + IR pair"], "check", "ir_set", "--modality", "rgb+ir")
    # a folder "image" says nothing of infrared
    write("plain/image/a.png")
    _, err = command("check", "plain")
    assert "RGB image" in err, err


def case_no_permission():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"] * 3, classes=2)
    os.makedirs("closed")
    os.chmod("closed", 0o555)
    os.chmod("night/images/001.png", 0)
    os.chmod("night/labels/002.txt", 0)
    user = {}
    if os.geteuid() == 0:
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        os.chmod(".", 0o755)
        if subprocess.run([YOLOPACK, "--version"], capture_output=True, **user).returncode != 0:
            print("the command cannot be run by another user here")
            return
    out, err = command("check", "night", "--max-rejects", "1", **user)
    assert "images/001.png: Permission denied" in out and "labels/002.txt: Permission denied" in out, out
    assert "1 × unreadable file" in err and "1 × image whose label file is unreadable" in err, err
    out, _ = command("check", "night", "--max-rejects", "1", "--json", **user)
    assert '"rejected":2' in out.replace(" ", "") and '"background' in out and '"label-unreadable":1' in out.replace(" ", ""), out
    told(4, ["closed/x.ypk", "cannot make the directory", "Permission denied"], "pack", "night", "-o", "closed/x.ypk",
         "--max-rejects", "1", **user)
    os.chmod("night/images", 0)
    told(4, ["night/images", "cannot be read", "Permission denied"], "check", "night", **user)
    os.chmod("night/images", 0o755)


def case_labels_that_are_not_seen():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"] * 3, classes=2)
    _, err = command("check", "night/images")
    assert "no labels" in err and "--labels" in err, err
    os.rename("night/labels", "night/annotations")
    told(0, ["no labels", "--labels"], "check", "night")
    _, err = command("check", "night", "--labels", "night/annotations")
    assert "no labels" not in err, err
    told(3, ["anotations", "did you mean"], "check", "night", "--labels", "night/anotations")


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
