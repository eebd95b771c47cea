/*
 * Heaps of trees that touch their neighbours: 169 dofs, so rows of the solver's matrix need two ints of bits; and 49,
 * more than a team has threads.
 */
#ifndef TEST_PHYSICS_HEAP_H
#define TEST_PHYSICS_HEAP_H

#define HEAP_OF_TREES                                                                                                  \
    "<replicate count='4' offset='.19 0 .005'><replicate count='3' offset='.005 .19 0'><replicate count='2' "          \
    "offset='.01 .005 .19'><body pos='0 0 .095'><freejoint/><geom size='.1'/><body pos='.03 .02 0'><joint axis='0 1 "  \
    "1'/><geom type='capsule' size='.06' fromto='0 0 0 .06 0 .02'/></body></body></replicate></replicate></replicate>" \
    "<body pos='-.2 .2 .1'><joint type='slide' axis='1 0 0'/><geom size='.12'/></body>"

#define SMALL_HEAP                                                                                                     \
    "<replicate count='4' offset='.19 0 .005'><replicate count='2' offset='.005 .19 0'><body pos='0 0 .095'>"          \
    "<freejoint/><geom size='.1'/></body></replicate></replicate><body pos='-.2 .2 .1'><joint type='slide' axis='1 0 " \
    "0'/><geom size='.12'/></body>"

#endif
