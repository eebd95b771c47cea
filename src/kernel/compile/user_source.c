/*
 * Reads a user's kernel source with its includes; see user_source.h.
 */
#include "kernel/compile/user_source.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/compile/directive.h"
#include "kernel/language.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct expander {
    const sti_user_source_def *def;
    sti_user_source *source;
    int depth;
    int branches; /* #if … that are open, without the guards of the library's files */
} expander;

/* ---- files ------------------------------------------------------------------------------------------------------- */

static stet_result new_file(sti_user_source *s, const char *name, const char *real, int *out)
{
    STI_TRY(sti_realloc(&s->file, (size_t)(s->nfile + 1) * sizeof *s->file, "the files of a kernel"));
    sti_user_source_file *f = &s->file[s->nfile];
    memset(f, 0, sizeof *f);
    STI_TRY(sti_strdup(&f->name, name));
    stet_result result = sti_strdup(&f->real, real);
    if (result != STET_OK) {
        sti_free(f->name);
        return result;
    }
    *out = s->nfile++;
    return STET_OK;
}

static int find_file(const sti_user_source *s, const char *real, bool embedded)
{
    for (int i = 0; i < s->nfile; ++i)
        if (s->file[i].embedded == embedded && strcmp(s->file[i].real, real) == 0) return i;
    return -1;
}

/* Opens a file and reads it if that was not done yet. *out is its number; -1: it cannot be opened. */
static stet_result open_file(sti_user_source *s, const char *path, int *out)
{
    *out = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return STET_OK;
    struct stat status;
    char *real = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? realpath(path, NULL) : NULL;
    stet_result result = STET_OK;
    if (real) {
        *out = s->file ? find_file(s, real, false) : -1;
        if (*out < 0) {
            result = new_file(s, path, real, out);
            if (result == STET_OK) result = sti_text_buffer_read(&s->file[*out].text, fd, STI_SOURCE_MAX_SIZE, path);
            if (result == STET_OK && strlen(s->file[*out].text.data) != s->file[*out].text.size)
                result = sti_error(STET_ERROR_PARSE, "%s: holds a zero byte; a kernel's source is text", path);
        }
    }
    free(real);
    close(fd);
    return result;
}

static stet_result open_embedded(sti_user_source *s, const sti_embedded *table, const char *name, int *out)
{
    *out = find_file(s, name, true);
    for (const sti_embedded *e = table; e && e->name && *out < 0; ++e) {
        if (strcmp(e->name, name) != 0) continue;
        STI_TRY(new_file(s, name, name, out));
        s->file[*out].embedded = true;
        s->file[*out].language = table == sti_language;
        sti_text_buffer_put(&s->file[*out].text, e->text);
        return s->file[*out].text.result;
    }
    return STET_OK;
}

/* True if a name in an include has .. in it. */
static bool goes_up(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2])) return true;
    }
    return false;
}

/*
 * True if a file is below a folder (its first `length` bytes; none: the working directory), after links are followed.
 */
static bool is_below(const char *path, const char *folder, size_t length)
{
    char at[PATH_MAX];
    if (length >= sizeof at) return false;
    (void)snprintf(at, sizeof at, "%.*s", length ? (int)length : 1, length ? folder : ".");
    char *file = realpath(path, NULL), *above = realpath(at, NULL);
    size_t n = above ? strlen(above) : 0;
    bool below = file && above && strncmp(file, above, n) == 0 && (file[n] == '/' || n == 1);
    free(file);
    free(above);
    return below;
}

/*
 * True if an include of this name may open this file: one with .. in it, only below a folder. A source given as a
 * string is in no folder.
 */
static bool is_allowed(const expander *e, const char *name, const char *path)
{
    const char *own = e->source->file[0].name, *slash = strrchr(own, '/');
    if (!goes_up(name)) return true;
    if (!e->def->text && is_below(path, own, slash ? (size_t)(slash - own) + 1 : 0)) return true;
    for (int i = 0; i < e->def->ninclude; ++i)
        if (is_below(path, e->def->includes[i], strlen(e->def->includes[i]))) return true;
    return false;
}

static stet_result open_in(const expander *e, const char *folder, size_t length, const char *name, int *out)
{
    sti_text_buffer path = {0};
    *out = -1;
    sti_text_buffer_add(&path, folder, length);
    if (length > 0 && folder[length - 1] != '/') sti_text_buffer_put(&path, "/");
    sti_text_buffer_put(&path, name);
    stet_result result = path.result;
    if (result == STET_OK && is_allowed(e, name, path.data)) result = open_file(e->source, path.data, out);
    sti_text_buffer_free(&path);
    return result;
}

/*
 * Finds the file that `#include "name"` means: a header of the language, a file beside the including one, or one in the
 * given folders.
 */
static stet_result resolve(expander *e, int from, const sti_directive *d, int *out)
{
    sti_user_source *s = e->source;
    char embedded[sizeof d->name + 8];
    (void)snprintf(embedded, sizeof embedded, "stet/%s", d->name);
    STI_TRY(open_embedded(s, sti_language, s->file[from].embedded && !strchr(d->name, '/') ? embedded : d->name, out));
    if (*out < 0) STI_TRY(open_embedded(s, e->def->files, d->name, out));
    if (*out >= 0 || s->file[from].embedded || d->kind != STI_DIRECTIVE_INCLUDE) return STET_OK;
    if (d->name[0] == '/') return STET_OK;
    if (from > 0 || !e->def->text) { /* a string is in no folder */
        const char *name = s->file[from].name, *slash = strrchr(name, '/');
        STI_TRY(open_in(e, name, slash ? (size_t)(slash - name) + 1 : 0, d->name, out));
    }
    for (int i = 0; i < e->def->ninclude && *out < 0; ++i)
        STI_TRY(open_in(e, e->def->includes[i], strlen(e->def->includes[i]), d->name, out));
    return STET_OK;
}

/* ---- expanding --------------------------------------------------------------------------------------------------- */

/*
 * Adds bytes of file `file` to the compiler's text and, unless it is a header of the language, to the checker's
 * (SOURCE-4).
 */
static void add_user_source(expander *e, int file, const char *bytes, size_t n)
{
    sti_user_source *s = e->source;
    sti_text_buffer_add(&s->text, bytes, n);
    if (!s->file[file].language) sti_text_buffer_add(&s->own, bytes, n);
}

static void add_format(expander *e, int file, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add_format(expander *e, int file, const char *format, ...)
{
    char text[2 * STI_DIRECTIVE_NAME];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_user_source(e, file, text, strlen(text));
}

static stet_result added(const sti_user_source *s)
{
    return s->text.result != STET_OK ? s->text.result : s->own.result;
}

static void mark_line(expander *e, int line, int file)
{
    const sti_user_source *s = e->source;
    if (s->named)
        add_format(e, file, "#line %d \"%s\"\n", line, s->file[file].name);
    else
        add_format(e, file, "#line %d \"<%d>\"\n", line, file);
}

void sti_user_source_mark(sti_user_source *s, int line)
{
    if (s->named)
        sti_text_buffer_format(&s->text, "#line %d \"%s\"\n", line, s->file[0].name);
    else
        sti_text_buffer_format(&s->text, "#line %d \"<0>\"\n", line);
}

static stet_result expand(expander *e, int file);

/*
 * Handles an include of a file that is being included already: writes an #error, which the file's own guard can skip.
 */
static stet_result put_circular_include(expander *e, int to, bool once)
{
    char guard[STI_DIRECTIVE_NAME];
    bool guarded = !once && sti_directive_guard(e->source->file[to].text.data, guard);
    if (once) return STET_OK;
    if (guarded) add_format(e, to, "#ifndef %s\n", guard);
    add_format(e, to, "#error this include closes a circle: the file is being included already\n");
    if (guarded) add_format(e, to, "#endif\n");
    return added(e->source);
}

/*
 * Puts the text of file `to` in the place of an #include. A file with `#pragma once` gets a guard; one of the library's
 * that has a guard is put once, unless a branch that may be skipped includes it: the text is a third as long.
 */
static stet_result put_file(expander *e, int to)
{
    sti_user_source *s = e->source;
    if (s->file[to].done || (e->def->tree && s->file[to].language)) return STET_OK;
    bool once = sti_directive_says_once(s->file[to].text.data);
    if (s->file[to].open) return put_circular_include(e, to, once);
    if (e->depth == STI_SOURCE_MAX_DEPTH)
        return sti_error(STET_ERROR_LIMIT, "%s: files include each other more than %d deep", s->file[to].name,
                         STI_SOURCE_MAX_DEPTH);
    if (once) add_format(e, to, "#ifndef STI_ONCE_%d\n#define STI_ONCE_%d\n", to, to);
    e->depth++;
    STI_TRY(expand(e, to));
    e->depth--;
    if (once) add_format(e, to, "#endif\n");
    return STET_OK;
}

static stet_result put_include(expander *e, int from, const sti_directive *d)
{
    int to = -1;
    if (d->kind != STI_DIRECTIVE_OTHER_INCLUDE) STI_TRY(resolve(e, from, d, &to));
    if (to >= 0) return put_file(e, to);
    if (d->kind == STI_DIRECTIVE_SYSTEM_INCLUDE && e->source->file[from].embedded) {
        add_format(e, from, "#include <%s>\n", d->name);
    } else if (d->kind == STI_DIRECTIVE_INCLUDE) {
        add_format(e, from, "#error %.200s is neither beside this file nor in the include folders%s\n", d->name,
                   d->name[0] == '/' || goes_up(d->name) ? ", and files elsewhere are not opened" : "");
    } else if (d->kind == STI_DIRECTIVE_SYSTEM_INCLUDE) {
        add_format(e, from, "#error <%.200s>: a kernel includes stet/lang.h and its own files in quotes\n", d->name);
    } else {
        add_format(e, from, "#error an include names its file in quotes\n");
    }
    return added(e->source);
}

/*
 * Adds one logical line of a file, which ends before line `line`. #line directives in a skipped branch are skipped too,
 * so there is one behind each branch.
 */
static stet_result put_line(expander *e, int file, const sti_directive *d, const char *bytes, size_t n, int line)
{
    bool whole = n > 0 && bytes[n - 1] == '\n', ends = d->kind == STI_DIRECTIVE_ELSE || d->kind == STI_DIRECTIVE_ENDIF;
    if (d->kind == STI_DIRECTIVE_NONE || d->kind == STI_DIRECTIVE_IF || ends) {
        add_user_source(e, file, bytes, n);
        if (!ends || !whole) return STET_OK;
    } else if (d->kind != STI_DIRECTIVE_ONCE) {
        mark_line(e, line - whole, file);
        STI_TRY(put_include(e, file, d));
    }
    mark_line(e, line, file);
    return STET_OK;
}

/* Adds a file line by line, with its includes expanded. */
static stet_result expand(expander *e, int file)
{
    sti_user_source *s = e->source;
    const char *text = s->file[file].text.data; /* remains valid when s->file is reallocated */
    char guard[STI_DIRECTIVE_NAME];
    bool guarded = s->file[file].embedded && sti_directive_guard(text, guard);
    s->file[file].open = true;
    s->file[file].done = guarded && e->branches == 0;
    e->branches -= guarded;
    mark_line(e, 1, file);
    int line = 1;
    for (size_t at = 0; text[at];) {
        sti_directive d;
        size_t end = sti_directive_next(text, at, &d);
        for (size_t i = at; i < end; ++i) line += text[i] == '\n';
        e->branches += (d.kind == STI_DIRECTIVE_IF) - (d.kind == STI_DIRECTIVE_ENDIF);
        STI_TRY(put_line(e, file, &d, text + at, end - at, line));
        if (s->text.size > STI_SOURCE_MAX_SIZE)
            return sti_error(STET_ERROR_LIMIT, "%s: with all that it includes it has more than %d bytes",
                             s->file[0].name, STI_SOURCE_MAX_SIZE);
        at = end;
    }
    if (s->text.size > 0 && added(s) == STET_OK && s->text.data[s->text.size - 1] != '\n')
        add_user_source(e, file, "\n", 1);
    s->file[file].open = false;
    e->branches += guarded;
    return added(s);
}

static stet_result read_main(const sti_user_source_def *def, sti_user_source *s)
{
    const char *name = def->path ? def->path : "kernel";
    int file = -1;
    if (def->text) {
        STI_TRY(new_file(s, name, "", &file));
        sti_text_buffer_put(&s->file[file].text, def->text);
        return s->file[file].text.result;
    }
    if (!def->path)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel: neither a source nor a path is given; give one");
    STI_TRY(open_file(s, name, &file));
    if (file < 0) return sti_error(STET_ERROR_NOT_FOUND, "%s: no file that can be read; check the kernel's path", name);
    return STET_OK;
}

static stet_result read_all(const sti_user_source_def *def, sti_user_source *s)
{
    expander e = {.def = def, .source = s};
    int slot;
    STI_TRY(read_main(def, s));
    if (!def->gpu && !def->tree) {
        STI_TRY(open_embedded(s, sti_language, "device/slot.h", &slot));
        STI_TRY(put_file(&e, slot));
    }
    return expand(&e, 0);
}

stet_result sti_user_source_read(const sti_user_source_def *def, sti_user_source *out)
{
    *out = (sti_user_source){.named = def->tree || def->files};
    stet_result result = read_all(def, out);
    if (result != STET_OK) sti_user_source_free(out);
    return result;
}

void sti_user_source_free(sti_user_source *s)
{
    for (int i = 0; i < s->nfile; ++i) {
        sti_free(s->file[i].name);
        sti_free(s->file[i].real);
        sti_text_buffer_free(&s->file[i].text);
    }
    sti_free(s->file);
    sti_text_buffer_free(&s->text);
    sti_text_buffer_free(&s->own);
    sti_free(s->kernel);
    memset(s, 0, sizeof *s);
}

void sti_user_source_explain(const sti_user_source *s, const char *said, size_t size, sti_text_buffer *out)
{
    for (size_t i = 0; i < size;) {
        size_t k = i + 1;
        int number = 0;
        while (said[i] == '<' && k < size && k < i + 6 && said[k] >= '0' && said[k] <= '9')
            number = number * 10 + (said[k++] - '0');
        if (k > i + 1 && k + 1 < size && said[k] == '>' && said[k + 1] == ':' && number < s->nfile) {
            sti_text_buffer_put(out, s->file[number].name);
            i = k + 1;
        } else {
            sti_text_buffer_add(out, said + i++, 1);
        }
    }
}

/* ---- the language's rules ---------------------------------------------------------------------------------------- */

enum { MAX_MISTAKES = 3 };

static stet_result report_mistakes(const sti_user_source *s, const sti_unit *unit)
{
    sti_text_buffer said = {0}, text = {0};
    int n = 0;
    for (const sti_diagnostic *d = sti_unit_diagnostics(unit); d && n < MAX_MISTAKES; d = d->next)
        sti_text_buffer_format(&said, "%s%s:%d:%d: %s", n++ ? "; " : "", d->file, d->line, d->column, d->message);
    if (sti_unit_mistakes(unit) > n) sti_text_buffer_format(&said, "; and %d more", sti_unit_mistakes(unit) - n);
    if (said.result == STET_OK) sti_user_source_explain(s, said.data, said.size, &text);
    stet_result result = said.result != STET_OK ? said.result : text.result;
    if (result == STET_OK) result = sti_error(STET_ERROR_PARSE, "%s", text.data);
    sti_text_buffer_free(&said);
    sti_text_buffer_free(&text);
    return result;
}

/* True for the names of file[0], including those that its own #line gives it; false for included files. */
static bool is_main(const char *name) { return name[0] != '<' || strcmp(name, "<0>") == 0; }

stet_result sti_user_source_check(sti_user_source *s, const sti_check_options *options)
{
    const char *name = s->file[0].name;
    sti_unit *unit;
    stet_result result = sti_check_source(s->own.data, "<0>", options, &unit);
    if (result == STET_ERROR_OUT_OF_MEMORY) return sti_error(result, "%s: out of memory while it was checked", name);
    if (result == STET_ERROR_PARSE)
        result = report_mistakes(s, unit);
    else if (result == STET_OK)
        result = sti_unit_kernels(unit, is_main, &s->kernel, &s->nkernel);
    sti_unit_destroy(unit);
    if (result == STET_OK && s->nkernel == 0)
        result =
            sti_error(STET_ERROR_PARSE, "%s: has no kernel; write world_kernel or item_kernel before a function", name);
    if (result == STET_OK && find_file(s, "stet/lang.h", true) < 0)
        result =
            sti_error(STET_ERROR_PARSE, "%s: does not include the language; begin with #include <stet/lang.h>", name);
    return result;
}

stet_result sti_user_source_unit(const sti_user_source_def *def, const sti_check_options *options, sti_unit **out)
{
    sti_user_source source;
    sti_user_source_def tree = *def;
    tree.tree = true;
    *out = NULL;
    STI_TRY(sti_user_source_read(&tree, &source));
    stet_result result = sti_check_source(source.own.data, source.file[0].name, options, out);
    sti_user_source_free(&source);
    return result;
}
