/**
 * Compresses a long response for clients that accept it: the list of a thousand models is a twentieth of its size. It
 * is read and compressed part by part, so the event loop goes on in between.
 */
export function gzipped(request: Request, response: Response): Response {
  const { body, headers, status } = response;
  if (body === null || !/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) return response;
  const compressed = new Headers(headers);
  compressed.set("content-encoding", "gzip");
  compressed.append("vary", "accept-encoding");
  return new Response(body.pipeThrough(new CompressionStream("gzip")), { status, headers: compressed });
}
