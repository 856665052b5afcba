import type { Head } from "../../wire/transfer.ts";

/**
 * How long a provider wants to be left alone, in milliseconds; null if it does not say, or not in a way that makes
 * sense. `retry-after-ms` is OpenAI's finer form; `retry-after` is seconds or an HTTP date (RFC 9110, 10.2.3).
 */
export function retryAfterMs(headers: Pick<Head, "get">, wallMs: number): number | null {
  const milliseconds = numeric(headers.get("retry-after-ms"));
  if (milliseconds !== null) return milliseconds;
  const value = headers.get("retry-after");
  const seconds = numeric(value);
  if (seconds !== null) return seconds * 1000;
  // An HTTP date has a month's name in it; `Date.parse` alone would make a date of `-5` as well.
  const date = value !== null && /[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - wallMs);
}

function numeric(text: string | null): number | null {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
}
