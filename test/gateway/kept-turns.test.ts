import { describe, expect, test } from "bun:test";
import type { TurnItem } from "../../src/dialects/openai-responses/client/turn-items.ts";
import { newItems } from "../../src/gateway/conversations/find-conversation.ts";
import { KnownCalls } from "../../src/gateway/conversations/known-calls.ts";
import type { AdmittedCall } from "../../src/gateway/exchange/admitted-call.ts";
import { lockConversation } from "../../src/gateway/exchange/claims.ts";
import type { Exchange } from "../../src/gateway/exchange/exchange.ts";
import { Turns } from "../../src/gateway/turns/turns.ts";
import { keyRecord } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";

/** The cast: of the store, what these tests reach is there. */
function turnsOn(turns: object, more: object = {}): Turns {
  const store = { turns, ...more } as unknown as ConstructorParameters<typeof Turns>[0]["store"];
  return new Turns({ store, clock: new FakeClock(), retryBytes: () => 0 });
}

test("a sealing secret that could not be read is read again, and then remembered", async () => {
  let reads = 0;
  const secret = new Uint8Array([7]);
  const turns = turnsOn({
    sealingSecret: async () => {
      reads += 1;
      if (reads === 1) throw new Error("the database is away");
      return secret;
    },
  });
  await expect(turns.sealingSecret()).rejects.toThrow("away");
  expect(await turns.sealingSecret()).toBe(secret);
  expect(await turns.sealingSecret()).toBe(secret);
  expect(reads).toBe(2);
});

describe("retention", () => {
  async function pruned(...batches: number[]): Promise<readonly [left: number, recorded: number[]]> {
    const recorded: number[] = [];
    const turns = turnsOn(
      { prune: async () => batches.shift() ?? 0 },
      { recordPruning: async (pruning: { pruned: number }) => void recorded.push(pruning.pruned) },
    );
    await turns.prune();
    return [batches.length, recorded];
  }

  test("deletes stored responses until none is left, and records how many", async () => {
    expect(await pruned(500, 3, 0)).toEqual([0, [503]]);
  });

  test("records nothing if there was none", async () => {
    expect(await pruned(0)).toEqual([0, []]);
  });
});

describe("a conversation that is to be changed", () => {
  const key = keyRecord();
  const conversation = { id: "conv_1", head: new Uint8Array(), items: [] };

  async function locked(
    no: number | null,
    isCurrent: boolean,
  ): Promise<Exchange["taken"]["conversationClaim"]> {
    const claim = { keyId: key.id };
    const gateway = {
      claims: { claim: async () => ({ kind: "run", claim }) },
      turns: { isCurrent: async () => isCurrent },
    };
    const exchange = { id: "req_1", taken: { conversationClaim: null } };
    // The cast: this is all that the lock reads of them.
    const call = { gateway, exchange, keyId: key.id } as unknown as AdmittedCall;
    await lockConversation(call, { ...conversation, no });
    return exchange.taken.conversationClaim;
  }

  test("is refused if it has changed since it was read", async () => {
    await expect(locked(1, false)).rejects.toMatchObject({ code: "conversation_locked" });
  });

  test("is locked if it has not, or is new", async () => {
    expect(await locked(1, true)).not.toBeNull();
    expect(await locked(null, false)).not.toBeNull();
  });
});

function item(id: string | null, more: Partial<TurnItem> = {}): TurnItem {
  return { raw: Buffer.from("{}"), id, type: "message", callId: null, isLeftOut: false, ...more };
}

test("a reference to what is nowhere is rejected where a conversation goes on, and left to the provider elsewhere", () => {
  const reference = item("msg_gone", { type: "item_reference" });
  const before = {
    id: "resp_1",
    parentId: null,
    head: new Uint8Array(),
    input: [],
    output: [],
    isStored: true,
  };
  expect(newItems([reference], [], new Map())).toEqual([reference]);
  expect(() => newItems([item("msg_1"), reference], [before], new Map())).toThrow("msg_gone");
});

test("a reference is replaced by the item that it names, where that is found", () => {
  const [reference, found] = [item("msg_1", { type: "item_reference" }), item("msg_1")];
  expect(newItems([reference], [], new Map([["msg_1", found]]))).toEqual([found]);
});

test("a call whose id was answered begins anew, and has one answer again", () => {
  const call = item(null, { type: "function_call", callId: "call_0" });
  const output = item(null, { type: "function_call_output", callId: "call_0" });
  const once = new KnownCalls([call, call, output]);
  expect(once.repeats(output)).toBe(false);
  const again = new KnownCalls([call, call, output, call]);
  expect(again.repeats(output)).toBe(false);
  again.add(output);
  expect(again.repeats(output)).toBe(true);
});

describe("an item that no model is shown", () => {
  const hidden = item("cmp_1", { isLeftOut: true });

  test("is dropped where it is referred to, and stays where it is sent itself", () => {
    const reference = item("cmp_1", { type: "item_reference" });
    expect(newItems([reference], [], new Map([["cmp_1", hidden]]))).toEqual([]);
    expect(newItems([hidden], [], new Map())).toEqual([hidden]);
  });
});
