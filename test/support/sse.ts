/** One event of a stream and when it was complete, in milliseconds since the reading began. */
export interface TimedFrame {
  readonly event: string;
  readonly data: string;
  /** The lines as they came, comments included. */
  readonly raw: string;
  readonly atMs: number;
}

export interface ReadStream {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly frames: readonly TimedFrame[];
  /** The pieces as they arrived. */
  readonly chunks: readonly { readonly bytes: Uint8Array; readonly atMs: number }[];
  /** Why the body broke off, or null when it ended. */
  readonly failure: Error | null;
}

/** Reads a whole stream, with times. An incomplete body is reported, not thrown. */
export async function readStream(response: Response): Promise<ReadStream> {
  const reader = new StreamReader(response);
  while ((await reader.nextChunk()) !== null);
  return reader.result();
}

/** The JSON of every frame that has any. */
export function dataOf<Data = Record<string, unknown>>(stream: Pick<ReadStream, "frames">): Data[] {
  return stream.frames.filter((frame) => frame.data.startsWith("{")).map((frame) => JSON.parse(frame.data));
}

/** Reads a stream as far as a test wants to. */
export class StreamReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #startedAtMs = performance.now();
  readonly #chunks: { bytes: Uint8Array; atMs: number }[] = [];
  readonly #frames: TimedFrame[] = [];
  readonly #decoder = new TextDecoder();
  #pending = "";
  #failure: Error | null = null;

  constructor(response: Response) {
    if (response.body === null) throw new Error("the response has no body");
    this.#reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  }

  /** Null at the end. */
  async nextChunk(): Promise<Uint8Array | null> {
    try {
      const { value, done } = await this.#reader.read();
      if (done) return null;
      this.#take(value);
      return value;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      return null;
    }
  }

  /** Reads until some frame has this text in it; throws when the stream ends before. */
  async until(needle: string): Promise<TimedFrame> {
    for (;;) {
      const found = this.#frames.find((frame) => frame.raw.includes(needle));
      if (found !== undefined) return found;
      if ((await this.nextChunk()) === null) throw new Error(`the stream ended without ${needle}`);
    }
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }

  result(): ReadStream {
    const bytes = Buffer.concat(this.#chunks.map((chunk) => chunk.bytes));
    return {
      bytes,
      text: bytes.toString("utf8"),
      frames: this.#frames,
      chunks: this.#chunks,
      failure: this.#failure,
    };
  }

  #take(bytes: Uint8Array): void {
    const atMs = performance.now() - this.#startedAtMs;
    this.#chunks.push({ bytes, atMs });
    const parts = (this.#pending + this.#decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/);
    this.#pending = parts.pop() ?? "";
    for (const raw of parts) this.#frames.push({ ...fieldsOf(raw), raw, atMs });
  }
}

function fieldsOf(raw: string): { event: string; data: string } {
  const lines = raw.split(/\r?\n/);
  const values = (field: string) =>
    lines
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).trimStart());
  return { event: values("event").join(""), data: values("data").join("\n") };
}
