import { afterEach, expect, test } from "bun:test";
import { sse } from "../support/answers.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, streamEvents } from "./wire-answers.ts";
import { World } from "./world.ts";

interface DirectSource {
  readonly type: "direct";
  pull(controller: { write(piece: unknown): unknown; end(): void }): Promise<void>;
  cancel(): void;
}

const { ReadableStream: RealStream } = globalThis;
afterEach(() => {
  globalThis.ReadableStream = RealStream;
});

/** From here on, sockets answer a heartbeat with `answer`, as one that is full or broken does. */
function answerHeartbeats(answer: () => Promise<number>): void {
  const wrapped = (source: DirectSource): DirectSource => ({
    ...source,
    pull: (controller) =>
      source.pull({
        write: (piece) => (String(piece).includes("keepalive") ? answer() : controller.write(piece)),
        end: () => controller.end(),
      }),
  });
  const isDirect = (source: unknown): source is DirectSource =>
    (source as Partial<DirectSource> | undefined)?.type === "direct";
  globalThis.ReadableStream = new Proxy(RealStream, {
    construct: (target, [source, ...rest], newTarget) =>
      Reflect.construct(target, [isDirect(source) ? wrapped(source) : source, ...rest], newTarget),
  });
}

async function silentStream(world: World) {
  const caller = await world.creditCaller();
  const events = streamEvents("chat", { text: "Sluices keep the canal navigable." });
  const silence = Promise.withResolvers<void>();
  const begun = events.findIndex((event) => event.includes(" keep")) + 1;
  world.provider.script({
    ...sse(""),
    steps: [{ write: events.slice(0, begun).join("") }, { until: silence.promise }],
  });
  const body = hello("chat", "gpt-test", { stream: true });
  const reader = new StreamReader(await world.ask(caller, { path: paths.chat, body }));
  await reader.until(" keep");
  return { caller, reader, silence };
}

const head = "[server]\nheartbeat = 0.2\nclient_idle_timeout = 1\n";

test("a heartbeat that the client does not take counts as a reader that has stalled, and none follows it", async () => {
  let heartbeats = 0;
  answerHeartbeats(() => {
    heartbeats += 1;
    return new Promise(() => {});
  });
  await using world = await World.start({ head });
  const { caller, silence } = await silentStream(world);
  await waitFor(() => world.observed.length === 1, "the exchange to end");
  expect(world.observed[0]).toMatchObject({ outcome: "cancelled" });
  expect(heartbeats).toBe(1);
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "cancelled" }]);
  silence.resolve();
});

test("a heartbeat that cannot be written ends its stream, as any other piece does", async () => {
  answerHeartbeats(() => Promise.reject(new Error("the socket is broken")));
  await using world = await World.start({ head });
  const { caller, silence } = await silentStream(world);
  await waitFor(() => world.observed.length === 1, "the exchange to end");
  expect(world.observed[0]).toMatchObject({ outcome: "failed" });
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "failed" }]);
  silence.resolve();
});

test("an answer that its provider forgets to end is ended here, however often the client is told that it is alive", async () => {
  await using world = await World.start({ head });
  const caller = await world.creditCaller();
  const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
  const events = streamEvents("chat", { text: "Sluices keep the canal navigable.", usage });
  const forgotten = Promise.withResolvers<void>();
  const answered = events.filter((event) => !event.includes("[DONE]")).join("");
  world.provider.script({ ...sse(""), steps: [{ write: answered }, { until: forgotten.promise }] });
  const body = hello("chat", "gpt-test", { stream: true });
  const reader = new StreamReader(await world.ask(caller, { path: paths.chat, body }));
  await reader.until("[DONE]");
  forgotten.resolve();
  await waitFor(() => world.observed.length === 1, "the exchange to end");
  expect(world.observed[0]).toMatchObject({ outcome: "completed", basis: "measured" });
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed" }]);
});
