/*
 * Adjoints of any text that the checker takes: either there is one, which is a source of the language again, or a sentence says what can't
 * be differentiated and where. The first byte chooses what the text is read for.
 */
#include "adjoint/adjoint.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static sti_check_options options_of(uint8_t byte)
{
    static const int lanes[] = {1, 4, 8, 16};
    sti_check_options o = sti_default_check_options();
    o.gpu = (byte & 4) != 0;
    o.real_double = (byte & 8) != 0;
    o.lanes = o.gpu || o.real_double ? 1 : lanes[byte & 3];
    return o;
}

static void transform(sti_unit *unit, const sti_check_options *options)
{
    sti_adjoint adjoint;
    sti_unit *again;
    stet_result result = sti_adjoint_make(unit, NULL, &adjoint);
    require(result == STET_OK || (result == STET_UNSUPPORTED && sti_unit_mistakes(unit) > 0));
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
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    sti_unit *unit;
    stet_result result = sti_check_source(text, "fuzz", &options, &unit);
    require(result == STET_OK || result == STET_PARSE);
    if (result == STET_OK) transform(unit, &options);
    sti_unit_destroy(unit);
    free(text);
    return 0;
}
