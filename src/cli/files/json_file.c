/* See json_file.h. */
#include "cli/files/json_file.h"

#include "cli/report_error.h"

#include "base/file.h"

const char *json_file_write(const json_t *o, size_t style, const char *path)
{
    sti_output out;
    const char *wrong = sti_output_open(&out, path);
    if (!wrong && json_dumpf(o, out.file, style) == 0 && fputc('\n', out.file) != EOF)
        wrong = sti_output_commit(&out);
    else if (!wrong)
        sti_output_drop(&out), wrong = "look for room on the disk, and for memory";
    return wrong ? error_text("%s: cannot be written: %s", path, wrong) : NULL;
}

void json_file_print(const json_t *o, size_t style)
{
    (void)json_dumpf(o, stdout, style);
    (void)putchar('\n');
}
