"""How kernels are compiled, where their machine code is kept, and who is told that compiling goes on."""
