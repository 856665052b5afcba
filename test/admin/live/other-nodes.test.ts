import { expect, test } from "bun:test";
import { ExchangeFeed } from "../../../src/admin/live/live.ts";
import { OtherNodes } from "../../../src/admin/live/other-nodes.ts";
import type { TailView } from "../../../src/admin/requests/schema.ts";
import { readLabels } from "../../../src/base/requests/labels.ts";
import { noUsage } from "../../../src/base/usage/usage.ts";
import type { ListedExchange, Store } from "../../../src/store/store.ts";
import { keyRecord } from "../../store/fixtures.ts";

const key = keyRecord();

function exchange(id: string): ListedExchange {
  return {
    exchangeId: id,
    keyId: key.id,
    startedAtMs: 1_000,
    endedAtMs: 2_000,
    route: "/v1/chat/completions",
    model: "house-model",
    provider: "openai",
    upstreamModel: "gpt-5.6",
    stream: false,
    outcome: "completed",
    status: 200,
    code: null,
    message: null,
    entryId: 1,
    usage: { ...noUsage, inputTokens: 7, cachedInputTokens: 3, outputTokens: 5 },
    units: null,
    basis: "measured",
    charged: 2_000_000_000,
    listCostNano: null,
    firstByteMs: 10,
    totalMs: 20,
    attempts: 1,
    alike: 0,
    labels: readLabels(null),
    bound: null,
    needed: null,
  };
}

test("what other nodes finish is shown once, after what was there when somebody began to watch", async () => {
  const feed = new ExchangeFeed();
  const lines: TailView[] = [];
  feed.join(
    (line) => lines.push(line),
    () => {},
  );
  let rows = [exchange("req_before")];
  const reports = { exchanges: async () => ({ rows, next: null }) } as Partial<Store["reports"]>;
  const others = new OtherNodes({
    // Only these are used.
    store: { nodes: { list: async () => [], states: async () => [] }, reports: reports as Store["reports"] },
    keys: { byId: () => key },
    feed,
    everyMs: 3_600_000,
  });
  others.start();
  await others.look();
  rows = [exchange("req_mine"), exchange("req_other"), ...rows];
  await others.look();
  expect(lines).toEqual([]);
  // This gateway's own is in the database before it is shown here.
  feed.onShown?.("req_mine");
  await others.look();
  await others.look();
  expect(lines.map(({ id }) => id)).toEqual(["req_other"]);
  expect(lines[0]).toMatchObject({
    key_prefix: key.prefix,
    input_tokens: 10,
    output_tokens: 5,
    charged: 2,
    unit: "credits",
    kept: true,
  });
  await others.stop();
});
