/* The public header must stand alone, in C and in C++, and stand being included twice. */
#include <yolopack.h>
#include <yolopack.h>

int use_of_the_header(const char *path);

int use_of_the_header(const char *path) {
    ypk_dataset *dataset = NULL;
    ypk_dataset_options options = {sizeof(ypk_dataset_options), "train", YPK_IO_AUTO};
    ypk_error error;
    int rc = ypk_dataset_open(&dataset, path, &options, &error);
    ypk_dataset_close(&dataset);
    return rc == YPK_OK ? 0 : error.code;
}
