/*
 * The words of the kernel language. STI_TYPE_WORDS: name, tag. STI_WORDS: word, tag. STI_REFUSED_WORDS: words of C that
 * the language does not have, with what to write instead. STI_CPP_WORDS: names that are reserved in C++, as which GPUs
 * compile kernels.
 */
#define STI_TYPE_WORDS(X)                                                                                              \
    X(void, VOID)                                                                                                      \
    X(real, REAL)                                                                                                      \
    X(lint, LINT)                                                                                                      \
    X(mask, MASK)                                                                                                      \
    X(sti_bits, BITS)                                                                                                  \
    X(ureal, UREAL)                                                                                                    \
    X(wreal, WREAL)                                                                                                    \
    X(wint, WINT)                                                                                                      \
    X(treal, TREAL)                                                                                                    \
    X(tlint, TLINT)                                                                                                    \
    X(tint, TINT)                                                                                                      \
    X(int, INT)                                                                                                        \
    X(i64, I64)                                                                                                        \
    X(u64, U64)                                                                                                        \
    X(u32, U32)                                                                                                        \
    X(u16, U16)                                                                                                        \
    X(u8, U8)

#define STI_WORDS(X)                                                                                                   \
    X(const, CONST)                                                                                                    \
    X(static, STATIC)                                                                                                  \
    X(struct, STRUCT)                                                                                                  \
    X(typedef, TYPEDEF)                                                                                                \
    X(if, IF)                                                                                                          \
    X(else, ELSE)                                                                                                      \
    X(for, FOR)                                                                                                        \
    X(rolled, ROLLED)                                                                                                  \
    X(return, RETURN)                                                                                                  \
    X(break, BREAK)                                                                                                    \
    X(continue, CONTINUE)                                                                                              \
    X(sizeof, SIZEOF)                                                                                                  \
    X(LFN, LFN)                                                                                                        \
    X(world_kernel, WORLD_KERNEL)                                                                                      \
    X(item_kernel, ITEM_KERNEL)                                                                                        \
    X(each, EACH)                                                                                                      \
    X(items, ITEMS)                                                                                                    \
    X(sync, SYNC)                                                                                                      \
    X(shared, SHARED)                                                                                                  \
    X(staged, STAGED)

#define STI_REFUSED_WORDS(X)                                                                                           \
    X(while, "loops are `for`: write for (; condition;)")                                                              \
    X(do, "loops are `for`: write for (; condition;)")                                                                 \
    X(goto, "there are no jumps: write for, break, continue or return")                                                \
    X(switch, "write if … else if …")                                                                                  \
    X(case, "write if … else if …")                                                                                    \
    X(default, "write if … else if …")                                                                                 \
    X(enum, "write #define for each constant")                                                                         \
    X(union, "write as_bits and from_bits to look at the bits of a real")                                              \
    X(float, "write ureal, or real for lanes")                                                                         \
    X(double, "write ureal, or real for lanes")                                                                        \
    X(char, "write u8")                                                                                                \
    X(short, "write u16 or int")                                                                                       \
    X(long, "write i64")                                                                                               \
    X(unsigned, "write u32, u16, u8 or u64")                                                                           \
    X(signed, "write int or i64")                                                                                      \
    X(bool, "write int, or mask for lanes")                                                                            \
    X(_Bool, "write int, or mask for lanes")                                                                           \
    X(size_t, "write i64 or u64")                                                                                      \
    X(int64_t, "write i64")                                                                                            \
    X(uint64_t, "write u64")                                                                                           \
    X(int32_t, "write int")                                                                                            \
    X(uint32_t, "write u32")                                                                                           \
    X(uint16_t, "write u16")                                                                                           \
    X(uint8_t, "write u8")                                                                                             \
    X(int16_t, "write int")                                                                                            \
    X(int8_t, "write int")                                                                                             \
    X(ptrdiff_t, "write i64")                                                                                          \
    X(intptr_t, "write i64")                                                                                           \
    X(uintptr_t, "write u64")                                                                                          \
    X(NULL, "write 0")                                                                                                 \
    X(inline, "write LFN before a function")                                                                           \
    X(extern, "write LFN before a function, and pass what it needs")                                                   \
    X(volatile, "nothing changes behind a kernel's back: leave it out")                                                \
    X(register, "leave it out")                                                                                        \
    X(restrict, "arrays of a kernel are told apart anyway: leave it out")                                              \
    X(typeof, "write the type")                                                                                        \
    X(auto, "write the type")                                                                                          \
    X(true, "write 1") \
X(false, "write 0") \
X(asm, "write C")

#define STI_CPP_WORDS(X) \
X(alignas) \
X(alignof) \
X(and) \
X(and_eq) \
X(bitand) \
X(bitor) \
X(catch) \
X(class) \
X(compl) \
X(const_cast) \
X(constexpr) \
X(decltype) \
X(delete) \
X(dynamic_cast) \
X(explicit) \
X(export) \
X(friend) \
X(mutable) \
X(namespace) \
X(new) \
X(noexcept) \
X(not) \
X(not_eq) \
X(nullptr) \
X(operator) \
X(or) \
X(or_eq) \
X(private) \
X(protected) \
X(public) \
X(reinterpret_cast) \
X(static_assert) \
X(static_cast) \
X(template) \
X(this) \
X(thread_local) \
X(throw) \
X(try) \
X(typeid) \
X(typename) \
X(using) \
X(virtual) \
X(wchar_t) \
X(xor) \
X(xor_eq)
