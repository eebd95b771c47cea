/*
 * embed OUTPUT.c TABLE NAME=PATH …: the content of files as a C table `const sti_embedded TABLE[]`, which ends with a
 * row of NULLs. A library that carries its headers needs no source tree where it runs.
 */
#include <stdio.h>
#include <string.h>

/* The bytes of a file as numbers; they end with a 0 that does not count. */
static int write_bytes(FILE *out, const char *path, int number)
{
    FILE *in = fopen(path, "rb");
    if (!in) return -1;
    fprintf(out, "static const char text_%d[] = {", number);
    long n = 0;
    for (int c; (c = fgetc(in)) != EOF; ++n) fprintf(out, c < 128 ? "%s%d," : "%s(char)%d,", n % 24 ? "" : "\n    ", c);
    fprintf(out, "0};\n");
    int failed = ferror(in);
    return fclose(in) != 0 || failed ? -1 : 0;
}

static int write_all(FILE *out, const char *table, int n, char **pairs)
{
    fprintf(out, "/* Made by embed. */\n#include \"kernel/language.h\"\n\n");
    for (int i = 0; i < n; ++i) {
        const char *path = strchr(pairs[i], '=');
        if (!path || write_bytes(out, path + 1, i)) {
            fprintf(stderr, "embed: cannot read %s\n", path ? path + 1 : pairs[i]);
            return 1;
        }
    }
    fprintf(out, "\nconst sti_embedded %s[] = {\n", table);
    for (int i = 0; i < n; ++i)
        fprintf(out, "    {\"%.*s\", text_%d, %s},\n", (int)strcspn(pairs[i], "="), pairs[i], i, table);
    fprintf(out, "    {0, 0, 0},\n};\n");
    return ferror(out) != 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: embed OUTPUT.c TABLE NAME=PATH ...\n");
        return 2;
    }
    FILE *out = fopen(argv[1], "wb");
    if (!out) {
        fprintf(stderr, "embed: cannot open %s\n", argv[1]);
        return 1;
    }
    int result = write_all(out, argv[2], argc - 3, argv + 3);
    result = fclose(out) != 0 || result;
    if (result) remove(argv[1]);
    return result;
}
