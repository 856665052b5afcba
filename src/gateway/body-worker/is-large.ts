import { LoopPacer } from "../../base/loop/pacer.ts";
import { hasMoreValues } from "../../dialects/json/json-bytes.ts";
import type { TruncatedJson } from "../../dialects/json/parse-body.ts";

/** JSON of this size takes long to parse, with any contents. */
export const largeBodyBytes = 1024 * 1024;

/** Smaller bodies are processed in a few milliseconds, with any contents. */
const smallBytes = 64 * 1024;

/** More items and members take long to process, however few bytes they have. */
const manyValues = 10_000;

/** Whether processing a body would block the event loop because of its size or its structure. */
export function isLargeBody(bytes: Uint8Array): boolean {
  return bytes.length >= largeBodyBytes || hasManyValues(bytes, null);
}

/** Whether the structure makes a body large. `scanned` if its values have been counted already. */
export function hasManyValues(bytes: Uint8Array, scanned: TruncatedJson | null): boolean {
  return bytes.length >= smallBytes && hasMoreValues(bytes, scanned, manyValues);
}

/** Paces work on large bodies on the event loop: copying one takes milliseconds. */
export const largeBodyPacer = new LoopPacer();
