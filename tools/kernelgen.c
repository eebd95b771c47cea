/*
 * kernelgen INPUT.k.h NAME OUTPUT.c: for each kernel of INPUT, a function that the CPU device can call, and a
 * description. NAME is the file's name as the project knows it, "src/stage/stage.k.h"; OUTPUT includes it by that name.
 *
 * OUTPUT is compiled once for each instruction set with STI_ISA and STET_W set (the callable functions), and once
 * without STI_ISA (the descriptions, which name those functions).
 */
#include "kernel/compile/generate.h"

#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity + 1);
    for (size_t n; text && (n = fread(text + size, 1, capacity - size, f)) > 0;) {
        size += n;
        if (size == capacity) text = realloc(text, (capacity *= 2) + 1);
    }
    fclose(f);
    if (text) text[size] = 0;
    return text;
}

static void write_file(void *context, const char *text, size_t size) { fwrite(text, 1, size, context); }

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: kernelgen INPUT.k.h NAME OUTPUT.c\n");
        return 2;
    }
    char *text = read_file(argv[1]);
    FILE *out = text ? fopen(argv[3], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "kernelgen: cannot open %s\n", text ? argv[3] : argv[1]);
        free(text);
        return 1;
    }
    char message[512];
    int line, result = sti_generate_unit(&(sti_sink){write_file, out}, text, argv[2], message, sizeof message, &line);
    if (result) fprintf(stderr, "%s:%d: %s\n", argv[2], line, message);
    result = ferror(out) || result;
    result = fclose(out) != 0 || result;
    if (result) remove(argv[3]);
    free(text);
    return result;
}
