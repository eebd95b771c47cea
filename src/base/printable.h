/* Texts that go to a terminal: names in models and files may hold characters that control it. */
#ifndef STI_BASE_PRINTABLE_H
#define STI_BASE_PRINTABLE_H

/* Replaces control characters (of ASCII and, in UTF-8, U+0080 to U+009F) by '?', but for ends of lines and tabs. */
static inline void sti_make_printable(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; ++p) {
        if ((*p < 32 && *p != '\n' && *p != '\r' && *p != '\t') || *p == 127) *p = '?';
        if (*p == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0) p[0] = p[1] = '?';
    }
}

#endif
