import { closeSync, openSync } from "node:fs";

/** A worker opens four or five; meanwhile the other threads may accept or open connections. */
const spareDescriptors = 32;

/**
 * The path of a module that runs on a thread. In the executable it is an extra entry point, named by its path below
 * `src`, the common folder of all entry points (config/release/compile.ts).
 */
export function threadSource(path: string): string {
  return Bun.isStandaloneExecutable ? `./${path}` : new URL(`../../${path}`, import.meta.url).href;
}

/**
 * Starts a worker, or throws if file descriptors are nearly used up: Bun 1.4 ends the whole process if a worker finds
 * none to start with. The root folder is opened for the count, because a container without devices has that too.
 */
export function startThread(source: string, options?: WorkerOptions): Worker {
  const opened: number[] = [];
  try {
    while (opened.length < spareDescriptors) opened.push(openSync("/", "r"));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
  return new Worker(source, options);
}
