#include "api_error.h"

#include <stddef.h>
#include <string.h>

#define X(name, value, text)                                                                                           \
    _Static_assert((int)ERR_##name == (int)YPK_E_##name, "public and internal codes are equal");
ERROR_CODES(X)
#undef X

#define SAME(field)                                                                                                    \
    (offsetof(struct error, field) == offsetof(ypk_error, field) &&                                                    \
     sizeof(((struct error *)0)->field) == sizeof(((ypk_error *)0)->field))
_Static_assert(sizeof(struct error) == sizeof(ypk_error) && SAME(code) && SAME(os_errno) && SAME(offset) &&
                   SAME(message),
               "public and internal errors have one layout");

int api_fail(ypk_error *out, const struct error *error) {
    if (out)
        memcpy(out, error, sizeof *out);
    return error->code;
}

const char *ypk_code_text(int code) {
    return code == YPK_OK ? "success" : code == YPK_END ? "end of the last epoch" : error_code_text(code);
}

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *ypk_version(void) {
    return VERSION_TEXT(YPK_VERSION_MAJOR, YPK_VERSION_MINOR, YPK_VERSION_PATCH);
}
