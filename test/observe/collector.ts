export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
}

/** An OTLP collector that records what it receives. */
export function startCollector() {
  const exports: Export[] = [];
  const paths: string[] = [];
  const headers: Headers[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      paths.push(new URL(request.url).pathname);
      headers.push(request.headers);
      exports.push((await request.json()) as Export);
      return Response.json({});
    },
  });
  const spans = () =>
    exports.flatMap((one) => one.resourceSpans.flatMap((it) => it.scopeSpans.flatMap((s) => s.spans)));
  const dispose = () => server.stop(true);
  return { url: `http://127.0.0.1:${server.port}`, paths, headers, spans, [Symbol.asyncDispose]: dispose };
}
