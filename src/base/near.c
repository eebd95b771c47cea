/* See near.h. */
#include "base/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63 }; /* longer names are compared as a whole only */

static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

static int least(int a, int b) { return a < b ? a : b; }

/* Edits that turn a into b (optimal string alignment); n and k are their lengths. */
static int count_edits(const char *a, int n, const char *b, int k)
{
    int row[3][LONGEST + 1]; /* of the present character of a, of the one before, and of the one before that */
    for (int i = 0; i <= n; ++i) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *first = row[(i + 1) % 3];
        for (int j = 0; j <= k; ++j) {
            if (i == 0 || j == 0) {
                now[j] = i + j;
                continue;
            }
            now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], first[j - 2] + 1);
        }
    }
    return row[n % 3][k];
}

static bool contains(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (; n >= 3 && strlen(name) >= n; ++name)
        if (strncasecmp(name, part, n) == 0) return true;
    return false;
}

sti_near sti_near_begin(const char *wanted) { return (sti_near){.wanted = wanted}; }

void sti_near_offer(sti_near *near, const char *name)
{
    size_t n = strlen(near->wanted), k = strlen(name);
    int distance = 0;
    if (strcasecmp(near->wanted, name) != 0) {
        bool is_part = contains(name, near->wanted) || contains(near->wanted, name);
        bool short_enough = n <= LONGEST && k <= LONGEST;
        if (!is_part && !short_enough) return;
        distance = short_enough ? count_edits(near->wanted, (int)n, name, (int)k) : (int)(n > k ? n - k : k - n);
        if (!is_part && 3 * distance > (int)(n > k ? n : k)) return;
    }
    if (near->nearest && distance >= near->distance) return;
    near->nearest = name;
    near->distance = distance;
}
