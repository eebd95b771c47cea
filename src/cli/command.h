/* The subcommands: each gets its words from argv[0] on and returns an exit code. */
#ifndef STI_CLI_COMMAND_H
#define STI_CLI_COMMAND_H

int run_main(int argc, char **argv);
int info_main(int argc, char **argv);
int cache_main(int argc, char **argv);
int adjoint_main(int argc, char **argv);
int gradcheck_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int bench_main(int argc, char **argv);

#endif
