"""A pack's shards are ordinary LMDB files: py-lmdb, mdb_stat and mdb_dump see the records that the index names."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

from same_bytes import YOLOPACK

try:
    import lmdb
except ImportError:
    print("py-lmdb is not installed (python3-lmdb)")
    sys.exit(77)

HEADER_BYTES = 112


def records(path):
    env = lmdb.open(path, subdir=False, readonly=True, lock=False)
    with env.begin() as txn:
        yield from ((struct.unpack(">Q", key)[0], bytes(value)) for key, value in txn.cursor())
    env.close()


def payload(record, at, length):
    return record[at:at + length]


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        subprocess.run([YOLOPACK, "synth", "night", "--pairs", "120", "--size", "640x512", "--val", "0"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([YOLOPACK, "pack", "night", "-o", "night.ypk", "--shard-size", "1M"], check=True,
                       stdout=subprocess.DEVNULL)
        rows = [json.loads(line) for line in
                subprocess.run([YOLOPACK, "ls", "night.ypk", "--json"], check=True, capture_output=True).stdout.splitlines()]
        shards = sorted(n for n in os.listdir("night.ypk") if n.endswith(".lmdb"))
        assert len(shards) > 2 and len(rows) == 120
        seen = 0
        for shard in shards:
            path = os.path.join("night.ypk", shard)
            listed = list(records(path))
            for sample_id, record in listed:
                assert sample_id == seen, "keys count up without a gap"
                magic, = struct.unpack_from("4s", record)
                assert magic == b"YPKR"
                row = rows[sample_id]
                with open(os.path.join("night", row["rgb"]["name"]), "rb") as f:
                    rgb = f.read()
                with open(os.path.join("night", row["ir"]["name"]), "rb") as f:
                    ir = f.read()
                assert payload(record, HEADER_BYTES, len(rgb)) == rgb
                ir_at = (HEADER_BYTES + len(rgb) + 16 + 63) // 64 * 64 - 16
                assert payload(record, ir_at, len(ir)) == ir
                seen += 1
        left = [n for n in os.listdir("night.ypk") if n.endswith("-lock")]
        assert not left, left
        for shard in shards:  # these tools make lock files
            path = os.path.join("night.ypk", shard)
            listed = list(records(path))
            if shutil.which("mdb_stat") and shutil.which("mdb_dump"):
                stat = subprocess.run(["mdb_stat", "-n", path], check=True, capture_output=True, text=True).stdout
                assert f"Entries: {len(listed)}" in stat, stat
                dump = subprocess.run(["mdb_dump", "-n", path], check=True, capture_output=True, text=True).stdout
                lines = dump.splitlines()
                values = lines[lines.index("HEADER=END") + 1:lines.index("DATA=END")][1::2]
                assert [bytes.fromhex(v.strip()) for v in values] == [r for _, r in listed]
        assert seen == len(rows)
        print(f"{seen} records in {len(shards)} shards are the source files' bytes")


if __name__ == "__main__":
    sys.exit(main())
