import { readTraces } from "./otlp-protobuf.ts";

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
}

interface MetricsExport {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[];
  }[];
}

export interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly dataPoints: readonly DataPoint[] };
  readonly histogram?: { readonly dataPoints: readonly DataPoint[] };
}

export interface DataPoint extends Pick<Span, "attributes"> {
  readonly asDouble?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly explicitBounds?: readonly number[];
}

/** An OTLP collector that records what it receives, unless `refuses` has a status to answer with. */
export function startCollector() {
  const exports: Export[] = [];
  const measured: MetricsExport[] = [];
  const paths: string[] = [];
  const headers: Headers[] = [];
  const answers = { refuses: null as number | null };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      paths.push(new URL(request.url).pathname);
      headers.push(request.headers);
      const isJson = request.headers.get("content-type") === "application/json";
      if (isJson && request.url.endsWith("/v1/metrics")) {
        measured.push((await request.json()) as MetricsExport);
        return Response.json({});
      }
      const read = isJson ? ((await request.json()) as Export) : readTraces(await request.bytes());
      if (answers.refuses !== null) return new Response("no", { status: answers.refuses });
      exports.push(read);
      return isJson
        ? Response.json({})
        : new Response(new Uint8Array(), { headers: { "content-type": "application/x-protobuf" } });
    },
  });
  const spans = () =>
    exports.flatMap((one) => one.resourceSpans.flatMap((it) => it.scopeSpans.flatMap((s) => s.spans)));
  const metrics = () =>
    measured.flatMap((one) => one.resourceMetrics.flatMap((it) => it.scopeMetrics.flatMap((s) => s.metrics)));
  const dispose = () => server.stop(true);
  const url = `http://127.0.0.1:${server.port}`;
  return { url, paths, headers, answers, spans, metrics, [Symbol.asyncDispose]: dispose };
}

/** A list is read as a list, and every other value as it is. */
function valueIn(value: Readonly<Record<string, unknown>>): unknown {
  const list = value["arrayValue"] as
    | { readonly values: readonly Span["attributes"][number]["value"][] }
    | undefined;
  return list === undefined ? Object.values(value)[0] : list.values.map(valueIn);
}

export function attributesOf(span: Pick<Span, "attributes"> | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, valueIn(value)]));
}
