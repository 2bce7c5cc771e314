// libm.c - the functions of libm, which is opened when one of them is called.
//
// SQLite brings sine and cosine to queries, and nearly no run asks for one; linked as usual, the
// library takes a twentieth of the time of a run of one command. These have its names, so that
// the linker takes them in its place.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// There is a libm wherever there is this libc: that it cannot be opened says that memory is out.
static void *function_get(const char *name)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (function) return function;
    fprintf(stderr, "rota: libm.so.6 cannot be used: %s\n", dlerror());
    abort();
}

#define OF_ONE(name)                                                                               \
    double name(double value)                                                                      \
    {                                                                                              \
        return ((double (*)(double))function_get(#name))(value);                                   \
    }
#define OF_TWO(name)                                                                               \
    double name(double first, double second)                                                       \
    {                                                                                              \
        return ((double (*)(double, double))function_get(#name))(first, second);                   \
    }

OF_ONE(acos)
OF_ONE(acosh)
OF_ONE(asin)
OF_ONE(asinh)
OF_ONE(atan)
OF_ONE(atanh)
OF_ONE(cos)
OF_ONE(cosh)
OF_ONE(exp)
OF_ONE(log)
OF_ONE(sin)
OF_ONE(sinh)
OF_ONE(sqrt)
OF_ONE(tan)
OF_ONE(tanh)
OF_ONE(trunc)
OF_TWO(atan2)
OF_TWO(fmod)
OF_TWO(pow)
