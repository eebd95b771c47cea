/*
 * Finds whether an adjoint reads the content of an array. Reals that appear only in sums are not read, so their
 * contents need not be saved.
 *
 * The adjoint's text leaves out everything that is not needed, so a parameter whose name is not in its body is not
 * read. If the source itself has the adjoint, all parameters count as read.
 */
#include "adjoint/launch/handle.h"
#include "adjoint/tape/tape.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Finds the next whole word from `at` on, before `end`; NULL: there is none. */
static const char *find_word(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = at; (p = strstr(p, word)) && p < end; p += n)
        if (!in_name(p[n]) && (p == at || !in_name(p[-1]))) return p;
    return NULL;
}

/* Finds the body of a function in a printed text: from the brace that begins a line to the next one that does. */
static bool find_body(const char *text, const char *name, const char **begin, const char **end)
{
    const char *p = text, *limit = text + strlen(text);
    while ((p = find_word(p, limit, name)) && p[strlen(name)] != '(') p += strlen(name);
    *begin = p ? strstr(p, "\n{\n") : NULL;
    *end = *begin ? strstr(*begin, "\n}\n") : NULL;
    return *end != NULL;
}

void sti_tape_find_reads(sti_tape_kernel *k)
{
    char name[2 * STI_MAX_NAME];
    const char *begin, *end;
    (void)snprintf(name, sizeof name, "%s_adj", k->name);
    bool own = k->adjoint->k == &k->adjoint->given;
    bool seen = !own && find_body(stet_adjoint_get_source(k->adjoint), name, &begin, &end);
    for (int i = 0; i < k->nparam; ++i) {
        sti_tape_param *p = &k->param[i];
        p->read = !seen || !p->real || find_word(begin, end, p->name) != NULL;
    }
}
