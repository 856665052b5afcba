/** Headers that may be forwarded, already picked from an allow-list. */
export type ForwardedHeaders = Readonly<Record<string, string>>;

/** Some servers close the connection on oversized headers. */
const maxValueChars = 4096;

/** The legal characters of a value (RFC 9110, 5.5); `new Response` throws on others. */
const sendable = /^[\t\x20-\x7e\x80-\xff]+$/;

export const noHeaders: ForwardedHeaders = Object.freeze({});

/** The named headers of a request or a response, if they are present and can be forwarded. */
export function pickHeaders(
  names: readonly string[],
  headers: { get(name: string): string | null },
): ForwardedHeaders {
  let picked: Record<string, string> | null = null;
  for (const name of names) {
    const value = headers.get(name);
    if (!isSendable(value)) continue;
    picked ??= {};
    picked[name] = value;
  }
  return picked ?? noHeaders;
}

export function isSendable(value: string | null): value is string {
  return value !== null && value.length <= maxValueChars && sendable.test(value);
}
