import type { Redactor } from "./redactor.ts";
import { minBase64Chars } from "./replace-data.ts";

/** Marks of data URLs and vectors, and escapes that can hide a secret or a name. */
const marks = ["base64", '"embedding', "\\u", "\\/"].map((mark) => Buffer.from(mark));

/** Whether JSON has neither data nor secrets from this index on, so it is stored unchanged. Takes 1 µs for 2 KB; as text it took 4. */
export function isPlain(json: Buffer, from: number, redactor: Redactor): boolean {
  for (const mark of marks) if (json.includes(mark, from)) return false;
  return !hasLongBase64(json, from) && !redactor.isSuspectJson(json, from);
}

/** Positions this far apart: every run of base64 that is long enough covers one of them. */
const step = minBase64Chars - 2;

/** Whether it has a run of bytes that may be data. Looks at a few bytes of ordinary text: 0.1 µs for 1 KB. */
export function hasLongBase64(json: Uint8Array, from: number): boolean {
  for (let at = from + step - 1; at < json.length; at += step) {
    let start = at;
    while (start > at - step && isBase64(json[start])) start -= 1;
    // The run goes on from the byte behind `start`.
    let end = at;
    while (end - start <= step && isBase64(json[end])) end += 1;
    if (end - start > step) return true;
  }
  return false;
}

/** False at the end, where there is no byte. */
function isBase64(byte = 0): boolean {
  return (
    (byte >= 97 && byte <= 122) ||
    (byte >= 65 && byte <= 90) ||
    (byte >= 47 && byte <= 57) ||
    byte === 43 ||
    byte === 45 ||
    byte === 95
  );
}
