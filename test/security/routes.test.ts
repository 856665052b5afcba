import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Log } from "../../src/observe/log.ts";
import { configFor } from "../support/config.ts";
import { edgeWith, mountedForAll } from "../support/edge.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { rawExchange } from "../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

/**
 * Invariant 15: default deny. The routes come from the router itself, so that a route added later is tested here automatically.
 * Only the routes below work without a credential.
 */
const publicRoutes: ReadonlySet<string> = new Set([
  "GET /",
  "GET /healthz",
  "GET /readyz",
  "GET /openapi.json",
  "GET /openapi-extensions.json",
  // Says hello, and nothing else.
  "GET /api/hello",
  "GET /token/api/hello",
  "GET /v1/models",
  "GET /token/v1/models",
  "GET /v1/models/*",
  "GET /token/v1/models/*",
  // The same catalog in Google's format.
  ...["/v1beta", "/v1alpha", "/token/v1beta", "/token/v1alpha"].flatMap((version) => [
    `GET ${version}/models`,
    `GET ${version}/models/*`,
  ]),
  // The page and its files hold no data; everything they show comes from the admin API.
  "GET /admin",
  "GET /admin/*",
  // How one is admitted, and a document without data.
  "GET /admin/api/v1/session",
  "POST /admin/api/v1/session",
  "DELETE /admin/api/v1/session",
  "GET /admin/api/v1/openapi.json",
  "GET /usage",
  "GET /usage/*",
  "GET /usage/api/v1/session",
  "DELETE /usage/api/v1/session",
]);

/** These are opened by a WebSocket's handshake; a plain GET is a method that is not there. */
const sockets = new Set(["GET /v1/responses", "GET /token/v1/responses"]);

/** They are for people who sign in: browsers, and terminals. Where no sign-in is configured they are not there. */
const unconfigured = new Set([
  "GET /admin/oidc/login",
  "GET /admin/oidc/callback",
  "POST /admin/oidc/backchannel-logout",
  ...["", "/token"].flatMap((origin) => [
    `GET ${origin}/.well-known/oauth-authorization-server`,
    `POST ${origin}/oauth/device_authorization`,
    `POST ${origin}/oauth/token`,
    `POST ${origin}/oauth/revoke`,
  ]),
]);

/** What the edge's router knows. */
const { routes: entries, config } = edgeWith(mountedForAll);
const usable = entries.filter(({ method }) => method !== "ALL");

/** Whether a route's path is this one, or has a name in place of its last part: `responses/:id` has `responses/compact`. */
function covers(route: string, path: string): boolean {
  if (route.endsWith("/*")) return path.endsWith("/*") && path.startsWith(route.slice(0, -1));
  return (
    route === path || (/\/:\w+$/.test(route) && route.replace(/:\w+$/, "") === path.replace(/[^/]+$/, ""))
  );
}

/** A path of a route. What is sent to a wildcard has its method at the end of the path. */
function targetOf(method: string, path: string, name: string): string {
  const end = method === "POST" ? `${name}:generateContent` : name;
  return path.replace(/:\w+/g, "x").replace("*", end);
}

let provider: ScriptedProvider;
let sluice: Sluice;
let creditKey: TestKey;
let tokenKey: TestKey;

beforeAll(async () => {
  provider = startProvider();
  const head = "[server]\nanonymous_rpm = 1000000\n\n[routes]\nconversations = true";
  sluice = await startSluice({ config: configFor({ url: provider.url, head }) });
  creditKey = await sluice.createKey({ credit: 7 });
  tokenKey = await sluice.createKey({ mode: "token_budget" });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

test("every route is registered once, and nothing but patterns is registered past the router", () => {
  const names = entries.map(({ method, path }) => `${method} ${path}`);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  const besides = Object.keys(config.serve?.routes ?? {});
  expect(besides.length).toBeGreaterThan(10);
  for (const pattern of besides) expect(pattern).toMatch(/^(\/\*|(\/:s\d+)+(\/\/)?)$/);
});

test("a handler that fails in an unforeseen way is logged, and its client learns nothing of it", async () => {
  const logged: unknown[] = [];
  const edge = edgeWith([], { error: (fields: unknown) => void logged.push(fields) } as Partial<Log>);
  edge.get("/fails", () => {
    throw new Error("secret detail");
  });
  const response = await edge.handle(new Request("http://localhost/fails"));
  expect(response.status).toBe(500);
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  expect(await response.text()).not.toContain("secret detail");
  expect(logged).toMatchObject([{ err: { message: "secret detail" } }]);
});

describe("without a credential", () => {
  test("the router's list is whole: the interface on both origins, the admin API, the pages", () => {
    const names = usable.map(({ method, path }) => `${method} ${path}`);
    for (const name of publicRoutes) expect(names).toContain(name);
    for (const name of [
      "POST /v1/messages",
      "GET /token/v1/usage",
      "GET /metrics",
      "GET /admin/api/v1/config",
    ]) {
      expect(names).toContain(name);
    }
    expect(usable.length).toBeGreaterThan(30);
  });

  test.each(usable.map(({ method, path }): [string, string] => [method, path]))(
    "%s %s answers 401 unless it is public",
    async (method, path) => {
      const body = method === "GET" ? {} : { body: {} };
      const response = await sluice.request(targetOf(method, path, "gpt-test"), { method, ...body });
      const text = await response.text();
      const isPublic = publicRoutes.has(`${method} ${path}`);
      if (unconfigured.has(`${method} ${path}`)) expect(response.status).toBe(404);
      else if (sockets.has(`${method} ${path}`)) expect(response.status).toBe(405);
      else if (!isPublic) expect(response.status, text).toBe(401);
      else if (method === "GET") expect(response.status, text).toBe(200);
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    },
  );

  test("what the admin API does not have is not the dashboard's page", async () => {
    for (const path of ["/admin/api", "/admin/api/v1/kyes", "/admin/api/v2/keys"]) {
      const response = await sluice.request(path);
      expect(response.status, path).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
    }
    expect((await sluice.request("/admin/apis")).headers.get("content-type")).toContain("text/html");
  });

  test("other methods tell nothing but that nothing is there", async () => {
    const places = new Set(entries.map(({ path }) => path));
    for (const path of places) {
      for (const method of ["DELETE", "PUT", "PATCH", "POST"]) {
        const response = await sluice.request(targetOf(method, path, "nothing"), { method, body: {} });
        const name = `${method} ${path}`;
        if (publicRoutes.has(name) || unconfigured.has(name)) continue;
        const isOwn = usable.some((route) => route.method === method && covers(route.path, path));
        // A key only reads there, whatever is asked to be changed.
        const others = path.startsWith("/usage/api/") ? [403] : [404, 405];
        expect(isOwn ? [401] : others, name).toContain(response.status);
      }
    }
  });
});

/** A request line and headers as they are, where a client library would correct what is tried here. */
async function raw(line: string, headers: readonly string[]): Promise<{ status: number; text: string }> {
  const text = await rawExchange(
    sluice.url,
    `${[line, ...headers, "Connection: close"].join("\r\n")}\r\n\r\n`,
    60,
  );
  return { status: Number(text.slice(9, 12)), text };
}

/** Spellings of a path that some router, proxy or check might take for the path itself. */
function spellings(path: string): string[] {
  const [, first = "", ...rest] = path.split("/");
  const tail = rest.join("/");
  const last = path.slice(path.lastIndexOf("/") + 1);
  const hex = last.charCodeAt(0).toString(16);
  return [
    `/${path}`,
    `//${path}`,
    `${path}/`,
    `${path}//`,
    `${path}/.`,
    `${path}/./`,
    `${path};x=1`,
    `${path}%00`,
    `${path}%20`,
    `${path}.json`,
    `${path}%2f`,
    `${path}%3F`,
    `${path}%23`,
    path.toUpperCase(),
    `/${first.toUpperCase()}/${tail}`,
    `/${first}//${tail}`,
    `/${first}%2f${tail}`,
    `/${first}%5c${tail}`,
    `/${first}\\${tail}`,
    `/${first}/x/../${tail}`,
    `/${first}/%2e%2e/${first}/${tail}`,
    `/${first}/./${tail}`,
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `/abc${path}`,
    `/healthz/..${path}`,
    `/admin/..${path}`,
    `/.${path}`,
    `${path.slice(0, path.length - last.length)}%${hex}${last.slice(1)}`,
    `http://localhost${path}`,
    `http://evil.example${path}`,
    `https://evil.example:1${path}`,
    `http:${path}`,
    `/http://localhost${path}`,
    `x${path}`,
    `@evil.example${path}`,
  ];
}

const hosts = ["Host: localhost", "Host: x", "Host: ", "Host: a/v1/models", "Host: x?", "Host: u:p@h", null];

/** What only a credential opens, with something that its answer would show. */
const guarded: readonly [string, RegExp][] = [
  ["/v1/usage", /usage\.summary/],
  ["/token/v1/usage", /usage\.summary/],
  ["/admin/api/v1/keys", /"data"/],
  ["/admin/api/v1/config", /max_body_bytes/],
  ["/metrics", /sluice_/],
];

describe("path confusion", () => {
  test.each(guarded.map(([path, shows]): [string, RegExp] => [path, shows]))(
    "no spelling of %s and no Host gets past the check",
    async (path, shows) => {
      const tries = [path, ...spellings(path)].flatMap((target) => hosts.map((host) => ({ target, host })));
      await inParallel(tries, async ({ target, host }) => {
        const { status, text } = await raw(`GET ${target} HTTP/1.1`, host === null ? [] : [host]);
        const what = `${target} with ${host}: ${text.slice(0, 100)}`;
        expect([0, 400, 401, 404, 405], what).toContain(refusedOrPage(status, text));
        expect(text, what).not.toMatch(shows);
      });
    },
    60_000,
  );

  test("a key of one mode opens nothing of the other origin, however the path is written", async () => {
    const tries = [
      ...spellings("/token/v1/usage").map((target) => ({ target, key: creditKey })),
      ...spellings("/v1/usage").map((target) => ({ target, key: tokenKey })),
      { target: "/token//v1/usage", key: creditKey },
      { target: "/v1/messages/../usage", key: tokenKey },
      { target: "/token/../v1/usage", key: tokenKey },
      { target: "/token/%2e%2e/v1/usage", key: tokenKey },
    ];
    await inParallel(tries, async ({ target, key }) => {
      for (const host of ["Host: x", "Host: localhost"]) {
        const { text } = await raw(`GET ${target} HTTP/1.1`, [host, `Authorization: Bearer ${key.key}`]);
        if (text.includes("usage.summary")) expect(text, target).toContain(`"prefix":"${key.prefix}"`);
        if (text.includes("usage.summary"))
          expect(target, "the path that its own origin has").toBe(ownPath(key));
      }
    });
  });

  test("a right key gets the same answer whatever Host says, and HTTP/1.0 needs none", async () => {
    const bearer = `Authorization: Bearer ${creditKey.key}`;
    for (const host of ["Host: x", "Host: localhost", "Host: a.b", "Host: evil.example:99"]) {
      expect((await raw("GET /v1/usage HTTP/1.1", [host, bearer])).text).toContain("usage.summary");
    }
    const old = await raw("GET /v1/usage HTTP/1.0", [bearer]);
    expect([200, 400]).toContain(old.status);
    const anonymous = await raw("GET /v1/usage HTTP/1.0", []);
    expect([400, 401]).toContain(anonymous.status);
  });

  test("a method override header changes nothing", async () => {
    for (const name of ["X-HTTP-Method-Override", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"]) {
      const { status } = await raw("GET /healthz HTTP/1.1", ["Host: localhost", `${name}: /v1/usage`]);
      expect(status).toBe(200);
      const models = await raw("GET /v1/models HTTP/1.1", ["Host: localhost", `${name}: POST`]);
      expect(models.status).toBe(200);
    }
  });
});

function ownPath(key: TestKey): string {
  return key.mode === "credit" ? "/v1/usage" : "/token/v1/usage";
}

/** The dashboard's page answers for everything below `/admin` and shows nothing; it counts as a refusal. */
function refusedOrPage(status: number, text: string): number {
  return status === 200 && text.includes("<!doctype html>") ? 404 : status;
}

async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}
