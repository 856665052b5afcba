import type { Head } from "../../wire/transfer.ts";

/**
 * The provider's Retry-After in milliseconds; null if it is missing or malformed. `retry-after-ms` is OpenAI's finer form;
 * `retry-after` is seconds or an HTTP date (RFC 9110, 10.2.3).
 */
export function retryAfterMs(headers: Pick<Head, "get">, wallMs: number): number | null {
  const milliseconds = numeric(headers.get("retry-after-ms"));
  if (milliseconds !== null) return milliseconds;
  const value = headers.get("retry-after");
  const seconds = numeric(value);
  if (seconds !== null) return seconds * 1000;
  // An HTTP date contains a month's name; `Date.parse` alone would also accept `-5`.
  const date = value !== null && /[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - wallMs);
}

function numeric(text: string | null): number | null {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
}
