const schemeLength = "http://".length;

/** The path without the query. A request without a host has a bare path as its URL. */
export function pathOf({ url }: Request): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", schemeLength);
  const end = url.indexOf("?", start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
