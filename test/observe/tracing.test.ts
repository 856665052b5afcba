import { describe, expect, test } from "bun:test";
import { startTracing } from "../../src/observe/tracing.ts";
import { exchangeFacts } from "./fixtures.ts";

interface Span {
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
function startCollector() {
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

function attributesOf(span: Span | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
}

describe("tracing", () => {
  test("is nothing at all without an endpoint", async () => {
    expect(await startTracing(null, "1")).toBeNull();
  });

  test("sends a span of each generation, named as in the GenAI conventions", async () => {
    await using collector = startCollector();
    const settings = { otlpEndpoint: collector.url, headers: { "x-team": "gateway" } };
    const tracing = await startTracing(settings, "1.2.3");
    tracing?.observe(exchangeFacts());
    tracing?.observe(exchangeFacts({ route: "/v1/models" }));
    const failed = { outcome: "failed", status: 502, errorCode: "upstream_error", usage: null };
    tracing?.observe(exchangeFacts({ ...failed, route: "/token/v1/messages" }));
    await tracing?.close();

    expect(collector.paths).toEqual(["/v1/traces"]);
    expect(collector.headers[0]?.get("x-team")).toBe("gateway");
    const [good, bad, ...others] = collector.spans();
    expect(others).toEqual([]);
    expect(good?.name).toBe("chat house-model");
    expect(Number(good?.endTimeUnixNano) - Number(good?.startTimeUnixNano)).toBe(900_000_000);
    expect(attributesOf(good)).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "house-model",
      "gen_ai.usage.input_tokens": 120,
      "gen_ai.usage.cache_read.input_tokens": 20,
      "gen_ai.usage.output_tokens": 30,
      "http.response.status_code": 200,
      "sluice.request_id": "req_1",
    });
    expect(attributesOf(bad)).toMatchObject({
      "error.type": "upstream_error",
      "http.route": "/token/v1/messages",
    });
    expect(bad?.status.code).toBe(2);
  });
});
