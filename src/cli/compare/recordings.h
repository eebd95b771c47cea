/* What runs have written, compared: folders of --out, or .npy and .npz files. */
#ifndef STI_CLI_COMPARE_RECORDINGS_H
#define STI_CLI_COMPARE_RECORDINGS_H

/* Prints where they differ first; returns the exit code: 0, EXIT_WORK where they differ, EXIT_INPUT. */
int recordings_compare(const char *path_a, const char *path_b);

#endif
