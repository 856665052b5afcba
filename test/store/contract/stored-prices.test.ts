import { describe, expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { testEachStore } from "../each-store.ts";

describe("a store's prices", () => {
  testEachStore("are replaced and removed by version, and survive a restart", async (database) => {
    const first = { version: "v1", content: '{"openai":[]}' };
    const second = { version: "v2", content: '{"groq":[]}' };
    {
      const store = await database.openGateway(systemClock);
      expect(await store.admin.readPrices()).toBeNull();
      expect(await store.admin.pricesVersion()).toBeNull();
      await store.admin.savePrices(first, null);
      await store.admin.savePrices(second, "v1");
      await store.close();
    }
    const store = await database.openGateway(systemClock);
    expect(await store.admin.readPrices()).toEqual(second);
    expect(await store.admin.pricesVersion()).toBe("v2");
    await store.admin.savePrices(null, "v2");
    expect(await store.admin.readPrices()).toBeNull();
    await store.close();
  });

  testEachStore("are not replaced by a command that has read older ones", async (database) => {
    const store = await database.openGateway(systemClock);
    await store.admin.savePrices({ version: "v1", content: "{}" }, null);
    const late = store.admin.savePrices({ version: "v2", content: "{}" }, null);
    await expect(late).rejects.toMatchObject({ reason: "changed" });
    expect(await store.admin.pricesVersion()).toBe("v1");
    await store.close();
  });
});
