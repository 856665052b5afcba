import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { mayHoldKeys } from "../../../src/admin/access/lost-sign-ins.ts";
import type { SessionView } from "../../../src/admin/auth/schema.ts";
import type { IssuedKeyView, KeyList } from "../../../src/admin/key-terms/schema.ts";
import { keyRecord } from "../../store/fixtures.ts";
import { type AdminServer, startAdmin } from "./fixtures.ts";

interface Operation {
  readonly "x-role"?: "member" | "viewer" | "admin";
  readonly security?: [];
}

const settings = `
[server]
trusted_proxies = ["10.0.0.1"]

[admin]
admins = ["ada@example.com", "group:Platform"]
viewers = ["Vera@Example.com", "group:Finance"]
members = ["bob@example.com", "anne@example.com", "group:Crew"]
user_header = "x-forwarded-email"
groups_header = "x-forwarded-groups"
`;

let admin: AdminServer;
let bobs: IssuedKeyView;
let annes: IssuedKeyView;

beforeAll(async () => {
  admin = await startAdmin(settings);
  bobs = await admin.post("/keys", { mode: "credit", credit: 1, owner: "Bob@example.com", label: "laptop" });
  annes = await admin.post("/keys", { mode: "credit", owner: "anne@example.com", label: "laptop" });
});
afterAll(() => admin[Symbol.asyncDispose]());

/** As a browser behind the proxy asks. */
function as(user: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    authorization: "",
    origin: admin.url,
    "x-from": "10.0.0.1",
    "x-forwarded-email": user,
    ...more,
  };
}

async function statusOf(path: string, headers: Record<string, string>, method = "GET", body = {}) {
  const init = method === "GET" ? { headers } : { method, headers, body: JSON.stringify(body) };
  return (await admin.call(path, init)).status;
}

describe("every operation of the document", () => {
  test("is refused to those whose role is too low, and to nobody else", async () => {
    const document = (await (await admin.call("/openapi.json")).json()) as {
      readonly paths: Record<string, Record<string, Operation>>;
    };
    const ranks = { member: 0, viewer: 1, admin: 2 };
    const people = {
      member: "bob@example.com",
      viewer: "vera@example.com",
      admin: "ADA@example.com",
    } as const;
    let walked = 0;
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const needed = operation["x-role"];
        if (needed === undefined || path.startsWith("/usage/")) continue;
        for (const role of ["member", "viewer", "admin"] as const) {
          // Nothing is really changed: a body that no operation takes is refused after the role is checked.
          const body = method === "get" ? {} : { body: JSON.stringify({ no_such_field: 1 }) };
          const target = path.replaceAll("{key}", bobs.id).replaceAll(/\{\w+\}/g, "unknown");
          const response = await fetch(`${admin.url}${target}${method === "get" ? `?key=${bobs.id}` : ""}`, {
            method: method.toUpperCase(),
            headers: as(people[role]),
            ...body,
          });
          await response.body?.cancel();
          const isRefused = response.status === 403;
          const isTooLow =
            ranks[role] < ranks[needed] || (role === "viewer" && method !== "get" && needed !== "viewer");
          expect(`${role} ${method} ${path} ${isRefused}`).toBe(`${role} ${method} ${path} ${isTooLow}`);
          walked += 1;
        }
      }
    }
    expect(walked).toBeGreaterThan(90);
  });

  test("says which role is missing", async () => {
    const refused = await admin.call("/keys", {
      method: "POST",
      body: "{}",
      headers: as("vera@example.com"),
    });
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    expect([error.code, error.message]).toEqual([
      "role_needed",
      "You are signed in as vera@example.com; this needs the role `admin`, which an operator can assign.",
    ]);
  });
});

describe("a member", () => {
  const bob = () => as("bob@EXAMPLE.com");

  test("sees the keys that they own, whatever the case of their name, and no other", async () => {
    const { data, total } = (await (await admin.call("/keys", { headers: bob() })).json()) as KeyList;
    expect([data.map(({ id }) => id), total]).toEqual([[bobs.id], 1]);
    expect(await statusOf(`/keys/${bobs.id}`, bob())).toBe(200);
    expect(await statusOf(`/keys/${bobs.prefix}`, bob())).toBe(200);
  });

  test("learns nothing of another's key, not even that it is there", async () => {
    const texts: string[] = [];
    for (const name of [annes.id, annes.prefix, "laptop", annes.id.slice(0, 12)]) {
      const response = await admin.call(`/keys/${name}`, { headers: bob() });
      expect(response.status).toBe(404);
      texts.push((await response.text()).replaceAll(name, "NAME"));
    }
    const unknown = await admin.call("/keys/nobody", { headers: bob() });
    texts.push((await unknown.text()).replaceAll("nobody", "NAME"));
    expect(new Set(texts).size).toBe(1);
    for (const path of ["/usage", "/requests", "/entries"]) {
      expect(await statusOf(`${path}?key=${annes.id}`, bob())).toBe(404);
      expect(await statusOf(path, bob())).toBe(403);
      expect(await statusOf(`${path}?key=${bobs.id}`, bob())).toBe(200);
    }
    expect(await statusOf(`/keys/${annes.id}/rotate`, bob(), "POST")).toBe(404);
  });

  test("rotates their own key, and changes nothing else of it", async () => {
    expect(await statusOf(`/keys/${bobs.id}/rotate`, bob(), "POST")).toBe(200);
    expect(await statusOf(`/keys/${bobs.id}/topup`, bob(), "POST", { amount: 1 })).toBe(403);
    expect(await statusOf(`/keys/${bobs.id}`, bob(), "PATCH", { rpm: null })).toBe(403);
  });

  test("makes no key unless the operator allows it", async () => {
    expect(await statusOf("/keys", bob(), "POST", {})).toBe(403);
  });
});

describe("who is a viewer and a member", () => {
  const groups = { "x-forwarded-groups": "crew, finance" };
  const terms = 'member_keys = { account = "crowd", cap = "5/day" }\n';
  const start = async () => {
    const lenient = await startAdmin(`${settings}${terms}`);
    await lenient.post("/accounts", { mode: "credit", label: "crowd", credit: 10 });
    const call = (user: string, path: string, body?: object) =>
      lenient.call(path, {
        headers: { ...as(user, groups), origin: lenient.url },
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
    return { lenient, call, [Symbol.asyncDispose]: () => lenient[Symbol.asyncDispose]() };
  };

  test("sees what a viewer sees, and creates and rotates keys of their own as a member", async () => {
    await using world = await start();
    const { lenient, call } = world;
    const others = await lenient.post<IssuedKeyView>("/keys", { mode: "credit", owner: "anne@example.com" });
    expect((await call("val@example.com", "/health")).status).toBe(200);
    const session = (await (await call("val@example.com", "/session")).json()) as SessionView;
    expect(session).toMatchObject({
      role: "viewer",
      may_create_keys: true,
      new_key: { account: "crowd", cap: "5/day" },
    });
    const created = await call("val@example.com", "/keys", { label: "mine" });
    expect(created.status).toBe(200);
    const own = (await created.json()) as IssuedKeyView;
    expect(own).toMatchObject({ owner: "val@example.com", caps: [{ limit: 5, period: "day" }] });
    const listed = async (path: string) =>
      ((await (await call("val@example.com", path)).json()) as KeyList).data.map(({ id }) => id);
    expect(await listed("/keys")).toEqual([own.id, others.id]);
    expect(await listed("/keys?owner=me")).toEqual([own.id]);
    expect((await call("val@example.com", `/keys/${own.id}/rotate`, {})).status).toBe(200);
    expect((await call("val@example.com", `/keys/${others.id}`)).status).toBe(200);
    expect((await call("val@example.com", `/keys/${others.id}/rotate`, {})).status).toBe(404);
    expect((await call("val@example.com", "/accounts", { mode: "credit" })).status).toBe(403);
    expect((await call("val@example.com", "/keys", { credit: 5 })).status).toBe(400);
  });

  test("keeps the keys of a membership when they become a viewer too", async () => {
    await using world = await start();
    const { deps } = world.lenient;
    const person = { kind: "person", issuer: null, user: "val@example.com" } as const;
    const { admin: inForce } = deps.settings();
    expect(mayHoldKeys({ ...person, groups: ["crew"] }, inForce)).toBe(true);
    expect(mayHoldKeys({ ...person, groups: ["crew", "finance"] }, inForce)).toBe(true);
    expect(mayHoldKeys({ ...person, groups: ["finance"] }, inForce)).toBe(false);
  });

  test("an admin has keys of their own too, on the same terms, and sees them by themselves", async () => {
    await using world = await start();
    const { lenient, call } = world;
    await lenient.post("/keys", { mode: "credit", owner: "anne@example.com" });
    const own = (await (
      await call("ada@example.com", "/keys", { owner: "me", label: "laptop" })
    ).json()) as IssuedKeyView;
    expect(own).toMatchObject({
      owner: "ada@example.com",
      label: "laptop",
      caps: [{ limit: 5, period: "day" }],
    });
    expect((await call("ada@example.com", "/keys", { owner: "me", credit: 5 })).status).toBe(400);
    const { data } = (await (await call("ada@example.com", "/keys?owner=me")).json()) as KeyList;
    expect(data.map(({ id }) => id)).toEqual([own.id]);
    expect((await lenient.json<KeyList>("/keys?owner=me")).data).toEqual([]);
    const byToken = await lenient.call("/keys", { method: "POST", body: '{"owner":"me"}' });
    expect(byToken.status).toBe(403);
  });
});

describe("who a proxy signed in", () => {
  test("is believed from a trusted proxy alone", async () => {
    expect(await statusOf("/health", as("ada@example.com"))).toBe(200);
    const { "x-from": _, ...direct } = as("ada@example.com");
    expect(await statusOf("/health", direct)).toBe(401);
  });

  test("is nobody if two are named", async () => {
    for (const names of ["ada@example.com, eve@example.com", "ada@example.com;eve", "", " "]) {
      expect(await statusOf("/health", as(names))).toBe(401);
    }
  });

  test("may have their role by a group", async () => {
    expect(await statusOf("/health", as("greta@example.com"))).toBe(403);
    const grouped = (groups: string) => as("greta@example.com", { "x-forwarded-groups": groups });
    for (const groups of ["staff, platform", "platform", "staff\t,\tplatform , "])
      expect(await statusOf("/health", grouped(groups))).toBe(200);
    for (const other of ["staff,\xa0platform", "platform\xa0", "platform\x85", "plat\xadform"])
      expect(await statusOf("/health", grouped(other))).toBe(403);
  });

  test("is no group by what they are called", async () => {
    for (const name of ["group:platform", "Group:Platform"]) {
      expect(await statusOf("/health", as(name))).toBe(403);
      expect(await statusOf("/keys", as(name))).toBe(403);
    }
  });

  test("yields to a bearer token, also to a wrong one", async () => {
    const wrong = as("ada@example.com", { authorization: "Bearer wrong", "x-from": "10.0.0.9" });
    expect(await statusOf("/health", wrong)).toBe(401);
  });

  test("changes nothing from another site's page", async () => {
    const foreign = as("ada@example.com", { origin: "https://evil.example" });
    expect(await statusOf("/keys", foreign, "POST", { mode: "credit" })).toBe(403);
    const { origin: _, ...without } = as("ada@example.com");
    expect(await statusOf("/keys", without, "POST", { mode: "credit" })).toBe(403);
  });
});

describe("a member whom the operator lets make keys", () => {
  test("gets one of their own on that account with that cap, and may say no more than its label", async () => {
    await using lenient = await startAdmin(`${settings}member_keys = { account = "crowd", cap = "5/day" }\n`);
    await lenient.post("/accounts", { mode: "credit", label: "crowd", credit: 10 });
    const create = (body: object) =>
      lenient.call("/keys", {
        method: "POST",
        body: JSON.stringify(body),
        headers: { ...as("bob@example.com"), origin: lenient.url },
      });
    const made = (await (await create({ label: "mine" })).json()) as IssuedKeyView;
    expect(made).toMatchObject({
      label: "mine",
      owner: "bob@example.com",
      caps: [{ limit: 5, period: "day" }],
    });
    for (const body of [{ credit: 5 }, { owner: "eve" }, { account: "other" }, { rpm: 9 }, { caps: [] }]) {
      expect((await create(body)).status).toBe(400);
    }
    const answers = await Promise.all(Array.from({ length: 12 }, () => create({})));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
    expect((await create({})).status).toBe(403);
  });

  test("is counted again if another gateway has made one meanwhile", async () => {
    await using lenient = await startAdmin(`${settings}member_keys = { account = "crowd" }\n`);
    const { id } = await lenient.post<{ readonly id: string }>("/accounts", {
      mode: "credit",
      label: "crowd",
    });
    const create = () =>
      lenient.call("/keys", {
        method: "POST",
        body: "{}",
        headers: { ...as("bob@example.com"), origin: lenient.url },
      });
    for (let made = 0; made < 4; made += 1) expect((await create()).status).toBe(200);
    const { insertKey } = lenient.store;
    using _ = spyOn(lenient.store, "insertKey").mockImplementationOnce(async (...asked) => {
      await insertKey(keyRecord({ accountId: id, owner: "bob@example.com" }), 0);
      return insertKey(...asked);
    });
    expect((await create()).status).toBe(403);
    expect((await lenient.json<KeyList>("/keys")).total).toBe(5);
  });
});

test("members change so much in a minute: each change is written twice, and their log is kept for ever", async () => {
  await using busy = await startAdmin(settings);
  const owned = (owner: string) => busy.post<IssuedKeyView>("/keys", { mode: "credit", owner });
  const [bobs, annes] = [await owned("bob@example.com"), await owned("anne@example.com")];
  const rotate = (id: string, user: string) =>
    busy.call(`/keys/${id}/rotate`, { method: "POST", headers: { ...as(user), origin: busy.url } });
  for (let change = 0; change < 30; change += 1) {
    expect((await rotate(bobs.id, change % 2 === 0 ? "bob@example.com" : "Bob@Example.com")).status).toBe(
      200,
    );
  }
  const refused = await rotate(bobs.id, "bob@example.com");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
  expect(((await refused.json()) as { error: { code: string } }).error.code).toBe("too_many_changes");
  expect((await rotate(annes.id, "anne@example.com")).status).toBe(200);
  busy.clock.advance(2_000);
  expect((await rotate(bobs.id, "bob@example.com")).status).toBe(200);
});

describe("a key in place of a sign-in", () => {
  const own = (path: string, secret: string, init: RequestInit = {}) =>
    fetch(`${admin.url}/usage/api/v1${path}`, { ...init, headers: { authorization: `Bearer ${secret}` } });

  test("shows itself and no other, also while it is not active", async () => {
    const { data } = (await (await own("/keys", annes.key)).json()) as KeyList;
    expect(data.map(({ id }) => id)).toEqual([annes.id]);
    expect((await own(`/keys/${bobs.id}`, annes.key)).status).toBe(404);
    expect((await own(`/requests?key=${annes.id}`, annes.key)).status).toBe(200);
    const stopped = await admin.post<IssuedKeyView>("/keys", { mode: "credit" });
    await admin.post(`/keys/${stopped.id}/disable`, {});
    expect((await own("/keys", stopped.key)).status).toBe(200);
  });

  test("cannot take the key over: nothing below /usage changes anything", async () => {
    const document = await admin.json<{ paths: Record<string, Record<string, object>> }>("/openapi.json");
    const ownPaths = Object.entries(document.paths).filter(([path]) => path.startsWith("/usage/"));
    expect(new Set(ownPaths.flatMap(([, methods]) => Object.keys(methods)))).toEqual(new Set(["get"]));
    const changes = await admin.json<{ data: object[] }>("/audit");
    for (const path of [
      `/keys/${annes.id}/rotate`,
      `/keys/${annes.prefix}/rotate`,
      "/keys",
      `/keys/${annes.id}`,
    ]) {
      for (const method of ["POST", "PATCH", "PUT", "DELETE"]) {
        const refused = await own(path, annes.key, { method, body: "{}" });
        expect([method, path, refused.status]).toEqual([method, path, 403]);
        expect(((await refused.json()) as { error: { message: string } }).error.message).toContain("Sign in");
      }
    }
    expect((await own("/keys", annes.key)).status).toBe(200);
    expect(await admin.json<{ data: object[] }>("/audit")).toEqual(changes);
  });

  test("opens nothing below /admin, and an admin's token nothing here", async () => {
    expect(await statusOf("/keys", { authorization: `Bearer ${annes.key}`, "x-from": "10.0.0.7" })).toBe(401);
    expect((await own("/keys", "slua_the-right-token")).status).toBe(401);
    expect((await own("/models", annes.key)).status).toBe(404);
  });

  test("is guessed a few times from an address, and then that address waits", async () => {
    const guess = (secret: string) =>
      fetch(`${admin.url}/usage/api/v1/keys`, {
        headers: { authorization: `Bearer ${secret}`, "x-from": "10.0.0.8" },
      });
    const guesses = Array.from({ length: 20 }, (_, no) => guess(`slu_${no}`));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect((await guess(annes.key)).status).toBe(200);
  });
});
