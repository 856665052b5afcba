import { describe, expect, test } from "bun:test";
import { startTracing } from "../../src/observe/tracing.ts";
import { type Span, startCollector } from "./collector.ts";
import { exchangeFacts } from "./fixtures.ts";

function attributesOf(span: Span | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
}

describe("tracing", () => {
  test("is nothing at all without an endpoint", async () => {
    expect(await startTracing(null, "1")).toBeNull();
  });

  test("sends a span of each generation, named as in the GenAI conventions", async () => {
    await using collector = startCollector();
    const settings = { otlpEndpoint: collector.url, headers: { "x-team": "gateway" }, content: false };
    const tracing = await startTracing(settings, "1.2.3");
    tracing?.observe(exchangeFacts());
    tracing?.observe(exchangeFacts({ route: "/v1/models", tracedAs: null }));
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
