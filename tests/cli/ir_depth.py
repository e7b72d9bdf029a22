"""16-bit infrared: kept without loss with --ir-depth 16, else scaled once, and the reader's 8 bits are the same."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

YOLOPACK = os.environ["YOLOPACK"]
WIDTH, HEIGHT = 64, 48


def png(depth, rows):
    """A gray PNG of `rows`, lists of numbers."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    form = ">%d%s" % (len(rows[0]), "H" if depth == 16 else "B")
    data = b"".join(b"\0" + struct.pack(form, *row) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), depth, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def unpng(data):
    """Depth and rows of a gray PNG without interlace."""
    at, packed, depth, width = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
            assert colour == 0, "not gray"
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    raw, pixel = zlib.decompress(packed), depth // 8
    stride, rows, above = width * pixel, [], bytes(width * pixel)
    for start in range(0, len(raw), stride + 1):
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride):
            a = line[i - pixel] if i >= pixel else 0
            b, c = above[i], above[i - pixel] if i >= pixel else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, nearest)[kind]) & 255
        rows.append(list(struct.unpack(">%d%s" % (width, "H" if depth == 16 else "B"), bytes(line))))
        above = bytes(line)
    return depth, rows


def run(*arguments, code=0):
    done = subprocess.run([YOLOPACK, *arguments], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done.stdout + done.stderr


def exported(pack, folder):
    run("export", pack, folder)
    with open(os.path.join(folder, "images", "a.png"), "rb") as f:
        return unpng(f.read())


def ir_of(pack):
    return json.loads(run("ls", pack, "--json").splitlines()[0])["ir"]


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        draw = random.Random(7)
        counts = [[7000 + 20 * x + 9 * y + draw.randrange(60) for x in range(WIDTH)] for y in range(HEIGHT)]
        low, high = min(map(min, counts)), max(map(max, counts))
        os.makedirs("set/images")
        os.makedirs("set/labels")
        with open("set/images/a.png", "wb") as f:
            f.write(png(16, counts))
        with open("set/labels/a.txt", "w") as f:
            f.write("0 0.5 0.5 0.25 0.25\n")
        ir = ["--modality", "ir"]

        run("set", "-o", "deep.ypk", "--ir-depth", "16", "--ir-norm", "minmax", *ir)
        assert ir_of("deep.ypk")["codec"] == "zstd16"
        assert ir_of("deep.ypk")["bytes"] < WIDTH * HEIGHT * 2
        assert "zstd 16-bit" in run("info", "deep.ypk")
        run("verify", "deep.ypk")
        assert exported("deep.ypk", "deep") == (16, counts), "16 bits are not the counts of the source"
        with open("deep.ypk/pack.json") as f:
            assert json.load(f)["options"]["ir_depth"] == 16

        # 8 bits by the stated rule, whether made when packing or when reading.
        scaled = [[((v - low) * 255 + (high - low) // 2) // (high - low) for v in row] for row in counts]
        run("set", "-o", "flat.ypk", "--preset", "raw", "--ir-norm", "minmax", *ir)
        assert ir_of("flat.ypk")["codec"] == "raw"
        assert exported("flat.ypk", "flat") == (8, scaled), "8 bits are not the stated rule"
        for pack in "deep", "flat":
            run("view", pack + ".ypk", "-o", pack + ".png")
        with open("deep.png", "rb") as a, open("flat.png", "rb") as b:
            assert a.read() == b.read(), "the two packs look different"

        # Other presets, sizes, and the same bytes again.
        for name, options in ("raw", ["--preset", "raw"]), ("small", ["--preset", "train", "--imgsz", "32"]), \
                ("level", ["--zstd-level", "19"]):
            run("set", "-o", name + ".ypk", "--ir-depth", "16", *options, *ir)
            assert ir_of(name + ".ypk")["codec"] == "zstd16"
            run("verify", name + ".ypk")
        assert exported("raw.ypk", "raw") == (16, counts)
        depth, rows = exported("small.ypk", "small")
        assert depth == 16 and len(rows) == 24 and rows[0][0] == (sum(counts[0][:2]) + sum(counts[1][:2]) + 2) // 4

        # An option without effect is a mistake.
        assert "--ir-depth has no effect" in run("set", "--ir-depth", "16", "--modality", "rgb", code=2)
        assert "--ir-norm has no effect" in run("set", "--ir-norm", "minmax", "--modality", "rgb", code=2)
        assert "--zstd-level has no effect" in run("set", "--zstd-level", "9", "--ir-depth", "8", *ir, code=2)
        run("set", "--ir-depth", "12", code=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
