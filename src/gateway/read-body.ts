import { invalidRequest } from "../base/errors.ts";

/**
 * The request's bytes, refused as soon as they are known to be too many: by the length the client
 * announced, or, where it announced none, while they come in.
 */
export function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const announced = request.headers.get("content-length");
  if (announced === null) return readGrowing(request, maxBytes);
  if (Number(announced) > maxBytes) throw tooLarge(maxBytes);
  return request.bytes();
}

async function readGrowing(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    // Not by `for await`: it would wait for the rest of the body before it lets go of it.
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(next.value);
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number) {
  return invalidRequest(`The request body is too large; at most ${maxBytes} bytes are accepted.`);
}
