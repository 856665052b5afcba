const schemeLength = "http://".length;

/** The path without the query. A request without a host has a bare path as its URL. */
export function pathOf({ url }: Request): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", schemeLength);
  const end = url.indexOf("?", start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}

/** Characters that a second decoding would change, and that other software treats as a separator, an end or a dot segment. */
const oddCharacters = /[\p{Cc}\p{Cs}/\\?#%\ufffd]/u;

/** Whether a segment of a path means the same to every reader. Takes one that has been decoded once. */
export function isPlainSegment(segment: string): boolean {
  return segment !== "." && segment !== ".." && !oddCharacters.test(segment);
}
