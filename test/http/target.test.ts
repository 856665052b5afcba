import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { rawExchange } from "../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

const adminToken = "the-right-admin-token";

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: configFor({
      url: provider.url,
      head: "[server]\nanonymous_rpm = 100000\n[routes]\nwebsocket = false",
    }),
    env: { SLUICE_ADMIN_TOKEN: adminToken },
  });
  key = await sluice.createKey();
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

/** A request in its own bytes: a client library would correct what is tried here. */
async function raw(line: string, ...headers: readonly string[]): Promise<{ status: number; text: string }> {
  const head = [`${line} HTTP/1.1`, "Connection: close", ...headers].join("\r\n");
  const text = await rawExchange(sluice.url, `${head}\r\n\r\n`, 100);
  return { status: Number(text.slice(9, 12)), text };
}

const host = "Host: gateway.example";

describe("a path around a proxy's rules", () => {
  const admin = "admin/api/v1/keys";
  const tricks = [
    `/v1/..\\${admin}`,
    `/v1\\..\\${admin}`,
    `/\\${admin}`,
    `/v1/../${admin}`,
    `/v1/x/../../${admin}`,
    `/./${admin}`,
    `/v1/%2e%2e/${admin}`,
    `/v1/.%2E/${admin}`,
    `/v1/%2e/../${admin}`,
    `/v1/..%2f${admin}`,
    `/v1/..%5c${admin}`,
    `/v1%2f..%2f${admin}`,
    `/v1/%252e%252e/${admin}`,
    `/v1/..%252f${admin}`,
    `/admin%2fapi/v1/keys`,
    `/admin/api\\v1/keys`,
    `/v1/..;/%2e%2e/${admin}`,
    `/${admin}/..`,
    `/${admin}/.`,
    `/${admin}%00`,
    `/${admin}%0d%0a`,
    `/${admin}%7f`,
    `/${admin}%3fx`,
    `/${admin}%23x`,
    `/${admin}#x`,
    `/${admin}%`,
    `http://gateway.example/v1/../${admin}`,
    `http://gateway.example/v1/..\\${admin}`,
  ];

  test.each(tricks)("%s gets 400, with the token too", async (path) => {
    const { status, text } = await raw(`GET ${path}`, host, `Authorization: Bearer ${adminToken}`);
    expect(status).toBe(400);
    expect(text).toContain("invalid_request");
    expect(text).toMatch(/^x-request-id: req_/im);
  });

  test.each([
    `//${admin}`,
    `/v1//../${admin}`,
    `/v1//..\\${admin}`,
    `//..\\${admin}`,
    `/${"a/".repeat(30)}../${admin}`,
  ])("%s leads nowhere", async (path) => {
    const { status, text } = await raw(`GET ${path}`, host, `Authorization: Bearer ${adminToken}`);
    expect([400, 404]).toContain(status);
    expect(text).not.toContain('"data"');
  });

  test("is refused in the path's own envelope, before a credential is looked at", async () => {
    const { status, text } = await raw("POST /v1/messages/..\\chat", host);
    expect(status).toBe(400);
    expect(text).toContain('"type":"error"');
  });

  test("is nothing that plain paths suffer from", async () => {
    const bearer = `Authorization: Bearer ${adminToken}`;
    for (const path of [
      `/${admin}`,
      `/${admin}/`,
      `/${admin}?x=..\\..%2f`,
      `http://gateway.example/${admin}`,
    ]) {
      expect((await raw(`GET ${path}`, host, bearer)).status, path).toBe(200);
    }
    for (const path of [
      "/",
      "/?a",
      "/healthz",
      "/admin",
      "/admin/keys",
      "/v1/models",
      "/v1/models/",
      "/v1/models?a=%2e",
    ]) {
      expect((await raw(`GET ${path}`, host)).status, path).toBe(200);
    }
    for (const path of ["/v1/x;y", "/V1/models", "/v1/%6dodels", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n"]) {
      expect((await raw(`GET ${path}`, host)).status, path).toBe(404);
    }
  });
});

describe("the Host header", () => {
  test.each([
    [["Host: a.example", "Host: b.example"]],
    [["Host: a.example", "host: a.example"]],
    [["Host: a.example", "Host:"]],
    [["Host:", "Host: a.example"]],
    [["Host: a.example, b.example"]],
    [["Host: user@a.example"]],
    [["Host: a.example/v1"]],
    [["Host: a b"]],
  ])("given as %p is refused on every kind of route", async (lines) => {
    for (const line of [
      "GET /v1/models",
      "GET /v1/usage",
      "POST /v1/messages",
      "GET /admin",
      "GET /healthz",
      "GET /none",
    ]) {
      const { status, text } = await raw(line, ...lines);
      expect(status, line).toBe(400);
      expect(text).toContain("invalid_request");
    }
  });

  test.each(["a.example", "a.example:8787", "[::1]:8787", "127.0.0.1", "x", "A_b-c.example", "%", ""])(
    "%s is fine",
    async (name) => {
      expect((await raw("GET /v1/models", `Host: ${name}`)).status).toBe(200);
      expect((await raw("GET /v1/models/nowhere", `Host: ${name}`)).status).toBe(404);
      const byKey = `Authorization: Bearer ${key.key}`;
      expect((await raw("GET /v1/responses/nowhere", `Host: ${name}`, byKey)).status).toBe(404);
      expect((await raw("GET /healthz", `Host: ${name}`)).status).toBe(200);
      for (const path of ["/admin/api/v1/keys?limit=1", "/admin/api/v1/keys/?limit=1"]) {
        const bearer = `Authorization: Bearer ${adminToken}`;
        expect((await raw(`GET ${path}`, `Host: ${name}`, bearer)).status, path).toBe(200);
      }
    },
  );
});

describe("a WebSocket where there are none", () => {
  const upgrade = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];

  test.each(["/v1/responses", "/token/v1/responses", "/v1/responses/"])(
    "on %s gets 426 at once",
    async (path) => {
      for (const bearer of [[], [`Authorization: Bearer ${key.key}`]]) {
        const { status, text } = await raw(`GET ${path}`, host, ...upgrade, ...bearer);
        expect(status).toBe(426);
        expect(text).toContain('"code":"upgrade_required"');
        expect(text).toMatch(/^upgrade: /im);
      }
      expect(provider.requests).toEqual([]);
    },
  );

  test("is what makes the difference: a plain GET is still the wrong method", async () => {
    expect((await raw("GET /v1/responses", host)).status).toBe(405);
    expect((await raw("GET /v1/chat/completions", host, ...upgrade)).status).toBe(405);
  });
});
