/* Counted things in sentences. */
#ifndef STI_BASE_PLURAL_H
#define STI_BASE_PLURAL_H

/* What a noun ends in behind a number: "%d camera%s", n, STI_S(n). */
#define STI_S(n) ((n) == 1 ? "" : "s")

#endif
