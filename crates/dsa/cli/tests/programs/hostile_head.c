// The head of a library that defines each function of the C library which the library of a run calls. A
// function ends the program if the call comes from that library, or from a thread that is not the program's
// first; otherwise it jumps to the C library's. The list of functions follows when the test compiles it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN unsigned long hostile_first, hostile_end, hostile_thread;

static int note(struct dl_phdr_info *library, size_t bytes, void *data) {
    const char *name = library->dlpi_name, *wanted = "libskipline_dsa_trap.so";
    const char *file = name;
    for (const char *at = name; *at; at++) file = *at == '/' ? at + 1 : file;
    for (size_t at = 0; wanted[at] || file[at]; at++) if (wanted[at] != file[at]) return 0;
    for (int at = 0; at < library->dlpi_phnum; at++) {
        unsigned long end = library->dlpi_addr + library->dlpi_phdr[at].p_vaddr + library->dlpi_phdr[at].p_memsz;
        if (library->dlpi_phdr[at].p_type == PT_LOAD && end > hostile_end) hostile_end = end;
    }
    hostile_first = library->dlpi_addr;
    return 0;
}

__attribute__((constructor)) static void watch(void) {
    int (*each)(int (*)(struct dl_phdr_info *, size_t, void *), void *) = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    each(note, 0);
    asm volatile("mov %%fs:0, %0" : "=r"(hostile_thread));
}

HIDDEN void *hostile_find(const char *name) { return dlsym(RTLD_NEXT, name); }

// Arguments of the call are kept: the function may be any.
#define HOSTILE(name)                                                                                         \
    asm(".pushsection .data\n.balign 8\n.Lreal_" #name ": .quad 0\n.popsection\n"                            \
        ".pushsection .rodata\n.Lname_" #name ": .asciz \"" #name "\"\n.popsection\n"                        \
        ".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                     \
        "mov (%rsp), %r11\ncmp hostile_first(%rip), %r11\njb 1f\ncmp hostile_end(%rip), %r11\njae 1f\nud2\n" \
        "1: mov hostile_thread(%rip), %r11\ntest %r11, %r11\njz 2f\ncmp %fs:0, %r11\nje 2f\nud2\n"           \
        "2: mov .Lreal_" #name "(%rip), %r11\ntest %r11, %r11\njnz 3f\n"                                     \
        "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\n"                        \
        "lea .Lname_" #name "(%rip), %rdi\ncall hostile_find\nmov %rax, %r11\nmov %r11, .Lreal_" #name       \
        "(%rip)\npop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n3: jmp *%r11\n"         \
        ".size " #name ", . - " #name "\n.popsection\n");
