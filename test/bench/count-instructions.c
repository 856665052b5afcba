/* A plugin of qemu-user that adds up the instructions that each thread of a program executes, in a file that others can read
   meanwhile: one 64-bit number per thread, the main thread first. Declared here is what it needs of qemu-plugin.h, version 1. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct qemu_plugin_tb;
struct qemu_info_t;

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*callback)(uint64_t, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*callback)(unsigned, void *), int flags,
                                                 void *data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);

int qemu_plugin_version = 1;

enum { threads = 256 };
static uint64_t *counts;

static void executed(unsigned thread, void *instructions) { counts[thread % threads] += (uintptr_t)instructions; }

static void translated(uint64_t id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0, (void *)qemu_plugin_tb_n_insns(block));
}

int qemu_plugin_install(uint64_t id, const struct qemu_info_t *info, int argc, char **argv) {
  (void)info;
  const char name[] = "counts=";
  if (argc != 1 || strncmp(argv[0], name, sizeof name - 1) != 0) return 1;
  int file = open(argv[0] + sizeof name - 1, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, threads * sizeof *counts) != 0) return 1;
  counts = mmap(NULL, threads * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (counts == MAP_FAILED) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
