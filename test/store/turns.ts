import type { TurnRecord } from "../../src/store/store.ts";
import type { ItemsQuery } from "../../src/store/turn-records.ts";
import { keyRecord, settleItem } from "./fixtures.ts";
import type { GatewayStore } from "./kind.ts";

export const nowMs = 1_000;
export const bounds = { nowMs, maxTurns: 10, maxBytes: 1_000, headBytes: 0, reserve: (_: number) => {} };

export function turn(
  keyId: string,
  id: string,
  parentId: string | null,
  more: Partial<TurnRecord> = {},
): TurnRecord {
  return {
    keyId,
    id,
    parentId,
    model: "m",
    provider: "p",
    createdAtMs: 500,
    expiresAtMs: 2_000,
    bytes: 10,
    items: [`item of ${id}`, "item of all"],
    body: new TextEncoder().encode(`body of ${id}`),
    keyBytes: 1_000,
    ...more,
  };
}

export async function keep(store: GatewayStore, ...turns: readonly TurnRecord[]): Promise<void> {
  for (const each of turns) await store.charge([{ ...settleItem(each.keyId, 1), turns: [each] }]);
}

export async function twoKeys(store: GatewayStore): Promise<readonly [string, string]> {
  const [one, other] = [keyRecord(), keyRecord()];
  await store.insertKey(one, 1_000_000);
  await store.insertKey(other, 1_000_000);
  return [one.id, other.id];
}

export const bodies = (turns: readonly { readonly body: Uint8Array }[]) =>
  turns.map(({ body }) => new TextDecoder().decode(body));

export async function chainOf(
  store: GatewayStore,
  keyId: string,
  id: string,
  more: Partial<typeof bounds> = {},
) {
  const found = await store.turns.chain({ keyId, id, ...bounds, ...more });
  return found.kind === "found" ? bodies(found.turns) : found.kind;
}

export async function turnsWith(store: GatewayStore, keyId: string, query: Partial<ItemsQuery>) {
  const found = await store.turns.withItems({ ...bounds, keyId, items: [], turnIds: [], ...query });
  return found.kind === "found" ? bodies(found.turns) : found.kind;
}
