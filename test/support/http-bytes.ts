/** A request as it stood on the wire. Header names are in lower case. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

const decoder = new TextDecoder();

/**
 * Takes HTTP/1.1 requests out of the bytes of a connection. Written by hand, because a test provider must be
 * able to misbehave on the same socket in ways that no HTTP server allows.
 */
export class RequestReader {
  #bytes: Buffer = Buffer.alloc(0);
  readonly #chunks: Uint8Array[] = [];
  #received = 0;
  /** Nothing can be taken before so many bytes are there; large bodies are then joined once. */
  #wanted = 0;

  push(chunk: Uint8Array): WireRequest[] {
    this.#chunks.push(chunk.slice());
    this.#received += chunk.length;
    if (this.#received < this.#wanted) return [];
    this.#bytes = Buffer.concat([this.#bytes, ...this.#chunks.splice(0)]);
    this.#wanted = 0;
    const requests: WireRequest[] = [];
    for (let request = this.#take(); request !== null; request = this.#take()) requests.push(request);
    this.#received = this.#bytes.length;
    return requests;
  }

  #take(): WireRequest | null {
    const headEnd = this.#bytes.indexOf("\r\n\r\n");
    if (headEnd === -1) return null;
    const [requestLine = "", ...headerLines] = decoder.decode(this.#bytes.subarray(0, headEnd)).split("\r\n");
    const [method = "", path = ""] = requestLine.split(" ");
    const headers: Record<string, string> = {};
    for (const line of headerLines) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const rest = this.#bytes.subarray(headEnd + 4);
    const body = headers["transfer-encoding"] === "chunked" ? unchunk(rest) : plainBody(rest, headers);
    if (body === null) {
      this.#wanted = headEnd + 4 + Number(headers["content-length"] ?? 0);
      return null;
    }
    this.#bytes = this.#bytes.subarray(headEnd + 4 + body.consumed);
    return { method, path, headers, body: body.bytes };
  }
}

interface Body {
  readonly bytes: Uint8Array;
  readonly consumed: number;
}

function plainBody(rest: Buffer, headers: Readonly<Record<string, string>>): Body | null {
  const length = Number(headers["content-length"] ?? 0);
  return rest.length < length ? null : { bytes: rest.subarray(0, length), consumed: length };
}

function unchunk(rest: Buffer): Body | null {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf("\r\n", at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(decoder.decode(rest.subarray(at, lineEnd)), 16);
    const end = lineEnd + 2 + size;
    if (rest.length < end + 2) return null;
    parts.push(rest.subarray(lineEnd + 2, end));
    at = end + 2;
    if (size === 0) return { bytes: Buffer.concat(parts), consumed: at };
  }
}
