/*
 * The numbers of the rows of rows.inl, in its order: in the ints of a model, number k is where table, parameter or
 * quantity k begins, or a size. PH_TABLE_FIRST … are where the groups begin.
 */
#ifndef STI_PHYSICS_NUMBERS_H
#define STI_PHYSICS_NUMBERS_H

enum {
#define GROUP(first) first, first##_AGAIN = first - 1, /* the row behind it has the same number */
#define SIZE(number, name, a) number,
#define SIZE_MADE(number, name) number,
#define TABLE(number, name, a) number,
#define TABLE_MADE(number, name) number,
#define PARAMETER(number, name, a, b, c) number,
#define PARAMETER_OF(number, name, a, b, c, d) number,
#define PARAMETER_MADE(number, name) number,
#define MEMORY(number, name, a) number,
#define MEMORY_OWN(number, name, a) number,
#define AFTER(number, name, a) number,
#define AFTER_MADE(number, name) number,
#include "physics/model/rows.inl"
    M_HEADER /* ints before the first table */
};

#endif
