import type { Redactor } from "./redactor.ts";
import { minBase64Chars } from "./replace-data.ts";

/** Marks of data URLs and vectors, and escapes that can hide a secret or a name. */
const marks = ["base64", '"embedding', "\\u", "\\/"];

/** Whether JSON text has neither data nor secrets, so it is stored unchanged. `text` can be bytes read as Latin-1. */
export function isPlain(text: string, redactor: Redactor): boolean {
  return !marks.some((mark) => text.includes(mark)) && !hasLongBase64(text) && !redactor.isSuspect(text);
}

/** Every run of base64 that is long enough covers one of the positions that are this far apart. */
const step = minBase64Chars - 2;

/** Whether it has a run of characters that may be data. Looks at a few characters of ordinary text: 0.1 µs for 1 KB. */
export function hasLongBase64(text: string): boolean {
  for (let at = step - 1; at < text.length; at += step) {
    let start = at;
    while (start > at - step && isBase64(text.charCodeAt(start))) start -= 1;
    // The run goes on from the character behind `start`.
    let end = at;
    while (end - start <= step && isBase64(text.charCodeAt(end))) end += 1;
    if (end - start > step) return true;
  }
  return false;
}

function isBase64(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 47 && code <= 57) ||
    code === 43 ||
    code === 45 ||
    code === 95
  );
}
