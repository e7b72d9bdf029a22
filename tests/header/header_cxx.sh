# The public header as C++, and that its functions keep their C names there.
set -eu
if ! echo 'int main() { return 0; }' | "$CXX" -std=c++17 -x c++ -fsyntax-only - 2>/dev/null; then
    echo "no C++17 compiler ($CXX)"
    exit 77
fi
object=$(mktemp "$TMPDIR/header.XXXXXX")
"$CXX" -std=c++17 -x c++ -pedantic -Wall -Wextra -Werror -Ireader -c -o "$object" tests/header/public.c
nm "$object" | grep -q ' U ypk_dataset_open$'
