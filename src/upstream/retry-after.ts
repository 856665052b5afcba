import type { Head } from "../wire/transfer.ts";

/**
 * When a provider wants to be asked again, in milliseconds; null when it does not say or makes no sense.
 * `retry-after-ms` is OpenAI's finer form; `retry-after` is seconds or an HTTP date (RFC 9110, 10.2.3).
 */
export function retryAfterMs(headers: Pick<Head, "get">, wallMs: number): number | null {
  const fine = numeric(headers.get("retry-after-ms"));
  if (fine !== null) return fine;
  const said = headers.get("retry-after");
  const seconds = numeric(said);
  if (seconds !== null) return seconds * 1000;
  // Without a word in it (`Sun, 15 Nov …`) it is no HTTP date, though lenient parsers make a date of `-5`.
  const date = said !== null && /[a-z]{3}/i.test(said) ? Date.parse(said) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - wallMs);
}

function numeric(text: string | null): number | null {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
}
