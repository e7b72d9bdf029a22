"""What the tests of cases share: pictures and data sets made here, the command run, its report read, the library bound."""
import contextlib
import ctypes
import json
import os
import signal
import struct
import subprocess
import tempfile
import time
import zlib

YOLOPACK = os.environ["YOLOPACK"]
LIBRARY = os.path.join(os.environ["BUILD"], "libyolopack.so")


# ---- inputs ----

def png(width, height, pixel, channels=3):
    """An 8-bit PNG; pixel(x, y) gives a tuple of `channels` values."""
    return png_rows(width, height, [bytes(v for x in range(width) for v in pixel(x, y)) for y in range(height)], channels)


def marked_png(width, height, left, top, right, bottom, channels):
    """Black with a white rectangle; its sides are given in shares of the picture."""
    x0, x1 = round(width * left), round(width * right)
    black = bytes(width * channels)
    marked = bytes(x0 * channels) + b"\xff" * ((x1 - x0) * channels) + bytes((width - x1) * channels)
    y0, y1 = round(height * top), round(height * bottom)
    return png_rows(width, height, [marked if y0 <= y < y1 else black for y in range(height)], channels)


def png_rows(width, height, lines, channels):
    rows = b"".join(b"\0" + line for line in lines)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


PICTURE = png(40, 30, lambda x, y: (6 * x, 8 * y, 128))
GRAY = png(40, 30, lambda x, y: (6 * x,), 1)


def write(path, data=PICTURE):
    """Writes a file and the directories above it; `path` is text or bytes, `data` too."""
    directory = os.path.dirname(path)
    if directory:
        os.makedirs(directory, exist_ok=True)
    with open(path, "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)


def names(count):
    return "train: images\nnames: [%s]\n" % ", ".join(f"class{i}" for i in range(count))


def make_set(path, labels, classes=80):
    """A set of one picture a label text (None: no label file): images/000.png, labels/000.txt, … and data.yaml."""
    for i, text in enumerate(labels):
        write(f"{path}/images/{i:03}.png")
        if text is not None:
            write(f"{path}/labels/{i:03}.txt", text)
    if classes:
        write(f"{path}/data.yaml", names(classes))


@contextlib.contextmanager
def home():
    """A directory of its own to work in."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            yield place
        finally:
            os.chdir(before)


def run_cases(cases):
    """Runs every function whose name begins with case_, each in a directory of its own."""
    chosen = {name: case for name, case in cases.items() if name.startswith("case_")}
    assert chosen
    for name, case in chosen.items():
        with home():
            case()
        print(f"{name}: as it should be")


# ---- the command ----

def command(*arguments, code=0, **options):
    """Runs the command and returns (stdout, stderr) after comparing its exit code."""
    run = subprocess.run([YOLOPACK, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=600, **options)
    out, err = run.stdout.decode(), run.stderr.decode()
    assert run.returncode == code, f"exit code {run.returncode}, expected {code}: {arguments}\n{out}\n{err}"
    return out, err


def pack(dataset, out, *options, **more):
    """Packs, and returns what --json says."""
    return json.loads(command("pack", dataset, "-o", out, "--json", *options, **more)[0])


def listing(out, split=None):
    """The samples of a pack by `ls`: name -> entry."""
    text = command("ls", out, "--json", *(["--split", split] if split else []))[0]
    entries = [json.loads(line) for line in text.splitlines()]
    return {entry["name"]: entry for entry in entries}


def report(out):
    """The rows of report.tsv as dictionaries."""
    with open(os.path.join(out, "report.tsv"), encoding="utf-8", newline="\n") as f:
        head, *rows = f.read().split("\n")[:-1]
    return [dict(zip(head.split("\t"), row.split("\t"))) for row in rows]


def found(out, rule):
    """(path, line, column, value) of the rows of one rule."""
    return [(r["path"], int(r["line"]), int(r["column"]), r["value"]) for r in report(out) if r["rule"] == rule]


# ---- kill -9 ----

def spread(n):
    """0, 1/2, 1/4, 3/4, 1/8, …: any number of first members is spread evenly over [0, 1)."""
    value, step = 0.0, 0.5
    while n:
        value += step * (n % 2)
        n, step = n // 2, step / 2
    return value


class Killer:
    """Kills runs at moments spread over all of a run, `seconds` long at first, as the machine gets busier and idler."""

    def __init__(self, seconds):
        self.seconds, self.runs, self.killed = seconds, 0, 0

    def run(self, *arguments):
        """Runs the command to the next moment; how long that was."""
        moment = spread(self.runs) * self.seconds
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        self.runs += 1
        if process.wait() == -signal.SIGKILL:
            self.killed += 1
            self.seconds *= 1.05
        else:
            self.seconds = max(moment, self.seconds / 2)
        return moment


# ---- the library ----

class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("os_errno", ctypes.c_int), ("offset", ctypes.c_int64),
                ("message", ctypes.c_char * 1024)]


class Info(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("samples", "labels", "points", "shards", "payload_bytes", "content_hash")]
    _fields_ += [("classes", ctypes.c_uint32), ("task", ctypes.c_int), ("modalities", ctypes.c_int)]
    _fields_ += [(n, ctypes.c_uint32) for n in ("keypoints", "point_dims", "rgb_w", "rgb_h", "ir_w", "ir_h",
                                                "record_bytes", "max_labels")]
    _fields_ += [("split", ctypes.c_char_p)]


class Label(ctypes.Structure):
    _fields_ = [("class_id", ctypes.c_uint16), ("point_count", ctypes.c_uint16), ("x", ctypes.c_float),
                ("y", ctypes.c_float), ("width", ctypes.c_float), ("height", ctypes.c_float)]


class Image(ctypes.Structure):
    _fields_ = [("width", ctypes.c_uint32), ("height", ctypes.c_uint32), ("payload_bytes", ctypes.c_uint32),
                ("hash", ctypes.c_uint64), ("codec", ctypes.c_int), ("is_gray", ctypes.c_int),
                ("is_transcoded", ctypes.c_int)]


class Sample(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("rgb_name", ctypes.c_char_p), ("ir_name", ctypes.c_char_p),
                ("label_name", ctypes.c_char_p), ("rgb", Image), ("ir", Image), ("labels", ctypes.POINTER(Label)),
                ("label_count", ctypes.c_uint32), ("points", ctypes.POINTER(ctypes.c_float)),
                ("point_count", ctypes.c_uint32)]


class Dataset:
    """A pack opened through the library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(LIBRARY)
        self.handle, self.info, error = ctypes.c_void_p(), Info(), Error()
        rc = self.library.ypk_dataset_open(ctypes.byref(self.handle), os.fsencode(path), None, ctypes.byref(error))
        if rc != 0:
            raise OSError(rc, error.message.decode())
        self.library.ypk_dataset_get_info(self.handle, ctypes.byref(self.info))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.ypk_dataset_close(ctypes.byref(self.handle))

    def sample(self, index):
        sample, error = Sample(), Error()
        rc = self.library.ypk_dataset_sample(self.handle, ctypes.c_uint64(index), ctypes.byref(sample), ctypes.byref(error))
        assert rc == 0, error.message
        return sample

    def boxes(self):
        """Sample name -> [(class, x, y, width, height), …]."""
        out = {}
        for i in range(self.info.samples):
            s = self.sample(i)
            out[s.name] = [(b.class_id, b.x, b.y, b.width, b.height) for b in s.labels[:s.label_count]]
        return out


def single(value):
    """The float32 nearest to a number, as the pack holds it."""
    return struct.unpack("f", struct.pack("f", value))[0]


def boxes(out):
    with Dataset(out) as dataset:
        return {os.fsdecode(os.path.basename(name)): rows for name, rows in dataset.boxes().items()}
