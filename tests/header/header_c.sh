# The public header as C, in both standards that a user may compile with.
set -eu
for standard in c11 c17; do
    "$CC" -std=$standard -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -Ireader -fsyntax-only tests/header/public.c
done
