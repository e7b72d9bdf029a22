"""What a user who made a mistake is told: what happened, to what, and what to do. Never a bare errno."""
import os
import socket
import subprocess
import sys

from lib import GRAY, PICTURE, YOLOPACK, command, found, listing, make_set, pack, png, run_cases, write

NOBODY = 65534
LABEL = "0 0.5 0.5 0.2 0.2\n"


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
    told(2, ["an argument is empty", "yolopack info PACK"], "info", "")
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
    told(3, ["night/data.yaml: no directory", "--labels"], "check", "night", "--labels", "data.yaml")
    told(3, ["a pack is a directory"], "info", "night.ypk/pack.json")
    for reading in (["info"], ["ls"], ["reindex"], ["bench"], ["view", "-o", "x.png"]):
        told(5, ["night", "not a pack", "yolopack night"], reading[0], "night", *reading[1:])
    told(3, ["night exists and is not a pack", "nothing was written"], "pack", "night", "-o", "night")
    os.makedirs("there/below")
    write("there/below/thesis.txt", "x")
    os.rename("there", "new.ypk.partial")
    write("mixed.ypk/pack.json", "{}")
    write("mixed.ypk/photo.jpg", "x")
    # the place is looked at before the data set
    told(3, ["new.ypk.partial", "remove it"], "pack", "missing", "-o", "new.ypk")
    told(3, ["new.ypk.partial", "remove it"], "pack", "night", "-o", "new.ypk", "--resume")
    told(3, ["mixed.ypk exists and is not a pack"], "pack", "missing", "-o", "mixed.ypk")
    write("night.ypk/photo.jpg", "x")
    told(3, ["night.ypk holds photo.jpg"], "pack", "night", "-o", "night.ypk")
    os.remove("night.ypk/photo.jpg")
    out, _ = command("pack", "night", "-o", "night.ypk")
    assert "1 shard, " in out and "in all" in out, out
    assert os.path.exists("new.ypk.partial/below/thesis.txt") and os.path.exists("mixed.ypk/photo.jpg")
    os.makedirs("old.ypk.partial")
    told(5, ["interrupted", "--resume"], "info", "old.ypk.partial")


def case_killed():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"], classes=2)
    pack("night", "q.ypk")
    os.makedirs("k.ypk.partial")
    write("k.ypk.partial/resume.txt", "")
    for reading in (["info"], ["ls"], ["verify"], ["reindex"]):
        told(3, ["k.ypk: unfinished", "yolopack pack DATASET -o k.ypk --resume"], *reading, "k.ypk")


def case_room_for_all_splits():
    disk = os.statvfs(".")
    size = min(disk.f_bavail * disk.f_frsize * 6 // 10, 1 << 43)
    if size == 1 << 43:
        print("the disk has more room than a file may take")
        return
    for split in ("train", "val"):
        write(f"night/images/{split}/{split}.jpg", "")
        os.truncate(f"night/images/{split}/{split}.jpg", size)  # all hole
    told(4, ["no space: the pack needs about"], "pack", "night", "-o", "night.ypk")
    assert not os.path.exists("night.ypk") and not os.path.exists("night.ypk.partial")


def case_strict():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"] * 2, classes=2)
    write("night/images/001.png", b"no picture")
    told(1, ["--strict forbids", "rejected: 1", "dropped: 0"], "pack", "night", "--strict")


def case_what_was_rejected_is_told_before_notes():
    for i in range(40):
        write(f"set/images/{i:02}.png")
    write("set/images/99.png", b"no picture")
    for command_line in (("check", "set"), ("pack", "set", "-o", "set.ypk")):
        out, err = command(*command_line, code=3)
        told_rows = [line for line in (out + err).splitlines() if "\t" in line]
        assert "99.png" in told_rows[0] and len(told_rows) == 20 and "and 61 more" in out + err, (out, err)


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


def case_infrared_under_other_names():
    for folder in ("ImagesIR", "FIR", "thermal_8_bit", "lwir_frames"):
        for i in range(3):
            write(f"{folder}_alone/{folder}/{i}.png", GRAY)
            write(f"{folder}_alone/labels/{i}.txt", LABEL)
            write(f"{folder}_pairs/{folder}/{i}.png", GRAY)
            write(f"{folder}_pairs/Pictures/{i}.png")
        out, err = command("check", f"{folder}_alone")
        assert f"all in {folder}: 3 IR images" in err and "3 boxes" in out and "hint" not in err, (out, err)
        _, err = command("check", f"{folder}_pairs")
        assert f"Pictures/ + {folder}/ by name: 3 pairs" in err and "hint" not in err, err
    # a name is no proof
    write("trees/fir/0.png")
    write("trees/fir/1.png")
    told(0, ["all 2 pictures have colours, and are taken as infrared", "--modality rgb"], "check", "trees")
    _, err = command("check", "trees", "--modality", "rgb")
    assert "hint" not in err, err


def case_gray_pictures_taken_as_rgb():
    three = png(40, 30, lambda x, y: (6 * x,) * 3)
    for i in range(12):
        write(f"gray/images/{i}.png", GRAY if i % 2 else three)
        write(f"mixed/images/{i}.png", GRAY if i % 3 else PICTURE)
        write(f"folder/a/{i}.png")
        write(f"folder/b/{i + 50}.png", GRAY)
    words = ["hint      all 12 pictures are gray, and taken as RGB", "--modality ir"]
    told(0, words, "check", "gray")
    told(0, words, "pack", "gray", "-o", "gray.ypk", "--preset", "raw")
    assert "all 12 pictures are gray" in pack("gray", "gray.ypk")["hint"]
    told(0, ["hint      all 12 pictures of b/ are gray", "--pair dir:RGB=IR"], "check", "folder")
    for quiet in (["mixed"], ["gray", "--modality", "rgb"], ["gray", "--modality", "ir"]):
        _, err = command("check", *quiet)
        assert "hint" not in err, err


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
        try:
            runs = subprocess.run([YOLOPACK, "--version"], capture_output=True, **user).returncode == 0
        except PermissionError:  # a directory above it is closed to others, as /root is
            runs = False
        if not runs:
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


def case_outputs_are_looked_at_before_the_work():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"] * 3, classes=2)
    out, err = command("check", "night", "--report", "nowhere/night.tsv", code=3)
    assert "nowhere/night.tsv" in err and out == "" and "images" not in err, (out, err)
    out, _ = command("check", "night", "--report", "nowhere/night.tsv", "--json", code=3)
    assert '"error"' in out, out
    pack("night", "night.ypk")
    told(3, ["nowhere/tune.svg"], "tune", "night.ypk", "--plot", "nowhere/tune.svg")


def case_data_yaml_names_what_is_not_there():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"] * 3, classes=2)
    write("night/data.yaml", "path: .\ntrain: imagse\nnames: [a, b]\n")
    _, err = command("check", "night", code=3)
    assert "data.yaml:2: imagse is not there (did you mean images?)" in err and 'correct "train" or "path"' in err, err
    assert err.count("night/imagse\n") == 1, err
    os.makedirs("night/later")
    write("night/data.yaml", "train: images\nval: later\nnames: [a, b]\n")
    told(3, ["val: no picture in what it names", "names  later", 'correct "val", or remove it'], "check", "night")
    # a list that was made on another machine
    write("night/list.txt", "/no-such/machine/images/000.png\n")
    write("night/data.yaml", "train: list.txt\nnames: [a, b]\n")
    told(3, ["train: no picture", 'list.txt:1:1: "/no-such/machine/images/000.png": not there'], "check", "night")
    write("night/list.txt", "images/000.png\n/no-such/machine/images/001.png\nimages/002.png\n")
    _, err = command("pack", "night", "-o", "night.ypk", "--max-rejects", "50%")
    assert "1 × listed image that does not exist" in err, err
    assert sorted(listing("night.ypk")) == ["images/000.png", "images/002.png"]
    # pictures that no split names
    assert "1 × group of pictures that no split names" in err, err
    write("night/labels.json", "{}")
    told(3, ["labels.json", "YOLO rows"], "check", "night/labels.json")


def case_a_misspelt_key_of_a_map():
    make_set("night", ["0 0.5 0.5 0.2 0.2\n"], classes=2)
    write("night.jsonl", '{"id": "7", "rgb": "images/000.png", "lable": "labels/000.txt"}\n')
    told(3, ["night.jsonl:1", '"lable"', "did you mean label?"], "check", "night", "--pair", "map:night.jsonl")
    write("night.jsonl", '{"RGB": "images/000.png"}\n')
    told(3, ["did you mean rgb?"], "check", "night", "--pair", "map:night.jsonl")
    write("night.jsonl", '{"id": "7", "rgb": "images/000.png", "labels": ["labels/000.txt"]}\n')
    command("check", "night", "--pair", "map:night.jsonl")


def case_labels_written_otherwise():
    for i in range(3):
        write(f"night/images/train/{i}.png")
        write(f"night/Labels/train/{i}.txt", LABEL)
    _, err = command("check", "night")
    assert "no labels" in err and "hint      Labels/train/0.txt" in err and "--labels Labels" in err, err
    out, _ = command("check", "night", "--labels", "Labels")
    assert "3 boxes" in out, out


def case_most_rows_are_dropped():
    make_set("pixels", ["0 320 240 64 48\n0 0.5 0.5 0.2 0.2\n0 12 24 6 8\n", "1 100 50 20 10\n"], classes=2)
    words = ["3 of 4 label rows dropped (75 %)", 'labels/000.txt:1:3: "320"', "pixels", "--max-rejects 100%"]
    for name in ("pack", "check"):
        told(3, words, name, "pixels", *(["-o", "pixels.ypk"] if name == "pack" else []))
    assert not os.path.exists("pixels.ypk")
    told(3, ["(75 %)"], "check", "pixels", "--max-rejects", "70%")
    _, err = command("pack", "pixels", "-o", "pixels.ypk", "--max-rejects", "80%")
    assert "75 % of 4 label rows; first: labels/000.txt:1:3" in err, err
    make_set("classes", ["7 0.5 0.5 0.2 0.2\n", "8 0.5 0.5 0.2 0.2\n"], classes=2)
    told(3, ["(100 %)", 'labels/000.txt:1:1: "7"', "names"], "check", "classes")
    _, err = command("check", "classes", "--max-rejects", "100%")
    assert "Where are they" not in err and "100 % of 2 label rows" in err, err
    # half of them is not more than half
    make_set("half", ["7 0.5 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.2\n"], classes=2)
    command("check", "half")
    # rows that --classes leaves out are no part of the whole
    make_set("chosen", ["0 0.5 0.5 0.2 0.2\n" + "1 0.5 0.5 0.2 0.2\n" * 9 + "0 5 5 5 5\n0 6 5 5 5\n"], classes=2)
    told(3, ["2 of 3 label rows"], "check", "chosen", "--classes", "0")


def make_splits(text, images="images", splits=("train", "val")):
    """Three pictures a split with a label each, and a data.yaml."""
    for split in splits:
        for i in range(3):
            write(f"night/{images}/{split}/{split}{i}.png")
            write(f"night/labels/{split}/{split}{i}.txt", LABEL)
    write("night/data.yaml", text)


PLACES = "path: .\ntrain: images/train\nval: images/val\n"


def case_class_names():
    make_splits(PLACES + "names: {0: car, 1: bus, 2: car}\n")
    _, err = command("pack", "night", "-o", "night.ypk")
    assert 'hint      data.yaml:4: "car": classes 0 and 2 have this name' in err, err
    assert found("night.ypk", "yaml-value") == [("data.yaml", 4, 0, "car")]
    out, _ = command("check", "night", "--classes", "car", "--json")
    assert '"rows_filtered":0' in out.replace(" ", ""), out
    write("night/data.yaml", PLACES + "names: {0: car, 0: bus}\n")
    told(3, ["data.yaml:4:17", 'class 0 is there twice, "car" first', "remove one"], "check", "night")
    # nc alone names classes as Ultralytics does, and bounds them
    write("night/labels/train/train0.txt", "3 0.5 0.5 0.2 0.2\n")
    write("night/data.yaml", PLACES + "nc: 3\n")
    out, err = command("check", "night")
    assert "class_0 to class_2" in err and "row-class" in out and "in 3 classes" in out, (out, err)
    write("night/data.yaml", PLACES)
    _, err = command("check", "night")
    assert "hint      data.yaml: \"names\": there are none" in err, err


def case_yaml_that_stands_for_other():
    make_splits("root: &r images/train\nclasses: &c [car, bus]\npath: .\ntrain: *r\nval: images/val\nnames: *c\n")
    out, err = command("check", "night")
    assert "in 2 classes" in out and "yaml-key" not in out, (out, err)
    write("night/data.yaml", PLACES + "names: *gone\n")
    told(3, ["data.yaml:4:8", "gone", "an anchor (&name) has to come first"], "check", "night")
    write("night/data.yaml", PLACES + "names: !join [a]\n")
    told(3, ["data.yaml:4:8", "the tag !join is not read", "write the value out"], "check", "night")
    write("night/data.yaml", PLACES + "names: [a]\n---\nnames: [b]\n")
    told(3, ["data.yaml:5:1", "a second document"], "check", "night")


def case_labels_that_are_no_files():
    def directory(path):
        os.mkdir(path)

    def fifo(path):
        os.mkfifo(path)

    def dangling(path):
        os.symlink("nowhere", path)

    def listening(path):
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)

    def device(path):
        os.symlink("/dev/null", path)

    kinds = [(directory, "is a directory"), (fifo, "is a FIFO"), (dangling, "is a symbolic link that leads nowhere"),
             (listening, "is a socket"), (device, "is a device")]
    make_set("night", [LABEL] * 3, classes=2)
    for make, reason in kinds:
        label = "night/labels/001.txt"
        os.remove(label)
        make(label)
        for place in ([], ["--labels", "night/labels"]):
            out, err = command("check", "night", "--max-rejects", "50%", *place)
            assert f"labels/001.txt: {reason}" in out and "label-missing" not in out, out
            assert "1 × image whose label file is unreadable" in err, err
            assert "make it a readable file of UTF-8 text, or remove it" in err, err
        told(3, ["1 of 3 samples rejected"], "pack", "night", "-o", "night.ypk")
        if make is directory:
            os.rmdir(label)
        else:
            os.remove(label)
        write(label, LABEL)
    # nothing is asked of what no picture claims
    os.mkdir("night/notes.txt")
    os.symlink("nowhere", "night/labels/other.txt")
    out, _ = command("pack", "night", "-o", "night.ypk")
    assert found("night.ypk", "label-orphan") == [("labels/other.txt", 0, 0, "")]


def case_splits_misspelt():
    make_splits(PLACES.replace("images/train", "images/trian") + "names: [car]\n")
    told(3, ["data.yaml:2: images/trian is not there (did you mean images/train?)"], "check", "night")
    write("night/data.yaml", PLACES.replace("images/val", "imgaes/val") + "names: [car]\n")
    told(3, ["val: imgaes/val is not there (did you mean images/val?)"], "check", "night")
    write("night/data.yaml", PLACES.replace("images/train", "images\\train") + "names: [car]\n")
    told(3, ["(did you mean images/train?)"], "check", "night")
    write("night/images/test/a.png")
    write("night/data.yaml", PLACES + "test: images/tset\nnames: [car]\n")
    told(0, ["hint", '"images/tset"', "did you mean images/test?", "left out"], "check", "night")
    write("night/list.txt", "images\\train\\train0.png\n")
    write("night/data.yaml", PLACES.replace("images/train", "list.txt") + "names: [car]\n")
    told(3, ["list.txt:1:1", "write / for"], "check", "night")


def case_splits_that_overlap():
    make_splits(PLACES.replace("images/train", "images") + "names: [car]\n")
    told(0, ["hint      data.yaml: 3 of the 3 samples of val are in train too"], "check", "night")


def case_split_without_value():
    make_splits(PLACES.replace("val: images/val", "val:") + "names: [car]\n")
    told(0, ['hint      data.yaml:3: "val"', "there is no such split"], "check", "night")
    write("night/data.yaml", PLACES.replace("val:", "vall:") + "names: [car]\n")
    told(0, ["hint", "vall", "did you mean val?"], "check", "night")


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
