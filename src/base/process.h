/* Detects forks: a forked child cannot use what belongs to the process that made it. */
#ifndef STI_BASE_PROCESS_H
#define STI_BASE_PROCESS_H

/* The number of forks between the process that first called this and the present one. Costs no system call. */
int sti_forks(void);

#endif
