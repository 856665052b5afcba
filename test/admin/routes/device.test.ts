import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  followSignIns,
  personName,
  refreshSignIn,
  rejectSignInLosses,
} from "../../../src/admin/access/lost-sign-ins.ts";
import type { IssuedKeyView, KeyList, KeyView } from "../../../src/admin/key-terms/schema.ts";
import type { OidcSettings } from "../../../src/config/settings.ts";
import { type AdminServer, startAdmin } from "./fixtures.ts";

const settings = `
[server]
trusted_proxies = ["10.0.0.1"]

[admin]
admins = ["ada@example.com"]
viewers = ["vera@example.com"]
members = ["bob@example.com", "group:Crew"]
user_header = "x-forwarded-email"
groups_header = "x-forwarded-groups"
member_keys = { account = "crowd", cap = "5/day" }
`;

const grantType = "urn:ietf:params:oauth:grant-type:device_code";

interface Begun {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

let admin: AdminServer;

beforeEach(async () => {
  admin = await startAdmin(settings);
  await admin.post("/accounts", { mode: "credit", label: "crowd", credit: 10 });
});
afterEach(() => admin[Symbol.asyncDispose]());

function send(path: string, form: Readonly<Record<string, string>>, from = "192.0.2.7") {
  return fetch(`${admin.url}${path}`, {
    method: "POST",
    body: new URLSearchParams(form),
    headers: { "x-from": from },
  });
}

async function begin(from?: string): Promise<Begun> {
  const response = await send(
    "/oauth/device_authorization",
    { client_id: "sluice-cli", device_name: "laptop <b>" },
    from,
  );
  expect(response.status).toBe(200);
  return (await response.json()) as Begun;
}

async function poll({ device_code }: Pick<Begun, "device_code">, from?: string) {
  const form = { grant_type: grantType, client_id: "sluice-cli", device_code };
  const response = await send("/oauth/token", form, from);
  const body = (await response.json()) as { readonly error?: string; readonly access_token?: string };
  return { status: response.status, ...body };
}

function as(user: string, groups = ""): Record<string, string> {
  const headers = { authorization: "", origin: admin.url, "x-from": "10.0.0.1", "x-forwarded-email": user };
  return groups === "" ? headers : { ...headers, "x-forwarded-groups": groups };
}

function decide(verb: "approve" | "deny", code: string, headers: Record<string, string>) {
  return admin.call(`/device/${verb}`, {
    method: "POST",
    headers,
    body: JSON.stringify({ user_code: code }),
  });
}

async function issue(user = "bob@example.com", groups = ""): Promise<string> {
  const begun = await begin();
  expect((await decide("approve", begun.user_code, as(user, groups))).status).toBe(200);
  const { access_token: key = "" } = await poll(begun);
  return key;
}

async function ownKeys(user: string): Promise<readonly KeyView[]> {
  return (await admin.json<KeyList>("/keys", { headers: as(user) })).data;
}

describe("the device flow", () => {
  test("is described by RFC 8414's metadata", async () => {
    const response = await fetch(`${admin.url}/.well-known/oauth-authorization-server`);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toEqual({
      issuer: admin.url,
      device_authorization_endpoint: `${admin.url}/oauth/device_authorization`,
      token_endpoint: `${admin.url}/oauth/token`,
      revocation_endpoint: `${admin.url}/oauth/revoke`,
      grant_types_supported: [grantType, "refresh_token"],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint_auth_methods_supported: ["none"],
    });
  });

  test("gives the person who approves a key of their own with the default cap, once, and writes it down", async () => {
    const begun = await begin();
    expect(begun.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(begun).toMatchObject({
      verification_uri: `${admin.url}/usage/device`,
      verification_uri_complete: `${admin.url}/usage/device/${begun.user_code}`,
      expires_in: 900,
      interval: 5,
    });
    expect(await poll(begun)).toMatchObject({ status: 400, error: "authorization_pending" });
    const typed = begun.user_code.toLowerCase().replace("-", " ");
    const shown = await admin.json(`/device?user_code=${encodeURIComponent(typed)}`, {
      headers: as("bob@example.com"),
    });
    expect(shown).toMatchObject({
      state: "pending",
      address: "192.0.2.7",
      is_own_address: false,
      device: "laptop b",
    });
    const approved = await decide("approve", typed, as("bob@example.com"));
    expect(await approved.json()).toMatchObject({ state: "approved", user_code: begun.user_code });
    const issued = await poll(begun);
    expect(issued).toMatchObject({ status: 200, token_type: "Bearer" });
    const [key] = await ownKeys("bob@example.com");
    expect(issued.access_token?.startsWith(key?.prefix ?? "?")).toBe(true);
    expect(key).toMatchObject({
      owner: "bob@example.com",
      label: "laptop b",
      caps: [{ limit: 5, period: "day" }],
    });
    expect(await poll(begun)).toMatchObject({ status: 400, error: "invalid_grant" });
    expect(await ownKeys("bob@example.com")).toHaveLength(1);
    const audit = await admin.store.admin.listAudit({ limit: 3 });
    expect(audit).toMatchObject([
      { action: "key.create", actor: "bob@example.com", address: "192.0.2.7", target: key?.prefix },
      { action: "device.approve", actor: "bob@example.com" },
      { action: "account.create" },
    ]);
  });

  test("issues one key to polls that come at the same time", async () => {
    const begun = await begin();
    await decide("approve", begun.user_code, as("bob@example.com"));
    const polled = await Promise.all(Array.from({ length: 4 }, () => poll(begun)));
    expect(polled.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await ownKeys("bob@example.com")).toHaveLength(1);
  });

  test("tells a terminal to slow down, and by how much it must", async () => {
    const begun = await begin();
    expect(await poll(begun)).toMatchObject({ error: "authorization_pending" });
    expect(await poll(begun)).toMatchObject({ error: "slow_down" });
    admin.clock.advance(5_000);
    expect(await poll(begun)).toMatchObject({ error: "slow_down" });
    admin.clock.advance(15_000);
    expect(await poll(begun)).toMatchObject({ error: "authorization_pending" });
  });

  test("ends with a denial", async () => {
    const begun = await begin();
    expect((await decide("deny", begun.user_code, as("bob@example.com"))).status).toBe(200);
    expect(await poll(begun)).toMatchObject({ status: 400, error: "access_denied" });
    expect((await decide("approve", begun.user_code, as("bob@example.com"))).status).toBe(404);
  });

  test("ends after 15 minutes", async () => {
    const begun = await begin();
    admin.clock.advance(900_000);
    expect(await poll(begun)).toMatchObject({ status: 400, error: "expired_token" });
    expect((await decide("approve", begun.user_code, as("bob@example.com"))).status).toBe(404);
  });

  test("refuses other grants and parameters that come twice", async () => {
    const other = await send("/oauth/token", { grant_type: "password", client_id: "sluice-cli" });
    expect(await other.json()).toMatchObject({ error: "unsupported_grant_type" });
    const twice = await fetch(`${admin.url}/oauth/token`, {
      method: "POST",
      body: "client_id=a&client_id=b",
    });
    expect(await twice.json()).toMatchObject({ error: "invalid_request" });
  });

  test("is limited: codes, guesses of both codes, and their number per address", async () => {
    const begun = await begin();
    const guesses: number[] = [];
    for (let guess = 0; guess < 60; guess += 1) {
      guesses.push((await decide("approve", "BBBB-BBBB", as("bob@example.com"))).status);
    }
    expect(guesses).toContain(429);
    // Even the right one is refused now, to this person alone.
    expect((await decide("approve", begun.user_code, as("bob@example.com"))).status).toBe(429);
    const deny = await decide("deny", begun.user_code, as("ada@example.com"));
    expect(deny.status).toBe(200);
    const polls: number[] = [];
    for (let guess = 0; guess < 60; guess += 1) {
      polls.push((await poll({ device_code: `wrong${guess}` }, "192.0.2.8")).status);
    }
    expect(polls).toContain(429);
    // A terminal that shares the address is not kept waiting.
    const neighbour = await begin("192.0.2.8");
    expect(await poll(neighbour, "192.0.2.8")).toMatchObject({ error: "authorization_pending" });
    const codes: number[] = [];
    for (let asked = 0; asked < 20; asked += 1) {
      codes.push(
        (await send("/oauth/device_authorization", { client_id: "sluice-cli" }, "192.0.2.9")).status,
      );
    }
    expect(codes.filter((status) => status === 200)).toHaveLength(10);
    expect(codes.at(-1)).toBe(429);
  });

  test("needs a signed-in person who may have keys", async () => {
    const { user_code: code } = await begin();
    expect((await decide("approve", code, { authorization: "" })).status).toBe(401);
    expect((await decide("approve", code, {})).status).toBe(403);
    expect((await decide("approve", code, as("vera@example.com"))).status).toBe(403);
    expect((await decide("approve", code, as("eve@example.com"))).status).toBe(403);
    const { origin: _, ...foreign } = as("bob@example.com");
    expect((await decide("approve", code, { ...foreign, origin: "https://evil.example" })).status).toBe(403);
    expect((await decide("approve", code, as("ada@example.com"))).status).toBe(200);
  });

  test("keeps to the number of keys that a person may have", async () => {
    for (let made = 0; made < 5; made += 1) {
      await issue();
      admin.clock.advance(60_000);
    }
    const begun = await begin();
    const refused = await decide("approve", begun.user_code, as("bob@example.com"));
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("5 keys");
    // Approved before the last of them was created.
    const late = await begin();
    const [first] = await ownKeys("bob@example.com");
    await admin.post(`/keys/${first?.id}/disable`);
    expect((await decide("approve", late.user_code, as("bob@example.com"))).status).toBe(200);
    await admin.post(`/keys/${first?.id}/enable`);
    expect(await poll(late)).toMatchObject({ status: 400, error: "access_denied" });
    expect(await ownKeys("bob@example.com")).toHaveLength(5);
  });

  test("its keys are suspended with the person's sign-in and restored with it; those of an operator are not", async () => {
    await issue();
    await issue("cleo@example.com", "crew");
    const operators = await admin.post<IssuedKeyView>("/keys", { mode: "credit", owner: "bob@example.com" });
    const inForce = admin.deps.settings().admin;
    await followSignIns(admin.deps, inForce);
    const statuses = async () =>
      (await admin.json<KeyList>("/keys")).data.map(({ owner, id, status }) => [
        owner,
        id === operators.id,
        status,
      ]);
    expect((await statuses()).every(([, , status]) => status === "active")).toBe(true);
    const withoutBob = { ...inForce, members: ["group:crew"] };
    await expect(rejectSignInLosses(admin.deps, withoutBob)).rejects.toThrow(
      "1 key would be suspended, because the owners could no longer sign in (bob@example.com); `sluice config reload --yes` accepts that",
    );
    expect(await followSignIns(admin.deps, withoutBob)).toBe(1);
    expect(await followSignIns(admin.deps, withoutBob)).toBe(0);
    expect((await statuses()).toSorted()).toEqual([
      ["bob@example.com", false, "suspended"],
      ["bob@example.com", true, "active"],
      ["cleo@example.com", false, "active"],
    ]);
    const newest = async () => (await admin.store.admin.listAudit({ limit: 1 }))[0];
    expect(await newest()).toMatchObject({
      action: "key.suspend",
      detail: "bob@example.com can no longer sign in",
    });
    expect(await admin.store.alerts.lostSignInsSince(0)).toBe(1);
    const [own] = (await ownKeys("bob@example.com")).filter(({ id }) => id !== operators.id);
    const enabled = await admin.call(`/keys/${own?.id}/enable`, { method: "POST", body: "{}" });
    expect([enabled.status, await enabled.text()]).toEqual([
      409,
      expect.stringContaining("ends with the sign-in of bob@example.com"),
    ]);
    await rejectSignInLosses(admin.deps, withoutBob);
    await followSignIns(admin.deps, inForce);
    expect((await statuses()).every(([, , status]) => status === "active")).toBe(true);
    expect(await newest()).toMatchObject({
      action: "key.enable",
      detail: "bob@example.com can sign in again",
    });
    expect(await admin.store.alerts.lostSignInsSince(0)).toBe(0);
  });
});

test("a key that a member creates on the self-service page is suspended and restored with their sign-in", async () => {
  const [bob, ada] = [as("bob@example.com"), as("ada@example.com")];
  const create = (headers: Record<string, string>, body: object) =>
    admin.json<IssuedKeyView>("/keys", { method: "POST", headers, body: JSON.stringify(body) });
  const made = [await create(bob, {}), await create(ada, { owner: "me" })];
  expect(made.map(({ sign_in }) => sign_in)).toEqual(["bob@example.com", "ada@example.com"]);
  const inForce = admin.deps.settings().admin;
  const statuses = () => made.map(({ id }) => admin.deps.keys.byId(id)?.status);
  expect(await followSignIns(admin.deps, { ...inForce, members: [], admins: [] })).toBe(2);
  expect(statuses()).toEqual(["suspended", "suspended"]);
  await followSignIns(admin.deps, inForce);
  expect(statuses()).toEqual(["active", "active"]);
});

test("a person whose groups no longer give a role loses their keys with the next call through the proxy", async () => {
  await issue("cleo@example.com", "crew");
  const cleo = (groups: string) => admin.call("/keys", { headers: as("cleo@example.com", groups) });
  await admin.json("/keys", { method: "POST", headers: as("cleo@example.com", "crew"), body: "{}" });
  const statuses = () => [...admin.deps.keys.all()].map(({ status }) => status);
  expect(statuses()).toEqual(["active", "active"]);
  expect((await cleo("crew,more")).status).toBe(200);
  expect(statuses()).toEqual(["active", "active"]);
  expect((await cleo("more")).status).toBe(403);
  expect(statuses()).toEqual(["suspended", "suspended"]);
  await followSignIns(admin.deps, admin.deps.settings().admin);
  expect(statuses()).toEqual(["suspended", "suspended"]);
  expect((await cleo("crew")).status).toBe(200);
  expect(statuses()).toEqual(["active", "active"]);
  // Another gateway has seen the person without the group meanwhile.
  const person = { kind: "person", issuer: null, user: "cleo@example.com", groups: [] } as const;
  await refreshSignIn(admin.deps, person, admin.deps.settings().admin);
  expect(statuses()).toEqual(["suspended", "suspended"]);
  admin.clock.advance(60_000);
  expect((await cleo("crew")).status).toBe(200);
  expect(statuses()).toEqual(["active", "active"]);
});

test("a network of many addresses takes no codes from others", async () => {
  const from = (host: number) => `2001:db8::${host.toString(16)}`;
  const request = async (address: string) =>
    (await send("/oauth/device_authorization", { client_id: "sluice-cli" }, address)).status;
  let issued = 0;
  for (let host = 1; host <= 120; host += 1) {
    if ((await request(from(host))) === 200) issued += 1;
    if (host % 10 === 0) admin.clock.advance(60_000);
  }
  expect(issued).toBe(50);
  expect(await request("2001:db8:0:1::1")).toBe(200);
  // The codes have expired.
  admin.clock.advance(900_000);
  expect(await request(from(1))).toBe(200);
});

test("a key that an operator stopped stays stopped when its owner can sign in again", async () => {
  await issue();
  await issue();
  const [first, second] = await ownKeys("bob@example.com");
  await admin.post(`/keys/${first?.id}/suspend`);
  await admin.post(`/keys/${second?.id}/disable`);
  const inForce = admin.deps.settings().admin;
  expect(await followSignIns(admin.deps, { ...inForce, members: [] })).toBe(0);
  const enabled = await admin.call(`/keys/${second?.id}/enable`, { method: "POST", body: "{}" });
  expect(enabled.status).toBe(409);
  await followSignIns(admin.deps, inForce);
  const statuses = (await ownKeys("bob@example.com")).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual(["disabled", "suspended"]);
  await admin.post(`/keys/${first?.id}/enable`);
  await admin.post(`/keys/${second?.id}/enable`);
});

test("a key that an operator stops while its owner cannot sign in stays stopped too", async () => {
  await issue();
  const inForce = admin.deps.settings().admin;
  expect(await followSignIns(admin.deps, { ...inForce, members: [] })).toBe(1);
  const [key] = [...admin.deps.keys.all()];
  expect(await admin.post(`/keys/${key?.prefix}/suspend`)).toMatchObject({
    changed: true,
    status: "suspended",
  });
  expect(await admin.post(`/keys/${key?.prefix}/suspend`)).toMatchObject({ changed: false });
  expect((await admin.store.admin.listAudit({ limit: 2 })).map(({ action }) => action)).toEqual([
    "key.suspend",
    "key.suspend",
  ]);
  await followSignIns(admin.deps, inForce);
  expect((await ownKeys("bob@example.com")).map(({ status }) => status)).toEqual(["suspended"]);
  await admin.post(`/keys/${key?.prefix}/enable`);
  expect((await ownKeys("bob@example.com")).map(({ status }) => status)).toEqual(["active"]);
});

test("keys of people whom a proxy signed in are suspended when that sign-in is no longer configured", async () => {
  await issue();
  const inForce = admin.deps.settings().admin;
  const withoutProxy = { ...inForce, userHeader: null };
  await expect(rejectSignInLosses(admin.deps, withoutProxy)).rejects.toThrow("1 key would be suspended");
  expect(await followSignIns(admin.deps, withoutProxy)).toBe(1);
  await followSignIns(admin.deps, inForce);
  expect((await ownKeys("bob@example.com")).map(({ status }) => status)).toEqual(["active"]);
});

test("a slash at the end of the issuer changes nobody's sign-in", async () => {
  await issue();
  const { devices } = admin.store.admin;
  const inForce = admin.deps.settings().admin;
  const [bound] = await devices.listBoundKeys();
  const issuer = "https://idp.example/realms/crew";
  const person = { kind: "person", issuer, user: "bob@example.com", groups: [] } as const;
  await devices.unbindKey(bound?.keyId ?? "");
  await devices.bindKey({
    keyId: bound?.keyId ?? "",
    person: personName(person),
    identity: JSON.stringify(person),
  });
  const oidc = { issuer: `${issuer}/`, userClaim: "email", groupsClaim: "groups" } as OidcSettings;
  expect(await followSignIns(admin.deps, { ...inForce, oidc })).toBe(0);
  await refreshSignIn(
    admin.deps,
    { ...person, issuer: `${issuer}/`, groups: ["crew"] },
    { ...inForce, oidc, members: ["group:crew"] },
  );
  expect((await ownKeys("bob@example.com")).map(({ status }) => status)).toEqual(["active"]);
  expect(await followSignIns(admin.deps, { ...inForce, oidc: { ...oidc, issuer: `${issuer}s` } })).toBe(1);
});

test("a sign-in that comes without the group ends the key that the group gave, and one with it restores it", async () => {
  await issue("cleo@example.com", "crew");
  const person = { kind: "person", issuer: null, user: "Cleo@example.com" } as const;
  const status = async () => (await admin.json<KeyList>("/keys")).data.map((key) => key.status);
  const inForce = admin.deps.settings().admin;
  await refreshSignIn(admin.deps, { ...person, groups: ["Crew", "more"] }, inForce);
  expect(await status()).toEqual(["active"]);
  await refreshSignIn(admin.deps, { ...person, issuer: "https://other.example", groups: [] }, inForce);
  expect(await status()).toEqual(["active"]);
  await refreshSignIn(admin.deps, { ...person, groups: [] }, inForce);
  expect(await status()).toEqual(["suspended"]);
  await refreshSignIn(admin.deps, { ...person, groups: ["crew"] }, inForce);
  expect(await status()).toEqual(["active"]);
});

test("without a sign-in, nothing of it is there", async () => {
  await using closed = await startAdmin();
  const metadata = await fetch(`${closed.url}/.well-known/oauth-authorization-server`);
  expect(metadata.status).toBe(404);
  for (const path of ["/oauth/device_authorization", "/oauth/token"]) {
    const response = await fetch(closed.url + path, { method: "POST", body: "client_id=sluice-cli" });
    expect(response.status).toBe(404);
  }
  for (const verb of ["approve", "deny"]) {
    const body = JSON.stringify({ user_code: "BBBB-BBBB" });
    expect((await closed.call(`/device/${verb}`, { method: "POST", body })).status).toBe(404);
  }
});
