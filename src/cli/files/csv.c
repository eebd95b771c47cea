/* See csv.h. */
#include "cli/files/csv.h"

#include "base/file.h"
#include "cli/report_error.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char between[] = ",; \t\r\n";

static char *trim(char *text)
{
    char *end = text + strlen(text);
    while (end > text && strchr(" \t\r\n", end[-1])) *--end = 0;
    return text + strspn(text, " \t");
}

static bool is_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !end[strspn(end, " \t")];
}

/* The next field of a line, of which *at is moved behind it; NULL: there is none. Blanks alone separate, too. */
static char *next_field(char **at)
{
    char *begin = *at + strspn(*at, " \t");
    if (!*begin) return NULL;
    size_t n = strcspn(begin, between);
    char *end = begin + n, *rest = end + strspn(end, " \t");
    if (*rest == ',' || *rest == ';') ++rest;
    *end = 0;
    *at = rest;
    return begin;
}

static bool take_names(csv_table *t, char *line)
{
    for (char *field; (field = next_field(&line));) {
        char **names = realloc(t->names, (size_t)(t->columns + 1) * sizeof *names);
        if (!names) return false;
        t->names = names;
        names[t->columns] = strdup(field);
        if (!names[t->columns]) return false;
        ++t->columns;
    }
    return true;
}

/* Does a line begin with a number? nan and inf, which strtod takes, may be names. */
static bool has_numbers(const char *line)
{
    char *copy = strdup(line), *at = copy, *field = copy ? next_field(&at) : NULL;
    double x;
    bool number = field && is_number(field, &x) && isfinite(x);
    free(copy);
    return number;
}

static const char *take_row(csv_table *t, const char *path, int64_t line, char *text)
{
    int64_t n = 0;
    double x = 0;
    for (char *field; (field = next_field(&text)); ++n) {
        if (!is_number(field, &x) || !isfinite(x))
            return error_text("%s, line %lld: '%.40s' is not a finite number", path, (long long)line, field);
        if (t->rows > 0 && n >= t->columns) continue;
        double *data = realloc(t->data, (size_t)(t->rows * t->columns + n + 1) * sizeof *data);
        if (!data) return error_text("%s: out of memory; give a shorter file", path);
        t->data = data;
        data[t->rows * t->columns + n] = x;
    }
    if (t->columns == 0) t->columns = n;
    if (n != t->columns)
        return error_text("%s, line %lld: it has %lld columns, those before have %lld; give each line as many", path,
                          (long long)line, (long long)n, (long long)t->columns);
    t->rows++;
    return NULL;
}

static const char *read_lines(FILE *f, const char *path, csv_table *t)
{
    char *line = NULL;
    size_t room = 0;
    const char *wrong = NULL;
    for (int64_t number = 1; !wrong && getline(&line, &room, f) >= 0; ++number) {
        char *text = trim(line);
        if (!*text || *text == '#') continue;
        if (t->columns == 0 && !has_numbers(text))
            wrong = take_names(t, text) ? NULL : error_text("%s: out of memory; give a shorter file", path);
        else
            wrong = take_row(t, path, number, text);
    }
    if (!wrong && ferror(f)) wrong = error_text("%s: cannot be read to its end", path);
    free(line);
    return wrong ? wrong : t->rows > 0 ? NULL : error_text("%s: it holds no row of numbers; give one a frame", path);
}

const char *csv_read(const char *path, csv_table *out)
{
    const char *why;
    *out = (csv_table){0};
    FILE *f = sti_input_open(path, &why);
    if (!f) return error_text("%s: cannot be read: %s", path, why);
    const char *wrong = read_lines(f, path, out);
    (void)fclose(f);
    if (wrong) csv_free(out);
    return wrong;
}

void csv_free(csv_table *table)
{
    for (int64_t i = 0; table->names && i < table->columns; ++i) free(table->names[i]);
    free(table->names);
    free(table->data);
    *table = (csv_table){0};
}
