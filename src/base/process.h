/* Which process this is: what belongs to the one that made it cannot be used in a forked child. */
#ifndef STI_BASE_PROCESS_H
#define STI_BASE_PROCESS_H

/* How many forks lie between the process that first asked and this one; costs no system call. */
int sti_forks(void);

#endif
