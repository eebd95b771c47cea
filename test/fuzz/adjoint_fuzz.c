/*
 * Adjoints of any text that the checker takes: either there is one, which is a source of the language again, or a
 * sentence says what can't be differentiated and where. The first byte chooses what the text is read for.
 */
#include "adjoint/transform/adjoint.h"

#include "check_input.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void transform(sti_unit *unit, const sti_check_options *options)
{
    sti_adjoint adjoint;
    sti_unit *again;
    stet_result result = sti_adjoint_make(unit, NULL, &adjoint);
    require(result == STET_OK || (result == STET_ERROR_UNSUPPORTED && sti_unit_mistakes(unit) > 0));
    for (const sti_diagnostic *d = sti_unit_diagnostics(unit); d; d = d->next)
        require(!strstr(d->message, "no source of the language")); /* a form that the transformation does not know */
    if (result == STET_OK) {
        require(sti_check_source(adjoint.text.data, "adjoint", options, &again) == STET_OK);
        sti_unit_destroy(again);
    }
    sti_adjoint_free(&adjoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    sti_check_options options = options_of(data[0]);
    char *text = text_of(data, size);
    if (!text) return 0;
    sti_unit *unit;
    stet_result result = sti_check_source(text, "fuzz", &options, &unit);
    require(result == STET_OK || result == STET_ERROR_PARSE);
    if (result == STET_OK) transform(unit, &options);
    sti_unit_destroy(unit);
    free(text);
    return 0;
}
