/* Values of options; see values.h. */
#include "cli/options/values.h"

#include "cli/report_error.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_whole(const char *text, int64_t lo, int64_t hi, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || errno || n < lo || n > hi) return false;
    *out = n;
    return true;
}

bool parse_size(const char *text, int *width, int *height)
{
    char first[32];
    const char *x = strchr(text, 'x');
    int64_t w, h;
    if (!x || (size_t)(x - text) >= sizeof first) return false;
    memcpy(first, text, (size_t)(x - text));
    first[x - text] = 0;
    if (!parse_whole(first, 1, 16384, &w) || !parse_whole(x + 1, 1, 16384, &h)) return false;
    *width = (int)w;
    *height = (int)h;
    return true;
}

bool parse_number(const char *text, double *out)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(x)) return false;
    *out = x;
    return true;
}

bool option_whole(const char *option, const char *text, int64_t lo, int64_t hi, int64_t *out)
{
    if (parse_whole(text, lo, hi, out)) return true;
    report_error(EXIT_INPUT, "--%s %s: this is not a whole number from %lld to %lld; give one", option, text,
                 (long long)lo, (long long)hi);
    return false;
}

/* The comma after a name, or NULL; the name of a free camera ("free:90,-30") goes on over commas before numbers. */
static char *name_end(char *name)
{
    char *comma = strchr(name, ',');
    if (strncmp(name, "free:", 5) != 0) return comma;
    while (comma) {
        char *end;
        (void)strtod(comma + 1, &end);
        if (end == comma + 1 || (*end && *end != ',')) return comma;
        comma = *end ? end : NULL;
    }
    return NULL;
}

bool option_names(const char *option, const char *text, name_list *list)
{
    free(list->text);
    *list = (name_list){.text = strdup(text)};
    if (!list->text) {
        report_error(EXIT_INPUT, "--%s: out of memory; close other programs", option);
        return false;
    }
    for (char *p = list->text; p;) {
        char *comma = name_end(p);
        if (comma) *comma = 0;
        if (!*p || list->count == OPTIONS_MAX_NAMES) {
            report_error(EXIT_INPUT, "--%s %s: %s; give up to %d names, separated by commas", option, text,
                         *p ? "there are too many names" : "a name is empty", OPTIONS_MAX_NAMES);
            return false;
        }
        bool again = false;
        for (int i = 0; i < list->count; ++i) again = again || strcmp(list->name[i], p) == 0;
        if (!again) list->name[list->count++] = p;
        p = comma ? comma + 1 : NULL;
    }
    return true;
}

bool option_path(const char *option, const char *text, const char **out)
{
    if (!*text) return report_error(EXIT_INPUT, "--%s: the name is empty; give one", option), false;
    *out = text;
    return true;
}

bool option_one_of(const char *const *names, const char *name, char *known, size_t size)
{
    bool found = false;
    size_t used = 0;
    known[0] = 0;
    for (const char *const *n = names; *n && used < size; ++n) {
        found = found || strcmp(*n, name) == 0;
        int put = snprintf(known + used, size - used, "%s%s", used ? ", " : "", *n);
        used += put > 0 ? (size_t)put : 0;
    }
    return found;
}
