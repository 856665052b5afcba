import { afterAll, beforeAll, expect, test } from "bun:test";
import { startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const config = (content: string) => `
[server]
trusted_proxies = ["127.0.0.1"]
[admin]
user_header = "x-user"
admins = ["root@example.com"]
viewers = ["vera@example.com"]
members = "everyone"
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
free = true
[content]
${content}
`;

type Sluice = Awaited<ReturnType<typeof startSluice>>;
let sluice: Sluice;
let key: TestKey;
beforeAll(async () => {
  sluice = await startSluice({ config: config("") });
  key = await sluice.cliJson<TestKey>(
    "keys",
    "create",
    "--mode",
    "credit",
    "--credit",
    "1",
    "--owner",
    "ada@example.com",
  );
});
afterAll(() => sluice[Symbol.asyncDispose]());

async function statusFor(user: string, id: string): Promise<number> {
  const headers = { "x-user": user, "x-forwarded-for": "10.1.2.3" };
  const response = await sluice.request(`/admin/api/v1/requests/${id}/content`, { headers });
  await response.text();
  return response.status;
}

test("members see the requests of their own keys only where the operator says so", async () => {
  const body = { model: "demo", messages: [{ role: "user", content: "mine" }] };
  const response = await sluice.request("/v1/chat/completions", { key, body });
  await response.text();
  const id = response.headers.get("x-request-id") ?? "";
  const statuses = async () =>
    Promise.all(
      ["root@example.com", "vera@example.com", "ada@example.com", "bob@example.com"].map((user) =>
        statusFor(user, id),
      ),
    );
  expect(await statuses()).toEqual([200, 403, 403, 403]);
  await sluice.reload(config("members_see_own = true"));
  // The viewer is a member too, and has no keys.
  expect(await statuses()).toEqual([200, 404, 200, 404]);
  const byKey = await sluice.request(`/usage/api/v1/requests/${id}/content`, { key });
  expect(byKey.status).toBe(404);
}, 30_000);

test("a key's new owner does not see the former owner's requests, who still does", async () => {
  await sluice.reload(config("members_see_own = true"));
  const ask = async (content: string) => {
    const body = { model: "demo", messages: [{ role: "user", content }] };
    const response = await sluice.request("/v1/chat/completions", { key, body });
    await response.text();
    return response.headers.get("x-request-id") ?? "";
  };
  const adas = await ask("ada's secret");
  await sluice.cliJson("keys", "update", key.id, "--owner", "bob@example.com");
  const headers = { "x-user": "root@example.com", "x-forwarded-for": "10.1.2.3" };
  const isBobs = async (id: string) => {
    const response = await sluice.request("/admin/api/v1/content?limit=1", { headers });
    const { data } = (await response.json()) as { data: { id: string; owner: string }[] };
    return data[0]?.id === id && data[0].owner === "bob@example.com";
  };
  // The key's record is read from the store, and requests know of the change a moment later.
  let bobs = "";
  await waitFor(async () => {
    bobs = await ask("bob's");
    return isBobs(bobs);
  }, "the gateway to know the new owner");
  const statuses = (id: string) =>
    Promise.all(
      ["ada@example.com", "bob@example.com", "root@example.com"].map((user) => statusFor(user, id)),
    );
  expect(await statuses(bobs)).toEqual([404, 200, 200]);
  expect(await statuses(adas)).toEqual([200, 404, 200]);
}, 30_000);
