/*
 * Changing stacks (stack.h). A stack has a closed page below it: what needs more than SIZE bytes faults there.
 */
#define _GNU_SOURCE
#include "stack.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

enum { SIZE = 128 << 10, CLOSED = 4096 };

struct dd_stack {
    unsigned char *memory;
    void (*f)(void);
    dd_place inside;
    dd_place *outside;
#if !defined(__x86_64__)
    ucontext_t here, there;
#endif
};

dd_stack *dd_stack_make(void)
{
    dd_stack *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->memory == MAP_FAILED || mprotect(s->memory, CLOSED, PROT_NONE) != 0) {
        free(s);
        return NULL;
    }
    return s;
}

static dd_stack *entered; /* on which the code runs */

#if defined(__x86_64__)

/* Keeps what the calling convention wants kept, notes where the stack stands, goes on at another. */
void dd_stack_change(void **from, void *to);
__asm__(".text\n"
        ".type dd_stack_change, @function\n"
        "dd_stack_change:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size dd_stack_change, .-dd_stack_change\n");

static void first(void)
{
    dd_stack *s = entered;
    s->f();
    dd_stack_leave(s, s->outside);
    __builtin_unreachable();
}

void dd_stack_begin(dd_stack *stack, void (*f)(void))
{
    stack->f = f;
    /* Six registers, the address that is returned to, and a word so that the stack is aligned as after a call. */
    uintptr_t *top = (uintptr_t *)(void *)(stack->memory + SIZE) - 8;
    for (int i = 0; i < 8; ++i) top[i] = 0;
    top[6] = (uintptr_t)first;
    stack->inside.at = top;
}

void dd_stack_enter(dd_stack *stack, dd_place *from)
{
    entered = stack;
    stack->outside = from;
    dd_stack_change(&from->at, stack->inside.at);
}

void dd_stack_leave(dd_stack *stack, dd_place *to) { dd_stack_change(&stack->inside.at, to->at); }

#else

static void first(void) { entered->f(); }

void dd_stack_begin(dd_stack *stack, void (*f)(void))
{
    stack->f = f;
    getcontext(&stack->here);
    stack->here.uc_stack.ss_sp = stack->memory;
    stack->here.uc_stack.ss_size = SIZE;
    stack->here.uc_link = &stack->there;
    makecontext(&stack->here, first, 0);
}

void dd_stack_enter(dd_stack *stack, dd_place *from)
{
    entered = stack;
    stack->outside = from;
    swapcontext(&stack->there, &stack->here);
}

void dd_stack_leave(dd_stack *stack, dd_place *to)
{
    (void)to;
    swapcontext(&stack->here, &stack->there);
}

#endif
