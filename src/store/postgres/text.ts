/**
 * PostgreSQL keeps any text but the character NUL and halves of surrogate pairs, and refuses the whole statement that
 * has one. Providers and clients can send both in JSON, and their words must not keep a charge from being made, so each
 * is replaced by U+FFFD, as decoders do.
 */
export function storableText(text: string): string {
  const isStorable = text.isWellFormed() && !text.includes("\0");
  return isStorable ? text : text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** What JSON has in their place. Preceded by a backslash it means something else; the value is then cleaned without effect. */
const unstorable = /\\u(?:0000|d[89a-f])/;

/** JSON whose texts PostgreSQL can keep. They are looked at one by one only where there may be something to replace. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  return unstorable.test(json) ? JSON.stringify(value, cleaned) : json;
}

function cleaned(_: string, value: unknown): unknown {
  return typeof value === "string" ? storableText(value) : value;
}
