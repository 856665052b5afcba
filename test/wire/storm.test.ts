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

/** What the client asks the server to do. */
interface Wish {
  readonly number: number;
  readonly behaviour: Behaviour;
  readonly bytes: number;
}

function contentOf({ number, bytes }: Wish): string {
  return Buffer.alloc(bytes, `answer ${number};`).toString();
}

async function grant(peer: Peer, wish: Wish): Promise<void> {
  const content = contentOf(wish);
  const half = content.length >> 1;
  const chunk = (data: string) => (data === "" ? "" : `${data.length.toString(16)}\r\n${data}\r\n`);
  switch (wish.behaviour) {
    case "length":
      return peer.say(answerWith(content));
    case "chunks":
      await peer.say(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk(content.slice(0, half))}`);
      await Bun.sleep(0);
      return peer.say(`${chunk(content.slice(half))}0\r\n\r\n`);
    case "until the end":
      await peer.say(`HTTP/1.1 200 OK\r\n\r\n${content}`);
      return peer.end();
    case "length, then close":
      await peer.say(answerWith(content));
      return peer.end();
    case "length and surplus":
      return peer.say(`${answerWith(content)}HTTP/1.1 200 OK\r\n`);
    case "close at once":
      return peer.end();
    case "reset at once":
      return peer.reset();
    case "reset within the body":
      await peer.say(`HTTP/1.1 200 OK\r\ncontent-length: ${content.length + 1}\r\n\r\n${content}`);
      await Bun.sleep(5);
      return peer.reset();
  }
}

/** How often the server has read each request. */
type TimesRead = Map<number, number>;

/** One request with whatever its receiver may do meanwhile; gives what is wrong with what was heard. */
async function weather(
  client: HttpClient,
  wish: Wish,
  random: SeededRandom,
  timesRead: TimesRead,
): Promise<string[]> {
  const { transfer, heard } = post(client, JSON.stringify(wish));
  const mood = random.pick(["calm", "calm", "halting", "cancelling"]);
  if (mood === "halting") {
    heard.onPiece = () => {
      transfer.pause();
      setTimeout(() => transfer.resume(), 1);
    };
  }
  if (mood === "cancelling") {
    await Bun.sleep(random.below(4));
    const { length } = heard.events;
    transfer.cancel();
    await everythingArrived();
    return heard.events.length === length ? [] : [`${wish.number} heard of after it was cancelled`];
  }
  const end = await heard.over;
  await Bun.sleep(0);
  const problems: string[] = [];
  const mustFail = wish.behaviour.endsWith("at once") || wish.behaviour === "reset within the body";
  // Its connection, a kept one, was closed with the request in the server's own buffer: that proves nothing here.
  const isUnread = !timesRead.has(wish.number);
  if (mustFail !== (end === "failed ECONNRESET") && !isUnread)
    problems.push(`${wish.number} (${wish.behaviour}) ${end}`);
  if (end === "ended" && heard.text !== contentOf(wish)) problems.push(`${wish.number} got another's bytes`);
  if (heard.events.indexOf(end) !== heard.events.length - 1)
    problems.push(`${wish.number} went on: ${heard.events}`);
  return problems;
}

async function storm(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const timesRead: TimesRead = new Map();
  using server = new TestServer((peer, { body }) => {
    const wish: Wish = JSON.parse(Buffer.from(body).toString());
    timesRead.set(wish.number, (timesRead.get(wish.number) ?? 0) + 1);
    grant(peer, wish);
  });
  const client = clientOf(server);
  let number = 0;
  const problems: string[] = [];
  const walk = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) {
      const bytes = random.pick([0, 1, 100, 5000, 300_000]);
      const wish = { number: number++, behaviour: random.pick(behaviours), bytes };
      problems.push(...(await weather(client, wish, random, timesRead)));
      if (random.chance(0.3)) await Bun.sleep(random.below(3));
    }
  };
  await Promise.all(Array.from({ length: 12 }, walk));
  expect({ seed, problems }).toEqual({ seed, problems: [] });
  expect(Math.max(...timesRead.values())).toBe(1);
  const last = { number: -1, behaviour: "length", bytes: 10 } as const;
  expect((await exchange(client, JSON.stringify(last))).text).toBe(contentOf(last));
}

for (let seed = 1; seed <= 8; seed++) {
  test(`a storm of requests, answers and accidents: each hears its own, once (${seed})`, () => storm(seed));
}
