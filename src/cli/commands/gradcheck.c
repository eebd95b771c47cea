/* `stet gradcheck FILE.k.h`: compares gradients of adjoints with central differences in double. */
#include "cli/command.h"
#include "base/plural.h"
#include "cli/report_error.h"
#include "stet/adjoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 32, NUMBERS = 4096 };

typedef struct gradcheck_options {
    stet_gradcheck_def def;
    const char *folder[WORDS], *constant[WORDS];
    stet_gradcheck_value value[WORDS];
    char name[WORDS][64];
    int64_t number[NUMBERS];
    int nnumber;
    bool help;
} gradcheck_options;

static int print_usage(void)
{
    printf(
        "stet gradcheck FILE.k.h [options]\n\n"
        "Compares the gradients that the kernels' adjoints work out with central differences, in double, for random\n"
        "inputs. Exit code 1: some gradient is wrong, or none could be compared. Kernels run in checked mode: a fault\n"
        "(beyond an array, a division by 0) is told with line, array, index and world.\n\n"
        "  --kernel NAME         only this one\n"
        "  --constant NAME       this parameter is constant; may be repeated\n"
        "  --int NAME=V          a whole number (others: 3)\n"
        "  --items NAME=N        the size of an array (others: 32)\n"
        "  --values NAME=V,V,…   the content of an array of whole numbers (others: 0, 1, 2, 0, 1, 2, …)\n"
        "  --range NAME=LOW,HIGH random reals lie there (others: 0.1,0.9)\n"
        "  --worlds N --seed N --tolerance T (2, 1, 1e-5; of an item kernel its blocks)\n"
        "  -I FOLDER             also looks there for what the file includes; may be repeated\n");
    return 0;
}

/* The entry of the name before `=`; *text becomes the text after it. NULL: no name, or too many. */
static stet_gradcheck_value *named(gradcheck_options *o, const char **text)
{
    const char *equal = strchr(*text, '=');
    size_t n = equal ? (size_t)(equal - *text) : 0;
    if (n == 0 || n >= sizeof o->name[0]) return NULL;
    int i = 0;
    while (i < o->def.nvalue && (strlen(o->name[i]) != n || memcmp(o->name[i], *text, n) != 0)) ++i;
    if (i == WORDS) return NULL;
    if (i == o->def.nvalue) {
        memcpy(o->name[i], *text, n);
        o->value[i].name = o->name[i];
        o->def.nvalue++;
    }
    *text = equal + 1;
    return &o->value[i];
}

static bool whole(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && *end == 0 && errno == 0;
}

/* If the content of an array is given, its size follows from it. */
static bool take_items(gradcheck_options *o, const char *text)
{
    stet_gradcheck_value *v = named(o, &text);
    return v && !v->value && whole(text, &v->nitem) && v->nitem > 0;
}

static bool take_values(gradcheck_options *o, const char *text)
{
    stet_gradcheck_value *v = named(o, &text);
    if (!v || v->nitem > 0) return false;
    v->value = &o->number[o->nnumber];
    errno = 0;
    for (char *end;; text = end + 1) {
        if (o->nnumber == NUMBERS) return false;
        o->number[o->nnumber++] = strtoll(text, &end, 10);
        v->nitem++;
        if (end == text || errno != 0) return false;
        if (*end != ',') return *end == 0;
    }
}

static bool real_number(const char *text, char end, double *out, const char **behind)
{
    char *stop;
    *out = strtod(text, &stop);
    *behind = stop + 1;
    return stop != text && *stop == end && isfinite(*out);
}

static bool take_range(gradcheck_options *o, const char *text)
{
    stet_gradcheck_value *v = named(o, &text);
    return v && real_number(text, ',', &v->low, &text) && real_number(text, 0, &v->high, &text) && v->low < v->high;
}

static bool take_word(const char *text, const char **list, int *n)
{
    if (*n == WORDS) return false;
    list[(*n)++] = text;
    return true;
}

/* Reads an option with its value; *known false: no such option. */
static bool take_option(gradcheck_options *o, const char *option, const char *text, bool *known)
{
    const char *rest = text;
    int64_t n = 0;
    stet_gradcheck_value *v;
    if (strcmp(option, "--kernel") == 0) return (o->def.kernel = text) != NULL;
    if (strcmp(option, "--constant") == 0) return take_word(text, o->constant, &o->def.nconstant);
    if (strcmp(option, "-I") == 0) return take_word(text, o->folder, &o->def.ninclude);
    if (strcmp(option, "--values") == 0) return take_values(o, text);
    if (strcmp(option, "--range") == 0) return take_range(o, text);
    if (strcmp(option, "--int") == 0) return (v = named(o, &rest)) && whole(rest, &v->number);
    if (strcmp(option, "--items") == 0) return take_items(o, text);
    if (strcmp(option, "--tolerance") == 0)
        return real_number(text, 0, &o->def.tolerance, &rest) && o->def.tolerance > 0;
    if (strcmp(option, "--worlds") == 0) {
        bool good = whole(text, &n) && n > 0 && n < 1 << 20;
        o->def.nworld = good ? (int)n : 1;
        return good;
    }
    if (strcmp(option, "--seed") == 0) {
        bool good = whole(text, &n);
        o->def.seed = (uint64_t)n;
        return good;
    }
    *known = false;
    return true;
}

/* `--values k=1,,2: not understood`; of a long list only the name, and the number that is wrong. */
static int say_wrong_option(const char *option, const char *text)
{
    enum { LONG = 60 };
    const char *equal = strchr(text, '=');
    if (strlen(text) <= LONG || strcmp(option, "--values") != 0 || !equal)
        return report_error(EXIT_INPUT, "%s %.*s%s: not understood; stet gradcheck --help says how", option, LONG, text,
                            strlen(text) > LONG ? "…" : "");
    const char *at = equal + 1;
    const int name = equal - text < LONG ? (int)(equal - text) : LONG;
    for (int n = 0; n < NUMBERS; ++n) {
        char *end;
        errno = 0;
        (void)strtoll(at, &end, 10);
        const int size = (int)strcspn(at, ",");
        if (end == at || errno != 0 || (*end != ',' && *end != 0))
            return report_error(EXIT_INPUT,
                                "%s %.*s: number %d of the list is `%.*s`; give whole numbers with commas between them",
                                option, name, text, n, size < LONG ? size : LONG, at);
        if (*end == 0)
            return report_error(EXIT_INPUT, "%s %.*s: not understood; give each array once, and no --items for it",
                                option, name, text);
        at = end + 1;
    }
    return report_error(EXIT_INPUT, "%s %.*s: more than %d numbers, which is what all lists together may have", option,
                        name, text, NUMBERS);
}

static int parse(int argc, char **argv, gradcheck_options *o)
{
    for (int i = 1; i < argc; ++i) {
        bool known = true;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            o->help = true;
        } else if (argv[i][0] != '-' && !o->def.path) {
            o->def.path = argv[i];
        } else if (i + 1 < argc && argv[i][0] == '-') {
            bool good = take_option(o, argv[i], argv[i + 1], &known);
            if (!good) return say_wrong_option(argv[i], argv[i + 1]);
            if (known) ++i;
        } else {
            known = false;
        }
        if (!known)
            return report_error(EXIT_INPUT, "%s: not understood; stet gradcheck --help lists the options", argv[i]);
    }
    if (!o->def.path && !o->help) return report_error(EXIT_INPUT, "no file is given; stet gradcheck FILE.k.h");
    return 0;
}

int gradcheck_main(int argc, char **argv)
{
    static gradcheck_options o;
    stet_gradcheck_result r;
    o = (gradcheck_options){.def = stet_default_gradcheck_def()};
    report_begin("stet gradcheck", WARNINGS_SHOWN);
    int code = parse(argc, argv, &o);
    if (code != 0) return code;
    if (o.help) return print_usage();
    o.def.includes = o.folder;
    o.def.constant = o.constant;
    o.def.value = o.value;
    if (stet_gradcheck(&o.def, &r) != STET_OK) return report_last_error(EXIT_INPUT);
    printf("%" PRId64 " gradient%s compared, %" PRId64 " wrong; greatest error %.2g%s%s\n", r.compared,
           STI_S(r.compared), r.wrong, r.worst, r.where[0] ? " at " : "", r.where);
    int64_t kinks = r.unfit - r.rounded - r.undecided;
    if (kinks > 0)
        printf("%" PRId64 " gradient%s not compared: what the kernel computes there is not finite or has a kink or an "
               "edge (where an adjoint gives the gradient of the side that the kernel takes), so differences say "
               "nothing; give --range\n",
               kinks, STI_S(kinks));
    if (r.rounded > 0)
        printf("%" PRId64 " gradient%s not compared: what the kernel writes is so large that the difference cannot be "
               "told from rounding; give --range\n",
               r.rounded, STI_S(r.rounded));
    if (r.undecided > 0)
        printf("%" PRId64 " gradient%s not compared: differences do not converge there, as the kernel jumps, changes "
               "too fast or rounds too much; give --range\n",
               r.undecided, STI_S(r.undecided));
    return r.wrong > 0 || r.compared == 0 ? EXIT_WORK : 0;
}
