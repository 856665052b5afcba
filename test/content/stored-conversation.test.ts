import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ContentView } from "../../src/admin/content/schema.ts";
import { startSluice, type TestKey } from "../support/sluice.ts";

const token = "the-operators-token";
const config = `
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
free = true
[routes]
conversations = true
[content]
`;

type Sluice = Awaited<ReturnType<typeof startSluice>>;
let sluice: Sluice;
let key: TestKey;
beforeAll(async () => {
  sluice = await startSluice({ config, env: { SLUICE_ADMIN_TOKEN: token } });
  key = await sluice.createKey();
});
afterAll(() => sluice[Symbol.asyncDispose]());

/** A turn; returns the ids of the response and of the request. */
async function say(input: string, more: object) {
  const response = await sluice.request("/v1/responses", { key, body: { model: "demo", input, ...more } });
  const { id } = (await response.json()) as { id: string };
  return { id, requestId: response.headers.get("x-request-id") ?? "" };
}

async function contentOf(requestId: string): Promise<ContentView> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await sluice.request(`/admin/api/v1/requests/${requestId}/content`, { headers });
  return (await response.json()) as ContentView;
}

const secretLike = `slu_${"a".repeat(40)}`;

test("a turn is shown with the stored conversation before it, without secrets, as long as that is there", async () => {
  const first = await say(`my key is ${secretLike}`, {});
  const second = await say("and then?", { previous_response_id: first.id });
  expect((await contentOf(first.requestId)).conversation).toBeUndefined();
  const { conversation, request } = await contentOf(second.requestId);
  expect(request).toMatchObject({ input: "and then?" });
  expect(conversation).toMatchObject([{ role: "user" }, { role: "assistant" }]);
  expect(JSON.stringify(conversation)).toContain("my key is [secret]");
  expect(JSON.stringify(conversation)).not.toContain("and then?");
  const shown = await sluice.cliJson<ContentView>("requests", "show", second.requestId, "--content");
  expect(shown.conversation).toEqual(conversation);
  await sluice.request(`/v1/responses/${first.id}`, { key, method: "DELETE" });
  expect(await sluice.cliJson("requests", "show", second.requestId, "--content")).not.toHaveProperty(
    "conversation",
  );
  expect((await contentOf(second.requestId)).conversation).toBeUndefined();
}, 30_000);

test("a turn of a named conversation is shown with what was in it before", async () => {
  const made = await sluice.request("/v1/conversations", { key, body: {} });
  const { id: conversation } = (await made.json()) as { id: string };
  await say("one", { conversation });
  const second = await say("two", { conversation });
  await say("three", { conversation });
  const items = JSON.stringify((await contentOf(second.requestId)).conversation);
  expect(items).toContain('"one"');
  expect(items).not.toContain('"two"');
  expect(items).not.toContain('"three"');
}, 30_000);
