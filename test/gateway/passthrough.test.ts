import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { noUsage } from "../../src/base/usage/usage.ts";
import { largeEventBytes, parseEvent } from "../../src/dialects/sse/event.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { placeStep } from "../support/effort.ts";
import { type FixtureName, fixture } from "../support/fixtures.ts";

const streams: readonly [BodyDialectName, FixtureName][] = [
  ["chat", "chat/text.sse"],
  ["chat", "chat/tools.sse"],
  ["chat", "chat/reasoning.sse"],
  ["chat", "chat/crlf-comments.sse"],
  ["responses", "responses/text.sse"],
  ["responses", "responses/tools.sse"],
  ["responses", "responses/reasoning.sse"],
  ["responses", "responses/incomplete.sse"],
  ["messages", "messages/text.sse"],
  ["messages", "messages/cached.sse"],
  ["messages", "messages/tools.sse"],
  ["messages", "messages/thinking.sse"],
];

function relayer(dialect: BodyDialectName, hideUsage = false): PassthroughRelayer {
  return new PassthroughRelayer({
    dialect,
    hideUsage,
    requestId: "req_1",
    model: "m",
    atSeconds: 1,
  });
}

/** Pushes the pieces as the relay would, and gives back all bytes that leave, the held end among them. */
function pass(
  through: PassthroughRelayer,
  pieces: readonly Uint8Array[],
): { text: string; beforeEnd: string } {
  const out: Uint8Array[] = [];
  let beforeEnd: string | null = null;
  const conclude = () => {
    if (!through.ended || beforeEnd !== null) return;
    beforeEnd = Buffer.concat(out).toString();
    out.push(Buffer.from(through.terminal() as Uint8Array));
  };
  for (const piece of pieces) {
    out.push(Buffer.from(through.push(piece) as Uint8Array));
    conclude();
  }
  out.push(Buffer.from(through.end() as Uint8Array));
  conclude();
  return { text: Buffer.concat(out).toString(), beforeEnd: beforeEnd ?? "" };
}

function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [0, ...places, bytes.length];
  return cuts.slice(1).map((to, index) => bytes.slice(cuts[index], to));
}

const ends: Readonly<Record<BodyDialectName, RegExp>> = {
  chat: /\[DONE\]/,
  responses: /"type":\s*"response\.(completed|incomplete)"/,
  messages: /"type":\s*"message_stop"/,
};

describe.each(streams)("a %s stream passed through (%s)", (dialect, name) => {
  const bytes = new TextEncoder().encode(fixture(name));

  test("keeps every byte, cut in two at every place", () => {
    const whole = fixture(name);
    const wrong: number[] = [];
    for (let place = 1; place < bytes.length; place += placeStep) {
      if (pass(relayer(dialect), cutAt(bytes, [place])).text !== whole) wrong.push(place);
    }
    expect(wrong).toEqual([]);
  });

  test("keeps every byte when it comes byte by byte", () => {
    const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(pass(relayer(dialect), pieces).text).toBe(fixture(name));
  });

  test("holds back the event that ends it, and only that", () => {
    for (let place = 1; place < bytes.length; place += 7) {
      const { beforeEnd } = pass(relayer(dialect), cutAt(bytes, [place]));
      expect(beforeEnd).not.toMatch(ends[dialect]);
      expect(beforeEnd.length).toBeGreaterThan(0);
    }
  });

  test("reads the provider's usage in passing, wherever it is cut", () => {
    const whole = relayer(dialect);
    pass(whole, [bytes]);
    expect(whole.found.usage).not.toBeNull();
    for (let place = 1; place < bytes.length; place += 5) {
      const cut = relayer(dialect);
      pass(cut, cutAt(bytes, [place]));
      expect(cut.found.usage).toEqual(whole.found.usage);
    }
  });

  test("knows what was produced", () => {
    const whole = relayer(dialect);
    pass(whole, [bytes]);
    expect(whole.found.started).toBe(true);
    expect(whole.found.takeProduced().length).toBeGreaterThan(0);
    expect(whole.found.takeProduced()).toBe("");
  });

  test("fails when it breaks off before its end", () => {
    const text = fixture(name);
    const first = text.slice(0, text.search(/\r?\n\r?\n/) + 4);
    const broken = relayer(dialect);
    broken.push(new TextEncoder().encode(first));
    expect(broken.found.failure).toBeNull();
    broken.end();
    expect(broken.found.failure).toBeInstanceOf(GatewayError);
    expect(broken.ended).toBe(false);
  });
});

describe("the usage chunk of a chat stream", () => {
  test.each(["chat/text.sse", "chat/crlf-comments.sse"] as const)(
    "is hidden from a client that did not ask for it, and still read (%s)",
    (name) => {
      const text = fixture(name);
      const events = text.split(/(?<=\n\r?\n)/);
      const visible = events.filter((event) => !/"choices":\s*\[\]/.test(event)).join("");
      expect(visible).not.toBe(text);
      const bytes = new TextEncoder().encode(text);
      for (let place = 1; place < bytes.length; place += placeStep) {
        for (const places of [[place], [place, Math.min(place + 2, bytes.length)]]) {
          const hiding = relayer("chat", true);
          expect(pass(hiding, cutAt(bytes, places)).text).toBe(visible);
          expect(hiding.found.usage).not.toBeNull();
        }
      }
    },
  );
});

describe("a chat stream", () => {
  const chunk = (finish: string | null) =>
    `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":${finish}}]}\n\n`;

  test("that told its finish reason but not [DONE] is ended for it", () => {
    expect(pass(relayer("chat"), [Buffer.from(chunk('"stop"'))]).text).toBe(
      `${chunk('"stop"')}data: [DONE]\n\n`,
    );
  });

  test("is ended so even if its last event lacks the blank line", () => {
    const cut = chunk('"stop"').trimEnd();
    expect(pass(relayer("chat"), [Buffer.from(cut)]).text).toBe(`${cut}\n\ndata: [DONE]\n\n`);
  });

  test("is ended so without the half of an event that its body ends with", () => {
    const whole = chunk('"stop"');
    const last = `data: {"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`;
    for (let cut = 1; cut < last.length; cut += 1) {
      const { text } = pass(relayer("chat"), [Buffer.from(whole + last.slice(0, cut))]);
      expect(text).toBe(`${whole}data: [DONE]\n\n`);
    }
    const { text } = pass(relayer("chat"), [Buffer.from(whole + last)]);
    expect(text).toBe(`${whole}${last}\n\ndata: [DONE]\n\n`);
  });

  test("that has only an empty reason, or that of one choice of two, has broken off", () => {
    const other = chunk(null).replace('"index":0', '"index":1');
    for (const text of [chunk('""'), chunk('""') + chunk('""'), other + chunk('"stop"')]) {
      const through = relayer("chat");
      expect(pass(through, [Buffer.from(text)]).text).not.toContain("[DONE]");
      expect(through.found.failure?.code).toBe("upstream_error");
    }
    const unnumbered = chunk(null).replace('"index":0,', "");
    expect(pass(relayer("chat"), [Buffer.from(unnumbered + chunk('"stop"'))]).text).toContain("[DONE]");
  });

  test("whose content quotes the end marker does not end there", () => {
    const quoting = `data: {"choices":[{"index":0,"delta":{"content":"data: [DONE] \\"usage\\": {"},"finish_reason":null}]}\n\n`;
    const through = relayer("chat");
    expect(Buffer.from(through.push(Buffer.from(quoting)) as Uint8Array).toString()).toBe(quoting);
    expect(through.ended).toBe(false);
  });

  test("that reports an error stops there, and says so in-band without [DONE]", () => {
    const through = relayer("chat");
    through.push(Buffer.from(chunk(null)));
    const failing = Buffer.from(`data: {"error":{"message":"boom","type":"server_error"}}\n\n`);
    through.push(failing);
    expect(through.found.failure?.message).toBe("boom");
    const failure = through.failure(new GatewayError("upstream_error", "boom"), null);
    expect(failure).toStartWith('data: {"error":');
    expect(failure).not.toContain("[DONE]");
  });
});

describe("a stream that breaks off with figures of its usage", () => {
  const chunk = (finish: string | null, completionTokens: number) =>
    `data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":${JSON.stringify(finish)}}],"usage":{"prompt_tokens":9,"completion_tokens":${completionTokens}}}\n\n`;
  const start = `event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n`;
  const said = `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n`;
  const delta = (reason: string | null, outputTokens: number) =>
    `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":${JSON.stringify(reason)}},"usage":{"output_tokens":${outputTokens}}}\n\n`;
  const usageOf = (dialect: BodyDialectName, text: string, isEnd: boolean) => {
    const through = relayer(dialect);
    through.push(Buffer.from(text));
    if (isEnd) through.end();
    return { final: through.found.usage, soFar: through.found.partialUsage };
  };

  test("is charged by those that came with its finish, however it breaks off", () => {
    const complete = chunk(null, 0) + chunk("stop", 7);
    for (const text of [complete, `${complete}data: {"error":{"message":"boom"}}\n\n`]) {
      expect(usageOf("chat", text, false).final).toMatchObject({ inputTokens: 9, outputTokens: 7 });
    }
    const events = fixture("messages/text.sse").split(/(?<=\n\n)/);
    const unstopped = events.filter((event) => !event.includes('"message_stop"')).join("");
    const whole = usageOf("messages", fixture("messages/text.sse"), true).final;
    expect(whole).not.toBeNull();
    for (const isEnd of [false, true]) expect(usageOf("messages", unstopped, isEnd).final).toEqual(whole);
    const failing = `${unstopped}event: error\ndata: {"type":"error","error":{"message":"boom"}}\n\n`;
    expect(usageOf("messages", failing, false).final).toEqual(whole);
  });

  test("is charged by them even if nothing was shown", () => {
    const through = relayer("messages");
    through.push(Buffer.from(start));
    expect(through.found.started).toBe(false);
    through.push(Buffer.from(delta("end_turn", 700)));
    expect(through.found.started).toBe(true);
    expect(through.found.usage).toMatchObject({ inputTokens: 9, outputTokens: 700 });
  });

  test("is not, as long as they are about a part of the answer: some servers report 0 until its end", () => {
    for (const isEnd of [false, true]) {
      const { final, soFar } = usageOf("chat", chunk(null, 0) + chunk(null, 0), isEnd);
      expect(final).toBeNull();
      expect(soFar).toMatchObject({ inputTokens: 9, outputTokens: 0 });
      const messages = usageOf("messages", start + said + delta(null, 1) + said, isEnd);
      expect(messages.final).toBeNull();
      expect(messages.soFar).toMatchObject({ inputTokens: 9, outputTokens: 1 });
    }
  });

  test("counts what came behind them, if it ends without others", () => {
    const stop = `event: message_stop\ndata: {"type":"message_stop"}\n\n`;
    const { final } = usageOf("messages", start + said + delta(null, 1) + said + stop, true);
    expect(final).toMatchObject({ inputTokens: 9, outputTokens: 1, isOutputDoubtful: true });
    const last = usageOf("messages", start + said + delta(null, 1) + said + delta(null, 2) + stop, true);
    expect(last.final).toEqual({ ...noUsage, inputTokens: 9, outputTokens: 2 });
  });
});

test("one event over 8 MiB is refused", () => {
  const through = relayer("chat");
  const piece = new Uint8Array(1024 * 1024).fill(120);
  expect(() => {
    for (let count = 0; count < 9; count += 1) through.push(piece);
  }).toThrow("8 MiB");
});

test("a failed responses stream goes on with its own numbers and its own id", () => {
  const events = fixture("responses/text.sse").split(/(?<=\n\n)/);
  const through = relayer("responses");
  through.push(Buffer.from(events.slice(0, 3).join("")));
  const failure = through.failure(new GatewayError("upstream_error", "boom"), null);
  const id = /"id":"(resp_[^"]+)"/.exec(events[0] ?? "")?.[1] ?? "missing";
  expect(failure).toContain(id);
  expect(failure).toContain('"sequence_number":3');
});

test("a responses stream that reports its failure is told in the provider's own words and code", () => {
  const events = fixture("responses/text.sse").split(/(?<=\n\n)/);
  const failed = (error: object) =>
    `event: response.failed\ndata: ${JSON.stringify({ type: "response.failed", sequence_number: 3, response: { id: "resp_1", status: "failed", error } })}\n\n`;
  const brokenBy = (error: object): GatewayError | null => {
    const through = relayer("responses");
    through.push(Buffer.from(events.slice(0, 3).join("")));
    through.push(Buffer.from(failed(error)));
    return through.found.failure;
  };
  expect(brokenBy({ code: "server_error", message: "boom" })).toMatchObject({ message: "boom" });
  expect(brokenBy({ code: "context_length_exceeded", message: "too long" })).toMatchObject({
    code: "context_length_exceeded",
  });
  expect(brokenBy({ code: "rate_limit_exceeded", message: "slow" })).toMatchObject({
    code: "service_unavailable",
  });
});

const failures: Readonly<Record<BodyDialectName, string>> = {
  chat: 'data: {"error":{"message":"out of luck","type":"server_error"}}',
  responses:
    'event: response.failed\ndata: {"type":"response.failed","response":{"error":{"code":"server_error","message":"out of luck"}}}',
  messages: 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"out of luck"}}',
};

describe("a stream whose last event lacks its blank line", () => {
  test.each(streams)("%s, %s ends as it would with one", (dialect, name) => {
    const whole = fixture(name).trimEnd();
    const through = relayer(dialect);
    const { text, beforeEnd } = pass(through, [Buffer.from(whole)]);
    expect(through.found.failure).toBeNull();
    expect(through.ended).toBe(true);
    expect(text).toBe(whole);
    expect(beforeEnd).not.toMatch(ends[dialect]);
  });

  test.each(Object.entries(failures))("%s fails as the provider says", (dialect, failure) => {
    const through = relayer(dialect as BodyDialectName);
    const { text } = pass(through, [Buffer.from(failure)]);
    expect(text).toBe("");
    expect(through.ended).toBe(false);
    expect(through.found.failure?.message).toContain("out of luck");
  });
});

describe("what comes behind a large event", () => {
  const long = "x".repeat(largeEventBytes);
  const response = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, response: { id: "r", output: [], padding: long, ...more } })}\n\n`;
  const comment = ": a comment\n\n";
  const behind = `${comment}event: ping\ndata: {"type":"ping"}\n\n`;

  function resumed(event: string): { through: PassthroughRelayer; leaving: string } {
    const through = relayer("responses");
    expect(through.push(Buffer.from(event + behind))).toHaveLength(0);
    const large = through.largeEvent;
    if (large === null) throw new Error("there is no large event");
    return { through, leaving: through.resume(parseEvent(large)).toString() };
  }

  test("leaves once, with the end and without data, if that event is the end", () => {
    const end = response("response.completed", { status: "completed" });
    const { through, leaving } = resumed(end);
    expect(leaving).toBe("");
    expect(through.terminal().toString() === end + comment).toBe(true);
  });

  test("does not leave if that event is a failure", () => {
    const failed = response("response.failed", { error: { code: "server_error", message: "no" } });
    const { through, leaving } = resumed(failed);
    expect(leaving).toBe("");
    expect(through.found.failure).not.toBeNull();
  });

  test("leaves at once if the stream goes on", () => {
    const event = response("response.in_progress", {});
    const { through, leaving } = resumed(event);
    expect(leaving === event + behind).toBe(true);
    expect([through.ended, through.found.failure]).toEqual([false, null]);
  });
});
