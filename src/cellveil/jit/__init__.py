"""A just-in-time compiler for loops over NumPy arrays; loaded where loops are used.

A loop is plain Python that runs as such, and that is what the translation means.

1. `@outer` marks functions that Python calls, `@inner` those that only loops call (`compiled`).
2. On the first call, the syntax tree of a module's outer functions, and of all they call, is read
   (`translation`); nothing is stored between processes, and no time limit counts it.
3. Every variable has one kind (`kinds`): whole number, float, truth value, array, record of arrays. It
   follows from the annotations of parameters and from first values.
4. Statements become blocks, expressions (`expressions`) become single instructions of LLVM (`emission`).
5. LLVM compiles them; calls hand over addresses of arrays, without the interpreter's lock.
"""
