/*
 * Invariants as code: sti_validate_<noun>() asserts the written invariants of one thing, at the borders of its module.
 * With NDEBUG it is nothing; a tree for tests undefines that (STET_ASSERT). A header declares it with STI_VALIDATE; the
 * definition stands between #ifndef NDEBUG and #endif.
 */
#ifndef STI_BASE_VALIDATE_H
#define STI_BASE_VALIDATE_H

#include <assert.h>

#ifdef NDEBUG
#define STI_VALIDATE(noun, type)                                                                                       \
    static inline void sti_validate_##noun(const type *thing) { (void)thing; }
#else
#define STI_VALIDATE(noun, type) void sti_validate_##noun(const type *thing);
#endif

#endif
