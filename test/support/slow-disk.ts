import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "./new-folder.ts";

export interface SlowDisk extends Disposable {
  /** For the program whose disk it is. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on every fsync takes so much longer. */
  delay(milliseconds: number): void;
}

/** SQLite's fsync comes from the C library, so that another library can stand before it. */
const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void delay(void) {
  const char *path = getenv("SLOW_DISK_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  int milliseconds = 0;
  if (file == NULL) return;
  if (fscanf(file, "%d", &milliseconds) != 1) milliseconds = 0;
  fclose(file);
  usleep(milliseconds * 1000);
}

int fsync(int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  delay();
  return real(descriptor);
}

int fdatasync(int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  delay();
  return real(descriptor);
}
`;

const compiler = process.platform === "linux" ? (Bun.which("gcc") ?? Bun.which("cc")) : null;

/** Whether there is a compiler for the shim. Tests of slow disks are skipped where there is none. */
export const canMakeSlowDisk = compiler !== null;
if (!canMakeSlowDisk) console.warn("SKIPPED: there is no C compiler here, so no disk can be made slow");

/** A disk whose speed a test decides. */
export function makeSlowDisk(): SlowDisk {
  const folder = newFolder();
  const [source, library, file] = ["shim.c", "shim.so", "milliseconds"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(source, shim);
  writeFileSync(file, "0");
  const made = Bun.spawnSync([compiler ?? "cc", "-shared", "-fPIC", "-o", library, source, "-ldl"]);
  if (made.exitCode !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`the shim of a slow disk cannot be compiled: ${made.stderr}`);
  }
  return {
    env: { LD_PRELOAD: library, SLOW_DISK_FILE: file },
    delay: (milliseconds) => writeFileSync(file, String(milliseconds)),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
