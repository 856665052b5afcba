import { systemClock } from "../../src/base/clock.ts";
import { cursorOf } from "../../src/feed/entry-document.ts";
import { audit } from "../../src/ledger/audit.ts";
import { openStore } from "../../src/store/open.ts";
import type { StoreLocation } from "../../src/store/settings.ts";
import type { NewValueCap, Store } from "../../src/store/store.ts";
import { summarizeUsage, usageRecords } from "../support/usage.ts";
import { attempt } from "./attempts.ts";
import { keyRecord, outcomeRecordOf, type SettleItem, settleItem } from "./fixtures.ts";
import type { GatewayStore } from "./kind.ts";
import { responseOf, responsePart } from "./responses.ts";

export const atMs = Date.UTC(2026, 10, 15, 12);
export const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => index % 256);

/** Something of everything. */
export async function fill(store: GatewayStore): Promise<void> {
  const credit = keyRecord({ label: "naïve — 例", models: ["a", "b"], rpmLimit: 60, expiresAtMs: 9e12 });
  const tokens = keyRecord({ mode: "token_budget", budgetTokens: 5_000, period: "month" });
  await store.insertKey(credit, 4e15);
  await store.insertKey(tokens, 0);
  await store.updateKey(tokens.id, { status: "disabled", previousHash: "old", previousUntilMs: 5 });
  const topUp = { keyId: credit.id, amountNano: -7, reference: "order 1", note: 'a, "b"\n', atMs };
  await store.recordAdjustment(topUp);
  await store.charge(Array.from({ length: 1_200 }, (_, index) => settleItem(credit.id, index + 1)));
  const response = responseOf(credit.id, { body: bytes(70_000), recording: { id: "rec_1", parts: 1 } });
  await store.recordResponsePart(responsePart("rec_1", 0, "one "));
  await store.recordResponsePart(responsePart("rec_2", 0, "two "));
  await store.recordTurn({
    keyId: credit.id,
    id: "conv_1",
    parentId: null,
    model: "",
    provider: "",
    createdAtMs: atMs,
    expiresAtMs: atMs + 1,
    bytes: 7,
    items: [],
    body: bytes(7),
    request: bytes(300),
    recording: { id: "rec_2", parts: 1 },
    keyBytes: 1_000,
  });
  const failed = outcomeRecordOf(credit.id, {
    outcome: "failed",
    status: 502,
    message: "broke \0 off",
    attemptDetails: [
      { provider: "p", upstreamModel: "m", status: 502, error: "no", message: null, totalMs: 4 } as never,
    ],
  });
  await store.charge([
    { ...settleItem(credit.id, 9, { overrun: 3 }), response, outcomeRecord: { ...failed, atMs } },
    { ...settleItem(credit.id, 5, { outcome: "cancelled" }), record: null },
    ofBudget(settleItem(tokens.id, 40, { periodStartMs: Date.UTC(2026, 10), listCostNano: 40 })),
  ]);
  await fillCaps(store, credit.id);
  await store.recordOutcomes([outcomeRecordOf(tokens.id, { alike: 4 })], [{ ...attempt(), day: 20_000 }]);
  await store.recordIssuedIds({
    keyId: credit.id,
    provider: "openai",
    credential: "c1",
    idKeys: ["d1", "d2"],
    tokens: 9,
    atMs,
  });
  await store.admin.saveAdminToken({ hash: "ab12", isTrial: true });
  await store.admin.addTrialKey("key_tried");
  await store.admin.signIns.begin(
    {
      ...{ id: "sgn_1", keyId: "key_of_sign_ins", person: "proxy ada", name: "ada@example.com" },
      ...{ client: "Claude Code", device: null, address: "192.0.2.7", beganAtMs: 1_000, usedAtMs: 2_000 },
      ...{ access: [{ hash: "a1", endsAtMs: 3_000 }], familyHash: "f1", refreshHash: "r1" },
    },
    { maxPerPerson: 20, forgetBeforeMs: 0 },
  );
  await store.admin.savePrices({ version: "prices_1", content: "{}" }, null);
  await store.alerts.acknowledge({ kind: "price_outdated", actor: "ada", untilMs: 9_000 });
  await store.feed.push.begin(3, atMs);
  await store.feed.push.prepare({ afterId: 3, pendingId: 9, body: '{"data":[]}' });
  await store.feed.push.postpone(9, atMs + 5, "returned 503");
  await store.admin.appendAudit({
    atMs,
    actor: "cli",
    address: "ada",
    action: "x",
    target: null,
    detail: "y",
  });
}

/** Caps by value, one of them added after the charge that it counts. */
async function fillCaps(store: GatewayStore, keyId: string): Promise<void> {
  const each: NewValueCap = {
    ...{ id: "cap_each", keyId: null, accountId: null, mode: "credit", label: "owner", value: null },
    ...{ limit: 500, period: "month", models: null, isOptional: false, maxValues: 7 },
    ...{ thenModel: null, thenAlways: false },
  };
  await store.insertValueCap(each, atMs);
  const labels = JSON.stringify({ owner: "ada@example.com", "+user": "ü 例", "tag:project": "atlas" });
  await store.charge([settleItem(keyId, 90, { atMs, countedAtMs: atMs, labels })]);
  const named = { label: "user", value: "ü 例", keyId, models: "house-*", thenModel: "b", thenAlways: true };
  await store.insertValueCap({ ...each, id: "cap_user", ...named, isOptional: false }, atMs);
  await store.insertValueCap({ ...each, id: "cap_tag", label: "tag:project", isOptional: true }, atMs);
  await store.raiseValueCap("cap_each", 25, "ben", atMs);
  await store.raiseValueCap("cap_tag", 30, null, atMs);
}

/** Which are not charged in money. */
function ofBudget(item: SettleItem): SettleItem {
  return { ...item, record: item.record && { ...item.record, costNano: 0 } };
}

/** Everything that a store answers, but for what is only there while a gateway runs. */
async function contents(store: Store): Promise<object> {
  const { keys, accounts, openHolds, revision } = await store.load();
  const [first] = keys;
  const conversation = await store.turns.find(first?.id ?? "", "conv_1", atMs);
  const scope = { keyId: first?.id ?? "", route: "/v1/messages", idempotencyKey: "once" };
  const usageBy = (by: "day" | "hour" | "model" | "key") => summarizeUsage(store, { by, sinceMs: 0 });
  const range = { sinceMs: 0, untilMs: atMs * 2, stepMs: 86_400_000 } as const;
  return {
    keys,
    accounts,
    openHolds,
    revision,
    entries: await store.listEntries({ afterId: 0, limit: 5_000 }),
    cursors: (await store.feed.entries(0, 5_000)).map(cursorOf),
    pushed: [await store.feed.push.state(), await store.feed.push.body(9)],
    usage: await usageRecords(store),
    sums: [await usageBy("day"), await usageBy("hour"), await usageBy("model"), await usageBy("key")],
    latencies: await store.reports.latencyInSteps(range),
    exchanges: await store.reports.exchanges({ limit: 5_000 }),
    response: await store.findStoredResponse(scope, 0),
    conversation: { ...conversation, request: conversation?.request?.toHex() },
    turns: await store.turns.sums(first?.id ?? "", atMs),
    attempts: (await Array.fromAsync(store.reports.attemptPages("openai", 0, 30_000))).flat(),
    given: await store.findIssuedIds(first?.id ?? "", ["d1", "d2", "d3"]),
    audit: await store.admin.listAudit({ limit: 10 }),
    token: await store.admin.readAdminToken(),
    trialKeys: await store.admin.listTrialKeys(),
    signIn: await store.admin.signIns.findByFamily("f1"),
    prices: await store.admin.readPrices(),
    caps: await capContents(store),
    acknowledged: await store.alerts.acknowledged(0),
    books: await audit(store),
  };
}

async function capContents(store: Store): Promise<readonly object[]> {
  const caps: object[] = [];
  for (const cap of await store.valueCaps())
    caps.push({ ...cap, values: (await store.valueTotals(cap.no)).map((totals) => ({ ...totals })) });
  return caps;
}

export async function contentsAt(location: StoreLocation): Promise<object> {
  const clock = systemClock;
  const store =
    "url" in location
      ? await openStore({ location, clock, role: "operator" })
      : await openStore({ ...location, clock, role: "operator" });
  try {
    return await contents(store);
  } finally {
    await store.close();
  }
}
