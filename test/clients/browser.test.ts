import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { browse, findBrowser } from "../dashboard/browser.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import type { Seen } from "./browser/page.ts";

/** A page on one origin and the gateway on another (`server.cors_origins`). */
const demoConfig = (origins: string) => `
[server]
anonymous_rpm = 100000
${origins}

[providers.demo]
kind = "demo"

[[models]]
id = "demo-small"
provider = "demo"
price = { input = 1.0, output = 2.0 }
`;
const listed = (...origins: string[]) => `cors_origins = ${JSON.stringify(origins)}`;
const chat = "https://chat.example.com";

let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  sluice = await startSluice({ config: demoConfig(listed(chat)) });
  key = await sluice.createKey();
  await waitFor(
    async () => (await sluice.request("/v1/usage", { key })).status === 200,
    "the key to be known",
  );
}, 120_000);

afterAll(() => sluice.dispose());

const preflight = (path: string, origin: string, method = "POST") =>
  sluice.request(path, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    },
  });
const allowedOrigin = (response: Response) => response.headers.get("access-control-allow-origin");
const generationPaths = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/messages/count_tokens",
];
const readPaths = ["/v1/models", "/v1/models/demo-small", "/v1/usage"];

describe("a listed origin", () => {
  test("gets its preflights answered on every route, on both origins of the gateway", async () => {
    for (const prefix of ["", "/token"]) {
      for (const path of [...generationPaths, ...readPaths]) {
        const response = await preflight(prefix + path, chat);
        expect([path, response.status, allowedOrigin(response)]).toEqual([path, 204, chat]);
        const method = readPaths.includes(path) ? "GET" : "POST";
        expect(response.headers.get("access-control-allow-methods")?.split(", ")).toContain(method);
        expect(response.headers.get("access-control-allow-headers")).toBe(
          "authorization,content-type,x-stainless-lang",
        );
        expect(response.headers.has("access-control-allow-credentials")).toBe(false);
      }
    }
  });

  test("may read answers and errors, and our headers on them", async () => {
    const headers = { origin: chat };
    const body = { model: "demo-small", messages: [{ role: "user", content: "fast" }] };
    const responses = [
      await sluice.request("/v1/chat/completions", { key, headers, body }),
      await sluice.request("/v1/chat/completions", { key, headers, body: { ...body, stream: true } }),
      await sluice.request("/v1/chat/completions", { key, headers, body: "{" }),
      await sluice.request("/v1/chat/completions", { headers, body }),
      await sluice.request("/v1/models/none", { key, headers }),
      await sluice.request("/v1/usage", { key, headers, method: "DELETE" }),
      await sluice.request("/v1/nowhere", { key, headers }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 400, 401, 404, 405, 404]);
    for (const response of responses) {
      await response.text();
      expect(allowedOrigin(response)).toBe(chat);
      expect(response.headers.get("vary")).toContain("origin");
      const exposed = response.headers.get("access-control-expose-headers");
      for (const name of ["x-request-id", "x-sluice-cost", "retry-after"]) expect(exposed).toContain(name);
    }
  });

  test("has no part in the admin side, the dashboard or the health checks", async () => {
    for (const path of ["/admin", "/admin/api/keys", "/metrics", "/healthz", "/openapi.json"]) {
      expect(allowedOrigin(await sluice.request(path, { headers: { origin: chat } })), path).toBeNull();
      const asked = await preflight(path, chat, "GET");
      expect(asked.status, path).not.toBe(204);
      expect(allowedOrigin(asked), path).toBeNull();
    }
  });
});

test("another origin is answered as if there were no setting", async () => {
  for (const origin of [
    "https://evil.example",
    "https://chat.example.com.evil.example",
    "null",
    `${chat}:8443`,
  ]) {
    expect((await preflight("/v1/chat/completions", origin)).status, origin).toBe(405);
    const response = await sluice.request("/v1/models", { headers: { origin } });
    expect(response.status).toBe(200);
    expect(allowedOrigin(response), origin).toBeNull();
    expect(response.headers.get("vary")).toBe("authorization, x-api-key, origin");
  }
});

const browser = await findBrowser();

test.skipIf(browser === null)(
  "a real browser calls the gateway from a page: with the official packages, streamed, and reads errors",
  async () => {
    const { outputs } = await Bun.build({
      entrypoints: [join(import.meta.dir, "browser", "page.ts")],
      target: "browser",
    });
    const script = (await outputs[0]?.text()) ?? "";
    using pages = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () =>
        new Response(
          `<!doctype html><script type="module">${script.replaceAll("</script", "<\\/script")}</script>`,
          {
            headers: { "content-type": "text/html" },
          },
        ),
    });
    const origin = `http://127.0.0.1:${pages.port}`;
    await sluice.reload(demoConfig(listed(chat, origin)));
    await using browsing = await browse(browser ?? "", { scheme: "light", width: 800, height: 600 });
    const page = await browsing.context.newPage();
    await page.goto(origin);
    const visit = `visit(${JSON.stringify(sluice.url)}, ${JSON.stringify(key.key)})`;
    const seen = (await page.evaluate(visit)) as Seen;
    for (const text of [seen.chat, seen.messages, seen.responses]) expect(text).toContain("“fast”");
    expect(seen).toMatchObject({ models: ["demo-small"], usage: 200, unauthorized: { status: 401 } });
    expect(seen.missing.status).toBe(404);
    expect(seen.cost).toMatch(/^0\.\d+$/);
    expect(seen.unauthorized.requestId).toMatch(/^req_/);
    // And without the setting the browser keeps the page out.
    await sluice.reload(demoConfig(""));
    expect(await page.evaluate(`${visit}.then(() => "in", (error) => String(error))`)).toMatch(
      /Connection error/,
    );
  },
  60_000,
);

test("`*` is for every origin, and only if it is written", async () => {
  await sluice.reload(demoConfig(listed("*")));
  const response = await sluice.request("/v1/models", { headers: { origin: "https://anyone.example" } });
  expect(allowedOrigin(response)).toBe("*");
  expect(response.headers.has("access-control-allow-credentials")).toBe(false);
  expect((await preflight("/v1/messages", "https://anyone.example")).status).toBe(204);
  expect((await preflight("/admin/api/keys", "https://anyone.example")).status).not.toBe(204);
});
