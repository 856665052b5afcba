/**
 * A response in frames, for operations that take long: notes of their progress, and then the response itself. A note
 * comes every second, so that neither side, nor a proxy between them, takes the connection for a dead one.
 */
export const framesType = "application/vnd.sluice.frames";
/** The request header of a client that reads frames. */
export const framesHeader = "x-sluice-frames";

/** A response that comes sooner is sent as it is. */
const firstNoteMs = 1_000;
const noteEveryMs = 1_000;

const kinds = { note: 0, head: 1, body: 2, end: 3 } as const;
type Kind = (typeof kinds)[keyof typeof kinds];
/** The kind in a byte, and the length of the content. */
const headerBytes = 5;
const maxContentBytes = 256 * 1024 * 1024;

interface Frame {
  readonly kind: number;
  readonly content: Uint8Array<ArrayBuffer>;
}

interface Head {
  readonly status: number;
  readonly headers: Record<string, string>;
}

interface FramedCall {
  readonly request: Request;
  /** Headers of a response in frames. */
  headers(): Record<string, string>;
  work(report: (text: string) => void): Promise<Response>;
  /** The response to a failure that comes after the first frame, too late for the HTTP server. */
  failed(error: unknown): Response;
}

/** The response of `work`, in frames if the client reads them and it takes longer than a second. */
export async function inFrames({ request, headers, work, failed }: FramedCall): Promise<Response> {
  let progress = "";
  const working = work((text) => {
    progress = text;
  });
  if (!request.headers.has(framesHeader)) return working;
  const early = await within(working, firstNoteMs);
  if (early !== null) return early.value;
  const frames = framesOf(working.catch(failed), () => progress);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await frames.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await frames.return(undefined);
    },
  });
  // Without the last one nginx keeps the notes until there are many.
  return new Response(body, {
    headers: { ...headers(), "content-type": framesType, "x-accel-buffering": "no" },
  });
}

async function* framesOf(
  working: Promise<Response>,
  progress: () => string,
): AsyncGenerator<Uint8Array, undefined> {
  const { status, headers, body } = yield* noting(working, progress);
  yield jsonFrame(kinds.head, { status, headers: Object.fromEntries(headers) });
  const reader = body?.getReader();
  try {
    while (reader !== undefined) {
      const { done, value } = yield* noting(reader.read(), progress);
      if (done) break;
      yield frame(kinds.body, value);
    }
    yield frame(kinds.end, new Uint8Array());
  } finally {
    await reader?.cancel();
  }
}

/** Yields notes until the work is done. */
async function* noting<Result>(
  work: Promise<Result>,
  progress: () => string,
): AsyncGenerator<Uint8Array, Result> {
  for (;;) {
    const done = await within(work, noteEveryMs);
    if (done !== null) return done.value;
    yield frame(kinds.note, new TextEncoder().encode(progress()));
  }
}

/** Null if the work takes longer. */
async function within<Result>(work: Promise<Result>, limitMs: number): Promise<{ value: Result } | null> {
  const over = Promise.withResolvers<null>();
  const timer = setTimeout(() => over.resolve(null), limitMs);
  try {
    return await Promise.race([work.then((value) => ({ value })), over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function jsonFrame(kind: Kind, content: Head): Uint8Array {
  return frame(kind, new TextEncoder().encode(JSON.stringify(content)));
}

function frame(kind: Kind, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(headerBytes + content.length);
  bytes[0] = kind;
  new DataView(bytes.buffer).setUint32(1, content.length);
  bytes.set(content, headerBytes);
  return bytes;
}

/**
 * The response that a gateway has sent in frames, or as it is. Returns when its head has arrived; the body fails if the
 * connection ends before the last frame. Each frame is reported, a note with its text.
 */
export async function readFrames(
  response: Response,
  onFrame: (note: string | null) => void,
): Promise<Response> {
  if (response.headers.get("content-type") !== framesType || response.body === null) return response;
  const frames = parse(response.body, onFrame);
  for (;;) {
    const { done, value } = await frames.next();
    if (done === true) throw new Error("The connection ended before the response.");
    if (value.kind !== kinds.head) continue;
    // Only `framesOf` writes it.
    const { status, headers } = JSON.parse(new TextDecoder().decode(value.content)) as Head;
    const { "content-encoding": encoding, ...others } = headers;
    const body = bodyOf(frames);
    return new Response(encoding === "gzip" ? body.pipeThrough(new DecompressionStream("gzip")) : body, {
      status,
      headers: others,
    });
  }
}

function bodyOf(frames: AsyncGenerator<Frame, undefined>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { done, value } = await frames.next();
        if (done === true) throw new Error("The connection ended before the response was complete.");
        if (value.kind === kinds.end) return controller.close();
        if (value.kind === kinds.body) return controller.enqueue(value.content);
      }
    },
    async cancel() {
      await frames.return(undefined);
    },
  });
}

async function* parse(
  body: ReadableStream<Uint8Array>,
  onFrame: (note: string | null) => void,
): AsyncGenerator<Frame, undefined> {
  let rest: Uint8Array<ArrayBuffer> = new Uint8Array();
  for await (const chunk of body) {
    rest = joined(rest, chunk);
    let at = 0;
    for (;;) {
      if (rest.length - at < headerBytes) break;
      const length = new DataView(rest.buffer, rest.byteOffset + at).getUint32(1);
      if (length > maxContentBytes) throw new Error("The response is not in frames.");
      const end = at + headerBytes + length;
      if (end > rest.length) break;
      const kind = rest[at] ?? 0;
      const content = rest.slice(at + headerBytes, end);
      at = end;
      onFrame(kind === kinds.note ? new TextDecoder().decode(content) : null);
      yield { kind, content };
    }
    rest = rest.slice(at);
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(one.length + other.length);
  bytes.set(one);
  bytes.set(other, one.length);
  return bytes;
}
