import { describe, expect, test } from "bun:test";
import { followSignIns } from "../../../src/admin/access/lost-sign-ins.ts";
import type { KeyList } from "../../../src/admin/key-terms/schema.ts";
import { hasKeyForm } from "../../../src/keys/secret.ts";
import { memberKeys, SignInWorld } from "./fixtures.ts";

describe("signing a program in", () => {
  test("needs no client id, and gives tokens that stand for a key with the member's account and cap", async () => {
    await using world = await SignInWorld.start();
    const begun = await world.begin({ surface: "claude_code" });
    const path = `/device?user_code=${begun.user_code}`;
    expect(await world.admin.json(path, { headers: world.as("bob@example.com") })).toMatchObject({
      purpose: "sign_in",
      client: "Claude Code",
      device: null,
      address: "192.0.2.7",
    });
    expect(await world.poll(begun.device_code)).toMatchObject({
      status: 400,
      error: "authorization_pending",
    });
    expect((await world.approve(begun.user_code)).status).toBe(200);
    const tokens = await world.poll(begun.device_code);
    expect(Object.keys(tokens).toSorted()).toEqual([
      ...["access_token", "expires_in", "refresh_token", "status", "token_type"],
    ]);
    expect(tokens).toMatchObject({ status: 200, token_type: "Bearer", expires_in: 3600 });
    expect(hasKeyForm(tokens.access_token ?? "")).toBe(true);
    expect(tokens.refresh_token).toMatch(/^slr_[0-9A-Za-z]{60}$/);
    expect(world.keyOf(tokens.access_token ?? "")).toMatchObject({
      label: "sign-in",
      owner: "bob@example.com",
      caps: [{ limit: 5_000_000_000, period: "day" }],
    });
    expect(world.keyOf(tokens.refresh_token ?? "")).toBeNull();
    expect(await world.poll(begun.device_code)).toMatchObject({ status: 400, error: "invalid_grant" });
    expect(await world.audited()).toEqual(["sign_in.begin"]);
  });

  test("names another client as it calls itself, ignores unknown parameters, and rejects repeated ones", async () => {
    await using world = await SignInWorld.start();
    const begun = await world.begin({
      client_id: "my <b>agent",
      device_name: "laptop",
      resource: "x",
      scope: "y",
    });
    const path = `/device?user_code=${begun.user_code}`;
    const view = await world.admin.json(path, { headers: world.as("bob@example.com") });
    expect(view).toMatchObject({ client: "my bagent", device: "laptop" });
    for (const at of ["device_authorization", "token", "revoke"]) {
      const body = "surface=a&surface=b";
      const twice = await fetch(`${world.admin.url}/oauth/${at}`, { method: "POST", body });
      expect(twice.status, at).toBe(400);
      expect(await twice.json()).toMatchObject({ error: "invalid_request" });
    }
  });

  test("keeps codes for keys and codes for sign-ins apart", async () => {
    await using world = await SignInWorld.start();
    const [key, signIn] = [await world.begin({ client_id: "sluice-cli" }), await world.begin()];
    await world.approve(key.user_code);
    await world.approve(signIn.user_code);
    expect(await world.poll(key.device_code)).toMatchObject({ status: 400, error: "invalid_grant" });
    const asKey = await world.poll(signIn.device_code, { client_id: "sluice-cli" });
    expect(asKey).toMatchObject({ status: 400, error: "invalid_grant" });
    const issued = await world.poll(key.device_code, { client_id: "sluice-cli" });
    expect(issued).toMatchObject({ status: 200 });
    expect(issued.refresh_token).toBeUndefined();
    expect((await world.poll(signIn.device_code)).refresh_token).toStartWith("slr_");
  });

  test("gives all sign-ins of a person one key, which is none of their five", async () => {
    await using world = await SignInWorld.start();
    const first = await world.signIn();
    await world.send("/oauth/revoke", { token: first.refresh_token });
    const others = await Promise.all([world.signIn(), world.signIn(), world.signIn()]);
    const ids = new Set(others.map(({ access_token: token }) => world.keyOf(token)?.id));
    expect([...ids]).toEqual([(await world.admin.store.admin.signIns.list())[0]?.keyId]);
    for (let number = 0; number < 5; number += 1) {
      const begun = await world.begin({ client_id: "sluice-cli" });
      expect((await world.approve(begun.user_code)).status).toBe(200);
      await world.poll(begun.device_code, { client_id: "sluice-cli" });
    }
    const keys = await world.admin.json<KeyList>("/keys?owner=me", { headers: world.as("bob@example.com") });
    expect(keys.data.filter(({ label }) => label === "sign-in")).toHaveLength(1);
    expect(keys.data).toHaveLength(6);
    const sixth = await world.begin({ client_id: "sluice-cli" });
    expect((await world.approve(sixth.user_code)).status).toBe(403);
    expect(world.keyOf((await world.signIn()).access_token)).not.toBeNull();
  });

  test("does not let anybody have the secret of that key", async () => {
    await using world = await SignInWorld.start();
    const { access_token: token } = await world.signIn();
    const prefix = world.keyOf(token)?.prefix ?? "";
    for (const headers of [world.as("bob@example.com"), {}]) {
      const init = { method: "POST", headers, body: "{}" };
      const rotated = await world.admin.call(`/keys/${prefix}/rotate`, init);
      expect(rotated.status).toBe(403);
      expect(await rotated.text()).toContain("sign-ins");
    }
    expect(world.keyOf(token)).not.toBeNull();
  });

  test("is refused on the page to those who may not, and to a program that came to the other origin", async () => {
    await using world = await SignInWorld.start();
    const begun = await world.begin();
    expect((await world.approve(begun.user_code, "vera@example.com")).status).toBe(403);
    expect((await world.approve(begun.user_code, "eve@example.com")).status).toBe(403);
    const elsewhere = new SignInWorld(world.admin, "/token");
    const there = await elsewhere.begin();
    const wrong = await world.approve(there.user_code);
    expect(wrong.status).toBe(403);
    expect(await wrong.text()).toContain(`sign in at ${world.admin.url}, not at ${world.admin.url}/token`);
    expect((await world.approve(begun.user_code, "ada@example.com")).status).toBe(200);
  });

  test("works below /token for an account with a token budget", async () => {
    await using world = await SignInWorld.start('member_keys = { account = "team" }\n');
    await world.admin.post("/accounts", { mode: "token_budget", label: "team", budget_tokens: 1000 });
    const there = new SignInWorld(world.admin, "/token");
    const metadata = await (await there.get("/.well-known/oauth-authorization-server", "")).json();
    expect(metadata).toMatchObject({
      issuer: `${world.admin.url}/token`,
      device_authorization_endpoint: `${world.admin.url}/token/oauth/device_authorization`,
      token_endpoint: `${world.admin.url}/token/oauth/token`,
      revocation_endpoint: `${world.admin.url}/token/oauth/revoke`,
    });
    const tokens = await there.signIn();
    expect(world.keyOf(tokens.access_token)?.mode).toBe("token_budget");
    expect((await there.get("/managed/settings", tokens.access_token)).status).toBe(404);
    expect((await world.get("/managed/settings", tokens.access_token)).status).toBe(401);
  });

  test("is 404 without member_keys", async () => {
    await using world = await SignInWorld.start("");
    for (const path of ["device_authorization", "token", "revoke"]) {
      expect((await world.send(`/oauth/${path}`, {})).status, path).toBe(404);
    }
    expect((await world.get("/.well-known/oauth-authorization-server", "")).status).toBe(404);
  });

  test("takes account, cap and models from the first list that has the person", async () => {
    await using world = await SignInWorld.start(`
[[admin.member_keys]]
for = ["role:admin"]
account = "crowd"

[[admin.member_keys]]
for = ["group:crew"]
account = "crowd"
cap = "2/week"
models = ["claude-test"]
`);
    const crew = await world.signIn("cleo@example.com", "crew");
    expect(world.keyOf(crew.access_token)).toMatchObject({
      models: ["claude-test"],
      caps: [{ limit: 2_000_000_000, period: "week" }],
    });
    const admin = await world.signIn("ada@example.com", "crew");
    expect(world.keyOf(admin.access_token)).toMatchObject({ models: null, caps: [] });
    const begun = await world.begin();
    expect((await world.approve(begun.user_code)).status).toBe(403);
    // A name makes no admin.
    expect((await world.approve(begun.user_code, "role:admin")).status).toBe(403);
  });

  test("ends the longest unused of more than twenty", async () => {
    await using world = await SignInWorld.start();
    const first = await world.signIn();
    world.admin.clock.advance(60_000);
    const second = await world.signIn();
    world.admin.clock.advance(1);
    await world.refresh(first.refresh_token);
    for (let number = 0; number < 19; number += 1) {
      world.admin.clock.advance(60_000);
      await world.signIn();
    }
    expect(await world.open()).toHaveLength(20);
    expect(world.keyOf(first.access_token)).not.toBeNull();
    expect(world.keyOf(second.access_token)).toBeNull();
    expect(await world.refresh(second.refresh_token)).toMatchObject({ status: 400, error: "invalid_grant" });
  });
});

describe("a sign-in ends", () => {
  const ended = async (
    world: SignInWorld,
    { access_token: access, refresh_token: refresh }: { access_token: string; refresh_token: string },
  ) => {
    expect(world.keyOf(access)).toBeNull();
    expect(await world.refresh(refresh)).toMatchObject({ status: 400, error: "invalid_grant" });
    expect((await world.get("/managed/settings", access)).status).toBe(401);
  };

  test("when either token is revoked, and no other one does", async () => {
    await using world = await SignInWorld.start();
    const [one, two, three] = [await world.signIn(), await world.signIn(), await world.signIn()];
    for (const token of [
      one.access_token,
      two.refresh_token,
      "slu_nonsense",
      "",
      `${three.refresh_token}x`,
    ]) {
      expect((await world.send("/oauth/revoke", { token })).status).toBe(200);
    }
    await ended(world, one);
    await ended(world, two);
    expect(world.keyOf(three.access_token)).not.toBeNull();
    expect((await world.send("/oauth/revoke", {})).status).toBe(200);
    expect(await world.audited()).toEqual([
      ...["sign_in.end", "sign_in.end", "sign_in.begin", "sign_in.begin", "sign_in.begin"],
    ]);
  });

  test("not with a static key that is sent to the revocation endpoint", async () => {
    await using world = await SignInWorld.start();
    const { key } = await world.admin.post<{ key: string }>("/keys", { mode: "credit" });
    expect((await world.send("/oauth/revoke", { token: key })).status).toBe(200);
    expect(world.keyOf(key)?.status).toBe("active");
  });

  test("when its person is taken off the lists", async () => {
    await using world = await SignInWorld.start();
    const [bobs, adas] = [await world.signIn(), await world.signIn("ada@example.com")];
    const { admin } = world.admin.deps.settings();
    await followSignIns(world.admin.deps, { ...admin, members: [] });
    await ended(world, bobs);
    expect(world.keyOf(adas.access_token)).not.toBeNull();
    // Who comes back signs in again, and has the same key.
    const before = (await world.admin.store.admin.signIns.list("proxy bob@example.com"))[0]?.keyId;
    const again = await world.signIn();
    expect(world.keyOf(again.access_token)?.id).toBe(before);
  });

  test("when its person signs in without the group that gave the role, and at a refresh", async () => {
    await using world = await SignInWorld.start();
    const cleos = await world.signIn("cleo@example.com", "crew");
    const begun = await world.begin();
    expect((await world.approve(begun.user_code, "cleo@example.com", "other")).status).toBe(403);
    await ended(world, cleos);
  });

  test("when it is too old or was not used, and its access tokens no later", async () => {
    await using world = await SignInWorld.start(
      `${memberKeys}[admin.sign_ins]\naccess_token = "60m"\nidle = "2h"\nmax_age = "3h"\n`,
    );
    const unused = await world.signIn();
    const used = await world.signIn();
    world.admin.clock.advance(90 * 60_000);
    const second = await world.refresh(used.refresh_token);
    expect(second.expires_in).toBe(3600);
    world.admin.clock.advance(60 * 60_000);
    const last = await world.refresh(second.refresh_token ?? "");
    expect(last.expires_in).toBe(1800);
    await ended(world, unused);
    world.admin.clock.advance(30 * 60_000);
    await ended(world, last as Required<typeof last>);
    const reasons = (await world.admin.store.admin.signIns.list()).map(({ endReason }) => endReason);
    expect(reasons.toSorted()).toEqual(["too_old", "unused"]);
  });

  test("with its key, and then an operator has to allow the next", async () => {
    await using world = await SignInWorld.start();
    const tokens = await world.signIn();
    const prefix = world.keyOf(tokens.access_token)?.prefix ?? "";
    await world.admin.post(`/keys/${prefix}/disable`);
    const begun = await world.begin();
    const disabled = await world.approve(begun.user_code);
    expect([disabled.status, await disabled.text()]).toEqual([403, expect.stringContaining("is disabled")]);
    await world.admin.post(`/keys/${prefix}/enable`);
    await world.admin.post(`/keys/${prefix}/revoke`);
    expect(await world.refresh(tokens.refresh_token)).toMatchObject({ error: "invalid_grant" });
    const refused = await world.approve(begun.user_code);
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("sluice sign-ins allow bob@example.com");
    await followSignIns(world.admin.deps, world.admin.deps.settings().admin);
    expect((await world.approve(begun.user_code)).status).toBe(403);
    await world.admin.post("/sign-ins/allow", { person: "BOB@example.com" });
    expect((await world.approve(begun.user_code)).status).toBe(200);
    const { access_token: token = "" } = await world.poll(begun.device_code);
    expect(world.keyOf(token)?.prefix).not.toBe(prefix);
  });
});
