# The tests of adjoints.
stet_tests(adjoint gradcheck)
stet_test(adjoint/far LABELS long)
stet_tests(adjoint/transform adjoint derivative forms items loops refusals team)
stet_tests(adjoint/sizing stack_ids)
stet_tests(adjoint/tape tape_fault)
stet_test_doubles(adjoint/tape_fault)
# On every device that runs kernels, the doubles among them.
stet_tests(adjoint devices item_devices variants)
stet_tests(adjoint/launch gather handle listed listed_overflow plan sum)
stet_tests(adjoint/sizing overflow room stack stack_cache stack_wrong)
stet_tests(adjoint/tape tape tape_operation tape_past tape_rules tape_sizes)
foreach(noun IN ITEMS devices gather handle item_devices listed listed_overflow overflow plan room stack stack_cache
        stack_wrong sum tape tape_operation tape_rules tape_sizes variants)
    stet_test_doubles(adjoint/${noun})
    stet_test_sees_gpu(adjoint/${noun})
endforeach()
# 64 programs a source, some 10 s of a core: 192 in the short tier, by a seed of each run, 512 in adjoint/random_whole
# and 25600 others in `whole`, in four parts. Each production of the grammar for which no program is refused has to be
# right as often as the last number says: 1000 times in all parts of `whole` together.
stet_test(adjoint/random SOURCES adjoint/programs.c adjoint/programs_functions.c adjoint/programs_team.c
    adjoint/programs_writer.c)
foreach(part RANGE 1 4)
    add_test(NAME adjoint/random_long_${part} COMMAND test_adjoint_random 100 ${part}000 250)
    stet_test_properties(adjoint/random_long_${part} adjoint whole)
    set_tests_properties(adjoint/random_long_${part} PROPERTIES TIMEOUT 3600)
endforeach()
