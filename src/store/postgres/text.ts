/**
 * PostgreSQL stores any text except NUL and unpaired surrogates, and rejects a whole statement that contains one.
 * Providers and clients can send both in JSON, which must not prevent a charge, so each is replaced by U+FFFD, as
 * decoders do.
 */
export function storableText(text: string): string {
  const isStorable = text.isWellFormed() && !text.includes("\0");
  return isStorable ? text : text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/**
 * JSON escapes of unstorable characters. After another backslash they are ordinary text; the value is then cleaned
 * without effect.
 */
const unstorable = /\\u(?:0000|d[89a-f])/;

/** JSON that PostgreSQL can store. Texts are examined one by one only if there may be something to replace. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  return unstorable.test(json) ? JSON.stringify(value, cleaned) : json;
}

function cleaned(_: string, value: unknown): unknown {
  return typeof value === "string" ? storableText(value) : value;
}
