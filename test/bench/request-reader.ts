export interface ReadRequest {
  readonly path: string;
  readonly body: Buffer;
}

const headEnd = Buffer.from("\r\n\r\n");

/** Reads HTTP/1.1 requests with a Content-Length off one connection, one after the other. */
export class RequestReader {
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Bytes of the whole request, once its head is known. */
  #wantedBytes = 0;

  /** The request that these bytes complete, or null. */
  read(bytes: Buffer): ReadRequest | null {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes < this.#wantedBytes) return null;
    const all = this.#held.length === 1 ? bytes : Buffer.concat(this.#held);
    const headBytes = all.indexOf(headEnd) + headEnd.length;
    if (headBytes < headEnd.length) return this.#wait(all, 0);
    const head = all.toString("latin1", 0, headBytes);
    const bodyBytes = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (all.length < headBytes + bodyBytes) return this.#wait(all, headBytes + bodyBytes);
    this.#wait(null, 0);
    const path = head.slice(head.indexOf(" ") + 1, head.indexOf(" HTTP/1.1\r\n"));
    return { path, body: all.subarray(headBytes, headBytes + bodyBytes) };
  }

  #wait(held: Buffer | null, wantedBytes: number): null {
    this.#held = held === null ? [] : [held];
    this.#heldBytes = held?.length ?? 0;
    this.#wantedBytes = wantedBytes;
    return null;
  }
}
