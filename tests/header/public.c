/* The public header must stand alone, in C and in C++, and stand being included twice. */
#include <yolopack.h>
#include <yolopack.h>

#include <string.h>

int use_of_the_header(const char *path);

int use_of_the_header(const char *path) {
    ypk_dataset *dataset = NULL;
    ypk_dataset_options options;
    ypk_error error;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.split = "train";
    int rc = ypk_dataset_open(&dataset, path, &options, &error);
    ypk_dataset_close(&dataset);
    return rc == YPK_OK ? 0 : error.code;
}
