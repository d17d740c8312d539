/* Counts what the processes of a tree do to files below a folder, and kills all of them at one call.
 *
 * Preloaded into each of them. COUNTED_FILE holds one shared counter of 8 bytes, COUNTED_ROOT is the
 * folder, COUNTED_KILL the number of the call before which the process group dies, 0 for none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned long *counter;
static unsigned long kill_at;
static char root[PATH_MAX];
static size_t root_length;

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("COUNTED_FILE"), *place = getenv("COUNTED_ROOT");
    const char *number = getenv("COUNTED_KILL");
    if (!file || !place || !number) return;
    int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int descriptor = real_open(file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *found = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (found == MAP_FAILED) return;
    snprintf(root, sizeof root, "%s/", place);
    root_length = strlen(root);
    kill_at = strtoul(number, NULL, 10);
    counter = found;
}

static void step(void) {
    if (__sync_add_and_fetch(counter, 1) == kill_at) {
        kill(0, SIGKILL);
        for (;;) pause();
    }
}

static int is_of(int descriptor) {
    char link[64], path[PATH_MAX];
    if (!counter) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 0 && (size_t)length >= root_length && !strncmp(path, root, root_length);
}

static int is_below(int folder, const char *path) {
    char here[PATH_MAX];
    if (!counter || !path) return 0;
    if (path[0] == '/') return !strncmp(path, root, root_length);
    if (folder != AT_FDCWD) return is_of(folder);
    if (!getcwd(here, sizeof here - 1)) return 0;
    strcat(here, "/");
    return !strncmp(here, root, root_length);
}

#define NEXT(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define MODE_OF(flags, mode) \
    if ((flags) & O_CREAT) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        mode_t mode = 0; \
        MODE_OF(flags, mode) \
        NEXT(name); \
        if (flags & (O_CREAT | O_TRUNC) && is_below(AT_FDCWD, path)) step(); \
        return real(path, flags, mode); \
    }
#define OPENING_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        mode_t mode = 0; \
        MODE_OF(flags, mode) \
        NEXT(name); \
        if (flags & (O_CREAT | O_TRUNC) && is_below(folder, path)) step(); \
        return real(folder, path, flags, mode); \
    }
OPENING(open) OPENING(open64) OPENING_AT(openat) OPENING_AT(openat64)

#define BY_PATH(name, arguments, types, at, path, call) \
    int name arguments { \
        NEXT(name); \
        if (is_below(at, path)) step(); \
        return real call; \
    }
BY_PATH(rename, (const char *a, const char *b), (const char *, const char *), AT_FDCWD, b, (a, b))
BY_PATH(link, (const char *a, const char *b), (const char *, const char *), AT_FDCWD, b, (a, b))
BY_PATH(symlink, (const char *a, const char *b), (const char *, const char *), AT_FDCWD, b, (a, b))
BY_PATH(unlink, (const char *a), (const char *), AT_FDCWD, a, (a))
BY_PATH(rmdir, (const char *a), (const char *), AT_FDCWD, a, (a))
BY_PATH(mkdir, (const char *a, mode_t m), (const char *, mode_t), AT_FDCWD, a, (a, m))
BY_PATH(unlinkat, (int d, const char *a, int f), (int, const char *, int), d, a, (d, a, f))
BY_PATH(mkdirat, (int d, const char *a, mode_t m), (int, const char *, mode_t), d, a, (d, a, m))
BY_PATH(renameat, (int d, const char *a, int e, const char *b),
        (int, const char *, int, const char *), e, b, (d, a, e, b))
BY_PATH(linkat, (int d, const char *a, int e, const char *b, int f),
        (int, const char *, int, const char *, int), e, b, (d, a, e, b, f))

#define BY_DESCRIPTOR(type, name, arguments, types, call) \
    type name arguments { \
        NEXT(name); \
        if (is_of(d)) step(); \
        return real call; \
    }
BY_DESCRIPTOR(ssize_t, write, (int d, const void *b, size_t n), (int, const void *, size_t), (d, b, n))
BY_DESCRIPTOR(ssize_t, pwrite, (int d, const void *b, size_t n, off_t o),
              (int, const void *, size_t, off_t), (d, b, n, o))
BY_DESCRIPTOR(ssize_t, pwrite64, (int d, const void *b, size_t n, off64_t o),
              (int, const void *, size_t, off64_t), (d, b, n, o))
BY_DESCRIPTOR(ssize_t, writev, (int d, const struct iovec *v, int n),
              (int, const struct iovec *, int), (d, v, n))
BY_DESCRIPTOR(int, fsync, (int d), (int), (d))
BY_DESCRIPTOR(int, fdatasync, (int d), (int), (d))
BY_DESCRIPTOR(int, ftruncate, (int d, off_t n), (int, off_t), (d, n))
BY_DESCRIPTOR(int, ftruncate64, (int d, off64_t n), (int, off64_t), (d, n))
