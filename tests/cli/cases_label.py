"""Label files and data.yaml as people write them."""
import os
import subprocess
import sys

from lib import boxes, command, found, make_set, names, pack, report, run_cases, single, write, PICTURE

GOOD = "1 0.25 0.25 0.1 0.1\n"
GOOD_BOX = (1, single(0.25), single(0.25), single(0.1), single(0.1))


def box(class_id, *values):
    return (class_id, *(single(v) for v in values))


def totals_add_up(done, out):
    total = done["total"]
    rows = report(out)
    dropped = sum(r["action"] == "dropped" for r in rows)
    assert total["rows"] == total["rows_kept"] + total["rows_dropped"] + total["rows_duplicate"], total
    assert dropped == total["rows_dropped"] and total["labels"] == total["rows_kept"], (dropped, total)
    assert sum(r["action"] == "clamped" for r in rows) == total["rows_clamped"]


def case_01_coordinates_outside():
    lines = {"A": "0 0.5 0.5 1.0 1.0", "B": "0 0.78 0.4987 0.41 1.0025", "C": "0 320 240 64 48",
             "D": "0 0.42 0.33 -0.73 0.35", "E": "0 1.0000001 0.5 0.1 0.1", "F": "0 0.95 0.5 0.2 0.2"}
    for name, line in lines.items():
        write(f"six/images/{name}.png")
        write(f"six/labels/{name}.txt", line + "\n" + GOOD)
    write("six/data.yaml", names(2))

    done = pack("six", "six.ypk")
    totals_add_up(done, "six.ypk")
    assert done["total"]["packed"] == 6 and done["total"]["rows_kept"] == 9 and done["total"]["rows_clamped"] == 1
    seen = boxes("six.ypk")
    assert all(GOOD_BOX in rows for rows in seen.values()), "the good row is never lost"
    assert seen["A.png"][0] == box(0, 0.5, 0.5, 1, 1) and seen["F.png"][0] == box(0, 0.95, 0.5, 0.2, 0.2)
    assert seen["E.png"][0] == box(0, 1, 0.5, 0.1, 0.1)
    assert found("six.ypk", "row-range") == [("labels/B.txt", 1, 20, "1.0025"), ("labels/C.txt", 1, 3, "320"),
                                             ("labels/D.txt", 1, 13, "-0.73")]
    assert found("six.ypk", "row-clamped") == [("labels/E.txt", 1, 3, "1.0000001")]

    # clip: the same tolerance as Ultralytics has; stop: --strict
    done = pack("six", "clip.ypk", "--clamp", "1%")
    assert done["total"]["rows_clamped"] == 2 and done["total"]["rows_dropped"] == 2
    assert boxes("clip.ypk")["B.png"][0] == box(0, 0.78, 0.4987, 0.41, 1)
    command("pack", "six", "-o", "strict.ypk", "--strict", code=1)
    assert not os.path.exists("strict.ypk")


def case_06_classes_outside_names():
    make_set("ids", [f"{i} 0.5 0.5 0.2 0.2\n" + GOOD for i in ("80", "-1", "2.0", "1.5", "03", "1e1")])
    done = pack("ids", "ids.ypk")
    totals_add_up(done, "ids.ypk")
    assert [row[0::3] for row in found("ids.ypk", "row-class")] == [("labels/000.txt", "80"), ("labels/001.txt", "-1"),
                                                                   ("labels/003.txt", "1.5")]
    assert all("0 to 79" in r["message"] for r in report("ids.ypk") if r["rule"] == "row-class")
    seen = boxes("ids.ypk")
    assert [seen[f"{i:03}.png"][0][0] for i in (2, 4, 5)] == [2, 3, 10]

    # ids from 1 to 80: one hint; no id outside gets into the pack
    make_set("one", ["".join(f"{i} 0.5 0.5 0.{i:03} 0.2\n" for i in range(1, 81))] * 5)
    done = pack("one", "one.ypk")
    assert done["report"]["counts"]["ids-one-based"] == 1 and done["total"]["rows_dropped"] == 5
    assert max(b[0] for rows in boxes("one.ypk").values() for b in rows) == 79
    # the ids of COCO's 91 categories are no such thing
    make_set("coco", ["1 0.5 0.5 0.1 0.2\n79 0.5 0.5 0.1 0.2\n80 0.5 0.5 0.1 0.2\n90 0.5 0.5 0.1 0.2\n"])
    assert "ids-one-based" not in pack("coco", "coco.ypk")["report"]["counts"]


def case_12_texts_from_windows():
    row = "0 0.5 0.5 0.2 0.2"
    same = [b"\xef\xbb\xbf" + row.encode(), f"{row}\r\n", f"{row}\r", row.replace(" ", "\t \t"), row, f"\n\n{row}\n\n",
            f"{row}  \n"]
    refused = [row.replace(" ", ","), row.replace(".", ","), b"\xff\xfe" + row.encode("utf-16-le"),
               row.encode()[:7] + b"\0" + row.encode()[7:]]
    make_set("win", same + refused)
    write("win/data.yaml", names(80).encode() + "# \U0001F600 ".encode() + "缺".encode("gbk") + b"\n")
    locales = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    results = []
    for wanted in ("C", "de_DE.UTF-8"):
        if wanted != "C" and not {"de_DE.utf8", wanted} & set(locales):
            print("the locale de_DE.UTF-8 is not here")
        done = pack("win", f"{wanted}.ypk", "--max-rejects", "20%", env={**os.environ, "LC_ALL": wanted})
        totals_add_up(done, f"{wanted}.ypk")
        seen = boxes(f"{wanted}.ypk")
        assert all(seen[f"{i:03}.png"] == [box(0, 0.5, 0.5, 0.2, 0.2)] for i in range(len(same))), seen
        bad = found(f"{wanted}.ypk", "label-encoding")
        utf16 = len(same) + 2
        assert [row[0] for row in bad] == [f"labels/{i:03}.txt" for i in range(len(same), len(same) + 4) if i != utf16], bad
        # not one row of it is known: its image is no background
        assert [row[0] for row in found(f"{wanted}.ypk", "label-unreadable")] == [f"labels/{utf16:03}.txt"]
        assert f"{utf16:03}.png" not in seen and done["total"]["rejected"] == 1, seen
        results.append((seen, bad))
    assert results[0] == results[1]


def case_14_backgrounds():
    make_set("bg", [GOOD, GOOD, None, None, "", "", "\n", "  "])
    done = pack("bg", "bg.ypk")
    total = done["total"]
    assert (total["packed"], total["background_no_file"], total["background_empty"]) == (8, 2, 4), total
    assert done["report"]["counts"]["label-missing"] == 2 and done["report"]["counts"]["label-empty"] == 4
    assert all(not rows for name, rows in boxes("bg.ypk").items() if name >= "002")
    command("bench", "bg.ypk", "--batch", "4", "--imgsz", "64")

    make_set("empty", ["", "", None])
    _, err = command("pack", "empty", "-o", "empty.ypk")
    assert "no labels" in err and "--labels" in err, err
    command("verify", "empty.ypk")


def case_16_data_yaml():
    def yaml(text, code=0):
        write("set/data.yaml", text)
        return command("check", "set", code=code)[1]

    make_set("set", [GOOD, GOOD], classes=0)
    write("set/more/images/x.png")
    head = "train: images\n"
    listed, mapped = (pack("set", f"{i}.ypk") for i, text in enumerate(("names: ['a', 'b']", "names: {0: a, 1: b}"))
                      if not write("set/data.yaml", head + text + "\n"))
    assert listed["total"] == mapped["total"] and listed["classes"] == 2
    for text, line, word in (("names: {0: a, 2: c}", 2, "without a gap"), ("names:\n  0:a\n  1:b", 3, "blank"),
                             ("nc: 3\nnames: [a, b]", 2, "names has 2"), ("names:\n\t- a", 3, "tab"),
                             ("names: [a, b]\nnames: [a]", 3, "twice")):
        err = yaml(head + text + "\n", 3)
        assert f"data.yaml:{line}" in err and word in err, err
    yaml(head + "names: [yes, no, on]\n")
    pack("set", "words.ypk")
    assert "\"yes\"" in command("info", "words.ypk", "--json")[0]
    write("set/data.yaml", head + "names: [a, b]\nnmaes: 3\n")
    out, _ = command("check", "set", "--json")
    assert "did you mean names?" in out
    for path in (".", "../set", "../gone"):
        yaml(f"path: {path}\n{head}names: [a, b]\n")
    assert "2 RGB images" in yaml(f"{head}names: [a, b]\n")
    assert "3 RGB images" in yaml("train: [images, more/images]\nnames: [a, b]\n")
    # led elsewhere: the absolute path is printed
    write("config/far.yaml", f"path: ../set\n{head}names: [a, b]\n")
    _, err = command("check", "config/far.yaml")
    assert os.path.realpath("set") in err, err


def case_20_boxes_and_polygons_in_one_file():
    make_set("mixed", ["0 0.5 0.5 0.2 0.2\n0 0.1 0.1 0.3 0.1 0.3 0.3\n", "0 0.1 0.1\n0 0.1 0.1 0.3\n0 0.1 0.1 0.2 0.2 0.3\n"])
    done = pack("mixed", "mixed.ypk", "--max-rejects", "60%")
    totals_add_up(done, "mixed.ypk")
    whole, polygon = boxes("mixed.ypk")["000.png"]
    assert whole == box(0, 0.5, 0.5, 0.2, 0.2)
    assert all(abs(a - b) < 1e-6 for a, b in zip(polygon, (0, 0.2, 0.2, 0.2, 0.2))), polygon
    mixed = [r for r in report("mixed.ypk") if r["rule"] == "row-mixed"]
    assert len(mixed) == 1 and "line 1 is a box, line 2 a polygon" in mixed[0]["message"]
    assert [row[1] for row in found("mixed.ypk", "row-tokens")] == [1, 2, 3]
    make_set("strict", ["0 0.5 0.5 0.2 0.2\n0 0.1 0.1 0.3 0.1 0.3 0.3\n"])
    _, err = command("pack", "strict", "--strict", code=1)
    assert "line 1 is a box, line 2 a polygon" in err, err


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
