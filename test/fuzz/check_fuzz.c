/*
 * The checker of the kernel language, on any text: it may only say what is wrong. What it finds fine prints as a text
 * that reads as an equal tree. The first byte chooses what the text is read for.
 */
#include "base/memory.h"
#include "kernel/check/check.h"

#include "check_input.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_print(const sti_unit *unit, const sti_check_options *options)
{
    char *printed;
    sti_unit *again;
    if (sti_unit_print(unit, &printed) != STET_OK) abort();
    if (sti_check_source(printed, "printed", options, &again) != STET_OK) abort();
    if (!sti_unit_equal(unit, again)) abort();
    sti_unit_destroy(again);
    sti_free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    sti_check_options options = options_of(data[0]);
    char *text = text_of(data, size);
    if (!text) return 0;
    sti_unit *unit;
    stet_result result = sti_check_source(text, "fuzz", &options, &unit);
    if (result == STET_OK) {
        check_print(unit, &options);
    } else if (result != STET_ERROR_PARSE || sti_unit_mistakes(unit) == 0 || !sti_unit_diagnostics(unit)) {
        abort();
    }
    sti_unit_destroy(unit);
    free(text);
    return 0;
}
