import { expect, test } from "bun:test";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { type MeteredCase, meteredCases, meteredModels } from "../gateway/metered/routes.ts";
import { startProvider } from "../support/provider.ts";
import { FragileNodes } from "./fragile-nodes.ts";
import { withPostgres } from "./nodes.ts";

withPostgres(() => {
  test("every metered route is charged once, replayed by another node, and keeps its charge when its node is killed after the last byte", async () => {
    const provider = startProvider();
    await using nodes = await FragileNodes.start(2, provider, { tail: meteredModels() });
    const key = await nodes.at(0).createKey({ credit: 1 });
    const cases = Object.entries(meteredCases);
    const ask = async (node: number, [name, route]: (typeof cases)[number]) => {
      const response = await fetch(`${nodes.at(node).url}${route.path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key.key}`,
          "content-type": "application/json",
          "idempotency-key": name,
        },
        body: JSON.stringify({ model: `${name}-model`, ...route.body }),
      });
      expect(response.status, name).toBe(200);
      return { text: await response.text(), replayed: response.headers.get("idempotent-replayed") };
    };
    const first: string[] = [];
    for (const each of cases) {
      provider.script(each[1].answer);
      first.push((await ask(0, each)).text);
    }
    await nodes.at(0).kill9();
    for (const [place, each] of cases.entries()) {
      const again = await ask(1, each);
      expect(again).toEqual({ text: first[place] ?? "", replayed: "true" });
    }
    expect(provider.requests).toHaveLength(cases.length);
    await nodes.checkBooks(nodes.at(1));
    const charges = await nodes.chargesByExchange(nodes.at(1));
    expect([...charges.values()].every((entries) => entries.length === 1)).toBe(true);
    const sum = [...charges.values()].flat().reduce((total, { amount }) => total - amount, 0);
    const expected = cases.reduce((total, [, { cost }]) => total + Math.round(cost * nanoPerCredit), 0);
    expect(sum).toBe(expected);
    provider.stop();
  }, 120_000);

  test("a crowd at two nodes is not served beyond the balance that they share", async () => {
    const provider = startProvider();
    await using nodes = await FragileNodes.start(2, provider, { tail: meteredModels() });
    const { path, body, answer, cost } = meteredCases["images"] as MeteredCase;
    const served = 5;
    const { key } = await nodes.at(0).createKey({ credit: served * cost });
    provider.script(answer);
    let paid = 0;
    // A node may have set aside what the other one could have used, and gives it back meanwhile.
    while (paid < served) {
      const crowd = Array.from({ length: 16 }, async (_, place) => {
        const response = await fetch(`${nodes.at(place % 2).url}${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "images-model", ...body }),
        });
        expect([200, 402, 429]).toContain(response.status);
        return response.status;
      });
      paid += (await Promise.all(crowd)).filter((status) => status === 200).length;
    }
    expect(paid).toBe(served);
    expect(provider.requests).toHaveLength(served);
    await nodes.checkBooks(nodes.at(1));
    provider.stop();
  }, 120_000);
});
