import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** What a client reports to the operator: a model name that does not work, or the client's own id. */
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;
const token = "the-operators-token";

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: configFor({ url: provider.url }),
    env: { SLUICE_ADMIN_TOKEN: token },
  });
  key = await sluice.createKey();
}, 120_000);

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

async function ask(model: string, headers: Record<string, string> = {}, filler = ""): Promise<string> {
  const body = { model, messages: [{ role: "user", content: `a-secret-prompt ${filler}` }] };
  const response = await sluice.request("/v1/chat/completions", { key, body, headers });
  await response.text();
  return response.headers.get("x-request-id") ?? "";
}

interface Shown {
  readonly id: string;
  readonly outcome: string;
  readonly unknown_model: string | null;
  readonly message: string | null;
}

/** What a command shows of an exchange, once it is written. */
async function shown(id: string): Promise<Shown> {
  await waitFor(async () => (await sluice.cli("requests", "show", id)).code === 0, `${id} to be kept`);
  const { request, ...rest } = await sluice.cliJson<{ id: string; request: Omit<Shown, "id"> }>(
    "requests",
    "show",
    id,
  );
  return { ...request, ...rest };
}

describe("the name of a model that there is not", () => {
  test.each([
    ["gpt-9-ultra", "gpt-9-ultra"],
    ["GPT Test", "GPT Test"],
    ["x".repeat(101), `${"x".repeat(100)}…`],
    ['a"b\nc\u0000\u200e', "a?b?c??"],
    ["", null],
  ])("%j is found by the operator as it was asked for", async (asked, name) => {
    const { unknown_model, message } = await shown(await ask(asked));
    expect(unknown_model).toBe(name);
    expect(message ?? "").not.toContain("secret-prompt");
  });

  test("is found beside a long prompt too, in the list and on the page", async () => {
    const id = await ask("claude-typo", {}, "word ".repeat(10_000));
    expect((await shown(id)).message).toBe(
      'There is no model "claude-typo"; GET /v1/models lists them. Try "claude-test".',
    );
    const { stdout } = await sluice.cli("requests", "list", "--code", "model_not_found");
    expect(stdout).toContain('"claude-typo"');
    const ofModel = await sluice.cli("requests", "list", "--model", "claude-typo");
    expect(ofModel.stdout).toContain(id);
    const headers = { authorization: `Bearer ${token}` };
    const page = await sluice.request(`/admin/api/v1/requests/${id}`, { headers });
    expect(await page.json()).toMatchObject({ request: { unknown_model: "claude-typo" } });
  });

  test("is told to the client without what could be more than a name", async () => {
    const body = { model: "y".repeat(10_000), messages: [{ role: "user", content: "Hello" }] };
    const response = await sluice.request("/v1/chat/completions", { key, body });
    expect(response.status).toBe(404);
    expect((await response.text()).length).toBeLessThan(500);
  });
});

describe("the id that a client gave its call", () => {
  test("finds what completed, failed or was refused", async () => {
    const callers = { "caller-completed": "gpt-test", "caller:refused.1": "no-such-model" };
    for (const [callerId, model] of Object.entries(callers)) {
      const id = await ask(model, { "x-request-id": callerId });
      expect(await shown(callerId)).toMatchObject({ id });
      const headers = { authorization: `Bearer ${token}` };
      const page = await sluice.request(`/admin/api/v1/requests/${callerId}`, { headers });
      expect(await page.json()).toMatchObject({ request: { id } });
    }
  });

  test("finds the newest of those that have it, and names the others", async () => {
    const first = await ask("gpt-test", { "x-request-id": "retried" });
    const second = await ask("gpt-test", { "x-request-id": "retried" });
    await waitFor(async () => (await shown("retried")).id === second, "the second to be kept");
    const { stderr } = await sluice.cli("requests", "show", "retried");
    expect(stderr).toContain(`other requests with the client's id retried: ${first}`);
  });

  test("that could not be shown is not kept, and an unknown one is refused", async () => {
    await ask("gpt-test", { "x-request-id": "with spaces" });
    for (const id of ["with spaces", "nobody-sent-this", "%"]) {
      expect((await sluice.cli("requests", "show", id)).code, id).toBe(1);
    }
  });

  test("is kept over a restart", async () => {
    const id = await ask("gpt-test", { "x-request-id": "before-the-restart" });
    await sluice.stop();
    await sluice.restart();
    expect((await shown("before-the-restart")).id).toBe(id);
  });
});
