/*
 * `stet cache`: describes, lists, checks, fills and empties the disk cache of compiled kernels.
 *
 * A listing is first built as JSON, and the text is made from that, so the two always agree.
 */
#include "cli/command.h"
#include "cli/commands/cache_code.h"
#include "cli/files/json_file.h"
#include "cli/report_error.h"
#include "kernel/compile/cache.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct cache_options {
    const char *action, *folder; /* folder NULL: the default folder */
    const char *arch, *to;       /* of `fill` */
    bool json;
} cache_options;

/* The selected folder and its cache. */
typedef struct opened {
    sti_text_buffer path;
    sti_cache cache;
    bool absent; /* the default folder does not exist, so nothing was ever cached */
} opened;

static int open_cache(const char *folder, opened *out)
{
    *out = (opened){.cache.folder = -1};
    if (folder)
        sti_text_buffer_put(&out->path, folder);
    else if (sti_cache_default_folder(&out->path) != STET_OK)
        return report_last_error(EXIT_INPUT);
    if (out->path.result != STET_OK) return report_last_error(EXIT_WORK);
    stet_result result = sti_cache_open(out->path.data, 0, true, &out->cache);
    out->absent = result == STET_ERROR_NOT_FOUND && !folder;
    if (out->absent || result == STET_OK) return 0;
    return report_last_error(result == STET_ERROR_NOT_FOUND || result == STET_ERROR_UNSUPPORTED ? EXIT_INPUT
                                                                                                : EXIT_WORK);
}

static void close_cache(opened *o)
{
    sti_cache_close(&o->cache);
    sti_text_buffer_free(&o->path);
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

static const char *verdict_name(sti_verdict verdict)
{
    switch (verdict) {
    case STI_FOUND: return "good";
    case STI_FOREIGN: return "foreign";
    case STI_OTHER_SCHEMA: return "old schema";
    case STI_COLLISION: return "misplaced";
    default: return "damaged";
    }
}

/*
 * The value of `word` in a key's text. The text has lines "word value" up to the word `version`, which the compiler's
 * own version text follows. Returns the length; 0: no such line.
 */
static size_t key_value(const char *key, size_t size, const char *word, const char **out)
{
    const char *end = key + size;
    for (const char *line = key; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((stop ? stop : end) - line), w = strlen(word);
        bool version = n > 8 && memcmp(line, "version ", 8) == 0;
        if (version && strcmp(word, "version") == 0) { /* the first line of what follows */
            const char *said = stop ? stop + 1 : end;
            const char *to = memchr(said, '\n', (size_t)(end - said));
            *out = said;
            return (size_t)((to ? to : end) - said);
        }
        if (version) return 0;
        if (n > w + 1 && memcmp(line, word, w) == 0 && line[w] == ' ') {
            *out = line + w + 1;
            return n - w - 1;
        }
        line = stop ? stop + 1 : end;
    }
    return 0;
}

/* Text that is not UTF-8 becomes null. */
static void set_value(json_t *o, const char *name, const sti_cache_item *item, const char *word)
{
    const char *text = NULL;
    size_t n = item->key ? key_value(item->key, item->key_size, word, &text) : 0;
    json_t *value = n > 0 ? json_stringn(text, n) : NULL;
    json_object_set_new(o, name, value ? value : json_null());
}

static bool has_value(const sti_cache_item *item, const char *word)
{
    const char *text;
    return item->key && key_value(item->key, item->key_size, word, &text) > 0;
}

static json_t *kernels_json(const sti_cache_item *item)
{
    json_t *list = json_array();
    const char *at = NULL;
    size_t n = item->key ? key_value(item->key, item->key_size, "kernels", &at) : 0;
    for (const char *end = at + n; at < end;) {
        const char *space = memchr(at, ' ', (size_t)(end - at)), *stop = space ? space : end;
        json_array_append_new(list, json_stringn(at, (size_t)(stop - at)));
        at = space ? space + 1 : end;
    }
    return list;
}

static void add_item(void *context, const sti_cache_item *item)
{
    json_t *listing = context, *o = json_object();
    time_t seconds = (time_t)(item->used / 1000000000);
    struct tm when;
    char text[32] = "";
    if (gmtime_r(&seconds, &when)) (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when);
    json_object_set_new(o, "id", json_string(item->id));
    json_object_set_new(o, "bytes", json_integer(item->size));
    json_object_set_new(o, "last_use", json_string(text));
    json_object_set_new(o, "verdict", json_string(verdict_name(item->verdict)));
    json_object_set_new(o, "kernels", kernels_json(item));
    set_value(o, "target", item, has_value(item, "isa") ? "isa" : "arch");
    set_value(o, "compiler", item, "compiler");
    set_value(o, "compiler_version", item, "version");
    set_value(o, "stet", item, "stet");
    json_t *bytes = json_object_get(listing, "bytes");
    (void)json_integer_set(bytes, json_integer_value(bytes) + item->size);
    json_array_append_new(json_object_get(listing, "entries"), o);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void print_entry(const json_t *o)
{
    const char *target = json_string_value(json_object_get(o, "target"));
    const char *compiler = json_string_value(json_object_get(o, "compiler_version"));
    if (!compiler)
        compiler = json_string_value(json_object_get(o, "compiler")); /* a GPU compiler has its version in its name */
    printf("%s %9lld B  %s  %-10s", json_string_value(json_object_get(o, "id")),
           (long long)json_integer_value(json_object_get(o, "bytes")),
           json_string_value(json_object_get(o, "last_use")), json_string_value(json_object_get(o, "verdict")));
    size_t i;
    json_t *kernel;
    json_array_foreach(json_object_get(o, "kernels"), i, kernel)
        printf("%s%s", i ? ", " : "  ", json_string_value(kernel));
    if (target) printf("  %s", target);
    if (compiler) printf("  %s", compiler);
    putchar('\n');
}

static void print_total(const json_t *listing, const char *folder)
{
    const json_t *entries = json_object_get(listing, "entries");
    printf("%s: %zu %s, %lld of %lld bytes\n", folder, json_array_size(entries),
           json_array_size(entries) == 1 ? "entry" : "entries",
           (long long)json_integer_value(json_object_get(listing, "bytes")),
           (long long)json_integer_value(json_object_get(listing, "limit")));
}

static void print_listing(const json_t *listing, const char *folder)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(listing, "entries"), i, o) print_entry(o);
    print_total(listing, folder);
}

static void print_summary(const json_t *listing, const char *folder)
{
    printf("cache    ");
    print_total(listing, folder);
    cache_shipped_print(json_object_get(listing, "shipped"));
}

/* With what was shipped, and without what each entry is, if it is a summary. */
static int show(const cache_options *options, opened *o, bool summary)
{
    json_t *listing = json_object(), *folder = json_string(o->path.data);
    json_object_set_new(listing, "folder", folder ? folder : json_null());
    json_object_set_new(listing, "limit", json_integer(STI_CACHE_DEFAULT_LIMIT));
    json_object_set_new(listing, "bytes", json_integer(0));
    json_object_set_new(listing, "entries", json_array());
    bool good = o->absent || sti_cache_list(&o->cache, add_item, listing) == STET_OK;
    if (good && summary) {
        json_object_set_new(listing, "shipped", cache_shipped_json());
        if (options->json)
            json_object_set_new(listing, "entries",
                                json_integer((json_int_t)json_array_size(json_object_get(listing, "entries"))));
    }
    if (good && options->json)
        json_file_print(listing, JSON_INDENT(2));
    else if (good && summary)
        print_summary(listing, o->path.data);
    else if (good)
        print_listing(listing, o->path.data);
    json_decref(listing);
    return good ? 0 : report_last_error(EXIT_WORK);
}

static int info(const cache_options *options, opened *o) { return show(options, o, true); }
static int list(const cache_options *options, opened *o) { return show(options, o, false); }

/* ---- fill, verify and clear -------------------------------------------------------------------------------------- */

static int fill(const cache_options *options, opened *o)
{
    (void)o;
    return cache_fill(options->arch, options->folder, options->to);
}

static int verify(const cache_options *options, opened *o)
{
    int64_t good = 0, removed = 0;
    (void)options;
    if (!o->absent && sti_cache_verify(&o->cache, &good, &removed) != STET_OK) return report_last_error(EXIT_WORK);
    printf("%s: %lld good, %lld removed\n", o->path.data, (long long)good, (long long)removed);
    return 0;
}

static int clear(const cache_options *options, opened *o)
{
    int64_t removed = 0;
    (void)options;
    if (!o->absent && sti_cache_clear(&o->cache, &removed) != STET_OK) return report_last_error(EXIT_WORK);
    printf("%s: %lld removed\n", o->path.data, (long long)removed);
    return 0;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static const struct action {
    const char *name, *help;
    int (*run)(const cache_options *options, opened *o);
    bool makes; /* the folder, if there is none */
} actions[] = {
    {"info", "where it is, how large, and what code for GPUs came with stet; the same without a word", info, false},
    {"list", "each entry: id, size, last use (UTC), whether it is good, its kernels, what runs them, compiler", list,
     false},
    {"fill", "compiles for GPUs what a first run of any scene needs, before it does", fill, true},
    {"clear", "removes all of it; kernels are compiled again when they are needed", clear, false},
    {"verify", "reads each entry and removes those that are damaged, not this user's, or of an older stet", verify,
     false},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static int print_help(void)
{
    printf("stet cache [info|list|fill|clear|verify] [--folder F] [--arch A] [--to F] [--json]\n\nThe compiled kernels "
           "that stet keeps on disk.\n\n");
    for (int i = 0; i < ACTIONS; ++i) printf("  %-8s %s\n", actions[i].name, actions[i].help);
    printf("\n  --folder F   another folder than $XDG_CACHE_HOME/stet or ~/.cache/stet\n"
           "  --json       info or the list as one JSON object, and nothing else\n"
           "  --arch A     fill: for these architectures, such as sm_90,sm_100 or gfx90a; no GPU is needed (default:\n"
           "               those of this machine's GPUs)\n"
           "  --to F       fill: not the cache, but a folder to be shipped; any user may read it. stet looks for one\n"
           "               beside its library (gpu_code), or where $STET_GPU_CODE_FOLDER says\n");
    return 0;
}

static const struct action *find_action(const char *name)
{
    for (int i = 0; i < ACTIONS; ++i)
        if (name && strcmp(name, actions[i].name) == 0) return &actions[i];
    return NULL;
}

/* The place of an option's value; NULL: it is no option with a value. */
static const char **value_of(cache_options *o, const char *name, size_t n)
{
    const struct {
        const char *name;
        const char **value;
    } all[] = {{"--folder", &o->folder}, {"--arch", &o->arch}, {"--to", &o->to}};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        if (strlen(all[k].name) == n && strncmp(all[k].name, name, n) == 0) return all[k].value;
    return NULL;
}

/* Reads one word of the command. -1: continue with the word after the option's value; else the exit code. */
static int read_word(char **argv, int *i, cache_options *out)
{
    const char *word = argv[*i];
    size_t n = strcspn(word, "=");
    const char **value = value_of(out, word, n);
    if (strcmp(word, "--json") == 0) {
        out->json = true;
    } else if (value && word[n]) {
        *value = word + n + 1;
    } else if (value) {
        if (!argv[*i + 1]) return report_error(EXIT_INPUT, "%s needs a value; stet cache --help explains", word);
        *value = argv[++*i];
    } else if (word[0] == '-') {
        return report_error(EXIT_INPUT, "%s: there is no such option; stet cache --help lists them", word);
    } else if (out->action) {
        return report_error(EXIT_INPUT, "%s: it is said already what to do (%s); give one", word, out->action);
    } else {
        out->action = word;
    }
    return -1;
}

static int check_cache_command(const cache_options *o)
{
    const bool fills = strcmp(o->action, "fill") == 0;
    if (!find_action(o->action))
        return report_error(EXIT_INPUT, "%s: there are info, list, fill, clear and verify; give one", o->action);
    if (o->json && strcmp(o->action, "list") != 0 && strcmp(o->action, "info") != 0)
        return report_error(EXIT_INPUT, "--json goes with info and list only; leave it out");
    if ((o->arch || o->to) && !fills)
        return report_error(EXIT_INPUT, "%s goes with fill only; leave it out", o->arch ? "--arch" : "--to");
    if (o->folder && !*o->folder) return report_error(EXIT_INPUT, "--folder: the name is empty; give a folder");
    if (o->to && !*o->to) return report_error(EXIT_INPUT, "--to: the name is empty; give a folder");
    if (o->to && o->folder)
        return report_error(EXIT_INPUT, "--folder is a cache, and --to a folder to be shipped; give one of the two");
    return -1;
}

int cache_main(int argc, char **argv)
{
    cache_options options = {0};
    opened o;
    int code = -1;
    report_begin("stet cache", WARNINGS_SHOWN);
    for (int i = 1; i < argc && code < 0; ++i) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return print_help();
        code = read_word(argv, &i, &options);
    }
    if (!options.action) options.action = "info";
    if (code < 0) code = check_cache_command(&options);
    if (code >= 0) return code;
    if (find_action(options.action)->makes) return find_action(options.action)->run(&options, NULL);
    code = open_cache(options.folder, &o);
    if (code == 0) code = find_action(options.action)->run(&options, &o);
    close_cache(&o);
    return code;
}
