// QUEUE: a copy through portals that were mapped in several ways; prints the status of each. PLAIN: in one way;
// RESTRICT: a call before that restricts system calls.
#define _GNU_SOURCE
#include "descriptor.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct record record;
static char from[5000] = "copied", to[5000];

static int copies(void *portal) {
    struct descriptor descriptor = {.flags = MOVE << 24 | RECORDED, .record = (uintptr_t)&record, .bytes = sizeof from,
                                    .first = (uintptr_t)from, .second = (uintptr_t)to};
    memset(to, 0, sizeof to);
    record.status = 0;
    for (int tries = 0; tries < 1000 && enqueue(portal, &descriptor); tries++) {
    }
    for (int looks = 0; record.status == 0 && looks < 10000; looks++) asm volatile("pause");
    return memcmp(from, to, sizeof to) == 0 ? record.status : 0x100;
}

#ifndef PLAIN
static void *in_thread(void *portal) { return (void *)(intptr_t)copies(portal); }
#endif

#ifdef RESTRICT
static struct sock_filter steps[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_fprog no_mappings = {sizeof steps / sizeof *steps, steps};
#endif

int main(int count, char **words) {
#ifdef RESTRICT // Before the queue is mapped.
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)&no_mappings;
    RESTRICT;
#endif
    int file = count == 2 ? open(words[1], O_RDWR) : -1;
    if (file < 0) return 2;
    void *portal = mmap(0, 4096, PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    printf("call %d\n", copies(portal));
#ifndef PLAIN
    portal = (void *)syscall(SYS_mmap, 0, 4096, PROT_WRITE, MAP_SHARED, file, 0);
    printf("system call %d\n", copies(portal));
    void *place = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    portal = mremap(portal, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    printf("moved %d\n", copies(portal));
    pthread_t thread;
    void *status;
    pthread_create(&thread, 0, in_thread, portal);
    pthread_join(thread, &status);
    printf("thread %d\n", (int)(intptr_t)status);
    fflush(stdout);
    // From here on the program may write, return from a handler and end; any other system call kills it.
    static struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 3;
    char line[] = "after seccomp 0\n";
    line[14] += copies(portal);
    syscall(SYS_exit_group, write(1, line, sizeof line - 1) < 0);
#endif
    return 0;
}
