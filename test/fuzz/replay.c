/*
 * Runs a fuzz target on the files of its corpus, with any compiler: replay FOLDER. With libFuzzer the target has a main
 * of its own.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 1 << 20 };

/* The block has exactly the file's size, so that a sanitizer sees a read beyond it. */
static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *all = malloc(LIMIT);
    if (!f || !all) return -1;
    size_t size = fread(all, 1, LIMIT, f);
    uint8_t *bytes = realloc(all, size ? size : 1);
    if (bytes) (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return fclose(f);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int n = 0;
    if (!folder) {
        fprintf(stderr, "usage: replay FOLDER\n");
        return 2;
    }
    for (struct dirent *e; (e = readdir(folder));) {
        char path[1024];
        if (e->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        if (run_file(path) != 0) {
            fprintf(stderr, "replay: %s cannot be read\n", path);
            return 1;
        }
        ++n;
    }
    closedir(folder);
    printf("%d inputs of %s\n", n, argv[1]);
    return n == 0;
}
