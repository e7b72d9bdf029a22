"""Pairs by key, pairs of different sizes through the loader, and the layouts that are out there."""
import ctypes
import json
import os
import sys

from lib import GRAY, PICTURE, Dataset, Error, command, found, listing, marked_png, pack, report, run_cases, write

DATA = os.environ.get("YPK_TEST_DATA")


def pairs(out):
    return {(s["rgb"]["name"], s["ir"] and s["ir"]["name"]) for s in listing(out).values()}


def case_28_pairs_by_key_never_by_position():
    for i in (1, 2, 3, 4, 10):
        write(f"set/rgb/{i}.png")
    for i in (1, 2, 4, 10, 11):
        write(f"set/ir/{i}.png", GRAY)
    both = {(f"rgb/{i}.png", f"ir/{i}.png") for i in (1, 2, 4, 10)}
    done = pack("set", "set.ypk", "--max-rejects", "1")
    assert pairs("set.ypk") == both and done["total"]["packed"] == 4
    assert [r[0] for r in found("set.ypk", "rgb-without-ir")] == ["rgb/3.png"]
    assert [r[0] for r in found("set.ypk", "ir-without-rgb")] == ["ir/11.png"]
    # the policies: stop, one modality, and the default that keeps to --max-rejects
    _, err = command("pack", "set", "-o", "stop.ypk", "--unpaired", "fail", code=3)
    assert not os.path.exists("stop.ypk") and "unpaired" in err, err
    pack("set", "single.ypk", "--unpaired", "rgb-only", "--max-rejects", "1")
    assert pairs("single.ypk") == both | {("rgb/3.png", None)}
    command("pack", "set", "-o", "default.ypk", code=3)

    for i in (1, 2):
        write(f"ends/a{i}_rgb.png")
        write(f"ends/a{i}_ir.png", GRAY)
        write(f"swapped/infrared/{i}.png")
        write(f"swapped/visible/{i}.png", GRAY)
    pack("ends", "ends.ypk")
    assert pairs("ends.ypk") == {(f"ends/a{i}_rgb.png".split("/")[1], f"a{i}_ir.png") for i in (1, 2)}
    counts = pack("swapped", "swapped.ypk")["report"]["counts"]
    assert counts["rgb-gray"] == 2 and counts["ir-colour"] == 2, counts
    assert any("infrared in the RGB folder" in r["message"] for r in report("swapped.ypk"))


def case_lists_and_maps_that_name_what_is_not_there():
    for i in range(3):
        write(f"set/images/{i}.png")
        write(f"set/labels/{i}.txt", "0 0.5 0.5 0.1 0.1\n")
    write("set/data.yaml", "train: list.txt\nnames: [a]\n")
    write("set/list.txt", "".join(f"images/{i}.png\n" for i in (0, 1, 7, 2, 8, 1, 9)))
    out, err = command("pack", "set", "-o", "set.ypk", "--max-rejects", "1")
    assert "packed    3 of 6 images" in out and "3 × listed image" in err and "1 × repeated line" in err, (out, err)
    assert found("set.ypk", "list-missing") == [("list.txt", n, 1, f"images/{i}.png") for n, i in ((3, 7), (5, 8), (7, 9))]
    assert found("set.ypk", "list-duplicate") == [("list.txt", 6, 1, "images/1.png")]
    done = pack("set", "set.ypk", "--max-rejects", "1")
    assert (done["total"]["samples"], done["total"]["packed"], done["total"]["rejected"]) == (6, 3, 3), done["total"]
    for k in range(2):
        command("pack", "set", "-o", f"part{k}.ypk", "--part", f"{k}/2", "--max-rejects", "1")
    command("merge", "part0.ypk", "part1.ypk", "-o", "merged.ypk")
    counts = [json.load(open(f"{name}.ypk/pack.json", encoding="utf-8"))["counts"] for name in ("set", "merged")]
    assert counts[0] == counts[1], counts
    write("set/data.yaml", "train: images\nnames: [a]\n")
    write("map.tsv", "rgb\tir\nimages/0.png\tir/0.png\n")
    _, err = command("check", "set", "--pair", "map:map.tsv", code=3)
    assert 'map.tsv:2: "ir/0.png": not there' in err, err
    # a label file that the map names and that is not there is no background
    write("map.tsv", "rgb\tir\tlabel\nimages/0.png\t\tlabels/0.txt\nimages/1.png\t\tlabels/gone.txt\n")
    done = pack("set", "map.ypk", "--pair", "map:map.tsv", "--max-rejects", "1")
    assert (done["total"]["packed"], done["total"]["rejected"]) == (1, 1), done
    assert [row[0] for row in found("map.ypk", "label-unreadable")] == ["labels/gone.txt"]
    write("set/data.yaml", "path: /nope\ntrain: images\nnames: [a]\n")
    _, err = command("check", "set")
    assert "files in" in err and os.path.realpath("set") in err and "1 × path in data.yaml" in err, err


class LoaderOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("seed", ctypes.c_uint64), ("mode", ctypes.c_int)]
    _fields_ += [(n, ctypes.c_uint32) for n in ("batch", "rank", "world", "epochs", "close_mosaic")]
    _fields_ += [("last_batch", ctypes.c_int), ("image_size", ctypes.c_uint32), ("stride", ctypes.c_uint32)]
    _fields_ += [(n, ctypes.c_int) for n in ("rect", "channels", "dtype", "layout")]
    _fields_ += [("mean", ctypes.c_float * 4), ("deviation", ctypes.c_float * 4), ("fast", ctypes.c_int),
                 ("bad_sample", ctypes.c_int), ("workers", ctypes.c_uint32), ("prefetch", ctypes.c_uint32),
                 ("memory_limit", ctypes.c_uint64), ("device", ctypes.c_char_p), ("device_slots", ctypes.c_uint32)]
    _fields_ += [(f"chance_{i}", ctypes.c_double) for i in range(15)]
    _fields_ += [("mosaic_depth", ctypes.c_uint32), ("mosaic_pool_all", ctypes.c_int), ("hsv_on_ir", ctypes.c_int)]
    _fields_ += [(f"ir_{i}", ctypes.c_double) for i in range(6)] + [("ir_shift", ctypes.c_uint32)]
    _fields_ += [("flip_index", ctypes.c_void_p), ("flip_index_count", ctypes.c_uint32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_uint8)), ("dtype", ctypes.c_int), ("dims", ctypes.c_int),
                ("shape", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4),
                ("device_type", ctypes.c_int), ("device_id", ctypes.c_int)]


class BatchSample(ctypes.Structure):
    _fields_ = [("index", ctypes.c_uint64), ("name", ctypes.c_char_p)]
    _fields_ += [(n, ctypes.c_uint32) for n in ("width", "height", "resized_width", "resized_height")]
    _fields_ += [(n, ctypes.c_float) for n in ("ratio", "pad_x", "pad_y")]
    _fields_ += [("valid", ctypes.c_int), ("substituted", ctypes.c_int)]


class Batch(ctypes.Structure):
    _fields_ = [("epoch", ctypes.c_uint64), ("index", ctypes.c_uint64), ("images", Tensor * 2),
                ("image_count", ctypes.c_int), ("sample_count", ctypes.c_uint32), ("valid_count", ctypes.c_uint32),
                ("samples", ctypes.POINTER(BatchSample)), ("label_count", ctypes.c_uint32)]
    _fields_ += [(n, ctypes.POINTER(ctypes.c_float)) for n in ("label_batch", "label_class", "label_box")]
    _fields_ += [("label_points", ctypes.c_void_p), ("points_per_label", ctypes.c_uint32),
                 ("point_dims", ctypes.c_uint32), ("label_rotation", ctypes.c_void_p), ("slot", ctypes.c_void_p)]


def letterboxed(dataset, look):
    """Calls look(sample, channels -> (x, y) -> value, box) for every sample, shown as evaluation shows it at 640."""
    library, error, loader = dataset.library, Error(), ctypes.c_void_p()
    library.ypk_loader_options_init.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.ypk_loader_next.argtypes = [ctypes.c_void_p] * 4
    library.ypk_batch_release.argtypes = [ctypes.c_void_p] * 2
    options = LoaderOptions()
    library.ypk_loader_options_init(ctypes.byref(options), ctypes.sizeof(options))
    assert options.size == ctypes.sizeof(options), "the binding of this test"
    options.mode, options.batch, options.epochs, options.image_size, options.channels = 1, 1, 1, 640, 3
    options.workers = 1
    rc = library.ypk_loader_create(ctypes.byref(loader), dataset.handle, ctypes.byref(options), ctypes.byref(error))
    assert rc == 0, error.message
    count = 0
    while True:
        batch = Batch()
        rc = library.ypk_loader_next(loader, ctypes.byref(batch), ctypes.c_void_p(-1), ctypes.byref(error))
        if rc == 1:
            break
        assert rc == 0, error.message
        image = batch.images[0]
        assert list(image.shape) == [1, 4, 640, 640] and batch.label_count == 1
        look(batch.samples[0], lambda c, x, y: image.data[(c * 640 + y) * 640 + x], list(batch.label_box[:4]))
        count += 1
        library.ypk_batch_release(ctypes.byref(batch), ctypes.c_void_p(-1))
    library.ypk_loader_destroy(ctypes.byref(loader))
    return count


def case_42_partners_of_other_sizes():
    sizes = {"a": ((1280, 1024), (640, 512)), "b": ((1920, 1080), (384, 288)), "c": ((641, 512), (640, 512))}
    for name, (rgb, ir) in sizes.items():
        write(f"set/images/{name}.png", marked_png(*rgb, 0.2, 0.2, 0.3, 0.3, 3))
        write(f"set/imagesIR/{name}.png", marked_png(*ir, 0.2, 0.2, 0.3, 0.3, 1))
        write(f"set/labels/{name}.txt", "0 0.25 0.25 0.1 0.1\n")
    pack("set", "set.ypk", "--preset", "raw")
    for entry in listing("set.ypk").values():
        name = entry["name"][7]
        assert ((entry["rgb"]["width"], entry["rgb"]["height"]), (entry["ir"]["width"], entry["ir"]["height"])) == sizes[name]
    aspect = [r for r in report("set.ypk") if r["rule"] == "pair-aspect"]
    assert [r["path"] for r in aspect] == ["images/b.png"] and "1920x1080" in aspect[0]["message"], aspect

    def look(sample, pixel, box):
        name = sample.name.decode()[7]
        width, height = sample.resized_width, sample.resized_height
        if name == "a":
            assert (width, height, sample.pad_x, sample.pad_y) == (640, 512, 0, 64), (width, height)
        corner = (sample.pad_x / 640, sample.pad_y / 640)
        expected = [corner[0] + 0.25 * width / 640, corner[1] + 0.25 * height / 640, 0.1 * width / 640, 0.1 * height / 640]
        assert all(abs(a - b) < 1e-5 for a, b in zip(box, expected)), (name, box, expected)
        for channel in range(4):   # the marker fills the box in RGB and in IR, and ends with it
            def at(x, y):
                return pixel(channel, int(640 * (box[0] + x * box[2])), int(640 * (box[1] + y * box[3])))
            assert all(at(x, y) > 240 for x in (-0.4, 0, 0.4) for y in (-0.4, 0, 0.4)), (name, channel)
            assert all(at(x, y) < 20 for x, y in ((-0.65, 0), (0.65, 0), (0, -0.65), (0, 0.65))), (name, channel)

    with Dataset("set.ypk") as dataset:
        assert letterboxed(dataset, look) == 3


def case_folders_written_otherwise():
    # taken for RGB, infrared would be trained on as colour pictures without labels, and nobody would be told
    for rgb, ir in (("images", "imagesir"), ("Visible", "Infrared"), ("Vis", "Ir"), ("vis", "ir"), ("visible", "lwir")):
        name = f"{rgb}-{ir}"
        for i in range(3):
            write(f"{name}/{rgb}/{i}.png")
            write(f"{name}/{ir}/{i}.png", GRAY)
            write(f"{name}/labels/{i}.txt", "0 0.5 0.5 0.1 0.1\n")
        out, err = command("check", name)
        assert f"{rgb}/ + {ir}/ by name: 3 pairs" in err and "3 pairs, 3 boxes" in out, (out, err)


def case_layouts_of_real_sets():
    if not DATA or not os.path.isdir(DATA):
        print("the real data sets are not here (YPK_TEST_DATA)")
        return
    sets = {
        "layouts/ir_full_8bit_png_sample": (["--modality", "ir"], 20, "one picture a sample: 20 IR images"),
        "layouts/rgb_lowres_sample": ([], 20, "one picture a sample: 20 RGB images"),
        "layouts/tardal_sample": ([], 3, "rgb/ + ir/ by name: 3 pairs"),
        "layouts/vedai_superyolo": ([], 3, "*_co + *_ir by suffix: 3 pairs"),
        "layouts/vtuav_sample": ([], 2, "rgb/ + ir/ by name: 2 pairs"),
        "layouts/yolofuse_llvip_asset": ([], 1, "images/ + imagesIR/ by name (YOLOFuse layout): 1 pair"),
        "llvip": ([], 44, "rgb/ + ir/ by name: 32 pairs in train, 12 pairs in test"),
        "hit_uav": (["--labels", "labels_yolo_derived"], 100, "all in ir: 100 IR images"),
        "coco128": (["--labels", "labels_seg", "--task", "segment"], 128, "one picture a sample: 128 RGB images"),
    }
    for name, (options, count, rule) in sets.items():
        source, out = os.path.join(DATA, name), os.path.basename(name) + ".ypk"
        _, err = command("pack", source, "-o", out, *options)
        assert rule in err, (name, err)
        with open(os.path.join(out, "pack.json"), encoding="utf-8") as f:
            total = json.load(f)["counts"]
        assert total["packed"] == total["samples"] == count, (name, total)
        command("verify", out, "--source", source)
    with Dataset("hit_uav.ypk") as dataset:
        assert dataset.info.modalities == 2 and dataset.info.labels > 100
    with Dataset("coco128.ypk") as dataset:
        assert dataset.info.task == 2 and dataset.info.points > 3 * dataset.info.labels
        rows = sum(sum(1 for line in open(os.path.join(DATA, "coco128/labels_seg/train2017", n)) if line.strip())
                   for n in os.listdir(os.path.join(DATA, "coco128/labels_seg/train2017")))
    total = json.load(open("coco128.ypk/pack.json", encoding="utf-8"))["counts"]
    assert rows == total["rows"] == total["rows_kept"] + total["rows_dropped"] + total["rows_duplicate"], (rows, total)


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
