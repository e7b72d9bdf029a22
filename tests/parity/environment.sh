# For scripts that need Ultralytics: source it in the repository's root, with the name of what wants it in $wanted_by. Makes a
# virtual environment with the versions of requirements.txt in BUILD_ROOT (build) the first time; $python is then its
# Python. Exits with 77, and the reason in the last line, where the packages can't be had.

root=${BUILD_ROOT:-build}
venv=$root/parity-venv
python=$venv/bin/python

skip() {
    echo "$1"
    exit 77
}

# Debian's PyTorch is for Debian's Python.
system_python=/usr/bin/python3
[ -x "$system_python" ] || system_python=python3
debian='python3-venv python3-torch python3-torchvision python3-numpy python3-yaml python3-pil python3-psutil'
debian="$debian python3-requests"
needed='import ensurepip, numpy, PIL, psutil, requests, torch, torchvision, yaml'
if ! "$system_python" -c "$needed" 2>/dev/null; then
    # shellcheck disable=SC2086  # a list of names
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $debian >/dev/null 2>&1 || true
    fi
    "$system_python" -c "$needed" 2>/dev/null || skip "$wanted_by needs the packages $debian"
fi

if ! cmp -s tests/parity/requirements.txt "$venv/installed.txt"; then
    rm -rf "$venv"
    mkdir -p "$root"
    "$system_python" -m venv --system-site-packages "$venv"
    "$venv/bin/pip" install -q --no-deps --disable-pip-version-check -r tests/parity/requirements.txt \
        >"$venv/pip.log" 2>&1 || skip "$wanted_by needs PyPI: $(tail -n 1 "$venv/pip.log")"
    cp tests/parity/requirements.txt "$venv/installed.txt"
fi
# Its settings go into the environment's folder, nowhere else, and nothing is fetched.
case $venv in
/*) YOLO_CONFIG_DIR=$venv ;;
*) YOLO_CONFIG_DIR=$PWD/$venv ;;
esac
export YOLO_CONFIG_DIR YOLO_OFFLINE=true YOLO_AUTOINSTALL=false YOLO_VERBOSE=false
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import ultralytics.data.augment' >"$venv/import.log" 2>&1 ||
    skip "$wanted_by cannot import ultralytics: $(tail -n 1 "$venv/import.log")"
