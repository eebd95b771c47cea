/*
 * A device's launch observer is called for all that is issued, in its order, listed or not, and for what never ran.
 */
#include "kernel/lists.h"

#include "kernel/record/launch_observer.h"

#include <stdio.h>

typedef struct diary {
    sti_launch_observer launch_observer;
    const bench *b;
    char text[512];
} diary;

static void note(sti_launch_observer *w, const char *what, const char *name)
{
    diary *d = (diary *)(void *)w;
    size_t used = strlen(d->text);
    (void)snprintf(d->text + used, sizeof d->text - used, "%s%s(%s)", used ? " " : "", what, name);
}

static void launched(sti_launch_observer *w, const sti_kernel *kernel, int64_t count, const sti_arg *args, int narg)
{
    const diary *d = (const diary *)(void *)w;
    assert_true(count > 0 && narg > 0 && args[0].array);
    assert_true(!kernel->user || sti_user_kernel(kernel->user) == kernel);
    assert_true(sti_record_pending(d->b->device) != NULL || !d->b->device->listing);
    note(w, kernel->user ? "own" : "library", kernel->name);
}
static void copied(sti_launch_observer *w, stet_array *to, stet_array *from)
{
    assert_ptr_not_equal(to, from);
    note(w, "copy", to->name);
}
static void others(sti_launch_observer *w, const sti_foreign *f) { note(w, "foreign", f->name); }
static void looped(sti_launch_observer *w) { note(w, "loop", ""); }
static void computed(sti_launch_observer *w, const stet_array *a, const char *by)
{
    assert_non_null(by);
    note(w, "host", a->name);
}
static void lost(sti_launch_observer *w, const char *what) { note(w, "lost", what); }

static diary watch(bench *b)
{
    open_bench(b);
    return (diary){
        .launch_observer =
            {.launch = launched, .copy = copied, .foreign = others, .loop = looped, .host = computed, .lost = lost},
        .b = b};
}

static void expect(diary *d, const char *text)
{
    if (strcmp(d->text, text) != 0) fail_msg("'%s', not '%s'", d->text, text);
    d->text[0] = '\0';
}

static stet_result do_nothing(void *context, void *stream)
{
    (void)context;
    (void)stream;
    return STET_OK;
}

static stet_result a_bit_of_all(bench *b)
{
    const stet_use use = {b->a[2], true};
    const sti_arg args[] = {sti_arg_array(b->a[3]), sti_arg_real(1)};
    STI_TRY(add(b, b->a[0], 1));
    STI_TRY(stet_array_copy(b->a[1], b->a[0]));
    STI_TRY(stet_record_foreign(b->device, "theirs", do_nothing, NULL, &use, 1));
    return sti_launch_beside(b->device, b->add, N, args, 2);
}

static void it_is_told_in_order(void **state)
{
    bench b;
    diary d = watch(&b);
    b.device->launch_observer = &d.launch_observer;
    OK(a_bit_of_all(&b));
    expect(&d, "own(k_add) copy(a) foreign(theirs) own(k_add)");
    for (int k = 0; k < 3; ++k) { /* listed, compared, replayed */
        OK(sti_record_begin(b.device, "a list"));
        stet_result result = a_bit_of_all(&b);
        expect(&d, "own(k_add) copy(a) foreign(theirs) own(k_add)");
        OK(sti_record_end(b.device, result));
        expect(&d, "");
    }
    OK(sti_record_begin(b.device, "a loop"));
    OK(sti_record_while(b.device, b.c[0], 2));
    OK(count(&b, b.c[0]));
    OK(sti_record_while_end(b.device));
    OK(sti_record_end(b.device, STET_OK));
    expect(&d, "loop() own(k_count)");
    sti_kernel library = *b.add;
    library.user = NULL;
    if (!b.device->can.compiles) { /* there code is found by the kernel */
        OK(STI_LAUNCH(library, b.device, N, sti_arg_array(b.a[0]), sti_arg_real(1)));
        expect(&d, "library(k_add)");
    }
    OK(STI_LAUNCH(*b.add, b.device, 0, sti_arg_array(b.a[0]), sti_arg_real(1))); /* no launch */
    expect(&d, "");
    b.device->launch_observer = NULL;
    OK(a_bit_of_all(&b));
    expect(&d, "");
    close_bench(&b);
}

static void it_is_told_what_never_ran(void **state)
{
    bench b;
    diary d = watch(&b);
    b.device->launch_observer = &d.launch_observer;
    OK(sti_record_begin(b.device, "left out"));
    OK(add(&b, b.a[0], 1));
    assert_int_equal(sti_record_end(b.device, STET_ERROR_IO), STET_ERROR_IO);
    expect(&d, "own(k_add) lost(left out)");
    OK(sti_record_begin(b.device, "empty"));
    assert_int_equal(sti_record_end(b.device, STET_ERROR_IO), STET_ERROR_IO);
    expect(&d, "");
    assert_int_equal(STI_LAUNCH(*b.add, b.device, N, sti_arg_array(b.c[0]), sti_arg_real(1)),
                     STET_ERROR_INVALID_ARGUMENT);
    expect(&d, ""); /* refused: it was never issued */
    faulty.fail_launch = 1;
    assert_int_equal(add(&b, b.a[0], 1), STET_ERROR_DEVICE);
    expect(&d, "own(k_add) lost(k_add)");
    OK(sti_record_begin(b.device, "failing"));
    OK(add(&b, b.a[0], 1));
    faulty.fail_launch = 1;
    assert_int_equal(sti_record_end(b.device, mix(&b, b.a[0], b.a[1], 1)), STET_ERROR_DEVICE);
    expect(&d, "own(k_add) own(k_mix) lost(failing)");
    b.device->launch_observer = NULL;
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_told_in_order),
        cmocka_unit_test(it_is_told_what_never_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
