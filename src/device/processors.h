/* How many processors this process may use. */
#ifndef STI_DEVICE_PROCESSORS_H
#define STI_DEVICE_PROCESSORS_H

/* Those that it may run on, or the quota of its control groups if that is less. At least 1. */
int sti_processors(void);

/*
 * The CPU quota of this process's control groups (version 2: cpu.max, version 1: cpu.cfs_quota_us), in processors,
 * rounded up; 0: no quota. Files are looked for below `root`: "", or a test's folder.
 */
int sti_processors_of_quota(const char *root);

#endif
