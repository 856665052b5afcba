import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { adminRoutes } from "../../src/admin/api/admin.ts";
import { adminBase } from "../../src/base/requests/admin-base.ts";
import type { Gateway } from "../../src/gateway/exchange/gateway.ts";
import { mountPages } from "../../src/http/dashboard.ts";
import { createEdge } from "../../src/http/edge.ts";
import type { Log } from "../../src/observe/log.ts";
import { FakeClock } from "../support/clock.ts";
import { rawExchange } from "../support/raw.ts";

/** The edge in this process, so that its turns of the event loop can be counted. No route is asked that needs a gateway. */
const clock = new FakeClock();
const settings = {
  server: { trustedProxies: ["127.0.0.1"], corsOrigins: [] },
  websocket: { maxMessageBytes: 1 },
  admin: { listen: null },
};
const gateway = {
  configured: { settings },
  clock,
  ongoing: { isDraining: false },
  storeProblem: () => null,
} as unknown as Gateway;
const log = { error: () => undefined } as unknown as Log;
const edge = createEdge(gateway, log, [
  adminRoutes({} as Parameters<typeof adminRoutes>[0]),
  (app) => mountPages(app, "/admin"),
]);
let url: string;

beforeAll(() => {
  edge.listen({ hostname: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${edge.server?.port}`;
});
afterAll(() => edge.server?.stop(true));

const documents = ["/", "/openapi.json", "/admin", "/admin/keys", `${adminBase}/openapi.json`];
const probes = ["/healthz", "/readyz"];

function read(path: string, from: string): Promise<Response> {
  return fetch(url + path, { headers: { "x-forwarded-for": from } });
}

test.each([...documents, ...probes, "/nothing", "/a//b", "/v1/chat/completions"])(
  "one connection gets no more than a hundred answers to GET %s in one turn",
  async (path) => {
    clock.advance(60_000);
    // Loads what is loaded at the first look.
    await read(path, "9.9.9.9");
    const requests = `GET ${path} HTTP/1.1\r\nHost: x\r\nx-forwarded-for: 9.9.9.8\r\n\r\n`.repeat(1500);
    const answers = (await rawExchange(url, requests)).split("HTTP/1.1 ").length - 1;
    expect(answers).toBeLessThanOrEqual(101);
  },
);

describe("documents that need no key", () => {
  test.each(["/openapi.json", `${adminBase}/openapi.json`])("%s is built once", async (path) => {
    const first = await (await read(path, "9.9.9.1")).text();
    const pieces = spyOn(Object, "entries");
    try {
      const again = await read(path, "9.9.9.1");
      expect(again.headers.get("content-type")).toStartWith("application/json");
      expect(await again.text()).toBe(first);
      expect(pieces.mock.calls.length).toBeLessThan(3);
    } finally {
      pieces.mockRestore();
    }
  });

  test("are bounded by address, all together; probes and other addresses are not", async () => {
    clock.advance(60_000);
    const statuses = new Map<number, number>();
    for (let count = 0; count < 310; count += 1) {
      const { status } = await read(documents[count % documents.length] ?? "", "9.9.9.2");
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses]).toEqual([
      [200, 300],
      [429, 10],
    ]);
    const refused = await read("/openapi.json", "9.9.9.2");
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(((await refused.json()) as { error: { code: string } }).error.code).toBe("rate_limit_exceeded");
    for (const path of probes) expect((await read(path, "9.9.9.2")).status).toBe(200);
    for (const path of documents) expect((await read(path, "9.9.9.3")).status).toBe(200);
    clock.advance(1000);
    expect((await read("/openapi.json", "9.9.9.2")).status).toBe(200);
  });
});
