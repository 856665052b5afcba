/** Headers of the client that may travel up, already picked from an allow-list. */
export type ForwardedHeaders = Readonly<Record<string, string>>;

/** Longer values serve nobody, and some servers answer oversized headers by closing the connection. */
const maxValueChars = 4096;

/** What a value may consist of (RFC 9110, 5.5); `new Response` throws at anything else. */
const sendable = /^[\t\x20-\x7e\x80-\xff]+$/;

const none: ForwardedHeaders = Object.freeze({});

/** The named headers of a request or an answer, as far as they are there and can be sent on. */
export function pickHeaders(
  names: readonly string[],
  headers: { get(name: string): string | null },
): ForwardedHeaders {
  let picked: Record<string, string> | null = null;
  for (const name of names) {
    const value = headers.get(name);
    if (!isSane(value)) continue;
    picked ??= {};
    picked[name] = value;
  }
  return picked ?? none;
}

export function isSane(value: string | null): value is string {
  return value !== null && value.length <= maxValueChars && sendable.test(value);
}
