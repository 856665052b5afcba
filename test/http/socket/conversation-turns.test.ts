import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { changeStatus, rotateKey } from "../../../src/admin/keys/change-key.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { Claim } from "../../../src/idempotency/claims.ts";
import { ConversationWorld, textOf } from "../../gateway/conversation-world.ts";
import { answer, say } from "../../gateway/turn-world.ts";
import type { Caller, World } from "../../gateway/world.ts";
import { json, openAiError, sse } from "../../support/answers.ts";
import { readStream } from "../../support/sse.ts";
import { waitFor } from "../../support/wait.ts";
import { SocketWorld } from "./socket-world.ts";

/** Conversation turns that fail or conflict, on sockets and over HTTP. */

const head = `
[routes]
conversations = true

[[models]]
id = "two-test"
price = { input = 1.0, output = 2.0 }
[[models.deployments]]
provider = "openai"
priority = 1
[[models.deployments]]
provider = "anthropic"
upstream_model = "claude-upstream"
priority = 2
`;

let sockets: SocketWorld;
let world: World;
let conversations: ConversationWorld;
let open: SocketWorld["open"];

beforeAll(async () => {
  sockets = await SocketWorld.start(head);
  conversations = new ConversationWorld(sockets.turns);
  ({ world, open } = sockets);
});
beforeEach(() => sockets.turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

const begin = async (as: Caller) =>
  (await conversations.call("POST", "", { items: [say("One")] }, as)).body.id;
const textsOf = async (as: Caller, id: string) =>
  (await conversations.call("GET", `/${id}/items?order=asc`, undefined, as)).body.data.map(textOf);
const create = (as: Caller, fields: object) => sockets.turns.create({ ...fields }, as);
const codeOf = ({ error, status }: { error: { code: string } | null; status: unknown }) =>
  error?.code ?? status;
const asked = (count: number) =>
  waitFor(() => world.provider.requests.length === count, "the provider to be asked");

describe("a turn of a conversation", () => {
  test("whose socket is closed adds nothing, is charged once, and makes room for the next", async () => {
    const caller = await world.creditCaller();
    const id = await begin(caller);
    const { release } = sockets.halt(2);
    const socket = await open(caller);
    socket.create({ conversation: id, input: "Two" });
    await waitFor(() => socket.frames.length === 2, "the response to have begun");
    socket[Symbol.dispose]();
    await world.settled();
    release();
    sockets.turns.reset();
    using another = await open(caller);
    expect((await another.ask({ conversation: id, input: "Three" })).type).toBe("response.completed");
    expect((await textsOf(caller, id)).slice(0, 2)).toEqual(["One", "Three"]);
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "cancelled" }, { outcome: "completed" }]);
  });

  test("runs alone, whoever else asks: sockets, streams and HTTP", async () => {
    const caller = await world.creditCaller();
    const id = await begin(caller);
    const { release } = sockets.halt();
    using one = await open(caller);
    using other = await open(caller);
    one.create({ conversation: id, input: "Two" });
    await asked(1);
    const locked = [
      (await other.ask({ conversation: id, input: "Three" })).error.code,
      (await one.ask({ conversation: id, input: "Three", stream_id: "stream" })).error.code,
      codeOf(await create(caller, { conversation: id, input: "Three" })),
      (await conversations.call("POST", `/${id}/items`, { items: [say("x")] }, caller)).body.error.code,
      (await conversations.call("POST", `/${id}`, { metadata: {} }, caller)).body.error.code,
    ];
    expect(new Set(locked)).toEqual(new Set(["conversation_locked"]));
    release();
    expect((await one.end()).type).toBe("response.completed");
    expect((await other.ask({ conversation: id, input: "Three" })).type).toBe("response.completed");
    expect((await textsOf(caller, id)).filter((text) => !/^(Answer|reasoning)/.test(text))).toEqual([
      "One",
      "Two",
      "Three",
    ]);
    expect(await world.chargesOf(caller)).toHaveLength(2);
  });

  test("that another provider has to answer has the whole conversation, and is added and charged once", async () => {
    const caller = await world.creditCaller();
    const id = await begin(caller);
    world.provider.script((request) =>
      request.path.includes("/openai/") ? openAiError(500, "out of order") : answer(request),
    );
    using socket = await open(caller);
    const ended = await socket.ask({ model: "two-test", conversation: id, input: "Two" });
    expect(ended.type).toBe("response.completed");
    expect(sockets.turns.lastText()).toContain("One");
    expect((await textsOf(caller, id)).slice(0, 2)).toEqual(["One", "Two"]);
    expect(await textsOf(caller, id)).toHaveLength(3);
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test("belongs to the key, whatever its secret is, and to nobody once that is revoked", async () => {
    const context = { store: world.running.store, clock: systemClock };
    const caller = await world.creditCaller();
    const id = await begin(caller);
    const { release } = sockets.halt();
    using socket = await open(caller);
    socket.create({ conversation: id, input: "Two" });
    await asked(1);
    const { secret } = await rotateKey(context, caller.key.id, 0);
    await world.gateway.catchUp();
    release();
    expect((await socket.end()).type).toBe("response.completed");
    const rotated = { ...caller, secret };
    sockets.turns.reset();
    expect((await create(rotated, { conversation: id, input: "Three" })).status).toBe("completed");
    expect(await textsOf(rotated, id)).toHaveLength(7);
    await changeStatus(context, caller.key.id, "revoked");
    await world.gateway.catchUp();
    expect((await conversations.call("GET", `/${id}`, undefined, rotated)).status).toBe(401);
    await world.gateway.turns.prune();
    expect(await world.running.store.turns.find(caller.key.id, id, Date.now())).toBeNull();
  });

  test("can be forked on its socket and beside it, while the conversation goes on", async () => {
    const caller = await world.creditCaller();
    const id = await begin(caller);
    using socket = await open(caller);
    const first = await socket.ask({ conversation: id, input: "Two" });
    await socket.ask({ conversation: id, input: "Three", stream_id: "a" });
    const parent = { previous_response_id: first.response.id };
    for (const ask of [
      () => socket.ask({ ...parent, input: "Fork", stream_id: "b" }),
      () => create(caller, { ...parent, input: "Fork" }),
    ]) {
      expect(codeOf((await ask()) as never)).not.toBe("previous_response_not_found");
      const text = sockets.turns.lastText();
      for (const word of ["One", "Two", "Fork"]) expect(text).toContain(word);
      expect(text).not.toContain("Three");
    }
    expect(await textsOf(caller, id)).toHaveLength(7);
  });

  test("from before a compaction cannot be continued from what that has left", async () => {
    const caller = await world.creditCaller();
    const id = await begin(caller);
    const ask = (input: unknown) => create(caller, { model: "chat-test", conversation: id, input });
    const turns = [await ask("Two"), await ask("Three")];
    await ask([{ type: "compaction_trigger" }]);
    expect((await textsOf(caller, id)).at(-1)).toBe("compaction");
    for (const { id: previous_response_id } of turns) {
      const { error } = await create(caller, { previous_response_id, input: "Fork" });
      expect(error.code).toBe("previous_response_not_found");
    }
    const last = await ask("Four");
    await create(caller, { previous_response_id: last.id, input: "Fork" });
    for (const word of ["One", "Two", "Three", "Four", "Fork"])
      expect(sockets.turns.lastText()).toContain(word);
  });
});

describe("what a request has claimed is free before the answer leaves", () => {
  const path = "/v1/responses";
  const failing = sse(
    `event: x\ndata: {"type":"response.created","response":{}}\n\nevent: error\ndata: {"type":"error","message":"no"}\n\n`,
  );
  const failed = json({ id: "resp_1", status: "failed", output: [] });

  test.each<[string, object, () => void, number, string[]]>([
    ["to a key that cannot pay", {}, () => {}, 0, [path, "conversation"]],
    [
      "of a provider that fails",
      {},
      () => world.provider.script(openAiError(400, "no")),
      10,
      [path, "conversation"],
    ],
    [
      "of a stream that breaks off",
      { stream: true },
      () => world.provider.script(failing),
      10,
      [path, "conversation"],
    ],
    ["of a response that has failed", {}, () => world.provider.script(failed), 10, [path, "conversation"]],
    [
      "of a stream, but for the key that it is stored under",
      { stream: true },
      () => {},
      10,
      ["conversation"],
    ],
    ["in one piece, but for that key", {}, () => {}, 10, ["conversation"]],
  ])("%s", async (name, fields, arrange, credits, expected) => {
    const caller = await world.creditCaller(credits);
    const id = await begin(caller);
    arrange();
    const freed: string[] = [];
    const { claims } = world.gateway;
    const end = claims.end.bind(claims);
    // The end of an exchange ends its claims once more.
    const ended = new Set<Claim>();
    claims.end = async (claim: Claim) => {
      end(claim);
      if (ended.has(claim)) return;
      ended.add(claim);
      await Bun.sleep(200);
      freed.push(claim.route);
    };
    const body = { model: "gpt-test", conversation: id, input: "Two", ...fields };
    await readStream(await world.ask(caller, { path, body, headers: { "idempotency-key": name } }));
    claims.end = end;
    expect(freed).toEqual(expected);
  });
});
