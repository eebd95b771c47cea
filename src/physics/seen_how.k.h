/* What k_native_see (seen.k.h) does. */
#define SEEN_KEEP 0   /* copies the chosen worlds: kept becomes 1 */
#define SEEN_BEGIN 1  /* copies the worlds whose kept is 0, which stays */
#define SEEN_LOST 2   /* copies those of the chosen worlds that the latest time step put back, as they went wrong */
#define SEEN_FORGET 3 /* copies nothing: kept of the chosen worlds becomes 0 */
