/* Preloaded into a process whose files in one folder are to be watched. COMITY_DISK_LOG: what each fsync made durable
   is appended to this file. COMITY_DISK_ROOM: after so many bytes written to regular files the disk is full. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long room = -1;
static int log_fd = -1;
static char folder[4096];

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("COMITY_DISK_ROOM"), *log = getenv("COMITY_DISK_LOG");
    if (text) room = atol(text);
    if (log) log_fd = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (getenv("COMITY_DISK_FOLDER")) snprintf(folder, sizeof folder, "%s", getenv("COMITY_DISK_FOLDER"));
}

static int watched(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0 || !folder[0]) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static ssize_t real_write(int fd, const void *data, size_t size) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = dlsym(RTLD_NEXT, "write");
    return next(fd, data, size);
}

/* One record: F inode size bytes, or D path, then one line "inode name" for each file, then an empty line. */
static void record(int fd) {
    char path[4096], text[4200];
    struct stat status;
    if (log_fd < 0 || !watched(fd, path) || fstat(fd, &status)) return;
    if (S_ISREG(status.st_mode)) {
        char *data = malloc(status.st_size + 1), name[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        int again = open(name, O_RDONLY);
        ssize_t size = read(again, data, status.st_size);
        close(again);
        real_write(log_fd, text, snprintf(text, sizeof text, "F %lu %zd\n", (unsigned long)status.st_ino, size));
        real_write(log_fd, data, size);
        free(data);
    } else if (S_ISDIR(status.st_mode)) {
        DIR *directory = opendir(path);
        struct dirent *entry;
        real_write(log_fd, text, snprintf(text, sizeof text, "D %s\n", path));
        while ((entry = readdir(directory)))
            if (entry->d_name[0] != '.')
                real_write(log_fd, text, snprintf(text, sizeof text, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name));
        closedir(directory);
        real_write(log_fd, "\n", 1);
    }
}

static int full(int fd, size_t size) {
    char path[4096];
    if (room < 0 || !watched(fd, path)) return 0;
    if ((long)size > room) {
        room = 0;
        errno = ENOSPC;
        return 1;
    }
    room -= size;
    return 0;
}

ssize_t write(int fd, const void *data, size_t size) { return full(fd, size) ? -1 : real_write(fd, data, size); }

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next) next = dlsym(RTLD_NEXT, "pwrite64");
    return full(fd, size) ? -1 : next(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

int fsync(int fd) {
    static int (*next)(int);
    if (!next) next = dlsym(RTLD_NEXT, "fsync");
    record(fd);
    return next(fd);
}

int fdatasync(int fd) { return fsync(fd); }
