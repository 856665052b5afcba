const schemeEnd = "http://".length;

/** Where Elysia begins to look for the path; a host shorter than this makes it see another path than there is. */
const routerStart = 11;

/**
 * The same request with an address in which the router sees the path that was asked for. With `Host: x`
 * it would otherwise route `/abc/v1/models` to `/v1/models`, past whatever guards the former.
 */
export function routable(request: Request): Request {
  const { url } = request;
  const isAbsolute = url.startsWith("http");
  const pathStart = isAbsolute ? url.indexOf("/", schemeEnd + (url.charCodeAt(4) === 115 ? 1 : 0)) : 0;
  if (isAbsolute && pathStart >= routerStart) return request;
  return new Request(`http://localhost${url.slice(pathStart)}`, request);
}

/** The path alone, without the query, which no route reads. */
export function pathOf(request: Request): string {
  const { url } = request;
  const start = url.indexOf("/", routerStart);
  const end = url.indexOf("?", start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
