"""Totals add up: whatever is in a data set, each of its images and label rows is in the pack or in one row of the report."""
import json
import os
import random
import sys

from lib import GRAY, PICTURE, command, home, listing, report, write

SETS = 40
GOOD_ROWS = ["0 0.5 0.5 0.2 0.2", "1 0.25 0.25 0.1 0.1", "2 0.9 0.9 0.3 0.3", "0 0.1 0.1 0.3 0.1 0.3 0.3"]
EDGE_ROWS = ["0 1.0005 0.5 0.1 0.1", "1 0.5 -0.0001 0.1 0.1"]
BAD_ROWS = ["7 0.5 0.5 0.1 0.1", "0 0.5 0.5 0.1", "0 1.5 0.5 0.1 0.1", "0 0,5 0.5 0.1 0.1", "0 0.5 0.5 0 0.1", "x y z",
            "-1 0.5 0.5 0.1 0.1", "0 nan 0.5 0.1 0.1", "0 0.5 0.5 0.1 1e9"]
BAD_PICTURES = [b"", b"not a picture", PICTURE[:len(PICTURE) // 2], PICTURE[:30], b"\xff\xd8\xff\xe0 cut"]


def label_text(random_):
    rows = []
    for _ in range(random_.choice((0, 0, 1, 3, 8))):
        rows.append(random_.choice(random_.choice((GOOD_ROWS, GOOD_ROWS, EDGE_ROWS, BAD_ROWS))))
        if random_.random() < 0.2:
            rows.append(rows[-1])
    return rows


def messy_set(random_, paired):
    """Writes set/ and returns what is in it: images by role, and the rows of the label file of each stem."""
    images, rows = {"images": set(), "imagesIR": set()}, {}
    for i in range(random_.randint(4, 25)):
        stem = f"{i:03}"
        for folder, data in (("images", PICTURE), ("imagesIR", GRAY)):
            if folder == "imagesIR" and not paired or random_.random() < 0.1:
                continue
            write(f"set/{folder}/{stem}.png", random_.choice(BAD_PICTURES) if random_.random() < 0.1 else data)
            images[folder].add(stem)
        if random_.random() < 0.85:
            rows[stem] = label_text(random_)
            write(f"set/labels/{stem}.txt", "\n".join(rows[stem]))
    write("set/images/sure.png")
    write("set/imagesIR/sure.png", GRAY) if paired else None
    images["images"].add("sure")
    images["imagesIR"] |= {"sure"} if paired else set()
    write("set/data.yaml", "train: images\nnames: [a, b, c]\n")
    return images, rows


def check(images, rows, paired, policy, options):
    out = json.loads(command("pack", "set", "-o", "set.ypk", "--json", "--max-rejects", "1", *options)[0])
    total, lines = out["total"], report("set.ypk")
    rejected = [os.path.basename(r["path"])[:-4] for r in lines if r["action"] == "rejected"]
    packed = {os.path.basename(name)[:-4]: s for name, s in listing("set.ypk").items()}
    rgb, ir = images["images"], images["imagesIR"]
    if not paired:
        candidates, unpaired = rgb, set()
    elif policy == "reject":
        candidates, unpaired = rgb & ir, rgb ^ ir
    else:
        candidates, unpaired = rgb, ir - rgb

    # images: candidates = packed + rejected; what has no partner is rejected too, before, and is one row each
    assert total["samples"] == len(candidates) + len(unpaired) == total["packed"] + total["rejected"], (total, candidates)
    assert len(packed) == total["packed"] and len(rejected) == total["rejected"]
    in_splits = [split["counts"]["samples"] for split in out["splits"] if not split["same_as"]]
    assert sum(in_splits) == len(candidates), (in_splits, candidates)
    assert len(set(rejected)) == len(rejected), "one row for each rejected sample"
    assert set(rejected) == (candidates - set(packed)) | unpaired
    assert sum((s["rgb"] is not None) + (s["ir"] is not None) for s in packed.values()) == \
        total["images_kept"] + total["images_transcoded"]

    # rows of the packed samples: kept + dropped + duplicates, and one row of the report for each that was not kept
    written = sum(len(rows.get(stem, [])) for stem in packed)
    assert total["rows"] == written == total["rows_kept"] + total["rows_dropped"] + total["rows_duplicate"], (total, written)
    assert sum(s["boxes"] for s in packed.values()) == total["labels"] == total["rows_kept"]

    def places(action, rule=None):
        return [(r["path"], r["line"]) for r in lines if r["action"] == action and rule in (None, r["rule"])]

    for found, count in ((places("dropped"), total["rows_dropped"]), (places("clamped"), total["rows_clamped"]),
                         (places("note", "row-duplicate"), total["rows_duplicate"])):
        assert len(found) == len(set(found)) == count, (found, total)
        assert all(line != "0" for _, line in found)
    backgrounds = total["background_no_file"] + total["background_empty"]
    assert backgrounds == sum(not rows.get(stem) for stem in packed)
    counts = {}
    for r in lines:
        counts[r["rule"]] = counts.get(r["rule"], 0) + 1
    assert counts == out["report"]["counts"], (counts, out["report"]["counts"])
    shown, err = command("pack", "set", "-o", "shown.ypk", "--max-rejects", "1", *options)
    assert f"{total['packed']} of {total['samples']} " in shown, (shown, total)
    assert ("rejected" in err) == (total["rejected"] > 0), err
    checked = json.loads(command("check", "set", "--json", "--max-rejects", "1", *options)[0])
    assert checked["total"]["rows_dropped"] == total["rows_dropped"] and checked["report"]["counts"] == counts
    return total


def main():
    samples = dropped = 0
    for seed in range(SETS):
        random_ = random.Random(seed)
        paired = seed % 3 != 0
        policy = random_.choice(("reject", "rgb-only")) if paired else None
        options = (["--unpaired", policy] if paired else []) + random_.choice(([], ["--clamp", "0"], ["--clamp", "1"]))
        with home():
            try:
                total = check(*messy_set(random_, paired), paired, policy, [*options, "-j", str(1 + seed % 3)])
            except AssertionError as error:
                raise AssertionError(f"set {seed}, {options}") from error
        samples += total["samples"]
        dropped += total["rows_dropped"]
    assert samples > 200 and dropped > 50, "the sets are not messy enough"
    print(f"{SETS} sets, {samples} samples, {dropped} dropped rows: every one accounted for")


if __name__ == "__main__":
    sys.exit(main())
