import { expect, test } from "bun:test";
import { isHeartbeat } from "../../src/dialects/gemini/client/stream-out.ts";
import { clientDialect } from "../../src/dialects/registry.ts";
import type { Exchange } from "../../src/gateway/exchange/exchange.ts";
import { asList } from "../../src/gateway/response/list-stream.ts";

// Only its call is looked at while no stream is taken.
const exchange = { call: {} } as unknown as Exchange;
const headers = { "content-type": "text/event-stream; charset=utf-8" };

test("the items of a list are the events' data, and heartbeats are white space between them", async () => {
  const heartbeat = clientDialect("gemini").heartbeat(true, 0, "house/m");
  const events = `${heartbeat}data: {"a":1}\r\n\r\n${heartbeat}data: {"b":2}\r\n\r\n`;
  const response = await asList(exchange, isHeartbeat, async () => new Response(events, { headers }));
  expect(await response.text()).toBe('\n[{"a":1}\n,\r\n{"b":2}]');
  expect(response.headers.get("content-type")).toBe("application/json");
});

test("an error stays what it is", async () => {
  const error = Response.json({ error: { code: 400 } }, { status: 400 });
  expect(await asList(exchange, isHeartbeat, async () => error)).toBe(error);
});
