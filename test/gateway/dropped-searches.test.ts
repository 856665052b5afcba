import { describe, expect, test } from "bun:test";
import { audit } from "../../src/ledger/audit.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, streamAnswer, wholeAnswer } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

/** Searches that a provider reports although it was not sent the tool. */

const models = `
[[models]]
id = "searching"
provider = "anthropic"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0, web_search = 10.0 }

# The second has no price for a search, so the tool is dropped.
[[models]]
id = "half-priced"
context_window = 200000
max_output_tokens = 4096
deployments = [
  { provider = "anthropic", upstream_model = "one", priority = 1, price = { input = 1.0, output = 2.0, web_search = 10.0 } },
  { provider = "anthropic", upstream_model = "other", priority = 2, price = { input = 1.0, output = 2.0 } },
]
`;
const tokensNano = 100 * 1_000 + 20 * 2_000;
/** At 10 USD per thousand. */
const searchesNano = 3 * 10_000_000;
const said = {
  text: "Sluices keep the canal navigable.",
  usage: { input_tokens: 100, output_tokens: 20, server_tool_use: { web_search_requests: 3 } },
};
const offered = {
  tools: [
    { type: "web_search_20250305", name: "web_search" },
    { name: "f", input_schema: { type: "object" } },
  ],
};

/** Returns what was dropped. */
async function ask(world: World, caller: Caller, model: string, stream: boolean): Promise<string | null> {
  world.provider.script(stream ? streamAnswer("messages", said) : wholeAnswer("messages", said));
  const body = hello("messages", model, { max_tokens: 100, stream, ...offered });
  const response = await world.ask(caller, { path: paths.messages, body });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get("x-sluice-dropped");
}

const paidBy = (amounts: readonly number[]) =>
  amounts.map((amount) => ({ amount, basis: "measured" as const, outcome: "completed" as const }));

onBothStores(models, (world) => {
  describe.each([false, true])("(stream: %p)", (stream) => {
    test("searches of a tool that was dropped are an overrun, and the client does not pay for them", async () => {
      const caller = await world().creditCaller();
      expect(await ask(world(), caller, "half-priced", stream)).toBe("tools.web_search_20250305");
      expect(await world().chargesOf(caller)).toEqual(paidBy([-tokensNano, searchesNano]));
    });

    test("a postpaid account does not owe them", async () => {
      const caller = await world().openCaller();
      await ask(world(), caller, "half-priced", stream);
      expect(await world().chargesOf(caller)).toEqual(paidBy([-tokensNano, searchesNano]));
    });

    test("searches of a tool that was sent are charged", async () => {
      const caller = await world().creditCaller();
      expect(await ask(world(), caller, "searching", stream)).toBeNull();
      expect(await world().chargesOf(caller)).toEqual(paidBy([-tokensNano - searchesNano]));
    });
  });

  test.each([false, true])(
    "searches of a translated request without any are an overrun (stream: %p)",
    async (stream) => {
      const caller = await world().creditCaller();
      world().provider.script(stream ? streamAnswer("messages", said) : wholeAnswer("messages", said));
      const body = hello("chat", "searching", { max_tokens: 100, stream });
      await (await world().ask(caller, { path: paths.chat, body })).text();
      expect(await world().chargesOf(caller)).toEqual(paidBy([-tokensNano, searchesNano]));
    },
  );

  test("the audit agrees", async () => {
    expect((await audit(world().running.store, { deep: true })).differences).toEqual([]);
  });
});
