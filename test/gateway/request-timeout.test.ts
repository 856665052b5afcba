import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { sse } from "../support/answers.ts";
import { StreamReader } from "../support/sse.ts";
import { hello, paths, streamEvents, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

/** Simulated time, added to the real time. */
let passedMs = 0;
const clock = spyOn(systemClock, "monotonicMs").mockImplementation(() => performance.now() + passedMs);
afterEach(() => {
  passedMs = 0;
});
afterAll(() => clock.mockRestore());

/** Long enough for every deadline that has passed to be noticed. */
const ticks = () => Bun.sleep(250);

const minuteMs = 60_000;
/** Only the limit of the exchange is looked at. */
const provider = "timeouts = { idle = 0, stream_first_byte = 0 }";

const longer = `
[[models]]
id = "patient"
provider = "openai"
upstream_model = "gpt-upstream"
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }
timeouts = { request = "10m" }
`;

interface Case {
  readonly name: string;
  readonly server: string;
  readonly model: string;
  readonly limitMinutes: number;
}

const cases: readonly Case[] = [
  { name: "five minutes by default", server: "", model: "gpt-test", limitMinutes: 5 },
  { name: "server.request_timeout", server: 'request_timeout = "7m"', model: "gpt-test", limitMinutes: 7 },
  { name: "a number of seconds", server: "request_timeout = 60", model: "gpt-test", limitMinutes: 1 },
  { name: "an hour", server: 'request_timeout = "1h"', model: "gpt-test", limitMinutes: 60 },
  { name: "the model's own limit", server: 'request_timeout = "2m"', model: "patient", limitMinutes: 10 },
];

describe.each([...cases])("a generation may take $name", ({ server, model, limitMinutes }) => {
  const start = () => World.start({ head: `[server]\n${server}`, provider, tail: longer });

  test("and a stream is served until then, and ends with an error and its charge after that", async () => {
    await using world = await start();
    const caller = await world.creditCaller();
    const events = streamEvents("chat", { text: "Sluices keep the canal navigable." });
    const [early, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.provider.script({
      ...sse(""),
      steps: [
        { write: events.slice(0, 2).join("") },
        { until: early.promise },
        { write: events.slice(2, 3).join("") },
        { until: late.promise },
      ],
    });
    const body = hello("chat", model, { stream: true });
    const reader = new StreamReader(await world.ask(caller, { path: paths.chat, body }));
    await reader.until("Sluices");
    passedMs = limitMinutes * minuteMs - 10_000;
    await ticks();
    early.resolve();
    await reader.until(" keep");
    passedMs = limitMinutes * minuteMs + 10_000;
    await reader.until('"error":{');
    late.resolve();
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test("and a whole answer that begins late is served too", async () => {
    await using world = await start();
    const caller = await world.creditCaller();
    const finished = Promise.withResolvers<void>();
    world.provider.script({
      ...wholeAnswer("chat", { text: "Done." }),
      before: [{ until: finished.promise }],
    });
    const arrived = world.provider.nextRequest();
    const answering = world.ask(caller, { path: paths.chat, body: hello("chat", model, {}) });
    await arrived;
    passedMs = limitMinutes * minuteMs - 10_000;
    await ticks();
    finished.resolve();
    expect((await answering).status).toBe(200);
  });
});
