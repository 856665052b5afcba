import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** A worker opens four or five; meanwhile the other threads may accept or open connections. */
const spareDescriptors = 32;

/**
 * Starts a worker, or throws if file descriptors are nearly used up: Bun 1.4 ends the whole process if a worker finds
 * none to start with.
 */
export function startThread(source: string, options?: WorkerOptions): Worker {
  const opened: number[] = [];
  try {
    while (opened.length < spareDescriptors) opened.push(openSync(devNull, "r"));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
  return new Worker(source, options);
}
