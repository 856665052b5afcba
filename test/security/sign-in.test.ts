import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { Page } from "../../src/admin/formats/shapes.ts";
import type { IssuedKeyView, KeyList } from "../../src/admin/key-terms/schema.ts";
import type { ExchangeView } from "../../src/admin/requests/schema.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";

const token = "the-token-of-this-test";
const config = (admins: string) => `
[server]
trusted_proxies = ["::ffff:127.0.0.1"]
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
admins = [${admins}]
viewers = ["vera@example.com"]
members = "everyone"
user_header = "X-Forwarded-Email"
`;

let sluice: Sluice;
let bobs: IssuedKeyView;
let annes: IssuedKeyView;

beforeAll(async () => {
  sluice = await startSluice({ config: config('"ada@example.com"'), env: { SLUICE_ADMIN_TOKEN: token } });
  await operate("/accounts", { mode: "credit", label: "secret project" });
  bobs = await operate("/keys", { mode: "credit", credit: 1, owner: "bob@example.com" });
  annes = await operate("/keys", { mode: "credit", credit: 1, owner: "anne@example.com" });
});
afterAll(() => sluice.dispose());

async function operate<Shape>(path: string, body: object): Promise<Shape> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await sluice.request(`/admin/api/v1${path}`, { headers, body });
  expect(response.status).toBe(200);
  return (await response.json()) as Shape;
}

/** The status of a request whose headers are sent as they are written, from this address of the machine. */
function statusFrom(localAddress: string, headers: readonly string[], path = "/admin/api/v1/health") {
  const { hostname, port } = new URL(sluice.url);
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${hostname}:${port}`, "Connection: close", ...headers];
  return new Promise<number>((resolve, reject) => {
    let answer = "";
    const socket = connect({ host: hostname, port: Number(port), localAddress });
    socket.on("data", (chunk) => {
      answer += String(chunk);
    });
    socket.on("close", () => resolve(Number(answer.split(" ")[1])));
    socket.on("error", reject);
    // Byte by byte, as header fields are read.
    socket.write(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
  });
}

describe("the header of a proxy that signs people in", () => {
  const proxy = "127.0.0.1";

  test("is believed from the proxy, in whatever case, and also if its address is written in IPv6", async () => {
    for (const name of ["X-Forwarded-Email", "x-forwarded-email", "X-FORWARDED-EMAIL"]) {
      expect(await statusFrom(proxy, [`${name}: ADA@example.com`])).toBe(200);
    }
  });

  test("is not believed from another address, whatever that says of where it comes from", async () => {
    const spoofs = ["X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1"];
    for (const spoof of spoofs) {
      expect(await statusFrom("127.0.0.2", ["X-Forwarded-Email: ada@example.com", spoof])).toBe(401);
    }
  });

  test("names nobody if it names two, by two headers or by a list, in either order", async () => {
    const pairs = [
      ["X-Forwarded-Email: ada@example.com", "X-Forwarded-Email: eve@example.com"],
      ["x-forwarded-email: ada@example.com", "X-FORWARDED-EMAIL: ada@example.com"],
      ["X-Forwarded-Email: ada@example.com,eve@example.com"],
      ["X-Forwarded-Email: ada@example.com,"],
      ["X-Forwarded-Email: ,ada@example.com"],
      ["X-Forwarded-Email:", "X-Forwarded-Email: ada@example.com"],
      ["X-Forwarded-Email: ada@example.com", "X-Forwarded-Email:"],
      ["X-Forwarded-Email: ada@example.com\teve@example.com"],
      ["X_Forwarded_Email: ada@example.com"],
      ["X-Forwarded-Email: ada@example.com\xa0"],
      ["X-Forwarded-Email: \xa0ada@example.com"],
      ["X-Forwarded-Email: ada@example.com\x85"],
      ["X-Forwarded-Email: ada@example.com\xad"],
    ];
    for (const headers of pairs) {
      expect(`${headers.join(" | ")} ${await statusFrom(proxy, headers)}`).toBe(`${headers.join(" | ")} 401`);
    }
  });

  test("gives a person the role of the configuration in force", async () => {
    const asAda = () => statusFrom(proxy, ["X-Forwarded-Email: ada@example.com"]);
    expect(await asAda()).toBe(200);
    await sluice.reload(config('"grace@example.com"'));
    expect(await asAda()).toBe(403);
    await sluice.reload(config('"ada@example.com"'));
    expect(await asAda()).toBe(200);
  });
});

describe("a member learns nothing of what is not theirs", () => {
  const asBob = (path: string) =>
    sluice.request(`/admin/api/v1${path}`, { headers: { "x-forwarded-email": "bob@example.com" } });
  const withKey = (path: string) => sluice.request(`/usage/api/v1${path}`, { key: { ...bobs, status: "" } });
  const ways = [
    ["signed in", asBob],
    ["with a key", withKey],
  ] as const;

  test.each(ways)("%s: not which accounts there are", async (_, ask) => {
    for (const path of ["/usage", "/entries"]) {
      const answers = ["secret project", "no such account", bobs.account].map(async (account) => {
        const response = await ask(`${path}?key=${bobs.id}&account=${encodeURIComponent(account)}`);
        return `${response.status} ${await response.text()}`;
      });
      const [first = "", ...others] = await Promise.all(answers);
      expect(first).toStartWith("403 ");
      expect(new Set(others)).toEqual(new Set([first]));
    }
  });

  test("not another's exchange by any id, and always their own", async () => {
    const ask = async (key: IssuedKeyView) => {
      const response = await sluice.request("/v1/chat/completions", {
        key: { ...key, status: "" },
        headers: { "x-request-id": "the-same-name" },
        body: { model: "demo-small", messages: [{ role: "user", content: "Hello" }] },
      });
      expect(response.status).toBe(200);
      await response.text();
      return response.headers.get("x-request-id") ?? "";
    };
    const own = await ask(bobs);
    const others = await ask(annes);
    for (const [, show] of ways) {
      for (const id of [own, "the-same-name"]) {
        const detail = await show(`/requests/${id}`);
        expect([id, detail.status]).toEqual([id, 200]);
        expect(((await detail.json()) as { request: ExchangeView }).request.id).toBe(own);
      }
      expect((await show(`/requests/${others}`)).status).toBe(404);
      expect((await show(`/requests/${others}?entry=1`)).status).toBe(404);
      for (const search of [others, "the-same-name", annes.id, annes.prefix, "anne", "%", "example.com"]) {
        const found = await show(`/requests?key=${bobs.id}&search=${encodeURIComponent(search)}`);
        const { data } = (await found.json()) as Page<ExchangeView>;
        expect(data.filter(({ key_id }) => key_id !== bobs.id)).toEqual([]);
      }
      for (const query of [
        `cursor=${annes.id}`,
        `search=${annes.prefix}`,
        "search=example.com",
        "sort=owner",
      ]) {
        const { data } = (await (await show(`/keys?${query}`)).json()) as KeyList;
        expect(data.filter(({ id }) => id !== bobs.id)).toEqual([]);
      }
      expect((await show(`/requests?key=${bobs.id}&key=${annes.id}`)).status).toBe(404);
    }
  });

  test("and whoever has a key cannot take it over: only a person who is signed in rotates it", async () => {
    const path = `/keys/${annes.id}/rotate`;
    const byKey = await sluice.request(`/usage/api/v1${path}`, { key: { ...annes, status: "" }, body: {} });
    expect(byKey.status).toBe(403);
    expect((await sluice.request("/v1/usage", { key: { ...annes, status: "" } })).status).toBe(200);
    const headers = { "x-forwarded-email": "anne@example.com", origin: sluice.url };
    expect((await sluice.request(`/admin/api/v1${path}`, { headers, body: {} })).status).toBe(200);
    expect((await sluice.request("/v1/usage", { key: { ...annes, status: "" } })).status).toBe(401);
  });
});
