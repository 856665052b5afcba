import { describe, expect, test } from "bun:test";
import { traceContextOf, traceHeaders } from "../../src/base/requests/trace-context.ts";
import { configFor } from "../support/config.ts";
import { startProvider } from "../support/provider.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { startCollector } from "./collector.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const parentId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${parentId}-01`;

describe("a caller's trace context", () => {
  const headers = (fields: Record<string, string>) => new Headers(fields);

  test("is passed on as it is where nothing is traced", () => {
    const state = "vendor=a,other=b";
    const context = traceContextOf(headers({ traceparent, tracestate: state }), false);
    expect(context === null ? null : traceHeaders(context)).toEqual({ traceparent, tracestate: state });
    expect(traceContextOf(headers({}), false)).toBeNull();
  });

  test("is continued by a span of our own where it is, and begun where there is none", () => {
    const continued = traceContextOf(headers({ traceparent }), true);
    expect(continued).toMatchObject({ traceId, parentId, flags: "01" });
    expect(continued?.spanId).toMatch(/^[0-9a-f]{16}$/);
    const begun = traceContextOf(headers({}), true);
    expect(begun).toMatchObject({ parentId: null, flags: "01" });
    expect(traceHeaders(begun ?? ({} as never))["traceparent"]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  test.each([
    "",
    "garbage",
    `ff-${traceId}-${parentId}-01`,
    `00-${"0".repeat(32)}-${parentId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    traceparent.toUpperCase(),
    `${traceparent}-more`,
  ])("is ignored if it is malformed: %s", (value) => {
    expect(traceContextOf(headers({ traceparent: value }), false)).toBeNull();
  });

  test("may be of a newer version", () => {
    expect(traceContextOf(headers({ traceparent: `cc${traceparent.slice(2)}-more` }), false)).toMatchObject({
      traceId,
    });
  });
});

test("a trace goes from the caller through the gateway's span to the provider", async () => {
  await using collector = startCollector();
  const provider = startProvider();
  const head = `[tracing]\notlp_endpoint = "${collector.url}"`;
  await using sluice = await startSluice({ config: configFor({ url: provider.url, head }) });
  const key = await sluice.createKey();
  await waitFor(
    async () => (await sluice.request("/v1/usage", { key })).status === 200,
    "the key to be known",
  );
  const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
  const asked = { key, body, headers: { traceparent, tracestate: "vendor=a" } };
  expect((await sluice.request("/v1/chat/completions", asked)).status).toBe(200);
  const sent = provider.requests[0]?.headers ?? {};
  const [, trace, span, flags] = String(sent["traceparent"]).split("-");
  expect([trace, flags, sent["tracestate"]]).toEqual([traceId, "01", "vendor=a"]);
  await sluice.stop();
  provider.stop();
  expect(collector.spans()).toMatchObject([{ traceId, spanId: span, parentSpanId: parentId }]);
}, 120_000);
