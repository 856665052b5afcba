/**
 * Compresses a long response for clients that accept it: the list of a thousand models shrinks to a twentieth. Works in
 * parts, so that the event loop can run in between.
 */
export function gzipped(request: Request, response: Response): Response {
  const { body, headers, status } = response;
  if (body === null || !/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) return response;
  const compressed = new Headers(headers);
  compressed.set("content-encoding", "gzip");
  compressed.append("vary", "accept-encoding");
  return new Response(body.pipeThrough(new CompressionStream("gzip")), { status, headers: compressed });
}
