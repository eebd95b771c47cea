/*
 * A stack that is entered and left: the least that fibers need. On x86-64 a change costs a few instructions; elsewhere
 * ucontext does it.
 */
#ifndef TEST_DOUBLE_STACK_H
#define TEST_DOUBLE_STACK_H

typedef struct dd_stack dd_stack;

/* Where a flow of control was left. */
typedef struct dd_place {
    void *at;
} dd_place;

dd_stack *dd_stack_make(void); /* lives as long as the process; NULL: no memory */
/* The next `enter` calls f on the stack; when f returns, `enter` does. */
void dd_stack_begin(dd_stack *stack, void (*f)(void));
void dd_stack_enter(dd_stack *stack, dd_place *from); /* until the stack is left */
void dd_stack_leave(dd_stack *stack, dd_place *to);   /* until it is entered */

#endif
