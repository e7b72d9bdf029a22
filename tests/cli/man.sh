# The manual pages are well-formed.
. tests/cli/lib.sh
command -v groff >/dev/null || { echo "groff is not installed"; exit 77; }
for page in tools/man/*.1; do
    groff -man -ww -Tutf8 -z "$page" 2>"$work/err" >"$work/out" || fail "$page"
    silent err
done
