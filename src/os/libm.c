// libm.c - wrappers of libm functions that load the library on first use.
//
// SQLite offers sine and cosine to queries, but hardly any run uses them, and linking libm takes 5
// % of the time of a run of one command. The wrappers have the names of libm's functions, so the
// linker uses them instead of the library.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// libm is installed wherever this libc is, so a failure to open it means that memory ran out.
static void *function_get(const char *name)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (function) return function;
    fprintf(stderr, "rota: cannot load libm.so.6: %s\n", dlerror());
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
