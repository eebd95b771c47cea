/* Nouns behind numbers in messages. */
#ifndef STI_BASE_PLURAL_H
#define STI_BASE_PLURAL_H

/* The plural "s" of a noun behind a number: "%d camera%s", n, STI_S(n). */
#define STI_S(n) ((n) == 1 ? "" : "s")

#endif
