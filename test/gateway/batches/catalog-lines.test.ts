import { expect, test } from "bun:test";
import { shippedCatalog } from "../../../src/config/catalog/shipped.ts";
import { priceOn } from "../../../src/config/dated-prices.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { json } from "../../support/answers.ts";
import { MessageBatches } from "../../support/message-batches.ts";
import { onBothStores } from "../on-both-stores.ts";
import { BatchClient, chatLines } from "./batch-world.ts";

const id = "claude-sonnet-4-6";
const price = priceOn(shippedCatalog("anthropic")?.find((model) => model.id === id)?.price);

/** Two providers with the catalog of Anthropic; the lines of one run in Anthropic's own batches. */
const tail = ["here", "there"]
  .map(
    (name) => `
[providers.${name}]
kind = "anthropic"
base_url = "PROVIDER_URL/anthropic"
api_key = "env:TEST_ANTHROPIC_KEY"
models = ["${id}"]
batch = "${name === "there" ? "native" : "gateway"}"
`,
  )
  .join("");

const message = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: id, stop_reason: "end_turn" },
  content: [{ type: "text", text: "Hi" }],
  usage: { input_tokens: 100, output_tokens: 10 },
};

onBothStores(tail, (world) => {
  async function costOfLine(model: string): Promise<number> {
    const batches = new MessageBatches();
    batches.resultOf = () => ({ type: "succeeded", message });
    world().provider.script((request) =>
      request.path.endsWith("/messages") ? json(message) : batches.script(request),
    );
    const caller = await world().creditCaller();
    const client = BatchClient.of(world(), caller);
    await client.untilEnded((await client.create(chatLines(1, { model }))).id);
    const charges = await world().chargesOf(caller);
    return charges.reduce((sum, { amount }) => sum - amount, 0);
  }

  test("lines on a catalog model cost what the provider bills: half only in the provider's own batches", async () => {
    const { input = 0, output = 0, tiers } = price ?? {};
    const batch = tiers?.["batch"];
    expect(batch).toMatchObject({ input: input / 2, output: output / 2 });
    const usual = (100 * input + 10 * output) * 1000;
    expect(await costOfLine(`here/${id}`)).toBe(usual);
    expect(await costOfLine(`there/${id}`)).toBe(usual / 2);
    expect((await audit(world().running.store, { deep: true })).differences).toEqual([]);
  });
});
