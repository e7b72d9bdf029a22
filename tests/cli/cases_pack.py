"""Packs that are stale, damaged, foreign, or shared by many readers."""
import ctypes
import ctypes.util
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time

from lib import GRAY, YOLOPACK, Dataset, command, make_set, pack, run_cases, write

ROW = "0 0.5 0.5 0.2 0.2\n1 0.25 0.25 0.1 0.1\n"


def synth(name, pairs=12, *options):
    command("synth", name, "--pairs", str(pairs), "--size", "96x80", *options)


def put_back(path, data, before):
    """Other bytes of the same size and time."""
    assert len(data) == before.st_size
    with open(path, "wb") as f:
        f.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def case_09_stale_packs_are_found():
    synth("night", 30)
    pack("night", "night.ypk")
    assert "same" in command("verify", "night.ypk", "--source", "night")[0]
    whole = {}
    label = next(p for p in sorted(os.listdir("night/labels/train")) if os.path.getsize(f"night/labels/train/{p}") > 0)
    label = f"night/labels/train/{label}"
    images = [f"night/images/train/{n}" for n in sorted(os.listdir("night/images/train"))]
    for path in (label, "night/data.yaml", *images):
        with open(path, "rb") as f:
            whole[path] = (f.read(), os.stat(path))

    def differences(expected):
        out, _ = command("verify", "night.ypk", "--source", "night", code=3)
        assert expected in out and "changed" in out, out
        return out

    # (a) a digit of a label, (b) shorter names, (c) an image of equal length; sizes and times as they were
    text, stat = whole[label]
    put_back(label, (b"1" if text[:1] == b"0" else b"0") + text[1:], stat)
    assert differences(label[6:]).count("\n") == 3, "the pack is whole, one difference, the sum"
    put_back(label, text, stat)
    write("night/data.yaml", "train: images/train\nval: images/val\nnames: [one, two]\n")
    differences("3 names were packed, it has 2")
    write("night/data.yaml", whole["night/data.yaml"][0])
    first, second = images[:2]
    data = whole[second][0]
    put_back(second, data[:200] + bytes([data[200] ^ 1]) + data[201:], whole[second][1])
    differences(second[6:])
    put_back(second, whole[second][0], whole[second][1])
    os.rename(first, first + ".away")
    differences(f"{first[6:]}: would be rejected now")
    os.rename(first + ".away", first)
    out, _ = command("verify", "night.ypk", "--source", "night", "--json")
    assert '"same": true' in out or '"same":true' in out, out

    # transcoded pictures too, and labels with options
    make_set("png", [ROW] * 3)
    pack("png", "png.ypk", "--preset", "train", "--imgsz", "32")
    command("verify", "png.ypk", "--source", "png/data.yaml")
    pack("png", "one.ypk", "--classes", "1", "--single-cls")
    command("verify", "one.ypk", "--source", "png")
    write("png/images/001.png", GRAY)
    out, _ = command("verify", "png.ypk", "--source", "png", code=3)
    assert "images/001.png" in out, out


def case_65_packs_made_elsewhere():
    name = ctypes.util.find_library("xxhash")
    if not name:
        print("libxxhash is not here for this test to write headers with")
        return
    xxhash = ctypes.CDLL(name)
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    synth("night")
    pack("night", "night.ypk")
    with open("night.ypk/train.index", "rb") as f:
        index = bytearray(f.read())
    seal_header(xxhash, index)
    with open("night.ypk/train.index", "rb") as f:
        assert f.read() == index, "the header's hash as FORMAT.md has it"
    for offset, value, words in ((8, 2, ("format 2", "newer")), (8, 0, ("no format 0",)),
                                 (12, 0x04030201, ("big-endian",)), (12, 0x01020305, ("byte order",)),
                                 (48, 16384, ("train-00000.lmdb",))):
        other = bytearray(index)
        other[offset:offset + 4] = value.to_bytes(4, "little")
        seal_header(xxhash, other)
        with open("night.ypk/train.index", "wb") as f:
            f.write(other)
        try:
            with Dataset("night.ypk"):
                raise AssertionError(f"opened with {value} at {offset}")
        except OSError as error:
            assert "night.ypk/" in error.args[1] and all(w in error.args[1] for w in words), error


def seal_header(xxhash, index):
    header = bytearray(index[:512])
    header[24:32] = bytes(8)
    index[24:32] = xxhash.XXH3_64bits(bytes(header), 512).to_bytes(8, "little")


def case_37_cut_grown_foreign_and_pointers():
    synth("night", 24)
    synth("other", 24, "--seed", "9")
    pack("night", "night.ypk")
    pack("other", "other.ypk")
    shard = "night.ypk/train-00000.lmdb"
    with open(shard, "rb") as f:
        data = f.read()
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 1\n" % (b"0" * 64)
    wrong = {"half": data[:len(data) // 2], "a page less": data[:-4096], "zeros behind": data + bytes(8192),
             "4 kB zeroed": bytes(4096) + data[4096:], "a pointer": pointer, "empty": b"",
             "of another pack": open("other.ypk/train-00000.lmdb", "rb").read()}
    for what, content in wrong.items():
        write(shard, content)
        for arguments in (("info", "night.ypk"), ("bench", "night.ypk", "--batch", "2", "--imgsz", "64")):
            assert any(is_told_at_once(*arguments) for _ in range(10)), what  # in one of them the machine is not busy
        command("verify", "night.ypk", code=5)
    write(shard, data)
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    write(shard, flipped)
    out, _ = command("verify", "night.ypk", code=5)
    assert "train-00000.lmdb" in out, out
    write(shard, data)
    index = open("night.ypk/train.index", "rb").read()
    for content in (pointer, bytes(4096) + index[4096:], b"", index[:-1], open("other.ypk/train.index", "rb").read()):
        write("night.ypk/train.index", content)
        _, err = command("ls", "night.ypk", code=5)
        assert "night.ypk/train" in err, err
    write("night.ypk/train.index", index)
    command("verify", "night.ypk")
    # whole by themselves, and not what the manifest names: the test set trained on, another pack's index with its shard
    os.rename("night.ypk/train.index", "night.ypk/x")
    os.rename("night.ypk/val.index", "night.ypk/train.index")
    os.rename("night.ypk/x", "night.ypk/val.index")
    for split in ("train", "val"):
        _, err = command("bench", "night.ypk", "--split", split, "--batch", "2", "--imgsz", "64", code=5)
        assert f"is not the index of split {split}" in err, err
    pack("night", "second.ypk")
    for name in ("train.index", "train-00000.lmdb"):
        shutil.copy("other.ypk/" + name, "second.ypk/" + name)
    _, err = command("info", "second.ypk", code=5)
    assert "is not the index of split train" in err, err


def is_told_at_once(*arguments):
    start = time.monotonic()
    _, err = command(*arguments, code=5)
    assert "train-00000.lmdb" in err, err
    return time.monotonic() - start < 1


def read_until_killed(ready):
    with Dataset("night.ypk") as dataset:
        ready.set()
        while True:
            dataset.boxes()


def case_35_readers_leave_nothing_behind():
    synth("night")
    pack("night", "night.ypk")
    before = sorted(os.listdir("night.ypk"))
    with Dataset("night.ypk") as kept:
        for _ in range(13):
            started = []
            for _ in range(10):
                ready = multiprocessing.Event()
                process = multiprocessing.Process(target=read_until_killed, args=(ready,))
                process.start()
                started.append((process, ready))
            for process, ready in started:
                assert ready.wait(300)
                os.kill(process.pid, signal.SIGKILL)
                process.join()
        with Dataset("night.ypk") as again:
            assert again.boxes() == kept.boxes()
    assert sorted(os.listdir("night.ypk")) == before, "no lock file"


def case_10_address_space():
    bare = subprocess.run([YOLOPACK, "--version"], capture_output=True, preexec_fn=lambda: limit_space(2_000_000 * 1024))
    if bare.returncode != 0:
        print("a build with sanitizers takes more address space than that by itself")
        return
    synth("night")
    command("pack", "night", "-o", "small.ypk", preexec_fn=lambda: limit_space(4_000_000 * 1024))
    _, err = command("pack", "night", "-o", "none.ypk", "-j", "1", "--shard-size", "4G", code=4,
                     preexec_fn=lambda: limit_space(2_000_000 * 1024))
    assert "address space" in err, err


def limit_space(size):
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
