/*
 * Stands between a program and the C library. Appends to RECORDED_LOG what the program does to the database RECORDED_FILE and its
 * log, in the order in which it is done: by all threads and all processes that share the record. With a number in
 * FAILING_SYNC_FILE, syncs of the log fail with that error.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
  char type;
  char file;
  uint16_t unused;
  uint32_t thread;
  uint64_t offset;
  uint32_t length;
  uint32_t unused_too;
};

static int record_descriptor = -1;

/* 'd' for the database, 'w' for its log, 0 for all else. */
static char file_of_path(const char *path) {
  const char *database = getenv("RECORDED_FILE");
  if (database == NULL) return 0;
  size_t length = strlen(database);
  if (strncmp(path, database, length) != 0) return 0;
  if (path[length] == 0) return 'd';
  return strcmp(path + length, "-wal") == 0 ? 'w' : 0;
}

static char file_of(int descriptor) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return file_of_path(path);
}

static void note(char type, char file, uint64_t offset, const void *data, uint32_t length) {
  if (record_descriptor == -1) {
    const char *path = getenv("RECORDED_LOG");
    record_descriptor = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
  }
  struct record record = {type, file, 0, (uint32_t)syscall(SYS_gettid), offset, length, 0};
  struct iovec parts[2] = {{&record, sizeof record}, {(void *)data, data == NULL ? 0 : length}};
  /* One call, so that records of several processes do not mix. */
  if (syscall(SYS_writev, record_descriptor, parts, 2) < 0) abort();
}

static int failure(void) {
  const char *path = getenv("FAILING_SYNC_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  int number = 0;
  if (file == NULL) return 0;
  if (fscanf(file, "%d", &number) != 1) number = 0;
  fclose(file);
  return number;
}

static int sync_with(const char *name, int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  char file = file_of(descriptor);
  if (file == 0) return real(descriptor);
  int number = file == 'w' ? failure() : 0;
  if (number != 0) {
    note('F', file, 0, NULL, 0);
    errno = number;
    return -1;
  }
  note('B', file, 0, NULL, 0);
  int result = real(descriptor);
  if (result == 0) note('E', file, 0, NULL, 0);
  return result;
}

int fsync(int descriptor) { return sync_with("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_with("fdatasync", descriptor); }

static ssize_t write_with(const char *name, int descriptor, const void *data, size_t length, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) =
      (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
  ssize_t result = real(descriptor, data, length, offset);
  int error = errno;
  char file = result > 0 ? file_of(descriptor) : 0;
  if (file != 0) note('W', file, offset, data, (uint32_t)result);
  errno = error;
  return result;
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
  return write_with("pwrite", descriptor, data, length, offset);
}
ssize_t pwrite64(int descriptor, const void *data, size_t length, off_t offset) {
  return write_with("pwrite64", descriptor, data, length, offset);
}

static int truncate_with(const char *name, int descriptor, off_t size) {
  int (*real)(int, off_t) = (int (*)(int, off_t))dlsym(RTLD_NEXT, name);
  int result = real(descriptor, size);
  int error = errno;
  char file = result == 0 ? file_of(descriptor) : 0;
  if (file != 0) note('T', file, size, NULL, 0);
  errno = error;
  return result;
}

int ftruncate(int descriptor, off_t size) { return truncate_with("ftruncate", descriptor, size); }
int ftruncate64(int descriptor, off_t size) { return truncate_with("ftruncate64", descriptor, size); }

int unlink(const char *path) {
  int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
  char file = file_of_path(path);
  int result = real(path);
  if (file != 0 && result == 0) note('U', file, 0, NULL, 0);
  return result;
}
