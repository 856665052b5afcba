/** Head and body up to this size leave in one write; a separate write for the head would wake the server twice. */
const capacityBytes = 256 * 1024;

/**
 * The buffer that requests are assembled in, one at a time. Consecutive requests mostly have the same head, so the
 * encoded head is left in place and only rewritten when it differs.
 */
export class RequestBuffer {
  readonly bytes = Buffer.allocUnsafe(capacityBytes);
  /** How much of `bytes` the last request takes up. */
  length = 0;
  #head = "";
  #headBytes = 0;

  /** Returns the body if it did not fit, otherwise null. */
  put(head: string, body: Uint8Array | string): Uint8Array | null {
    const bodyBytes = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const at = this.#putHead(head, bodyBytes);
    if (at + bodyBytes > capacityBytes) {
      this.length = at;
      return typeof body === "string" ? Buffer.from(body) : body;
    }
    if (typeof body === "string") this.bytes.write(body, at);
    else this.bytes.set(body, at);
    this.length = at + bodyBytes;
    return null;
  }

  /** Returns where the body begins. */
  #putHead(head: string, bodyBytes: number): number {
    const { bytes } = this;
    if (head !== this.#head) {
      this.#headBytes = bytes.write(`${head}content-length: `, "latin1");
      this.#head = head;
    }
    return this.#headBytes + bytes.write(`${bodyBytes}\r\n\r\n`, this.#headBytes, "latin1");
  }
}
