/*
 * The checker of the kernel language, on any text: it may only say what is wrong. What it finds fine prints as a text
 * that reads as an equal tree. The first byte chooses what the text is read for.
 */
#include "base/memory.h"
#include "kernel/check/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sti_check_options options_of(uint8_t byte)
{
    static const int lanes[] = {1, 4, 8, 16};
    sti_check_options o = sti_default_check_options();
    o.gpu = (byte & 4) != 0;
    o.real_double = (byte & 8) != 0;
    o.lanes = o.gpu || o.real_double ? 1 : lanes[byte & 3];
    return o;
}

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
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    sti_unit *unit;
    stet_result result = sti_check_source(text, "fuzz", &options, &unit);
    if (result == STET_OK) {
        check_print(unit, &options);
    } else if (result != STET_PARSE || sti_unit_mistakes(unit) == 0 || !sti_unit_diagnostics(unit)) {
        abort();
    }
    sti_unit_destroy(unit);
    free(text);
    return 0;
}
