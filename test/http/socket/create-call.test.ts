import { expect, test } from "bun:test";
import type { DirectController } from "../../../src/gateway/exchange/client-call.ts";
import { routes } from "../../../src/gateway/operations.ts";
import { type Carrier, CreateCall } from "../../../src/http/socket/create-call.ts";

const [route] = routes;
const frame = {
  kind: "create",
  streamId: null,
  parentId: null,
  isWarmUp: false,
  body: new Uint8Array(),
} as const;
const event = (type: string, text = "") => `data: ${JSON.stringify({ type, text })}\n\n`;
const long = "x".repeat(300_000);

/** A socket that notes in which turn of the event loop each frame was sent. */
function carrier() {
  const sent: { type: string; turn: number }[] = [];
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const fake: Carrier = {
    url: "http://localhost/v1/responses",
    headers: new Headers(),
    address: "127.0.0.1",
    route: route as Carrier["route"],
    send: (frames) => {
      for (const each of frames) {
        sent.push({ type: JSON.parse(each).type, turn });
        // As long as a turn, which is what megabytes of them would take.
        if (each.length >= long.length)
          for (const endMs = performance.now() + 3; performance.now() < endMs; );
      }
      return 0;
    },
    terminate: () => {},
    chain: () => null,
  };
  const stop = () => {
    isOver = true;
  };
  return { fake, sent, [Symbol.dispose]: stop };
}

/** Writes as a pump does that no longer waits for its client. */
function deliver(fake: Carrier, pieces: readonly string[]): Promise<void> {
  const call = new CreateCall(fake, frame);
  call.takeStream({
    pull: async (controller: DirectController) => {
      for (const piece of pieces) void controller.write(piece);
    },
    cancel: () => {},
  });
  return call.deliver(new Response(null));
}

test("large events of all sockets that take long are sent each in a turn of its own, and what follows them comes behind", async () => {
  using socket = carrier();
  const pieces = [
    event("a") + event("b"),
    event("c", long) + event("d", long) + event("e"),
    event("response.completed", long),
  ];
  await Promise.all([deliver(socket.fake, pieces), deliver(socket.fake, pieces)]);
  const types = socket.sent.map(({ type }) => type);
  // Both are sent at once, so each event comes twice.
  const once = types.filter((type, index) => types.indexOf(type) === index);
  expect(once).toEqual(["a", "b", "c", "d", "e", "response.completed"]);
  expect(types).toHaveLength(2 * once.length);
  const large = socket.sent.filter(({ type }) => ["c", "d", "response.completed"].includes(type));
  expect(new Set(large.map(({ turn }) => turn)).size).toBe(large.length);
});

test("what only begins as the end of a response does not end it", async () => {
  using socket = carrier();
  const frames: string[] = [];
  const send = (sent: readonly string[]) => frames.push(...sent);
  const broken = '{"type":"response.completed","response":{"id":}}';
  await deliver({ ...socket.fake, send }, [`data: ${broken}\n\n`, event("a"), event("response.completed")]);
  expect(frames).toHaveLength(3);
});
