import { expect, test } from "bun:test";
import type { HttpClient } from "../../src/wire/http-client.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { clientOf, everythingArrived, exchange, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const behaviours = [
  "length",
  "chunks",
  "until the end",
  "length, then close",
  "length and surplus",
  "close at once",
  "reset at once",
  "reset within the body",
] as const;
type Behaviour = (typeof behaviours)[number];

/** What the server should do with a request. The request carries it as its body. */
interface Scenario {
  readonly number: number;
  readonly behaviour: Behaviour;
  readonly bytes: number;
}

function contentOf({ number, bytes }: Scenario): string {
  return Buffer.alloc(bytes, `answer ${number};`).toString();
}

async function serve(peer: Peer, scenario: Scenario): Promise<void> {
  const content = contentOf(scenario);
  const half = content.length >> 1;
  const chunk = (data: string) => (data === "" ? "" : `${data.length.toString(16)}\r\n${data}\r\n`);
  switch (scenario.behaviour) {
    case "length":
      return peer.write(answerWith(content));
    case "chunks":
      await peer.write(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk(content.slice(0, half))}`,
      );
      await Bun.sleep(0);
      return peer.write(`${chunk(content.slice(half))}0\r\n\r\n`);
    case "until the end":
      await peer.write(`HTTP/1.1 200 OK\r\n\r\n${content}`);
      return peer.end();
    case "length, then close":
      await peer.write(answerWith(content));
      return peer.end();
    case "length and surplus":
      return peer.write(`${answerWith(content)}HTTP/1.1 200 OK\r\n`);
    case "close at once":
      return peer.end();
    case "reset at once":
      return peer.reset();
    case "reset within the body":
      await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${content.length + 1}\r\n\r\n${content}`);
      await Bun.sleep(5);
      return peer.reset();
  }
}

/** How often the server has read each request. */
type TimesRead = Map<number, number>;

/** Sends one request, with a receiver that reads, pauses or cancels. Returns what went wrong. */
async function runScenario(
  client: HttpClient,
  scenario: Scenario,
  random: SeededRandom,
  timesRead: TimesRead,
): Promise<string[]> {
  const { transfer, recorder } = post(client, JSON.stringify(scenario));
  const receiver = random.pick(["reading", "reading", "pausing", "cancelling"]);
  if (receiver === "pausing") {
    recorder.onPiece = () => {
      transfer.pause();
      setTimeout(() => transfer.resume(), 1);
    };
  }
  if (receiver === "cancelling") {
    await Bun.sleep(random.below(4));
    const { length } = recorder.events;
    transfer.cancel();
    await everythingArrived();
    return recorder.events.length === length ? [] : [`${scenario.number} got a call after it was cancelled`];
  }
  const end = await recorder.over;
  await Bun.sleep(0);
  const problems: string[] = [];
  const mustFail = scenario.behaviour.endsWith("at once") || scenario.behaviour === "reset within the body";
  // The server closed a kept connection with the request in its own buffer: that says nothing about this scenario.
  const isUnread = !timesRead.has(scenario.number);
  if (mustFail !== (end === "failed ECONNRESET") && !isUnread)
    problems.push(`${scenario.number} (${scenario.behaviour}) ${end}`);
  if (end === "ended" && recorder.text !== contentOf(scenario))
    problems.push(`${scenario.number} got another's bytes`);
  if (recorder.events.indexOf(end) !== recorder.events.length - 1)
    problems.push(`${scenario.number} got calls after its end: ${recorder.events}`);
  return problems;
}

async function runRequests(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const timesRead: TimesRead = new Map();
  using server = new TestServer((peer, { body }) => {
    const scenario: Scenario = JSON.parse(Buffer.from(body).toString());
    timesRead.set(scenario.number, (timesRead.get(scenario.number) ?? 0) + 1);
    serve(peer, scenario);
  });
  const client = clientOf(server);
  let number = 0;
  const problems: string[] = [];
  const sendInTurn = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) {
      const bytes = random.pick([0, 1, 100, 5000, 300_000]);
      const scenario = { number: number++, behaviour: random.pick(behaviours), bytes };
      problems.push(...(await runScenario(client, scenario, random, timesRead)));
      if (random.chance(0.3)) await Bun.sleep(random.below(3));
    }
  };
  await Promise.all(Array.from({ length: 12 }, sendInTurn));
  expect({ seed, problems }).toEqual({ seed, problems: [] });
  expect(Math.max(...timesRead.values())).toBe(1);
  const last = { number: -1, behaviour: "length", bytes: 10 } as const;
  expect((await exchange(client, JSON.stringify(last))).text).toBe(contentOf(last));
}

for (let seed = 1; seed <= 8; seed++) {
  test(`random requests, answers and accidents: every request gets its own answer, once (${seed})`, () =>
    runRequests(seed));
}
